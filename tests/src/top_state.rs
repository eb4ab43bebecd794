//! The best levels of a rebuilt book and those of a LOBSTER orderbook file, in one form.
//!
//! The sample's message file covers 50 levels of one hour, its orderbook file the best level of the
//! whole day: they are compared as sequences of distinct states (a state that repeats the one
//! before is left out); ours takes the state after the last event of each row.

use std::path::Path;

use taut_book::TopOfBook;
use taut_recording::lobster::{Orderbook, UNIT};
use taut_types::HalfTicks;

/// The best levels, prices in 1e-4 dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopState {
    /// Best ask.
    pub ask: i64,
    /// Its size.
    pub ask_lots: i64,
    /// Best bid.
    pub bid: i64,
    /// Its size.
    pub bid_lots: i64,
}

impl TopState {
    /// The top of a book whose tick is a cent, unless a side is empty.
    #[must_use]
    pub fn of(top: &TopOfBook<HalfTicks>) -> Option<Self> {
        let (ask, bid) = (top.ask?, top.bid?);
        Some(Self {
            ask: ask.price.0 * UNIT,
            ask_lots: ask.lots.0,
            bid: bid.price.0 * UNIT,
            bid_lots: bid.lots.0,
        })
    }
}

/// The best levels of every row of an orderbook file.
///
/// # Panics
/// When it is none.
#[must_use]
pub fn read_orderbook(path: &Path) -> Vec<TopState> {
    states_of(&Orderbook::read(path).expect("an orderbook file"))
}

fn states_of(book: &Orderbook) -> Vec<TopState> {
    let state =
        |row: &[i64]| TopState { ask: row[0], ask_lots: row[1], bid: row[2], bid_lots: row[3] };
    book.rows().map(state).collect()
}

/// The states without those that repeat the one before.
pub fn distinct(states: impl IntoIterator<Item = TopState>) -> Vec<TopState> {
    let mut states: Vec<TopState> = states.into_iter().collect();
    states.dedup();
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_repeats_the_one_before_is_left_out() {
        let rows = b"2,1,1,5\n2,1,1,5\n3,1,1,5\n2,1,1,5\n";
        let states = states_of(&Orderbook::parse("rows", rows).expect("four rows"));
        assert_eq!(distinct(states.iter().copied()), [states[0], states[2], states[0]]);
    }
}
