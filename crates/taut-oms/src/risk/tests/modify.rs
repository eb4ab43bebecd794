//! Modifies: the larger of both orders is counted until the venue has answered.

use super::*;

fn modify<'a>(old: &'a OrderTerms, new: &'a OrderTerms) -> Modify<'a> {
    Modify { id: id(1), old, lots_counted: old.lots, new, lots_left: new.lots }
}

fn answer(risk: &mut Risk, old: &OrderTerms, new: &OrderTerms) -> Result<Permit, RiskReject> {
    risk.check_modify(Nanos::from_secs(100), modify(old, new), &MARKET, no_own)
}

fn counted(risk: &Risk) -> Lots {
    risk.open_lots(APPLE, ACCOUNT, Side::Buy)
}

#[test]
fn the_larger_quantity_is_counted_until_the_rest_is_released() {
    let mut risk = risk();
    let (ten, four, twelve) =
        (order(Side::Buy, 100, 10), order(Side::Buy, 100, 4), order(Side::Buy, 99, 12));
    assert_eq!(send(&mut risk, 1, &ten), SENT);
    assert_eq!(answer(&mut risk, &ten, &four), SENT);
    assert_eq!(counted(&risk), Lots(10));
    risk.released(&ten, Lots(6));
    assert_eq!(counted(&risk), Lots(4));
    assert_eq!(answer(&mut risk, &four, &twelve), SENT);
    assert_eq!(counted(&risk), Lots(12));
    risk.ended(id(1), &twelve, Lots(12));
    assert_eq!((counted(&risk), risk.tables.accounts[2].open_orders), (Lots(0), 0));
    assert_eq!(risk.tables.accounts[2], AccountExposure::default());
}

#[test]
fn a_modify_must_pass_what_an_order_must() {
    let small = order(Side::Buy, 100, 10);
    let with = |change: &dyn Fn(&mut Risk)| {
        let mut risk = risk();
        assert_eq!(send(&mut risk, 1, &small), SENT);
        change(&mut risk);
        risk
    };
    let limited = |orders: OrderLimits| {
        with(&|risk| {
            let mut narrow = limits();
            narrow.set_orders_default(orders);
            risk.set_limits(narrow).unwrap();
        })
    };
    let larger = order(Side::Buy, 100, 20);
    let mut killed = with(&|risk| {
        risk.kill_switch_mut().kill(KillScope::All, KillCause::Signal);
    });
    let scope = ScopeKind::All;
    assert_eq!(answer(&mut killed, &small, &larger), Err(RiskReject::Killed { scope }));
    let mut halted = with(&|risk| risk.set_status(APPLE, InstrumentStatus::Halted));
    assert_eq!(answer(&mut halted, &small, &larger), Err(RiskReject::Halted));
    let mut risk = with(&|_| {});
    for (new, reason) in [
        (order(Side::Buy, 111, 10), RiskReject::PriceCollar),
        (order(Side::Buy, 100, 1), RiskReject::Lot),
        (order(Side::Buy, 100, 101), RiskReject::Quantity),
        (OrderTerms { price: Price(1), ..small }, RiskReject::Tick),
        (order(Side::Sell, 100, 10), RiskReject::OtherOrder),
        (OrderTerms { instrument: BANANA, ..small }, RiskReject::OtherOrder),
        (OrderTerms { account: AccountId(0), ..small }, RiskReject::OtherOrder),
    ] {
        assert_eq!(answer(&mut risk, &small, &new), Err(reason));
    }
    let mut narrow = limited(OrderLimits { long_lots_max: Lots(19), ..ORDERS });
    assert_eq!(answer(&mut narrow, &small, &larger), Err(RiskReject::Position));
    let mut narrow = limited(OrderLimits { notional_max: Amount::whole(1_999), ..ORDERS });
    assert_eq!(answer(&mut narrow, &small, &larger), Err(RiskReject::Notional));
    let mut slow = with(&|risk| {
        let mut slow = limits();
        slow.venue.orders = Rate::default();
        risk.set_limits(slow).unwrap();
    });
    assert_eq!(answer(&mut slow, &small, &larger), Err(RiskReject::VenueRate));
    assert_eq!(counted(&slow), Lots(10), "nothing is counted");
}

#[test]
fn an_order_may_be_made_smaller_although_the_position_is_too_large_already() {
    let mut risk = risk();
    let ten = order(Side::Buy, 100, 10);
    assert_eq!(send(&mut risk, 1, &ten), SENT);
    let mut narrow = limits();
    narrow.set_orders_default(OrderLimits { long_lots_max: Lots(5), ..ORDERS });
    risk.set_limits(narrow).unwrap();
    assert_eq!(answer(&mut risk, &ten, &order(Side::Buy, 100, 8)), SENT);
}
