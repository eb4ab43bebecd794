//! `cargo xtask orderings`: every atomic ordering, made weaker, must make a loom model fail.
//!
//! What lives stands in `xtask/orderings.txt` with the reason why it is no loss; an entry there
//! that no longer lives, or no longer is, is an error too.

mod excuse;
mod scratch;
mod site;

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use excuse::Excuse;
use scratch::Scratch;
use site::Mutant;

/// Seconds after which a model that does not end counts as failed.
const PATIENCE: &str = "120";

/// How a mutant ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A model failed.
    Killed,
    /// All models passed.
    Lives,
    /// All models passed, and none of them ran the place.
    Unreached,
}

/// Runs the mutants of the files whose path contains `part`; returns one line for people, or all
/// that is wrong. With `if_changed` nothing is done when nothing has changed since all was well:
/// `xtask/orderings.passed` has the fingerprint of that, for every checkout.
pub fn run(root: &Path, target: &Path, part: &str, if_changed: bool) -> Result<String, String> {
    let list = root.join("xtask/orderings.txt");
    let text = fs::read_to_string(&list).map_err(|error| format!("{list:?}: {error}"))?;
    let excuses = excuse::parse(&text).map_err(|error| format!("orderings.txt: {error}"))?;
    let scratch = Scratch::prepare(root, target)?;
    let stamp = root.join("xtask/orderings.passed");
    let now = fingerprint(&[&scratch.text, &text]);
    if if_changed && fs::read_to_string(&stamp).is_ok_and(|passed| passed.trim() == now) {
        return Ok(format!("orderings: {} mutants, as they passed before", scratch.mutants.len()));
    }
    eprintln!("orderings: {} mutants; building the models", scratch.mutants.len());
    let program = scratch.build()?;
    if end_of(&program, 0)? == End::Killed {
        return Err(format!("a model fails without any mutant: {}", program.display()));
    }
    let chosen = |(_, mutant): &(usize, &Mutant)| mutant.file.contains(part);
    let mutants: Vec<(usize, &Mutant)> = (1..).zip(&scratch.mutants).filter(chosen).collect();
    let ends = run_all(&program, &mutants)?;
    let wrong = verdict(&ends, &excuses, part.is_empty());
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    if part.is_empty() {
        let _ = fs::write(&stamp, now + "\n");
    }
    let killed = ends.iter().filter(|(_, end)| *end == End::Killed).count();
    let excused = ends.len() - killed;
    Ok(format!("orderings: {killed} of {} mutants killed, {excused} listed", ends.len()))
}

/// Runs every mutant, on as many threads as there are CPUs.
fn run_all<'s>(
    program: &Path,
    mutants: &[(usize, &'s Mutant)],
) -> Result<Vec<(&'s Mutant, End)>, String> {
    let queue = Mutex::new(mutants.iter());
    let ends = Mutex::new(Vec::new());
    let work = || -> Result<(), String> {
        loop {
            // A poisoned lock: the other thread has failed already.
            let next = queue.lock().ok().and_then(|mut queue| queue.next());
            let Some((number, mutant)) = next else { return Ok(()) };
            let end = end_of(program, *number)?;
            if let Ok(mut ends) = ends.lock() {
                ends.push((*mutant, end));
                eprint!("\rorderings: {} of {}", ends.len(), mutants.len());
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err("a worker failed".to_owned()))
        })
    })?;
    eprintln!();
    let mut ends = ends.into_inner().unwrap_or_default();
    ends.sort_by_key(|(mutant, _)| (&mutant.file, mutant.line, mutant.weaker));
    Ok(ends)
}

/// Runs all models with one mutant; 0 is none.
fn end_of(program: &Path, mutant: usize) -> Result<End, String> {
    let output = Command::new("timeout")
        .arg(PATIENCE)
        .arg(program)
        .arg("--test-threads=1")
        .env("TAUT_MUTANT", mutant.to_string())
        .output()
        .map_err(|error| format!("timeout {}: {error}", program.display()))?;
    let reached = String::from_utf8_lossy(&output.stderr).contains("mutant reached");
    Ok(match (output.status.success(), reached) {
        (false, _) => End::Killed,
        (true, true) => End::Lives,
        (true, false) => End::Unreached,
    })
}

/// All that is wrong: who lives without an excuse, and excuses of the dead.
fn verdict(ends: &[(&Mutant, End)], excuses: &[Excuse], all: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (mutant, end) in ends.iter().filter(|(_, end)| *end != End::Killed) {
        if excuses.iter().any(|excuse| excuse.covers(mutant)) {
            continue;
        }
        let why = if *end == End::Lives { "every model passes" } else { "no model runs it" };
        wrong.push(format!(
            "{mutant}: {why}; make a model fail, or list it in xtask/orderings.txt with the reason"
        ));
    }
    for excuse in excuses {
        let found = ends.iter().find(|(mutant, _)| excuse.covers(mutant));
        match found {
            Some((mutant, End::Killed)) => wrong.push(format!(
                "orderings.txt:{}: {mutant} is killed by a model; remove the entry",
                excuse.line
            )),
            None if all => wrong.push(format!(
                "orderings.txt:{}: there is no such ordering any more; remove the entry",
                excuse.line
            )),
            _ => {}
        }
    }
    wrong
}

/// A number for everything that the result depends on, the making of mutants included.
fn fingerprint(texts: &[&str]) -> String {
    // Another toolchain may hash otherwise, and then all is run again.
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    // What makes mutants of the code.
    [include_str!("orderings/scratch.rs"), include_str!("orderings/site.rs")].hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(code: &str) -> Mutant {
        let (file, code) = ("a.rs".to_owned(), code.to_owned());
        Mutant { file, code, repeat: 1, weaker: "Relaxed", line: 3 }
    }

    #[test]
    fn who_lives_needs_an_excuse_and_an_excuse_needs_somebody_who_lives() {
        let (dead, alive, unreached) = (mutant("a"), mutant("b"), mutant("c"));
        let ends = [(&dead, End::Killed), (&alive, End::Lives), (&unreached, End::Unreached)];
        let excuses = |list: &str| excuse::parse(list).expect("list");
        let wrong = verdict(&ends, &excuses(""), true);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[1].contains("no model runs it"));
        let all = "a.rs | b | Relaxed | why\na.rs | c | Relaxed | why\n";
        assert!(verdict(&ends, &excuses(all), true).is_empty());
        let stale = format!("{all}a.rs | a | Relaxed | why\na.rs | d | Relaxed | why\n");
        let wrong = verdict(&ends, &excuses(&stale), true);
        assert!(wrong[0].contains("orderings.txt:3") && wrong[1].contains("orderings.txt:4"));
        assert_eq!(verdict(&ends, &excuses(&stale), false).len(), 1, "only a part was run");
    }
}
