//! The queues of a market, kept by a strategy from what it is told.

use std::collections::BTreeMap;

use taut_market_data::{Batch, EventKind, Soundness};
use taut_types::{Lots, OrderId, Price, Side};

/// An order in its queue.
pub type Queued = (Side, Price, OrderId, Lots);

/// The queues of a side, lowest price first.
type Levels = BTreeMap<Price, Vec<(OrderId, Lots)>>;

/// The single orders of an instrument.
#[derive(Clone, Debug, Default)]
pub struct Queues {
    is_sound: bool,
    is_listing: bool,
    /// Bids and offers; nothing while they are not known.
    orders: Option<[Levels; 2]>,
}

impl Queues {
    /// Takes an event; whether it is of single orders.
    pub fn take(&mut self, kind: &EventKind) -> bool {
        match *kind {
            EventKind::Book(soundness) => {
                *self = Self { is_sound: soundness == Soundness::Sound, ..Self::default() };
                return false;
            }
            EventKind::Begin(Batch::Orders) => {
                assert!(self.is_sound, "a list of a book that is stale");
                (self.orders, self.is_listing) = (Some(Default::default()), true);
            }
            EventKind::End { is_final } => {
                assert!(std::mem::take(&mut self.is_listing), "the end of no list");
                self.orders = self.orders.take().filter(|_| is_final);
            }
            EventKind::OrderAdd(order) => {
                let orders = self.orders.as_mut().expect("a list before it");
                let queue = orders[order.side as usize].entry(order.price).or_default();
                assert!(queue.iter().all(|(id, _)| *id != order.order_id), "{order:?} is there");
                queue.push((order.order_id, order.lots));
            }
            EventKind::OrderReduce { order_id, side, by, remaining, .. } => {
                self.change(side, order_id, |lots| {
                    assert_eq!(lots.0 - by.0, remaining.0, "{kind:?}");
                    remaining
                });
            }
            EventKind::OrderDelete { order_id, side } => {
                self.change(side, order_id, |_| Lots::ZERO);
            }
            _ => return false,
        }
        true
    }

    fn change(&mut self, side: Side, order_id: OrderId, left: impl Fn(Lots) -> Lots) {
        let orders = self.orders.as_mut().expect("a list before it");
        let mut queues = orders[side as usize].values_mut();
        let found = queues.find_map(|queue| {
            let at = queue.iter().position(|(id, _)| *id == order_id)?;
            Some((queue, at))
        });
        let (queue, at) = found.unwrap_or_else(|| panic!("{order_id:?} is not known"));
        match left(queue[at].1) {
            Lots::ZERO => _ = queue.remove(at),
            lots => queue[at].1 = lots,
        }
    }

    /// All orders, best price first, those of a price in the order of their priority; nothing while
    /// they are not known.
    pub fn all(&self) -> Option<Vec<Queued>> {
        let [bids, asks] = self.orders.as_ref().filter(|_| !self.is_listing)?;
        let of = |side, (price, queue): (&Price, &Vec<(OrderId, Lots)>)| -> Vec<Queued> {
            queue.iter().map(|(id, lots)| (side, *price, *id, *lots)).collect()
        };
        let bids = bids.iter().rev().flat_map(|level| of(Side::Buy, level));
        Some(bids.chain(asks.iter().flat_map(|level| of(Side::Sell, level))).collect())
    }
}
