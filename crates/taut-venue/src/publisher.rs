//! The incremental channel: engine events become packets.

use taut_engine::{Event, Phase};
use taut_fix::Now;
use taut_io::{Io, Kernel};
use taut_market_data::native::TransactionWriter;
use taut_market_data::{
    BookOrder, EventKind, LevelPlace, LevelUpdate, ReduceReason, Trade, TradingStatus,
};
use taut_types::{Instrument, Lots, Nanos, OrderId, Price, SequenceNumber, Side};

use crate::bands::status_of;
use crate::error::VenueError;
use crate::ids::ById;
use crate::journal::{Put, Take};
use crate::lines::Lines;

/// What the engine does, as transactions on the lines.
#[derive(Debug)]
pub struct Publisher {
    pub lines: Lines,
    writer: TransactionWriter,
    trade_id: u64,
    /// What is displayed of each iceberg: its trades say what is left of all of it.
    icebergs: ById<Lots>,
    /// The order that is being replaced, and what is displayed of it.
    replaced: (OrderId, Lots),
    /// The phase that the command has led to, which is told behind its transaction.
    phase: Option<Phase>,
    /// Monotonic time of the last packet.
    last_sent: Nanos,
    heartbeats: u64,
}

impl Publisher {
    pub fn new(lines: Lines, stream_id: u32) -> Self {
        Self {
            lines,
            writer: TransactionWriter::new(stream_id),
            trade_id: 0,
            icebergs: ById::default(),
            replaced: (OrderId(0), Lots::ZERO),
            phase: None,
            last_sent: Nanos::ZERO,
            heartbeats: 0,
        }
    }

    /// The last sequence number sent.
    pub const fn sequence(&self) -> SequenceNumber {
        self.writer.sequence()
    }

    pub const fn heartbeats(&self) -> u64 {
        self.heartbeats
    }

    /// As [`publish`](Self::publish), of a command that waited: compiled apart, so that the other
    /// one is in line where nothing waits.
    #[inline(never)]
    pub fn publish_late(
        &mut self,
        io: &mut Io<impl Kernel>,
        Now { mono, utc }: Now,
        instrument: &Instrument,
        events: &[Event],
    ) -> Result<(), VenueError> {
        self.publish(io, mono, utc, instrument, events)
    }

    /// Sends what one command changed in an instrument as one transaction; nothing when it changed
    /// nothing.
    #[inline(always)]
    pub fn publish(
        &mut self,
        io: &mut Io<impl Kernel>,
        mono: Nanos,
        utc: Nanos,
        instrument: &Instrument,
        events: &[Event],
    ) -> Result<(), VenueError> {
        for event in events {
            self.on_event(io, utc, instrument, event)?;
        }
        self.end_transaction(io, mono, utc)?;
        match self.phase.take() {
            None => Ok(()),
            Some(phase) => self.status(io, mono, utc, instrument, status_of(phase)),
        }
    }

    /// Sends a trade that no order of the book took part in.
    pub fn print(
        &mut self,
        io: &mut Io<impl Kernel>,
        mono: Nanos,
        utc: Nanos,
        instrument: &Instrument,
        trade: Trade,
    ) -> Result<(), VenueError> {
        self.push_trade(io, utc, instrument, trade)?;
        self.end_transaction(io, mono, utc)
    }

    /// Says that an instrument trades, or does not any more.
    #[cold]
    fn status(
        &mut self,
        io: &mut Io<impl Kernel>,
        mono: Nanos,
        utc: Nanos,
        instrument: &Instrument,
        status: TradingStatus,
    ) -> Result<(), VenueError> {
        let Self { lines, writer, .. } = self;
        let send = &mut |sequence, packet: &[u8]| lines.send(io, sequence, packet);
        writer.status(utc, instrument.id(), status, send)?;
        self.last_sent = mono;
        Ok(())
    }

    /// An iceberg comes.
    #[cold]
    pub fn watch_iceberg(&mut self, order_id: OrderId) {
        self.icebergs.insert(order_id, Lots::ZERO);
    }

    /// An order of which so much is displayed is about to be replaced.
    pub const fn expect_replacement(&mut self, replaced: (OrderId, Lots)) {
        self.replaced = replaced;
    }

