//! A book that is followed, and what was told of it.

use taut_book::{BookError, LevelAction, LevelBook};
use taut_types::{InstrumentId, Lots, Nanos, Price, Side};

use super::chain::BookChain;
use crate::event::{
    BestPrices, Context, EventKind, InstrumentKey, LevelPlace, LevelUpdate, MarketSink, Origin,
    SequenceRange, Soundness, Staleness, TradingStatus,
};
use crate::statistics::SessionStatistics;

/// What became of a level, as the venue says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    New,
    Change,
    Delete,
    /// It says the total alone.
    Unsaid,
}

/// A level of a frame. Its lots are what is there now: zero when it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameLevel {
    pub(crate) action: Action,
    pub(crate) price: Price,
    pub(crate) lots: Lots,
}

impl FrameLevel {
    /// What is deleted has nothing, whatever else is said.
    #[inline]
    pub(crate) fn of(action: Action, price: Price, lots: Lots) -> Self {
        let lots = if action == Action::Delete { Lots::ZERO } else { lots };
        Self { action, price, lots }
    }
}

/// One of the books.
#[derive(Debug)]
pub(crate) struct FollowedBook {
    pub(crate) id: InstrumentId,
    pub(crate) book: LevelBook,
    pub(crate) chain: BookChain,
    /// Why it cannot be trusted while its chain has no book.
    pub(crate) staleness: Staleness,
    /// When a snapshot was asked for, or a new connection was to bring one.
    pub(crate) asked: Nanos,
    /// When its channel brought something.
    pub(crate) heard: Nanos,
    /// The number of the last trade; 0 when there was none.
    pub(crate) last_trade: u64,
    /// As they were told last.
    pub(crate) soundness: Soundness,
    pub(crate) top: BestPrices,
    pub(crate) status: Option<TradingStatus>,
    /// The venue's own figures.
    pub(crate) statistics: SessionStatistics,
    /// The book is another one than the one that was told of, and both are sound.
    is_replaced: bool,
    lot_decimals: u8,
}

/// What was wrong with the levels of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// New levels that were there, changed and deleted ones that were not.
    pub(crate) contradictory: u64,
    /// Levels for which there is no room.
    pub(crate) refused: u64,
    /// The best bid is not below the best offer.
    pub(crate) is_crossed: bool,
    /// The book is not the venue's.
    pub(crate) is_other: bool,
}

impl FollowedBook {
    pub(crate) fn new(id: InstrumentId, book: LevelBook, lot_decimals: u8, now: Nanos) -> Self {
        Self {
            id,
            book,
            chain: BookChain::default(),
            staleness: Staleness::Joining,
            asked: now,
            heard: now,
            last_trade: 0,
            soundness: Soundness::Stale(Staleness::Joining),
            top: BestPrices::default(),
            status: None,
            statistics: SessionStatistics::default(),
            is_replaced: false,
            lot_decimals,
        }
    }

    /// Whether the book can be trusted, if the feed can.
    #[inline]
    pub(crate) const fn current(&self) -> Soundness {
        match self.chain.last() {
            Some(_) => Soundness::Sound,
            None => Soundness::Stale(self.staleness),
        }
    }

    /// The book cannot be followed any further.
    #[cold]
    pub(crate) fn invalidate(&mut self, why: Staleness) {
        self.chain.invalidate();
        self.staleness = why;
    }

    /// The book is what a snapshot says.
    #[cold]
    pub(crate) fn load(&mut self, sides: [&[FrameLevel]; 2]) -> Faults {
        self.book.clear();
        self.is_replaced = true;
        self.apply(sides, |_| ())
    }

    /// Sets the levels of a frame; `visit` is told of each that changed the book, and where it
    /// stands then.
    #[inline]
    pub(crate) fn apply(
        &mut self,
        sides: [&[FrameLevel]; 2],
        mut visit: impl FnMut(LevelUpdate),
    ) -> Faults {
        let mut faults = Faults::default();
        for (side, levels) in Side::BOTH.into_iter().zip(sides) {
            levels.iter().for_each(|level| self.set(side, level, &mut faults, &mut visit));
        }
        faults.is_crossed = self.is_crossed();
        faults
    }

    /// Makes the book what a frame says that has all of it; `visit` is told of each level that is
    /// another one then, of those that are gone first. Cost: square in the levels, which are few.
    #[inline(never)]
    pub(crate) fn replace(
        &mut self,
        sides: [&[FrameLevel]; 2],
        mut visit: impl FnMut(LevelUpdate),
    ) -> Faults {
        let mut faults = Faults::default();
        for (side, levels) in Side::BOTH.into_iter().zip(sides) {
            let stays = |price| levels.iter().any(|it| it.price == price && it.lots > Lots::ZERO);
            let mut depth = 0;
            while let Some(level) = self.book.level(side, depth) {
                if stays(level.price) {
                    depth += 1;
                    continue;
                }
                let gone = FrameLevel::of(Action::Delete, level.price, Lots::ZERO);
                self.set(side, &gone, &mut faults, &mut visit);
            }
        }
        for (side, levels) in Side::BOTH.into_iter().zip(sides) {
            for level in levels {
                let before = self.book.level_at(side, level.price);
                if before.map_or(Lots::ZERO, |before| before.lots) != level.lots {
                    self.set(side, level, &mut faults, &mut visit);
                }
            }
        }
        faults.is_crossed = self.is_crossed();
        faults
    }

