//! The snapshot channel: the whole book, again and again.
//!
//! A cycle is packet 0 with `SnapshotBegin` and `InstrumentDefinition`, the levels, the orders, and
//! a packet with `SnapshotEnd`. The book is copied at one moment, between two commands, and the
//! copy is sent in bursts, so that no order waits for a cycle.

use taut_book::OrderBook;
use taut_io::{Io, Kernel};
use taut_market_data::native::{
    InstrumentDefinition, LEVELS_PER_PACKET_MAX, Levels, Message, ORDERS_PER_PACKET_MAX, Orders,
    PACKET_BYTES_MAX, PacketFlags, PacketHeader, PacketWriter, SnapshotBegin, SnapshotEnd,
    SnapshotLevels, SnapshotOrders, SnapshotPart,
};
use taut_market_data::{BookOrder, LevelPlace, LevelUpdate};
use taut_types::{HalfTicks, Instrument, Nanos, Price, SequenceNumber, Side};

use crate::channel::Channel;
use crate::config::VenueConfig;
use crate::error::VenueError;

/// The cycle and where it stands.
#[derive(Debug)]
pub struct SnapshotCycle {
    channel: Channel,
    writer: PacketWriter<[u8; PACKET_BYTES_MAX]>,
    instrument: Instrument,
    stream_id: u32,
    interval: Nanos,
    burst_packets: usize,
    burst_interval: Nanos,
    levels: Vec<LevelUpdate>,
    orders: Vec<BookOrder>,
    /// The last increment that the copy contains.
    last_sequence: SequenceNumber,
    snapshot_id: u32,
    /// The next packet of the copy; `None` when it is all sent.
    next_packet: Option<usize>,
    /// When the next burst, or the next cycle, is due.
    due: Nanos,
    /// When this cycle began.
    began: Nanos,
    packets_sent: u64,
    cycles_sent: u64,
}

impl SnapshotCycle {
    pub fn new(channel: Channel, config: &VenueConfig) -> Self {
        Self {
            channel,
            writer: PacketWriter::new([0; PACKET_BYTES_MAX]),
            instrument: config.instrument,
            stream_id: config.stream_id,
            interval: config.snapshot_interval,
            burst_packets: config.snapshot_burst_packets,
            burst_interval: config.snapshot_burst_interval,
            levels: Vec::with_capacity(config.level_capacity * 2),
            orders: Vec::with_capacity(config.order_capacity),
            last_sequence: SequenceNumber(0),
            snapshot_id: 0,
            next_packet: None,
            due: Nanos::ZERO,
            began: Nanos::ZERO,
            packets_sent: 0,
            cycles_sent: 0,
        }
    }

    /// When there is something to send.
    pub const fn due(&self) -> Nanos {
        self.due
    }

    pub const fn packets_sent(&self) -> u64 {
        self.packets_sent
    }

    pub const fn cycles_sent(&self) -> u64 {
        self.cycles_sent
    }

    pub const fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Sends the next burst; the first of a cycle copies the book, as of `last_sequence`.
    pub fn burst(
        &mut self,
        io: &mut Io<impl Kernel>,
        mono: Nanos,
        utc: Nanos,
        book: &OrderBook,
        last_sequence: SequenceNumber,
    ) -> Result<(), VenueError> {
        let first = match self.next_packet {
            Some(next) => next,
            None => {
                self.capture(book, last_sequence);
                self.began = mono;
                0
            }
        };
        let end = self.packet_count();
        let stop = end.min(first + self.burst_packets);
        for index in first..stop {
            self.send_packet(io, index, utc)?;
        }
        if stop == end {
            self.next_packet = None;
            self.cycles_sent += 1;
            self.due = (self.began + self.interval).max(mono);
        } else {
            self.next_packet = Some(stop);
            self.due = mono + self.burst_interval;
        }
        Ok(())
    }

