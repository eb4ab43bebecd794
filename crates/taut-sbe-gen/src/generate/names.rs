//! Names of a schema as names of Rust, each used once.

use std::collections::HashSet;

/// Words that a Rust program cannot use as a name.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "Self", "static", "struct", "super", "trait", "true", "try", "type",
    "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Crates that a crate of their name would hide, or cannot depend on.
const CRATES: &[&str] = &["alloc", "core", "proc_macro", "std", "taut_sbe", "test"];

/// A scope in which every name is used once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope(HashSet<String>);

impl Scope {
    /// A scope in which these names are taken.
    pub(crate) fn with(taken: &[&str]) -> Self {
        Self(taken.iter().map(|&name| name.to_owned()).collect())
    }

    /// Whether a name is used already.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// The name of a type or a value itself; with a number behind it when it is taken.
    pub(crate) fn unique_type(&mut self, name: String) -> String {
        let mut candidate = name.clone();
        let mut number = 2;
        while KEYWORDS.contains(&candidate.as_str()) || !self.0.insert(candidate.clone()) {
            candidate = format!("{name}{number}");
            number += 1;
        }
        candidate
    }

    /// The name of a field or a constant itself; with something behind it when it is taken or a
    /// keyword.
    pub(crate) fn unique(&mut self, name: String) -> String {
        let mut candidate = name.clone();
        let mut number = 1;
        while KEYWORDS.contains(&candidate.as_str()) || !self.0.insert(candidate.clone()) {
            candidate = if number == 1 { format!("{name}_") } else { format!("{name}_{number}") };
            number += 1;
        }
        candidate
    }
}

/// The words of a name: separated by what is no letter or digit, or by a change of case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let letters: Vec<char> = name.chars().collect();
    let mut word = String::new();
    for (at, &letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            words.push(std::mem::take(&mut word));
            continue;
        }
        let before = at.checked_sub(1).and_then(|before| letters.get(before));
        let after = letters.get(at + 1);
        let starts = letter.is_uppercase()
            && before.is_some_and(|&before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || before.is_uppercase() && after.is_some_and(|next| next.is_lowercase())
            });
        if starts {
            words.push(std::mem::take(&mut word));
        }
        word.push(letter);
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The name of a field or a function: `snake_case`.
pub(crate) fn snake(name: &str) -> String {
    let name = words(name).join("_").to_lowercase();
    started(name, "field_")
}

/// The name of the crate of a package: `snake_case`, of ASCII letters, which a program can use as
/// it is.
pub(crate) fn crate_name(package: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let package: String = package.chars().map(letter).collect();
    let name = snake(&package);
    let starts_well = package.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_taken = KEYWORDS.contains(&name.as_str()) || CRATES.contains(&name.as_str());
    if starts_well && !is_taken { name } else { snake(&format!("sbe_{package}")) }
}

/// The name of a constant: `UPPER_CASE`.
pub(crate) fn upper(name: &str) -> String {
    snake(name).to_uppercase()
}

/// The name of a type or of a value of an enum: `CamelCase`.
pub(crate) fn camel(name: &str) -> String {
    let word = |word: String| {
        let mut letters = word.chars();
        let first = letters.next().map(char::to_uppercase).into_iter().flatten();
        first.chain(letters.as_str().to_lowercase().chars()).collect::<String>()
    };
    let name: String = words(name).into_iter().map(word).collect();
    started(name, "V")
}

/// A name cannot start with a digit, nor be empty.
fn started(name: String, prefix: &str) -> String {
    match name.chars().next() {
        Some(first) if first.is_alphabetic() => name,
        _ => format!("{prefix}{name}"),
    }
}
