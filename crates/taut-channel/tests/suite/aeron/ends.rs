//! Publications and subscriptions of the tests, and the messages that they exchange.

use taut_channel::{ChannelUri, Event, Loss, Opening, Publication, Subscription};
use taut_sys::monotonic;
use taut_types::Nanos;

pub const PATIENCE: Nanos = Nanos::from_secs(30);

pub fn opening(loss: f64, seed: u64) -> Opening {
    let loss = Loss::new(loss, seed).filter(|_| loss > 0.0);
    Opening { now: monotonic(), loss, ..Opening::default() }
}

pub fn uri(text: &str) -> ChannelUri {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub fn message(sequence: u64) -> Vec<u8> {
    // Now and then one that is longer than a datagram.
    let bytes = 8 + (sequence % 97) as usize + if sequence.is_multiple_of(50) { 4000 } else { 0 };
    let mut message = sequence.to_le_bytes().to_vec();
    message.extend((8..bytes).map(|at| (sequence as usize + at) as u8));
    message
}

/// A subscription on a port that the kernel picks, and the publication to it.
pub fn unicast(more: &str, send_loss: f64, receive_loss: f64) -> (Publication, Subscription) {
    unicast_with(more, more, send_loss, receive_loss)
}

/// As [`unicast`], each end with parameters of its own.
pub fn unicast_with(
    send: &str,
    listen: &str,
    send_loss: f64,
    receive_loss: f64,
) -> (Publication, Subscription) {
    let listen = uri(&format!("aeron:udp?endpoint=127.0.0.1:0|stream-id=7{listen}"));
    let subscription = Subscription::open(&listen, &opening(receive_loss, 1)).expect("listen");
    let port = subscription.local_address().expect("an address").port();
    let send = uri(&format!("aeron:udp?endpoint=127.0.0.1:{port}|stream-id=7{send}"));
    (Publication::open(&send, &opening(send_loss, 2)).expect("send"), subscription)
}

/// The bytes that events say were passed.
pub fn passed(events: &[Event]) -> u64 {
    let lengths = events.iter().map(|event| match event {
        Event::Gap { length, .. } => *length,
        _ => 0,
    });
    lengths.sum()
}
