//! Each check refuses what no other one would.

use super::*;

/// What a refused order must leave as it was.
fn counted(risk: &Risk) -> (Lots, Lots, u32, u32) {
    let lots = |side| risk.open_lots(APPLE, ACCOUNT, side);
    (lots(Side::Buy), lots(Side::Sell), risk.tables.accounts[2].open_orders, risk.open_orders[2])
}

/// Refused for this reason, and nothing was counted.
pub(super) fn assert_refused(risk: &mut Risk, number: i64, terms: &OrderTerms, reason: RiskReject) {
    let before = counted(risk);
    assert_eq!(send(risk, number, terms), Err(reason));
    assert_eq!(counted(risk), before, "{reason:?}");
}

/// Limits that differ from those that let the order of [`buy`] through.
fn differing(change: impl FnOnce(&mut RiskLimits)) -> Risk {
    let mut limits = limits();
    change(&mut limits);
    risk_with(limits)
}

fn buy() -> OrderTerms {
    order(Side::Buy, 100, 10)
}

fn orders(change: impl FnOnce(&mut OrderLimits)) -> Risk {
    let mut own = ORDERS;
    change(&mut own);
    differing(|limits| limits.set_orders(APPLE, ACCOUNT, own).unwrap())
}

pub(super) fn account(change: impl FnOnce(&mut AccountLimits)) -> Risk {
    let mut own = WHOLE_ACCOUNT;
    change(&mut own);
    differing(|limits| limits.set_account(ACCOUNT, own).unwrap())
}

fn user(change: impl FnOnce(&mut UserLimits)) -> Risk {
    let mut own = UserLimits::UNLIMITED;
    change(&mut own);
    differing(|limits| limits.set_user(USER, own).unwrap())
}

#[test]
fn an_order_within_all_limits_leaves_and_is_counted() {
    let mut risk = risk();
    assert_eq!(send(&mut risk, 1, &buy()), SENT);
    assert_eq!(counted(&risk), (Lots(10), Lots(0), 1, 1));
    assert_eq!(send(&mut risk, 2, &order(Side::Sell, 99, 5)), SENT);
    assert_eq!(counted(&risk), (Lots(10), Lots(5), 2, 2));
}

#[test]
fn limits_that_nobody_set_let_nothing_through() {
    let mut risk = risk_with(RiskLimits::closed(SIZES));
    assert!(send(&mut risk, 1, &buy()).is_err());
    risk.limits.permit_all();
    assert!(send(&mut risk, 1, &buy()).is_err());
}

#[test]
fn what_is_killed_does_not_leave_and_cancels_do() {
    let mut risk = risk();
    for scope in [KillScope::All, KillScope::User(USER), KillScope::Instrument(APPLE)] {
        risk.kill_switch_mut().kill(scope, KillCause::Command);
        let reason = RiskReject::Killed { scope: scope.kind() };
        assert_refused(&mut risk, 1, &buy(), reason);
        assert_eq!(risk.check_cancel(Nanos(1), id(1), ACCOUNT), Ok(()));
        risk.kill_switch_mut().revive(scope);
    }
    assert_eq!(send(&mut risk, 1, &buy()), SENT);
}

#[test]
fn a_timer_that_ran_out_stops_the_next_order_even_if_nobody_looked() {
    let mut risk = risk();
    let scope = KillScope::Strategy(STRATEGY);
    assert!(risk.kill_switch_mut().arm(scope, Nanos::from_secs(2), Nanos::ZERO));
    assert_eq!(send(&mut risk, 1, &buy()), SENT);
    assert_refused(&mut risk, 2, &buy(), RiskReject::Killed { scope: ScopeKind::Strategy });
}

#[test]
fn a_user_without_permission_is_refused() {
    let mut risk = differing(|limits| limits.permit(USER, ACCOUNT, 5, false).unwrap());
    assert_refused(&mut risk, 1, &buy(), RiskReject::NotPermitted);
    let other = OrderTerms { account: AccountId(0), ..buy() };
    assert_refused(&mut risk, 1, &other, RiskReject::NotPermitted);
}

