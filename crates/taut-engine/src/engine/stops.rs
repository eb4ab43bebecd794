//! Orders that wait for a trade: stops, take-profits, trailing stops.
//!
//! A trade price fires every trigger that it reaches, in the order of triggers: as the market meets
//! them, at one price the oldest first. What has fired enters one after the other, and what these
//! orders trade fires further triggers, which queue up behind: a cascade is a loop over a queue,
//! and each waiting order enters once at most.

use taut_book::Order;
use taut_types::{HalfTicks, Lots, Side};

use super::resting_book::BookKind;
use super::state::{Engine, Fired};
use crate::command::Phase;
use crate::event::{Event, EventSink};
use crate::order::NewOrder;
use crate::terms::{Trigger, feature as f};

/// Whether a waiting order fires when the market rises to its trigger price, or else when it falls
/// to it.
pub(super) fn fires_when_rising(order: &NewOrder) -> bool {
    (order.side == Side::Buy) != (order.terms.trigger == Trigger::TakeProfit)
}

impl Engine {
    /// Whether the last trade has reached the trigger; before the first trade nothing has.
    pub(super) fn is_triggered(&self, order: &NewOrder) -> bool {
        let (last, trigger) = (self.last, order.terms.trigger_price.0);
        last != 0 && if fires_when_rising(order) { last >= trigger } else { last <= trigger }
    }

    /// All that follows from the command's trades and from the new top of the book.
    pub(super) fn settle(&mut self, sink: &mut impl EventSink) {
        loop {
            self.fire_reached(sink);
            if let Some(&Fired { order, filled }) = self.fired.get(self.fired_next) {
                self.fired_next += 1;
                sink.on_event(Event::Triggered { order_id: order.order_id });
                self.proceed(&order, filled, None, sink);
            } else if !self.reprice_pegs(sink) {
                break;
            }
        }
        self.fired.clear();
        self.fired_next = 0;
    }

    /// Fires what the last taker's trades have reached.
    pub(super) fn fire_reached(&mut self, sink: &mut impl EventSink) {
        if self.first != 0 {
            // The prices of a sweep run one way, so its ends stand for all between them.
            let ends = [self.first, self.last];
            self.first = 0;
            if self.phase != Phase::Closed && self.pending.book.order_count() > 0 {
                ends.into_iter().for_each(|price| self.fire(price, sink));
            }
        }
    }

    /// Moves trailing triggers after a trade at this price, then fires those that it reaches.
    fn fire(&mut self, price: i64, sink: &mut impl EventSink) {
        if self.trailing_count > 0 {
            self.trail(price, sink);
        }
        for side in [Side::Sell, Side::Buy] {
            while let Some(handle) = self.pending.book.best_handle(side) {
                let trigger = self.pending.book.order_at(handle).price.0;
                if if side == Side::Sell { trigger > price } else { trigger < price } {
                    break;
                }
                let waiting = self.describe(BookKind::Pending, handle);
                self.take_out(&waiting);
                let order = NewOrder { lots: Lots(waiting.shown), ..waiting.note.order };
                self.fired.push(Fired { order: order.triggered(), filled: waiting.filled });
            }
        }
    }

    fn trail(&mut self, price: i64, sink: &mut impl EventSink) {
        let mut handles = core::mem::take(&mut self.handles);
        for side in [Side::Sell, Side::Buy] {
            handles.clear();
            handles.extend(self.pending.book.handles(side));
            for &handle in &handles {
                let note = *self.pending.note(handle);
                let order = self.pending.book.order_at(handle);
                let distance = i64::from(note.order.terms.offset);
                let (follows, trigger) = match side {
                    Side::Sell => {
                        let trigger = price.saturating_add(distance);
                        (trigger < order.price.0, trigger)
                    }
                    Side::Buy => {
                        let trigger = price.saturating_sub(distance);
                        (trigger > order.price.0, trigger)
                    }
                };
                let fits = self
                    .pending
                    .book
                    .level_at(side, HalfTicks(trigger))
                    .is_none_or(|level| level.lots.0.checked_add(order.lots.0).is_some());
                if note.order.terms.has(f::TRAILING) && follows && fits {
                    let filled = self.pending.filled(handle, self.pending.book.tag(handle));
                    let _ = self.pending.book.withdraw(order.id);
                    let moved = Order { price: HalfTicks(trigger), ..order };
                    // It has just made room for itself.
                    let _ = self.pending.place(moved, &note, filled);
                    sink.on_event(Event::Repriced {
                        order_id: order.id,
                        side: note.order.side,
                        price: moved.price,
                    });
                }
            }
        }
        self.handles = handles;
    }
}
