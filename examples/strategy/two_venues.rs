//! Quotes at one running gateway and hedges at another.
//! `cargo run --example two-venues -- DERIBIT BINANCE NAME BTC-PERPETUAL BTCUSDT`

mod hedger;

use std::process::ExitCode;

use taut::prelude::*;

use hedger::Hedger;

/// Dollars between a quote and what its hedge would cost.
const EDGE: Price = Price(5_000_000_000);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [quoting, hedging, name, quoted, hedge] = arguments.as_slice() else {
        eprintln!(
            "usage: two-venues GATEWAY GATEWAY NAME SYMBOL SYMBOL: quotes the first symbol at the \
             first gateway, and hedges with the second at the second"
        );
        return ExitCode::from(2);
    };
    let hedger = Hedger::new([quoted.clone(), hedge.clone()], EDGE, Lots(1));
    let attach = Attach::new(quoting, name).and(hedging);
    match attach.run(|_| hedger, |what| eprintln!("{what}")) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("two-venues: {error}");
            error.exit_code()
        }
    }
}
