//! The single orders of a snapshot while its parts come in.

use alloc::vec::Vec;
use core::ops::Range;

use crate::event::BookOrder;
use crate::native::group::Orders;

/// Parts in the order in which they came, each with its place in the snapshot: their queues are
/// known when they are put in order.
#[derive(Debug)]
pub(crate) struct OrderParts {
    /// Reserved at once, touched as it is used.
    orders: Vec<BookOrder>,
    parts: Vec<Part>,
    capacity: usize,
    /// More orders have come than there is room for.
    is_full: bool,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    packet_index: u32,
    start: usize,
    len: usize,
}

impl OrderParts {
    /// Room for so many orders; for none where nobody wants any.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let (orders, parts) = (Vec::with_capacity(capacity), Vec::with_capacity(capacity));
        Self { orders, parts, capacity, is_full: false }
    }

    pub(crate) fn clear(&mut self) {
        self.orders.clear();
        self.parts.clear();
        self.is_full = false;
    }

    /// Takes the part in this packet of the snapshot. One that is there already came twice.
    pub(crate) fn take(&mut self, packet_index: u32, orders: &Orders<'_>) {
        let is_there = self.parts.iter().any(|part| part.packet_index == packet_index);
        if is_there || orders.is_empty() {
            return;
        }
        let (start, len) = (self.orders.len(), orders.len());
        self.is_full |= len > self.capacity - start;
        if !self.is_full {
            self.orders.extend(orders.iter());
            self.parts.push(Part { packet_index, start, len });
        }
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.is_full
    }

    /// How many have come.
    pub(crate) const fn len(&self) -> usize {
        self.orders.len()
    }

    /// How many there is room for.
    pub(crate) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// The orders, as the snapshot lists them.
    pub(crate) fn in_order(&mut self) -> impl Iterator<Item = BookOrder> {
        self.parts.sort_unstable_by_key(|part| part.packet_index);
        let orders = &self.orders;
        let run = |part: &Part| Range { start: part.start, end: part.start + part.len };
        self.parts.iter().filter_map(move |part| orders.get(run(part))).flatten().copied()
    }
}
