//! The feed as a handler: two lines, retransmission, snapshots, and the book that they make.

use taut_book::{BookError, LevelBook};
use taut_types::{Instrument, InstrumentId, Nanos, SequenceNumber};

use crate::event::{
    BestPrices, Context, EventKind, InstrumentKey, LevelPlace, LevelUpdate, MarketSink, Origin,
    SequenceRange, Soundness, Staleness,
};
use crate::feed::{
    Arbiter, ArbiterConfig, FeedConfig, Line, Recovery, Replay, SnapshotHead, Verdict,
};
use crate::handler::{FeedCounters, FeedHandler, FeedRequest, LineCount, Source};
use crate::native::message::Message;
use crate::native::packet::{PACKET_BYTES_MAX, PacketFlags};
use crate::native::places::Places;
use crate::native::reader::PacketReader;

/// The most events of a packet: what it holds of the smallest, and the top.
const EVENTS_MAX: usize = 64;
/// A gap that both lines have is asked for after this: what is late comes until then.
const GAP_TIMEOUT: Nanos = Nanos::from_micros(500);
/// Packets that are asked for again, and for how long: 2, 4, 8 and 16 ms, then a snapshot comes.
const RETRANSMISSION: Recovery =
    Recovery::Retransmission { interval: Nanos::from_millis(2), attempts_max: 4, packets_max: 64 };
/// Both lines bring a heartbeat at least so often, or the book is stale.
const SILENCE: Nanos = Nanos::from_secs(2);

/// How taut's own feed is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeConfig {
    /// The instrument whose book is kept.
    pub instrument: Instrument,
    /// The stream to follow; packets of others on the same group are not taken. When nothing is
    /// said, the first one heard is.
    pub stream_id: Option<u32>,
    /// Price levels of a side that fit.
    pub level_capacity: usize,
    /// Whether there is somebody to ask for packets.
    pub has_retransmission: bool,
}

/// A book of one instrument that follows the feed.
#[derive(Debug)]
pub struct NativeFeed {
    arbiter: Arbiter,
    places: Places,
    book: LevelBook,
    instrument: InstrumentId,
    lot_decimals: u8,
    /// As they were told last.
    top: BestPrices,
    soundness: Soundness,
    /// The feed has more levels than there is room for.
    is_full: bool,
    malformed: u64,
}

/// A packet whose turn it is.
#[derive(Clone, Copy, Debug)]
pub struct NativeFrame<'f> {
    packet: PacketReader<'f>,
    received: Nanos,
}

impl NativeFeed {
    /// A handler that has heard nothing. Allocates all its memory.
    #[must_use]
    pub fn new(config: &NativeConfig, now: Nanos) -> Self {
        let recovery = if config.has_retransmission { RETRANSMISSION } else { Recovery::Snapshot };
        let arbitration = ArbiterConfig {
            feed: FeedConfig { stream_id: config.stream_id, ..FeedConfig::default() },
            silence: SILENCE,
            gap_timeout: GAP_TIMEOUT,
            recovery,
            ..ArbiterConfig::default()
        };
        Self {
            arbiter: Arbiter::new(arbitration, now),
            places: Places::default(),
            book: LevelBook::with_capacity(config.level_capacity),
            instrument: config.instrument.id(),
            lot_decimals: config.instrument.lot().decimals,
            top: BestPrices::default(),
            soundness: Soundness::Stale(Staleness::Joining),
            is_full: false,
            malformed: 0,
        }
    }

    /// The arbiter, to look at.
    #[must_use]
    pub const fn arbiter(&self) -> &Arbiter {
        &self.arbiter
    }

    #[inline]
    const fn current_soundness(&self) -> Soundness {
        if self.is_full { Soundness::Stale(Staleness::BookFull) } else { self.arbiter.soundness() }
    }

    /// What was taken is not what was sent, or does not fit: a snapshot has to come.
    #[cold]
    fn invalidate(&mut self, now: Nanos, error: Option<BookError>) {
        match error {
            Some(BookError::Limit(_)) => self.is_full = true,
            _ => self.malformed += 1,
        }
        self.arbiter.invalidate(now);
    }