#[test]
fn what_is_not_known_is_refused() {
    let mut risk = risk();
    for instrument in [InstrumentId(0), InstrumentId(4), InstrumentId::ALL] {
        assert_refused(&mut risk, 1, &OrderTerms { instrument, ..buy() }, RiskReject::Unknown);
    }
    assert_refused(
        &mut risk,
        1,
        &OrderTerms { account: AccountId(3), ..buy() },
        RiskReject::Unknown,
    );
    let stranger = ClientOrderId::of(USER, StrategyId(3), 1);
    let answer = risk.check(Nanos(1), stranger, &buy(), &MARKET, no_own);
    assert_eq!(answer, Err(RiskReject::Unknown));
    let stranger = ClientOrderId::of(UserId(3), STRATEGY, 1);
    let answer = risk.check(Nanos(1), stranger, &buy(), &MARKET, no_own);
    assert_eq!(answer, Err(RiskReject::NotPermitted));
}

#[test]
fn a_restricted_instrument_is_refused() {
    let mut risk = differing(|limits| limits.set_restricted(APPLE, true).unwrap());
    assert_refused(&mut risk, 1, &buy(), RiskReject::Restricted);
    assert_eq!(send(&mut risk, 1, &OrderTerms { instrument: BANANA, ..buy() }), SENT);
}

#[test]
fn an_instrument_that_is_halted_or_whose_book_is_stale_is_refused() {
    let mut risk = risk();
    risk.set_status(APPLE, InstrumentStatus::Halted);
    assert_refused(&mut risk, 1, &buy(), RiskReject::Halted);
    risk.set_status(APPLE, InstrumentStatus::StaleBook);
    assert_refused(&mut risk, 1, &buy(), RiskReject::StaleBook);
    risk.set_status(APPLE, InstrumentStatus::Trading);
    assert_eq!(send(&mut risk, 1, &buy()), SENT);
    let mut fresh = Risk::new(limits(), Nanos::ZERO);
    fresh.define(APPLE, DEFINITION).unwrap();
    assert_refused(&mut fresh, 1, &buy(), RiskReject::Halted);
}

#[test]
fn a_price_off_the_tick_or_not_positive_is_refused() {
    let mut risk = risk();
    let off = Price(price(100).0 + 5_000_000);
    for price in [off, Price(0), Price(-price(100).0), Price(i64::MIN), Price(i64::MAX)] {
        assert_refused(&mut risk, 1, &OrderTerms { price, ..buy() }, RiskReject::Tick);
        let stop = OrderTerms { stop_price: Some(price), ..buy() };
        assert_refused(&mut risk, 1, &stop, RiskReject::Tick);
    }
}

#[test]
fn a_quantity_that_is_no_order_is_refused() {
    let mut risk = risk();
    for lots in [1, 0, -1, i64::MIN].map(Lots) {
        assert_refused(&mut risk, 1, &OrderTerms { lots, ..buy() }, RiskReject::Lot);
    }
    for lots_shown in [11, -1].map(Lots) {
        assert_refused(&mut risk, 1, &OrderTerms { lots_shown, ..buy() }, RiskReject::Lot);
    }
    assert_eq!(send(&mut risk, 1, &OrderTerms { lots_shown: Lots(2), ..buy() }), SENT);
}

#[test]
fn an_order_without_a_market_is_refused() {
    let mut risk = risk();
    let nothing = Reference { last: MARKET.last, ..Reference::default() };
    for terms in [buy(), OrderTerms { order_type: OrderType::Market, ..buy() }] {
        let answer = risk.check(Nanos(1), id(1), &terms, &nothing, no_own);
        assert_eq!(answer, Err(RiskReject::NoReference));
    }
    // One side is enough, even if it is the own one.
    let bid = Reference { bid: MARKET.bid, ..nothing };
    assert_eq!(risk.check(Nanos(1), id(1), &buy(), &bid, no_own), SENT);
}

#[test]
fn a_price_outside_the_collar_is_refused() {
    let mut risk = orders(|orders| orders.last_trade_collar_ppm = OrderLimits::NO_COLLAR);
    for (side, inside, outside) in
        [(Side::Buy, [90, 110], [89, 111]), (Side::Sell, [90, 108], [89, 109])]
    {
        for at in outside {
            assert_refused(&mut risk, 1, &order(side, at, 10), RiskReject::PriceCollar);
        }
        for at in inside {
            assert_eq!(send(&mut risk, 1, &order(side, at, 10)), SENT, "{side:?} {at}");
        }
    }
    let extreme = Reference { bid: Some(Price(i64::MIN)), ask: Some(Price(i64::MIN)), last: None };
    let answer = risk.check(Nanos(1), id(1), &buy(), &extreme, no_own);
    assert_eq!(answer, Err(RiskReject::PriceCollar));
}

