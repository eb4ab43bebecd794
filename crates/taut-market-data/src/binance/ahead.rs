//! Streams beside a book's own, which may be ahead of it: best prices, and best levels.

/// How far they have been told, by the numbers of the venue's updates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead {
    /// Of the newest top.
    top: u64,
    /// Of the best levels that were told last.
    levels: u64,
    /// What comes now is of best levels that are told.
    is_in_levels: bool,
}

impl Ahead {
    /// Takes note of a top; whether it is newer than the book, and no older than the one before it.
    #[inline]
    pub(super) fn takes_top(&mut self, number: u64, book: Option<u64>) -> bool {
        let is_next = number >= self.top && book.is_none_or(|book| number > book);
        if is_next {
            self.top = number;
        }
        is_next
    }

    /// Whether a book with this last number has the newest top.
    #[inline]
    pub(super) fn is_reached(&self, book: Option<u64>) -> bool {
        book.is_some_and(|book| book >= self.top)
    }

    /// Best levels begin; whether they are as new as the book, and newer than those before them.
    pub(super) fn begins_levels(&mut self, number: u64, book: Option<u64>) -> bool {
        self.is_in_levels = number > self.levels && book.is_none_or(|book| number >= book);
        if self.is_in_levels {
            self.levels = number;
        }
        self.is_in_levels
    }

    /// Whether a level is one of those.
    #[inline]
    pub(super) const fn is_in_levels(&self) -> bool {
        self.is_in_levels
    }

    /// Levels end; whether it was those.
    #[inline]
    pub(super) fn ends_levels(&mut self) -> bool {
        core::mem::replace(&mut self.is_in_levels, false)
    }
}

#[cfg(test)]
mod tests {
    use super::Ahead;

    #[test]
    fn a_top_is_newer_than_the_book_and_no_older_than_the_last_one() {
        let mut ahead = Ahead::default();
        assert!(ahead.is_reached(Some(10)));
        let taken = [(10, false), (12, true), (12, true), (11, false), (15, true)];
        for (number, is_taken) in taken {
            assert_eq!(ahead.takes_top(number, Some(10)), is_taken, "{number}");
        }
        assert!(!ahead.is_reached(Some(14)) && ahead.is_reached(Some(15)));
    }

    #[test]
    fn best_levels_are_as_new_as_the_book_and_told_once() {
        let mut ahead = Ahead::default();
        for (number, is_told) in [(9, false), (10, true), (10, false), (12, true), (11, false)] {
            assert_eq!(ahead.begins_levels(number, Some(10)), is_told, "{number}");
            assert_eq!((ahead.is_in_levels(), ahead.ends_levels()), (is_told, is_told));
            assert!(!ahead.is_in_levels());
        }
    }
}
