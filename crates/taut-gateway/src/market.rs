//! Market data in: frames to a book, each step of the way timed.

use taut_market_data::{
    Event, EventKind, FeedHandler, FollowError, SessionStatistics, Soundness, Source, Staleness,
    TradingStatus,
};
use taut_oms::{InstrumentStatus, Reference};
use taut_sys::Clock;
use taut_types::{Instrument, InstrumentId, Nanos};

use crate::changes::Changes;
use crate::message::TickStamps;

/// A venue's market data and what it changed last.
#[derive(Debug)]
pub(crate) struct Market<F> {
    feed: F,
    changes: Changes,
    /// Of each instrument.
    statistics: Box<[SessionStatistics]>,
    /// Whether it trades, as was told last.
    statuses: Box<[Option<TradingStatus>]>,
    /// A frame that moved a book, to rehearse; nothing before the first.
    sample: Vec<u8>,
    wants_sample: bool,
}

/// A longer frame is not kept to rehearse: it is a snapshot, or a burst.
const SAMPLE_BYTES_MAX: usize = 4_096;

impl<F: FeedHandler> Market<F> {
    /// Instruments have the numbers below `instrument_count`.
    pub(crate) fn new(feed: F, instrument_count: usize) -> Self {
        let changes = Changes::new(feed.events_max());
        let statistics = vec![SessionStatistics::default(); instrument_count].into_boxed_slice();
        let statuses = vec![None; instrument_count].into_boxed_slice();
        let sample = Vec::with_capacity(SAMPLE_BYTES_MAX);
        Self { feed, changes, statistics, statuses, sample, wants_sample: false }
    }

    /// Follows one more instrument, whose number is below the count, by the venue's number and name
    /// of it.
    pub(crate) fn follow(
        &mut self,
        instrument: &Instrument,
        number: InstrumentId,
        name: &str,
    ) -> Result<(), FollowError> {
        self.feed.follow(instrument, number, name.as_bytes())
    }

    /// Takes a frame; [`Market::events`] holds what it changed. The tick began at `received`: when
    /// the call returned that received it.
    #[inline]
    pub(crate) fn handle_frame(
        &mut self,
        clock: &Clock,
        received: Nanos,
        source: Source,
        bytes: &[u8],
    ) -> TickStamps {
        let stamps = self.take(clock, received, source, bytes);
        if self.feed.is_settled() {
            return stamps;
        }
        self.recover(received);
        TickStamps::NONE
    }

    /// Not inlined: a rehearsal runs this very code.
    #[inline(never)]
    fn take(&mut self, clock: &Clock, received: Nanos, source: Source, bytes: &[u8]) -> TickStamps {
        self.changes.clear();
        let Some(frame) = self.feed.decode(received, source, bytes) else {
            return TickStamps::NONE;
        };
        let decoded = clock.ticks();
        self.feed.apply(frame, &mut self.changes);
        let booked = clock.ticks();
        let end = |at: u64| u32::try_from(clock.at(at).since(received).0).unwrap_or(u32::MAX);
        TickStamps { origin: received, ends: [end(decoded), end(booked), 0] }
    }

    /// The next frame that moves a book is kept, to be rehearsed.
    pub(crate) const fn want_sample(&mut self) {
        self.wants_sample = true;
    }

    /// Keeps the frame that was handled last, if one is wanted and this one moved a book.
    #[inline]
    pub(crate) fn keep_sample(&mut self, source: Source, bytes: &[u8]) {
        let is_line = matches!(source, Source::LINE_A | Source::LINE_B);
        let moved = |event: &Event| matches!(event.kind, EventKind::Level(_));
        if self.wants_sample
            && is_line
            && bytes.len() <= SAMPLE_BYTES_MAX
            && self.changes.events().iter().any(moved)
        {
            self.wants_sample = false;
            self.sample.clear();
            self.sample.extend_from_slice(bytes);
        }
    }

    /// Takes the frame that was kept once more, and tells nobody: the next one finds code and
    /// memory in the caches. Nothing changes but [`Market::events`], which hold nothing then.
    pub(crate) fn rehearse(&mut self, clock: &Clock) {
        if self.sample.is_empty() || !self.feed.set_rehearsing(true) {
            return;
        }
        let sample = core::mem::take(&mut self.sample);
        let _ = self.take(clock, clock.now(), Source::LINE_A, &sample);
        self.sample = sample;
        self.feed.set_rehearsing(false);
        self.changes.clear();
    }

    /// Notices silence and gaps that last; [`Market::events`] holds what that changes.
    pub(crate) fn handle_timeout(&mut self, now: Nanos) {
        self.changes.clear();
        self.feed.handle_timeout(now);
        if !self.feed.is_settled() {
            self.recover(now);
        }
    }

