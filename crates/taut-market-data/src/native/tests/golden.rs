//! Packets against bytes written by hand from the schema.

use std::vec::Vec;

use taut_types::{InstrumentId, Lots, Nanos, OrderId, Price, SequenceNumber, Side, Symbol};

use crate::event::{
    BookOrder, EventKind, LevelPlace, LevelUpdate, ReduceReason, Trade, TradingStatus,
};
use crate::native::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

const HEADER: PacketHeader = PacketHeader {
    sequence: SequenceNumber(0x0102_0304_0506_0708),
    sending_time: Nanos(-2),
    message_count: 1,
    flags: PacketFlags::LAST.with(PacketFlags::SNAPSHOT),
    stream_id: 0xdead_beef,
};
/// Sequence, sending time, message count, flags, stream id.
const HEADER_HEX: &str = "0807060504030201 feffffffffffffff 0100 0500 efbeadde";

const INSTRUMENT: InstrumentId = InstrumentId(0x0a0b_0c0d);
const PART: SnapshotPart = SnapshotPart { snapshot_id: 5, packet_index: 6, instrument: INSTRUMENT };

/// One message in a packet is written as these bytes (frame, message header, body), and these
/// bytes are read as that message.
#[track_caller]
fn check(message: Message<'_>, expected: &str) {
    let expected = hex(&std::format!("{HEADER_HEX} {expected}"));
    let mut writer = PacketWriter::new([0xaa; PACKET_BYTES_MAX]);
    writer.begin(HEADER).unwrap();
    writer.push(&message).unwrap();
    assert_eq!(writer.finish(), expected);

    let reader = PacketReader::new(&expected).unwrap();
    assert_eq!(reader.header(), HEADER);
    let read: Vec<_> = reader.messages().collect();
    assert_eq!(read, [Ok(message)]);
}

#[test]
fn orders_have_these_bytes() {
    let (order_id, price, side) = (OrderId(0x11), Price(0x22), Side::Sell);
    let lots = Lots(0x33);
    let event = |kind| Message::Event(INSTRUMENT, kind);
    check(
        event(EventKind::OrderAdd(BookOrder { order_id, side, price, lots, priority: 0 })),
        "2c00 0000  2000 0100 591b 0000
         1100000000000000 2200000000000000 3300000000000000 0d0c0b0a 01 000000",
    );
    let (by, remaining, reason) = (Lots(-1), Lots(2), ReduceReason::Cancel);
    check(
        event(EventKind::OrderReduce { order_id, side, by, remaining, reason }),
        "2c00 0000  2000 0200 591b 0000
         1100000000000000 ffffffffffffffff 0200000000000000 0d0c0b0a 01 01 0000",
    );
    check(
        event(EventKind::OrderDelete { order_id, side }),
        "1c00 0000  1000 0300 591b 0000  1100000000000000 0d0c0b0a 01 000000",
    );
}

#[test]
fn levels_and_trades_have_these_bytes() {
    let (price, lots) = (Price(-0x22), Lots(0x33));
    let (order_count, side, place) = (0x44, Side::Buy, LevelPlace::ByPrice);
    let event = |kind| Message::Event(INSTRUMENT, kind);
    check(
        event(EventKind::Level(LevelUpdate { side, price, lots, order_count, place })),
        "2800 0000  1c00 0400 591b 0000
         deffffffffffffff 3300000000000000 44000000 0d0c0b0a 00 000000",
    );
    let (trade_id, resting_order, aggressor) = (0x55, OrderId(0x66), Some(Side::Sell));
    check(
        event(EventKind::Trade(Trade { trade_id, price, lots, aggressor, resting_order })),
        "3400 0000  2800 0500 591b 0000  5500000000000000
         deffffffffffffff 3300000000000000 6600000000000000 0d0c0b0a 01 000000",
    );
}

#[test]
fn snapshots_have_these_bytes() {
    let SnapshotPart { snapshot_id, packet_index, instrument } = PART;
    check(
        Message::SnapshotBegin(SnapshotBegin {
            last_sequence: SequenceNumber(0x77),
            snapshot_id,
            instrument,
            level_count: 2,
            order_count: 1,
            packet_count: 7,
        }),
        "2800 0000  1c00 0600 591b 0000
         7700000000000000 05000000 0d0c0b0a 02000000 01000000 07000000",
    );
    let place = LevelPlace::ByPrice;
    let level = |price, side| LevelUpdate { side, price, lots: Lots(3), order_count: 4, place };
    let levels = [level(Price(1), Side::Buy), level(Price(2), Side::Sell)];
    check(
        Message::SnapshotLevels(SnapshotLevels { part: PART, levels: Levels::new(&levels) }),
        "4c00 0000  0c00 0700 591b 0000  05000000 06000000 0d0c0b0a  1800 0200
         0100000000000000 0300000000000000 04000000 00 000000
         0200000000000000 0300000000000000 04000000 01 000000",
    );
    let (order_id, side, price) = (OrderId(8), Side::Sell, Price(1));
    let order = BookOrder { order_id, side, price, lots: Lots(3), priority: 0 };
    check(
        Message::SnapshotOrders(SnapshotOrders { part: PART, orders: Orders::new(&[order]) }),
        "3800 0000  0c00 0800 591b 0000  05000000 06000000 0d0c0b0a  1c00 0100
         0800000000000000 0100000000000000 0300000000000000 01 000000",
    );
    check(
        Message::SnapshotOrders(SnapshotOrders { part: PART, orders: Orders::new(&[]) }),
        "1c00 0000  0c00 0800 591b 0000  05000000 06000000 0d0c0b0a  1c00 0000",
    );
    check(
        Message::SnapshotEnd(SnapshotEnd { snapshot_id, packet_index, instrument }),
        "1800 0000  0c00 0900 591b 0000  05000000 06000000 0d0c0b0a",
    );
}

#[test]
fn an_instrument_has_these_bytes() {
    check(
        Message::InstrumentDefinition(InstrumentDefinition {
            tick: Price(10_000_000),
            lot_mantissa: 1,
            instrument: INSTRUMENT,
            lot_decimals: 3,
            symbol: Symbol::new(b"AAPL").unwrap(),
        }),
        "3400 0000  2800 0a00 591b 0000
         8096980000000000 0100000000000000 0d0c0b0a 03 4141504c000000000000000000000000 000000",
    );
    for (status, byte) in [
        (TradingStatus::PreOpen, "00"),
        (TradingStatus::Trading, "01"),
        (TradingStatus::Halted, "02"),
        (TradingStatus::Closed, "03"),
    ] {
        check(
            Message::Event(INSTRUMENT, EventKind::Status(status)),
            &std::format!("1400 0000  0800 0b00 591b 0000  0d0c0b0a {byte} 000000"),
        );
    }
}
