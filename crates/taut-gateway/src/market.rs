//! Market data in: datagrams to a book, with gaps healed.

use taut_book::{BookError, LevelBook};
use taut_market_data::feed::{
    Arbiter, ArbiterConfig, FeedConfig, Line, Recovery, Replay, RetransmitRequest, Sequencer,
    SnapshotHead, Soundness, Verdict,
};
use taut_market_data::native::{
    LevelSink, LevelUpdate, Message, PACKET_BYTES_MAX, PacketFlags, PacketReader, Trade,
};
use taut_oms::Reference;
use taut_sys::Clock;
use taut_types::{InstrumentId, Nanos, Side};

use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::message::{LevelEvent, MarketEvent, TickStamps, TopEvent, TradeEvent};

/// The most messages of a datagram: what 1,400 bytes hold of the smallest, and room to spare.
const MESSAGES_MAX: usize = 128;

/// What one datagram says about the book, collected before the book moves, so that decoding and
/// booking can be told apart.
#[derive(Debug)]
struct Decoded {
    instrument: InstrumentId,
    levels: Vec<LevelUpdate>,
    trades: Vec<Trade>,
}

impl LevelSink for Decoded {
    #[inline]
    fn level_update(&mut self, update: LevelUpdate) {
        if update.instrument == self.instrument && self.levels.len() < MESSAGES_MAX {
            self.levels.push(update);
        }
    }

    #[inline]
    fn trade(&mut self, trade: Trade) {
        if trade.instrument == self.instrument && self.trades.len() < MESSAGES_MAX {
            self.trades.push(trade);
        }
    }
}

/// A gap that both lines have is asked for after this: what is late comes until then.
const PATIENCE: Nanos = Nanos::from_micros(500);
/// Packets that are asked for again, and for how long: 2, 4, 8 and 16 ms, then a snapshot comes.
const RETRANSMISSION: Recovery =
    Recovery::Retransmission { interval: Nanos::from_millis(2), attempts_max: 4, packets_max: 64 };
/// Both lines bring a heartbeat at least so often, or the book is stale.
const SILENCE: Nanos = Nanos::from_secs(2);

/// The feed handler: arbitration and book.
#[derive(Debug)]
pub(crate) struct Market {
    arbiter: Arbiter,
    book: LevelBook,
    decoded: Decoded,
    events: Vec<MarketEvent>,
    top: TopEvent,
    live: bool,
    malformed: u64,
}

impl Market {
    /// A handler that has heard nothing; `asks` says whether there is somebody to ask for packets.
    pub(crate) fn new(config: &GatewayConfig, asks: bool, now: Nanos) -> Self {
        let feed = FeedConfig { stream_id: config.stream_id, ..FeedConfig::default() };
        let arbitration = ArbiterConfig {
            feed,
            silence: SILENCE,
            patience: PATIENCE,
            recovery: if asks { RETRANSMISSION } else { Recovery::Snapshot },
            ..ArbiterConfig::default()
        };
        Self {
            arbiter: Arbiter::new(arbitration, now),
            book: LevelBook::with_capacity(config.level_capacity),
            decoded: Decoded {
                instrument: config.instrument.id(),
                levels: Vec::with_capacity(MESSAGES_MAX),
                trades: Vec::with_capacity(MESSAGES_MAX),
            },
            // Levels, trades, the top, and whether the book is live.
            events: Vec::with_capacity(2 * MESSAGES_MAX + 2),
            top: TopEvent::default(),
            live: false,
            malformed: 0,
        }
    }

    /// What the last datagram changed, the top of the book first.
    pub(crate) fn events(&self) -> &[MarketEvent] {
        &self.events
    }

    /// The market that prices are checked against; nothing while the book cannot be trusted.
    #[inline]
    pub(crate) fn reference(&self) -> Reference {
        if !self.live {
            return Reference::default();
        }
        Reference {
            bid: self.top.bid.map(|(price, _)| price),
            ask: self.top.ask.map(|(price, _)| price),
        }
    }

    pub(crate) const fn sequencer(&self) -> &Sequencer {
        self.arbiter.sequencer()
    }

