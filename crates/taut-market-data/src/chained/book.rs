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
    pub(crate) fn new(
        id: InstrumentId,
        level_capacity: usize,
        lot_decimals: u8,
        now: Nanos,
    ) -> Self {
        Self {
            id,
            book: LevelBook::with_capacity(level_capacity),
            chain: BookChain::default(),
            staleness: Staleness::Joining,
            asked: now,
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
            for &FrameLevel { action, price, lots } in levels {
                match self.book.apply(side, price, lots, 0) {
                    Ok(change) => {
                        let is_as_said = match action {
                            Action::New => change.action == LevelAction::Inserted,
                            Action::Change => change.action == LevelAction::Updated,
                            Action::Delete | Action::Unsaid => true,
                        };
                        faults.contradictory += u64::from(!is_as_said);
                        let place =
                            LevelPlace::Behind(u32::try_from(change.depth).unwrap_or(u32::MAX));
                        visit(LevelUpdate { side, price, lots, order_count: 0, place });
                    }
                    Err(BookError::UnknownLevel) => {
                        faults.contradictory += u64::from(action != Action::Unsaid);
                    }
                    Err(_) => faults.refused += 1,
                }
            }
        }
        let [bid, ask] = Side::BOTH.map(|side| self.book.best(side));
        faults.is_crossed = bid.zip(ask).is_some_and(|(bid, ask)| bid.price >= ask.price);
        faults
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
        let mut book = FollowedBook::new(InstrumentId(1), 2, 0, Nanos::ZERO);
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
}
