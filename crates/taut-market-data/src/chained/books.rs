//! All the books of a feed: what frames do to them, and what is told and asked for.

mod more;
mod silent;

use alloc::vec::Vec;

use taut_book::LevelBook;
use taut_types::{InstrumentError, InstrumentId, Nanos};

use super::book::{Faults, FollowedBook, FrameLevel};
use super::chain::{BookChain, Link, Placement};
use super::instruments::{ChainConfig, NamedInstrument};
use super::quiet::Quiet;
use super::work::WorkList;
use crate::event::{
    BestPrices, EventKind, MarketSink, SequenceRange, Soundness, Staleness, Statistic, Trade,
    TradingStatus,
};
use crate::handler::{FeedCounters, Source};

/// What frames said that is not the rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainCounters {
    /// Frames that are not documented, of channels or of other things.
    pub unknown: u64,
    /// Changes with an action that is not documented: their books were made stale.
    pub unknown_actions: u64,
    /// Levels whose action contradicts the book: new ones that were there, changed or deleted ones
    /// that were not. The amount is taken all the same.
    pub contradictory: u64,
    /// Books that were made stale because the best bid was not below the best offer.
    pub crossed: u64,
    /// Books that were made stale because they had not the venue's checksum.
    pub checksums_failed: u64,
    /// Levels for which a book had no room.
    pub levels_refused: u64,
    /// Changes of books that have no snapshot yet.
    pub early: u64,
    /// Lines that lost a change of a book that the other line still has.
    pub lines_broken: u64,
    /// Trades that came twice.
    pub trades_repeated: u64,
    /// Numbers of trades that were jumped over, where a venue numbers them one by one.
    pub trades_missed: u64,
    /// How often the venue began its maintenance.
    pub maintenances: u64,
}

/// The books of some instruments, each with a chain of its own. A decoder moves them.
#[derive(Debug)]
pub struct ChainedBooks {
    books: Vec<FollowedBook>,
    /// Books of instruments that may come.
    spare: Vec<LevelBook>,
    level_capacity: usize,
    /// Places of books by the numbers of their instruments.
    places: Vec<u32>,
    /// Books whose soundness was not told yet.
    untold: WorkList,
    /// Books whose snapshot is to be asked for.
    wanted: WorkList,
    silence: Nanos,
    /// Channels that are quiet while others are not, if they are looked for.
    quiet: Option<Quiet>,
    snapshot_interval: Nanos,
    /// When a snapshot that did not come is asked for again; nothing while none is missing.
    retry: Option<Nanos>,
    /// No line brings anything.
    is_silent: bool,
    /// Which lines bring something, and when they did last.
    is_up: [bool; 2],
    heard: [Nanos; 2],
    /// Books that were not told to be sound.
    unsound: usize,
    pub(super) counters: FeedCounters,
    counted: ChainCounters,
}

/// A frame about a book: where it came from, and what it is to the frames before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BookFrame {
    pub(crate) received: Nanos,
    pub(crate) source: Source,
    pub(crate) exchange_time: Nanos,
    pub(crate) link: Link,
}

/// Where a book stood, and what had been counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    place: usize,
    chain: BookChain,
    heard: Nanos,
    counters: FeedCounters,
}

/// No book is kept for an instrument with this number.
const NOWHERE: u32 = u32::MAX;
/// Numbers of instruments are small: a gateway gives them one after the other.
const INSTRUMENTS_MAX: u32 = 1 << 20;