    pub(crate) const fn arbiter(&self) -> &Arbiter {
        &self.arbiter
    }

    pub(crate) const fn book(&self) -> &LevelBook {
        &self.book
    }

    pub(crate) const fn is_live(&self) -> bool {
        self.live
    }

    pub(crate) const fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Takes a datagram that a line of the incremental channel brought; [`Market::events`] holds
    /// what it changed. The tick began at `received`: when the call returned that received it.
    #[inline]
    pub(crate) fn handle_increment(
        &mut self,
        clock: &Clock,
        received: Nanos,
        line: Line,
        datagram: &[u8],
    ) -> Result<TickStamps, GatewayError> {
        self.events.clear();
        let Some(packet) = read(datagram) else {
            self.malformed += 1;
            return Ok(TickStamps::NONE);
        };
        let header = packet.header();
        let (stream, sequence) = (header.stream_id, header.sequence);
        let mut stamps = TickStamps::NONE;
        if header.flags.contains(PacketFlags::HEARTBEAT) {
            self.arbiter.handle_heartbeat(received, line, stream, sequence);
        } else {
            let verdict = self.arbiter.handle_packet(received, line, stream, sequence, datagram);
            if verdict == Verdict::Apply {
                let ends = self.apply_in_turn(clock, received, &packet)?;
                let end =
                    |at: u64| u32::try_from(clock.at(at).since(received).0).unwrap_or(u32::MAX);
                stamps = TickStamps { origin: received, ends: [end(ends[0]), end(ends[1]), 0] };
            }
        }
        // The other line's copy of a packet ends here, too.
        if self.live && self.is_sound() {
            return Ok(stamps);
        }
        self.replay(received)?;
        Ok(TickStamps::NONE)
    }

    #[inline]
    fn is_sound(&self) -> bool {
        self.arbiter.soundness() == Soundness::Sound
    }

    /// Notices silence and gaps that last; [`Market::events`] holds what that changes.
    pub(crate) fn handle_timeout(&mut self, now: Nanos) -> Result<(), GatewayError> {
        self.events.clear();
        self.arbiter.handle_timeout(now);
        if self.live && self.is_sound() { Ok(()) } else { self.replay(now) }
    }

    /// Packets to ask for.
    pub(crate) fn poll_request(&mut self) -> Option<RetransmitRequest> {
        self.arbiter.poll_request()
    }

    /// Decodes and books the packet whose turn it is. Returns the ticks at which each of the two
    /// was done. The top is told when the transaction is whole: between two packets of one, the
    /// book may show what never was.
    #[inline]
    fn apply_in_turn(
        &mut self,
        clock: &Clock,
        now: Nanos,
        packet: &PacketReader<'_>,
    ) -> Result<[u64; 2], GatewayError> {
        let whole = packet.header().flags.contains(PacketFlags::LAST);
        self.decoded.levels.clear();
        self.decoded.trades.clear();
        let readable = packet.visit_levels(&mut self.decoded).is_ok();
        let decoded = clock.ticks();
        // The top has the first place: it is what the strategy waits for.
        self.events.push(MarketEvent::Top(self.top));
        let sound =
            readable && book_levels(&mut self.book, &self.decoded.levels, &mut self.events)?;
        if !sound {
            self.malformed += 1;
            self.arbiter.invalidate(now);
        }
        let top = if whole { top_of(&self.book) } else { self.top };
        if top == self.top {
            self.events.remove(0);
        } else {
            self.top = top;
            if let Some(first) = self.events.first_mut() {
                *first = MarketEvent::Top(top);
            }
        }
        for trade in &self.decoded.trades {
            self.events.push(MarketEvent::Trade(TradeEvent {
                price: trade.price,
                lots: trade.lots,
                aggressor: trade.aggressor_side,
            }));
        }
        Ok([decoded, clock.ticks()])
    }

