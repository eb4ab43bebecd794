//! Any message, for the property tests.

use std::vec::Vec;

use proptest::prelude::*;
use taut_types::{InstrumentId, Lots, Nanos, OrderId, Price, SequenceNumber, Side, Symbol};

use crate::event::{
    BookOrder, EventKind, LevelPlace, LevelUpdate, ReduceReason, Trade, TradingStatus,
};
use crate::native::*;

/// A message that owns the entries of its group.
#[derive(Clone, Debug)]
pub(super) enum Owned {
    Fixed(Message<'static>),
    Levels(SnapshotPart, Vec<LevelUpdate>),
    Orders(SnapshotPart, Vec<BookOrder>),
}

impl Owned {
    pub(super) fn message(&self) -> Message<'_> {
        match self {
            Self::Fixed(message) => *message,
            Self::Levels(part, levels) => {
                Message::SnapshotLevels(SnapshotLevels { part: *part, levels: Levels::new(levels) })
            }
            Self::Orders(part, orders) => {
                Message::SnapshotOrders(SnapshotOrders { part: *part, orders: Orders::new(orders) })
            }
        }
    }
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Buy), Just(Side::Sell)]
}

fn reason() -> impl Strategy<Value = ReduceReason> {
    prop_oneof![Just(ReduceReason::Execution), Just(ReduceReason::Cancel)]
}

fn part() -> impl Strategy<Value = SnapshotPart> {
    any::<(u32, u32, u32)>().prop_map(|(snapshot_id, packet_index, instrument)| SnapshotPart {
        snapshot_id,
        packet_index,
        instrument: InstrumentId(instrument),
    })
}

fn symbol() -> impl Strategy<Value = Symbol> {
    proptest::collection::vec(b'!'..=b'~', 1..=15).prop_map(|name| Symbol::new(&name).unwrap())
}

/// Orders, levels, trades and statuses: what the incremental channel carries.
fn increment() -> impl Strategy<Value = Message<'static>> {
    let words = (any::<(u64, u64, i64, i64)>(), any::<(u32, u32)>(), side(), reason(), 0..6u8);
    words.prop_map(|((id, other, price, lots), (instrument, count), side, reason, template)| {
        let order_id = OrderId(id);
        let (price, lots) = (Price(price), Lots(lots));
        let kind = match template {
            0 => EventKind::OrderAdd(BookOrder { order_id, side, price, lots, priority: 0 }),
            1 => {
                let remaining = Lots(price.0);
                EventKind::OrderReduce { order_id, side, by: lots, remaining, reason }
            }
            2 => EventKind::OrderDelete { order_id, side },
            3 => EventKind::Level(level_of(side, price, lots, count)),
            4 => EventKind::Status(match side {
                Side::Buy => TradingStatus::Trading,
                Side::Sell => TradingStatus::Halted,
            }),
            _ => EventKind::Trade(Trade {
                trade_id: other,
                price,
                lots,
                aggressor: Some(side),
                resting_order: order_id,
            }),
        };
        Message::Event(InstrumentId(instrument), kind)
    })
}

fn level_of(side: Side, price: Price, lots: Lots, order_count: u32) -> LevelUpdate {
    LevelUpdate { side, price, lots, order_count, place: LevelPlace::ByPrice }
}

/// What the snapshot channel carries besides groups.
fn snapshot() -> impl Strategy<Value = Message<'static>> {
    let words = (any::<(u64, u32, u32, u32)>(), part(), any::<(i64, i64, u8)>(), symbol(), 0..3u8);
    words.prop_map(
        |((last, level_count, order_count, packet_count), part, lot, symbol, template)| {
            let SnapshotPart { snapshot_id, packet_index, instrument } = part;
            match template {
                0 => Message::SnapshotBegin(SnapshotBegin {
                    last_sequence: SequenceNumber(last),
                    snapshot_id,
                    instrument,
                    level_count,
                    order_count,
                    packet_count,
                }),
                1 => Message::SnapshotEnd(SnapshotEnd { snapshot_id, packet_index, instrument }),
                _ => Message::InstrumentDefinition(InstrumentDefinition {
                    tick: Price(lot.0),
                    lot_mantissa: lot.1,
                    instrument,
                    lot_decimals: lot.2,
                    symbol,
                }),
            }
        },
    )
}

fn level() -> impl Strategy<Value = LevelUpdate> {
    (any::<(i64, i64, u32)>(), side())
        .prop_map(|((price, lots, count), side)| level_of(side, Price(price), Lots(lots), count))
}

fn order() -> impl Strategy<Value = BookOrder> {
    (any::<(u64, i64, i64)>(), side()).prop_map(|((id, price, lots), side)| BookOrder {
        order_id: OrderId(id),
        side,
        price: Price(price),
        lots: Lots(lots),
        priority: 0,
    })
}

pub(super) fn message() -> impl Strategy<Value = Owned> {
    prop_oneof![
        4 => increment().prop_map(Owned::Fixed),
        2 => snapshot().prop_map(Owned::Fixed),
        1 => (part(), proptest::collection::vec(level(), 0..8))
            .prop_map(|(part, levels)| Owned::Levels(part, levels)),
        1 => (part(), proptest::collection::vec(order(), 0..8))
            .prop_map(|(part, orders)| Owned::Orders(part, orders)),
    ]
}

pub(super) fn header() -> impl Strategy<Value = PacketHeader> {
    any::<(u64, i64, u16, u16, u32)>().prop_map(
        |(sequence, sending_time, message_count, flags, stream_id)| PacketHeader {
            sequence: SequenceNumber(sequence),
            sending_time: Nanos(sending_time),
            message_count,
            flags: PacketFlags(flags),
            stream_id,
        },
    )
}
