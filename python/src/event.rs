//! Market events as a strategy in Python is told of them.

use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::{Bound, intern};
use taut_market_data::{BestPrices, EventKind, Soundness};
use taut_types::{Lots, Price, Side};

use crate::recording::side;

/// The kinds, at their numbers.
pub const KINDS: [&str; 14] = [
    "begin",
    "level",
    "order-add",
    "order-change",
    "order-reduce",
    "order-delete",
    "top",
    "trade",
    "status",
    "reset",
    "delete-levels",
    "end",
    "book",
    "statistic",
];

/// The number of a kind of event.
pub const fn number(kind: &EventKind) -> usize {
    match kind {
        EventKind::Begin(_) => 0,
        EventKind::Level(_) => 1,
        EventKind::OrderAdd(_) => 2,
        EventKind::OrderChange(_) => 3,
        EventKind::OrderReduce { .. } => 4,
        EventKind::OrderDelete { .. } => 5,
        EventKind::Top(_) => 6,
        EventKind::Trade(_) => 7,
        EventKind::Status(_) => 8,
        EventKind::Reset => 9,
        EventKind::DeleteLevels { .. } => 10,
        EventKind::End { .. } => 11,
        EventKind::Book(_) => 12,
        EventKind::Statistic(_) => 13,
    }
}

/// Something that happened in a market. Prices are whole numbers of 1e-9, quantities lots of the
/// instrument, times nanoseconds; what an event of its kind does not say is None.
#[derive(Debug)]
#[pyclass(frozen, module = "taut")]
pub struct Event(pub taut_market_data::Event);

impl Event {
    fn top(&self) -> BestPrices {
        match self.0.kind {
            EventKind::Top(top) => top,
            _ => BestPrices::default(),
        }
    }

    fn terms(&self) -> (Option<Side>, Option<(Price, Lots)>) {
        match self.0.kind {
            EventKind::Level(level) => (Some(level.side), Some((level.price, level.lots))),
            EventKind::OrderAdd(order) | EventKind::OrderChange(order) => {
                (Some(order.side), Some((order.price, order.lots)))
            }
            EventKind::OrderReduce { side, .. }
            | EventKind::OrderDelete { side, .. }
            | EventKind::DeleteLevels { side, .. } => (Some(side), None),
            EventKind::Trade(trade) => (trade.aggressor, Some((trade.price, trade.lots))),
            _ => (None, None),
        }
    }
}

#[pymethods]
impl Event {
    /// What happened: top, trade, level, book, ...
    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        match self.0.kind {
            EventKind::Top(_) => intern!(py, "top").clone(),
            EventKind::Level(_) => intern!(py, "level").clone(),
            EventKind::Trade(_) => intern!(py, "trade").clone(),
            other => PyString::new(py, KINDS.get(number(&other)).copied().unwrap_or_default()),
        }
    }

    /// The number of the instrument.
    #[getter]
    fn instrument(&self) -> u32 {
        self.0.instrument.0
    }

    /// When the venue says that it happened, UTC; 0 when it does not say.
    #[getter]
    fn exchange_ns(&self) -> i64 {
        self.0.exchange_time.0
    }

    /// When it was received.
    #[getter]
    fn receive_ns(&self) -> i64 {
        self.0.receive_time.0
    }

    /// The best bid of a top.
    #[getter]
    fn bid(&self) -> Option<i64> {
        self.top().bid.map(|(price, _)| price.0)
    }

    /// Its lots.
    #[getter]
    fn bid_lots(&self) -> Option<i64> {
        self.top().bid.map(|(_, lots)| lots.0)
    }

    /// The best offer of a top.
    #[getter]
    fn ask(&self) -> Option<i64> {
        self.top().ask.map(|(price, _)| price.0)
    }

    /// Its lots.
    #[getter]
    fn ask_lots(&self) -> Option<i64> {
        self.top().ask.map(|(_, lots)| lots.0)
    }

    /// 1 buys, -1 sells: of a level or an order; the aggressor's of a trade; else 0.
    #[getter]
    fn side(&self) -> i8 {
        side(self.terms().0)
    }

    /// Of a level, an order or a trade.
    #[getter]
    fn price(&self) -> Option<i64> {
        self.terms().1.map(|(price, _)| price.0)
    }

    /// Of a level, an order or a trade.
    #[getter]
    fn lots(&self) -> Option<i64> {
        self.terms().1.map(|(_, lots)| lots.0)
    }

    /// Of a book: whether it can be trusted from here on.
    #[getter]
    fn is_sound(&self) -> Option<bool> {
        match self.0.kind {
            EventKind::Book(soundness) => Some(soundness == Soundness::Sound),
            _ => None,
        }
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
