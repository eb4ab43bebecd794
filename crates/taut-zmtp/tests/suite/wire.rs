//! A publisher and a subscriber with a wire between them that splits as it likes.

use taut_types::Nanos;
use taut_zmtp::{
    CloseReason, ConnectionConfig, LinkId, PeerId, Publisher, PublisherConfig, PublisherEvent,
    SEED_BYTES, Seed, SocketType, Subscriber, SubscriberEvent,
};

pub const NOW: Nanos = Nanos(1_000_000_000);

/// Different for every number, and always the same: tests need no real randomness.
pub fn seed(number: u8) -> Seed {
    let mut bytes = [0; SEED_BYTES];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = (at as u8).wrapping_mul(7).wrapping_add(number.wrapping_mul(31)).wrapping_add(1);
    }
    Seed::new(bytes)
}

/// One connection of the two, and what the subscriber got over it.
pub struct Pair {
    pub publisher: Publisher,
    pub subscriber: Subscriber,
    pub peer: PeerId,
    pub link: LinkId,
    /// Received, not handled.
    to_publisher: Vec<u8>,
    to_subscriber: Vec<u8>,
    pub messages: Vec<Vec<Vec<u8>>>,
    parts: Vec<Vec<u8>>,
    pub events: Vec<String>,
    pub upstream: Vec<Vec<u8>>,
    pub active: bool,
    pub closed: Option<CloseReason>,
}

impl Pair {
    pub fn new(publisher: PublisherConfig, subscriber: ConnectionConfig) -> Self {
        let mut publisher = Publisher::new(publisher).expect("a publisher");
        let mut subscriber = Subscriber::new(subscriber, 4).expect("a subscriber");
        let peer = publisher.add(NOW, seed(1)).expect("a peer");
        let link = subscriber.add(NOW, seed(2)).expect("a link");
        Self {
            publisher,
            subscriber,
            peer,
            link,
            to_publisher: Vec::new(),
            to_subscriber: Vec::new(),
            messages: Vec::new(),
            parts: Vec::new(),
            events: Vec::new(),
            upstream: Vec::new(),
            active: false,
            closed: None,
        }
    }

    /// PUB and SUB without security, connected and subscribed.
    pub fn subscribed(config: PublisherConfig, prefixes: &[&str]) -> Self {
        let socket_type = match config.connection.socket_type {
            SocketType::Push => SocketType::Pull,
            _ => SocketType::Sub,
        };
        let mut pair = Self::new(config, ConnectionConfig::new(socket_type));
        for prefix in prefixes {
            pair.subscriber.subscribe(prefix.as_bytes()).expect("subscribe");
        }
        pair.run(usize::MAX);
        pair
    }

    /// Passes bytes both ways until none is left, at most `step` at a time.
    pub fn run(&mut self, step: usize) {
        while self.pass_down(step) + self.pass_up(step) > 0 {}
    }

    /// Passes at most `step` bytes to the subscriber.
    pub fn pass_down(&mut self, step: usize) -> usize {
        let bytes = self.publisher.poll_transmit(self.peer);
        let count = bytes.len().min(step);
        self.to_subscriber.extend_from_slice(&bytes[..count]);
        self.publisher.transmitted(self.peer, count);
        self.handle_down();
        count
    }

    /// Passes at most `step` bytes to the publisher.
    pub fn pass_up(&mut self, step: usize) -> usize {
        let bytes = self.subscriber.poll_transmit(self.link);
        let count = bytes.len().min(step);
        self.to_publisher.extend_from_slice(&bytes[..count]);
        self.subscriber.transmitted(self.link, count);
        self.handle_up();
        count
    }

    fn handle_down(&mut self) {
        let mut at = 0;
        loop {
            let rest = &self.to_subscriber[at..];
            let handled = self.subscriber.handle_bytes(self.link, NOW, rest);
            at += handled.consumed;
            match handled.event {
                None if handled.consumed == 0 => break,
                None => {}
                Some(SubscriberEvent::Message { part, more }) => {
                    self.parts.push(part.to_vec());
                    if !more {
                        self.messages.push(std::mem::take(&mut self.parts));
                    }
                }
                Some(SubscriberEvent::Active) => self.active = true,
                Some(SubscriberEvent::Closed(reason)) => {
                    self.closed = Some(reason);
                    break;
                }
                Some(event) => self.events.push(format!("{event:?}")),
            }
        }
        self.to_subscriber.drain(..at.min(self.to_subscriber.len()));
    }

    fn handle_up(&mut self) {
        let mut at = 0;
        loop {
            let rest = &self.to_publisher[at..];
            let handled = self.publisher.handle_bytes(self.peer, NOW, rest);
            at += handled.consumed;
            match handled.event {
                None if handled.consumed == 0 => break,
                None => {}
                Some(PublisherEvent::Message { part, .. }) => self.upstream.push(part.to_vec()),
                Some(PublisherEvent::Closed(reason)) => {
                    self.closed = Some(reason);
                    break;
                }
                Some(event) => self.events.push(format!("{event:?}")),
            }
        }
        self.to_publisher.drain(..at.min(self.to_publisher.len()));
    }
}
