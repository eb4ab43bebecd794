//! An engine that a flow trades in, and what it answered.

use taut_engine::{Command, Engine, EngineConfig, Event, NewOrder};
use taut_types::{Lots, OrderId};

use crate::flow::Top;

pub(super) struct Market {
    pub(super) engine: Engine,
    /// Fills of the last command: order, and what is left of it.
    pub(super) fills: Vec<(OrderId, Lots)>,
    pub(super) trade_count: u64,
    pub(super) refused: Vec<Event>,
}

impl Market {
    pub(super) fn with(initial_orders: &[NewOrder]) -> Self {
        let config = EngineConfig { order_capacity: 1 << 16, level_capacity: 1 << 13 };
        let (fills, refused) = (Vec::new(), Vec::new());
        let mut market = Self { engine: Engine::new(config), fills, trade_count: 0, refused };
        for &order in initial_orders {
            market.execute(Command::New(order));
        }
        assert_eq!(market.trade_count, 0, "the initial book trades with itself");
        market
    }

    pub(super) fn execute(&mut self, command: Command) {
        let Self { engine, fills, trade_count, refused } = self;
        fills.clear();
        engine.execute(command, &mut |event: Event| match event {
            Event::Trade { maker, taker, maker_remaining, taker_remaining, .. } => {
                *trade_count += 1;
                fills.extend([(maker, maker_remaining), (taker, taker_remaining)]);
            }
            Event::Rejected { .. } | Event::CancelRejected { .. } => refused.push(event),
            _ => {}
        });
    }

    pub(super) fn top(&self) -> Top {
        let top = self.engine.book().top();
        Top {
            best_bid: top.bid.map(|level| level.price),
            best_ask: top.ask.map(|level| level.price),
        }
    }
}