    fn capture(&mut self, book: &OrderBook, last_sequence: SequenceNumber) {
        let instrument = self.instrument;
        let price = |half_ticks: HalfTicks| instrument.price(half_ticks).unwrap_or(Price(i64::MAX));
        self.snapshot_id = self.snapshot_id.wrapping_add(1);
        self.last_sequence = last_sequence;
        self.levels.clear();
        self.orders.clear();
        for side in Side::BOTH {
            self.levels.extend(book.levels(side).map(|level| LevelUpdate {
                side,
                price: price(level.price),
                lots: level.lots,
                order_count: level.order_count,
                place: LevelPlace::ByPrice,
            }));
            self.orders.extend(book.orders(side).map(|order| BookOrder {
                order_id: order.id,
                side,
                price: price(order.price),
                lots: order.lots,
                // The list is in the order of priority.
                priority: 0,
            }));
        }
    }

    fn level_packets(&self) -> usize {
        self.levels.len().div_ceil(LEVELS_PER_PACKET_MAX)
    }

    /// Begin, levels, orders, end.
    fn packet_count(&self) -> usize {
        self.level_packets() + self.orders.len().div_ceil(ORDERS_PER_PACKET_MAX) + 2
    }

    fn send_packet(
        &mut self,
        io: &mut Io<impl Kernel>,
        index: usize,
        utc: Nanos,
    ) -> Result<(), VenueError> {
        let is_last = index + 1 == self.packet_count();
        let flags = if is_last { PacketFlags::LAST } else { PacketFlags::EMPTY };
        let header = PacketHeader {
            sequence: SequenceNumber(self.packets_sent + 1),
            sending_time: utc,
            message_count: 0,
            flags: PacketFlags::SNAPSHOT.with(flags),
            stream_id: self.stream_id,
        };
        // Every part fits an empty packet by its size: nothing here can fail.
        let _ = self.writer.begin(header);
        let instrument = self.instrument.id();
        let part =
            SnapshotPart { snapshot_id: self.snapshot_id, packet_index: count(index), instrument };
        let level_packets = self.level_packets();
        if index == 0 {
            let _ = self.writer.push(&Message::SnapshotBegin(self.begin()));
            let _ = self.writer.push(&Message::InstrumentDefinition(definition(&self.instrument)));
        } else if is_last {
            let SnapshotPart { snapshot_id, packet_index, .. } = part;
            let end = SnapshotEnd { snapshot_id, packet_index, instrument };
            let _ = self.writer.push(&Message::SnapshotEnd(end));
        } else if index <= level_packets {
            let levels = Levels::new(chunk(&self.levels, LEVELS_PER_PACKET_MAX, index - 1));
            let _ = self.writer.push(&Message::SnapshotLevels(SnapshotLevels { part, levels }));
        } else {
            let orders = chunk(&self.orders, ORDERS_PER_PACKET_MAX, index - 1 - level_packets);
            let orders = Orders::new(orders);
            let _ = self.writer.push(&Message::SnapshotOrders(SnapshotOrders { part, orders }));
        }
        self.packets_sent += 1;
        self.channel.send(io, self.writer.finish())
    }

    fn begin(&self) -> SnapshotBegin {
        SnapshotBegin {
            last_sequence: self.last_sequence,
            snapshot_id: self.snapshot_id,
            instrument: self.instrument.id(),
            level_count: count(self.levels.len()),
            order_count: count(self.orders.len()),
            packet_count: count(self.packet_count()),
        }
    }
}

/// Capacities are below 2^32: see `VenueConfig::check`.
fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// Piece `index` of the entries, `len_max` each.
fn chunk<T>(entries: &[T], len_max: usize, index: usize) -> &[T] {
    let start = (index * len_max).min(entries.len());
    let end = (start + len_max).min(entries.len());
    entries.get(start..end).unwrap_or(&[])
}

const fn definition(instrument: &Instrument) -> InstrumentDefinition {
    InstrumentDefinition {
        tick: instrument.tick(),
        lot_mantissa: instrument.lot().mantissa,
        instrument: instrument.id(),
        lot_decimals: instrument.lot().decimals,
        symbol: instrument.symbol(),
    }
}
