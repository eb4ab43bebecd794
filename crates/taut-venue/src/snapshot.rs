//! The snapshot channel: all books, one after the other, again and again.
//!
//! A book is copied at one moment, between two commands, and the copy is sent in bursts, so that no
//! order waits for a cycle.

use std::iter::empty;

use taut_book::OrderBook;
use taut_fix::Now;
use taut_io::{Io, Kernel};
use taut_market_data::native::{InstrumentDefinition, SnapshotWriter};
use taut_market_data::{BookOrder, LevelPlace, LevelUpdate};
use taut_types::{HalfTicks, Instrument, Nanos, Price, SequenceNumber, Side};

use crate::bands::status_of;
use crate::channel::Channel;
use crate::config::VenueConfig;
use crate::error::VenueError;
use crate::listing::Listing;

/// The cycle and where it stands.
#[derive(Debug)]
pub struct SnapshotCycle {
    channel: Channel,
    writer: SnapshotWriter,
    interval: Nanos,
    burst_packets: usize,
    burst_interval: Nanos,
    /// The place of the book whose turn it is.
    place: usize,
    /// The next packet of its copy; `None` when it has not been copied.
    next_packet: Option<usize>,
    /// When the next burst, or the next cycle, is due.
    due: Nanos,
    /// When this cycle began.
    began: Nanos,
    cycles_sent: u64,
}

impl SnapshotCycle {
    pub fn new(channel: Channel, config: &VenueConfig) -> Self {
        let (levels, orders) = (config.level_capacity * 2, config.order_capacity);
        Self {
            channel,
            writer: SnapshotWriter::with_capacity(config.stream_id, levels, orders),
            interval: config.snapshot_interval,
            burst_packets: config.snapshot_burst_packets,
            burst_interval: config.snapshot_burst_interval,
            place: 0,
            next_packet: None,
            due: Nanos::ZERO,
            began: Nanos::ZERO,
            cycles_sent: 0,
        }
    }

    /// When there is something to send.
    pub const fn due(&self) -> Nanos {
        self.due
    }

    pub const fn packets_sent(&self) -> u64 {
        self.writer.packets_sent()
    }

    pub const fn cycles_sent(&self) -> u64 {
        self.cycles_sent
    }

    pub const fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Sends the next burst; the first of a book copies it, as of `last_sequence`. A book that no
    /// order has come to yet is empty.
    pub fn burst<'b>(
        &mut self,
        io: &mut Io<impl Kernel>,
        now: Now,
        listings: &[Listing],
        book: impl Fn(usize) -> Option<&'b OrderBook>,
        last_sequence: SequenceNumber,
    ) -> Result<(), VenueError> {
        let mut left = self.burst_packets;
        while let Some(Listing { instrument, phase, .. }) = listings.get(self.place) {
            let first = match self.next_packet {
                Some(next) => next,
                None => {
                    if self.place == 0 {
                        self.began = now.mono;
                    }
                    self.capture(instrument, book(self.place), last_sequence);
                    0
                }
            };
            let end = self.writer.packet_count();
            let stop = end.min(first + left);
            let definition = definition(instrument);
            for index in first..stop {
                let packet = self.writer.packet(index, now.utc, &definition, status_of(*phase));
                self.channel.send(io, packet)?;
            }
            left -= stop - first;
            if stop < end {
                self.next_packet = Some(stop);
                break;
            }
            self.next_packet = None;
            self.place += 1;
            if left == 0 {
                break;
            }
        }
        if self.place == listings.len() {
            self.place = 0;
            self.cycles_sent += 1;
            self.due = (self.began + self.interval).max(now.mono);
        } else {
            self.due = now.mono + self.burst_interval;
        }
        Ok(())
    }

    fn capture(
        &mut self,
        instrument: &Instrument,
        book: Option<&OrderBook>,
        last_sequence: SequenceNumber,
    ) {
        let Some(book) = book else {
            return self.writer.capture(last_sequence, empty(), empty());
        };
        let price = |half_ticks: HalfTicks| instrument.price(half_ticks).unwrap_or(Price(i64::MAX));
        let levels = Side::BOTH.into_iter().flat_map(|side| {
            book.levels(side).map(move |level| LevelUpdate {
                side,
                price: price(level.price),
                lots: level.lots,
                order_count: level.order_count,
                place: LevelPlace::ByPrice,
            })
        });
        let orders = Side::BOTH.into_iter().flat_map(|side| book.orders(side));
        let orders = orders.map(|order| BookOrder {
            order_id: order.id,
            side: order.side,
            price: price(order.price),
            lots: order.lots,
            // The list is in the order of priority.
            priority: 0,
        });
        self.writer.capture(last_sequence, levels, orders);
    }
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
