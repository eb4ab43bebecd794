//! Writes and reads packets, to be counted: `valgrind --tool=callgrind packet_cost COUNT`, twice
//! with different counts; the difference is the packets' own.
//!
//! A packet holds what a trade makes: a trade, an order that is gone and one that became smaller,
//! two levels.

use std::hint::black_box;

use taut_market_data::native::{
    LevelSink, LevelUpdate, Message, OrderDelete, OrderReduce, PACKET_BYTES_MAX, PacketHeader,
    PacketReader, PacketWriter, ReduceReason, Trade,
};
use taut_types::{InstrumentId, Lots, OrderId, Price, SequenceNumber, Side};

#[derive(Default)]
struct Sum(i64);

impl LevelSink for Sum {
    fn level_update(&mut self, update: LevelUpdate) {
        self.0 = self.0.wrapping_mul(31) + update.price.0 + update.lots.0 + update.side as i64;
    }
    fn trade(&mut self, trade: Trade) {
        self.0 = self.0.wrapping_mul(31) + trade.price.0 + trade.lots.0;
    }
}

fn messages(number: i64) -> [Message<'static>; 5] {
    let (instrument, side) = (InstrumentId(1), Side::Sell);
    let (price, lots) = (Price(585_330_000_000 + number), Lots(number % 100 + 1));
    let (order_id, by) = (OrderId(number as u64), lots);
    let level = |price, lots| LevelUpdate { price, lots, order_count: 3, instrument, side };
    let reason = ReduceReason::Execution;
    [
        Message::Trade(Trade {
            trade_id: number as u64,
            price,
            lots,
            maker_order_id: order_id,
            instrument,
            aggressor_side: Side::Buy,
        }),
        Message::OrderDelete(OrderDelete { order_id, instrument, side }),
        Message::OrderReduce(OrderReduce { order_id, by, remaining: by, instrument, side, reason }),
        Message::LevelUpdate(level(price, Lots(0))),
        Message::LevelUpdate(level(Price(price.0 + 10_000_000), lots)),
    ]
}

#[inline(never)]
fn write(writer: &mut PacketWriter<[u8; PACKET_BYTES_MAX]>, number: i64) -> &[u8] {
    let sequence = SequenceNumber(number as u64);
    let _ = writer.begin(PacketHeader { sequence, ..PacketHeader::default() });
    for message in &black_box(messages(number)) {
        let _ = writer.push(message);
    }
    writer.finish()
}

#[inline(never)]
fn read(datagram: &[u8], sum: &mut Sum) {
    let visited = PacketReader::new(datagram).and_then(|packet| packet.visit_levels(sum));
    assert!(visited.is_ok());
}

fn main() {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    let mut writer = PacketWriter::new([0; PACKET_BYTES_MAX]);
    let mut sum = Sum::default();
    for number in 0..count {
        read(black_box(write(&mut writer, number)), &mut sum);
    }
    println!("{count} packets, hash {:016x}", sum.0);
}
