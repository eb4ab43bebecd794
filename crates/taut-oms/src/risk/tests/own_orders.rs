//! Self-match prevention: the policies, and the bound against a naive search.

use super::*;
use std::vec::Vec;
use taut_testkit::{Draw, for_each_seed};

fn risk_that(self_match: SelfMatch) -> Risk {
    let mut limits = limits();
    limits.self_match = self_match;
    limits.duplicate_window = Nanos::ZERO;
    risk_with(limits)
}

#[test]
fn each_policy_says_what_to_do() {
    for (policy, expected) in [
        (SelfMatch::Allow, SENT),
        (SelfMatch::CancelNewest, Err(RiskReject::SelfMatch)),
        (SelfMatch::CancelOldest, Ok(Permit::CancelOwnThenSend)),
        (SelfMatch::CancelBoth, Err(RiskReject::SelfMatchBoth)),
    ] {
        let mut risk = risk_that(policy);
        let resting = order(Side::Sell, 101, 10);
        assert_eq!(send(&mut risk, 1, &resting), SENT);
        let own = |_: InstrumentId, side| (side == Side::Sell).then_some(price(101));
        let now = Nanos::from_secs(2);
        let taker = order(Side::Buy, 101, 10);
        assert_eq!(risk.check(now, id(2), &taker, &MARKET, own), expected);
        assert!(crosses(&resting, &taker));
        let passive = order(Side::Buy, 100, 10);
        assert_eq!(risk.check(now, id(3), &passive, &MARKET, own), SENT);
        assert!(!crosses(&resting, &passive));
        let waiting = OrderTerms { stop_price: Some(price(102)), ..taker };
        assert_eq!(risk.check(now, id(4), &waiting, &MARKET, own), SENT);
        let at_market = OrderTerms { order_type: OrderType::Market, ..taker };
        assert_eq!(risk.check(now, id(5), &at_market, &MARKET, own), expected);
        assert!(crosses(&resting, &at_market));
    }
}

#[test]
fn a_modify_into_an_own_order_is_a_self_match() {
    let mut risk = risk_that(SelfMatch::CancelNewest);
    assert_eq!(send(&mut risk, 1, &order(Side::Sell, 101, 10)), SENT);
    let (old, new) = (order(Side::Buy, 100, 10), order(Side::Buy, 101, 10));
    assert_eq!(send(&mut risk, 2, &old), SENT);
    let own = |_: InstrumentId, _| Some(price(101));
    let modify =
        Modify { id: id(2), old: &old, lots_counted: Lots(10), new: &new, lots_left: Lots(10) };
    let answer = risk.check_modify(Nanos::from_secs(3), modify, &MARKET, own);
    assert_eq!(answer, Err(RiskReject::SelfMatch));
}

#[test]
fn no_order_that_meets_an_own_one_passes_and_no_other_is_refused() {
    for_each_seed(0..200, |_, mut random| {
        let mut risk = risk_that(SelfMatch::CancelNewest);
        let mut open: Vec<(u64, OrderTerms)> = Vec::new();
        for number in 1..400_u64 {
            if open.len() > 20 || random.per_mille(450) && !open.is_empty() {
                let (number, terms) = open.swap_remove(random.below(open.len() as u64) as usize);
                risk.ended(id(number), &terms, terms.lots);
                continue;
            }
            let side = random.pick(&Side::BOTH);
            let mut terms = order(side, 95 + random.below(11).cast_signed(), 5);
            terms.instrument = random.pick(&[APPLE, BANANA]);
            let day = TimeInForce::Day;
            terms.time_in_force = random.pick(&[day, day, day, TimeInForce::FillOrKill]);
            if random.per_mille(100) {
                terms = OrderTerms { order_type: OrderType::Market, ..terms };
            }
            let own = open.iter().map(|(_, own)| own);
            let best = |instrument, side| best_own(own.clone(), instrument, side);
            let now = Nanos::from_secs(number.cast_signed());
            let answer = risk.check(now, id(number), &terms, &MARKET, best);
            let meets = open.iter().any(|(_, own)| crosses(own, &terms));
            assert_eq!(answer, if meets { Err(RiskReject::SelfMatch) } else { SENT });
            if answer.is_ok() {
                open.push((number, terms));
            }
        }
    });
}
