//! `taut receive`: messages out of any channel, timed and counted.

mod arguments;
mod csv;
mod pong;
mod receiver;
mod report;

use taut_channel::Subscription;

pub use arguments::Arguments;

use crate::channel::{arguments::channel, clock::StampClock, failure};
use crate::exit::{Failure, catch_stop_signals};
use crate::receive::csv::Csv;
use crate::receive::pong::Pong;
use crate::receive::receiver::Receiver;
use crate::terminal;

/// Receives.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.check()?;
    let uri = channel(arguments.channel.as_deref())?;
    let reply = arguments.reply_channel.as_deref().map(|text| channel(Some(text))).transpose()?;
    let opening = arguments.injection.opening()?;
    catch_stop_signals()?;
    let csv = arguments.csv.as_deref().map(Csv::create).transpose()?;
    arguments.thread.apply()?;
    let opened = Subscription::open(&uri, &opening);
    let subscription = opened.map_err(|error| failure::opening(&uri, &error))?;
    if let Some(address) = subscription.local_address() {
        terminal::tell(format_args!("{uri} at {address}"));
    }
    let pong = reply.map(|reply| Pong::open(&reply, &opening)).transpose()?;
    let clock = StampClock::exact(arguments.clock);
    let report = Receiver::new(arguments, subscription, clock, csv, pong).run(&uri)?;
    terminal::print_report(&report, arguments.json)
}
