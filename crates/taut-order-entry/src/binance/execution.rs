//! What the user data stream tells of orders.

use taut_market_data::scan::Scanner;
use taut_market_data::{Expected, MarketDataError};
use taut_oms::VenueReject;
use taut_types::{Price, Qty, Side};

use super::answer::OrderStatus;
use super::values::{flag, number, price, qty, side, text};

/// An event of the user data stream.
#[expect(clippy::large_enum_variant, reason = "nearly every event is one, and none is kept")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// Something happened to an order.
    Execution(Execution<'a>),
    /// The stream ends: nothing more is told.
    Terminated,
    /// The venue will close the connection soon.
    Shutdown,
    /// Balances, lists of orders, and what nobody documented.
    Other,
}

/// What happened to an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExecutionKind {
    /// It is in the market.
    New,
    /// It was cancelled.
    Canceled,
    /// It became smaller, by request.
    Replaced,
    /// The venue refused it.
    Rejected,
    /// Some of it traded.
    Trade,
    /// It ended by its own terms.
    Expired,
    /// It would have traded with one of the same account.
    TradePrevention,
    /// Something that nobody documented.
    #[default]
    Other,
}

/// An `executionReport`. In brackets is the field's name in the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Execution<'a> {
    /// What happened (x).
    pub kind: ExecutionKind,
    /// Where the order is now (X).
    pub status: OrderStatus,
    /// The venue's name of the instrument (s).
    pub symbol: &'a [u8],
    /// The venue's number of the order (i).
    pub id: u64,
    /// The client's name of it (c); where it was cancelled, the cancel's.
    pub name: &'a [u8],
    /// The order's name before that (C); empty when there was none.
    pub original_name: &'a [u8],
    /// Buy or sell (S).
    pub side: Option<Side>,
    /// At what it is (p).
    pub price: Option<Price>,
    /// All of it (q).
    pub quantity: Option<Qty>,
    /// What has traded of it (z).
    pub executed: Option<Qty>,
    /// What traded now (l).
    pub last: Option<Qty>,
    /// At what (L).
    pub last_price: Option<Price>,
    /// The trade's number, among those of the symbol (t); nothing when nothing traded.
    pub trade_id: Option<u64>,
    /// What that cost (n).
    pub commission: Option<Qty>,
    /// In which asset (N); empty when in none.
    pub commission_asset: &'a [u8],
    /// Whether the order rested (m).
    pub is_maker: bool,
    /// Why it was refused (r).
    pub reason: &'a [u8],
    /// When, milliseconds of UTC (T).
    pub time_ms: Option<u64>,
}

impl Execution<'_> {
    /// Why it was refused, where it was.
    #[must_use]
    pub fn reject(&self) -> VenueReject {
        match self.reason {
            b"WOULD_MATCH_IMMEDIATELY" => VenueReject::WouldTrade,
            b"INSUFFICIENT_BALANCES" => VenueReject::Balance,
            b"OCO_BAD_PRICES" | b"STOP_PRICE_WOULD_TRIGGER_IMMEDIATELY" => VenueReject::Price,
            _ => VenueReject::Other,
        }
    }
}

/// An event of the user data stream, from where it begins in its frame.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it is none, or names no order.
pub fn read_event(event: &[u8]) -> Result<Event<'_>, MarketDataError> {
    let mut scanner = Scanner::new(event);
    let mut kind: &[u8] = b"";
    let mut it = Execution::default();
    let mut id = None;
    let read = scanner.object(|scanner, key| {
        match key {
            b"e" => kind = text(scanner)?,
            b"x" => it.kind = execution_kind(text(scanner)?),
            b"X" => it.status = OrderStatus::named(text(scanner)?),
            b"s" => it.symbol = text(scanner)?,
            b"i" => id = number(scanner)?,
            b"c" => it.name = text(scanner)?,
            b"C" => it.original_name = text(scanner)?,
            b"S" => it.side = side(text(scanner)?),
            b"p" => it.price = price(scanner)?,
            b"q" => it.quantity = qty(scanner)?,
            b"z" => it.executed = qty(scanner)?,
            b"l" => it.last = qty(scanner)?,
            b"L" => it.last_price = price(scanner)?,
            b"t" => it.trade_id = number(scanner)?,
            b"n" => it.commission = qty(scanner)?,
            b"N" => it.commission_asset = text(scanner)?,
            b"m" => it.is_maker = flag(scanner)?,
            b"r" => it.reason = text(scanner)?,
            b"T" => it.time_ms = number(scanner)?,
            _ => scanner.skip_value()?,
        }
        Some(())
    });
    read.ok_or_else(|| scanner.error())?;
    match (kind, id) {
        (b"executionReport", Some(id)) => Ok(Event::Execution(Execution { id, ..it })),
        (b"executionReport", None) => {
            Err(MarketDataError::Malformed { offset: 0, expected: Expected::Field("i") })
        }
        (b"eventStreamTerminated", _) => Ok(Event::Terminated),
        (b"serverShutdown", _) => Ok(Event::Shutdown),
        _ => Ok(Event::Other),
    }
}

fn execution_kind(name: &[u8]) -> ExecutionKind {
    match name {
        b"NEW" => ExecutionKind::New,
        b"CANCELED" => ExecutionKind::Canceled,
        b"REPLACED" => ExecutionKind::Replaced,
        b"REJECTED" => ExecutionKind::Rejected,
        b"TRADE" => ExecutionKind::Trade,
        b"EXPIRED" => ExecutionKind::Expired,
        b"TRADE_PREVENTION" => ExecutionKind::TradePrevention,
        _ => ExecutionKind::Other,
    }
}