    #[inline]
    fn set(
        &mut self,
        side: Side,
        level: &FrameLevel,
        faults: &mut Faults,
        visit: &mut impl FnMut(LevelUpdate),
    ) {
        let FrameLevel { action, price, lots } = *level;
        match self.book.apply(side, price, lots, 0) {
            Ok(change) => {
                let is_as_said = match action {
                    Action::New => change.action == LevelAction::Inserted,
                    Action::Change => change.action == LevelAction::Updated,
                    Action::Delete | Action::Unsaid => true,
                };
                faults.contradictory += u64::from(!is_as_said);
                let place = LevelPlace::Behind(u32::try_from(change.depth).unwrap_or(u32::MAX));
                visit(LevelUpdate { side, price, lots, order_count: 0, place });
            }
            Err(BookError::UnknownLevel) => {
                faults.contradictory += u64::from(action != Action::Unsaid);
            }
            Err(_) => faults.refused += 1,
        }
    }

    #[inline]
    fn is_crossed(&self) -> bool {
        let [bid, ask] = Side::BOTH.map(|side| self.book.best(side));
        bid.zip(ask).is_some_and(|(bid, ask)| bid.price >= ask.price)
    }

    /// Tells what became of the book since it was told of last. `current` is whether it can be
    /// trusted now.
    #[cold]
    pub(crate) fn tell(&mut self, now: Nanos, current: Soundness, sink: &mut impl MarketSink) {
        let is_full = |soundness| soundness == Soundness::Stale(Staleness::BookFull);
        let (was_sound, is_sound) =
            (self.soundness == Soundness::Sound, current == Soundness::Sound);
        let is_replaced = core::mem::take(&mut self.is_replaced) && was_sound && is_sound;
        let differs = was_sound != is_sound || is_full(self.soundness) != is_full(current);
        self.soundness = current;
        if !differs && !is_replaced {
            return;
        }
        let origin =
            self.origin(now, Nanos::ZERO, SequenceRange::one(self.chain.last().unwrap_or(0)));
        if is_replaced {
            // Who keeps a copy of the book has to take it anew.
            origin.hand(EventKind::Book(Soundness::Stale(Staleness::Restarting)), sink);
        }
        self.top = BestPrices::of(&self.book);
        origin.hand(EventKind::Book(current), sink);
        origin.hand(EventKind::Top(self.top), sink);
    }

    /// What the events of a frame about the book have in common.
    #[inline]
    pub(crate) const fn origin(
        &self,
        receive_time: Nanos,
        exchange_time: Nanos,
        sequence: SequenceRange,
    ) -> Origin<'static> {
        let context = Context {
            instrument: InstrumentKey::Id(self.id.0),
            sequence,
            lot_decimals: self.lot_decimals,
        };
        Origin { context, instrument: self.id, exchange_time, receive_time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(action: Action, price: i64, lots: i64) -> FrameLevel {
        FrameLevel { action, price: Price(price), lots: Lots(lots) }
    }

    #[test]
    fn levels_that_contradict_the_book_are_counted_and_set_all_the_same() {
        let mut book =
            FollowedBook::new(InstrumentId(1), LevelBook::with_capacity(2), 0, Nanos::ZERO);
        let first = [level(Action::New, 5, 1), level(Action::New, 4, 1)];
        assert_eq!(book.load([&first, &[]]), Faults::default());
        let wrong = [
            level(Action::New, 5, 2),
            level(Action::Delete, 3, 0),
            level(Action::Delete, 4, 0),
            level(Action::Change, 2, 7),
        ];
        assert_eq!(book.apply([&wrong, &[]], |_| ()).contradictory, 3);
        let levels = book.book.iter(Side::Buy).map(|level| (level.price.0, level.lots.0));
        assert!(levels.eq([(5, 2), (2, 7)]));
        let faults = book.apply([&[level(Action::New, 1, 1)], &[level(Action::New, 5, 1)]], |_| ());
        assert!(faults.refused == 1 && faults.is_crossed);
    }

    #[test]
    fn a_whole_book_tells_what_is_gone_and_then_what_is_another_one() {
        let mut book =
            FollowedBook::new(InstrumentId(1), LevelBook::with_capacity(3), 0, Nanos::ZERO);
        let unsaid = |price, lots| level(Action::Unsaid, price, lots);
        let first = [unsaid(5, 1), unsaid(4, 2), unsaid(3, 3)];
        book.load([&first, &[unsaid(6, 1)]]);
        let mut replace = |bids: &[FrameLevel], asks: &[FrameLevel]| {
            let mut told = std::vec::Vec::new();
            let faults = book.replace([bids, asks], |it| {
                told.push((it.side, it.price.0, it.lots.0, it.place));
            });
            (told, faults)
        };
        let behind = LevelPlace::Behind;
        // Better bids than the offer that was: it is gone before they come.
        let (told, faults) = replace(&[unsaid(7, 4), unsaid(4, 2), unsaid(3, 9)], &[unsaid(8, 1)]);
        assert_eq!(
            told,
            [
                (Side::Buy, 5, 0, behind(0)),
                (Side::Sell, 6, 0, behind(0)),
                (Side::Buy, 7, 4, behind(0)),
                (Side::Buy, 3, 9, behind(2)),
                (Side::Sell, 8, 1, behind(0)),
            ]
        );
        assert_eq!(faults, Faults::default());
        let (told, faults) =
            replace(&[unsaid(7, 4), unsaid(4, 2), unsaid(3, 9)], &[unsaid(8, 1), unsaid(9, 0)]);
        assert_eq!((told.as_slice(), faults), (&[][..], Faults::default()));
        let crowd = [1, 2, 3, 4].map(|price| unsaid(price, 1));
        let (told, faults) = replace(&crowd, &[unsaid(2, 1)]);
        assert_eq!((told.len(), faults.refused, faults.is_crossed), (6, 1, true));
        let (told, _) = replace(&[], &[]);
        assert_eq!(told.len(), 4);
        assert!(Side::BOTH.iter().all(|side| book.book.best(*side).is_none()));
    }
}
