//! `taut send`: timed messages into any channel.

mod arguments;
mod finish;
mod pace;
mod ping;
mod report;
mod sender;

use taut_channel::Publication;

pub use arguments::{Arguments, Rate};

use crate::channel::{clock::StampClock, failure};
use crate::exit::Failure;
use crate::send::report::Report;
use crate::send::sender::Sender;
use crate::terminal;

/// Sends.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.check()?;
    let (uri, reply, opening) = arguments.end.begin(arguments.reply_channel.as_deref())?;
    let clock = match arguments.rate {
        Rate::Max if !arguments.ping => StampClock::fast(arguments.end.clock),
        _ => StampClock::exact(arguments.end.clock),
    };
    let opened = Publication::open(&uri, &opening);
    let publication = opened.map_err(|error| failure::opening(&uri, &error))?;
    if let Some(address) = publication.local_address() {
        terminal::tell(format_args!("{uri} at {address}"));
    }
    let mut sender = Sender::new(arguments, &uri, publication, clock);
    let report = match reply {
        Some(reply) => ping::run(&mut sender, &reply, &opening)?,
        None => stream(&mut sender)?,
    };
    terminal::print_report(&report, arguments.end.json)
}

/// Waits for a subscriber, sends, and ends in good order.
fn stream(sender: &mut Sender<'_>) -> Result<Report, Failure> {
    sender.await_subscriber()?;
    let start = sender.clock.now();
    let sent = sender.send_all(start)?;
    let seconds = (sender.clock.now() - start).0 as f64 / 1e9;
    finish::run(sender, sent)?;
    Ok(Report::new(sender, sent, seconds))
}
