//! What is checked in an order by itself, before it may touch anything.

use taut_types::{HalfTicks, Lots, OrderType};

use crate::event::RejectReason;
use crate::order::NewOrder;
use crate::terms::{Features, Trigger, feature as f};

/// Terms that contradict each other: an order with any of the first must have none of the second.
const CONFLICTS: [(Features, Features); 10] = [
    (f::POST, f::MARKET),
    (f::STOP, f::PEG | f::POST | f::AUCTION),
    (f::PEG, f::POST | f::ICEBERG | f::MINIMUM | f::ALL_OR_NONE | f::AUCTION | f::MARKET),
    (f::PEG | f::POST | f::AUCTION, f::IMMEDIATE | f::FILL_OR_KILL),
    (f::ICEBERG | f::HIDDEN | f::ALL_OR_NONE, f::IMMEDIATE | f::FILL_OR_KILL | f::MARKET),
    (f::ICEBERG, f::HIDDEN | f::ALL_OR_NONE),
    (f::MINIMUM, f::ALL_OR_NONE | f::FILL_OR_KILL),
    (f::AUCTION, f::POST | f::MINIMUM | f::ALL_OR_NONE | f::PROTECTION | f::EXPIRY),
    (f::EXPIRY, f::DAY | f::IMMEDIATE | f::FILL_OR_KILL),
    (f::PROTECTION | f::POST, f::ALL_OR_NONE | f::MINIMUM),
];

/// An iceberg's quantity is at most so many times what it displays, which bounds the refills that
/// one taker can cause.
const DISPLAY_PARTS_MAX: i64 = 1_000;

/// Checks the quantity and the price of an order without terms.
#[inline]
pub(crate) fn check_plain(order: &NewOrder) -> Result<(), RejectReason> {
    if order.lots <= Lots::ZERO {
        return Err(RejectReason::NonPositiveLots);
    }
    if order.order_type == OrderType::Limit && !is_tick(order.price) {
        return Err(RejectReason::BadPrice);
    }
    Ok(())
}

/// Checks an order with its terms.
pub(crate) fn check(order: &NewOrder) -> Result<(), RejectReason> {
    check_plain(order)?;
    let terms = &order.terms;
    if terms.has(f::STOP) && !is_tick(terms.trigger_price) {
        return Err(RejectReason::BadTrigger);
    }
    if terms.trigger == Trigger::Trailing && terms.offset <= 0 {
        return Err(RejectReason::BadDistance);
    }
    let within = |lots: Lots| lots > Lots::ZERO && lots <= order.lots;
    if terms.has(f::ICEBERG)
        && (!within(terms.display) || order.lots.0 / terms.display.0 > DISPLAY_PARTS_MAX)
    {
        return Err(RejectReason::BadDisplay);
    }
    if terms.has(f::MINIMUM) && !within(terms.minimum) {
        return Err(RejectReason::BadMinimum);
    }
    let features = order.features();
    let conflict = CONFLICTS.iter().any(|(a, b)| features & a != 0 && features & b != 0);
    if conflict || features & f::PROTECTION != 0 && features & f::LIMIT != 0 {
        return Err(RejectReason::Conflict);
    }
    Ok(())
}

/// A limit stands on a whole tick; the half ticks between belong to midpoints.
const fn is_tick(price: HalfTicks) -> bool {
    price.0 > 0 && price.0 % 2 == 0
}
