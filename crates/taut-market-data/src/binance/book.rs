//! A local book of price levels, kept by the rules of [`DepthSync`].

use alloc::vec::Vec;

use taut_book::{BookError, LevelBook, TopOfBook};
use taut_types::{Nanos, Price, Side};

use super::horizon::Horizon;
use super::sync::{DepthSync, Joined, Placement};
use crate::event::{Batch, Context, Event, EventKind, LevelPlace, LevelUpdate, SequenceRange};

/// What a book did with an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The update's numbers.
    pub sequence: SequenceRange,
    /// When it was received; an update from before the snapshot was received before it.
    pub receive_time: Nanos,
    /// Whether the book cannot be trusted since a gap.
    pub is_stale: bool,
    /// Whether a best price lies behind the levels that the snapshot had, so that better ones may
    /// be there that nobody told of.
    pub is_beyond_snapshot: bool,
    /// The book's top behind it.
    pub top: TopOfBook,
}

/// Who wants to know what a book takes.
pub(super) trait DepthVisitor {
    /// An update changed the book, and is whole.
    fn applied(&mut self, update: &Applied);

    /// An update that came in sequence set a level, which now stands where it says.
    fn level(&mut self, _level: &LevelUpdate) {}
}

impl<F: FnMut(&Applied)> DepthVisitor for F {
    #[inline]
    fn applied(&mut self, update: &Applied) {
        self(update);
    }
}

/// What became of the updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DepthCounters {
    /// Updates that changed the book.
    pub applied: u64,
    /// Updates that a snapshot contained, or that came twice.
    pub outdated: u64,
    /// Updates that did not follow the one before.
    pub gaps: u64,
    /// Snapshots that became the book.
    pub snapshots: u64,
    /// Updates that were kept and then dropped for want of room: a later snapshot is needed.
    pub dropped: u64,
    /// Levels for which a side had no room: the book is stale from there on.
    pub levels_refused: u64,
    /// How often a best price went behind the levels that the snapshot had.
    pub beyond_snapshot: u64,
}

/// A book that depth updates and snapshots build.
///
/// Updates that come while a snapshot is missing are kept and joined to it. After a gap the book
/// goes on, is stale, and keeps its updates: the next snapshot heals it. A snapshot that nobody
/// needs is left out. All memory is taken when it is built.
///
/// A snapshot has 5, 10, 20, 50, 100, 500, 1,000 or 5,000 levels a side, as it was asked for: a
/// side with exactly so many may go on, and the book is whole down to its [`edge`](Self::edge). A
/// best price behind that is unknown, and the book stale, until it is before the edge again or a
/// newer snapshot comes.
///
/// The numbers do not tell that a connection broke while nothing happened, or that it is silent:
/// whoever drives the book over a connection says [`disconnected`](Self::disconnected).
#[derive(Debug)]
pub struct DepthBook {
    book: LevelBook,
    sync: DepthSync,
    /// Since a gap, or for want of a snapshot or of room.
    is_stale: bool,
    /// Levels a side that a snapshot has at the most; none where its own number of them says it.
    snapshot_limit: Option<usize>,
    horizon: Horizon,
    is_beyond_snapshot: bool,
    /// The last update before those that are kept because of it.
    beyond_since: u64,
    kept: Kept,
    counters: DepthCounters,
    /// The message at hand.
    mode: Mode,
}

/// What the levels of the message at hand are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Skip,
    Load,
    Keep,
    Apply { keep: bool },
}

/// Updates that wait for a snapshot: their numbers, and where their levels end.
#[derive(Debug)]
struct Kept {
    updates: Vec<(SequenceRange, Nanos, usize)>,
    levels: Vec<LevelUpdate>,
}

impl DepthBook {
    /// A book with room for so many levels on each side, that keeps so many updates and as many
    /// levels of them as both sides have.
    #[must_use]
    pub fn new(levels_per_side: usize, updates_kept_max: usize) -> Self {
        Self {
            book: LevelBook::with_capacity(levels_per_side),
            sync: DepthSync::new(),
            is_stale: true,
            snapshot_limit: None,
            horizon: Horizon::default(),
            is_beyond_snapshot: false,
            beyond_since: 0,
            kept: Kept {
                updates: Vec::with_capacity(updates_kept_max),
                levels: Vec::with_capacity(levels_per_side.saturating_mul(2)),
            },
            counters: DepthCounters::default(),
            mode: Mode::Skip,
        }
    }

