//! What a book comes to: for who compares another one with it.

use taut_book::{LevelBook, OrderBook};
use taut_engine::Phase;
use taut_types::{Instrument, Lots, Price, Side};

/// A book of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BookState {
    /// The highest bid and its lots.
    pub bid: Option<(Price, Lots)>,
    /// The lowest offer and its lots.
    pub offer: Option<(Price, Lots)>,
    /// Price levels of both sides.
    pub levels: usize,
    /// Orders that rest.
    pub orders: usize,
    /// [`LevelBook::state_hash`] of its levels, their counts of orders left out: two books with the
    /// same one have the same prices and quantities.
    pub levels_hash: u64,
    /// [`OrderBook::state_hash`]: the orders in their priority too.
    pub orders_hash: u64,
    /// The phase that the instrument is in.
    pub phase: Phase,
    /// What an auction that ended now would come to: its price, its lots, and what would be left of
    /// buys (of sells where it is below zero). Nothing where nothing would trade, or where orders
    /// are not collected.
    pub indicative: Option<(Price, Lots, i64)>,
}

impl BookState {
    /// Of an instrument's book; of an empty one where there is none yet. Allocates; cost: linear.
    pub(crate) fn of(instrument: &Instrument, book: Option<&OrderBook>) -> Self {
        let Some(book) = book else {
            return Self::of(instrument, Some(&OrderBook::with_capacity(1, 1)));
        };
        let mut levels = LevelBook::with_capacity(book.level_capacity());
        for side in Side::BOTH {
            for level in book.levels(side) {
                // Both succeed: an order had the price, and the copy has as much room as the book.
                if let Ok(price) = instrument.price(level.price) {
                    let _ = levels.apply(side, price, level.lots, 0);
                }
            }
        }
        let best = |side| levels.best(side).map(|level| (level.price, level.lots));
        Self {
            bid: best(Side::Buy),
            offer: best(Side::Sell),
            levels: Side::BOTH.iter().map(|side| levels.level_count(*side)).sum(),
            orders: book.order_count(),
            levels_hash: levels.state_hash(),
            orders_hash: book.state_hash(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use taut_book::Order;
    use taut_types::{InstrumentId, OrderId, Qty, Symbol};

    use super::*;

    #[test]
    fn a_book_comes_to_its_best_levels_and_two_hashes() {
        let symbol = Symbol::new(b"BTCUSDT").expect("a symbol");
        let tick = Price::parse(b"0.5").expect("a price");
        let lot = Qty::parse(b"0.001").expect("a quantity");
        let instrument = Instrument::new(InstrumentId(0), symbol, tick, lot).expect("instrument");
        let price = |text: &str| Price::parse(text.as_bytes()).expect("a price");
        let book = |orders: &[(u64, Side, &str, i64)]| {
            let mut book = OrderBook::with_capacity(8, 8);
            for (id, side, at, lots) in orders {
                let price = instrument.half_ticks(price(at)).expect("a whole number of ticks");
                let (id, lots) = (OrderId(*id), Lots(*lots));
                book.add(Order { id, owner: 1, side: *side, price, lots }).expect("room");
            }
            BookState::of(&instrument, Some(&book))
        };
        let empty = book(&[]);
        assert_eq!(empty, BookState::of(&instrument, None));
        assert_eq!((empty.bid, empty.offer, empty.levels, empty.orders), (None, None, 0, 0));
        let (bid, offer) = ((1, Side::Buy, "100", 1_500), (2, Side::Sell, "100.5", 20));
        let state = book(&[bid, offer, (3, Side::Sell, "101", 3)]);
        assert_eq!(state.bid, Some((price("100"), Lots(1_500))));
        assert_eq!(state.offer, Some((price("100.5"), Lots(20))));
        assert_eq!((state.levels, state.orders), (3, 3));
        // The same quantity in two orders: the levels are the same, the orders are not.
        let parts = book(&[
            bid,
            (2, Side::Sell, "100.5", 15),
            (3, Side::Sell, "101", 3),
            (4, Side::Sell, "100.5", 5),
        ]);
        assert_eq!((parts.levels_hash, parts.orders), (state.levels_hash, 4));
        assert_ne!(parts.orders_hash, state.orders_hash);
        assert_ne!(book(&[bid]).levels_hash, state.levels_hash);
    }
}
