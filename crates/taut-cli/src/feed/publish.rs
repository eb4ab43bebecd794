//! A recording's events as taut's own market data: packets of SBE messages on a channel, or the
//! same packets on two: the lines A and B of a feed.
//!
//! Updates and trades are numbered packets, the last one of a message marked as such. What they say
//! a follower can do: from the first packet on each update is one of the book as it was told, and a
//! snapshot of the venue's is told as what it changes; while the venue's own book is not known,
//! nothing is. Every second of the recording a snapshot of the whole book is a run of packets of
//! its own numbers, so that a subscriber can join late: `taut_market_data::native::Book` does.

use std::collections::BTreeMap;

use taut_book::LevelBook;
use taut_channel::{ChannelUri, Closing, OfferError, Opening, Publication};
use taut_market_data::binance::DepthBook;
use taut_market_data::native::{InstrumentDefinition, Message, SnapshotWriter, TransactionWriter};
use taut_market_data::{
    Context, Event, EventKind, InstrumentKey, LevelPlace, LevelUpdate, TradingStatus,
};
use taut_sys::{monotonic, stop_requests, utc, yield_cpu};
use taut_types::{InstrumentId, Lots, Nanos, Price, Side, Symbol};

use crate::exit::Failure;

/// A snapshot is sent this often, by the recording's time.
const SNAPSHOT_EVERY: Nanos = Nanos::from_secs(1);
/// How long a subscriber may take what is left when the replay is over.
const LINGER: Nanos = Nanos::from_secs(5);
const INSTRUMENT: InstrumentId = InstrumentId(1);

/// Levels of both sides in a snapshot; more of them allocate.
const LEVELS_MAX: usize = 1 << 14;
/// A feed has so many lines.
const LINES_MAX: usize = 2;

/// What was published.
#[derive(Clone, Copy, Debug, Default)]
pub struct Published {
    pub packets: u64,
    pub snapshots: u64,
    /// Packets that nobody was there for, on each line.
    pub unheard: u64,
}

/// A publisher of one instrument.
pub struct Publisher {
    lines: Lines,
    increments: TransactionWriter,
    snapshots: SnapshotWriter,
    next_snapshot: Option<Nanos>,
    definition: InstrumentDefinition,
    /// The book of whoever has heard all so far.
    told: LevelBook,
    /// The message at hand: its levels, and how the book was before it.
    levels: Vec<LevelUpdate>,
    was_sound: bool,
    applied_before: u64,
}

/// Line A, and line B when there is one.
struct Lines {
    lines: Vec<Publication>,
    published: Published,
}

impl Publisher {
    /// Opens a line on each channel, and waits for subscribers if told so.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a channel that cannot be opened, or for too many.
    pub fn open(
        uris: &[ChannelUri],
        await_subscriber: bool,
        levels_max: usize,
    ) -> Result<Self, Failure> {
        if uris.len() > LINES_MAX {
            let given = uris.len();
            let what = format!("--publish: {given} channels, a feed has {LINES_MAX} lines at most");
            return Err(Failure::Usage(what));
        }
        if let [a, b] = uris
            && a == b
        {
            let what = format!("--publish {a} is given twice: line B needs a channel of its own");
            return Err(Failure::Usage(what));
        }
        let opening = Opening { now: monotonic(), ..Opening::default() };
        let open = |uri: &ChannelUri| {
            Publication::open(uri, &opening)
                .map_err(|error| Failure::Usage(format!("--publish {uri}: {error}")))
        };
        let mut lines = uris.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        while await_subscriber
            && !lines.iter().all(|line| line.is_connected())
            && stop_requests() == 0
        {
            for line in &mut lines {
                line.work(monotonic());
                line.block(Nanos::from_millis(10));
            }
        }
        let symbol = Symbol::new(b"UNKNOWN");
        let symbol = symbol.ok_or_else(|| Failure::run("the symbol", "it is no symbol"))?;
        let mut id = [0; 4];
        taut_sys::random_bytes(&mut id).map_err(|error| Failure::run("a stream id", error))?;
        let stream_id = u32::from_le_bytes(id);
        Ok(Self {
            lines: Lines { lines, published: Published::default() },
            increments: TransactionWriter::new(stream_id),
            snapshots: SnapshotWriter::with_capacity(stream_id, LEVELS_MAX, 0),
            next_snapshot: None,
            definition: InstrumentDefinition {
                // The finest tick that prices can have: a recording does not tell its own.
                tick: Price(1),
                lot_mantissa: 1,
                instrument: INSTRUMENT,
                lot_decimals: 0,
                symbol,
            },
            told: LevelBook::with_capacity(levels_max),
            levels: Vec::new(),
            was_sound: false,
            applied_before: 0,
        })
    }

    /// Looks at the book before it takes an event.
    pub fn before(&mut self, event: &Event, book: &DepthBook) {
        if let EventKind::Begin(_) = event.kind {
            self.levels.clear();
            (self.was_sound, self.applied_before) = (!book.is_stale(), book.counters().applied);
        }
    }

