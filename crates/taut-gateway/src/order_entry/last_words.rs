//! What a venue said when it refused a session, for people.

use std::fmt::{self, Write};

/// Bytes that are kept.
const BYTES: usize = 240;

/// What the venue said last when it refused a session or ended it. Allocates once.
#[derive(Debug)]
pub struct LastWords(String);

impl Default for LastWords {
    fn default() -> Self {
        Self(String::with_capacity(BYTES))
    }
}

impl LastWords {
    /// These instead of those before: cut at the end, without control characters.
    pub fn say(&mut self, words: fmt::Arguments<'_>) {
        self.0.clear();
        // A writer that is full says so, and what fits is kept.
        let _ = Cut(&mut self.0).write_fmt(words);
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

struct Cut<'a>(&'a mut String);

impl Write for Cut<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars().map(|it| if it.is_control() { ' ' } else { it }) {
            if self.0.len() + character.len_utf8() > BYTES {
                return Err(fmt::Error);
            }
            self.0.push(character);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_and_control_no_terminal() {
        let mut words = LastWords::default();
        words.say(format_args!("{}: \u{1b}[31mno\n", 13_004));
        assert_eq!(words.as_str(), "13004:  [31mno ");
        words.say(format_args!("{}", "é".repeat(500)));
        assert_eq!(words.as_str().len(), BYTES);
    }
}
