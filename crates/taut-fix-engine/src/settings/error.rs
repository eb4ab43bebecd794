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

/// What the TOML reader says, and which key was meant when one is unknown.
pub fn explained(error: &toml::de::Error) -> SettingsError {
    let text = error.to_string();
    let text = text.trim_end();
    let mut quoted = error.message().split('`').skip(1).step_by(2);
    let nearest = quoted.next().filter(|_| error.message().starts_with("unknown field"));
    let nearest = nearest.and_then(|unknown| {
        let far =
            |known: &str| if is_begin(unknown, known) { 0 } else { levenshtein(unknown, known) };
        let known = quoted.map(|known| (far(known), known));
        known.min().filter(|(distance, known)| *distance <= known.len() / 2)
    });
    match nearest {
        Some((_, known)) => wrong(format!("{text}; did you mean `{known}`?")),
        None => wrong(text),
    }
}

/// Whether one word is the other cut short.
fn is_begin(one: &str, other: &str) -> bool {
    one.len() >= 3 && other.starts_with(one)
}
