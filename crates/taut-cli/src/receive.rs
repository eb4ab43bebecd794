//! `taut receive`: messages out of any channel, timed and counted.

mod arguments;
mod csv;
mod pong;
mod receiver;
mod report;

use taut_channel::Subscription;

pub use arguments::Arguments;

use crate::channel::{clock::StampClock, failure};
use crate::exit::Failure;
use crate::receive::csv::Csv;
use crate::receive::pong::Pong;
use crate::receive::receiver::Receiver;
use crate::terminal;

/// Receives.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.check()?;
    let (uri, reply, opening) = arguments.end.begin(arguments.reply_channel.as_deref())?;
    let csv = arguments.csv.as_deref().map(Csv::create).transpose()?;
    let opened = Subscription::open(&uri, &opening);
    let subscription = opened.map_err(|error| failure::opening(&uri, &error))?;
    if let Some(address) = subscription.local_address() {
        terminal::tell(format_args!("{uri} at {address}"));
    }
    let pong = reply.map(|reply| Pong::open(&reply, &opening)).transpose()?;
    let clock = StampClock::exact(arguments.end.clock);
    let report = Receiver::new(arguments, subscription, clock, csv, pong).run(&uri)?;
    terminal::print_report(&report, arguments.end.json)
}