    /// A connection of the feed broke; [`Market::events`] holds what that changes.
    pub(crate) fn handle_disconnect(&mut self, now: Nanos, source: Source) {
        self.changes.clear();
        self.feed.handle_disconnect(now, source);
        if !self.feed.is_settled() {
            self.recover(now);
        }
    }

    /// What the frame said itself stays, before what became of the books: a status, a trade or a
    /// level is told once.
    #[cold]
    fn recover(&mut self, now: Nanos) {
        self.changes.keep_order();
        self.feed.recover(now, &mut self.changes);
    }

    /// What the last frame changed, the top of the book first.
    #[inline]
    pub(crate) fn events(&self) -> &[Event] {
        self.changes.events()
    }

    /// Notes the trades and the figures of what [`Market::events`] holds, and tells which
    /// instruments trade, or do not any more.
    #[inline]
    pub(crate) fn note(&mut self, mut tell: impl FnMut(InstrumentId, InstrumentStatus)) {
        for event in self.changes.events() {
            match event.kind {
                EventKind::Trade(_) | EventKind::Statistic(_) => {
                    if let Some(of) = self.statistics.get_mut(event.instrument.0 as usize) {
                        of.apply(&event.kind);
                    }
                }
                EventKind::Status(status) => {
                    if let Some(of) = self.statuses.get_mut(event.instrument.0 as usize) {
                        *of = Some(status);
                    }
                    tell(event.instrument, status_of(status));
                }
                _ => {}
            }
        }
    }

    /// The market that prices are checked against; nothing while the book cannot be trusted.
    #[inline]
    pub(crate) fn reference(&self, instrument: InstrumentId) -> Reference {
        if self.feed.soundness(instrument) != Soundness::Sound {
            return Reference::default();
        }
        let best = self.feed.best(instrument);
        let [bid, ask] = [best.bid, best.ask].map(|level| level.map(|(price, _)| price));
        Reference { bid, ask, last: self.statistics(instrument).last }
    }

    /// The statistics of an instrument.
    #[inline]
    pub(crate) fn statistics(&self, instrument: InstrumentId) -> SessionStatistics {
        self.statistics.get(instrument.0 as usize).copied().unwrap_or_default()
    }

    /// Whether an instrument trades, if the feed has said so.
    pub(crate) fn status(&self, instrument: InstrumentId) -> Option<TradingStatus> {
        self.statuses.get(instrument.0 as usize).copied().flatten()
    }

    /// Whether an instrument can be traded, as far as the feed has said.
    pub(crate) fn order_status(&self, instrument: InstrumentId) -> InstrumentStatus {
        match self.status(instrument) {
            Some(status) => status_of(status),
            None if self.feed.tells_status() => InstrumentStatus::Halted,
            None => InstrumentStatus::Trading,
        }
    }

    /// Whether every book can be trusted.
    #[inline]
    pub(crate) fn is_sound(&self) -> bool {
        self.feed.is_whole()
    }

    /// Whether snapshots are to be received.
    #[inline]
    pub(crate) fn needs_snapshots(&self) -> bool {
        self.feed.needs_snapshots()
    }

    /// Whether the book of each of these was made sound, or has no room.
    pub(crate) fn has_joined(&self, instruments: &[Instrument]) -> bool {
        let full = Soundness::Stale(Staleness::BookFull);
        let soundness = |it: &Instrument| self.feed.soundness(it.id());
        instruments.iter().map(soundness).all(|it| it == Soundness::Sound || it == full)
    }

    pub(crate) const fn feed(&self) -> &F {
        &self.feed
    }

    pub(crate) const fn feed_mut(&mut self) -> &mut F {
        &mut self.feed
    }
}

/// Whether an instrument can be traded: what is not continuous trading is not.
const fn status_of(status: TradingStatus) -> InstrumentStatus {
    match status {
        TradingStatus::Trading => InstrumentStatus::Trading,
        _ => InstrumentStatus::Halted,
    }
}

#[cfg(test)]
mod tests {
    use taut_market_data::deribit::DeribitFeed;
    use taut_market_data::{ChainConfig, NamedInstrument};
    use taut_sys::TickMapping;
    use taut_types::{Price, Qty, Symbol};

    use super::*;

    const NAMES: [&str; 2] = ["BTC-PERPETUAL", "ETH-PERPETUAL"];
    const SILENT: EventKind = EventKind::Book(Soundness::Stale(Staleness::Silent));

    struct Rig {
        market: Market<DeribitFeed>,
        clock: Clock,
        now: Nanos,
    }

