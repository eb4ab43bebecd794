//! The end of a stream: everybody shall know how much there was, and have it.

use taut_channel::{ChannelUri, Closing, OfferError, OnFull};
use taut_sys::stop_requests;
use taut_types::Nanos;

use super::sender::Sender;
use crate::channel::stamp::Stamp;
use crate::exit::Failure;
use crate::terminal;

/// How often the end is said where messages may be lost or dropped: one of them arrives, also when
/// every other datagram is lost. A receiver that heard it leaves, and with the last one the saying
/// ends. Where nothing is lost it is said once: nobody takes a second one.
const TIMES: usize = 10;
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
        if !sender.publication.is_connected() {
            break;
        }
        let until = sender.clock.now() + APART;
        while sender.duty() < until && sender.publication.is_connected() {}
    }
    sender.publication.close(sender.clock.now());
    while sender.publication.closing() != Closing::Closed && may_go_on(sender.clock.now()) {
        sender.duty();
        sender.progress.tell("draining");
    }
    let linger = sender.arguments.linger;
    match sender.publication.closing() {
        Closing::Draining { unacknowledged_bytes: bytes @ 1.. } => Err(Failure::Run(format!(
            "{bytes} bytes were not acknowledged within --linger {linger} s"
        ))),
        // A stream is in the kernel's hands, whose reader has not closed its end.
        Closing::Draining { .. } if sender.publication.is_connected() => {
            terminal::tell(format_args!(
                "a subscriber did not end within --linger {linger} s: it may not have read all"
            ));
            Ok(())
        }
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
    let mut offered = sender.offer(now, &end);
    while offered == Err(OfferError::BackPressured) && may_go_on(now) {
        now = sender.duty();
        offered = sender.offer(now, &end);
    }
    sender.end_messages += u64::from(offered.is_ok());
}