    /// Writes the numbers of the feed, and what is displayed of icebergs.
    pub fn put_image(&self, put: &mut Put) {
        put.u64(self.sequence().0);
        put.u64(self.trade_id);
        let mut icebergs: Vec<_> = self.icebergs.iter().collect();
        icebergs.sort_unstable();
        put.count(icebergs.len());
        for (order_id, lots) in icebergs {
            put.u64(order_id.0);
            put.i64(lots.0);
        }
    }

    /// Reads them; nothing where they are none.
    pub fn take_image(&mut self, take: &mut Take<'_>) -> Option<()> {
        self.writer.go_on_behind(SequenceNumber(take.u64()?));
        self.trade_id = take.u64()?;
        self.icebergs.clear();
        for _ in 0..take.count()? {
            self.icebergs.insert(OrderId(take.u64()?), Lots(take.i64()?));
        }
        Some(())
    }

    /// What was expected, for a command whose events wait: nothing is any more.
    pub const fn take_replacement(&mut self) -> (OrderId, Lots) {
        core::mem::replace(&mut self.replaced, (OrderId(0), Lots::ZERO))
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
        self.last_sent = mono;
        self.heartbeats += 1;
        self.lines.send_unnumbered(io, self.writer.heartbeat(utc))
    }

    fn on_event(
        &mut self,
        io: &mut Io<impl Kernel>,
        utc: Nanos,
        of: &Instrument,
        event: &Event,
    ) -> Result<(), VenueError> {
        // Only prices that can be told enter a book: see `Exchange`.
        let told = |half_ticks| of.price(half_ticks).unwrap_or(Price(i64::MAX));
        match *event {
            Event::Trade { hidden, taker_rested, .. } if hidden || taker_rested => {
                self.push_auction_trade(io, utc, of, event)
            }
            Event::Trade { maker, price, lots, maker_remaining, aggressor, .. } => {
                self.push_trade(io, utc, of, trade(told(price), lots, maker, aggressor))?;
                let left = if self.icebergs.is_empty() {
                    maker_remaining
                } else {
                    self.displayed_after(maker, lots, maker_remaining)
                };
                self.push(io, utc, of, maker_change(maker, aggressor.opposite(), lots, left))
            }
            Event::Rested { order_id, side, price, lots, hidden: false }
            | Event::Refreshed { order_id, side, price, lots } => {
                if !self.icebergs.is_empty() {
                    self.display(order_id, lots);
                }
                let order = BookOrder { order_id, side, price: told(price), lots, priority: 0 };
                self.push(io, utc, of, EventKind::OrderAdd(order))
            }
            Event::Cancelled { order_id, side, was_resting, .. } => {
                if !self.icebergs.is_empty() {
                    self.icebergs.remove(&order_id);
                }
                // What never rested was never there.
                if !was_resting {
                    return Ok(());
                }
                self.push(io, utc, of, EventKind::OrderDelete { order_id, side })
            }
            Event::Rejected { order_id, .. } if !self.icebergs.is_empty() => {
                self.icebergs.remove(&order_id);
                Ok(())
            }
            Event::Replaced {
                order_id, side, displayed, kept_priority, was_resting: true, ..
            } => self.push_replaced(
                io,
                utc,
                of,
                (order_id, side),
                kept_priority.then_some(displayed),
            ),
            Event::Reduced { order_id, side, by, remaining, .. } => {
                let reason = ReduceReason::Cancel;
                let change = EventKind::OrderReduce { order_id, side, by, remaining, reason };
                self.push(io, utc, of, change)
            }
            Event::Level { side, price, lots, order_count } => {
                let (price, place) = (told(price), LevelPlace::ByPrice);
                let level = LevelUpdate { side, price, lots, order_count, place };
                self.push(io, utc, of, EventKind::Level(level))
            }
            Event::Phase { phase } => {
                self.phase = Some(phase);
                Ok(())
            }
            // Answers, and remainders that never rested: the book is as it was.
            _ => Ok(()),
        }
    }

