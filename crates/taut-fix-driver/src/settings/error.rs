//! What is wrong with settings.

use std::fmt;

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