impl ChainedBooks {
    pub(super) fn new(config: &ChainConfig<'_>, now: Nanos) -> Result<Self, InstrumentError> {
        let ChainConfig { instruments, level_capacity, silence, snapshot_interval, .. } = *config;
        let count = instruments.len();
        let ids = || instruments.iter().map(|listed| listed.instrument.id().0);
        let id_max = ids().max().unwrap_or(0);
        if id_max >= INSTRUMENTS_MAX {
            return Err(InstrumentError::OutOfRange);
        }
        let mut places = alloc::vec![NOWHERE; id_max as usize + 1];
        for (place, id) in (0..).zip(ids()) {
            places.get_mut(id as usize).into_iter().for_each(|slot| *slot = place);
        }
        let book = |listed: &NamedInstrument<'_>| {
            let (id, lot) = (listed.instrument.id(), listed.instrument.lot());
            FollowedBook::new(id, LevelBook::with_capacity(level_capacity), lot.decimals, now)
        };
        Ok(Self {
            books: instruments.iter().map(book).collect(),
            spare: Vec::new(),
            level_capacity,
            places,
            untold: WorkList::new(count),
            wanted: WorkList::new(count),
            silence,
            quiet: config.channel_silence.map(|longest| Quiet::new(longest, now)),
            snapshot_interval,
            retry: (count > 0).then_some(now + snapshot_interval),
            is_silent: false,
            is_up: [false; 2],
            heard: [now; 2],
            unsound: count,
            counters: FeedCounters::default(),
            counted: ChainCounters::default(),
        })
    }

    /// What frames said that is not the rule.
    #[must_use]
    pub const fn counted(&self) -> &ChainCounters {
        &self.counted
    }

    /// How many books are not sound, as was told last.
    #[must_use]
    pub const fn stale_count(&self) -> usize {
        self.unsound
    }

    /// The book in a place, and the number of its last frame; nothing of one that is not sound.
    pub(crate) fn sound(&self, place: usize) -> Option<(&LevelBook, u64)> {
        let book = self.books.get(place).filter(|book| book.soundness == Soundness::Sound)?;
        Some((&book.book, book.chain.last()?))
    }

    /// Where a book stands among its frames, and what was counted.
    pub(super) fn mark(&self, place: usize) -> Option<Mark> {
        let FollowedBook { chain, heard, .. } = *self.books.get(place)?;
        Some(Mark { place, chain, heard, counters: self.counters })
    }

    /// Frames since the mark that changed no level did not come.
    pub(super) fn back_to(&mut self, mark: &Mark) {
        self.counters = mark.counters;
        if let Some(book) = self.books.get_mut(mark.place) {
            (book.chain, book.heard) = (mark.chain, mark.heard);
        }
    }

    /// A frame is not documented.
    pub(crate) const fn note_unknown(&mut self) {
        self.counted.unknown += 1;
    }

    /// Moves a book; whether it changed. `is_well` looks at the book behind the frame and says
    /// whether it is the venue's.
    #[inline]
    pub(crate) fn apply(
        &mut self,
        place: usize,
        frame: &BookFrame,
        sides: [&[FrameLevel]; 2],
        is_well: impl FnOnce(&LevelBook) -> bool,
        sink: &mut impl MarketSink,
    ) -> bool {
        let Some(book) = self.books.get_mut(place) else { return false };
        book.heard = frame.received;
        let mut faults = match book.chain.place(frame.source, frame.link) {
            placement @ (Placement::Apply | Placement::Replace) => {
                self.counters.applied += 1;
                let is_told = book.soundness == Soundness::Sound;
                let origin =
                    book.origin(frame.received, frame.exchange_time, frame.link.sequence());
                let visit = |level| {
                    if is_told {
                        origin.hand(EventKind::Level(level), sink);
                    }
                };
                let faults = match placement {
                    Placement::Replace => book.replace(sides, visit),
                    _ => book.apply(sides, visit),
                };
                let top = BestPrices::of(&book.book);
                if is_told && top != book.top {
                    book.top = top;
                    origin.hand(EventKind::Top(top), sink);
                }
                faults
            }
            Placement::Load => {
                self.counters.snapshots += 1;
                self.untold.push(place);
                book.load(sides)
            }
            placement => {
                self.not_applied(frame.received, place, placement);
                return false;
            }
        };
        faults.is_other = !is_well(&book.book);
        let last = book.chain.last().unwrap_or(0);
        self.counters.highest_seen = self.counters.highest_seen.max(last);
        if faults != Faults::default() {
            self.note_faults(frame.received, place, faults);
        }
        true
    }

    #[cold]
    fn not_applied(&mut self, received: Nanos, place: usize, placement: Placement) {
        match placement {
            Placement::Outdated => self.counters.recovered += 1,
            Placement::Early => {
                self.counted.early += 1;
                self.want(received, place);
            }
            Placement::LineBroken => {
                self.counted.lines_broken += 1;
                self.want(received, place);
            }
            Placement::Gap => {
                self.counters.gaps += 1;
                self.unfollow(received, place, Staleness::Gap);
            }
            Placement::Load | Placement::Apply | Placement::Replace => {}
        }
    }

    #[cold]
    fn note_faults(&mut self, received: Nanos, place: usize, faults: Faults) {
        let counted = &mut self.counted;
        counted.contradictory += faults.contradictory;
        counted.levels_refused += faults.refused;
        counted.crossed += u64::from(faults.is_crossed);
        counted.checksums_failed += u64::from(faults.is_other);
        if faults.refused > 0 {
            self.unfollow(received, place, Staleness::BookFull);
        } else if faults.is_crossed || faults.is_other {
            self.unfollow(received, place, Staleness::Gap);
        }
    }

    /// A frame changes a book in a way that is not documented.
    #[cold]
    pub(crate) fn note_unknown_action(&mut self, received: Nanos, place: usize) {
        self.counted.unknown_actions += 1;
        self.unfollow(received, place, Staleness::Gap);
    }

    /// A book is stale from here on: that is told, and a snapshot asked for.
    #[cold]
    fn unfollow(&mut self, received: Nanos, place: usize, why: Staleness) {
        self.books.get_mut(place).into_iter().for_each(|book| book.invalidate(why));
        self.untold.push(place);
        self.want(received, place);
    }

    /// A snapshot is to be asked for, now or when it is due.
    #[cold]
    fn want(&mut self, now: Nanos, place: usize) {
        let Some(book) = self.books.get_mut(place) else { return };
        let mut due = book.asked + self.snapshot_interval;
        if now >= due {
            book.asked = now;
            self.wanted.push(place);
            due = now + self.snapshot_interval;
        }
        self.retry = Some(self.retry.map_or(due, |retry| retry.min(due)));
    }

    /// Tells a trade of a book that is sound, once. `number` counts the instrument's trades; one by
    /// one when `is_dense`.
    pub(crate) fn apply_trade(
        &mut self,
        [received, exchange_time]: [Nanos; 2],
        place: usize,
        (number, is_dense): (u64, bool),
        trade: Trade,
        sink: &mut impl MarketSink,
    ) {
        let Some(book) = self.books.get_mut(place) else { return };
        if number <= book.last_trade {
            self.counted.trades_repeated += 1;
            return;
        }
        if is_dense && book.last_trade > 0 {
            let missed = number - book.last_trade - 1;
            self.counted.trades_missed = self.counted.trades_missed.saturating_add(missed);
        }
        book.last_trade = number;
        if book.soundness == Soundness::Sound {
            let origin = book.origin(received, exchange_time, SequenceRange::one(number));
            origin.hand(EventKind::Trade(trade), sink);
            // Who hears of it has other figures now than the venue's last ones.
            book.statistics.traded(&trade);
        }
    }

    /// Tells what an instrument's trading does, when that has changed.
    pub(crate) fn apply_status(
        &mut self,
        [received, exchange_time]: [Nanos; 2],
        place: usize,
        status: TradingStatus,
        sink: &mut impl MarketSink,
    ) {
        let Some(book) = self.books.get_mut(place) else { return };
        if book.status != Some(status) {
            book.status = Some(status);
            let origin = book.origin(received, exchange_time, SequenceRange::default());
            origin.hand(EventKind::Status(status), sink);
        }
    }

    /// Tells a figure of an instrument's session, when it has changed.
    pub(crate) fn apply_statistic(
        &mut self,
        [received, exchange_time]: [Nanos; 2],
        place: usize,
        figure: Statistic,
        sink: &mut impl MarketSink,
    ) {
        let Some(book) = self.books.get_mut(place) else { return };
        let before = book.statistics;
        book.statistics.set(figure);
        if book.statistics != before {
            let origin = book.origin(received, exchange_time, SequenceRange::default());
            origin.hand(EventKind::Statistic(figure), sink);
        }
    }

    /// The venue's maintenance halts everything; who says that an instrument trades again is the
    /// venue.
    #[cold]
    pub(crate) fn apply_maintenance(&mut self, received: Nanos, sink: &mut impl MarketSink) {
        self.counted.maintenances += 1;
        for place in 0..self.books.len() {
            let times = [received, Nanos::ZERO];
            self.apply_status(times, place, TradingStatus::Halted, sink);
        }
    }

    /// A line brought something.
    #[inline]
    pub(super) fn note_line(&mut self, received: Nanos, source: Source, has_changed: bool) {
        if let Some(line) = self.counters.lines.get_mut(usize::from(source.0)) {
            line.packets += 1;
            line.first += u64::from(has_changed);
        }
        if let Some(is_up) = self.is_up.get_mut(usize::from(source.0)) {
            *is_up = true;
        }
        if let Some(heard) = self.heard.get_mut(usize::from(source.0)) {
            *heard = received;
        }
        if self.is_silent {
            self.set_silent(false);
        }
    }

    /// The chains stay: they tell when nothing was lost.
    #[cold]
    fn set_silent(&mut self, is_silent: bool) {
        self.is_silent = is_silent;
        self.counters.silences += u64::from(is_silent);
        (0..self.books.len()).for_each(|place| self.untold.push(place));
    }

    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        self.untold.is_empty()
    }

    /// Tells of the books that became sound or stale.
    #[cold]
    pub(super) fn recover(&mut self, now: Nanos, sink: &mut impl MarketSink) {
        while let Some(place) = self.untold.pop() {
            let Some(book) = self.books.get_mut(place) else { continue };
            let current = match book.current() {
                Soundness::Sound if self.is_silent => Soundness::Stale(Staleness::Silent),
                current => current,
            };
            self.unsound -= usize::from(book.soundness != Soundness::Sound);
            self.unsound += usize::from(current != Soundness::Sound);
            book.tell(now, current, sink);
        }
    }

    /// Notices silence, and asks again for what did not come.
    pub(super) fn handle_timeout(&mut self, now: Nanos) {
        let are_silent = self.heard.map(|heard| now.since(heard) >= self.silence);
        if are_silent == [true; 2] {
            if !self.is_silent {
                self.set_silent(true);
            }
        } else {
            // A line that is dumb while the other one is not may never speak again.
            for (line, is_silent) in [Source::LINE_A, Source::LINE_B].into_iter().zip(are_silent) {
                if is_silent && self.is_up.get(usize::from(line.0)) == Some(&true) {
                    self.counters.silences += 1;
                    self.handle_disconnect(now, line);
                }
            }
        }
        self.notice_quiet_channels(now);
        self.ask_again(now);
    }

    fn ask_again(&mut self, now: Nanos) {
        if self.retry.is_none_or(|retry| now < retry) {
            return;
        }
        self.retry = None;
        for place in 0..self.books.len() {
            let is_up = self.is_up;
            let is_missing = self.books.get(place).is_some_and(|book| {
                let lines = [Source::LINE_A, Source::LINE_B].map(|line| book.chain.line(line));
                let mut of_lines = lines.iter().zip(is_up);
                book.chain.last().is_none() || of_lines.any(|(line, is_up)| is_up && line.is_none())
            });
            if is_missing {
                self.want(now, place);
            }
        }
    }

    /// The connection behind a line broke.
    pub(super) fn handle_disconnect(&mut self, now: Nanos, source: Source) {
        for (place, book) in self.books.iter_mut().enumerate() {
            // The next connection brings a snapshot by itself.
            book.asked = now;
            if book.chain.break_line(source) == Placement::Gap {
                book.staleness = Staleness::Silent;
                self.untold.push(place);
            }
        }
        self.is_up.get_mut(usize::from(source.0)).into_iter().for_each(|is_up| *is_up = false);
        if self.is_up == [false; 2] {
            // The next run of the venue may number its trades anew.
            self.books.iter_mut().for_each(|book| book.last_trade = 0);
        }
        let due = now + self.snapshot_interval;
        self.retry = Some(self.retry.map_or(due, |retry| retry.min(due)));
    }

    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        let lines = self.heard.iter().zip(self.is_up).filter(|(_, is_up)| *is_up);
        let first = lines.map(|(heard, _)| *heard).min();
        let first = first.or_else(|| self.heard.iter().copied().max()).unwrap_or_default();
        let silence = (!self.is_silent).then_some(first + self.silence);
        let quiet = self.quiet.as_ref().map(Quiet::due);
        [silence, quiet, self.retry].into_iter().flatten().min()
    }

    /// A book whose snapshot is to be asked for.
    pub(super) fn poll_wanted(&mut self) -> Option<InstrumentId> {
        let place = self.wanted.pop()?;
        self.counters.requests += 1;
        self.books.get(place).map(|book| book.id)
    }

    #[inline]
    pub(super) fn get(&self, instrument: InstrumentId) -> Option<&FollowedBook> {
        let place = *self.places.get(instrument.0 as usize)?;
        self.books.get(place as usize)
    }
}
