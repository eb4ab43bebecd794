//! Where code orders memory, how much less would be the next weaker, and code that can do either.

use std::fmt;
use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};

use crate::tidy::Source;

/// What an ordering belongs to, by the call that it stands in.
const OPERATIONS: &[(&str, Operation)] = &[
    ("load", Operation::Load),
    ("store", Operation::Store),
    ("fence", Operation::Fence),
    ("compare_exchange", Operation::Change),
    ("compare_exchange_weak", Operation::Change),
    ("swap", Operation::Change),
    ("fetch_add", Operation::Change),
    ("fetch_or", Operation::Change),
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

/// Finds all orderings of a file that ship, and returns its text with each of them looked up at run
/// time: mutant `n` is the `n`th that was pushed to `mutants`.
pub fn instrument(file: &str, text: &str, mutants: &mut Vec<Mutant>) -> Result<String, String> {
    let source = Source::new(text).map_err(|line| format!("{file}:{line}: it is not Rust"))?;
    let mut orderings = Vec::new();
    collect(source.shipped, None, &mut orderings);
    // No string of these files has two slashes.
    let code = |line: &str| line.split("//").next().unwrap_or("").trim().to_owned();
    let lines: Vec<String> = text.lines().map(code).collect();
    let (mut out, mut end) = (String::new(), 0);
    for Ordering { strength, operation, line, range } in orderings {
        let whole = &text[range.clone()];
        let weaker = weaker(operation, &strength)
            .ok_or_else(|| format!("{file}:{line}: cannot tell what `{whole}` belongs to"))?;
        let code = &lines[line - 1];
        let repeat = lines[..line].iter().filter(|other| *other == code).count();
        let choices: Vec<String> = weaker
            .iter()
            .map(|weaker| {
                let (file, code) = (file.to_owned(), code.clone());
                mutants.push(Mutant { file, code, repeat, weaker, line });
                format!("({}, Ordering::{weaker})", mutants.len())
            })
            .collect();
        out.push_str(&text[end..range.start]);
        out.push_str(&match choices.is_empty() {
            true => whole.to_owned(),
            false => format!("taut_sync::weaken(&[{}], {whole})", choices.join(", ")),
        });
        end = range.end;
    }
    Ok(out + &text[end..])
}

/// `Ordering::strength` in the text.
struct Ordering {
    strength: String,
    operation: Option<Operation>,
    line: usize,
    range: Range<usize>,
}

/// Collects the orderings of a call's arguments, and of the calls among these.
fn collect(stream: TokenStream, call: Option<Operation>, found: &mut Vec<Ordering>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let word = |at: usize| match trees.get(at) {
        Some(TokenTree::Ident(word)) => Some(word),
        _ => None,
    };
    for (at, tree) in trees.iter().enumerate() {
        if let TokenTree::Group(group) = tree {
            let called = at
                .checked_sub(1)
                .and_then(word)
                .and_then(|name| OPERATIONS.iter().find(|(operation, _)| name == operation));
            collect(group.stream(), called.map(|(_, operation)| *operation).or(call), found);
        } else if let (Some(path), Some(strength)) = (word(at), word(at + 3))
            && path == "Ordering"
        {
            let (first, last) = (path.span(), strength.span());
            found.push(Ordering {
                strength: strength.to_string(),
                operation: call,
                line: first.start().line,
                range: first.byte_range().start..last.byte_range().end,
            });
        }
    }
}

/// The next weaker orderings of one in such a call; nothing when there is no call.
fn weaker(operation: Option<Operation>, strength: &str) -> Option<&'static [&'static str]> {
    if strength == "Relaxed" {
        return Some(&[]);
    }
    let operation = operation?;
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
