//! A publisher, its subscriber and a forger over a faulty link, on virtual time and from a seed.
//!
//! The link loses, doubles, delays and so reorders, and goes dark; either end crashes, closes and
//! comes again. After every delivery the ends must agree with their twins.

use core::net::SocketAddr;
use std::vec::Vec;

use taut_testkit::{Draw, Faults, Link, Random, for_each_seed};
use taut_types::Nanos;

use super::twin::{Account, Ledger, Outcome};
use crate::seal::unseal;
use crate::{
    CONTROL_BYTES, Header, Key, Kind, LeasePublisher, LeaseSubscriber, LeaseTerms, PublisherEvent,
    SubscriberEvent, SubscriberTerms,
};

const TICK: Nanos = Nanos::from_millis(2);
const LEASE: Nanos = Nanos::from_secs(2);
/// Who never asked.
const VICTIM_PORT: u16 = 666;

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// From, to, and the bytes.
type Datagram = (SocketAddr, SocketAddr, Vec<u8>);

struct World {
    seed: u64,
    random: Random,
    now: Nanos,
    link: Link<Datagram>,
    key: Option<Key>,
    publisher: LeasePublisher,
    ledger: Ledger,
    sessions: u64,
    subscriber: LeaseSubscriber,
    account: Account,
    at: SocketAddr,
    nonces: u64,
    events: Vec<SubscriberEvent>,
    /// Bytes in the victim's name to the publisher, and bytes to the victim.
    asked: usize,
    answered: usize,
}

impl World {
    fn new(seed: u64, mut random: Random) -> Self {
        let key = seed.is_multiple_of(2).then(|| Key::new([seed as u8; 16]));
        let now = Nanos::from_secs(1000);
        let drops_late = seed.is_multiple_of(3);
        Self {
            seed,
            link: Link::new(Faults::default(), random.u64(..)),
            random,
            now,
            key,
            publisher: publisher(now, 1, key),
            ledger: Ledger::default(),
            sessions: 1,
            subscriber: subscriber(now, 1, key, drops_late),
            account: Account::new(drops_late),
            at: address(5000),
            nonces: 1,
            events: Vec::new(),
            asked: 0,
            answered: 0,
        }
    }

    fn tick(&mut self) {
        self.now = self.now + TICK;
        self.publisher.handle_timeout(self.now);
        self.subscriber.handle_timeout(self.now);
        self.hear_subscriber();
        self.send_control();
        self.arrive();
        if self.publisher.is_closed() {
            // Who did not say good-bye in time is forgotten.
            self.ledger = Ledger::default();
        }
        let holders = self.ledger.holders(self.now);
        let mut subscribers: Vec<SocketAddr> = self.publisher.subscribers().collect();
        subscribers.sort_unstable();
        assert_eq!(subscribers, holders, "seed {}", self.seed);
        assert!(self.answered <= self.asked, "seed {}: amplified", self.seed);
    }

    fn ticks(&mut self, span: Nanos) {
        (0..span.0 / TICK.0).for_each(|_| self.tick());
    }

    /// Ticks until something holds; it must within the span.
    fn until(&mut self, span: Nanos, what: &str, holds: impl Fn(&Self) -> bool) {
        let end = self.now + span;
        while !holds(self) {
            assert!(self.now < end, "seed {}: not {what} in {span:?}", self.seed);
            self.tick();
        }
    }

    fn send_control(&mut self) {
        let mut datagram = [0; 256];
        while let Some(length) = self.subscriber.poll_transmit(self.now, &mut datagram) {
            self.fly(self.at, address(1), &datagram[..length]);
        }
        while let Some((length, to)) = self.publisher.poll_transmit(self.now, &mut datagram) {
            self.fly_out(&datagram[..length], to);
        }
        while let Some(event) = self.publisher.poll_event() {
            if let PublisherEvent::Left(from) = event {
                self.ledger.leave(from);
            }
        }
    }

    fn publish(&mut self) {
        let mut datagram = [0; 256];
        let payload = self.publisher.position().to_le_bytes();
        let length = self.publisher.write_message(self.now, 7, &[&payload], &mut datagram);
        self.publisher.sent(self.now);
        self.fly_out(&datagram[..length.expect("room")], None);
    }

    fn fly_out(&mut self, bytes: &[u8], to: Option<SocketAddr>) {
        let everybody: Vec<SocketAddr> = self.publisher.subscribers().collect();
        for to in to.map_or(everybody, |to| Vec::from([to])) {
            self.fly(address(1), to, bytes);
        }
    }