#[test]
fn a_price_too_far_from_the_last_trade_is_refused() {
    let mut risk = risk();
    let mut answer = |last| {
        let market = Reference { last, ..MARKET };
        risk.check(Nanos(1), id(1), &buy(), &market, no_own)
    };
    assert_eq!(answer(Some(price(86))), Err(RiskReject::LastTradeCollar));
    assert_eq!(answer(Some(price(118))), Err(RiskReject::LastTradeCollar));
    assert_eq!(answer(None), Err(RiskReject::NoReference));
    assert_eq!(answer(Some(price(87))), SENT);
}

#[test]
fn a_stop_order_is_held_against_its_stop_price() {
    let mut risk = risk();
    let stop = |at, stop| OrderTerms { stop_price: Some(price(stop)), ..order(Side::Buy, at, 10) };
    assert_eq!(send(&mut risk, 1, &stop(201, 200)), SENT);
    assert_refused(&mut risk, 2, &stop(221, 200), RiskReject::PriceCollar);
    let at_market = OrderTerms { order_type: OrderType::Market, ..stop(0, 101) };
    assert_eq!(send(&mut risk, 3, &at_market), SENT);
    let expensive = OrderTerms { stop_price: Some(price(1_001)), ..at_market };
    assert_refused(&mut risk, 4, &expensive, RiskReject::Notional);
}

#[test]
fn an_order_that_is_too_large_is_refused() {
    let mut risk = orders(|orders| orders.lots_max = Lots(9));
    assert_refused(&mut risk, 1, &buy(), RiskReject::Quantity);
    assert_eq!(send(&mut risk, 1, &order(Side::Buy, 100, 9)), SENT);
}

#[test]
fn an_order_that_is_worth_too_much_is_refused() {
    let mut risk = orders(|orders| orders.notional_max = Amount::whole(1_000) - Amount(1));
    assert_refused(&mut risk, 1, &buy(), RiskReject::Notional);
    let at_market = OrderTerms { order_type: OrderType::Market, ..buy() };
    assert_refused(&mut risk, 1, &at_market, RiskReject::Notional);
    let mut risk = orders(|orders| orders.notional_max = Amount::whole(1_000));
    assert_eq!(send(&mut risk, 1, &buy()), SENT);
    // Worth more than an amount can say.
    let mut risk = orders(|orders| {
        orders.lots_max = Lots(i64::MAX);
        orders.collar_ppm = u32::MAX;
        orders.last_trade_collar_ppm = OrderLimits::NO_COLLAR;
        orders.notional_max = Amount::MAX - Amount(1);
    });
    let dear = Price(i64::MAX - i64::MAX % DEFINITION.ticks.smallest().0);
    let market = Reference { bid: None, ask: Some(dear), last: None };
    let terms = OrderTerms { price: dear, lots: Lots(i64::MAX), ..buy() };
    let answer = risk.check(Nanos(1), id(1), &terms, &market, no_own);
    assert_eq!(answer, Err(RiskReject::Notional));
}

#[test]
fn the_same_order_again_within_the_window_is_refused() {
    let mut risk = risk();
    let mut at = |now, number, terms: &OrderTerms| {
        risk.check(Nanos(now), id(number), terms, &MARKET, no_own)
    };
    assert_eq!(at(1, 1, &buy()), SENT);
    assert_eq!(at(100, 2, &buy()), Err(RiskReject::Duplicate));
    let others = [
        OrderTerms { instrument: BANANA, ..buy() },
        order(Side::Sell, 100, 10),
        order(Side::Buy, 99, 10),
        order(Side::Buy, 100, 11),
        OrderTerms { lots_shown: Lots(5), ..buy() },
        OrderTerms { stop_price: Some(price(100)), ..buy() },
        OrderTerms { flags: OrderFlags::POST_ONLY, ..buy() },
        OrderTerms { time_in_force: TimeInForce::Day, ..buy() },
        OrderTerms { order_type: OrderType::Market, ..buy() },
    ];
    for (number, terms) in (3..).zip(&others) {
        assert_eq!(at(100, number, terms), SENT, "{terms:?}");
        assert_eq!(at(100, number, terms), Err(RiskReject::Duplicate), "{terms:?}");
    }
    let another_strategy = ClientOrderId::of(USER, StrategyId(0), 1);
    let answer = at(101, 20, &buy());
    assert_eq!(answer, SENT, "the window has passed");
    assert_eq!(risk.check(Nanos(101), another_strategy, &buy(), &MARKET, no_own), SENT);
}

