//! The snapshot channel: a whole book as a run of packets.
//!
//! Packet 0 has `SnapshotBegin`, `InstrumentDefinition` and `InstrumentStatus`; the levels, the
//! orders and a packet with `SnapshotEnd` follow. The channel numbers its packets by itself.

use alloc::vec::Vec;

use taut_types::{Nanos, SequenceNumber};

use crate::event::{BookOrder, EventKind, LevelUpdate, TradingStatus};
use crate::native::block::{InstrumentDefinition, SnapshotBegin, SnapshotEnd, SnapshotPart};
use crate::native::group::{Levels, Orders};
use crate::native::message::{Message, SnapshotLevels, SnapshotOrders};
use crate::native::packet::{
    LEVELS_PER_PACKET_MAX, ORDERS_PER_PACKET_MAX, PACKET_BYTES_MAX, PacketFlags, PacketHeader,
};
use crate::native::writer::PacketWriter;

/// A copy of a book, and the packets that it is sent in.
#[derive(Debug)]
pub struct SnapshotWriter {
    writer: PacketWriter<[u8; PACKET_BYTES_MAX]>,
    stream_id: u32,
    levels: Vec<LevelUpdate>,
    orders: Vec<BookOrder>,
    /// The last increment that the copy contains.
    last_sequence: SequenceNumber,
    snapshot_id: u32,
    packets_sent: u64,
}

impl SnapshotWriter {
    /// A writer of this stream, with room for so many levels and orders; more of them allocate.
    #[must_use]
    pub fn with_capacity(stream_id: u32, level_capacity: usize, order_capacity: usize) -> Self {
        Self {
            writer: PacketWriter::new([0; PACKET_BYTES_MAX]),
            stream_id,
            levels: Vec::with_capacity(level_capacity),
            orders: Vec::with_capacity(order_capacity),
            last_sequence: SequenceNumber(0),
            snapshot_id: 0,
            packets_sent: 0,
        }
    }

    /// Copies a book as it is after this increment. Orders come in the order of their priority.
    pub fn capture(
        &mut self,
        last_sequence: SequenceNumber,
        levels: impl Iterator<Item = LevelUpdate>,
        orders: impl Iterator<Item = BookOrder>,
    ) {
        self.snapshot_id = self.snapshot_id.wrapping_add(1);
        self.last_sequence = last_sequence;
        self.levels.clear();
        self.levels.extend(levels);
        self.orders.clear();
        self.orders.extend(orders);
    }

    /// How many packets the copy has: begin, levels, orders, end.
    #[must_use]
    pub fn packet_count(&self) -> usize {
        self.level_packets() + self.orders.len().div_ceil(ORDERS_PER_PACKET_MAX) + 2
    }

    /// How many packets were made so far, of all copies.
    #[must_use]
    pub const fn packets_sent(&self) -> u64 {
        self.packets_sent
    }

    /// The packet at `index` of the copy, under the channel's next number. The first one says what
    /// the instrument is and whether it trades: as of the copy.
    pub fn packet(
        &mut self,
        index: usize,
        utc: Nanos,
        definition: &InstrumentDefinition,
        status: TradingStatus,
    ) -> &[u8] {
        let is_last = index + 1 == self.packet_count();
        let flags = if is_last { PacketFlags::LAST } else { PacketFlags::EMPTY };
        self.packets_sent += 1;
        // Every part fits an empty packet by its size: nothing here can fail.
        let _ = self.writer.begin(PacketHeader {
            sequence: SequenceNumber(self.packets_sent),
            sending_time: utc,
            message_count: 0,
            flags: PacketFlags::SNAPSHOT.with(flags),
            stream_id: self.stream_id,
        });
        let (snapshot_id, instrument) = (self.snapshot_id, definition.instrument);
        let packet_index = count(index);
        let part = SnapshotPart { snapshot_id, packet_index, instrument };
        let level_packets = self.level_packets();
        if index == 0 {
            let begin = SnapshotBegin {
                last_sequence: self.last_sequence,
                snapshot_id,
                instrument,
                level_count: count(self.levels.len()),
                order_count: count(self.orders.len()),
                packet_count: count(self.packet_count()),
            };
            let _ = self.writer.push(&Message::SnapshotBegin(begin));
            let _ = self.writer.push(&Message::InstrumentDefinition(*definition));
            let status = EventKind::Status(status);
            let _ = self.writer.push(&Message::Event(instrument, status));
        } else if is_last {
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
        self.writer.finish()
    }

    fn level_packets(&self) -> usize {
        self.levels.len().div_ceil(LEVELS_PER_PACKET_MAX)
    }
}

/// More than 2^32 of anything is more than any memory holds.
fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// Piece `index` of the entries, `len_max` each.
fn chunk<T>(entries: &[T], len_max: usize, index: usize) -> &[T] {
    let start = (index * len_max).min(entries.len());
    let end = (start + len_max).min(entries.len());
    entries.get(start..end).unwrap_or(&[])
}