    fn fly(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if to.port() == VICTIM_PORT {
            self.answered += bytes.len();
        }
        self.link.send(self.now, (from, to, bytes.to_vec()));
    }

    /// Delivers what is due, the answers to it with the next tick.
    fn arrive(&mut self) {
        let due: Vec<_> = core::iter::from_fn(|| self.link.receive(self.now)).collect();
        for (from, to, bytes) in due {
            match to.port() {
                1 => self.tell_publisher(from, &bytes),
                _ if to == self.at => self.tell_subscriber(&bytes),
                // The victim, or a subscriber that is no more.
                _ => {}
            }
        }
    }

    fn tell_publisher(&mut self, from: SocketAddr, datagram: &[u8]) {
        if from.port() == VICTIM_PORT {
            self.asked += datagram.len();
        }
        let before = self.publisher.tally().granted;
        self.publisher.handle_datagram(self.now, from, datagram);
        if self.publisher.tally().granted > before {
            self.ledger.grant(from, self.now + LEASE, self.seed);
        }
        while let Some(event) = self.publisher.poll_event() {
            if let PublisherEvent::Left(from) = event {
                self.ledger.leave(from);
            }
        }
    }

    fn tell_subscriber(&mut self, datagram: &[u8]) {
        let incoming = self.subscriber.handle_datagram(self.now, datagram);
        if let Some(incoming) = &incoming {
            assert_eq!(incoming.payload, incoming.header.sequence.to_le_bytes());
        }
        let handed = incoming.map(|incoming| incoming.is_late);
        let events: Vec<_> = core::iter::from_fn(|| self.subscriber.poll_event()).collect();
        let gap = events.iter().find_map(|event| match *event {
            SubscriberEvent::Gap { sequence, count, .. } => Some((sequence, count)),
            _ => None,
        });
        let header = unseal(self.key.as_ref(), datagram).and_then(Header::read);
        let is_end = |event: &&SubscriberEvent| matches!(event, SubscriberEvent::Ended { .. });
        let (ends, begins): (Vec<_>, Vec<_>) = events.iter().partition(is_end);
        self.account.follow(&begins, self.seed);
        let mut expected = Outcome { handed: None, gap: None };
        if let Some((header, _)) = header {
            // What is told to leave hears nothing more.
            if self.subscriber.has_image() || !ends.is_empty() {
                expected = self.account.deliver(&header);
            }
            if header.kind == Kind::Challenge && header.session == self.sessions {
                self.ledger.challenge(self.at);
            }
        }
        self.account.follow(&ends, self.seed);
        assert_eq!(Outcome { handed, gap }, expected, "seed {}: {header:?}", self.seed);
        self.compare();
        self.events.extend(events);
    }

    /// What time alone brought the subscriber.
    fn hear_subscriber(&mut self) {
        let events: Vec<_> = core::iter::from_fn(|| self.subscriber.poll_event()).collect();
        self.account.follow(&events, self.seed);
        self.events.extend(events);
    }

    fn compare(&self) {
        let tally = self.subscriber.tally();
        let counts = [tally.received, tally.missing, tally.late, tally.duplicated];
        assert_eq!(
            counts,
            self.account.counts(),
            "seed {}: received, missing, late, duplicated",
            self.seed
        );
    }

    /// Somebody who sees no datagram but his own sends one in another's name.
    fn forge(&mut self) {
        let mut datagram = [0_u8; CONTROL_BYTES];
        let kind = [Kind::Ask, Kind::Leave, Kind::Message, Kind::Challenge, Kind::End];
        let header = Header {
            kind: kind[self.random.below(5) as usize],
            message_type: 0,
            session: self.random.below(u64::MAX >> 33),
            sequence: self.random.below(100),
            sent: self.now,
        };
        datagram[..32].copy_from_slice(&header.to_bytes());
        datagram[32..].fill_with(|| self.random.below(256) as u8);
        let length = match self.random.below(4) {
            0 => self.random.below(49) as usize,
            _ => CONTROL_BYTES,
        };
        match self.random.below(3) {
            0 => self.tell_publisher(address(VICTIM_PORT), &datagram[..length]),
            1 => self.tell_publisher(self.at, &datagram[..length]),
            _ if header.session > self.sessions => self.tell_subscriber(&datagram[..length]),
            _ => {}
        }
    }

    /// What a subscriber said, cookie and all, comes again in the victim's name.
    fn replay(&mut self) {
        let said = self.link.in_flight().find(|(_, to, _)| to.port() == 1);
        if let Some((_, _, bytes)) = said.cloned() {
            self.tell_publisher(address(VICTIM_PORT), &bytes);
        }
    }

