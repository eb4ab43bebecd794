//! Every short sequence of commands, engine against twin.

use std::vec;
use std::vec::Vec;

use taut_types::{HalfTicks, Lots, Nanos, OrderId, Side, TimeInForce};

use crate::oracle::NaiveEngine;
use crate::{Command, Engine, EngineConfig, NewOrder, Peg, PostOnly, Rules};

const CONFIG: EngineConfig = EngineConfig { order_capacity: 6, level_capacity: 3 };
const PRICES: [HalfTicks; 2] = [HalfTicks(20), HalfTicks(24)];

/// Depths for a release build and for a debug build.
const fn depth(release: usize, debug: usize) -> usize {
    if cfg!(debug_assertions) { debug } else { release }
}

struct Walk {
    alphabet: Vec<Command>,
    count: u64,
}

impl Walk {
    /// Tries every command of the alphabet, and after each every other, to this depth. The order
    /// that is entered as the n-th has the id n.
    fn descend(
        &mut self,
        engine: &Engine,
        twin: &NaiveEngine,
        path: &mut Vec<Command>,
        left: usize,
    ) {
        if left == 0 {
            return;
        }
        for n in 0..self.alphabet.len() {
            let command = match self.alphabet[n] {
                Command::New(order) => {
                    Command::New(NewOrder { order_id: OrderId(path.len() as u64), ..order })
                }
                other => other,
            };
            path.push(command);
            let (mut engine, mut twin) = (engine.clone(), twin.clone());
            let mut events = Vec::new();
            super::execute(&mut engine, command, |event| events.push(event));
            assert_eq!(events, twin.execute(command), "{path:#?}");
            if let (Some(bid), Some(ask)) =
                (engine.book().best_price(Side::Buy), engine.book().best_price(Side::Sell))
            {
                assert!(bid < ask, "the displayed book is never locked: {path:#?}");
            }
            self.count += 1;
            self.descend(&engine, &twin, path, left - 1);
            path.pop();
        }
    }

    fn run(alphabet: Vec<Command>, depth: usize) {
        let mut walk = Self { alphabet, count: 0 };
        let rules = Rules { special_capacity: 4, ..Rules::default() };
        let engine = Engine::with_rules(CONFIG, rules);
        walk.descend(&engine, &NaiveEngine::new(CONFIG, rules), &mut Vec::new(), depth);
        std::println!("{} sequences", walk.count);
    }
}

fn sides_and_prices() -> impl Iterator<Item = (Side, HalfTicks)> {
    Side::BOTH.into_iter().flat_map(|side| PRICES.map(|price| (side, price)))
}

fn every_form() -> Vec<Command> {
    let force = [
        TimeInForce::GoodTillCancel,
        TimeInForce::Day,
        TimeInForce::ImmediateOrCancel,
        TimeInForce::FillOrKill,
    ];
    let mut orders = Vec::new();
    for (side, price) in sides_and_prices() {
        let limit = NewOrder::limit(OrderId(0), 1, side, price, Lots(3));
        let market = NewOrder::market(OrderId(0), 1, side, Lots(3));
        orders.extend(force.map(|force| limit.force(force)));
        orders.extend(force.map(|force| limit.stop(price).force(force)));
        orders.extend([Peg::Primary, Peg::Market, Peg::Midpoint].map(|peg| limit.pegged(peg, 0)));
        orders.extend([
            limit.iceberg(Lots(1)),
            limit.hidden(),
            limit.post_only(PostOnly::Reject),
            limit.post_only(PostOnly::Slide),
            limit.minimum(Lots(2)),
            limit.minimum(Lots(2)).force(TimeInForce::ImmediateOrCancel),
            NewOrder { lots: Lots(4), ..limit.all_or_none() },
            limit.good_till(Nanos(5)),
            limit.at_the_open(),
            limit.at_the_close(),
            limit.take_profit(price),
            limit.trailing(price, 4),
            market.stop(price),
            market.take_profit(price),
            market.trailing(price, 4),
        ]);
    }
    for side in Side::BOTH {
        let market = NewOrder::market(OrderId(0), 2, side, Lots(2));
        orders.extend(force.map(|force| market.force(force)));
        orders.extend([market.market_to_limit(), market.protection(2)]);
    }
    orders.into_iter().map(Command::New).collect()
}

#[test]
fn every_sequence_of_orders_of_all_types_and_times_in_force_agrees_with_the_twin() {
    Walk::run(every_form(), depth(3, 2));
}

#[test]
fn every_longer_sequence_of_the_common_orders_agrees_with_the_twin() {
    let mut alphabet = vec![Command::Cancel { order_id: OrderId(0) }];
    for (n, (side, price)) in (0..).zip(sides_and_prices()) {
        let limit = NewOrder::limit(OrderId(0), 1, side, price, Lots(2 + n % 2));
        alphabet.extend(
            [
                limit,
                limit.force(TimeInForce::ImmediateOrCancel),
                limit.force(TimeInForce::FillOrKill),
                limit.post_only(PostOnly::Reject),
                NewOrder::market(OrderId(0), 1, side, Lots(1)).stop(price),
            ]
            .map(Command::New),
        );
    }
    for side in Side::BOTH {
        alphabet.push(Command::New(NewOrder::market(OrderId(0), 1, side, Lots(3))));
    }
    Walk::run(alphabet, depth(5, 3));
}
