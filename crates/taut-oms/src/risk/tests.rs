//! One gateway's worth of limits that every order of the tests passes, unless a test says no.

use super::*;
use crate::kill::ScopeKind;
use crate::throttle::Rate;
use taut_types::{
    ContractKind, Instrument, OrderFlags, OrderType, Qty, StrategyId, Symbol, TickStep, TickTable,
    TimeInForce, UserId,
};

mod checks;
mod inverse;
mod judging;
mod model;
mod modify;
mod own_orders;

const SIZES: RiskSizes = RiskSizes { instruments: 4, accounts: 3, users: 3, strategies: 3 };
const USER: UserId = UserId(1);
const STRATEGY: StrategyId = StrategyId(2);
const ACCOUNT: AccountId = AccountId(2);
const APPLE: InstrumentId = InstrumentId(1);
const BANANA: InstrumentId = InstrumentId(3);
const CENTS: TickTable = match TickTable::new(Price(Price::SCALE / 100)) {
    Ok(ticks) => ticks,
    Err(_) => unreachable!(),
};
/// A cent, and lots of one piece.
const DEFINITION: RiskInstrument = RiskInstrument {
    ticks: CENTS,
    lots_min: Lots(2),
    notional_min: Amount::ZERO,
    lot_value: 1_000_000_000,
    group: 5,
};
const MARKET: Reference =
    Reference { bid: Some(price(99)), ask: Some(price(100)), last: Some(price(100)) };
const ORDERS: OrderLimits = OrderLimits {
    collar_ppm: 100_000,
    last_trade_collar_ppm: 150_000,
    lots_max: Lots(100),
    notional_max: Amount::whole(10_000),
    long_lots_max: Lots(1_000),
    short_lots_max: Lots(1_000),
};
const WHOLE_ACCOUNT: AccountLimits = AccountLimits {
    open_orders_max: 50,
    gross_max: Amount::whole(1_000_000),
    net_max: Amount::whole(1_000_000),
    loss_max: Amount::whole(1_000),
    rates: MessageRates::UNLIMITED,
};

const fn price(whole: i64) -> Price {
    Price(whole * Price::SCALE)
}

fn limits() -> RiskLimits {
    let mut limits = RiskLimits::closed(SIZES);
    limits.set_orders_default(ORDERS);
    limits.set_accounts(WHOLE_ACCOUNT);
    limits.set_users(UserLimits::UNLIMITED);
    limits.set_strategies(50);
    limits.venue = MessageRates::UNLIMITED;
    limits.permit(USER, ACCOUNT, DEFINITION.group, true).unwrap();
    limits.duplicate_window = Nanos(100);
    limits
}

fn risk_with(limits: RiskLimits) -> Risk {
    let mut risk = Risk::new(limits, Nanos::ZERO);
    for instrument in [APPLE, BANANA] {
        risk.define(instrument, DEFINITION).unwrap();
        risk.set_status(instrument, InstrumentStatus::Trading);
    }
    risk
}

fn risk() -> Risk {
    risk_with(limits())
}

fn id(number: u64) -> ClientOrderId {
    ClientOrderId::of(USER, STRATEGY, number)
}

fn order(side: Side, at: i64, lots: i64) -> OrderTerms {
    OrderTerms { account: ACCOUNT, ..OrderTerms::limit(APPLE, side, price(at), Lots(lots)) }
}

fn no_own(_: InstrumentId, _: Side) -> Option<Price> {
    None
}

/// Sends an order a second after the one with the number before. The rehearsal before it says what
/// the check says then, and changes nothing.
fn send(risk: &mut Risk, number: i64, terms: &OrderTerms) -> Result<Permit, RiskReject> {
    let (now, id) = (Nanos::from_secs(number), id(number.unsigned_abs()));
    let rehearsed = risk.check_or_rehearse(now, id, terms, &MARKET, no_own, true);
    let checked = risk.check(now, id, terms, &MARKET, no_own);
    assert_eq!(rehearsed, checked);
    checked
}

const SENT: Result<Permit, RiskReject> = Ok(Permit::Send);
