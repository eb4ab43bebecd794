//! Binance's streams as a handler: depth updates joined to a snapshot that is asked for.

use core::fmt;

use taut_book::{Level, LevelBook};
use taut_types::{Instrument, InstrumentError, InstrumentId, Nanos, SequenceNumber, Symbol};

use super::ahead::Ahead;
use super::book::{Applied, DepthBook, DepthCounters, DepthVisitor};
use super::json::{BinanceJson, FrameKind, JsonFrame};
use super::stream::{read, tell};
use super::stream_codec::Message;
use super::sync::DepthSync;
use crate::event::{
    Batch, BestPrices, Context, Event, EventKind, InstrumentKey, LevelUpdate, MarketSink, Origin,
    SequenceRange, Soundness, Staleness,
};
use crate::handler::{FeedCounters, FeedHandler, FeedRequest, LineCount, Source};
use crate::instruments::Instruments;

/// How a stream's messages are written. Snapshots are always JSON, and so is what a stream says
/// beside its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The JSON streams.
    Json,
    /// The SBE streams of spot.
    Sbe,
}

/// How Binance's streams are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinanceConfig {
    /// The instrument whose book is kept. Its lot is a power of ten: sizes are counted in it.
    pub instrument: Instrument,
    /// How the stream is written.
    pub encoding: Encoding,
    /// Price levels of a side that fit.
    pub level_capacity: usize,
    /// Updates that are kept until a snapshot comes.
    pub updates_kept_max: usize,
    /// A stream that brings nothing for so long is silent, and its book stale.
    pub silence: Nanos,
    /// When the stream of a book brings no update for so long while other streams of the connection
    /// bring something, the venue may have lost the subscription: the book is stale, its stream is
    /// subscribed to anew, and a snapshot asked for. [`BinanceFeeds`](super::BinanceFeeds) alone
    /// knows of others. Without it a quiet stream is a quiet market.
    pub channel_silence: Option<Nanos>,
    /// The time between two requests for a snapshot: each costs weight at the venue.
    pub snapshot_interval: Nanos,
    /// Levels a side that a snapshot is asked for; without it their own number says whether a side
    /// is cut ([`DepthBook::with_snapshot_limit`]).
    pub snapshot_limit: Option<usize>,
}

impl BinanceConfig {
    /// The usual: JSON, books of 65,536 levels a side, ten seconds of silence, a request a second.
    #[must_use]
    pub const fn new(instrument: Instrument) -> Self {
        Self {
            instrument,
            encoding: Encoding::Json,
            level_capacity: 1 << 16,
            updates_kept_max: 1 << 12,
            silence: Nanos::from_secs(10),
            channel_silence: None,
            snapshot_interval: Nanos::from_secs(1),
            snapshot_limit: None,
        }
    }
}

/// A book of one instrument that follows Binance's streams.
///
/// [`Source::LINE_A`] brings the messages of a stream, and [`Source::LINE_B`] those of a second
/// connection to it, if there is one: whichever brings an update first is taken.
/// [`Source::SNAPSHOT`] brings the answers to [`FeedRequest::Snapshot`]: the depth snapshot of REST
/// or of the WebSocket API. [`Source::FIGURES`] brings the marks of futures, where they come apart.
///
/// While the book is sound, what is told of it may run ahead of it: a bookTicker stream (in SBE
/// bestBidAsk), where there is one, says the top of an update before the depth stream says its
/// levels. Each top is told once, in the order of its update's number, whichever stream says it
/// first; one that is older than the book, or than the top that was told last, is not told, nor is
/// one that crosses. Partial depth, where there is any, is told as it comes
/// ([`Batch::BestLevels`]), unless it is older than the book, or than the one before it; the book
/// takes no level of it.
///
/// An update that is newer by its time and older by its number says that the venue's numbers began
/// again: the book is stale until a snapshot.
#[derive(Debug)]
pub struct BinanceFeed {
    decoder: BinanceJson,
    depth: DepthBook,
    instruments: Instruments,
    config: BinanceConfig,
    /// As they were told last.
    top: BestPrices,
    soundness: Soundness,
    /// Where the streams beside the book's are.
    ahead: Ahead,
    staleness: Staleness,
    heard: Nanos,
    /// When an update of the book came, or its stream was given up.
    book_heard: Nanos,
    /// Its stream is to be subscribed to anew.
    wants_channel: bool,
    /// When the venue made the last update that changed the book.
    updated: Nanos,
    is_silent: bool,
    /// When a snapshot was asked for; nothing when the next one may be asked for at once.
    asked: Option<Nanos>,
    wants_snapshot: bool,
    /// The request left after the last message: the interval counts from the next one.
    has_just_asked: bool,
    /// The lines that have brought something since they were connected.
    are_live: [bool; 2],
    lines: [LineCount; 2],
    silences: u64,
    channels_silent: u64,
    requests: u64,
    malformed: u64,
    crossed: u64,
    restarts: u64,
    /// See [`FeedHandler::set_rehearsing`].
    rehearses: bool,
}