#[test]
fn orders_one_too_many_are_refused_until_one_ends() {
    let mut risk = differing(|limits| limits.set_strategy(STRATEGY, 2).unwrap());
    let mut by_account = account(|account| account.open_orders_max = 2);
    let reasons = [RiskReject::StrategyOpenOrders, RiskReject::AccountOpenOrders];
    for (risk, reason) in [&mut risk, &mut by_account].into_iter().zip(reasons) {
        assert_eq!([1, 2].map(|number| send(risk, number, &buy())), [SENT; 2]);
        assert_refused(risk, 3, &buy(), reason);
        risk.ended(id(1), &buy(), Lots(10));
        assert_eq!(send(risk, 3, &buy()), SENT);
    }
}

#[test]
fn a_position_that_could_become_too_large_is_refused_on_either_side() {
    let mut risk = orders(|orders| {
        orders.long_lots_max = Lots(25);
        orders.short_lots_max = Lots(15);
    });
    assert_eq!([1, 2].map(|number| send(&mut risk, number, &buy())), [SENT; 2]);
    assert_refused(&mut risk, 3, &order(Side::Buy, 100, 6), RiskReject::Position);
    assert_eq!(send(&mut risk, 3, &order(Side::Buy, 100, 5)), SENT);
    assert_refused(&mut risk, 4, &order(Side::Sell, 100, 16), RiskReject::Position);
    // Long 20, 5 working: 35 may be sold.
    (0..2).for_each(|_| risk.filled(&buy(), Lots(10), price(100), Amount::ZERO));
    assert_refused(&mut risk, 4, &order(Side::Sell, 100, 36), RiskReject::Position);
    assert_eq!(send(&mut risk, 4, &order(Side::Sell, 100, 35)), SENT);
    assert_eq!(risk.position(APPLE, ACCOUNT), Lots(20));
}

#[test]
fn a_reduce_only_order_that_could_do_more_is_refused() {
    let mut risk = risk();
    let reduce =
        |side, lots| OrderTerms { flags: OrderFlags::REDUCE_ONLY, ..order(side, 100, lots) };
    assert_refused(&mut risk, 1, &reduce(Side::Sell, 2), RiskReject::ReduceOnly);
    risk.traded(APPLE, ACCOUNT, Lots(10), price(100), Amount::ZERO);
    assert_refused(&mut risk, 1, &reduce(Side::Sell, 11), RiskReject::ReduceOnly);
    assert_refused(&mut risk, 1, &reduce(Side::Buy, 2), RiskReject::ReduceOnly);
    assert_eq!(send(&mut risk, 1, &reduce(Side::Sell, 8)), SENT);
    assert_refused(&mut risk, 2, &reduce(Side::Sell, 3), RiskReject::ReduceOnly);
    assert_eq!(send(&mut risk, 2, &reduce(Side::Sell, 2)), SENT);
}

#[test]
fn gross_notional_counts_every_instrument_whatever_its_direction() {
    let mut risk = account(|account| account.gross_max = Amount::whole(2_500));
    let banana = |side, lots| OrderTerms { instrument: BANANA, ..order(side, 100, lots) };
    assert_eq!(send(&mut risk, 1, &buy()), SENT);
    assert_eq!(send(&mut risk, 2, &banana(Side::Sell, 10)), SENT);
    assert_refused(&mut risk, 3, &banana(Side::Sell, 6), RiskReject::GrossNotional);
    assert_refused(&mut risk, 3, &order(Side::Buy, 100, 6), RiskReject::GrossNotional);
    // The other side of what is open makes the worst no worse.
    assert_eq!(send(&mut risk, 3, &order(Side::Sell, 100, 10)), SENT);
    assert_eq!(send(&mut risk, 4, &banana(Side::Sell, 5)), SENT);
}

