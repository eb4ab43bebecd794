//! How the frames of a book's channel follow each other.
//!
//! A subscription begins with a snapshot. Each change names the id of what it follows; ids jump, so
//! that only the names tell. Two connections may bring the same book: what one of them has lost,
//! the other one still has.
//!
//! | a change from `p` to `i`, the book has `b` | its line ends in `p` | or elsewhere |
//! |---|---|---|
//! | i is before the line's own last one | book lost: ids began again | the same |
//! | no book | early | early |
//! | p = b, p < i | apply | apply |
//! | i <= b | outdated | outdated or line broken |
//! | p < b < i | outdated: the other line follows the book | line broken |
//! | p > b | book lost: the other line is late | line broken |
//!
//! A channel that folds the changes of a while into one does it differently on each connection.
//! Such a change follows the book that it names and no other: of what came and went since then it
//! says nothing.
//!
//! A channel that brings the whole book each time has no chain: its frame takes the place of a book
//! that is not younger, and nobody knows what was lost in between.
//!
//! What the book has is outdated where the line has no chain, or brings its last frame again. A
//! line that is broken needs a new snapshot. The book lives on where another line stands where it
//! stands: one that lags might be of another run of the venue, whose ids began again.

use crate::event::SequenceRange;
use crate::handler::Source;

/// What to do with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// The snapshot becomes the book.
    Load,
    /// The change follows the book.
    Apply,
    /// The frame takes the place of the book, which it is the next state of.
    Replace,
    /// The book has it.
    Outdated,
    /// There is no book that the change could follow.
    Early,
    /// The line has lost something; the book goes on with the other line.
    LineBroken,
    /// The book has lost something.
    Gap,
}

/// What a frame of a book is to the frames before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// The whole book as of this id.
    Snapshot(u64),
    /// What changed since the frame with the first id.
    Change(u64, u64),
    /// The whole book as of this number, like each frame of its channel. More than one may have the
    /// same.
    Whole(u64),
    /// What changed since the frame before: the venue gives no ids, and one line brings the book.
    Next,
}

impl Link {
    /// The venue's numbers of the frame.
    #[inline]
    pub(crate) const fn sequence(self) -> SequenceRange {
        match self {
            Self::Snapshot(id) | Self::Whole(id) => SequenceRange::one(id),
            Self::Change(previous, last) => {
                SequenceRange { first: previous.saturating_add(1), last, previous: Some(previous) }
            }
            Self::Next => SequenceRange { first: 0, last: 0, previous: None },
        }
    }
}

/// Where a book and its lines stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BookChain {
    book: Option<u64>,
    lines: [Option<u64>; 2],
}

impl BookChain {
    /// The id of the last frame that the book has; nothing when there is no book.
    pub(crate) const fn last(&self) -> Option<u64> {
        self.book
    }

    /// Decides about a frame, and takes note of it.
    #[inline]
    pub(crate) fn place(&mut self, line: Source, link: Link) -> Placement {
        match link {
            Link::Snapshot(id) => self.place_snapshot(line, id),
            Link::Change(previous, id) => self.place_change(line, previous, id),
            Link::Whole(id) => self.place_whole(line, id),
            Link::Next => match self.book {
                Some(book) => self.place_change(line, book, book.saturating_add(1)),
                None => Placement::Early,
            },
        }
    }

    /// Decides about a snapshot, and takes note of it.
    fn place_snapshot(&mut self, line: Source, id: u64) -> Placement {
        let own = self.line(line);
        let has_begun_again = own.is_some_and(|own| id < own);
        let placement = match self.book {
            Some(book) if id <= book && !has_begun_again => Placement::Outdated,
            _ => Placement::Load,
        };
        if placement == Placement::Load {
            // The ids of the other line belong to another run of the venue then.
            self.lines = if has_begun_again { [None; 2] } else { self.lines };
            self.book = Some(id);
        }
        self.set_line(line, Some(id));
        placement
    }

    /// Decides about a frame of a channel without a chain, and takes note of it.
    fn place_whole(&mut self, line: Source, id: u64) -> Placement {
        let had_book = self.book.is_some();
        match self.place_snapshot(line, id) {
            Placement::Load if had_book => Placement::Replace,
            Placement::Outdated if self.book == Some(id) => Placement::Replace,
            placement => placement,
        }
    }