    fn restart_publisher(&mut self) {
        if self.random.per_mille(500) {
            self.publisher.close(self.now);
            let span = Nanos::from_millis(self.random.below(1500) as i64);
            self.ticks(span);
        }
        self.sessions += 1;
        self.publisher = publisher(self.now, self.sessions, self.key);
        self.ledger = Ledger::default();
    }

    fn restart_subscriber(&mut self) {
        if self.random.per_mille(500) {
            self.subscriber.close(self.now);
            self.ticks(Nanos::from_millis(20));
            assert!(self.subscriber.is_closed(), "seed {}", self.seed);
        }
        self.nonces += 1;
        let drops_late = self.seed.is_multiple_of(3);
        self.subscriber = subscriber(self.now, self.nonces, self.key, drops_late);
        self.account = Account::new(drops_late);
        if self.random.per_mille(500) {
            self.at = address(self.at.port() + 1);
        }
    }
}

fn publisher(now: Nanos, session: u64, key: Option<Key>) -> LeasePublisher {
    let secret = Key::new([session as u8; 16]);
    let terms = LeaseTerms {
        lease: LEASE,
        mtu_bytes: 256,
        subscribers_max: 4,
        subscribers_per_host_max: 4,
        session,
        secret,
        key,
    };
    LeasePublisher::new(now, terms)
}

fn subscriber(now: Nanos, nonce: u64, key: Option<Key>, drops_late: bool) -> LeaseSubscriber {
    // A nonce is random: a small one the forger would guess.
    let nonce = nonce.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 << 63;
    LeaseSubscriber::new(now, SubscriberTerms { nonce, key, drops_late })
}

/// Faults of every kind for a while, then none: all must be well again, stay so, and end well.
fn schedule(seed: u64, random: Random) {
    let mut world = World::new(seed, random);
    for _ in 0..4 {
        world.link.faults = Faults {
            loss_per_mille: world.random.below(310),
            duplicate_per_mille: world.random.below(200),
            jitter: Nanos::from_millis(world.random.below(20) as i64),
            is_cut: world.random.per_mille(100),
            ..Faults::default()
        };
        for _ in 0..world.random.below(800) {
            if world.publisher.subscriber_count() > 0 && world.random.per_mille(800) {
                world.publish();
            }
            match world.random.below(200) {
                0..10 => world.forge(),
                10..20 => world.replay(),
                _ => {}
            }
            world.tick();
        }
        match world.random.below(4) {
            0 => world.restart_publisher(),
            1 => world.restart_subscriber(),
            _ => {}
        }
    }
    recovers_and_stays(&mut world);
    ends(&mut world);
}

fn recovers_and_stays(world: &mut World) {
    world.link.faults = Faults::default();
    world.ticks(Nanos::from_millis(20));
    // Silence is noticed after 4 s; a place may have to run out first, and one lease.
    world.until(Nanos::from_secs(8), "connected", |world| {
        world.subscriber.has_image() && world.subscriber.session() == world.sessions
    });
    world.until(Nanos::from_secs(8), "held", |world| {
        world.publisher.subscribers().any(|subscriber| subscriber == world.at)
    });
    world.ticks(LEASE);
    let (before, told) = (world.subscriber.tally(), world.events.len());
    let position = world.publisher.position();
    for _ in 0..3 * LEASE.0 / TICK.0 {
        if world.random.per_mille(500) {
            world.publish();
        }
        world.tick();
    }
    let (after, seed) = (world.subscriber.tally(), world.seed);
    assert_eq!(world.events.len(), told, "seed {seed}: {:?}", world.events.last());
    assert_eq!(after.received - before.received, world.publisher.position() - position);
    assert_eq!(after.missing, before.missing, "seed {seed}");
    assert!(world.publisher.subscribers().eq([world.at]), "seed {seed}: renewed, the others over");
}

fn ends(world: &mut World) {
    if world.random.per_mille(500) {
        world.publisher.close(world.now);
        world.until(Nanos::from_millis(100), "closed", |world| world.publisher.is_closed());
        let sequence = world.publisher.position();
        let ended = SubscriberEvent::Ended { session: world.sessions, sequence };
        assert_eq!(world.events.last(), Some(&ended), "seed {}", world.seed);
    } else {
        world.subscriber.close(world.now);
        world.until(Nanos::from_millis(100), "left", |world| {
            world.subscriber.is_closed() && world.publisher.subscriber_count() == 0
        });
    }
}

#[test]
fn both_ends_report_exactly_what_happened_over_any_link_and_through_any_restart() {
    let count = if cfg!(debug_assertions) { 50 } else { 2_000 };
    for_each_seed(1..count + 1, schedule);
}