#[test]
fn net_notional_counts_each_direction_over_all_instruments() {
    let mut risk = account(|account| account.net_max = Amount::whole(1_500));
    let banana = |side, lots| OrderTerms { instrument: BANANA, ..order(side, 100, lots) };
    assert_eq!(send(&mut risk, 1, &buy()), SENT);
    assert_refused(&mut risk, 2, &banana(Side::Buy, 6), RiskReject::NetNotional);
    assert_eq!(send(&mut risk, 2, &banana(Side::Sell, 15)), SENT);
    assert_refused(&mut risk, 3, &order(Side::Sell, 100, 2), RiskReject::NetNotional);
    // Once the sale is a position, as much more may be bought.
    risk.filled(&banana(Side::Sell, 15), Lots(15), price(100), Amount::ZERO);
    assert_refused(&mut risk, 3, &order(Side::Buy, 100, 21), RiskReject::NetNotional);
    assert_eq!(send(&mut risk, 3, &order(Side::Buy, 100, 20)), SENT);
}

#[test]
fn a_loss_beyond_the_limit_kills_the_account_and_refuses_after_a_revival() {
    let mut risk = account(|account| account.loss_max = Amount::whole(100));
    risk.traded(APPLE, ACCOUNT, Lots(10), price(100), Amount::whole(40));
    assert_eq!(risk.profit(ACCOUNT), Amount::whole(-40));
    risk.mark(APPLE, price(94));
    assert_eq!(risk.profit(ACCOUNT), Amount::whole(-100));
    assert_eq!(risk.kill_switch_mut().poll_killed(), None);
    risk.mark(APPLE, Price(price(94).0 - 1));
    let scope = KillScope::Account(ACCOUNT);
    assert_eq!(risk.kill_switch_mut().poll_killed(), Some(scope));
    assert_refused(&mut risk, 1, &buy(), RiskReject::Killed { scope: ScopeKind::Account });
    risk.kill_switch_mut().revive(scope);
    assert_refused(&mut risk, 1, &buy(), RiskReject::Loss);
    risk.start_day();
    assert_eq!(send(&mut risk, 1, &buy()), SENT);
    // A fill at a bad price does it too.
    risk.filled(&buy(), Lots(10), price(105), Amount::ZERO);
    assert_eq!(risk.kill_switch_mut().poll_killed(), Some(scope));
}

#[test]
fn each_rate_refuses_on_its_own_and_cancels_have_their_own() {
    let orders = Rate { per_second: 1, burst: 1 };
    let rates = MessageRates { orders, cancels: orders };
    let user = user(|user| user.rates = rates);
    let account = account(|account| account.rates = rates);
    let venue = differing(|limits| limits.venue = rates);
    let reasons = [RiskReject::UserRate, RiskReject::AccountRate, RiskReject::VenueRate];
    for (mut risk, reason) in [user, account, venue].into_iter().zip(reasons) {
        let at = |risk: &mut Risk, ms, lots| {
            let (now, terms) = (Nanos::from_millis(ms), order(Side::Buy, 100, lots));
            risk.check(now, id(1), &terms, &MARKET, no_own)
        };
        assert_eq!(at(&mut risk, 0, 10), SENT);
        assert_eq!(at(&mut risk, 999, 10), Err(reason));
        // Orders that are refused spend nothing, neither of this nor of the other budgets.
        assert_eq!(at(&mut risk, 1_000, 10), SENT);
        let cancel =
            |risk: &mut Risk, ms| risk.check_cancel(Nanos::from_millis(ms), id(1), ACCOUNT);
        assert_eq!(cancel(&mut risk, 1_000), Ok(()));
        assert_eq!(cancel(&mut risk, 1_500), Err(Nanos::from_millis(2_000)));
        assert_eq!(at(&mut risk, 2_000, 10), SENT, "cancels spend nothing of it");
        assert_eq!(cancel(&mut risk, 2_000), Ok(()));
    }
}

