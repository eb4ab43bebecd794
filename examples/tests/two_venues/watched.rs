//! The strategy, and what it shows of itself.

use std::cell::Cell;
use std::rc::Rc;

use taut::prelude::*;

use crate::hedger::Hedger;
use crate::venues::SYMBOLS;

/// What is said to the strategy, and what it holds as far as it knows.
#[derive(Debug, Default)]
pub struct Shown {
    pub is_leaving: Cell<bool>,
    pub held: Cell<[i64; 2]>,
}

/// The hedger, looked at from outside.
pub struct Watched {
    pub hedger: Hedger,
    pub shown: Rc<Shown>,
}

impl Strategy for Watched {
    fn on_market(&mut self, now: Nanos, event: &Event, trading: &mut impl Trading) {
        self.hedger.on_market(now, event, trading);
    }

    fn on_batch_end(&mut self, now: Nanos, trading: &mut impl Trading) {
        self.hedger.on_batch_end(now, trading);
    }

    fn on_gateway(&mut self, now: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
        self.hedger.on_gateway(now, event, trading);
    }

    fn on_timer(&mut self, now: Nanos, trading: &mut impl Trading) {
        if self.shown.is_leaving.get() {
            self.hedger.leave();
        }
        self.hedger.on_timer(now, trading);
        let lots = |symbol: &str| {
            let instrument = trading.instrument(symbol)?.id();
            Some(trading.position(instrument, AccountId(0)).lots.0)
        };
        self.shown.held.set(SYMBOLS.map(|symbol| lots(symbol).unwrap_or(0)));
    }
}
