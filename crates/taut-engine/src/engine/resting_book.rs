//! A place where orders wait: a book, and what the engine knows of the orders beyond it.

use alloc::{boxed::Box, vec};

use taut_book::{BookError, Handle, Order, OrderBook, Placement};
use taut_types::{OrderType, TimeInForce};

use crate::order::NewOrder;

/// The order has a note.
pub(super) const NOTED: u8 = 1;
/// The order ends with the day.
pub(super) const DAY: u8 = 1 << 1;
/// The order has traded; how much is known.
pub(super) const FILLED: u8 = 1 << 2;

/// The four places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BookKind {
    /// The displayed book.
    Lit = 0,
    /// What can trade without being displayed: hidden, pegged and all-or-none orders.
    Dark = 1,
    /// What waits for its trigger. The price is the trigger's; those that fire when the market
    /// falls to it are bids, for the highest comes first, those that fire when it rises are offers.
    Pending = 2,
    /// What waits for an auction or for a market to be pegged to, without a price.
    Parked = 3,
}

impl BookKind {
    pub(super) const ALL: [Self; 4] = [Self::Lit, Self::Dark, Self::Pending, Self::Parked];
}

/// What is known of an order with terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Note {
    /// The order as it was entered, or last replaced.
    pub(super) order: NewOrder,
    /// What an iceberg does not display.
    pub(super) reserve: i64,
}

/// Orders that wait in one place.
#[derive(Clone, Debug)]
pub(super) struct RestingBook {
    pub(super) book: OrderBook,
    notes: Box<[Note]>,
    filled: Box<[i64]>,
}

impl RestingBook {
    pub(super) fn new(book: OrderBook) -> Self {
        let order_capacity = book.order_capacity();
        Self {
            book,
            notes: vec![Note::default(); order_capacity].into_boxed_slice(),
            filled: vec![0; order_capacity].into_boxed_slice(),
        }
    }

    /// Puts an order at the end of its queue, with what is known of it.
    pub(super) fn place(
        &mut self,
        order: Order,
        note: &Note,
        filled: i64,
    ) -> Result<Placement, BookError> {
        let tag = tag_for(&note.order) | if filled > 0 { FILLED } else { 0 };
        let placement = self.book.place(order, tag)?;
        let index = placement.handle.index();
        if tag & NOTED != 0 {
            self.notes[index] = *note;
        }
        if filled > 0 {
            self.filled[index] = filled;
        }
        Ok(placement)
    }

    /// Replaces what is known of an order that keeps its place.
    pub(super) fn amend(&mut self, handle: Handle, note: &Note) {
        let tag = tag_for(&note.order) | self.book.tag(handle) & FILLED;
        self.book.set_tag(handle, tag);
        self.notes[handle.index()] = *note;
    }

    pub(super) fn note(&self, handle: Handle) -> &Note {
        &self.notes[handle.index()]
    }

    pub(super) fn note_mut(&mut self, handle: Handle) -> &mut Note {
        &mut self.notes[handle.index()]
    }

    pub(super) fn filled(&self, handle: Handle, tag: u8) -> i64 {
        if tag & FILLED == 0 { 0 } else { self.filled[handle.index()] }
    }

    /// Remembers that a resting order has traded.
    #[inline]
    pub(super) fn add_filled(&mut self, handle: Handle, tag: u8, lots: i64) {
        let filled = &mut self.filled[handle.index()];
        if tag & FILLED == 0 {
            *filled = lots;
            self.book.set_tag(handle, tag | FILLED);
        } else {
            *filled = filled.saturating_add(lots);
        }
    }
}

fn tag_for(order: &NewOrder) -> u8 {
    let is_day = order.time_in_force == TimeInForce::Day;
    let is_noted = !order.terms.is_none() || order.order_type == OrderType::Market;
    (u8::from(is_day) * DAY) | (u8::from(is_noted) * NOTED)
}
