//! Inverse contracts: lots of ten dollars, worth ten divided by the price.

use super::checks::{account, assert_refused};
use super::*;

/// What is worth a tenth of a coin at a price of 100.
const INVERSE: RiskInstrument = RiskInstrument { lot_value: -10 * 1_000_000_000, ..DEFINITION };

fn inverse(mut risk: Risk) -> Risk {
    risk.define(APPLE, INVERSE).unwrap();
    risk
}

/// So many thousandths of a coin.
fn milli(amount: i64) -> Amount {
    Amount(Amount::whole(amount).0 / 1_000)
}

#[test]
fn limits_of_worth_count_in_the_coin() {
    let mut limits = limits();
    limits.set_orders_default(OrderLimits { notional_max: milli(500), ..ORDERS });
    let mut risk = inverse(risk_with(limits));
    assert_refused(&mut risk, 1, &order(Side::Buy, 100, 6), RiskReject::Notional);
    assert_eq!(send(&mut risk, 1, &order(Side::Buy, 100, 5)), SENT);
    // The lower the price the more a dollar is worth.
    assert_refused(&mut risk, 2, &order(Side::Buy, 99, 5), RiskReject::Notional);

    let mut risk = inverse(account(|account| account.gross_max = milli(2_000)));
    risk.traded(APPLE, ACCOUNT, Lots(-10), price(100), Amount::ZERO);
    assert_refused(&mut risk, 1, &order(Side::Sell, 100, 11), RiskReject::GrossNotional);
    assert_eq!(send(&mut risk, 1, &order(Side::Sell, 100, 10)), SENT);

    let mut risk = inverse(account(|account| account.net_max = milli(2_000)));
    risk.traded(APPLE, ACCOUNT, Lots(10), price(100), Amount::ZERO);
    assert_refused(&mut risk, 1, &order(Side::Buy, 100, 11), RiskReject::NetNotional);
    assert_eq!(send(&mut risk, 1, &order(Side::Buy, 100, 10)), SENT);
    assert_eq!(send(&mut risk, 2, &order(Side::Sell, 100, 20)), SENT);
}

#[test]
fn who_holds_one_earns_when_the_price_rises_and_is_stopped_by_a_loss() {
    for (lots, at, profit) in [(10, 125, 200), (10, 80, -250), (-10, 125, -200), (-10, 80, 250)] {
        let mut risk = inverse(account(|account| account.loss_max = milli(250)));
        risk.traded(APPLE, ACCOUNT, Lots(lots), price(100), Amount::ZERO);
        risk.mark(APPLE, price(at));
        assert_eq!(risk.profit(ACCOUNT), milli(profit), "{lots} at {at}");
        assert_eq!(risk.kill_switch_mut().poll_killed(), None);
    }
    let mut risk = inverse(account(|account| account.loss_max = milli(250)));
    risk.traded(APPLE, ACCOUNT, Lots(10), price(100), Amount::ZERO);
    risk.mark(APPLE, Price(price(80).0 - 1));
    let scope = KillScope::Account(ACCOUNT);
    assert_eq!(risk.kill_switch_mut().poll_killed(), Some(scope));
}
