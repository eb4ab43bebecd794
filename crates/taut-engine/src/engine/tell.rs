//! Orders as the book keeps them, and what is told about them.

use taut_book::{Level, Order};
use taut_types::{HalfTicks, Lots, Side, TimeInForce};

use super::resting_book::DAY;
use crate::event::{CancelReason, Event, RejectReason};
use crate::order::NewOrder;

/// The tag of a day order.
#[inline]
pub(super) fn day(order: &NewOrder) -> u8 {
    if order.time_in_force == TimeInForce::Day { DAY } else { 0 }
}

/// Why the book did not take an order.
#[cold]
pub(super) fn refused(error: taut_book::BookError) -> RejectReason {
    match error {
        taut_book::BookError::DuplicateOrder => RejectReason::DuplicateOrderId,
        _ => RejectReason::BookFull,
    }
}

#[inline]
pub(super) const fn resting(order: &NewOrder, lots: Lots) -> Order {
    let NewOrder { order_id: id, owner, side, price, .. } = *order;
    Order { id, owner, side, price, lots }
}

#[inline]
pub(super) const fn accepted(order: &NewOrder) -> Event {
    let NewOrder { order_id, owner, side, price, lots, .. } = *order;
    Event::Accepted { order_id, owner, side, price, lots }
}

#[inline]
pub(super) const fn rested(order: &NewOrder, lots: Lots) -> Event {
    let NewOrder { order_id, side, price, .. } = *order;
    Event::Rested { order_id, side, price, lots, hidden: false }
}

pub(super) const fn cancelled(order: &NewOrder, lots: Lots, reason: CancelReason) -> Event {
    let NewOrder { order_id, owner, side, price, .. } = *order;
    Event::Cancelled { order_id, owner, side, price, lots, reason, was_resting: false }
}

pub(super) const fn remainder_cancelled(order: &NewOrder, lots: Lots) -> Event {
    let reason = match order.time_in_force {
        TimeInForce::FillOrKill => CancelReason::FillOrKill,
        _ => CancelReason::Remainder,
    };
    cancelled(order, lots, reason)
}

#[inline]
pub(super) const fn level_event(side: Side, level: Level<HalfTicks>) -> Event {
    Event::Level { side, price: level.price, lots: level.lots, order_count: level.order_count }
}