    /// The same, whose snapshots were asked for with at most so many levels a side: one that has as
    /// many may lack others behind them. Without it a side is taken for cut when it has as many
    /// levels as a snapshot can be asked for: 5, 10, 20, 50, 100, 500, 1,000 or 5,000.
    #[must_use]
    pub fn with_snapshot_limit(self, levels: Option<usize>) -> Self {
        Self { snapshot_limit: levels, ..self }
    }

    /// The book. Look at [`is_stale`](Self::is_stale) first.
    #[must_use]
    pub const fn book(&self) -> &LevelBook {
        &self.book
    }

    /// Whether the book cannot be trusted: it has no snapshot yet, there was a gap since, or its
    /// best price lies behind the levels that the snapshot had.
    #[must_use]
    #[inline]
    pub const fn is_stale(&self) -> bool {
        self.is_stale || self.is_beyond_snapshot
    }

    /// Whether all that is wrong with the book is that its best price lies behind the levels that
    /// the snapshot had.
    #[must_use]
    pub const fn is_beyond_snapshot(&self) -> bool {
        self.is_beyond_snapshot && !self.is_stale
    }

    /// The price down to which a side is whole: levels behind it may be missing. Nothing when there
    /// is none.
    #[must_use]
    pub const fn edge(&self, side: Side) -> Option<Price> {
        self.horizon.edge(side)
    }

    /// The best levels as far as they are known: nothing of a side whose best one is behind its
    /// edge.
    #[must_use]
    pub fn known_top(&self) -> TopOfBook {
        self.horizon.known(self.book.top())
    }

    /// The connection broke, and updates may have been missed: the book is stale, and updates are
    /// kept from here on until a snapshot joins them. Ask for it when updates come again.
    pub fn disconnected(&mut self) {
        (self.is_stale, self.is_beyond_snapshot) = (true, false);
        self.sync = DepthSync::new();
        self.kept.clear();
        self.mode = Mode::Skip;
    }

    /// Whether there has been a snapshot since the connection was made.
    #[must_use]
    pub const fn has_started(&self) -> bool {
        self.sync.has_started()
    }

    /// The last id that the book contains.
    #[must_use]
    pub fn last_id(&self) -> Option<u64> {
        self.sync.last_id()
    }

    /// Where the book stands among the updates, and what was counted.
    pub(super) const fn mark(&self) -> (DepthSync, DepthCounters) {
        (self.sync, self.counters)
    }

    /// Updates since the mark that changed no level did not come.
    pub(super) const fn back_to(&mut self, (sync, counters): (DepthSync, DepthCounters)) {
        (self.sync, self.counters) = (sync, counters);
    }

    /// The account so far.
    #[must_use]
    pub const fn counters(&self) -> &DepthCounters {
        &self.counters
    }

    /// Takes an event; `visit` is told of every update that changed the book, also of those that a
    /// snapshot lets in at last.
    #[inline]
    pub fn on_event(
        &mut self,
        context: &Context<'_>,
        event: &Event,
        visit: &mut impl FnMut(&Applied),
    ) {
        self.take(context, event, visit);
    }

    /// As [`on_event`](Self::on_event), for who wants to know the levels, too.
    #[inline]
    pub(super) fn take(
        &mut self,
        context: &Context<'_>,
        event: &Event,
        visit: &mut impl DepthVisitor,
    ) {
        match &event.kind {
            EventKind::Begin(batch) => self.begin(*batch, context),
            EventKind::Level(level) => self.level(level, visit),
            EventKind::End { .. } => self.end(context, event.receive_time, visit),
            _ => {}
        }
    }

    fn begin(&mut self, batch: Batch, context: &Context<'_>) {
        self.mode = match batch {
            Batch::BestLevels | Batch::Orders => Mode::Skip,
            Batch::Snapshot if self.needs_snapshot(context.sequence.last) => {
                self.book.clear();
                Mode::Load
            }
            Batch::Snapshot => Mode::Skip,
            Batch::Update => match self.sync.place(&context.sequence) {
                Placement::Early => Mode::Keep,
                Placement::Outdated => {
                    self.counters.outdated += 1;
                    Mode::Skip
                }
                Placement::Apply(joined) => {
                    self.note(joined);
                    Mode::Apply { keep: self.is_stale() }
                }
            },
        };
    }

