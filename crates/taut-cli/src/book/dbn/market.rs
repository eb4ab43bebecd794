//! One instrument's book, from its market-by-order records.
//!
//! Actions (Databento, "MBO schema", `action`): Add, Cancel (of `size`, in part or in full), Modify
//! (price or size; the place in the queue is lost by a new price or a larger size), cleaR; Trade,
//! Fill and None do not change the book, whose changes follow as Cancel. A run of records with the
//! snapshot flag is a book of its own: it replaces what was there. A record with the top-of-book
//! flag replaces its side.

use dbn::enums::Action;
use dbn::{MboMsg, UNDEF_PRICE, flags};
use serde::Serialize;
use taut_book::{BookError, BookLimit, Order, OrderBook};
use taut_types::{HalfTicks, Lots, OrderId, Side};

/// Why a record did not fit the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fault {
    /// An added id is in the book already.
    DuplicateOrder,
    /// A cancelled id is not in the book.
    UnknownOrder,
    /// A size of zero, or levels beyond every number.
    BadSize,
    /// An action or a side that means nothing.
    BadRecord,
}

impl Fault {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::DuplicateOrder => "an added order was in the book",
            Self::UnknownOrder => "a cancelled order was not in the book",
            Self::BadSize => "a size was out of range",
            Self::BadRecord => "an action or a side was unknown",
        }
    }
}

/// Orders and levels a side that a book begins with.
const CAPACITY: (usize, usize) = (1 << 10, 1 << 8);

/// A book that is fed by records.
#[derive(Debug)]
pub(super) struct Market {
    book: OrderBook,
    in_snapshot: bool,
}

impl Market {
    pub(super) fn new() -> Self {
        let (orders, levels) = CAPACITY;
        Self { book: OrderBook::with_capacity(orders, levels), in_snapshot: false }
    }

    /// The book; its prices are units of 1e-9.
    pub(super) const fn book(&self) -> &OrderBook {
        &self.book
    }

    /// Applies a record.
    pub(super) fn apply(&mut self, record: &MboMsg) -> Result<(), Fault> {
        let has = |flag| record.flags.raw() & flag != 0;
        let starts_snapshot = has(flags::SNAPSHOT) && !self.in_snapshot;
        self.in_snapshot = has(flags::SNAPSHOT);
        if starts_snapshot {
            self.book.clear();
        }
        let action = record.action().map_err(|_| Fault::BadRecord)?;
        match action {
            Action::Clear => self.book.clear(),
            Action::Add | Action::Modify if has(flags::TOB) => return self.replace_side(record),
            Action::Add => return self.add(order_of(record)?),
            Action::Modify => return self.modify(order_of(record)?),
            Action::Cancel => return self.cancel(record),
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, order: Order) -> Result<(), Fault> {
        loop {
            return match self.book.add(order) {
                Ok(_) => Ok(()),
                Err(BookError::DuplicateOrder) => Err(Fault::DuplicateOrder),
                Err(BookError::Limit(BookLimit::Orders | BookLimit::Levels)) if self.grow() => {
                    continue;
                }
                Err(_) => Err(Fault::BadSize),
            };
        }
    }

    fn modify(&mut self, order: Order) -> Result<(), Fault> {
        let Some(old) = self.book.order(order.id) else { return self.add(order) };
        if order.lots <= Lots::ZERO {
            return Err(Fault::BadSize);
        }
        let keeps_place =
            old.side == order.side && old.price == order.price && order.lots <= old.lots;
        if !keeps_place {
            let _ = self.book.remove(order.id);
            return self.add(order);
        }
        if order.lots < old.lots {
            let _ = self.book.reduce(order.id, Lots(old.lots.0 - order.lots.0));
        }
        Ok(())
    }

    fn cancel(&mut self, record: &MboMsg) -> Result<(), Fault> {
        let by = Lots(record.size.into());
        match self.book.reduce(OrderId(record.order_id), by) {
            Ok(_) => Ok(()),
            Err(BookError::UnknownOrder) => Err(Fault::UnknownOrder),
            Err(_) => Err(Fault::BadSize),
        }
    }

    fn replace_side(&mut self, record: &MboMsg) -> Result<(), Fault> {
        let side = side_of(record)?;
        while let Some(order) = self.book.best_order(side) {
            let _ = self.book.remove(order.id);
        }
        if record.price == UNDEF_PRICE { Ok(()) } else { self.add(order_of(record)?) }
    }

    /// Doubles a full book; false at its limit.
    fn grow(&mut self) -> bool {
        let book = &self.book;
        let mut larger =
            OrderBook::with_capacity(book.order_capacity() * 2, book.level_capacity() * 2);
        if larger.order_capacity() == book.order_capacity() {
            return false;
        }
        for side in Side::BOTH {
            for order in book.orders(side) {
                let _ = larger.add(order);
            }
        }
        self.book = larger;
        true
    }
}

fn side_of(record: &MboMsg) -> Result<Side, Fault> {
    match record.side().map_err(|_| Fault::BadRecord)? {
        dbn::Side::Bid => Ok(Side::Buy),
        dbn::Side::Ask => Ok(Side::Sell),
        dbn::Side::None => Err(Fault::BadRecord),
    }
}

fn order_of(record: &MboMsg) -> Result<Order, Fault> {
    Ok(Order {
        id: OrderId(record.order_id),
        owner: 0,
        side: side_of(record)?,
        price: HalfTicks(record.price),
        lots: Lots(record.size.into()),
    })
}