    /// Decides about a change, and takes note of it.
    #[inline]
    fn place_change(&mut self, line: Source, previous: u64, id: u64) -> Placement {
        let Some(book) = self.book else { return Placement::Early };
        let own = self.line(line);
        if own.is_some_and(|own| id < own) {
            self.invalidate();
            return Placement::Gap;
        }
        let is_chained = own == Some(previous);
        if previous == book && previous < id {
            self.book = Some(id);
            self.set_line(line, Some(id));
            return Placement::Apply;
        }
        if is_chained && previous > book {
            self.invalidate();
            return Placement::Gap;
        }
        if is_chained {
            self.set_line(line, Some(id));
            return Placement::Outdated;
        }
        if id <= book && (own.is_none() || own == Some(id)) {
            return Placement::Outdated;
        }
        self.break_line(line)
    }

    /// The line has lost something, or is no more; whether the book has, too.
    #[cold]
    pub(crate) fn break_line(&mut self, line: Source) -> Placement {
        let had_book = self.book.is_some();
        self.set_line(line, None);
        if !self.lines.contains(&self.book) {
            self.invalidate();
        }
        match (had_book, self.book) {
            (true, None) => Placement::Gap,
            _ => Placement::LineBroken,
        }
    }

    /// The book is not what the venue has: nothing of what there is can be followed.
    pub(crate) fn invalidate(&mut self) {
        *self = Self::default();
    }

    /// Where a line stands; nothing for what is no line.
    #[inline]
    pub(crate) fn line(&self, line: Source) -> Option<u64> {
        self.lines.get(usize::from(line.0)).copied().flatten()
    }

