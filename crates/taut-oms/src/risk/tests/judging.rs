//! Other limits beside those that hold.

use super::*;

fn other(change: impl FnOnce(&mut RiskLimits)) -> OtherLimits {
    let mut limits = limits();
    change(&mut limits);
    OtherLimits::new(limits, Nanos::ZERO)
}

#[test]
fn other_limits_judge_each_order_and_count_nothing_of_those_that_hold() {
    let mut risk = risk();
    let mut smaller = other(|limits| {
        limits.set_orders_default(OrderLimits { long_lots_max: Lots(25), ..ORDERS });
        limits.duplicate_window = Nanos::ZERO;
    });
    let mut same = other(|limits| limits.duplicate_window = Nanos::ZERO);
    for number in 1..=4 {
        let (id, terms) = (id(number), order(Side::Buy, 100, 10));
        let now = Nanos(1_000 * number as i64);
        let held = (risk.position(APPLE, ACCOUNT), risk.open_lots(APPLE, ACCOUNT, Side::Buy));
        // Twenty lots are open with the second order: the third is one too many.
        let judged = risk.judge(&mut smaller, now, (id, &terms), &MARKET, no_own);
        let due = if number > 2 { Err(RiskReject::Position) } else { Ok(()) };
        assert_eq!(judged, due, "{number}");
        assert_eq!(risk.judge(&mut same, now, (id, &terms), &MARKET, no_own), Ok(()));
        let now_held = (risk.position(APPLE, ACCOUNT), risk.open_lots(APPLE, ACCOUNT, Side::Buy));
        assert_eq!(now_held, held, "nothing is counted");
        assert_eq!(risk.check(now, id, &terms, &MARKET, no_own), SENT, "it leaves");
    }
}

#[test]
fn budgets_of_other_limits_are_their_own() {
    let mut risk = risk();
    let mut slow = other(|limits| {
        limits.venue.orders = Rate { per_second: 1, burst: 2 };
        limits.duplicate_window = Nanos::ZERO;
    });
    let mut refused = 0;
    for number in 1..=10 {
        let (id, terms, now) = (id(number), order(Side::Buy, 100, 2), Nanos(number as i64));
        let judged = risk.judge(&mut slow, now, (id, &terms), &MARKET, no_own);
        refused += u32::from(judged == Err(RiskReject::VenueRate));
        assert_eq!(
            risk.check(Nanos(1_000 * now.0), id, &terms, &MARKET, no_own),
            SENT,
            "it leaves"
        );
    }
    assert_eq!(refused, 8, "two are in its budget");
}

#[test]
fn limits_of_other_sizes_know_nothing() {
    let mut risk = risk();
    let sizes = RiskSizes { instruments: 5, ..SIZES };
    let mut other = OtherLimits::new(RiskLimits::closed(sizes), Nanos::ZERO);
    let terms = order(Side::Buy, 100, 2);
    let judged = risk.judge(&mut other, Nanos(1), (id(1), &terms), &MARKET, no_own);
    assert_eq!(judged, Err(RiskReject::Unknown));
    assert_eq!(risk.check(Nanos(1), id(1), &terms, &MARKET, no_own), SENT, "as before");
}
