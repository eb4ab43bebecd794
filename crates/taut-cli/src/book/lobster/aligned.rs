//! A truth that belongs to the messages row by row.
//!
//! The pair covers the same levels, so the book is the truth's first row and then what the messages
//! say. Two things are not in the files, both behind the window: what stands at a price that was
//! never in it, and what happens to a level after it has left. So the book remembers what leaves.
//! Where a level enters otherwise, it is taken from the truth, and the row counts as different,
//! with that reason.
//!
//! Orders are known by id once they have been added in the window; the rest of a level is one
//! anonymous order, the oldest of its queue.

use std::collections::HashMap;

use taut_book::{Order, OrderBook};
use taut_recording::lobster::{Orderbook, Row, RowKind, UNIT, levels_of, show_row, state_of};
use taut_types::{HalfTicks, Lots, OrderId, Side};

use crate::book::verdict::{Mismatch, UNEXPLAINED, Verdict};

/// What stood at a price that enters the window was never in it.
const ENTERED: &str = "level_never_in_the_window";
/// A level has changed after it had left the window.
const CHANGED: &str = "level_changed_behind_the_window";

/// Compares each row.
pub(super) fn compare(messages: &[Row], truth: &Orderbook) -> Verdict {
    let mut verdict = Verdict::new("rows");
    let mut book = WindowBook::new(messages.len(), truth.level_count());
    for (line, (message, row)) in (1..).zip(messages.iter().zip(truth.rows())) {
        let window = Side::BOTH.map(|side| book.last_price(side));
        if line == 1 {
            book.start_from(row);
        } else {
            book.apply(message);
        }
        let before = book.state();
        if before == row {
            verdict.equal();
            continue;
        }
        let learnt = book.learn_behind(window, row);
        let reason = learnt.filter(|_| book.state() == row).unwrap_or(UNEXPLAINED);
        let (truth, book) = (show_row(row, &before), show_row(&before, row));
        verdict.mismatch(Mismatch { line, reason, truth, book });
    }
    // The first row is where the book begins, and shows nothing by itself.
    if verdict.states == 1 { Verdict::new("rows behind the first one") } else { verdict }
}

/// An order book that sees only the best levels of a market.
struct WindowBook {
    book: OrderBook,
    level_count: usize,
    /// The anonymous order of each level that has one.
    anonymous: HashMap<(Side, HalfTicks), OrderId>,
    next_anonymous: u64,
}

impl WindowBook {
    fn new(message_count: usize, level_count: usize) -> Self {
        // A message adds one order, and its row at most one level a side.
        let capacity = 3 * message_count + 2 * level_count + 16;
        Self {
            book: OrderBook::with_capacity(capacity, capacity),
            level_count,
            anonymous: HashMap::new(),
            next_anonymous: u64::MAX,
        }
    }

    fn state(&self) -> Vec<i64> {
        state_of(&self.book, self.level_count, 1)
    }

    /// The last price in the window, if it is full: what is behind changes unseen.
    fn last_price(&self, side: Side) -> Option<HalfTicks> {
        self.book.levels(side).nth(self.level_count.checked_sub(1)?).map(|level| level.price)
    }

    fn start_from(&mut self, row: &[i64]) {
        for side in Side::BOTH {
            for (price, size) in levels_of(row, side) {
                self.add_anonymous(side, price, size);
            }
        }
    }

    /// The book's prices are the truth's: 1e-4 dollars.
    fn apply(&mut self, row: &Row) {
        let Some(order) = row.order() else { return };
        let Order { id, side, lots, .. } = order;
        let price = HalfTicks(order.price.0 * UNIT);
        if matches!(row.kind, RowKind::Add(_)) {
            // Only a size beyond 2^63 is refused: the rows that follow show it.
            let _ = self.book.add(Order { price, ..order });
        } else {
            let known = self.book.contains(id).then_some(id);
            let anonymous = self.anonymous.get(&(side, price)).copied();
            if let Some(id) = known.or(anonymous) {
                let _ = self.book.reduce(id, lots);
            }
        }
    }

