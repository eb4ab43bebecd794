//! Quotes two instruments of a running gateway: a bid and an offer a tick behind the best of each,
//! moved when the market moves. `cargo run --example quoter -- GATEWAY NAME ONE TWO`

use std::process::ExitCode;

use taut::prelude::*;

/// Its quotes, by instrument and side.
struct Quoter {
    symbols: [String; 2],
    quotes: [[Option<ClientOrderId>; 2]; 2],
    is_stopping: bool,
}

impl Strategy for Quoter {
    fn on_market(&mut self, _now: Nanos, event: &Event, trading: &mut impl Trading) {
        let EventKind::Top(BestPrices { bid: Some(bid), ask: Some(ask) }) = event.kind else {
            return;
        };
        let is_it = |symbol: &String| {
            trading.instrument(symbol).is_some_and(|instrument| instrument.id() == event.instrument)
        };
        let Some(place) = self.symbols.iter().position(is_it).filter(|_| !self.is_stopping) else {
            return;
        };
        let tick = trading.instruments()[event.instrument.0 as usize].tick().0;
        for (side, best) in [(Side::Buy, bid.0), (Side::Sell, ask.0)] {
            let price = Price(best.0 - side.sign() * tick);
            let quote = &mut self.quotes[place][side.index()];
            match quote.map(|id| trading.order(id)) {
                None => {
                    let limit = OrderTerms::limit(event.instrument, side, price, Lots(1));
                    *quote = trading.create(&OrderTerms { flags: OrderFlags::POST_ONLY, ..limit });
                }
                // One change at a time: what is under way is answered first.
                Some(Some(order)) if order.terms.price != price => {
                    trading.modify(order.id, price, order.terms.lots);
                }
                Some(_) => {}
            }
        }
    }

    fn on_order(&mut self, _now: Nanos, update: &OrderUpdate, _trading: &mut impl Trading) {
        let quote = self.quotes.iter_mut().flatten().find(|quote| **quote == Some(update.id));
        if let Some(quote) = quote.filter(|_| update.state.is_done()) {
            *quote = None;
        }
    }

    fn on_gateway(&mut self, _now: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
        // What an earlier run has left open is none of this one's quotes.
        if *event == GatewayEvent::DownloadEnd {
            self.quotes = Default::default();
            trading.cancel_all(OrderFilter::ALL);
        }
    }

    fn on_timer(&mut self, _now: Nanos, trading: &mut impl Trading) {
        if self.is_stopping && !self.is_idle() {
            trading.cancel_all(OrderFilter::ALL);
        }
    }

    fn stop(&mut self) {
        self.is_stopping = true;
    }

    fn is_idle(&self) -> bool {
        self.quotes.iter().flatten().all(Option::is_none)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [gateway, name, one, two] = arguments.as_slice() else {
        eprintln!("usage: quoter GATEWAY NAME ONE TWO, such as quoter taut touch TAUT1 TAUT2");
        return ExitCode::from(2);
    };
    let symbols = [one.clone(), two.clone()];
    let quoter = Quoter { symbols, quotes: Default::default(), is_stopping: false };
    match Attach::new(gateway, name).run(|_| quoter, |what| eprintln!("{what}")) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quoter: {error}");
            error.exit_code()
        }
    }
}