    /// Takes a datagram of the snapshot channel; [`Market::events`] holds what it changed.
    pub(crate) fn handle_snapshot(
        &mut self,
        now: Nanos,
        datagram: &[u8],
    ) -> Result<(), GatewayError> {
        self.events.clear();
        let Some(packet) = read(datagram) else {
            self.malformed += 1;
            return Ok(());
        };
        let stream = packet.header().stream_id;
        let ours = self.decoded.instrument;
        for message in packet.messages() {
            match message {
                Ok(Message::SnapshotBegin(begin)) if begin.instrument == ours => {
                    let head = SnapshotHead {
                        id: begin.snapshot_id,
                        last_sequence: begin.last_sequence,
                        units: begin.level_count.into(),
                    };
                    self.arbiter.handle_snapshot_begin(now, stream, head, datagram);
                }
                Ok(Message::SnapshotLevels(part)) if part.part.instrument == ours => {
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
        self.replay(now)
    }

    /// Brings the book up to date from what the arbiter kept, and tells when it became live or
    /// stopped to be.
    #[cold]
    fn replay(&mut self, now: Nanos) -> Result<(), GatewayError> {
        let mut sound = true;
        while let Some(replay) = self.arbiter.poll_replay() {
            match replay {
                Replay::Reset { .. } => self.book.clear(),
                Replay::SnapshotPart(bytes) => {
                    sound &= load_part(&mut self.book, self.decoded.instrument, bytes)?;
                }
                Replay::Packet { bytes, .. } => {
                    self.decoded.levels.clear();
                    self.decoded.trades.clear();
                    sound &= PacketReader::new(bytes)
                        .and_then(|packet| packet.visit_levels(&mut self.decoded))
                        .is_ok();
                    self.events.clear();
                    sound &= book_levels(&mut self.book, &self.decoded.levels, &mut self.events)?;
                }
            }
        }
        self.events.clear();
        if !sound {
            self.malformed += 1;
            self.arbiter.invalidate(now);
        }
        if self.is_sound() != self.live {
            self.live = self.is_sound();
            self.top = top_of(&self.book);
            self.events.push(MarketEvent::Live(self.live));
            self.events.push(MarketEvent::Top(self.top));
        }
        Ok(())
    }
}

/// The packet in a datagram; one that is longer than any of the feed is none.
#[inline]
fn read(datagram: &[u8]) -> Option<PacketReader<'_>> {
    let packet = PacketReader::new(datagram).ok()?;
    (datagram.len() <= PACKET_BYTES_MAX).then_some(packet)
}

/// Applies level updates and notes them as events; whether the book could take them all.
#[inline]
fn book_levels(
    book: &mut LevelBook,
    updates: &[LevelUpdate],
    events: &mut Vec<MarketEvent>,
) -> Result<bool, GatewayError> {
    for update in updates {
        let LevelUpdate { price, lots, order_count, side, .. } = *update;
        match book.apply(side, price, lots, order_count) {
            Ok(change) => {
                let depth = u32::try_from(change.depth).unwrap_or(u32::MAX);
                events.push(MarketEvent::Level(LevelEvent {
                    side,
                    price,
                    lots,
                    order_count,
                    depth,
                }));
            }
            Err(BookError::Limit(_)) => {
                return Err(GatewayError::BookFull { level_capacity: book.level_capacity() });
            }
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

/// Loads the levels of one packet of a snapshot; whether it was readable.
fn load_part(
    book: &mut LevelBook,
    instrument: InstrumentId,
    bytes: &[u8],
) -> Result<bool, GatewayError> {
    let Ok(packet) = PacketReader::new(bytes) else { return Ok(false) };
    for message in packet.messages() {
        let Ok(message) = message else { return Ok(false) };
        let Message::SnapshotLevels(part) = message else { continue };
        if part.part.instrument != instrument {
            continue;
        }
        for level in part.levels.iter() {
            match book.apply(level.side, level.price, level.lots, level.order_count) {
                Ok(_) => {}
                Err(BookError::Limit(_)) => {
                    return Err(GatewayError::BookFull { level_capacity: book.level_capacity() });
                }
                Err(_) => return Ok(false),
            }
        }
    }
    Ok(true)
}

#[inline]
fn top_of(book: &LevelBook) -> TopEvent {
    let best = |side| book.best(side).map(|level| (level.price, level.lots));
    TopEvent { bid: best(Side::Buy), ask: best(Side::Sell) }
}