    /// Takes a datagram of the snapshot channel.
    #[cold]
    fn take_snapshot(&mut self, now: Nanos, datagram: &[u8]) {
        let Some(packet) = read(datagram) else {
            self.malformed += 1;
            return;
        };
        let stream = packet.header().stream_id;
        for message in packet.messages() {
            match message {
                Ok(Message::SnapshotBegin(begin)) if begin.instrument == self.instrument => {
                    let head = SnapshotHead {
                        id: begin.snapshot_id,
                        last_sequence: begin.last_sequence,
                        units: begin.level_count.into(),
                    };
                    self.arbiter.handle_snapshot_begin(now, stream, head, datagram);
                }
                Ok(Message::SnapshotLevels(part)) if part.part.instrument == self.instrument => {
                    let (id, index) = (part.part.snapshot_id, part.part.packet_index);
                    let units = part.levels.len() as u64;
                    self.arbiter.handle_snapshot_part(now, stream, id, index, units, datagram);
                }
                Ok(_) => {}
                Err(_) => {
                    self.malformed += 1;
                    break;
                }
            }
        }
    }

    fn origin(
        &self,
        now: Nanos,
        exchange_time: Nanos,
        sequence: SequenceNumber,
    ) -> Origin<'static> {
        let context = Context {
            instrument: InstrumentKey::Id(self.instrument.0),
            sequence: SequenceRange::one(sequence.0),
            lot_decimals: self.lot_decimals,
        };
        Origin { context, instrument: self.instrument, exchange_time, receive_time: now }
    }
}

impl FeedHandler for NativeFeed {
    type Frame<'f> = NativeFrame<'f>;

    #[inline]
    fn decode<'f>(
        &mut self,
        received: Nanos,
        source: Source,
        bytes: &'f [u8],
    ) -> Option<NativeFrame<'f>> {
        let line = match source {
            Source::LINE_A => Line::A,
            Source::LINE_B => Line::B,
            Source::RETRANSMISSION => Line::Retransmission,
            _ => {
                self.take_snapshot(received, bytes);
                return None;
            }
        };
        let Some(packet) = read(bytes) else {
            self.malformed += 1;
            return None;
        };
        let header = packet.header();
        let (stream, sequence) = (header.stream_id, header.sequence);
        if header.flags.contains(PacketFlags::HEARTBEAT) {
            self.arbiter.handle_heartbeat(received, line, stream, sequence);
            return None;
        }
        let verdict = self.arbiter.handle_packet(received, line, stream, sequence, bytes);
        if verdict != Verdict::Apply {
            return None;
        }
        if self.places.check(&packet).is_err() {
            self.invalidate(received, None);
            return None;
        }
        Some(NativeFrame { packet, received })
    }

    #[inline]
    fn apply(&mut self, frame: NativeFrame<'_>, sink: &mut impl MarketSink) {
        let NativeFrame { packet, received } = frame;
        let header = packet.header();
        let origin = self.origin(received, header.sending_time, header.sequence);
        let is_told = self.soundness == Soundness::Sound;
        let (book, ours) = (&mut self.book, self.instrument);
        let mut failed = None;
        self.places.visit(&packet, |instrument, kind| {
            if instrument != ours {
                return true;
            }
            match kind {
                EventKind::Level(level) => match apply_level(book, level) {
                    Ok(level) if is_told => origin.hand(EventKind::Level(level), sink),
                    Ok(_) => {}
                    Err(error) => {
                        failed = Some(error);
                        return false;
                    }
                },
                EventKind::Trade(trade) if is_told => origin.hand(EventKind::Trade(trade), sink),
                _ => {}
            }
            true
        });
        if failed.is_some() {
            self.invalidate(received, failed);
            return;
        }
        if header.flags.contains(PacketFlags::LAST) {
            let top = BestPrices::of(&self.book);
            if top != self.top && is_told {
                self.top = top;
                origin.hand(EventKind::Top(top), sink);
            }
        }
    }

    #[inline]
    fn is_settled(&self) -> bool {
        self.soundness == Soundness::Sound && self.current_soundness() == Soundness::Sound
    }

    #[cold]
    fn recover(&mut self, now: Nanos, sink: &mut impl MarketSink) {
        let mut failed = None;
        while let Some(replay) = self.arbiter.poll_replay() {
            let taken = match replay {
                Replay::Reset { .. } => {
                    self.book.clear();
                    // What does not fit is found again.
                    self.is_full = false;
                    Ok(())
                }
                Replay::SnapshotPart(bytes) => load_part(&mut self.book, self.instrument, bytes),
                Replay::Packet { bytes, .. } => {
                    apply_kept(&mut self.book, &mut self.places, self.instrument, bytes)
                }
            };
            failed = failed.or(taken.err());
        }
        if let Some(error) = failed {
            self.invalidate(now, error);
        }
        let current = self.current_soundness();
        if (current == Soundness::Sound) != (self.soundness == Soundness::Sound) {
            self.top = BestPrices::of(&self.book);
            let origin = self.origin(now, Nanos::ZERO, self.arbiter.sequencer().last());
            origin.hand(EventKind::Book(current), sink);
            origin.hand(EventKind::Top(self.top), sink);
        }
        self.soundness = current;
    }

    fn handle_timeout(&mut self, now: Nanos) {
        self.arbiter.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        self.arbiter.poll_timeout()
    }

    fn poll_request(&mut self) -> Option<FeedRequest> {
        self.arbiter.poll_request().map(FeedRequest::Packets)
    }

    #[inline]
    fn soundness(&self, instrument: InstrumentId) -> Soundness {
        if instrument == self.instrument {
            self.soundness
        } else {
            Soundness::Stale(Staleness::Joining)
        }
    }

    #[inline]
    fn best(&self, instrument: InstrumentId) -> BestPrices {
        if instrument == self.instrument { self.top } else { BestPrices::default() }
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        (instrument == self.instrument).then_some(&self.book)
    }

    fn lost(&self, last: SequenceNumber) -> u64 {
        self.arbiter.sequencer().lost(last)
    }

    fn counters(&self) -> FeedCounters {
        let feed = self.arbiter.sequencer().counters();
        let [a, b, again] =
            [Line::A, Line::B, Line::Retransmission].map(|line| self.arbiter.line(line));
        FeedCounters {
            applied: feed.applied,
            recovered: feed.recovered,
            highest_seen: feed.highest_seen,
            gaps: feed.gaps,
            snapshots: feed.snapshots_used,
            lines: [a, b].map(|line| LineCount { packets: line.packets, first: line.first }),
            retransmitted: again.first,
            silences: a.silences + b.silences,
            requests: self.arbiter.restarts_and_requests().1,
            malformed: self.malformed,
        }
    }

    fn events_max(&self) -> usize {
        EVENTS_MAX
    }
}

