//! A market as one side sees it: levels, or orders and the levels that they add up to.

use alloc::vec;
use alloc::vec::Vec;

use taut_types::Side;

use crate::book::key;
use crate::row::{Row, RowKind};
use crate::{BacktestError, FlatBook, Recording};

/// A view of the market that rows keep up to date.
pub trait Market: Sized {
    /// An empty one for a recording.
    ///
    /// # Errors
    /// When its prices span too many ticks.
    fn new(recording: &Recording) -> Result<Self, BacktestError>;
    /// Takes a row; one that is about something else changes nothing. `skips` as
    /// [`Compat::clear_skips_a_tick`](crate::Compat::clear_skips_a_tick).
    fn take(&mut self, row: &Row, skips: bool);
    /// The levels.
    fn book(&self) -> &FlatBook;
}

impl Market for FlatBook {
    fn new(recording: &Recording) -> Result<Self, BacktestError> {
        Self::new(recording.ticks())
    }

    #[inline]
    fn take(&mut self, row: &Row, skips: bool) {
        match (row.kind(), row.side()) {
            (RowKind::Level, Some(side)) => _ = self.set(side, row.tick(), row.lots()),
            (RowKind::Clear, Some(side)) => self.clear(side, row.tick(), skips),
            (RowKind::Clear, None) => Side::BOTH.into_iter().for_each(|side| self.clear_all(side)),
            _ => {}
        }
    }

    fn book(&self) -> &FlatBook {
        self
    }
}

/// The orders of a recording, by number, and the levels that they add up to.
#[derive(Clone, Debug)]
pub struct OrderLevels {
    book: FlatBook,
    orders: Vec<Resting>,
    /// Of each side, where those stand that came since it was cleared.
    span: [Span; 2],
    places: u64,
}

/// Between which numbers a side has its orders: a recording numbers them as they come, and clears
/// what came before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    from: usize,
    to: usize,
}

impl Span {
    /// An order came.
    #[inline]
    pub(crate) fn add(&mut self, number: usize) {
        self.from = if self.from == self.to { number } else { self.from.min(number) };
        self.to = self.to.max(number + 1);
    }

    /// The orders between, of all; there are none from now on.
    pub(crate) fn take<'a, T>(&mut self, all: &'a mut [T]) -> &'a mut [T] {
        let Self { from, to } = core::mem::take(self);
        all.get_mut(from..to).unwrap_or_default()
    }
}

/// A market's order. It has no lots when it is not there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resting {
    pub side: Side,
    pub tick: i64,
    pub lots: i64,
    /// Of two orders at a price the one with the smaller place comes first.
    pub place: u64,
}

/// What a row did: to which side, the best of which was this key before.
pub(crate) struct Touched {
    pub side: Side,
    pub best_before: i64,
}

impl OrderLevels {
    /// Where the order stands that a row is about, if it is there: its side and its tick.
    #[must_use]
    pub fn place_of(&self, row: &Row) -> Option<(Side, i64)> {
        self.order(row).map(|order| (order.side, order.tick))
    }

    /// The order that a row is about, if it is there: its side, its tick and its lots.
    #[must_use]
    pub fn resting(&self, row: &Row) -> Option<(Side, i64, i64)> {
        self.order(row).map(|order| (order.side, order.tick, order.lots))
    }

    /// The numbers of a side's orders ([`Row::order`]), in the order of their numbers.
    pub fn numbers(&self, side: Side) -> impl Iterator<Item = usize> + '_ {
        let Span { from, to } = self.span[side.index()];
        let orders = self.orders.get(from..to).unwrap_or_default();
        let is_it = move |it: &Resting| it.lots > 0 && it.side == side;
        (from..to).zip(orders).filter(move |(_, it)| is_it(it)).map(|(number, _)| number)
    }

    /// The order that a row is about, if it is there.
    pub(crate) fn order(&self, row: &Row) -> Option<&Resting> {
        self.orders.get(row.order()).filter(|order| order.lots > 0)
    }

    /// A place behind all others.
    pub(crate) fn next_place(&mut self) -> u64 {
        self.places += 1;
        self.places
    }

    /// An order came; nothing happens when it is there already or has no side.
    #[inline]
    pub(crate) fn add(&mut self, row: &Row) -> Option<Touched> {
        let (side, tick, lots) = (row.side()?, row.tick(), row.lots());
        let place = self.next_place();
        let order = self.orders.get_mut(row.order()).filter(|order| order.lots == 0)?;
        *order = Resting { side, tick, lots, place };
        self.span[side.index()].add(row.order());
        Some(self.change(side, tick, lots))
    }

    /// An order has another price or quantity. None when it is not there, or keeps its price.
    #[inline]
    pub(crate) fn modify(&mut self, row: &Row) -> Option<Touched> {
        let (tick, lots) = (row.tick(), row.lots());
        if lots == 0 {
            self.cancel(row);
            return None;
        }
        let behind = self.next_place();
        let order = self.orders.get_mut(row.order()).filter(|order| order.lots > 0)?;
        let old = *order;
        let place = if tick != old.tick || lots > old.lots { behind } else { old.place };
        *order = Resting { tick, lots, place, ..old };
        if tick == old.tick {
            let level = self.book.lots(old.side, tick) + lots - old.lots;
            self.book.store(old.side, tick, level);
            return None;
        }
        let best_before = self.book.best_key(old.side);
        self.change(old.side, old.tick, -old.lots);
        self.change(old.side, tick, lots);
        Some(Touched { side: old.side, best_before })
    }

    /// An order left.
    #[inline]
    pub(crate) fn cancel(&mut self, row: &Row) {
        let Some(order) = self.orders.get_mut(row.order()).filter(|order| order.lots > 0) else {
            return;
        };
        let Resting { side, tick, lots, .. } = *order;
        order.lots = 0;
        self.change(side, tick, -lots);
    }

    /// All orders of a side are gone.
    pub(crate) fn clear(&mut self, side: Side) {
        let orders = self.span[side.index()].take(&mut self.orders);
        orders.iter_mut().filter(|order| order.side == side).for_each(|order| order.lots = 0);
        self.book.clear_all(side);
    }

    #[inline]
    fn change(&mut self, side: Side, tick: i64, lots: i64) -> Touched {
        let level = self.book.lots(side, tick) + lots;
        let change = self.book.set(side, tick, level);
        Touched { side, best_before: change.map_or(key(side, tick), |change| change.best_before) }
    }
}

impl Market for OrderLevels {
    fn new(recording: &Recording) -> Result<Self, BacktestError> {
        let nobody = Resting { side: Side::Buy, tick: 0, lots: 0, place: 0 };
        let book = FlatBook::new(recording.ticks())?;
        Ok(Self {
            book,
            orders: vec![nobody; recording.orders()],
            span: [Span::default(); 2],
            places: 0,
        })
    }

    #[inline]
    fn take(&mut self, row: &Row, _: bool) {
        match row.kind() {
            RowKind::Add => _ = self.add(row),
            RowKind::Modify => _ = self.modify(row),
            RowKind::Cancel => self.cancel(row),
            RowKind::Clear => match row.side() {
                Some(side) => self.clear(side),
                None => Side::BOTH.into_iter().for_each(|side| self.clear(side)),
            },
            RowKind::Level | RowKind::Trade | RowKind::Fill => {}
        }
    }

    fn book(&self) -> &FlatBook {
        &self.book
    }
}
