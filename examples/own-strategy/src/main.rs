//! A strategy of one's own: `cargo run --release -- --mode split --seconds 5`, `--help` for more.

use std::process::ExitCode;

use taut::prelude::*;

/// Takes the offer whenever it falls.
#[derive(Default)]
struct Dip {
    last: Option<Price>,
    waiting: bool,
}

impl Strategy for Dip {
    fn on_market(&mut self, _now: Nanos, event: &Event, trading: &mut impl Trading) {
        let EventKind::Top(BestPrices { ask: Some((price, _)), .. }) = event.kind else { return };
        if self.last.replace(price).is_some_and(|last| price < last) && !self.waiting {
            let limit = OrderTerms::limit(event.instrument, Side::Buy, price, Lots(1));
            let order = OrderTerms { time_in_force: TimeInForce::ImmediateOrCancel, ..limit };
            self.waiting = trading.create(&order).is_some();
        }
    }

    fn on_order(&mut self, _now: Nanos, update: &OrderUpdate, _trading: &mut impl Trading) {
        self.waiting = !update.state.is_done();
    }
}

fn main() -> ExitCode {
    Runner::from_args().main(|_| Dip::default())
}
