//! What strangers make a server say, on standard error: a few lines a second, however many come.

use std::fmt::Display;

use taut_types::Nanos;

use crate::terminal::tell;

const LINES_MAX: u32 = 5;
const SPAN: Nanos = Nanos::from_secs(1);

/// Tells so many lines within a second, and how many more there were.
#[derive(Debug, Default)]
pub struct TellFew {
    /// When the second is over that the first line began.
    until: Nanos,
    told: u32,
    more: u64,
}

impl TellFew {
    /// Tells a line, or counts it.
    pub fn tell(&mut self, now: Nanos, words: impl Display) {
        self.look(now);
        if self.has_room(now) {
            tell(words);
        }
    }

    /// Tells how many more there were, once their second is over.
    pub fn look(&mut self, now: Nanos) {
        if let Some(more) = self.left_out(now) {
            tell(format_args!("and {more} more"));
        }
    }

    fn has_room(&mut self, now: Nanos) -> bool {
        if now >= self.until {
            (self.until, self.told) = (now + SPAN, 0);
        }
        let has_room = self.told < LINES_MAX;
        self.told += u32::from(has_room);
        self.more += u64::from(!has_room);
        has_room
    }

    fn left_out(&mut self, now: Nanos) -> Option<u64> {
        let is_over = self.more > 0 && now >= self.until;
        is_over.then(|| std::mem::take(&mut self.more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_few_lines_a_second_and_a_count() {
        let mut lines = TellFew::default();
        let start = Nanos::from_secs(7);
        let told = (0..1_000).filter(|_| lines.has_room(start)).count();
        assert_eq!(told, LINES_MAX as usize);
        assert_eq!(lines.left_out(start), None);
        assert_eq!(lines.left_out(start + SPAN), Some(1_000 - u64::from(LINES_MAX)));
        assert_eq!(lines.left_out(start + SPAN), None);
        assert!(lines.has_room(start + SPAN));
    }
}
