//! What the recording has said so far: of each order, and of the trades of one instant.

use alloc::vec;
use alloc::vec::Vec;

use taut_types::Side;

use crate::book::key;
use crate::market::Span;
use crate::row::Row;

/// What the recording said of an order. It has no lots when the recording does not have it.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub side: Side,
    pub tick: i64,
    /// What it had by the last row that said so.
    pub lots: i64,
    /// What was filled since.
    pub filled: i64,
}

impl Told {
    /// What the recording has left of it.
    pub const fn rest(&self) -> i64 {
        self.lots - self.filled
    }
}

/// The trades of one instant by aggressor: those told by a trade, those told by the orders that
/// they filled. Where a recording tells both, the larger sum is what was traded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traded {
    told: i64,
    filled: i64,
    /// The price furthest from where the aggressor came from.
    limit: i64,
}

/// All orders by number, and the instant at which the recording is.
#[derive(Debug)]
pub struct Recorded {
    orders: Vec<Told>,
    /// Of each side, where those stand that came since it was cleared.
    span: [Span; 2],
    at: i64,
    traded: [Traded; 2],
}

impl Recorded {
    pub fn new(orders: usize) -> Self {
        let nobody = Told { side: Side::Buy, tick: 0, lots: 0, filled: 0 };
        let (orders, span) = (vec![nobody; orders], [Span::default(); 2]);
        Self { orders, span, at: i64::MIN, traded: [Traded::default(); 2] }
    }

    /// The instant of the last row.
    pub const fn at(&self) -> i64 {
        self.at
    }

    /// Another instant: returns what of the last one's trades no order was named for, by
    /// aggressor, with the limit.
    pub fn begin(&mut self, at: i64) -> [(i64, i64); 2] {
        self.at = at;
        let traded = core::mem::take(&mut self.traded);
        traded.map(|traded| ((traded.told - traded.filled).max(0), traded.limit))
    }

    /// Whether the instant has trades.
    pub fn has_traded(&self) -> bool {
        self.traded.iter().any(|traded| traded.told > 0)
    }

    /// The order that a row is about, if the recording has it.
    pub fn order(&self, row: &Row) -> Option<&Told> {
        self.orders.get(row.order()).filter(|told| told.lots > 0)
    }

    /// What the recording has left of the order with a number.
    pub fn rest(&self, number: u64) -> i64 {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        self.orders.get(number).map_or(0, Told::rest)
    }

    /// What the recording says of an order from now on.
    pub fn set(&mut self, row: &Row, told: Told) {
        if let Some(order) = self.orders.get_mut(row.order()) {
            *order = told;
            self.span[told.side.index()].add(row.order());
        }
    }

    /// The recording has no orders of a side any more.
    pub fn clear(&mut self, side: Side) {
        let orders = self.span[side.index()].take(&mut self.orders).iter_mut();
        let orders = orders.filter(|told| told.side == side);
        orders.for_each(|told| (told.lots, told.filled) = (0, 0));
    }

    /// A trade was told.
    pub fn trade(&mut self, aggressor: Side, row: &Row) {
        let traded = &mut self.traded[aggressor.index()];
        let (side, is_first) = (aggressor.opposite(), traded.told == 0);
        traded.told = traded.told.saturating_add(row.lots());
        if is_first || key(side, row.tick()) < key(side, traded.limit) {
            traded.limit = row.tick();
        }
    }

    /// Lots of an aggressor's trades are those of a fill.
    pub fn fill(&mut self, aggressor: Side, lots: i64) {
        let traded = &mut self.traded[aggressor.index()];
        traded.filled = traded.filled.saturating_add(lots);
    }

    /// What of an aggressor's trades of this instant, for which no order was named yet, may have
    /// filled an order.
    pub fn may_have_filled(&self, order: &Told) -> i64 {
        let traded = &self.traded[order.side.opposite().index()];
        let is_within = key(order.side, order.tick) >= key(order.side, traded.limit);
        if is_within { (traded.told - traded.filled).max(0) } else { 0 }
    }
}