    #[inline]
    fn set_line(&mut self, line: Source, id: Option<u64>) {
        if let Some(slot) = self.lines.get_mut(usize::from(line.0)) {
            *slot = id;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Placement::{Apply, Early, Gap, LineBroken, Load, Outdated, Replace};

    const A: Source = Source::LINE_A;
    const B: Source = Source::LINE_B;

    /// A frame of a line: a snapshot when nothing comes before it.
    type Frame = (Source, Option<u64>, u64);

    fn story(frames: &[Frame]) -> std::vec::Vec<Placement> {
        let mut chain = BookChain::default();
        let place = |&(line, previous, id): &Frame| match previous {
            Some(previous) => chain.place_change(line, previous, id),
            None => chain.place_snapshot(line, id),
        };
        frames.iter().map(place).collect()
    }

    #[test]
    fn changes_follow_a_snapshot_and_each_other_by_name_and_ids_jump() {
        let frames = [(A, Some(3), 5), (A, None, 10), (A, Some(10), 17), (A, Some(17), 90)];
        assert_eq!(story(&frames), [Early, Load, Apply, Apply]);
    }

    #[test]
    fn a_broken_chain_loses_the_book_until_the_next_snapshot() {
        let frames =
            [(A, None, 10), (A, Some(11), 12), (A, Some(12), 13), (A, None, 12), (A, Some(12), 13)];
        assert_eq!(story(&frames), [Load, Gap, Early, Load, Apply]);
    }

    #[test]
    fn a_frame_that_comes_twice_changes_nothing_and_one_out_of_order_breaks_the_chain() {
        assert_eq!(story(&[(A, None, 1), (A, Some(1), 2), (A, Some(1), 2)])[2], Outdated);
        assert_eq!(story(&[(A, None, 1), (A, None, 1)])[1], Outdated);
        let frames = [(A, None, 1), (A, Some(1), 2), (A, Some(2), 3), (A, Some(1), 2)];
        assert_eq!(story(&frames)[3], Gap);
        assert_eq!(story(&[(A, None, 5), (A, Some(5), 5)])[1], Outdated);
        assert_eq!(story(&[(A, None, 5), (A, Some(5), 4)])[1], Gap);
        assert_eq!(story(&[(A, None, 5), (A, Some(9), 6)])[1], Gap);
    }

    #[test]
    fn ids_that_begin_again_make_another_book() {
        assert_eq!(story(&[(A, None, 100), (A, None, 7), (A, Some(7), 8)]), [Load, Load, Apply]);
        // A change from a new run says so by itself.
        assert_eq!(story(&[(A, None, 100), (A, Some(7), 8)]), [Load, Gap]);
        // The other line is of the old run until it has its own snapshot.
        let frames = [(A, None, 100), (B, None, 100), (A, None, 7), (B, Some(100), 101)];
        assert_eq!(story(&frames), [Load, Outdated, Load, LineBroken]);
        // A change of the new run loses the book, and the next snapshot is one of the new run.
        let [first, second, ..] = frames;
        let frames = [first, second, (A, Some(5), 7), (A, None, 7), (B, Some(7), 8)];
        assert_eq!(story(&frames), [Load, Outdated, Gap, Load, Apply]);
    }

    #[test]
    fn whichever_line_is_first_is_taken() {
        let frames = [
            (A, None, 10),
            (B, None, 10),
            (A, Some(10), 12),
            (B, Some(10), 12),
            (B, Some(12), 14),
            (A, Some(12), 14),
        ];
        assert_eq!(story(&frames), [Load, Outdated, Apply, Outdated, Apply, Outdated]);
    }

    #[test]
    fn lines_that_fold_changes_differently_still_make_one_book() {
        let begin = [(A, None, 10), (B, None, 10), (A, Some(10), 13), (B, Some(10), 15)];
        let then = |more: &[Frame]| story(&[&begin[..], more].concat()).split_off(2);
        // What the second line says is no change of the book as the first one has it.
        assert_eq!(then(&[(A, Some(13), 15)]), [Apply, Outdated, Apply]);
        let frames = [(A, Some(13), 16), (B, Some(15), 17), (A, Some(16), 17), (B, Some(17), 18)];
        assert_eq!(then(&frames), [Apply, Outdated, Apply, Outdated, Apply, Apply]);
        // The first line brings nothing for so long that the second one goes on twice.
        assert_eq!(then(&[(B, Some(15), 18), (A, Some(13), 18)]), [Apply, Outdated, Gap, Early]);
    }

    #[test]
    fn what_one_line_loses_the_other_one_brings() {
        let frames = [
            (A, None, 10),
            (B, None, 10),
            (A, Some(11), 12),
            (B, Some(10), 11),
            (B, Some(11), 12),
            (A, Some(12), 13),
            (B, Some(12), 13),
            (B, Some(14), 15),
        ];
        let placements = story(&frames);
        assert_eq!(placements[..5], [Load, Outdated, LineBroken, Apply, Apply]);
        // The line is whole again with the first change that follows the book.
        assert_eq!(placements[5..], [Apply, Outdated, LineBroken]);
    }

    #[test]
    fn a_line_that_lags_may_break_and_the_book_lives_as_long_as_a_line_does() {
        let frames = [(A, None, 10), (B, None, 10), (A, Some(10), 20), (B, Some(12), 14)];
        assert_eq!(story(&frames)[3], LineBroken);
        // The one that is ahead takes the book with it.
        let frames = [(A, None, 10), (B, None, 10), (A, Some(10), 20), (A, Some(30), 40)];
        assert_eq!(story(&frames)[3], Gap);
        let mut chain = BookChain::default();
        chain.place_snapshot(A, 10);
        chain.place_snapshot(B, 10);
        assert_eq!(chain.break_line(A), LineBroken);
        assert_eq!(chain.break_line(A), LineBroken);
        assert_eq!((chain.break_line(B), chain.last()), (Gap, None));
        assert_eq!(chain.break_line(B), LineBroken);
        chain.place_snapshot(B, 1);
        chain.invalidate();
        assert_eq!(chain.place_change(B, 1, 2), Early);
    }

    #[test]
    fn a_whole_book_takes_the_place_of_one_that_is_not_younger() {
        let mut chain = BookChain::default();
        let mut place = |line, id| chain.place(line, Link::Whole(id));
        assert_eq!([place(A, 5), place(A, 5), place(A, 9)], [Load, Replace, Replace]);
        // The other line lags, and overtakes.
        assert_eq!([place(B, 8), place(B, 9), place(B, 10)], [Outdated, Replace, Replace]);
        assert_eq!(place(A, 9), Outdated);
        // Numbers that begin again are those of another run of the venue.
        assert_eq!([place(A, 1), place(A, 2)], [Replace, Replace]);
        assert_eq!(chain.break_line(A), Gap);
        assert_eq!(chain.place(A, Link::Whole(1)), Load);
    }

    #[test]
    fn what_comes_from_nowhere_has_no_chain() {
        let mut chain = BookChain::default();
        assert_eq!(chain.place_snapshot(Source(9), 1), Load);
        assert_eq!(chain.place_change(Source(9), 1, 2), Apply);
        assert_eq!(chain.place_change(Source(9), 3, 4), Gap);
    }
}