    /// A trade whose maker was not displayed, or whose taker was: both of an auction's may have
    /// stood in the book, or waited elsewhere.
    #[cold]
    fn push_auction_trade(
        &mut self,
        io: &mut Io<impl Kernel>,
        utc: Nanos,
        of: &Instrument,
        event: &Event,
    ) -> Result<(), VenueError> {
        let Event::Trade { maker, taker, price, lots, aggressor, .. } = *event else {
            return Ok(());
        };
        let Event::Trade { maker_remaining, taker_remaining, hidden, taker_rested, .. } = *event
        else {
            return Ok(());
        };
        let price = of.price(price).unwrap_or(Price(i64::MAX));
        let resting = if hidden { OrderId(0) } else { maker };
        self.push_trade(io, utc, of, trade(price, lots, resting, aggressor))?;
        let stood = [
            (!hidden, maker, aggressor.opposite(), maker_remaining),
            (taker_rested, taker, aggressor, taker_remaining),
        ];
        for (_, order_id, side, remaining) in stood.into_iter().filter(|(stood, ..)| *stood) {
            let left = self.displayed_after(order_id, lots, remaining);
            self.push(io, utc, of, maker_change(order_id, side, lots, left))?;
        }
        Ok(())
    }

    /// An order is no more where it stood, or has less displayed there.
    #[cold]
    fn push_replaced(
        &mut self,
        io: &mut Io<impl Kernel>,
        utc: Nanos,
        of: &Instrument,
        (order_id, side): (OrderId, Side),
        displayed: Option<Lots>,
    ) -> Result<(), VenueError> {
        let Some(remaining) = displayed else {
            return self.push(io, utc, of, EventKind::OrderDelete { order_id, side });
        };
        self.display(order_id, remaining);
        let (expected, before) = self.replaced;
        if expected != order_id || before <= remaining {
            return Ok(());
        }
        let (by, reason) = (Lots(before.0 - remaining.0), ReduceReason::Cancel);
        self.push(io, utc, of, EventKind::OrderReduce { order_id, side, by, remaining, reason })
    }

    /// So much of an order is displayed now; only icebergs are remembered.
    #[cold]
    fn display(&mut self, order_id: OrderId, lots: Lots) {
        if let Some(displayed) = self.icebergs.get_mut(&order_id) {
            *displayed = lots;
        }
    }

    /// What is displayed of a maker after a trade of so many lots.
    #[cold]
    fn displayed_after(&mut self, order_id: OrderId, lots: Lots, remaining: Lots) -> Lots {
        let Some(displayed) = self.icebergs.get_mut(&order_id) else { return remaining };
        *displayed = Lots((displayed.0 - lots.0).max(0));
        let left = *displayed;
        if remaining == Lots::ZERO {
            self.icebergs.remove(&order_id);
        }
        left
    }

    /// The feed numbers its trades itself: those of the engines and the prints are one series.
    fn push_trade(
        &mut self,
        io: &mut Io<impl Kernel>,
        utc: Nanos,
        of: &Instrument,
        trade: Trade,
    ) -> Result<(), VenueError> {
        self.trade_id += 1;
        self.push(io, utc, of, EventKind::Trade(Trade { trade_id: self.trade_id, ..trade }))
    }

    /// In line wherever it is called: each kind of change is written straight into the packet.
    #[inline(always)]
    fn push(
        &mut self,
        io: &mut Io<impl Kernel>,
        utc: Nanos,
        of: &Instrument,
        change: EventKind,
    ) -> Result<(), VenueError> {
        let Self { lines, writer, .. } = self;
        let send = &mut |sequence, packet: &[u8]| lines.send(io, sequence, packet);
        writer.push_event(utc, of.id(), &change, send)
    }

    fn end_transaction(
        &mut self,
        io: &mut Io<impl Kernel>,
        mono: Nanos,
        utc: Nanos,
    ) -> Result<(), VenueError> {
        let Self { lines, writer, .. } = self;
        if writer.end(utc, &mut |sequence, packet| lines.send(io, sequence, packet))? {
            self.last_sent = mono;
        }
        Ok(())
    }
}

/// A trade, whose number the feed gives.
pub const fn trade(price: Price, lots: Lots, resting_order: OrderId, aggressor: Side) -> Trade {
    Trade { trade_id: 0, price, lots, aggressor: Some(aggressor), resting_order }
}

/// What a fill does to the order that rested.
const fn maker_change(order_id: OrderId, side: Side, by: Lots, remaining: Lots) -> EventKind {
    if remaining.0 == 0 {
        return EventKind::OrderDelete { order_id, side };
    }
    let reason = ReduceReason::Execution;
    EventKind::OrderReduce { order_id, side, by, remaining, reason }
}
