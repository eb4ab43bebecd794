//! The incremental channel: engine events become packets.

use taut_engine::{CancelReason, Event};
use taut_io::{Io, Kernel};
use taut_market_data::native::{
    Message, PACKET_BYTES_MAX, PacketFlags, PacketHeader, PacketWriter, SbeError,
};
use taut_market_data::{BookOrder, EventKind, LevelPlace, LevelUpdate, ReduceReason, Trade};
use taut_types::{HalfTicks, Instrument, Lots, Nanos, OrderId, Price, SequenceNumber, Side};

use crate::error::VenueError;
use crate::lines::Lines;

/// Numbers packets from 1, without a hole.
#[derive(Debug)]
pub struct Publisher {
    pub lines: Lines,
    writer: PacketWriter<[u8; PACKET_BYTES_MAX]>,
    instrument: Instrument,
    stream_id: u32,
    /// The last sequence number sent.
    sequence: u64,
    trade_id: u64,
    /// Whether a packet is being filled.
    is_open: bool,
    /// Monotonic time of the last packet.
    last_sent: Nanos,
    heartbeats: u64,
}

impl Publisher {
    pub const fn new(lines: Lines, instrument: Instrument, stream_id: u32) -> Self {
        Self {
            lines,
            writer: PacketWriter::new([0; PACKET_BYTES_MAX]),
            instrument,
            stream_id,
            sequence: 0,
            trade_id: 0,
            is_open: false,
            last_sent: Nanos::ZERO,
            heartbeats: 0,
        }
    }

    /// The last sequence number sent.
    pub const fn sequence(&self) -> SequenceNumber {
        SequenceNumber(self.sequence)
    }

    pub const fn heartbeats(&self) -> u64 {
        self.heartbeats
    }

    /// Sends what one command changed as one transaction; nothing when it changed nothing.
    pub fn publish(
        &mut self,
        io: &mut Io<impl Kernel>,
        mono: Nanos,
        utc: Nanos,
        events: &[Event],
    ) -> Result<(), VenueError> {
        for event in events {
            self.on_event(io, utc, event)?;
        }
        self.end_transaction(io, mono, utc)
    }

    /// Sends a trade that no order of the book took part in.
    pub fn print(
        &mut self,
        io: &mut Io<impl Kernel>,
        mono: Nanos,
        utc: Nanos,
        price: Price,
        lots: Lots,
        aggressor: Side,
    ) -> Result<(), VenueError> {
        self.push_trade(io, utc, price, lots, OrderId(0), aggressor)?;
        self.end_transaction(io, mono, utc)
    }

    /// When a heartbeat is due, if nothing is sent before.
    pub fn heartbeat_due(&self, interval: Nanos) -> Nanos {
        self.last_sent + interval
    }

    /// Repeats the last sequence number.
    pub fn heartbeat(
        &mut self,
        io: &mut Io<impl Kernel>,
        mono: Nanos,
        utc: Nanos,
    ) -> Result<(), VenueError> {
        let flags = PacketFlags::HEARTBEAT.with(PacketFlags::LAST);
        let header = self.header(self.sequence, flags, utc);
        // The buffer is large enough for a header: nothing can fail.
        let _ = self.writer.begin(header);
        self.last_sent = mono;
        self.heartbeats += 1;
        self.lines.send_unnumbered(io, self.writer.finish())
    }

    fn on_event(
        &mut self,
        io: &mut Io<impl Kernel>,
        utc: Nanos,
        event: &Event,
    ) -> Result<(), VenueError> {
        match *event {
            Event::Trade { maker, price, lots, maker_remaining, aggressor, .. } => {
                self.push_trade(io, utc, self.price(price), lots, maker, aggressor)?;
                self.push(io, utc, maker_change(maker, aggressor.opposite(), lots, maker_remaining))
            }
            Event::Rested { order_id, side, price, lots, .. } => {
                let price = self.price(price);
                let order = BookOrder { order_id, side, price, lots, priority: 0 };
                self.push(io, utc, EventKind::OrderAdd(order))
            }
            Event::Cancelled { order_id, side, reason: CancelReason::Requested, .. } => {
                self.push(io, utc, EventKind::OrderDelete { order_id, side })
            }
            Event::Reduced { order_id, side, by, remaining, .. } => {
                let reason = ReduceReason::Cancel;
                self.push(io, utc, EventKind::OrderReduce { order_id, side, by, remaining, reason })
            }
            Event::Level { side, price, lots, order_count } => {
                let (price, place) = (self.price(price), LevelPlace::ByPrice);
                let level = LevelUpdate { side, price, lots, order_count, place };
                self.push(io, utc, EventKind::Level(level))
            }
            // Answers, and remainders that never rested: the book is as it was.
            _ => Ok(()),
        }
    }

    /// The feed numbers its trades itself: those of the engine and the prints are one series.
    fn push_trade(
        &mut self,
        io: &mut Io<impl Kernel>,
        utc: Nanos,
        price: Price,
        lots: Lots,
        resting_order: OrderId,
        aggressor: Side,
    ) -> Result<(), VenueError> {
        self.trade_id += 1;
        let (trade_id, aggressor) = (self.trade_id, Some(aggressor));
        self.push(
            io,
            utc,
            EventKind::Trade(Trade { trade_id, price, lots, aggressor, resting_order }),
        )
    }

    #[inline]
    fn push(
        &mut self,
        io: &mut Io<impl Kernel>,
        utc: Nanos,
        change: EventKind,
    ) -> Result<(), VenueError> {
        let message = Message::Event(self.instrument.id(), change);
        if self.is_open {
            match self.writer.push(&message) {
                Err(SbeError::Full) => self.send(io, utc, PacketFlags::EMPTY)?,
                _ => return Ok(()),
            }
        }
        let header = self.header(self.sequence.saturating_add(1), PacketFlags::EMPTY, utc);
        let _ = self.writer.begin(header);
        self.is_open = true;
        // Every increment is much shorter than an empty packet's room.
        let _ = self.writer.push(&message);
        Ok(())
    }

    fn end_transaction(
        &mut self,
        io: &mut Io<impl Kernel>,
        mono: Nanos,
        utc: Nanos,
    ) -> Result<(), VenueError> {
        if !self.is_open {
            return Ok(());
        }
        self.last_sent = mono;
        self.send(io, utc, PacketFlags::LAST)
    }

    fn send(
        &mut self,
        io: &mut Io<impl Kernel>,
        utc: Nanos,
        flags: PacketFlags,
    ) -> Result<(), VenueError> {
        let header = self.writer.header_mut();
        header.flags = flags;
        header.sending_time = utc;
        self.is_open = false;
        self.sequence = self.sequence.saturating_add(1);
        self.lines.send(io, SequenceNumber(self.sequence), self.writer.finish())
    }

    const fn header(&self, sequence: u64, flags: PacketFlags, utc: Nanos) -> PacketHeader {
        PacketHeader {
            sequence: SequenceNumber(sequence),
            sending_time: utc,
            message_count: 0,
            flags,
            stream_id: self.stream_id,
        }
    }

    /// Only prices that can be told enter the book: see `Exchange`.
    fn price(&self, half_ticks: HalfTicks) -> Price {
        self.instrument.price(half_ticks).unwrap_or(Price(i64::MAX))
    }
}

/// What a fill does to the order that rested.
const fn maker_change(order_id: OrderId, side: Side, by: Lots, remaining: Lots) -> EventKind {
    if remaining.0 == 0 {
        return EventKind::OrderDelete { order_id, side };
    }
    let reason = ReduceReason::Execution;
    EventKind::OrderReduce { order_id, side, by, remaining, reason }
}