#[test]
fn new_limits_hold_at_once_and_keep_exposure_and_rates() {
    let mut risk = risk();
    assert_eq!(send(&mut risk, 1, &buy()), SENT);
    let mut narrow = limits();
    narrow.set_orders_default(OrderLimits { long_lots_max: Lots(15), ..ORDERS });
    narrow.venue.orders = Rate { per_second: 1, burst: 1 };
    let old = risk.set_limits(narrow).unwrap();
    assert_refused(&mut risk, 2, &buy(), RiskReject::Position);
    assert_eq!(send(&mut risk, 2, &order(Side::Buy, 100, 5)), SENT);
    assert_refused(&mut risk, 2, &order(Side::Sell, 100, 5), RiskReject::VenueRate);
    risk.set_limits(old).unwrap();
    assert_eq!(send(&mut risk, 2, &buy()), SENT);
    let other = RiskLimits::closed(RiskSizes { accounts: 2, ..SIZES });
    assert_eq!(risk.set_limits(other).err(), Some(LimitsError::OtherSizes));
}

#[test]
fn a_definition_that_cannot_be_right_is_refused() {
    let mut risk = risk();
    let worthless = RiskInstrument { lot_value: 0, ..DEFINITION };
    assert_eq!(risk.define(APPLE, worthless), Err(LimitsError::WorthlessLot));
    let group = RiskInstrument { group: 64, ..DEFINITION };
    assert_eq!(risk.define(APPLE, group), Err(LimitsError::UnknownGroup));
    let beyond = risk.define(InstrumentId(4), DEFINITION);
    assert_eq!(beyond, Err(LimitsError::UnknownInstrument));
}

#[test]
fn two_thousand_instruments_of_eight_accounts_stay_small() {
    let (row, cell) = (size_of::<InstrumentRow>(), size_of::<Cell>());
    assert!(row <= 120 && cell == 24, "{row} and {cell} bytes");
    let bytes = 2_000 * (row + 8 * (cell + size_of::<u16>())) + 64 * 1_024;
    assert!(bytes < 750_000, "{bytes}");
}

#[test]
fn a_user_has_limits_of_its_own() {
    let mut small = user(|user| user.lots_max = Lots(9));
    assert_refused(&mut small, 1, &buy(), RiskReject::Quantity);
    assert_eq!(send(&mut small, 1, &order(Side::Buy, 100, 9)), SENT);
    let mut cheap = user(|user| user.notional_max = Amount::whole(999));
    assert_refused(&mut cheap, 1, &buy(), RiskReject::Notional);
    let mut few = user(|user| user.open_orders_max = 1);
    assert_eq!(send(&mut few, 1, &buy()), SENT);
    assert_eq!(few.user_open_orders(USER), 1);
    assert_refused(&mut few, 2, &buy(), RiskReject::UserOpenOrders);
    few.ended(id(1), &buy(), Lots(10));
    assert_eq!(send(&mut few, 3, &buy()), SENT);
}

#[test]
fn an_order_that_is_handed_over_counts_for_its_heir_and_for_its_account_as_before() {
    let mut few = user(|user| user.open_orders_max = 1);
    assert_eq!(send(&mut few, 1, &buy()), SENT);
    let (account, sender) = (few.account_usage(ACCOUNT), Owner::of(id(1)));
    let heir = Owner { user: UserId(200), strategy: StrategyId(STRATEGY.0 - 1) };
    few.handed_over(sender, heir);
    assert_eq!((few.user_open_orders(USER), few.strategy_open_orders(STRATEGY)), (0, 0));
    assert_eq!((few.user_open_orders(heir.user), few.strategy_open_orders(heir.strategy)), (1, 1));
    assert_eq!(few.account_usage(ACCOUNT), account);
    // Its sender has room again.
    assert_eq!(send(&mut few, 2, &buy()), SENT);
    few.ended(heir.order(1), &buy(), Lots(10));
    assert_eq!((few.user_open_orders(heir.user), few.strategy_open_orders(heir.strategy)), (0, 0));
    // Beyond the sizes there is nothing to count.
    few.handed_over(sender, Owner::HOUSE);
    assert_eq!(few.user_open_orders(USER), 0);
}

