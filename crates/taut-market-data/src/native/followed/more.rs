//! Instruments that are added while the feed is followed, in room that was taken ahead.

use alloc::vec::Vec;

use taut_book::LevelBook;
use taut_types::{Instrument, InstrumentId};

use super::{Followed, FollowedBook, FollowedStatus, NOT_FOLLOWED, NUMBER_MAX};
use crate::handler::FollowError;
use crate::native::queues::FollowedOrders;

impl Followed {
    /// Takes the room for so many more instruments.
    pub(crate) fn reserve(&mut self, more: usize, level_capacity: usize) {
        self.books.reserve_exact(more);
        self.statuses.reserve_exact(more);
        self.touched.reserve_exact(self.books.len() + more);
        // Addresses for the highest number, of which memory is used up to the highest that comes.
        for places in [&mut self.places, &mut self.own_places] {
            places.reserve_exact((NUMBER_MAX as usize + 1).saturating_sub(places.len()));
        }
        self.spare = (0..more).map(|_| LevelBook::with_capacity(level_capacity)).collect();
    }

    /// For how many more instruments there is room.
    pub(crate) const fn room(&self) -> usize {
        self.spare.len()
    }

    /// Follows one more instrument, which is another one's at neither number. Its book waits for a
    /// snapshot.
    pub(crate) fn follow(
        &mut self,
        instrument: &Instrument,
        number: InstrumentId,
    ) -> Result<(), FollowError> {
        let own = instrument.id();
        check(&self.places, number)?;
        check(&self.own_places, own)?;
        let at = u32::try_from(self.books.len()).map_err(|_| FollowError::Full)?;
        let book = self.spare.pop().ok_or(FollowError::Full)?;
        // Where single orders are followed, there are as many of them as books.
        if let Some(orders) = self.orders.spare.pop() {
            self.orders.books.push(FollowedOrders::new(*instrument, orders));
        }
        note(&mut self.places, number, at);
        note(&mut self.own_places, own, at);
        self.books.push(FollowedBook::new(instrument, book));
        self.statuses.push(FollowedStatus::default());
        Ok(())
    }
}

/// Whether a number is free, and the table can have it.
fn check(places: &[u32], number: InstrumentId) -> Result<(), FollowError> {
    if number.0 > NUMBER_MAX {
        return Err(FollowError::NumberTooHigh(number));
    }
    match places.get(number.0 as usize) {
        Some(place) if *place != NOT_FOLLOWED => Err(FollowError::SameNumber(number)),
        _ => Ok(()),
    }
}

fn note(places: &mut Vec<u32>, number: InstrumentId, at: u32) {
    let index = number.0 as usize;
    if index >= places.len() {
        places.resize(index + 1, NOT_FOLLOWED);
    }
    if let Some(place) = places.get_mut(index) {
        *place = at;
    }
}
