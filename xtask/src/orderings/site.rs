//! Where code orders memory, how much less would be the next weaker, and code that can do either.

use std::fmt;

/// What an ordering belongs to, by the call that it stands in.
const OPERATIONS: &[(&str, Operation)] = &[
    (".load(", Operation::Load),
    (".store(", Operation::Store),
    ("fence(", Operation::Fence),
    (".compare_exchange(", Operation::Change),
    (".compare_exchange_weak(", Operation::Change),
    (".swap(", Operation::Change),
    (".fetch_add(", Operation::Change),
    (".fetch_or(", Operation::Change),
];

/// The next weaker orderings of each. A relaxed fence is none at all.
const WEAKER: &[(Operation, &str, &[&str])] = &[
    (Operation::Load, "Acquire", &["Relaxed"]),
    (Operation::Load, "SeqCst", &["Acquire"]),
    (Operation::Store, "Release", &["Relaxed"]),
    (Operation::Store, "SeqCst", &["Release"]),
    (Operation::Change, "Acquire", &["Relaxed"]),
    (Operation::Change, "Release", &["Relaxed"]),
    (Operation::Change, "AcqRel", &["Acquire", "Release"]),
    (Operation::Change, "SeqCst", &["AcqRel"]),
    (Operation::Fence, "Acquire", &["Relaxed"]),
    (Operation::Fence, "Release", &["Relaxed"]),
    (Operation::Fence, "AcqRel", &["Acquire", "Release"]),
    (Operation::Fence, "SeqCst", &["AcqRel"]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Load,
    Store,
    Change,
    Fence,
}

/// One ordering, made weaker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mutant {
    /// The file, from the root.
    pub file: String,
    /// Its line, without the spaces around it.
    pub code: String,
    /// Which of several equal lines of the file, from 1.
    pub repeat: usize,
    /// What it is made into.
    pub weaker: &'static str,
    /// The line's number, from 1: for people, since it moves.
    pub line: usize,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, code, repeat, weaker, line } = self;
        write!(f, "{file}:{line}: `{code}`")?;
        if *repeat > 1 {
            write!(f, " ({repeat})")?;
        }
        write!(f, " -> {weaker}")
    }
}

/// Finds all orderings of a file and returns its text with each of them looked up at run time:
/// mutant `n` is the `n`th that was pushed to `mutants`. What follows `#[cfg(...test...)]` is left
/// as it is: tests stand at the end of a file.
pub fn instrument(file: &str, text: &str, mutants: &mut Vec<Mutant>) -> Result<String, String> {
    const WORD: &str = "Ordering::";
    let mut out = String::new();
    // All code so far, without comments: the call may begin on an earlier line.
    let mut before = String::new();
    let mut seen: Vec<&str> = Vec::new();
    let mut in_tests = false;
    for (number, line) in (1..).zip(text.lines()) {
        in_tests |= line.trim_start().starts_with("#[cfg(") && line.contains("test");
        // No string of these files has two slashes.
        let (code, comment) = line.split_at(line.find("//").unwrap_or(line.len()));
        let mut rest = if in_tests { "" } else { code };
        out.push_str(if in_tests { code } else { "" });
        let trimmed = code.trim();
        let repeat = 1 + seen.iter().filter(|other| **other == trimmed).count();
        seen.push(trimmed);
        while let Some(at) = rest.find(WORD) {
            let (head, tail) = rest.split_at(at);
            let strength: &str =
                tail[WORD.len()..].split(|c: char| !c.is_alphabetic()).next().unwrap_or("");
            before.push_str(head);
            out.push_str(head);
            let whole = &tail[..WORD.len() + strength.len()];
            let weaker = weaker(&before, strength)
                .ok_or_else(|| format!("{file}:{number}: cannot tell what `{whole}` belongs to"))?;
            let choices: Vec<String> = weaker
                .iter()
                .map(|weaker| {
                    let (file, code) = (file.to_owned(), trimmed.to_owned());
                    mutants.push(Mutant { file, code, repeat, weaker, line: number });
                    format!("({}, Ordering::{weaker})", mutants.len())
                })
                .collect();
            if choices.is_empty() {
                out.push_str(whole);
            } else {
                out.push_str(&format!("taut_sync::weaken(&[{}], {whole})", choices.join(", ")));
            }
            before.push_str(whole);
            rest = &tail[whole.len()..];
        }
        before.push_str(rest);
        out.push_str(rest);
        out.push_str(comment);
        out.push('\n');
    }
    Ok(out)
}

/// The next weaker orderings of the call at the end of `before`; nothing when there is no call.
fn weaker(before: &str, strength: &str) -> Option<&'static [&'static str]> {
    if strength == "Relaxed" {
        return Some(&[]);
    }
    let last = |(name, operation): &(&str, Operation)| Some((before.rfind(name)?, *operation));
    let (_, operation) = OPERATIONS.iter().filter_map(last).max_by_key(|(at, _)| *at)?;
    let matches = |row: &&(Operation, &str, _)| row.0 == operation && row.1 == strength;
    WEAKER.iter().find(matches).map(|row| row.2)
}

#[cfg(test)]
mod tests {
    use super::instrument;

    fn weakened(text: &str) -> Vec<String> {
        let mut mutants = Vec::new();
        instrument("a.rs", text, &mut mutants).unwrap();
        mutants.iter().map(|m| format!("{} {} {}", m.line, m.repeat, m.weaker)).collect()
    }

    #[test]
    fn finds_the_operation_of_each_ordering_and_numbers_equal_lines() {
        let text = "x.load(Ordering::Acquire);\nfence(\n  Ordering::SeqCst);\n\
                    x.load(Ordering::Acquire);\nt.swap(1, Ordering::AcqRel);\n\
                    x.store(y.load(Ordering::Relaxed), Ordering::Relaxed); // Ordering::Release";
        let found = weakened(text);
        assert_eq!(
            found,
            ["1 1 Relaxed", "3 1 AcqRel", "4 2 Relaxed", "5 1 Acquire", "5 1 Release"]
        );
    }

    #[test]
    fn leaves_tests_alone_and_everything_else_word_for_word() {
        let text =
            "let a = x.load(Ordering::Acquire); // as is\n#[cfg(test)]\nx.load(Ordering::SeqCst)\n";
        let mut mutants = Vec::new();
        let out = instrument("a.rs", text, &mut mutants).unwrap();
        let chosen = "taut_sync::weaken(&[(1, Ordering::Relaxed)], Ordering::Acquire)";
        assert_eq!(out, text.replacen("Ordering::Acquire", chosen, 1));
        assert_eq!(mutants.len(), 1);
    }

    #[test]
    fn refuses_an_ordering_whose_call_it_does_not_know() {
        assert!(instrument("a.rs", "let o = Ordering::Release;", &mut Vec::new()).is_err());
    }
}
