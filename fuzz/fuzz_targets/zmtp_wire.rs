//! Two ends that mean it, and somebody on the wire between them who changes, cuts, doubles, drops
//! and swaps what passes: no panic, no end of input is passed, and with CURVE the subscriber gets a
//! run of what the publisher sent, unchanged, from its first message on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use taut_types::Nanos;
use taut_zmtp::{
    Account, CloseReason, ConnectionConfig, LinkId, PeerId, Publisher, PublisherConfig,
    PublisherEvent, SEED_BYTES, SecretKey, Security, Seed, SocketType, Subscriber, SubscriberEvent,
};

const NOW: Nanos = Nanos(1_000_000_000);
const ROUNDS: usize = 24;
/// A wire holds so much: who doubles for ever shall not fill our memory.
const WIRE_BYTES: usize = 1 << 16;

/// What is done to the bytes that pass in one round.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        let Some((byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *byte
    }

    fn tamper(&mut self, bytes: &mut Vec<u8>) {
        let (kind, place, value) = (self.byte(), self.byte(), self.byte());
        if bytes.is_empty() || bytes.len() > WIRE_BYTES {
            return;
        }
        // Near the front, near the end, or anywhere.
        let place = usize::from(place);
        let at = match kind >> 6 {
            0 | 1 => place % bytes.len(),
            2 => bytes.len() - 1 - place % bytes.len(),
            _ => place * bytes.len() / 256,
        };
        let end = (at + usize::from(value)).min(bytes.len());
        match kind % 8 {
            1 => bytes[at] = value,
            2 => bytes[at] ^= 1 << (value % 8),
            3 => bytes.insert(at, value),
            4 => drop(bytes.drain(at..end)),
            5 => bytes.truncate(at),
            6 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            7 => bytes[at..end].reverse(),
            _ => {}
        }
    }
}

struct Pair {
    publisher: Publisher,
    subscriber: Subscriber,
    peer: PeerId,
    link: LinkId,
    up: Vec<u8>,
    down: Vec<u8>,
    closed: Option<CloseReason>,
    got: Vec<u8>,
}

fn security(choice: u8) -> (Security, Security) {
    let account = || Account::new("user", "password").expect("short enough");
    let secret = || SecretKey::new([3; 32]);
    match choice % 4 {
        0 => (Security::Null, Security::Null),
        1 => (Security::PlainServer(vec![account()]), Security::PlainClient(account())),
        _ => {
            let server = secret().public();
            let client = SecretKey::new([5; 32]);
            let clients = (choice % 4 == 2).then(|| vec![client.public()]);
            let ours = Security::CurveServer { secret: secret(), clients };
            (ours, Security::CurveClient { secret: client, server })
        }
    }
}

impl Pair {
    fn new(choice: u8) -> Self {
        let (server, client) = security(choice);
        let mut config = PublisherConfig::new(SocketType::Pub);
        config.connection.security = server;
        config.log_bytes = 4_096;
        let mut publisher = Publisher::new(config).expect("a socket");
        let mut config = ConnectionConfig::new(SocketType::Sub);
        config.security = client;
        config.frame_bytes_max = 4_096;
        let mut subscriber = Subscriber::new(config, 1).expect("a socket");
        subscriber.subscribe(b"").expect("a subscription");
        let peer = publisher.add(NOW, Seed::new([7; SEED_BYTES])).expect("a peer");
        let link = subscriber.add(NOW, Seed::new([9; SEED_BYTES])).expect("a link");
        let (up, down, closed, got) = (Vec::new(), Vec::new(), None, Vec::new());
        Self { publisher, subscriber, peer, link, up, down, closed, got }
    }

    fn pass_up(&mut self, script: &mut Script<'_>) {
        let mut bytes = self.subscriber.poll_transmit(self.link).to_vec();
        self.subscriber.transmitted(self.link, bytes.len());
        script.tamper(&mut bytes);
        self.up.extend_from_slice(&bytes);
        loop {
            let handled = self.publisher.handle_bytes(self.peer, NOW, &self.up);
            assert!(handled.consumed <= self.up.len());
            let is_over = match handled.event {
                Some(PublisherEvent::Closed(reason)) => {
                    self.closed = Some(reason);
                    true
                }
                event => handled.consumed == 0 && event.is_none(),
            };
            let consumed = handled.consumed;
            self.up.drain(..consumed);
            if is_over {
                return;
            }
        }
    }

    fn pass_down(&mut self, script: &mut Script<'_>) {
        let mut bytes = self.publisher.poll_transmit(self.peer).to_vec();
        self.publisher.transmitted(self.peer, bytes.len());
        script.tamper(&mut bytes);
        self.down.extend_from_slice(&bytes);
        loop {
            let handled = self.subscriber.handle_bytes(self.link, NOW, &self.down);
            assert!(handled.consumed <= self.down.len());
            let is_over = match handled.event {
                Some(SubscriberEvent::Closed(reason)) => {
                    self.closed = Some(reason);
                    true
                }
                Some(SubscriberEvent::Message { part, .. }) => {
                    self.got.extend_from_slice(part);
                    false
                }
                event => handled.consumed == 0 && event.is_none(),
            };
            let consumed = handled.consumed;
            self.down.drain(..consumed);
            if is_over {
                return;
            }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, script)) = data.split_first() else { return };
    let mut script = Script(script);
    let mut pair = Pair::new(*choice);
    let mut sent = Vec::new();
    for round in 0..ROUNDS {
        pair.pass_up(&mut script);
        pair.pass_down(&mut script);
        if pair.closed.is_some() {
            break;
        }
        let message = [round as u8; 40];
        if pair.publisher.offer(&[&message]).is_ok_and(|peers| peers > 0) {
            sent.extend_from_slice(&message);
        }
        assert!(pair.publisher.poll_transmit(pair.peer).len() < 16_384);
        assert!(pair.subscriber.poll_transmit(pair.link).len() < 16_384);
    }
    if choice % 4 >= 2 {
        assert!(sent.starts_with(&pair.got), "{:?} of {sent:?}: {:?}", pair.got, pair.closed);
    }
    if script.0.is_empty() && data.len() == 1 {
        assert!(pair.closed.is_none() && pair.got.len() > 400, "an honest wire carries it");
    }
});