    /// Takes from the row what it shows behind these last prices, and tells whether that was
    /// something new.
    fn learn_behind(
        &mut self,
        window: [Option<HalfTicks>; 2],
        row: &[i64],
    ) -> Option<&'static str> {
        let mut learnt = None;
        for (side, last) in Side::BOTH.into_iter().zip(window) {
            let Some(last) = last else { continue };
            let is_behind = |price: HalfTicks, edge: HalfTicks| match side {
                Side::Buy => price < edge,
                Side::Sell => price > edge,
            };
            let shown: Vec<_> =
                levels_of(row, side).filter(|&(price, _)| is_behind(price, last)).collect();
            let Some(&(end, _)) = shown.last() else { continue };
            let ours: Vec<_> = self.book.levels(side).map(|l| (l.price, l.lots.0)).collect();
            for &(price, _) in ours
                .iter()
                .filter(|&&(price, _)| is_behind(price, last) && !is_behind(price, end))
                .filter(|&level| !shown.contains(level))
            {
                learnt = Some(CHANGED);
                self.forget(side, price);
            }
            for (price, size) in shown.into_iter().filter(|level| !ours.contains(level)) {
                learnt = learnt.or(Some(ENTERED));
                self.add_anonymous(side, price, size);
            }
        }
        learnt
    }

    fn forget(&mut self, side: Side, price: HalfTicks) {
        let orders: Vec<_> = self.book.orders_at(side, price).map(|order| order.id).collect();
        for id in orders {
            let _ = self.book.remove(id);
        }
        self.anonymous.remove(&(side, price));
    }

    fn add_anonymous(&mut self, side: Side, price: HalfTicks, size: i64) {
        let id = OrderId(self.next_anonymous);
        let order = Order { id, owner: 0, side, price, lots: Lots(size) };
        if self.book.add(order).is_ok() {
            self.next_anonymous -= 1;
            self.anonymous.insert((side, price), id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_recording::lobster::Messages;

    const MESSAGES: &[u8] =
        b"1,1,7,5,10000,1\n2,1,8,3,9900,1\n3,4,7,5,10000,1\n4,3,8,3,9900,1\n5,3,6,3,10000,1\n";
    const TRUTH: &str = "11000,9,10000,8,11100,9,9800,6\n11000,9,10000,8,11100,9,9900,3\n\
                         11000,9,10000,3,11100,9,9900,3\n11000,9,10000,3,11100,9,9800,6\n\
                         11000,9,9800,6,11100,9,9700,2\n";

    fn verdict(truth: &str) -> Verdict {
        let truth = Orderbook::parse("t", truth.as_bytes()).unwrap();
        compare(Messages::parse("m", MESSAGES).unwrap().rows(), &truth)
    }

    fn mismatches(verdict: &Verdict) -> Vec<(usize, &str)> {
        verdict.mismatches.iter().map(|mismatch| (mismatch.line, mismatch.reason)).collect()
    }

    #[test]
    fn only_what_comes_from_behind_the_window_is_unknown() {
        let truth = Orderbook::parse("t", TRUTH.as_bytes()).unwrap();
        let one_row = compare(&Messages::parse("m", MESSAGES).unwrap().rows()[..1], &truth);
        assert_eq!((one_row.states, one_row.what), (0, "rows behind the first one"));
        let as_recorded = verdict(TRUTH);
        assert_eq!((as_recorded.states, as_recorded.equal), (5, 4));
        assert_eq!(mismatches(&as_recorded), [(5, ENTERED)]);
        assert_eq!(as_recorded.mismatches[0].truth, "level 2: 2@9700 / 9@11100");
        assert_eq!(as_recorded.mismatches[0].book, "level 2: 0@-9999999999 / 9@11100");
        let changed = verdict(&TRUTH.replace("9800,6\n11000,9,9800,6", "9800,7\n11000,9,9800,7"));
        assert_eq!(mismatches(&changed), [(4, CHANGED), (5, ENTERED)]);
    }

    #[test]
    fn an_altered_row_is_a_mismatch_of_its_line_and_of_no_other() {
        let verdict = verdict(&TRUTH.replacen("11000,9,10000,3", "11000,9,10000,4", 1));
        assert_eq!(mismatches(&verdict), [(3, UNEXPLAINED), (5, ENTERED)]);
        assert_eq!(verdict.first_mismatch, Some(3));
    }
}
