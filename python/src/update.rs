//! What a strategy in Python is told of its orders and of the gateway.

use pyo3::prelude::*;
use taut_gateway::UpdateKind;

use crate::recording::side;

/// A name of Rust's as Python writes it: `PendingNew` is `pending-new`.
fn kebab(name: impl std::fmt::Debug) -> String {
    let name = format!("{name:?}");
    let end = name.find([' ', '(', '{']).unwrap_or(name.len());
    let mut text = String::with_capacity(end + 4);
    for letter in name.chars().take(end) {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// Something happened to an order. Prices are whole numbers of 1e-9, quantities lots.
#[derive(Debug)]
#[pyclass(frozen, get_all, module = "taut")]
pub struct OrderUpdate {
    /// Which order.
    id: u64,
    /// The number of its instrument.
    instrument: u32,
    /// 1 buys, -1 sells.
    side: i8,
    /// accepted, rejected, filled, cancelled, cancel-rejected, expired, refused, replaced,
    /// modify-rejected, corrected, restated, done-for-day, unknown, quarantined.
    kind: String,
    /// Why it was rejected or refused.
    reason: Option<String>,
    /// Its state afterwards.
    state: String,
    /// Whether it is over.
    is_done: bool,
    /// What of it may still trade.
    lots_open: i64,
    /// What of it has traded.
    lots_filled: i64,
    /// Its limit price.
    price: i64,
    /// Its quantity.
    lots: i64,
    /// The price of the trade.
    fill_price: Option<i64>,
    /// Its quantity.
    fill_lots: Option<i64>,
    /// When the exchange says that it happened, UTC; 0 when it does not say.
    exchange_ns: i64,
}

impl OrderUpdate {
    /// An update as Rust has it.
    pub fn of(update: &taut_gateway::OrderUpdate) -> Self {
        let reason = match update.kind {
            UpdateKind::Refused(why) => Some(format!("{why:?}")),
            UpdateKind::Quarantined(why) => Some(format!("{why:?}")),
            other => other.reject().map(|why| why.to_string()),
        };
        let fill = match update.kind {
            UpdateKind::Filled { price, lots } | UpdateKind::Corrected { price, lots } => {
                Some((price, lots))
            }
            _ => None,
        };
        Self {
            id: update.id.0,
            instrument: update.instrument.0,
            side: side(Some(update.side)),
            kind: kebab(update.kind),
            reason,
            state: kebab(update.state),
            is_done: update.state.is_done(),
            lots_open: update.lots_open.0,
            lots_filled: update.lots_filled.0,
            price: update.price.0,
            lots: update.lots.0,
            fill_price: fill.map(|(price, _)| price.0),
            fill_lots: fill.map(|(_, lots)| lots.0),
            exchange_ns: update.exchange_time.0,
        }
    }
}

#[pymethods]
impl OrderUpdate {
    fn __repr__(&self) -> String {
        let Self { id, kind, state, lots_open, lots_filled, .. } = self;
        format!("OrderUpdate({id}, {kind}, {state}, open {lots_open}, filled {lots_filled})")
    }
}

/// An order that is not over.
#[derive(Debug)]
#[pyclass(frozen, get_all, module = "taut")]
pub struct OpenOrder {
    /// Its id.
    id: u64,
    /// The number of its instrument.
    instrument: u32,
    /// 1 buys, -1 sells.
    side: i8,
    /// The price that it has at the venue.
    price: i64,
    /// The quantity that it has there.
    lots: i64,
    /// The price that was asked for last.
    price_asked: i64,
    /// The quantity that was asked for last; 0 while a cancel is under way.
    lots_asked: i64,
    /// What of it may still trade.
    lots_open: i64,
    /// Where it is in its life.
    state: String,
    /// The strategy's own number.
    tag: u32,
}

impl OpenOrder {
    /// An order as Rust has it.
    pub fn of(order: &taut_gateway::OpenOrder) -> Self {
        Self {
            id: order.id.0,
            instrument: order.terms.instrument.0,
            side: side(Some(order.terms.side)),
            price: order.terms.price.0,
            lots: order.terms.lots.0,
            price_asked: order.price_asked.0,
            lots_asked: order.lots_asked.0,
            lots_open: order.lots_open.0,
            state: kebab(order.state),
            tag: order.tag,
        }
    }
}

#[pymethods]
impl OpenOrder {
    fn __repr__(&self) -> String {
        let Self { id, side, price, lots_open, state, .. } = self;
        format!("OpenOrder({id}, side {side}, price {price}, open {lots_open}, {state})")
    }
}

/// Something happened to the gateway.
#[derive(Debug)]
#[pyclass(frozen, get_all, module = "taut")]
pub struct GatewayEvent {
    /// connected, ready, order-entry, status, position, disconnected, overtaken, ...
    kind: String,
    /// All of it, for people.
    text: String,
}

impl GatewayEvent {
    /// An event as Rust has it.
    pub fn of(event: &taut_gateway::GatewayEvent) -> Self {
        Self { kind: kebab(event), text: format!("{event:?}") }
    }
}

#[pymethods]
impl GatewayEvent {
    fn __repr__(&self) -> String {
        self.text.clone()
    }
}
