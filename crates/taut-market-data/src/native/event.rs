//! Templates 1 to 5 and 11 as events: an order, a level, a trade, a status.
//!
//! | template | event |
//! |---|---|
//! | 1 OrderAdd | [`EventKind::OrderAdd`], without a priority: it joined the end of its queue |
//! | 2 OrderReduce | [`EventKind::OrderReduce`] |
//! | 3 OrderDelete | [`EventKind::OrderDelete`] |
//! | 4 LevelUpdate | [`EventKind::Level`], by its price |
//! | 5 Trade | [`EventKind::Trade`], with the side that took |
//! | 11 InstrumentStatus | [`EventKind::Status`] |

use taut_types::{InstrumentId, OrderId, Side};

use crate::event::{BookOrder, EventKind, LevelPlace, LevelUpdate, Trade, TradingStatus};
use crate::native::codec::{
    self, InstrumentStatusDecoder, InstrumentStatusEncoder, LevelUpdateDecoder, LevelUpdateEncoder,
    OrderAddDecoder, OrderAddEncoder, OrderDeleteDecoder, OrderDeleteEncoder, OrderReduceDecoder,
    OrderReduceEncoder, TradeDecoder, TradeEncoder,
};
use crate::native::error::SbeError;
use crate::native::value::Value;

/// An event and its instrument.
pub(crate) type Said = (InstrumentId, EventKind);

/// Nothing when a field has a value that its type does not name, here and below.
pub(crate) fn order_add(from: &OrderAddDecoder<'_>) -> Option<Said> {
    let order = BookOrder {
        order_id: OrderId(from.order_id()),
        side: Side::of(from.side())?,
        price: Value::of(from.price())?,
        lots: Value::of(from.lots())?,
        priority: 0,
    };
    Some((InstrumentId(from.instrument()), EventKind::OrderAdd(order)))
}

pub(crate) fn order_reduce(from: &OrderReduceDecoder<'_>) -> Option<Said> {
    let kind = EventKind::OrderReduce {
        order_id: OrderId(from.order_id()),
        side: Side::of(from.side())?,
        by: Value::of(from.by())?,
        remaining: Value::of(from.remaining())?,
        reason: Value::of(from.reason())?,
    };
    Some((InstrumentId(from.instrument()), kind))
}

pub(crate) fn order_delete(from: &OrderDeleteDecoder<'_>) -> Option<Said> {
    let (order_id, side) = (OrderId(from.order_id()), Side::of(from.side())?);
    Some((InstrumentId(from.instrument()), EventKind::OrderDelete { order_id, side }))
}

#[inline]
pub(crate) fn level_update(from: &LevelUpdateDecoder<'_>) -> Option<(InstrumentId, LevelUpdate)> {
    let level = LevelUpdate {
        side: Side::of(from.side())?,
        price: Value::of(from.price())?,
        lots: Value::of(from.lots())?,
        order_count: from.order_count(),
        place: LevelPlace::ByPrice,
    };
    Some((InstrumentId(from.instrument()), level))
}

#[inline]
pub(crate) fn trade(from: &TradeDecoder<'_>) -> Option<(InstrumentId, Trade)> {
    let trade = Trade {
        trade_id: from.trade_id(),
        price: Value::of(from.price())?,
        lots: Value::of(from.lots())?,
        aggressor: Some(Side::of(from.aggressor_side())?),
        resting_order: OrderId(from.maker_order_id()),
    };
    Some((InstrumentId(from.instrument()), trade))
}

pub(crate) fn status(from: &InstrumentStatusDecoder<'_>) -> Option<Said> {
    let status: TradingStatus = Value::of(from.status())?;
    Some((InstrumentId(from.instrument()), EventKind::Status(status)))
}

/// Writes an event as its template; one that has none is misuse, and so is a status
/// ([`write_status`]). A trade whose taker is not
/// known is written as a purchase: the template must name a side.
#[inline(always)]
pub(crate) fn write(
    instrument: InstrumentId,
    kind: &EventKind,
    buffer: &mut [u8],
) -> Result<usize, SbeError> {
    let instrument = instrument.0;
    Ok(match *kind {
        EventKind::OrderAdd(order) => {
            let mut to = OrderAddEncoder::new(buffer)?;
            to.order_id(order.order_id.0).price(order.price.raw()).lots(order.lots.0);
            to.instrument(instrument).side(order.side.raw());
            to.finish()
        }
        EventKind::OrderReduce { order_id, side, by, remaining, reason } => {
            let mut to = OrderReduceEncoder::new(buffer)?;
            to.order_id(order_id.0).by(by.0).remaining(remaining.0);
            to.instrument(instrument).side(side.raw()).reason(reason.raw());
            to.finish()
        }
        EventKind::OrderDelete { order_id, side } => {
            let mut to = OrderDeleteEncoder::new(buffer)?;
            to.order_id(order_id.0).instrument(instrument).side(side.raw());
            to.finish()
        }
        EventKind::Level(level) => {
            let mut to = LevelUpdateEncoder::new(buffer)?;
            to.price(level.price.raw()).lots(level.lots.0).order_count(level.order_count);
            to.instrument(instrument).side(level.side.raw());
            to.finish()
        }
        EventKind::Trade(trade) => {
            let mut to = TradeEncoder::new(buffer)?;
            to.trade_id(trade.trade_id).price(trade.price.raw()).lots(trade.lots.0);
            to.maker_order_id(trade.resting_order.0).instrument(instrument);
            to.aggressor_side(trade.aggressor.unwrap_or(Side::Buy).raw());
            to.finish()
        }
        _ => return Err(SbeError::Misuse),
    })
}

/// Writes a status as its template: not with the others, whose code is in line wherever they are
/// written.
#[cold]
pub(crate) fn write_status(
    instrument: InstrumentId,
    status: TradingStatus,
    buffer: &mut [u8],
) -> Result<usize, SbeError> {
    let mut to = InstrumentStatusEncoder::new(buffer)?;
    to.instrument(instrument.0).status(status.raw());
    Ok(to.finish())
}

/// A level of a snapshot.
pub(crate) fn snapshot_level(from: &codec::SnapshotLevelsLevelsDecoder<'_>) -> Option<LevelUpdate> {
    Some(LevelUpdate {
        side: Side::of(from.side())?,
        price: Value::of(from.price())?,
        lots: Value::of(from.lots())?,
        order_count: from.order_count(),
        place: LevelPlace::ByPrice,
    })
}

pub(crate) fn fill_level(level: &LevelUpdate, to: &mut codec::SnapshotLevelsLevelsEncoder<'_>) {
    to.price(level.price.raw()).lots(level.lots.0).order_count(level.order_count);
    to.side(level.side.raw());
}

/// An order of a snapshot: its priority is its place in the list.
pub(crate) fn snapshot_order(from: &codec::SnapshotOrdersOrdersDecoder<'_>) -> Option<BookOrder> {
    Some(BookOrder {
        order_id: OrderId(from.order_id()),
        side: Side::of(from.side())?,
        price: Value::of(from.price())?,
        lots: Value::of(from.lots())?,
        priority: 0,
    })
}

pub(crate) fn fill_order(order: &BookOrder, to: &mut codec::SnapshotOrdersOrdersEncoder<'_>) {
    to.order_id(order.order_id.0).price(order.price.raw()).lots(order.lots.0);
    to.side(order.side.raw());
}
