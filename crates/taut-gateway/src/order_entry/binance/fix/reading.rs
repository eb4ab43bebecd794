//! What Binance's FIX messages say, in the terms of its WebSocket API.

use taut_fix::{Received, parse_timestamp};
use taut_order_entry::binance::{ErrorAnswer, Execution, ExecutionKind, OrderStatus};
use taut_types::{Price, Qty, Side};

use super::super::reading::number;

/// What HTTP would say of a request that is refused. Codes of the venue's own faults stand for
/// themselves.
const BAD_REQUEST: u64 = 400;

/// An ExecutionReport (8). Nothing when it cannot be read, or names no order.
pub(super) fn execution<'a>(message: &Received<'a>) -> Option<Execution<'a>> {
    let qty = |tag| message.value(tag).map(|text| Qty::parse(text).ok());
    let price = |tag| message.value(tag).map(|text| Price::parse(text).ok());
    // What is there must be readable.
    let read = |value: Option<Option<Qty>>| value.map_or(Some(None), |qty| qty.map(Some));
    let read_price = |value: Option<Option<Price>>| value.map_or(Some(None), |it| it.map(Some));
    let kind = kind(message.value(150)?);
    let id = match message.value(37) {
        Some(id) => number(id)?,
        // One that is refused was none.
        None if kind == ExecutionKind::Rejected => 0,
        None => return None,
    };
    let has_one_fee = message.value(136) == Some(b"1");
    Some(Execution {
        kind,
        status: status(message.value(39)?),
        symbol: message.value(55).unwrap_or_default(),
        id,
        name: message.value(11).unwrap_or_default(),
        original_name: message.value(41).unwrap_or_default(),
        side: match message.value(54) {
            Some(b"1") => Some(Side::Buy),
            Some(b"2") => Some(Side::Sell),
            _ => None,
        },
        price: read_price(price(44))?,
        quantity: read(qty(38))?,
        executed: read(qty(14))?,
        last: read(qty(32))?,
        last_price: read_price(price(31))?,
        trade_id: message.value(1003).and_then(number),
        commission: qty(137).flatten().filter(|_| has_one_fee),
        commission_asset: message.value(138).filter(|_| has_one_fee).unwrap_or_default(),
        is_maker: message.value(1057) == Some(b"N"),
        reason: message.value(58).unwrap_or_default(),
        time_ms: message
            .value(60)
            .and_then(parse_timestamp)
            .map(|utc| utc.0.unsigned_abs() / 1_000_000),
    })
}

/// ErrorCode (25016) and Text (58). Without a code nobody knows what happened.
pub(super) fn error<'a>(message: &Received<'a>) -> ErrorAnswer<'a> {
    let code = message.value(25_016).and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
    ErrorAnswer {
        status: BAD_REQUEST,
        code: code.unwrap_or(0),
        message: message.value(58).unwrap_or_default(),
        retry_after_ms: None,
        data: b"",
    }
}

/// ExecType (150).
const fn kind(value: &[u8]) -> ExecutionKind {
    match value {
        b"0" => ExecutionKind::New,
        b"4" => ExecutionKind::Canceled,
        b"5" => ExecutionKind::Replaced,
        b"8" => ExecutionKind::Rejected,
        b"F" => ExecutionKind::Trade,
        b"C" => ExecutionKind::Expired,
        _ => ExecutionKind::Other,
    }
}

/// OrdStatus (39). FIX has no EXPIRED_IN_MATCH, which is Expired.
const fn status(value: &[u8]) -> OrderStatus {
    match value {
        // Pending: not there yet, or still there.
        b"0" | b"A" | b"6" => OrderStatus::New,
        b"1" => OrderStatus::PartiallyFilled,
        b"2" => OrderStatus::Filled,
        b"4" => OrderStatus::Canceled,
        b"8" => OrderStatus::Rejected,
        b"C" => OrderStatus::Expired,
        _ => OrderStatus::Other,
    }
}