    #[inline]
    fn level(&mut self, level: &LevelUpdate, visit: &mut impl DepthVisitor) {
        match self.mode {
            Mode::Skip => {}
            Mode::Apply { keep: false } => {
                if let Some(depth) = self.set(level) {
                    visit.level(&LevelUpdate { place: LevelPlace::Behind(depth), ..*level });
                }
            }
            Mode::Load => {
                self.set(level);
            }
            Mode::Keep => self.keep_level(level),
            Mode::Apply { keep: true } => {
                self.set(level);
                self.keep_level(level);
            }
        }
    }

    #[inline]
    fn end(&mut self, context: &Context<'_>, receive_time: Nanos, visit: &mut impl DepthVisitor) {
        let sequence = context.sequence;
        match core::mem::replace(&mut self.mode, Mode::Skip) {
            Mode::Skip => {}
            Mode::Keep => self.keep_update(sequence, receive_time),
            Mode::Apply { keep } => {
                if keep {
                    self.keep_update(sequence, receive_time);
                }
                let applied = self.applied(sequence, receive_time);
                if applied.is_beyond_snapshot != self.is_beyond_snapshot {
                    self.cross_edge(&applied);
                }
                visit.applied(&applied);
            }
            Mode::Load => self.join(sequence.last, visit),
        }
    }

    /// The book is a snapshot; the updates that were kept follow it, if they do.
    #[cold]
    fn join(&mut self, snapshot_id: u64, visit: &mut impl DepthVisitor) {
        self.sync.start(snapshot_id);
        self.horizon = Horizon::of(&self.book, self.snapshot_limit);
        self.is_stale = false;
        self.counters.snapshots += 1;
        let mut from = 0;
        for index in 0..self.kept.updates.len() {
            let Some(&(sequence, receive_time, end)) = self.kept.updates.get(index) else { break };
            match self.sync.place(&sequence) {
                Placement::Apply(joined) => {
                    self.note(joined);
                    for at in from..end {
                        let Some(&level) = self.kept.levels.get(at) else { break };
                        self.set(&level);
                    }
                    visit.applied(&self.applied(sequence, receive_time));
                }
                Placement::Early | Placement::Outdated => self.counters.outdated += 1,
            }
            from = end;
        }
        self.is_beyond_snapshot = !self.horizon.contains(&self.book.top());
        self.beyond_since = snapshot_id;
        // What is stale again needs a snapshot that is newer than all of this.
        if !self.is_stale() {
            self.kept.clear();
        }
    }

    /// Whether a snapshot would make the book better: one from before the updates that are kept
    /// would make a gap in a book that has none.
    fn needs_snapshot(&self, snapshot_id: u64) -> bool {
        self.is_stale || self.is_beyond_snapshot && snapshot_id >= self.beyond_since
    }

    /// A best price went behind the edge, or is before it again: without a snapshot, so that no
    /// update has to wait for one.
    #[cold]
    fn cross_edge(&mut self, applied: &Applied) {
        self.is_beyond_snapshot = applied.is_beyond_snapshot;
        if applied.is_beyond_snapshot {
            self.counters.beyond_snapshot += 1;
            self.beyond_since = applied.sequence.last;
        } else if !self.is_stale {
            self.kept.clear();
        }
    }

    fn note(&mut self, joined: Joined) {
        self.counters.applied += 1;
        if joined == Joined::AfterGap {
            self.counters.gaps += 1;
            self.is_stale = true;
        }
    }

    /// Sets a level; how many better ones there are, if the book changed.
    #[inline]
    fn set(&mut self, level: &LevelUpdate) -> Option<u32> {
        match self.book.apply(level.side, level.price, level.lots, level.order_count) {
            Ok(change) => Some(u32::try_from(change.depth).unwrap_or(u32::MAX)),
            // Deleting a level that is not there is normal, Binance says.
            Err(BookError::UnknownLevel) => None,
            Err(_) => {
                self.counters.levels_refused += 1;
                self.is_stale = true;
                None
            }
        }
    }

    fn keep_level(&mut self, level: &LevelUpdate) {
        if self.kept.levels.len() < self.kept.levels.capacity() {
            self.kept.levels.push(*level);
            return;
        }
        self.drop_kept();
        // An update is kept whole or not at all.
        self.counters.dropped += 1;
        self.mode = match self.mode {
            Mode::Apply { .. } => Mode::Apply { keep: false },
            Mode::Keep | Mode::Load | Mode::Skip => Mode::Skip,
        };
    }

