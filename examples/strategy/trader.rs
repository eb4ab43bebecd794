//! A gateway with a strategy in its thread, against an exchange that runs elsewhere.
//!
//! usage: `trader [PORT [SECONDS]]`

mod dip;
mod market;

use std::error::Error;
use std::process::ExitCode;

use taut::prelude::*;
use taut::runner::RemoteVenue;
use taut_examples::told;

use dip::Dip;
use market::{Market, SYMBOL, TICK, VENUE};

fn main() -> ExitCode {
    told(trade())
}

/// The gateway is this same program again, so that `main` is run there too, up to `run`.
fn trade() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let market = Market::at(arguments.next().as_deref())?;
    let seconds: f64 = arguments.next().as_deref().unwrap_or("3").parse()?;

    let (orders, feed, snapshot) = (market.orders, market.incremental, market.snapshot);
    let mut venue = RemoteVenue::new(orders, feed, snapshot, VENUE);
    venue.stream_id = Some(market.stream_id);
    venue.sender_comp_id = "TRADER".to_owned();
    let mut settings = Settings::default();
    settings.mode = Mode::Fused;
    settings.seconds = Some(seconds);
    settings.venue = Some(venue);
    settings.instrument.symbol = SYMBOL.to_owned();
    settings.instrument.tick = TICK.to_owned();

    let outcome = Runner::new(settings).run(|_| Dip::default())?;
    println!("{outcome}");
    Ok(())
}
