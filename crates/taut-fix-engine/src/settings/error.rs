//! What is wrong with settings.

use std::fmt;

use strsim::levenshtein;

/// What is wrong with settings, in words for their writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(String);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}

/// An error of these words.
pub fn wrong(text: impl Into<String>) -> SettingsError {
    SettingsError(text.into())
}

/// What the TOML reader says; of an unknown key, which one was meant, or which there are.
pub fn explained(error: &toml::de::Error) -> SettingsError {
    let text = error.to_string();
    let Some(unknown) = unknown_key(error) else { return wrong(text.trim_end()) };
    // Where it stands, when the reader knows: the first line of what it says.
    let place = text.lines().next().and_then(|line| line.split_once("at line "));
    let place = place.map_or_else(String::new, |(_, at)| {
        format!("line {}: ", at.split(',').next().unwrap_or_default())
    });
    let known = error.message().split('`').skip(3).step_by(2);
    let far = |known: &str| if is_begin(unknown, known) { 0 } else { levenshtein(unknown, known) };
    let nearest = known.clone().map(|known| (far(known), known)).min();
    match nearest.filter(|(distance, known)| *distance <= known.len() / 2) {
        Some((_, known)) => {
            wrong(format!("{place}unknown key `{unknown}`; did you mean `{known}`?"))
        }
        None => {
            let known: Vec<_> = known.collect();
            wrong(format!("{place}unknown key `{unknown}`; known are {}", known.join(", ")))
        }
    }
}

/// As [`explained`], of the session that stands at this place in the text, whose keys the reader
/// has seen without their lines.
pub fn explained_in(text: &str, session: usize, error: &toml::de::Error) -> SettingsError {
    let explained = explained(error);
    match unknown_key(error).and_then(|key| line_of(text, session, key)) {
        Some(line) => wrong(format!("line {line}: {explained}")),
        None => explained,
    }
}

/// The key that nobody knows.
fn unknown_key(error: &toml::de::Error) -> Option<&str> {
    let named = error.message().strip_prefix("unknown field `")?;
    named.split('`').next()
}

/// The line in which a key of this session is set, or else the first one in which it is.
fn line_of(text: &str, session: usize, key: &str) -> Option<usize> {
    let is_set = |line: &str| {
        let rest = line.trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let (mut sessions, mut first) = (0, None);
    for (line, number) in text.lines().zip(1..) {
        sessions += usize::from(line.trim_start().starts_with("[[sessions]]"));
        if is_set(line) {
            if sessions == session + 1 {
                return Some(number);
            }
            first = first.or(Some(number));
        }
    }
    first
}

/// Whether one word is the other cut short.
fn is_begin(one: &str, other: &str) -> bool {
    one.len() >= 3 && other.starts_with(one)
}
