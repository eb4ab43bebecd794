//! A recording's events as taut's own market data: packets of SBE messages on a channel, or the
//! same packets on two: the lines A and B of a feed.
//!
//! Updates and trades are numbered packets, the last one of a message marked as such. Every second
//! of the recording a snapshot of the whole book is a run of packets of its own numbers, so that a
//! subscriber can join late: what it needs stands in `taut_market_data::feed`.

use taut_book::LevelBook;
use taut_channel::{ChannelUri, Closing, OfferError, Opening, Publication};
use taut_market_data::native::{
    InstrumentDefinition, LEVELS_PER_PACKET_MAX, Levels, Message, PACKET_BYTES_MAX, PacketFlags,
    PacketHeader, PacketWriter, SbeError, SnapshotBegin, SnapshotEnd, SnapshotLevels, SnapshotPart,
};
use taut_market_data::{Context, Event, EventKind, InstrumentKey, LevelPlace, LevelUpdate};
use taut_sys::{monotonic, stop_requests, utc, yield_cpu};
use taut_types::{InstrumentId, Nanos, Price, SequenceNumber, Side, Symbol};

use crate::exit::Failure;

/// A snapshot is sent this often, by the recording's time.
const SNAPSHOT_EVERY: Nanos = Nanos::from_secs(1);
/// How long a subscriber may take what is left when the replay is over.
const LINGER: Nanos = Nanos::from_secs(5);
const INSTRUMENT: InstrumentId = InstrumentId(1);

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
    /// Line A, and line B when there is one.
    lines: Vec<Publication>,
    writer: PacketWriter<[u8; PACKET_BYTES_MAX]>,
    stream_id: u32,
    sequence: u64,
    snapshot_id: u32,
    snapshot_packets: u64,
    next_snapshot: Option<Nanos>,
    symbol: Symbol,
    lot_decimals: u8,
    is_open: bool,
    levels: Vec<LevelUpdate>,
    published: Published,
}

impl Publisher {
    /// Opens a line on each channel, and waits for subscribers if told so.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a channel that cannot be opened, or for too many.
    pub fn open(uris: &[ChannelUri], await_subscriber: bool) -> Result<Self, Failure> {
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
        Ok(Self {
            lines,
            writer: PacketWriter::new([0; PACKET_BYTES_MAX]),
            stream_id: u32::from_le_bytes(id),
            sequence: 0,
            snapshot_id: 0,
            snapshot_packets: 0,
            next_snapshot: None,
            symbol,
            lot_decimals: 0,
            is_open: false,
            levels: Vec::new(),
            published: Published::default(),
        })
    }

    /// Publishes what an event changes.
    pub fn on_event(&mut self, context: &Context<'_>, event: &Event) -> Result<(), Failure> {
        match event.kind {
            EventKind::Level(_) => self.push(&Message::Event(INSTRUMENT, event.kind)),
            EventKind::Trade(_) => {
                self.push(&Message::Event(INSTRUMENT, event.kind))?;
                self.end_transaction()
            }
            EventKind::End { .. } => {
                self.note(context);
                self.end_transaction()
            }
            _ => Ok(()),
        }
    }

    fn note(&mut self, context: &Context<'_>) {
        self.lot_decimals = context.lot_decimals;
        if let InstrumentKey::Symbol(name) = context.instrument
            && let Some(symbol) = Symbol::new(name)
        {
            self.symbol = symbol;
        }
    }

    /// Publishes the whole book when it is time.
    pub fn snapshot_if_due(&mut self, recorded: Nanos, book: &LevelBook) -> Result<(), Failure> {
        if self.next_snapshot.is_some_and(|due| recorded < due) {
            return Ok(());
        }
        self.next_snapshot = Some(recorded + SNAPSHOT_EVERY);
        self.snapshot(book)
    }