    fn keep_update(&mut self, sequence: SequenceRange, receive_time: Nanos) {
        if self.kept.updates.len() == self.kept.updates.capacity() {
            self.drop_kept();
            self.counters.dropped += 1;
            return;
        }
        self.kept.updates.push((sequence, receive_time, self.kept.levels.len()));
    }

    /// A snapshot joins nothing of these any more; the updates behind them show the gap.
    #[cold]
    fn drop_kept(&mut self) {
        self.counters.dropped += self.kept.updates.len() as u64;
        self.kept.clear();
    }

    fn applied(&self, sequence: SequenceRange, receive_time: Nanos) -> Applied {
        let top = self.book.top();
        let is_beyond_snapshot = !self.horizon.contains(&top);
        Applied { sequence, receive_time, is_stale: self.is_stale, is_beyond_snapshot, top }
    }
}

impl Kept {
    fn clear(&mut self) {
        self.updates.clear();
        self.levels.clear();
    }
}

#[cfg(test)]
mod tests {
    use taut_types::{InstrumentId, Lots};

    use super::*;
    use crate::event::InstrumentKey;

    fn take(book: &mut DepthBook, batch: Batch, first: u64, last: u64) {
        take_levels(book, batch, first, last, &[(Side::Buy, last.cast_signed(), 1)]);
    }

    fn take_levels(
        book: &mut DepthBook,
        batch: Batch,
        first: u64,
        last: u64,
        levels: &[(Side, i64, i64)],
    ) {
        let sequence = SequenceRange { first, last, previous: None };
        let context = Context { instrument: InstrumentKey::Channel, sequence, lot_decimals: 0 };
        let level = |&(side, price, lots)| {
            let (price, place) = (Price(price), LevelPlace::ByPrice);
            EventKind::Level(LevelUpdate { side, price, lots: Lots(lots), order_count: 0, place })
        };
        let begin = core::iter::once(EventKind::Begin(batch));
        let end = [EventKind::End { is_final: true }];
        for kind in begin.chain(levels.iter().map(level)).chain(end) {
            let (instrument, time) = (InstrumentId(1), Nanos(1));
            let event = Event { instrument, exchange_time: time, receive_time: time, kind };
            book.on_event(&context, &event, &mut |_| {});
        }
    }

    /// Five bids from 10 down to 6, and two offers, which are all.
    const LIMITED: [(Side, i64, i64); 7] = [
        (Side::Buy, 10, 1),
        (Side::Buy, 9, 1),
        (Side::Buy, 8, 1),
        (Side::Buy, 7, 1),
        (Side::Buy, 6, 1),
        (Side::Sell, 11, 1),
        (Side::Sell, 12, 1),
    ];

    fn limited() -> DepthBook {
        let mut book = DepthBook::new(16, 16);
        take_levels(&mut book, Batch::Snapshot, 10, 10, &LIMITED);
        assert_eq!(Side::BOTH.map(|side| book.edge(side)), [Some(Price(6)), None]);
        book
    }

    #[test]
    fn a_snapshot_is_cut_where_it_has_as_many_levels_as_were_asked_for() {
        // Five bids and two asks, of a venue that was asked for so many of each.
        let edges = |limit| {
            let mut book = DepthBook::new(16, 16).with_snapshot_limit(limit);
            take_levels(&mut book, Batch::Snapshot, 10, 10, &LIMITED);
            Side::BOTH.map(|side| book.edge(side))
        };
        assert_eq!(edges(None), [Some(Price(6)), None]);
        assert_eq!(edges(Some(5)), [Some(Price(6)), None]);
        assert_eq!(edges(Some(2)), [Some(Price(6)), Some(Price(12))]);
        assert_eq!(edges(Some(10)), [None, None], "all that there is, by chance as many");
    }