/// A message that was checked.
pub struct BinanceFrame<'f> {
    received: Nanos,
    source: Source,
    body: Body<'f>,
}

impl fmt::Debug for BinanceFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { received, source, .. } = self;
        f.debug_struct("BinanceFrame")
            .field("received", received)
            .field("source", source)
            .finish_non_exhaustive()
    }
}

enum Body<'f> {
    Json(JsonFrame<'f>),
    Sbe(Message<'f>),
}

impl<'f> BinanceFrame<'f> {
    /// A message of the SBE streams that was read.
    #[inline]
    pub(super) const fn sbe(received: Nanos, source: Source, message: Message<'f>) -> Self {
        Self { received, source, body: Body::Sbe(message) }
    }
}

/// Whether a frame of the SBE streams is what they say in JSON: answers, the announced end. No
/// message of theirs begins so, whose first two bytes are the length of its block.
#[inline]
pub(super) fn is_text(frame: &[u8]) -> bool {
    frame.starts_with(b"{\"")
}

impl BinanceFeed {
    /// A handler that has heard nothing. Allocates all its memory.
    ///
    /// # Errors
    /// [`InstrumentError::BadIncrement`] when the instrument's lot is no power of ten.
    pub fn new(config: &BinanceConfig, now: Nanos) -> Result<Self, InstrumentError> {
        Self::named(config.instrument.symbol().as_str(), config, now)
    }

    /// The same, of a symbol that the venue knows by this name.
    pub(super) fn named(
        name: &str,
        config: &BinanceConfig,
        now: Nanos,
    ) -> Result<Self, InstrumentError> {
        let instrument = config.instrument;
        if instrument.lot().mantissa != 1 {
            return Err(InstrumentError::BadIncrement);
        }
        let symbol = Symbol::new(name.as_bytes()).ok_or(InstrumentError::OutOfRange)?;
        let instruments = Instruments::new(&[(symbol, instrument.id())]);
        let levels_max = config.level_capacity.saturating_mul(2).min(BinanceJson::LEVELS_MAX);
        Ok(Self {
            decoder: BinanceJson::new(levels_max, instrument.lot().decimals)
                .with_instruments(instruments.clone()),
            depth: DepthBook::new(config.level_capacity, config.updates_kept_max)
                .with_snapshot_limit(config.snapshot_limit),
            instruments,
            config: *config,
            top: BestPrices::default(),
            soundness: Soundness::Stale(Staleness::Joining),
            ahead: Ahead::default(),
            staleness: Staleness::Joining,
            heard: now,
            book_heard: now,
            wants_channel: false,
            updated: Nanos::ZERO,
            is_silent: false,
            asked: None,
            wants_snapshot: false,
            has_just_asked: false,
            are_live: [false; 2],
            lines: [LineCount::default(); 2],
            silences: 0,
            channels_silent: 0,
            requests: 0,
            malformed: 0,
            crossed: 0,
            restarts: 0,
            rehearses: false,
        })
    }

    /// The book by Binance's rules, to look at.
    #[must_use]
    pub const fn depth(&self) -> &DepthBook {
        &self.depth
    }

    /// How often the book was made stale because the best bid was not below the best offer.
    #[must_use]
    pub const fn crossed(&self) -> u64 {
        self.crossed
    }

    /// How often the venue's numbers began again.
    #[must_use]
    pub const fn restarts(&self) -> u64 {
        self.restarts
    }

    const fn current_soundness(&self) -> Soundness {
        match (self.depth.is_stale(), self.depth.is_beyond_snapshot()) {
            (false, _) => Soundness::Sound,
            (true, true) => Soundness::Stale(Staleness::BeyondSnapshot),
            (true, false) => Soundness::Stale(self.staleness),
        }
    }

    /// The top of the book, without a side whose best price is unknown.
    fn known_top(&self) -> BestPrices {
        let top = self.depth.known_top();
        let quote = |level: Option<Level>| level.map(|level| (level.price, level.lots));
        BestPrices { bid: quote(top.bid), ask: quote(top.ask) }
    }

    /// Makes a message one that changes nothing; where the book stood before, and when its last
    /// update was made. Nothing of what is no update of levels.
    #[cold]
    fn stand_in(&mut self, body: &mut Body<'_>) -> Option<((DepthSync, DepthCounters), Nanos)> {
        let (Body::Json(frame), Some(last)) = (body, self.depth.last_id()) else { return None };
        self.decoder.stand_in(frame, last, self.depth.book())?;
        Some((self.depth.mark(), self.updated))
    }

    /// Updates may be missing: a snapshot has to join those that come from here on.
    fn fall_silent(&mut self) {
        self.depth.disconnected();
        self.staleness = Staleness::Silent;
        self.is_silent = true;
        self.asked = None;
        (self.wants_snapshot, self.has_just_asked) = (false, false);
    }

    /// The line that it comes by has brought nothing of any book for too long.
    pub(super) fn line_is_silent(&mut self) {
        if !self.is_silent {
            self.silences += 1;
            self.fall_silent();
        }
    }

    /// When its stream has been quiet for too long, if that is looked for and something came of
    /// others since.
    pub(super) fn quiet_at(&self, others: Nanos) -> Option<Nanos> {
        let is_alone = others > self.book_heard && self.are_live.contains(&true);
        let longest = self.config.channel_silence.filter(|_| is_alone)?;
        Some(Nanos(self.book_heard.0.saturating_add(longest.0)))
    }

    /// Gives its stream up if it was quiet for too long. The snapshot is asked for at once: in a
    /// quiet market no update comes that it could wait for.
    pub(super) fn notice_quiet_channel(&mut self, now: Nanos, others: Nanos) {
        if self.quiet_at(others).is_some_and(|at| now >= at) {
            self.book_heard = now;
            self.channels_silent += 1;
            self.fall_silent();
            (self.wants_channel, self.wants_snapshot, self.asked) = (true, true, Some(now));
        }
    }

    /// This line is there, though it may have had nothing for this book.
    pub(super) fn set_live(&mut self, line: Source) {
        if let Some(is_live) = self.are_live.get_mut(usize::from(line.0)) {
            *is_live = true;
        }
    }

    /// The best bid is not below the best offer: a snapshot has to join what comes from here on.
    #[cold]
    fn give_up_crossed(&mut self) {
        self.depth.disconnected();
        self.staleness = Staleness::Gap;
        self.crossed += 1;
    }

    /// A snapshot helps once updates come that it can be joined to.
    fn ask_if_due(&mut self, now: Nanos) {
        if core::mem::replace(&mut self.has_just_asked, false) {
            self.asked = Some(now);
        }
        let interval = self.config.snapshot_interval;
        if self.depth.is_stale() && self.asked.is_none_or(|asked| now.since(asked) >= interval) {
            self.asked = Some(now);
            self.wants_snapshot = true;
        }
    }

    fn note_line(&mut self, received: Nanos, source: Source, has_changed: bool) {
        self.set_live(source);
        if let Some(line) = self.lines.get_mut(usize::from(source.0)) {
            (self.heard, self.is_silent) = (received, false);
            line.packets += 1;
            line.first += u64::from(has_changed);
        }
    }
}

/// Whether the best bid is not below the best offer.
#[inline]
fn is_crossed(top: &BestPrices) -> bool {
    top.bid.zip(top.ask).is_some_and(|((bid, _), (ask, _))| bid >= ask)
}

/// Hands on what the book took, of the instrument that it is about.
struct Telling<'s, S> {
    sink: &'s mut S,
    context: &'s Context<'s>,
    event: &'s Event,
    is_told: bool,
    has_changed: bool,
}

