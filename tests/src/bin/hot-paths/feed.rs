//! Writes and reads packets of taut's own feed.
//!
//! A packet holds what a trade makes: a trade, an order that is gone and one that became smaller,
//! two levels.

use std::hint::black_box;

use taut_market_data::native::{
    PACKET_BYTES_MAX, PacketHeader, PacketReader, PacketWriter, Places,
};
use taut_market_data::{EventKind, LevelPlace, LevelUpdate, ReduceReason, Trade};
use taut_types::{InstrumentId, Lots, OrderId, Price, SequenceNumber, Side};

use crate::{Outcome, count};

#[derive(Default)]
struct Sum(i64);

impl Sum {
    fn add(&mut self, kind: &EventKind) {
        self.0 = self.0.wrapping_mul(31);
        match kind {
            EventKind::Level(level) => self.0 += level.price.0 + level.lots.0 + level.side as i64,
            EventKind::Trade(trade) => self.0 += trade.price.0 + trade.lots.0,
            _ => {}
        }
    }
}

fn level(price: Price, lots: Lots) -> EventKind {
    let (side, place) = (Side::Sell, LevelPlace::ByPrice);
    EventKind::Level(LevelUpdate { side, price, lots, order_count: 3, place })
}

/// Five places, and not one that is called five times.
#[inline(always)]
fn push(writer: &mut PacketWriter<[u8; PACKET_BYTES_MAX]>, kind: EventKind) {
    let _ = writer.push_event(InstrumentId(1), &kind);
}

/// As a venue does it: what changed is known one by one.
#[inline(never)]
fn write(writer: &mut PacketWriter<[u8; PACKET_BYTES_MAX]>, number: i64) -> &[u8] {
    let sequence = SequenceNumber(number as u64);
    let _ = writer.begin(PacketHeader { sequence, ..PacketHeader::default() });
    let (price, lots) = (Price(585_330_000_000 + number), Lots(number % 100 + 1));
    let (trade_id, resting_order) = (number as u64, OrderId(number as u64));
    let (side, aggressor, reason) = (Side::Sell, Some(Side::Buy), ReduceReason::Execution);
    let (order_id, by, remaining) = black_box((resting_order, lots, lots));
    let trade = black_box(Trade { trade_id, price, lots, aggressor, resting_order });
    let (price, lots) = black_box((price, lots));
    let next = Price(price.0 + 10_000_000);
    push(writer, EventKind::Trade(trade));
    push(writer, EventKind::OrderDelete { order_id, side });
    push(writer, EventKind::OrderReduce { order_id, side, by, remaining, reason });
    push(writer, level(price, Lots(0)));
    push(writer, level(next, lots));
    writer.finish()
}

#[inline(never)]
fn read(datagram: &[u8], places: &mut Places, sum: &mut Sum) {
    let Ok(packet) = PacketReader::new(datagram) else { return };
    assert!(places.check(&packet).is_ok());
    places.visit(&packet, |_, kind| {
        sum.add(&kind);
        true
    });
}

pub fn run(words: &[&str]) -> Outcome {
    let count = count(words.first())?.cast_signed();
    let mut writer = PacketWriter::new([0; PACKET_BYTES_MAX]);
    let (mut places, mut sum) = (Places::default(), Sum::default());
    for number in 0..count {
        read(black_box(write(&mut writer, number)), &mut places, &mut sum);
    }
    println!("{count} packets, hash {:016x}", sum.0);
    Ok(())
}