    /// The bids of the snapshot are gone; one behind them is known by chance.
    fn beyond() -> DepthBook {
        let mut book = limited();
        take_levels(&mut book, Batch::Update, 11, 11, &[(Side::Buy, 3, 1)]);
        assert!(!book.is_stale(), "levels behind the edge are no harm yet");
        let gone = [10, 9, 8, 7, 6].map(|price| (Side::Buy, price, 0));
        take_levels(&mut book, Batch::Update, 12, 12, &gone[..4]);
        assert!(!book.is_stale(), "the last one that the snapshot had is known");
        take_levels(&mut book, Batch::Update, 13, 13, &gone[4..]);
        assert!(book.is_stale() && book.is_beyond_snapshot());
        assert_eq!((book.known_top().bid, book.counters().beyond_snapshot), (None, 1));
        assert_eq!(book.known_top().ask.map(|level| level.price), Some(Price(11)));
        book
    }

    #[test]
    fn a_best_price_behind_what_the_snapshot_had_is_unknown_until_it_is_before_it_again() {
        let mut book = beyond();
        take_levels(&mut book, Batch::Update, 14, 14, &[(Side::Buy, 5, 1)]);
        assert!(book.is_beyond_snapshot());
        take_levels(&mut book, Batch::Update, 15, 15, &[(Side::Buy, 6, 1)]);
        assert!(!book.is_stale(), "there is nothing better than 6, or it had been told");
        assert_eq!(book.known_top().bid.map(|level| level.price), Some(Price(6)));
        // An empty side is known to be empty only where the snapshot was not cut.
        take_levels(&mut book, Batch::Update, 16, 16, &[(Side::Sell, 11, 0), (Side::Sell, 12, 0)]);
        assert!(!book.is_stale());
        let last = [(Side::Buy, 6, 0), (Side::Buy, 5, 0), (Side::Buy, 3, 0)];
        take_levels(&mut book, Batch::Update, 17, 17, &last);
        assert!(book.is_beyond_snapshot() && book.counters().beyond_snapshot == 2);
    }

    #[test]
    fn a_newer_snapshot_joins_what_came_since_and_an_older_one_does_nothing() {
        let mut book = beyond();
        take_levels(&mut book, Batch::Update, 14, 14, &[(Side::Buy, 2, 7)]);
        take_levels(&mut book, Batch::Snapshot, 12, 12, &LIMITED);
        assert!(book.is_beyond_snapshot() && book.counters().snapshots == 1);
        take_levels(&mut book, Batch::Snapshot, 13, 13, &[(Side::Buy, 4, 1), (Side::Buy, 3, 1)]);
        assert!(!book.is_stale() && book.counters().gaps == 0);
        assert_eq!(book.book().level_count(Side::Buy), 3);
        assert_eq!((book.edge(Side::Buy), book.last_id()), (None, Some(14)));
    }

    #[test]
    fn a_snapshot_that_is_passed_by_what_came_since_is_not_enough() {
        let mut book = beyond();
        let gone = LIMITED[..5].iter().map(|&(side, price, _)| (side, price, 0));
        take_levels(&mut book, Batch::Update, 14, 14, &gone.collect::<std::vec::Vec<_>>());
        take_levels(&mut book, Batch::Snapshot, 13, 13, &LIMITED);
        assert!(book.is_beyond_snapshot());
        take_levels(&mut book, Batch::Update, 15, 15, &[]);
        take_levels(&mut book, Batch::Snapshot, 15, 15, &[(Side::Buy, 4, 1)]);
        assert!(!book.is_stale() && book.counters().gaps == 0);
    }

    #[test]
    fn a_book_that_was_disconnected_is_stale_until_a_snapshot_joins_what_came_since() {
        let mut book = DepthBook::new(16, 16);
        take(&mut book, Batch::Snapshot, 10, 10);
        take(&mut book, Batch::Update, 11, 12);
        assert!(!book.is_stale());
        book.disconnected();
        assert!(book.is_stale() && !book.has_started());
        // In sequence, but that is not known to be all; a snapshot from before does not help.
        take(&mut book, Batch::Update, 15, 15);
        take(&mut book, Batch::Snapshot, 10, 10);
        assert!(book.is_stale());
        book.disconnected();
        take(&mut book, Batch::Update, 16, 16);
        take(&mut book, Batch::Update, 17, 18);
        assert!(book.is_stale());
        take(&mut book, Batch::Snapshot, 16, 16);
        assert!(!book.is_stale());
        assert_eq!(book.book().level_count(Side::Buy), 2);
        take(&mut book, Batch::Update, 19, 19);
        assert!(!book.is_stale() && book.counters().gaps == 1);
    }
}
