//! Orders through every pre-trade check; with `fill` each is also filled, and ends.
//!
//! 2,000 instruments, 8 accounts, 4 users; every check is on, and every order passes. Orders are
//! for any of the instruments, or of the first INSTRUMENTS: fewer of them stay in near caches.

use taut_oms::{
    AccountLimits, Amount, InstrumentStatus, MessageRates, OrderLimits, Permit, Reference, Risk,
    RiskInstrument, RiskLimits, RiskSizes, SelfMatch, UserLimits,
};
use taut_types::{
    AccountId, ClientOrderId, InstrumentId, Lots, Nanos, OrderTerms, Price, Side, StrategyId,
    TickTable, UserId,
};

use crate::{Outcome, count, one_of};

const SIZES: RiskSizes = RiskSizes { instruments: 2_000, accounts: 8, users: 4, strategies: 16 };
const MARKET: Reference = Reference {
    bid: Some(Price(99 * Price::SCALE)),
    ask: Some(Price(100 * Price::SCALE)),
    last: Some(Price(100 * Price::SCALE)),
};

fn limits() -> RiskLimits {
    let mut limits = RiskLimits::closed(SIZES);
    limits.set_orders_default(OrderLimits {
        collar_ppm: 50_000,
        last_trade_collar_ppm: 50_000,
        lots_max: Lots(100),
        notional_max: Amount::whole(10_000),
        long_lots_max: Lots(i64::MAX),
        short_lots_max: Lots(i64::MAX),
    });
    limits.set_accounts(AccountLimits {
        open_orders_max: u32::MAX,
        gross_max: Amount::MAX,
        net_max: Amount::MAX,
        loss_max: Amount::MAX,
        rates: MessageRates::UNLIMITED,
    });
    limits.set_users(UserLimits::UNLIMITED);
    limits.set_strategies(u32::MAX);
    limits.permit_all();
    limits.venue = MessageRates::UNLIMITED;
    limits.self_match = SelfMatch::CancelNewest;
    limits.duplicate_window = Nanos::from_micros(10);
    limits
}

fn order(number: u64, random: u64, instruments: u64) -> (ClientOrderId, OrderTerms) {
    let (user, strategy) = (UserId(random as u8 & 3), StrategyId((random >> 2) as u8 & 15));
    let (side, ticks) = match random & 1 << 8 {
        0 => (Side::Buy, 9_900 - (random >> 9 & 127)),
        _ => (Side::Sell, 10_000 + (random >> 9 & 127)),
    };
    let instrument = InstrumentId((((random >> 16 & 0xffff) * instruments) >> 16) as u32);
    let price = Price(ticks.cast_signed() * (Price::SCALE / 100));
    let terms = OrderTerms::limit(instrument, side, price, Lots(1 + (random >> 40 & 63) as i64));
    let account = AccountId((random >> 33) as u8 & 7);
    (ClientOrderId::of(user, strategy, number), OrderTerms { account, ..terms })
}

pub fn run(words: &[&str]) -> Outcome {
    let is_filled = one_of(words.first(), &["check", "fill"])? == "fill";
    let orders = count(words.get(1))?;
    let all = SIZES.instruments as u64;
    let instruments = match words.get(2) {
        None => all,
        word => count(word)?,
    };
    if !(1..=all).contains(&instruments) {
        return Err(format!("{instruments} instruments: 1 to {all} are known").into());
    }
    let mut risk = Risk::new(limits(), Nanos::ZERO);
    let definition = RiskInstrument {
        ticks: TickTable::new(Price(Price::SCALE / 100)).expect("a tick"),
        lots_min: Lots(1),
        notional_min: Amount::ZERO,
        lot_value: Price::SCALE,
        group: 0,
    };
    for instrument in (0..2_000).map(InstrumentId) {
        risk.define(instrument, definition).expect("an instrument");
        risk.set_status(instrument, InstrumentStatus::Trading);
        risk.mark(instrument, Price(100 * Price::SCALE));
    }
    let (mut random, mut passed) = (0x9e37_79b9_7f4a_7c15_u64, 0_u64);
    for number in 0..orders {
        // Marsaglia's xorshift: any flow will do, if it is the same each time.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let (id, terms) = order(number, random, instruments);
        let now = Nanos(number.cast_signed() * 1_000);
        let answer = risk.check(now, id, &terms, &MARKET, |_, _| None);
        passed += u64::from(answer == Ok(Permit::Send));
        if is_filled {
            risk.filled(&terms, terms.lots, terms.price, Amount(1));
            risk.ended(id, &terms, Lots::ZERO);
        }
    }
    let profit: i128 = (0..8).map(|account| risk.profit(AccountId(account)).0).sum();
    println!("{orders} orders, {passed} passed, profit {}", Amount(profit));
    Ok(())
}
