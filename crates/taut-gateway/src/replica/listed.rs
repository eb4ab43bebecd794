//! The single orders of a book, as far as the strategy was told of them.

use std::collections::HashSet;

use taut_market_data::{BookOrder, EventKind};
use taut_types::{OrderId, Price, Side};

/// How much of a list has been told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    /// None that still holds: changes are not told.
    #[default]
    Nothing,
    /// It has begun, and goes on behind an order at this price, if there was one.
    UpTo(Option<(Side, Price)>),
    /// All of it.
    Everything,
}

/// Which changes of single orders the strategy is told. While they are listed, piece by piece,
/// those of orders that it knows; the others are in what is listed later.
#[derive(Debug, Default)]
pub(super) struct ListedOrders {
    progress: Progress,
    /// Those that the strategy knows, while they are listed.
    known: HashSet<OrderId>,
}

impl ListedOrders {
    /// What was told does not hold any more.
    pub(super) fn forget(&mut self) {
        self.progress = Progress::Nothing;
        self.known.clear();
    }

    /// A list begins; whether that is to be told: not of one that has only begun.
    pub(super) fn begin(&mut self) -> bool {
        let has_begun = self.progress == Progress::UpTo(None);
        self.forget();
        self.progress = Progress::UpTo(None);
        !has_begun
    }

    /// Takes an order of the list; whether there is one.
    pub(super) fn take(&mut self, order: &BookOrder) -> bool {
        let is_listing = matches!(self.progress, Progress::UpTo(_));
        if is_listing {
            self.progress = Progress::UpTo(Some((order.side, order.price)));
            self.known.insert(order.order_id);
        }
        is_listing
    }

    /// The list ends, or says that the orders are not known; whether there is one.
    pub(super) fn end(&mut self, is_final: bool) -> bool {
        let is_listing = matches!(self.progress, Progress::UpTo(_));
        if is_listing {
            self.forget();
            self.progress = if is_final { Progress::Everything } else { Progress::Nothing };
        }
        is_listing
    }

    /// Whether the strategy is to be told of a change.
    #[inline]
    pub(super) fn on_ring(&mut self, kind: &EventKind) -> bool {
        match self.progress {
            Progress::Everything => true,
            Progress::Nothing => false,
            Progress::UpTo(at) => self.is_of_known(at, kind),
        }
    }

    #[cold]
    fn is_of_known(&mut self, at: Option<(Side, Price)>, kind: &EventKind) -> bool {
        match kind {
            EventKind::OrderAdd(order) => {
                let is_passed = at.is_some_and(|at| is_passed(at, order.side, order.price));
                if is_passed {
                    self.known.insert(order.order_id);
                }
                is_passed
            }
            EventKind::OrderReduce { order_id, .. } => self.known.contains(order_id),
            EventKind::OrderDelete { order_id, .. } => self.known.remove(order_id),
            _ => false,
        }
    }
}

/// Whether a list that has come to an order at this price has no more to say of another price. Of
/// its own price it may have.
fn is_passed((at, last): (Side, Price), side: Side, price: Price) -> bool {
    match (at, side) {
        (Side::Sell, Side::Buy) => true,
        (Side::Buy, Side::Sell) => false,
        (Side::Buy, Side::Buy) => price > last,
        (Side::Sell, Side::Sell) => price < last,
    }
}