impl<S: MarketSink> DepthVisitor for Telling<'_, S> {
    #[inline]
    fn applied(&mut self, _update: &Applied) {
        self.has_changed = true;
    }

    #[inline]
    fn level(&mut self, level: &LevelUpdate) {
        if self.is_told {
            let event = Event { kind: EventKind::Level(*level), ..*self.event };
            self.sink.on_event(self.context, &event);
        }
    }
}

impl FeedHandler for BinanceFeed {
    type Frame<'f> = BinanceFrame<'f>;

    #[inline]
    fn decode<'f>(
        &mut self,
        received: Nanos,
        source: Source,
        bytes: &'f [u8],
    ) -> Option<BinanceFrame<'f>> {
        let is_json = source == Source::SNAPSHOT || self.config.encoding == Encoding::Json;
        if !is_json && is_text(bytes) {
            return None;
        }
        let body = if is_json {
            self.decoder.read(bytes).map(|frame| Some(Body::Json(frame)))
        } else {
            read(bytes).map(|message| message.map(Body::Sbe))
        };
        match body {
            Ok(body) => body.map(|body| BinanceFrame { received, source, body }),
            Err(_) => {
                self.malformed += 1;
                None
            }
        }
    }

    #[inline]
    fn apply(&mut self, frame: BinanceFrame<'_>, sink: &mut impl MarketSink) {
        let BinanceFrame { received, source, mut body } = frame;
        let before = match self.rehearses.then(|| self.stand_in(&mut body)) {
            Some(None) => return,
            stands_in => stands_in.flatten(),
        };
        let ours = self.config.instrument.id();
        let is_told = self.soundness == Soundness::Sound;
        let Self { decoder, depth, instruments, updated, top, ahead, .. } = self;
        let mut has_begun_again = false;
        let gaps = depth.counters().gaps;
        let mut has_changed = false;
        let mut last = None;
        let mut take = |context: &Context<'_>, event: &Event| {
            // A snapshot does not name its symbol.
            let is_unnamed = context.instrument == InstrumentKey::Symbol(b"");
            if event.instrument != ours && !is_unnamed {
                return;
            }
            // Copied where it must be: it is large, and comes once a level.
            let renamed;
            let event = match is_unnamed {
                false => event,
                true => {
                    renamed = Event { instrument: ours, ..*event };
                    &renamed
                }
            };
            let number = context.sequence.last;
            let is_passed_on = is_told
                && match event.kind {
                    EventKind::Trade(_) | EventKind::Status(_) | EventKind::Statistic(_) => true,
                    EventKind::Top(new) => {
                        let is_next = ahead.takes_top(number, depth.last_id());
                        is_next && !is_crossed(&new) && core::mem::replace(top, new) != new
                    }
                    EventKind::Begin(Batch::BestLevels) => {
                        ahead.begins_levels(number, depth.last_id())
                    }
                    EventKind::Level(_) => ahead.is_in_levels(),
                    EventKind::End { .. } => ahead.ends_levels(),
                    _ => false,
                };
            if is_passed_on {
                sink.on_event(context, event);
            }
            // A copy, and what was overtaken, were made before what the book has.
            if event.kind == EventKind::Begin(Batch::Update)
                && event.exchange_time > *updated
                && *updated > Nanos::ZERO
                && depth.last_id().is_some_and(|last| context.sequence.last < last)
            {
                has_begun_again = true;
                *updated = Nanos::ZERO;
                depth.disconnected();
            }
            let mut telling =
                Telling { sink: &mut *sink, context, event, is_told, has_changed: false };
            depth.take(context, event, &mut telling);
            if telling.has_changed {
                has_changed = true;
                *updated = event.exchange_time.max(*updated);
            }
            last = Some((context.sequence, event.exchange_time));
        };
        let told = match &body {
            Body::Json(frame) => decoder.tell(received, frame, &mut take),
            Body::Sbe(message) => tell(
                received,
                message,
                self.config.instrument.lot().decimals,
                instruments,
                &mut take,
            ),
        };
        if let Some((mark, time)) = before {
            self.depth.back_to(mark);
            self.updated = time;
            return;
        }
        let kind = told.unwrap_or_else(|_| {
            self.malformed += 1;
            FrameKind::Other
        });
        if source == Source::FIGURES {
            return;
        }
        if kind == FrameKind::Depth {
            self.book_heard = received;
        }
        self.note_line(received, source, has_changed);
        self.restarts += u64::from(has_begun_again);
        if self.depth.counters().gaps > gaps || has_begun_again {
            self.staleness = Staleness::Gap;
        } else if self.depth.counters().levels_refused > 0
            && self.depth.is_stale()
            && !self.depth.is_beyond_snapshot()
        {
            self.staleness = Staleness::BookFull;
        }
        // What is beside the book moves nothing of it, and joins no snapshot.
        if matches!(kind, FrameKind::BookTicker | FrameKind::BestLevels) {
            return;
        }
        if let Some((sequence, exchange_time)) = last {
            let top = BestPrices::of(self.depth.book());
            if is_told && !self.depth.is_stale() && top != self.top {
                if is_crossed(&top) {
                    self.give_up_crossed();
                } else if self.ahead.is_reached(self.depth.last_id()) {
                    self.top = top;
                    let origin = self.origin(received, exchange_time, sequence);
                    origin.hand(EventKind::Top(top), sink);
                }
            }
            self.ask_if_due(received);
        }
    }

    fn set_rehearsing(&mut self, is_rehearsal: bool) -> bool {
        self.rehearses = is_rehearsal && self.is_settled();
        self.rehearses
    }

    #[inline]
    fn is_settled(&self) -> bool {
        self.soundness == Soundness::Sound && !self.depth.is_stale()
    }

    #[inline]
    fn is_whole(&self) -> bool {
        self.is_settled()
    }

    #[cold]
    fn recover(&mut self, now: Nanos, sink: &mut impl MarketSink) {
        if !self.depth.is_stale() && is_crossed(&BestPrices::of(self.depth.book())) {
            self.give_up_crossed();
        }
        let current = self.current_soundness();
        if (current == Soundness::Sound) != (self.soundness == Soundness::Sound) {
            (self.top, self.ahead) = (self.known_top(), Ahead::default());
            let sequence = SequenceRange::one(self.depth.last_id().unwrap_or_default());
            let origin = self.origin(now, Nanos::ZERO, sequence);
            origin.hand(EventKind::Book(current), sink);
            origin.hand(EventKind::Top(self.top), sink);
        }
        self.soundness = current;
    }

    fn handle_timeout(&mut self, now: Nanos) {
        if now.since(self.heard) >= self.config.silence {
            self.line_is_silent();
        }
    }

    /// What one line would have brought, another one that is there brings: the numbers of the
    /// updates show what is missing all the same.
    fn handle_disconnect(&mut self, _now: Nanos, source: Source) {
        let Some(is_live) = self.are_live.get_mut(usize::from(source.0)) else {
            // Who answers is gone; an answer that did not come is asked for again.
            if source == Source::SNAPSHOT {
                self.asked = None;
            }
            return;
        };
        *is_live = false;
        if !self.are_live.contains(&true) {
            self.fall_silent();
        }
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        (!self.is_silent).then_some(self.heard + self.config.silence)
    }

    fn poll_request(&mut self) -> Option<FeedRequest> {
        if core::mem::replace(&mut self.wants_channel, false) {
            return Some(FeedRequest::Channel(self.config.instrument.id()));
        }
        let wants = core::mem::replace(&mut self.wants_snapshot, false);
        self.requests += u64::from(wants);
        self.has_just_asked |= wants;
        wants.then_some(FeedRequest::Snapshot(self.config.instrument.id()))
    }

    #[inline]
    fn soundness(&self, instrument: InstrumentId) -> Soundness {
        if instrument == self.config.instrument.id() {
            self.soundness
        } else {
            Soundness::Stale(Staleness::Joining)
        }
    }

    #[inline]
    fn best(&self, instrument: InstrumentId) -> BestPrices {
        if instrument == self.config.instrument.id() { self.top } else { BestPrices::default() }
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        (instrument == self.config.instrument.id()).then(|| self.depth.book())
    }

    fn lost(&self, last: SequenceNumber) -> u64 {
        last.0.saturating_sub(self.depth.last_id().unwrap_or_default())
    }

    fn counters(&self) -> FeedCounters {
        let depth = self.depth.counters();
        FeedCounters {
            applied: depth.applied,
            recovered: depth.outdated,
            highest_seen: self.depth.last_id().unwrap_or_default(),
            gaps: depth.gaps,
            snapshots: depth.snapshots,
            lines: self.lines,
            silences: self.silences,
            channels_silent: self.channels_silent,
            requests: self.requests,
            malformed: self.malformed,
            crossed: self.crossed,
            levels_refused: depth.levels_refused,
            ..FeedCounters::default()
        }
    }

    fn events_max(&self) -> usize {
        // Every level of a frame, and the top; whether the book can be trusted, and its top.
        BinanceJson::LEVELS_MAX + 3
    }
}

impl BinanceFeed {
    fn origin(&self, now: Nanos, exchange_time: Nanos, sequence: SequenceRange) -> Origin<'static> {
        let instrument = self.config.instrument;
        let context = Context {
            instrument: InstrumentKey::Id(instrument.id().0),
            sequence,
            lot_decimals: instrument.lot().decimals,
        };
        Origin { context, instrument: instrument.id(), exchange_time, receive_time: now }
    }
}

#[cfg(test)]
mod tests;
