//! Our orders that rest in the engine's book.

use alloc::vec::Vec;

use taut_types::{OrderId, Side};

use super::names::FIRST_OWN;
use crate::order::Order;

/// One of our orders, and what the engine calls it.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    pub engine_id: OrderId,
    pub order: Order,
}

/// Our orders in the order of the engine's ids, which are those of their arrival.
#[derive(Debug)]
pub struct OwnOrders {
    resting: Vec<Own>,
    next: u64,
}

impl OwnOrders {
    pub fn new() -> Self {
        Self { resting: Vec::with_capacity(64), next: FIRST_OWN }
    }

    /// Whether none rests.
    pub const fn is_empty(&self) -> bool {
        self.resting.is_empty()
    }

    /// An id for an order that comes.
    pub fn next_id(&mut self) -> OrderId {
        self.next += 1;
        OrderId(self.next)
    }

    /// The order that its owner calls so.
    pub fn find(&self, id: u64) -> Option<Own> {
        self.resting.iter().find(|own| own.order.id == id).copied()
    }

    /// The order that the engine calls so.
    pub fn get_mut(&mut self, engine_id: OrderId) -> Option<&mut Order> {
        let at = self.place(engine_id).ok()?;
        self.resting.get_mut(at).map(|own| &mut own.order)
    }

    /// One of a side.
    pub fn first_of(&self, side: Side) -> Option<Own> {
        self.resting.iter().find(|own| own.order.side == side).copied()
    }

    /// An order rests from now on.
    pub fn insert(&mut self, own: Own) {
        match self.place(own.engine_id) {
            Ok(at) => self.resting[at] = own,
            Err(at) => self.resting.insert(at, own),
        }
    }

    /// An order does not rest any more.
    pub fn remove(&mut self, engine_id: OrderId) {
        if let Ok(at) = self.place(engine_id) {
            self.resting.remove(at);
        }
    }

    fn place(&self, engine_id: OrderId) -> Result<usize, usize> {
        self.resting.binary_search_by_key(&engine_id, |own| own.engine_id)
    }
}