/// The packet in a datagram; one that is longer than any of the feed is none.
#[inline]
fn read(datagram: &[u8]) -> Option<PacketReader<'_>> {
    let packet = PacketReader::new(datagram).ok()?;
    (datagram.len() <= PACKET_BYTES_MAX).then_some(packet)
}

/// Sets a level, and says where it stands.
#[inline]
fn apply_level(book: &mut LevelBook, level: LevelUpdate) -> Result<LevelUpdate, BookError> {
    let LevelUpdate { side, price, lots, order_count, .. } = level;
    let change = book.apply(side, price, lots, order_count)?;
    let place = LevelPlace::Behind(u32::try_from(change.depth).unwrap_or(u32::MAX));
    Ok(LevelUpdate { place, ..level })
}

/// Applies a packet that was kept; when it cannot be, what the book said to it.
fn apply_kept(
    book: &mut LevelBook,
    places: &mut Places,
    ours: InstrumentId,
    bytes: &[u8],
) -> Result<(), Option<BookError>> {
    let packet = PacketReader::new(bytes).map_err(|_| None)?;
    places.check(&packet).map_err(|_| None)?;
    let mut applied = Ok(());
    places.visit(&packet, |instrument, kind| {
        if let EventKind::Level(level) = kind
            && instrument == ours
        {
            applied = apply_level(book, level).map(|_| ()).map_err(Some);
        }
        applied.is_ok()
    });
    applied
}

/// Loads the levels of one packet of a snapshot.
fn load_part(
    book: &mut LevelBook,
    instrument: InstrumentId,
    bytes: &[u8],
) -> Result<(), Option<BookError>> {
    let packet = PacketReader::new(bytes).map_err(|_| None)?;
    for message in packet.messages() {
        let Message::SnapshotLevels(part) = message.map_err(|_| None)? else { continue };
        if part.part.instrument != instrument {
            continue;
        }
        for level in part.levels.iter() {
            apply_level(book, level).map_err(Some)?;
        }
    }
    Ok(())
}