    impl Rig {
        /// Both books are sound.
        fn new() -> Self {
            let listed = |(id, name): (u32, &'static str)| {
                let (symbol, lot) = (Symbol::new(b"X").unwrap(), Qty { mantissa: 1, decimals: 0 });
                let instrument = Instrument::new(InstrumentId(id), symbol, Price(2), lot).unwrap();
                NamedInstrument { name: name.as_bytes(), instrument }
            };
            let instruments = [(0, NAMES[0]), (1, NAMES[1])].map(listed);
            let feed = DeribitFeed::new(&ChainConfig::new(&instruments), Nanos(1)).unwrap();
            let clock = Clock::new(TickMapping::from_words([0, 0, 1_000_000_000, 0, 0]));
            let mut rig = Self { market: Market::new(feed, 2), clock, now: Nanos(1) };
            NAMES.into_iter().for_each(|name| drop(rig.take(&book(name, None, 10))));
            assert!(rig.market.is_sound());
            rig
        }

        fn take(&mut self, frame: &str) -> Vec<EventKind> {
            let Self { market, clock, now } = self;
            *now = *now + Nanos::from_millis(1);
            let _ = market.handle_frame(clock, *now, Source::LINE_A, frame.as_bytes());
            market.events().iter().map(|event| event.kind).collect()
        }

        fn noted(&mut self) -> Vec<(u32, InstrumentStatus)> {
            let mut noted = Vec::new();
            self.market.note(|instrument, status| noted.push((instrument.0, status)));
            noted
        }

        fn fall_silent(&mut self) {
            self.now = self.now + Nanos::from_secs(11);
            self.market.handle_timeout(self.now);
            assert_eq!(self.market.events().iter().filter(|event| event.kind == SILENT).count(), 2);
        }
    }

    fn notification(channel: &str, data: &str) -> String {
        let head = r#""jsonrpc":"2.0","method":"subscription""#;
        format!(r#"{{{head},"params":{{"channel":"{channel}","data":{data}}}}}"#)
    }

    /// A snapshot, or the change behind this one, that sets a bid.
    fn book(name: &str, previous: Option<u64>, id: u64) -> String {
        let chain = match previous {
            Some(previous) => format!(r#""type":"change","prev_change_id":{previous}"#),
            None => r#""type":"snapshot""#.to_owned(),
        };
        let levels = r#""bids":[["new",9.0,5.0]],"asks":[]"#;
        let head = format!(r#""timestamp":1,"instrument_name":"{name}""#);
        let data = format!(r#"{{{chain},{head},"change_id":{id},{levels}}}"#);
        notification(&format!("book.{name}.raw"), &data)
    }

    #[test]
    fn the_frame_that_ends_a_silence_may_halt_an_instrument() {
        let mut rig = Rig::new();
        let state = |state: &str| {
            let data =
                format!(r#"{{"timestamp":5,"state":"{state}","instrument_name":"{}"}}"#, NAMES[1]);
            notification("instrument.state.any.any", &data)
        };
        rig.take(&state("open"));
        assert_eq!(rig.noted(), [(1, InstrumentStatus::Trading)]);
        rig.fall_silent();
        let told = rig.take(&state("closed"));
        assert_eq!(told.first(), Some(&EventKind::Status(TradingStatus::Closed)));
        let sound = |kind: &&EventKind| **kind == EventKind::Book(Soundness::Sound);
        assert_eq!(told.iter().filter(sound).count(), 2);
        assert_eq!(rig.noted(), [(1, InstrumentStatus::Halted)]);
        // It is told once.
        assert_eq!(rig.take(&state("closed")), []);
    }

    #[test]
    fn a_frame_that_moved_a_book_is_rehearsed_and_nothing_changes() {
        let mut rig = Rig::new();
        let move_book = |rig: &mut Rig, id: u64| {
            let frame = book(NAMES[0], Some(id - 1), id);
            let told = rig.take(&frame);
            rig.market.keep_sample(Source::LINE_A, frame.as_bytes());
            assert_eq!(told.len(), 1, "{told:?}");
        };
        move_book(&mut rig, 11);
        assert!(rig.market.sample.is_empty(), "none was wanted");
        rig.market.want_sample();
        rig.market.keep_sample(Source::SNAPSHOT, b"no line's");
        assert!(rig.market.sample.is_empty());
        for id in 12..15 {
            move_book(&mut rig, id);
            assert_eq!(rig.market.sample, book(NAMES[0], Some(11), 12).as_bytes());
            let before = rig.market.feed().counters();
            rig.market.rehearse(&rig.clock);
            assert_eq!((rig.market.feed().counters(), rig.market.events()), (before, &[][..]));
        }
    }

    #[test]
    fn a_maintenance_that_ends_a_silence_halts_all() {
        let mut rig = Rig::new();
        rig.fall_silent();
        rig.take(&notification("platform_state", r#"{"maintenance":true}"#));
        assert_eq!(rig.noted(), [0, 1].map(|id| (id, InstrumentStatus::Halted)));
    }
}
