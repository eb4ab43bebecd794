//! The strategy of docs/strategy.md that quotes every instrument of its settings in one call:
//! `cargo run --release --example maker -- --settings two.toml --mode split --seconds 5`

use std::process::ExitCode;

use taut::prelude::*;

/// Quotes one lot in every instrument, a tick behind the best prices.
#[derive(Default)]
struct Maker {
    quotes: Quotes,
    wanted: Vec<Quote>,
}

impl Strategy for Maker {
    fn on_market(&mut self, _now: Nanos, event: &Event, trading: &mut impl Trading) {
        let EventKind::Top(top) = event.kind else { return };
        let Some(tick) = trading.instrument_of(event.instrument).map(|it| it.tick()) else {
            return;
        };
        let behind = |best: Option<(Price, Lots)>, ticks: i64| {
            best.map(|(price, _)| (Price(price.0 + ticks * tick.0), Lots(1)))
        };
        let (bid, ask) = (behind(top.bid, -1), behind(top.ask, 1));
        self.wanted.retain(|quote| quote.instrument != event.instrument);
        self.wanted.push(Quote { instrument: event.instrument, bid, ask });
    }

    fn on_batch_end(&mut self, _now: Nanos, trading: &mut impl Trading) {
        self.quotes.send(trading, &self.wanted);
    }

    fn on_gateway(&mut self, _now: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
        match event {
            // What is open from before is taken up.
            GatewayEvent::OpenOrder(order) => self.quotes.adopt(order),
            GatewayEvent::RateLimit(limit) if limit.is_high => {
                self.quotes.cancel(trading); // cancels have a budget of their own
            }
            _ => {}
        }
    }
}

fn main() -> ExitCode {
    Runner::from_args().main(|_| Maker::default())
}
