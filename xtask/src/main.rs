//! The project's own tools, run as `cargo xtask <tool>`.
#![forbid(unsafe_code)]

mod api;
mod fuzz;
mod instructions;
mod orderings;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
The project's own tools.

  cargo xtask tidy          check the laws of the house on this tree
  cargo xtask tidy --list   list the laws, each with its reason
  cargo xtask tidy --pending
                            what is left to do until further laws can be checked
  cargo xtask orderings [--if-changed | PART]
                            weaken every atomic ordering of the lock-free code, one by one, and
                            run the loom models, of which one must fail; PART of a file's path
                            runs that file's only, --if-changed nothing when all is as it passed
  cargo xtask instructions [--bless] [PART]
                            hold the hot paths' cost in instructions against instructions.txt, or
                            write it there; PART of a name measures these only (needs valgrind)
  cargo xtask api [--bless] hold the facade's public items against crates/taut/api, or write them
                            there
  cargo xtask fuzz [--seconds N]
                            run every target of fuzz/ for 10 or N seconds (needs cargo-fuzz)
  cargo xtask help          this text

Exit status: 0 when all is well, 1 on violations, 2 on bad usage.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        ["tidy"] => check(tidy::LAWS),
        ["tidy", "--pending"] => check(tidy::PENDING),
        ["tidy", "--list"] => {
            println!("{}", tidy::list());
            ExitCode::SUCCESS
        }
        ["orderings"] => weaken("", false),
        ["orderings", "--if-changed"] => weaken("", true),
        ["orderings", part] if !part.starts_with('-') => weaken(part, false),
        ["orderings", .., word] => refuse(word, "`orderings` takes `--if-changed` or a part"),
        ["instructions"] => count("", false),
        ["instructions", "--bless"] => count("", true),
        ["instructions", "--bless", part] => count(part, true),
        ["instructions", part] if !part.starts_with('-') => count(part, false),
        ["instructions", .., word] => refuse(word, "`instructions` takes `--bless` and a part"),
        ["api"] => list_api(false),
        ["api", "--bless"] => list_api(true),
        ["api", .., word] => refuse(word, "`api` takes `--bless`"),
        ["fuzz"] => fuzz_all(10),
        ["fuzz", "--seconds", seconds] => match seconds.parse() {
            Ok(seconds @ 1..) => fuzz_all(seconds),
            _ => refuse(seconds, "`--seconds` is a number above zero"),
        },
        ["fuzz", word, ..] => refuse(word, "`fuzz` takes `--seconds N`"),
        ["tidy", word, ..] => refuse(word, "`tidy` takes `--list` or `--pending`"),
        [word, ..] => refuse(word, "see the list of tools"),
    }
}

/// Every fuzz target for so many seconds.
fn fuzz_all(seconds: u32) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match fuzz::run(&root, seconds) {
        Ok(count) => {
            println!("fuzz: {count} targets found nothing in {seconds} s each");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::from(1)
        }
    }
}

/// A check: violations on stderr, one summary line on stdout when there is none.
fn check(laws: &[tidy::Law]) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tree = match tidy::Tree::load(&root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: cannot read {}: {error}; check its permissions", root.display());
            return ExitCode::from(2);
        }
    };
    let violations = tidy::violations(&tree, laws);
    for violation in &violations {
        eprintln!("{violation}");
    }
    if violations.is_empty() {
        println!("tidy: {} laws hold on {} files", laws.len(), tree.len());
        ExitCode::SUCCESS
    } else {
        eprintln!("tidy: {} violations in {} files", violations.len(), tree.len());
        ExitCode::from(1)
    }
}

/// The hot paths' instructions: a table, on stderr when one of them is slower than it may be.
fn count(part: &str, bless: bool) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match instructions::run(&root, &target(&root), part, bless) {
        Ok(table) => {
            println!("{table}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("{wrong}");
            ExitCode::from(1)
        }
    }
}

/// The facade's public items: what differs on stderr.
fn list_api(bless: bool) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match api::run(&root, bless) {
        Ok(count) => {
            println!("api: {count} headers are as they were agreed on");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("{wrong}\napi: if that is meant: cargo xtask api --bless");
            ExitCode::from(1)
        }
    }
}

/// Where cargo builds.
fn target(root: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => std::env::current_dir().unwrap_or_default().join(directory),
        None => root.join("target"),
    }
}

/// The mutants: what is wrong on stderr, one summary line on stdout when all is well.
fn weaken(part: &str, if_changed: bool) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match orderings::run(&root, &target(&root), part, if_changed) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            wrong.iter().for_each(|line| eprintln!("orderings: {line}"));
            ExitCode::from(1)
        }
    }
}

fn refuse(word: &str, remedy: &str) -> ExitCode {
    eprintln!("xtask: unknown word `{word}`: {remedy}; see `cargo xtask help`");
    ExitCode::from(2)
}
