//! The synthetic market stays what it promises to be.

use std::collections::HashMap;

use taut_engine::{Command, NewOrder};
use taut_types::{HalfTicks, Lots, OrderId, Side, TimeInForce};

use super::market::Market;
use crate::flow::{SyntheticConfig, SyntheticFlow, Top};

/// One step, with everything that flows back.
fn step(flow: &mut SyntheticFlow, market: &mut Market) -> Command {
    let command = flow.next_command(market.top());
    market.execute(command);
    for &(order_id, remaining) in &market.fills {
        flow.on_fill(order_id, remaining);
    }
    command
}

#[test]
fn the_market_is_lively_and_stationary() {
    for seed in [1, 2, 77] {
        let mut flow = SyntheticFlow::new(SyntheticConfig { seed, ..SyntheticConfig::default() });
        let mut market = Market::with(flow.initial_orders());
        let initial_orders = flow.initial_orders().len();
        let (steps, mut top_changes, mut spread_sum) = (40_000, 0, 0);
        let mut kinds: HashMap<&str, i64> = HashMap::new();
        for _ in 0..steps {
            let before = market.engine.book().top();
            let kind = match step(&mut flow, &mut market) {
                Command::New(order) if order.time_in_force == TimeInForce::GoodTillCancel => "add",
                Command::New(_) => "take",
                Command::Cancel { .. } => "cancel",
                Command::Reduce { .. } => "reduce",
                other => panic!("{other:?}"),
            };
            *kinds.entry(kind).or_default() += 1;
            let book = market.engine.book();
            top_changes += i64::from(book.top() != before);
            let top = market.top();
            spread_sum += (top.best_ask.unwrap().0 - top.best_bid.unwrap().0) / 2;
            assert!(Side::BOTH.iter().all(|&side| book.level_count(side) >= 500));
            assert_eq!(flow.order_count(), book.order_count());
            assert!(book.order_count().abs_diff(initial_orders) * 10 < initial_orders);
        }
        println!("seed {seed}: top changes {top_changes}, spreads {spread_sum}, {kinds:?}");
        assert!((steps / 5..steps * 7 / 20).contains(&top_changes), "{top_changes}");
        assert!((steps..steps * 4).contains(&spread_sum), "{spread_sum}");
        assert!(["add", "take", "cancel", "reduce"].iter().all(|kind| kinds[kind] > steps / 25));
        assert!(market.trade_count as i64 > steps / 20);
        assert_eq!(market.refused, []);
    }
}

#[test]
fn the_same_seed_gives_the_same_market_and_another_seed_another() {
    let hash = |seed| {
        let mut flow = SyntheticFlow::new(SyntheticConfig { seed, ..SyntheticConfig::default() });
        let mut market = Market::with(flow.initial_orders());
        for _ in 0..5_000 {
            step(&mut flow, &mut market);
        }
        market.engine.book().state_hash()
    };
    assert_eq!(hash(5), hash(5));
    assert_ne!(hash(5), hash(6));
}

#[test]
fn strangers_who_sweep_the_book_do_not_exhaust_it() {
    let mut flow = SyntheticFlow::new(SyntheticConfig::default());
    let mut market = Market::with(flow.initial_orders());
    for round in 0..4_000u64 {
        step(&mut flow, &mut market);
        if round % 20 == 0 {
            // Alternately 5 levels of each side, by orders that the flow does not know.
            let top = market.top();
            let (side, price) = if round % 40 == 0 {
                (Side::Buy, top.best_ask.unwrap().0 + 10)
            } else {
                (Side::Sell, top.best_bid.unwrap().0 - 10)
            };
            let order_id = OrderId((1 << 48) + round);
            let order = NewOrder::limit(order_id, 1, side, HalfTicks(price), Lots(100_000));
            market.execute(Command::New(order.force(TimeInForce::ImmediateOrCancel)));
            for &(order_id, remaining) in &market.fills {
                flow.on_fill(order_id, remaining);
            }
        }
        let book = market.engine.book();
        assert!(Side::BOTH.iter().all(|&side| book.level_count(side) >= 500), "round {round}");
        assert_eq!(flow.order_count(), book.order_count());
    }
    assert_eq!(market.refused, []);
}

#[test]
fn a_market_pushed_to_the_end_of_its_prices_comes_back() {
    let config = SyntheticConfig {
        level_count: 12,
        orders_per_level: 2,
        lots_max: 20,
        ..SyntheticConfig::default()
    };
    for (seed, pushes) in [(1, Side::Buy), (2, Side::Sell)] {
        let mut flow = SyntheticFlow::new(SyntheticConfig { seed, ..config });
        let mut market = Market::with(flow.initial_orders());
        let initial_orders = flow.initial_orders().len();
        let mut trades_before = 0;
        for round in 0..60_000u64 {
            step(&mut flow, &mut market);
            // A stranger takes one side's best level again and again, and then leaves.
            if round < 20_000 && round % 8 == 0 {
                let top = market.top();
                let best = if pushes == Side::Buy { top.best_ask } else { top.best_bid };
                let Some(price) = best else { continue };
                let order_id = OrderId((1 << 48) + round);
                let order = NewOrder::limit(order_id, 1, pushes, price, Lots(100));
                market.execute(Command::New(order.force(TimeInForce::ImmediateOrCancel)));
                for &(order_id, remaining) in &market.fills {
                    flow.on_fill(order_id, remaining);
                }
            }
            let orders = market.engine.book().order_count();
            assert!(orders < initial_orders * 3, "seed {seed}, round {round}: {orders} orders");
            if round % 2_000 == 1_999 {
                assert!(market.trade_count > trades_before + 50, "seed {seed}, round {round}");
                trades_before = market.trade_count;
            }
        }
        assert_eq!(market.refused, []);
    }
}

#[test]
fn small_markets_and_missing_prices_are_survived() {
    let smallest = SyntheticConfig {
        level_count: 0,
        orders_per_level: 0,
        lots_max: 0,
        start_price: HalfTicks(-7),
        ..SyntheticConfig::default()
    };
    for level_count in [0, 1, 2, 20] {
        let mut flow = SyntheticFlow::new(SyntheticConfig { level_count, ..smallest });
        for n in 0..5_000i64 {
            let price = |on: bool, at| on.then_some(HalfTicks(at));
            // Prices that no market has, and none at all.
            let top = Top { best_bid: price(n % 3 > 0, n % 9 - 2), best_ask: price(n % 2 > 0, 4) };
            if let Command::New(order) = flow.next_command(top) {
                assert!(order.lots > Lots::ZERO);
            }
        }
    }
    let mut market = Market::with(SyntheticFlow::new(smallest).initial_orders());
    let mut flow = SyntheticFlow::new(smallest);
    for _ in 0..5_000 {
        step(&mut flow, &mut market);
    }
    assert_eq!(market.refused, []);
}