    /// Publishes what an event has changed.
    pub fn on_event(
        &mut self,
        context: &Context<'_>,
        event: &Event,
        book: &DepthBook,
    ) -> Result<(), Failure> {
        match event.kind {
            EventKind::Level(level) => self.levels.push(level),
            EventKind::End { .. } => self.collect(book),
            _ => {}
        }
        let (lines, utc) = (&mut self.lines, utc());
        let mut send = |_, packet: &[u8]| lines.send(packet);
        if let EventKind::Trade(_) = event.kind {
            let message = Message::Event(INSTRUMENT, event.kind);
            self.increments.push(utc, &message, &mut send)?;
        }
        if let EventKind::End { .. } = event.kind {
            for &LevelUpdate { side, price, lots, order_count, place } in &self.levels {
                // What is not there need not be deleted.
                if self.told.apply(side, price, lots, order_count).is_ok() {
                    let level = LevelUpdate { side, price, lots, order_count, place };
                    let message = Message::Event(INSTRUMENT, EventKind::Level(level));
                    self.increments.push(utc, &message, &mut send)?;
                }
            }
            self.levels.clear();
            self.definition.lot_decimals = context.lot_decimals;
            if let InstrumentKey::Symbol(name) = context.instrument
                && let Some(symbol) = Symbol::new(name)
            {
                self.definition.symbol = symbol;
            }
        }
        match event.kind {
            EventKind::Trade(_) | EventKind::End { .. } => {
                self.increments.end(utc, &mut send).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Leaves of a message what a follower is to be told: the levels of an update that came in
    /// sequence, all that differs when the book has become sound, and nothing otherwise.
    fn collect(&mut self, book: &DepthBook) {
        let is_next = book.counters().applied == self.applied_before + 1;
        match (self.was_sound, !book.is_stale()) {
            (true, true) if is_next => {}
            (false, true) => self.levels = differences(&self.told, book.book()),
            _ => self.levels.clear(),
        }
    }

    /// Publishes the whole book as it was told, when it is time.
    pub fn snapshot_if_due(&mut self, recorded: Nanos) -> Result<(), Failure> {
        if self.next_snapshot.is_some_and(|due| recorded < due) {
            return Ok(());
        }
        self.next_snapshot = Some(recorded + SNAPSHOT_EVERY);
        let told = &self.told;
        let levels = Side::BOTH.into_iter().flat_map(|side| {
            told.iter(side).map(move |level| LevelUpdate {
                side,
                price: level.price,
                lots: level.lots,
                order_count: level.order_count,
                place: LevelPlace::ByPrice,
            })
        });
        self.snapshots.capture(self.increments.sequence(), levels, std::iter::empty());
        for index in 0..self.snapshots.packet_count() {
            let (definition, status) = (&self.definition, TradingStatus::Trading);
            self.lines.send(self.snapshots.packet(index, utc(), definition, status))?;
        }
        self.lines.published.snapshots += 1;
        Ok(())
    }

    /// Lets the subscribers take what is left.
    pub fn finish(self) -> Published {
        let Lines { mut lines, published } = self.lines;
        let deadline = monotonic() + LINGER;
        for line in &mut lines {
            line.close(monotonic());
        }
        let is_closed = |line: &Publication| line.closing() == Closing::Closed;
        while !lines.iter().all(is_closed) && monotonic() < deadline {
            for line in &mut lines {
                line.work(monotonic());
            }
            yield_cpu();
        }
        published
    }
}

/// The updates that make one book the other.
fn differences(from: &LevelBook, to: &LevelBook) -> Vec<LevelUpdate> {
    let mut updates = Vec::new();
    for side in Side::BOTH {
        let levels = |book: &LevelBook| -> BTreeMap<Price, (Lots, u32)> {
            book.iter(side).map(|it| (it.price, (it.lots, it.order_count))).collect()
        };
        let (old, new) = (levels(from), levels(to));
        let gone = old.keys().filter(|price| !new.contains_key(price));
        let gone = gone.map(|price| (*price, (Lots::ZERO, 0)));
        let set = new.iter().filter(|(price, level)| old.get(price) != Some(level));
        let all = gone.chain(set.map(|(price, level)| (*price, *level)));
        updates.extend(all.map(|(price, (lots, order_count))| {
            let place = LevelPlace::ByPrice;
            LevelUpdate { side, price, lots, order_count, place }
        }));
    }
    updates
}

impl Lines {
    /// Sends the packet on line A, then on line B.
    fn send(&mut self, packet: &[u8]) -> Result<(), Failure> {
        self.published.packets += 1;
        for line in &mut self.lines {
            let is_heard = send_on(line, packet)?;
            self.published.unheard += u64::from(!is_heard);
        }
        Ok(())
    }
}

/// Waits while the channel has no room, and does not while nobody listens: then it says false.
fn send_on(line: &mut Publication, packet: &[u8]) -> Result<bool, Failure> {
    loop {
        let now = monotonic();
        let offered = line.offer(now, packet);
        line.work(now);
        match offered {
            Ok(_) => return Ok(true),
            Err(OfferError::NotConnected) => return Ok(false),
            Err(OfferError::BackPressured) if stop_requests() == 0 => yield_cpu(),
            Err(OfferError::BackPressured) => return Ok(true),
            Err(error) => return Err(Failure::run("the channel", error)),
        }
    }
}
