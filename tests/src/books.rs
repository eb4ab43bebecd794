//! The gateway's book beside the venue's.

use taut_book::{Level, LevelBook, OrderBook};
use taut_types::Side;

use crate::setup::instrument;

/// Demands that both books show the same levels: prices, quantities and numbers of orders.
///
/// # Panics
/// At the first level that differs, and without a book.
pub fn assert_same_levels(venue: &OrderBook, gateway: Option<&LevelBook>) {
    let gateway = gateway.expect("a book of the instrument");
    let instrument = instrument();
    for side in Side::BOTH {
        assert_eq!(gateway.level_count(side), venue.level_count(side), "levels of {side:?}");
        for (depth, (theirs, ours)) in venue.levels(side).zip(gateway.iter(side)).enumerate() {
            let price = instrument.price(theirs.price).expect("a price in range");
            let theirs = Level { price, lots: theirs.lots, order_count: theirs.order_count };
            assert_eq!(ours, theirs, "level {depth} of {side:?}");
        }
    }
}
