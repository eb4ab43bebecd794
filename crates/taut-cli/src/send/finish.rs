//! The end of a stream: everybody shall know how much there was, and have it.

use taut_channel::{ChannelUri, Closing, OfferError, OnFull};
use taut_sys::stop_requests;
use taut_types::Nanos;

use super::sender::Sender;
use crate::channel::stamp::Stamp;
use crate::exit::Failure;

/// How often the end is said where messages may be lost or dropped: one of them arrives. Where
/// nothing is lost it is said once: the receiver is gone behind it, and takes no second one.
const TIMES: usize = 3;
/// How far apart.
const APART: Nanos = Nanos::from_millis(2);

/// Drains, says the end, closes, and waits for the slow; all within the linger time.
pub fn run(sender: &mut Sender<'_>, count: u64) -> Result<(), Failure> {
    let linger = Nanos((sender.arguments.linger * 1e9) as i64);
    let deadline = sender.clock.now() + linger;
    let patience = stop_requests() + 1;
    let may_go_on = |now: Nanos| now < deadline && stop_requests() < patience;
    // A queue that is full, by whatever policy, has no room for the end.
    let mut now = sender.clock.now();
    while sender.publication.unacknowledged_bytes() > 0 && may_go_on(now) {
        now = sender.duty();
        sender.progress.tell("draining");
    }
    for _ in 0..if may_lose(sender.uri) { TIMES } else { 1 } {
        say_end(sender, count, may_go_on);
        let until = sender.clock.now() + APART;
        while sender.duty() < until && sender.publication.is_connected() {}
    }
    sender.publication.close(sender.clock.now());
    while sender.publication.closing() != Closing::Closed && may_go_on(sender.clock.now()) {
        sender.duty();
        sender.progress.tell("draining");
    }
    match sender.publication.closing() {
        Closing::Draining { unacknowledged_bytes: bytes @ 1.. } => Err(Failure::Run(format!(
            "{bytes} bytes were not acknowledged within --linger {} s",
            sender.arguments.linger
        ))),
        _ => Ok(()),
    }
}

/// Whether a message may not arrive though there is a receiver.
fn may_lose(uri: &ChannelUri) -> bool {
    match uri {
        ChannelUri::Inproc(_) | ChannelUri::Ipc(_) => false,
        ChannelUri::Aeron(uri) => uri.reliable == Some(false),
        ChannelUri::Zmtp(uri) => uri.on_full != OnFull::Block,
        _ => true,
    }
}

fn say_end(sender: &mut Sender<'_>, count: u64, may_go_on: impl Fn(Nanos) -> bool) {
    let end = Stamp::end(count);
    let mut now = sender.clock.now();
    while sender.offer(now, &end) == Err(OfferError::BackPressured) && may_go_on(now) {
        now = sender.duty();
    }
}