#[test]
fn what_is_used_can_be_looked_at() {
    let mut risk = risk();
    assert_eq!(send(&mut risk, 1, &buy()), SENT);
    let usage = risk.account_usage(ACCOUNT);
    let worth = Amount::whole(1_000);
    assert_eq!((usage.open_orders, usage.gross, usage.net), (1, worth, worth));
    assert_eq!(risk.strategy_open_orders(STRATEGY), 1);
    assert_eq!(risk.account_usage(AccountId(200)), AccountUsage::default());
    let rates =
        MessageRates { orders: Rate { per_second: 1, burst: 3 }, ..MessageRates::UNLIMITED };
    let mut limited = user(|user| user.rates = rates);
    assert_eq!(send(&mut limited, 1, &buy()), SENT);
    let left = limited.messages_left(Nanos::from_secs(1), MessagesOf::User(USER));
    assert_eq!(left.orders, 2);
    let nobody = limited.messages_left(Nanos::ZERO, MessagesOf::User(UserId(200)));
    assert_eq!(nobody, MessagesLeft::default());
}

#[test]
fn a_price_is_held_against_the_tick_that_holds_there() {
    let steps = [50, 120].map(|at| TickStep { from: price(at), tick: Price(price(at).0 / 100) });
    let ticks = CENTS.with_steps(&steps).unwrap();
    let (collar_ppm, last_trade_collar_ppm) = (OrderLimits::NO_COLLAR, OrderLimits::NO_COLLAR);
    let mut risk =
        orders(|orders| *orders = OrderLimits { collar_ppm, last_trade_collar_ppm, ..ORDERS });
    risk.define(APPLE, RiskInstrument { ticks, ..DEFINITION }).unwrap();
    let cents = |cents: i64| Price(cents * Price::SCALE / 100);
    for (number, at) in (1..).zip([1, 4_999, 5_000, 5_050, 11_950, 12_000, 12_120]) {
        let terms = OrderTerms { price: cents(at), ..buy() };
        assert_eq!(send(&mut risk, number, &terms), SENT, "{at} cents");
    }
    for at in [-5_000, 0, 5_001, 5_049, 11_999, 12_050, 12_121] {
        let terms = OrderTerms { price: cents(at), ..buy() };
        assert_refused(&mut risk, 9, &terms, RiskReject::Tick);
        let stop = OrderTerms { stop_price: Some(cents(at)), ..buy() };
        assert_refused(&mut risk, 9, &stop, RiskReject::Tick);
    }
}

#[test]
fn an_order_that_is_worth_less_than_the_venue_takes_is_refused() {
    let mut risk = risk();
    let notional_min = Amount::whole(500);
    risk.define(APPLE, RiskInstrument { notional_min, ..DEFINITION }).unwrap();
    assert_refused(&mut risk, 1, &order(Side::Buy, 99, 5), RiskReject::MinNotional);
    assert_eq!(send(&mut risk, 1, &order(Side::Buy, 100, 5)), SENT);
    assert_eq!(send(&mut risk, 2, &order(Side::Buy, 99, 6)), SENT);
}

#[test]
fn reference_data_of_an_instrument_become_what_it_is_checked_against() {
    let symbol = Symbol::new(b"APPLE").unwrap();
    let lot = Qty { mantissa: 1, decimals: 1 };
    let plain = Instrument::new(APPLE, symbol, price(1), lot).unwrap();
    let of = |instrument: Result<Instrument, _>| RiskInstrument::of(&instrument.unwrap());
    let simple = of(Ok(plain)).unwrap();
    assert_eq!((simple.lots_min, simple.notional_min), (Lots(1), Amount::ZERO));
    assert_eq!(simple.lot_value, Price::SCALE / 10);

    let dear = of(plain.with_multiplier(Qty { mantissa: 25, decimals: 1 })).unwrap();
    assert_eq!(dear.lot_value, Price::SCALE / 4);
    let inverse = of(plain.with_kind(ContractKind::Inverse).with_multiplier(Qty::whole(50)));
    assert_eq!(inverse.unwrap().lot_value, -5 * Price::SCALE);
    let least = of(plain.with_minima(Lots(3), price(7))).unwrap();
    assert_eq!((least.lots_min, least.notional_min), (Lots(3), Amount::whole(7)));

    // Worth with digits below 1e-9, or more than there is room for.
    for (mantissa, decimals) in [(1, 9), (i64::MAX, 0), (1, 200)] {
        assert_eq!(of(plain.with_multiplier(Qty { mantissa, decimals })), None, "{mantissa}");
    }
}