    fn snapshot(&mut self, book: &LevelBook) -> Result<(), Failure> {
        let mut levels = std::mem::take(&mut self.levels);
        levels.clear();
        for side in Side::BOTH {
            levels.extend(book.iter(side).map(|level| LevelUpdate {
                side,
                price: level.price,
                lots: level.lots,
                order_count: level.order_count,
                place: LevelPlace::ByPrice,
            }));
        }
        self.snapshot_id = self.snapshot_id.wrapping_add(1);
        let chunks = levels.chunks(LEVELS_PER_PACKET_MAX);
        let packet_count = count(chunks.len() + 2);
        self.begin_snapshot_packet(PacketFlags::SNAPSHOT);
        let _ = self.writer.push(&Message::SnapshotBegin(SnapshotBegin {
            last_sequence: SequenceNumber(self.sequence),
            snapshot_id: self.snapshot_id,
            instrument: INSTRUMENT,
            level_count: count(levels.len()),
            order_count: 0,
            packet_count,
        }));
        let _ = self.writer.push(&Message::InstrumentDefinition(self.definition()));
        self.send()?;
        for (index, chunk) in (1..).zip(chunks) {
            self.begin_snapshot_packet(PacketFlags::SNAPSHOT);
            let part = self.part(index);
            let levels = SnapshotLevels { part, levels: Levels::new(chunk) };
            let _ = self.writer.push(&Message::SnapshotLevels(levels));
            self.send()?;
        }
        self.begin_snapshot_packet(PacketFlags::SNAPSHOT.with(PacketFlags::LAST));
        let SnapshotPart { snapshot_id, packet_index, instrument } = self.part(packet_count - 1);
        let end = SnapshotEnd { snapshot_id, packet_index, instrument };
        let _ = self.writer.push(&Message::SnapshotEnd(end));
        self.send()?;
        self.published.snapshots += 1;
        self.levels = levels;
        Ok(())
    }

    const fn part(&self, packet_index: u32) -> SnapshotPart {
        SnapshotPart { snapshot_id: self.snapshot_id, packet_index, instrument: INSTRUMENT }
    }

    fn definition(&self) -> InstrumentDefinition {
        InstrumentDefinition {
            // The finest tick that prices can have: a recording does not tell its own.
            tick: Price(1),
            lot_mantissa: 1,
            instrument: INSTRUMENT,
            lot_decimals: self.lot_decimals,
            symbol: self.symbol,
        }
    }

    fn begin_snapshot_packet(&mut self, flags: PacketFlags) {
        self.snapshot_packets += 1;
        self.begin(self.snapshot_packets, flags);
    }

    /// The buffer is as long as a packet can be, and every message fits an empty one.
    fn begin(&mut self, sequence: u64, flags: PacketFlags) {
        let _ = self.writer.begin(PacketHeader {
            sequence: SequenceNumber(sequence),
            sending_time: utc(),
            message_count: 0,
            flags,
            stream_id: self.stream_id,
        });
    }

    fn push(&mut self, message: &Message<'_>) -> Result<(), Failure> {
        if self.is_open {
            match self.writer.push(message) {
                Err(SbeError::Full) => self.send_open(PacketFlags::EMPTY)?,
                _ => return Ok(()),
            }
        }
        self.begin(self.sequence + 1, PacketFlags::EMPTY);
        self.is_open = true;
        let _ = self.writer.push(message);
        Ok(())
    }

    fn end_transaction(&mut self) -> Result<(), Failure> {
        if self.is_open { self.send_open(PacketFlags::LAST) } else { Ok(()) }
    }

    fn send_open(&mut self, flags: PacketFlags) -> Result<(), Failure> {
        self.writer.header_mut().flags = flags;
        self.is_open = false;
        self.sequence += 1;
        self.send()
    }

    /// Sends the packet on line A, then on line B.
    fn send(&mut self) -> Result<(), Failure> {
        self.published.packets += 1;
        for line in &mut self.lines {
            let is_heard = send_on(line, self.writer.finish())?;
            self.published.unheard += u64::from(!is_heard);
        }
        Ok(())
    }

    /// Lets the subscribers take what is left.
    pub fn finish(mut self) -> Published {
        let deadline = monotonic() + LINGER;
        for line in &mut self.lines {
            line.close(monotonic());
        }
        let is_closed = |line: &Publication| line.closing() == Closing::Closed;
        while !self.lines.iter().all(is_closed) && monotonic() < deadline {
            for line in &mut self.lines {
                line.work(monotonic());
            }
            yield_cpu();
        }
        self.published
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

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
