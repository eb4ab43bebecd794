//! Quotes two instruments of a running gateway: a bid and an offer a tick behind the best of each,
//! moved when the market moves. `cargo run --example quoter -- GATEWAY NAME ONE TWO`

use std::process::ExitCode;

use taut::prelude::*;

/// Its quotes, by symbol and side.
struct Quoter {
    symbols: [String; 2],
    quotes: [[Option<ClientOrderId>; 2]; 2],
}

impl Strategy for Quoter {
    fn on_market(&mut self, _now: Nanos, event: &Event, trading: &mut impl Trading) {
        let EventKind::Top(BestPrices { bid: Some(bid), ask: Some(ask) }) = event.kind else {
            return;
        };
        let Some(instrument) = trading.instrument_of(event.instrument).copied() else { return };
        let is_it = |symbol: &String| symbol == instrument.symbol().as_str();
        let Some(place) = self.symbols.iter().position(is_it) else { return };
        for (side, (best, _)) in [(Side::Buy, bid), (Side::Sell, ask)] {
            let price = instrument.behind(side, best, 1);
            let limit = OrderTerms::limit(event.instrument, side, price, Lots(1));
            let terms = OrderTerms { flags: OrderFlags::POST_ONLY, ..limit };
            trading.keep(&mut self.quotes[place][side.index()], &terms);
        }
    }

    fn on_gateway(&mut self, _now: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
        // What an earlier run has left open is none of this one's quotes.
        if *event == GatewayEvent::DownloadEnd {
            self.quotes = Default::default();
            trading.cancel_all(OrderFilter::ALL);
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [gateway, name, one, two] = arguments.as_slice() else {
        eprintln!("usage: quoter GATEWAY NAME ONE TWO, such as quoter taut touch TAUT1 TAUT2");
        return ExitCode::from(2);
    };
    let quoter = Quoter { symbols: [one.clone(), two.clone()], quotes: Default::default() };
    match Attach::new(gateway, name).run(|_| quoter, |what| eprintln!("{what}")) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quoter: {error}");
            error.exit_code()
        }
    }
}
