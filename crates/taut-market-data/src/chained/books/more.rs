//! Books that are added while the others are followed, in room that was taken ahead.

use taut_book::LevelBook;
use taut_types::{Instrument, InstrumentId};

use super::{ChainedBooks, INSTRUMENTS_MAX, NOWHERE};
use crate::chained::book::FollowedBook;
use crate::handler::FollowError;

impl ChainedBooks {
    /// Takes the room for so many more books.
    pub(in crate::chained) fn reserve(&mut self, more: usize) {
        self.books.reserve_exact(more);
        // Numbers are given one after the other.
        self.places.reserve_exact(more);
        self.untold.reserve(more);
        self.wanted.reserve(more);
        let spare = (0..more).map(|_| LevelBook::with_capacity(self.level_capacity));
        self.spare = spare.collect();
    }

    /// How many books there are, and may be.
    pub(in crate::chained) const fn room(&self) -> usize {
        self.books.len() + self.spare.len()
    }

    /// Whether an instrument of this number can be followed.
    pub(in crate::chained) fn check(&self, instrument: InstrumentId) -> Result<(), FollowError> {
        if instrument.0 >= INSTRUMENTS_MAX {
            return Err(FollowError::NumberTooHigh(instrument));
        }
        if self.get(instrument).is_some() {
            return Err(FollowError::SameNumber(instrument));
        }
        if self.spare.is_empty() { Err(FollowError::Full) } else { Ok(()) }
    }

    /// Follows one more instrument behind the others. Its subscription brings a snapshot by itself;
    /// when that does not come, it is asked for.
    pub(in crate::chained) fn follow(
        &mut self,
        instrument: &Instrument,
    ) -> Result<(), FollowError> {
        let (id, place) = (instrument.id(), self.books.len() as u32);
        self.check(id)?;
        let book = self.spare.pop().ok_or(FollowError::Full)?;
        let now = self.heard.iter().copied().max().unwrap_or_default();
        self.books.push(FollowedBook::new(id, book, instrument.lot().decimals, now));
        let index = id.0 as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, NOWHERE);
        }
        self.places.get_mut(index).into_iter().for_each(|slot| *slot = place);
        self.untold.add();
        self.wanted.add();
        self.unsound += 1;
        let due = now + self.snapshot_interval;
        self.retry = Some(self.retry.map_or(due, |retry| retry.min(due)));
        Ok(())
    }
}
