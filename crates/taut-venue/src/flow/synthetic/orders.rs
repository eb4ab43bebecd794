//! The flow's own view of its resting orders, on a grid of ticks.

use taut_types::{Lots, OrderId, Side};

use crate::ids::ById;

/// Orders by id, and per side and tick.
#[derive(Clone, Debug)]
pub(super) struct Orders {
    orders: ById<Resting>,
    /// Per side, the orders of every tick of the grid, in no order that means anything.
    ticks: [Vec<Vec<OrderId>>; 2],
    level_counts: [usize; 2],
    /// Per side, the outermost tick that ever had an order; the level may be gone by now.
    edges: [Option<i64>; 2],
    first_tick: i64,
    last_tick: i64,
    target: usize,
}

#[derive(Clone, Copy, Debug)]
struct Resting {
    side: Side,
    tick: i64,
    lots: Lots,
    /// Where it stands in its tick's list.
    place: usize,
}

impl Orders {
    /// No orders, on a grid from one tick to another.
    pub(super) fn new(first_tick: i64, last_tick: i64) -> Self {
        let len = usize::try_from(last_tick - first_tick + 1).unwrap_or(0);
        Self {
            orders: ById::default(),
            ticks: [vec![Vec::new(); len], vec![Vec::new(); len]],
            level_counts: [0; 2],
            edges: [None; 2],
            first_tick,
            last_tick,
            target: 0,
        }
    }

    /// From now on the population is drawn back to what it is.
    pub(super) fn set_target(&mut self) {
        self.target = self.orders.len().max(1);
    }

    /// How likely an addition should be rather than a cancellation: 1 % fewer orders than at the
    /// start make it 5 % likelier.
    pub(super) fn add_per_mille(&self) -> u64 {
        let (now, target) = (self.orders.len() as i64, self.target as i64);
        u64::try_from((500 + (target - now) * 5_000 / target).clamp(50, 950)).unwrap_or(500)
    }

    pub(super) fn order_count(&self) -> usize {
        self.orders.len()
    }

    pub(super) fn level_count(&self, side: Side) -> usize {
        self.level_counts[side.index()]
    }

    /// The nearest tick of the grid.
    pub(super) fn clamp(&self, tick: i64) -> i64 {
        tick.clamp(self.first_tick, self.last_tick)
    }

    /// How many orders a tick has on this side.
    pub(super) fn orders_at(&self, side: Side, tick: i64) -> usize {
        self.list(side, tick).len()
    }

    /// The total quantity of a tick on this side.
    pub(super) fn lots_at(&self, side: Side, tick: i64) -> i64 {
        self.list(side, tick).iter().filter_map(|id| self.lots(*id)).map(|lots| lots.0).sum()
    }

    /// One of the orders of a tick.
    pub(super) fn pick(&self, side: Side, tick: i64, index: u64) -> Option<OrderId> {
        self.list(side, tick).get(usize::try_from(index).ok()?).copied()
    }

    /// What is left of an order.
    pub(super) fn lots(&self, id: OrderId) -> Option<Lots> {
        self.orders.get(&id).map(|order| order.lots)
    }

    /// The outermost tick with an order on this side.
    pub(super) fn edge(&mut self, side: Side) -> Option<i64> {
        let mut edge = self.edges[side.index()]?;
        while self.list(side, edge).is_empty() {
            edge += side.sign();
            if edge < self.first_tick || edge > self.last_tick {
                self.edges[side.index()] = None;
                return None;
            }
        }
        self.edges[side.index()] = Some(edge);
        Some(edge)
    }

    /// Takes in an order at a tick of the grid.
    pub(super) fn insert(&mut self, id: OrderId, side: Side, tick: i64, lots: Lots) {
        let Some(slot) = self.slot(tick) else { return };
        let list = &mut self.ticks[side.index()][slot];
        self.level_counts[side.index()] += usize::from(list.is_empty());
        self.orders.insert(id, Resting { side, tick, lots, place: list.len() });
        list.push(id);
        let edge = &mut self.edges[side.index()];
        *edge = Some(edge.map_or(tick, |edge| match side {
            Side::Buy => edge.min(tick),
            Side::Sell => edge.max(tick),
        }));
    }

    /// Sets what is left of an order, and forgets it when that is nothing.
    pub(super) fn set_lots(&mut self, id: OrderId, lots: Lots) {
        if lots > Lots::ZERO {
            if let Some(order) = self.orders.get_mut(&id) {
                order.lots = lots;
            }
        } else if let Some(order) = self.orders.remove(&id) {
            self.unlist(order);
        }
    }

    fn unlist(&mut self, order: Resting) {
        let Some(slot) = self.slot(order.tick) else { return };
        let list = &mut self.ticks[order.side.index()][slot];
        list.swap_remove(order.place);
        if let Some(moved) = list.get(order.place).and_then(|id| self.orders.get_mut(id)) {
            moved.place = order.place;
        }
        self.level_counts[order.side.index()] -= usize::from(list.is_empty());
    }

    fn list(&self, side: Side, tick: i64) -> &[OrderId] {
        self.slot(tick).map_or(&[], |slot| &self.ticks[side.index()][slot])
    }

    fn slot(&self, tick: i64) -> Option<usize> {
        let inside = (self.first_tick..=self.last_tick).contains(&tick);
        if inside { usize::try_from(tick - self.first_tick).ok() } else { None }
    }
}
