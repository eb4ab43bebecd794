//! One publisher, a few subscribers and the network between them, on virtual time.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use taut_aeron::{
    DestinationMode, FlowControl, OfferError, Publication, PublicationConfig, PublicationState,
    Subscription, SubscriptionConfig, Target, Tether,
};
use taut_testkit::{Draw, Random};
use taut_types::Nanos;

use crate::checker::{Account, Sent, message};
use crate::network::{Network, Weather};

const GROUP: u16 = 1;
const STREAM: i32 = 1001;
/// After the faults everything must be well within this time: the liveness time of the dead, and
/// a little.
const CALM_TIME: Nanos = Nanos::from_secs(14);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Topology {
    Unicast,
    Multicast,
    Destinations,
}

struct Peer {
    subscription: Subscription,
    account: Account,
    address: SocketAddr,
    /// How often the application looks, of a thousand turns.
    diligence: u64,
}

pub struct World {
    random: Random,
    now: Nanos,
    network: Network,
    topology: Topology,
    publication: Publication,
    publisher: SocketAddr,
    peers: Vec<Peer>,
    sent: Sent,
    sequence: u64,
    to_send: u64,
    largest: u64,
    is_reliable: bool,
    tether: Tether,
    /// Spies let the stream go on without receivers.
    has_spies: bool,
    restarts: Vec<(Nanos, Option<usize>)>,
    incarnation: i32,
    pub steps: u64,
    pub delivered: u64,
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::with_seed(seed);
        let weather = Weather::draw(&mut random);
        let topology =
            random.pick(&[Topology::Unicast, Topology::Multicast, Topology::Destinations]);
        let is_reliable = random.below(5) > 0;
        let mut restarts = Vec::new();
        let peer_count =
            if topology == Topology::Unicast { 1 } else { 1 + random.below(3) as usize };
        while random.per_mille(250) {
            let at = Nanos::from_micros(random.below(weather.until.0 as u64 / 1000) as i64);
            let which = random.per_mille(500).then(|| random.below(peer_count as u64) as usize);
            restarts.push((at, which));
        }
        restarts.sort();
        let tether = tether(seed);
        let has_spies = seed % 7 == 5;
        let mut publication = publication(&mut random, topology, 1);
        publication.simulate_connection(has_spies);
        let mut world = Self {
            now: Nanos(1),
            network: Network::new(weather, random.u64(..)),
            topology,
            publication,
            publisher: address(1000),
            peers: Vec::new(),
            sent: Sent::default(),
            sequence: 0,
            to_send: 20 + random.below(200),
            largest: random.pick(&[40, 100, 1000, 5000]),
            is_reliable,
            tether,
            has_spies,
            restarts,
            incarnation: 1,
            steps: 0,
            delivered: 0,
            random,
        };
        for at in 0..peer_count {
            let diligence = world.random.pick(&[1000, 1000, 300, 30]);
            let account = Account::new(is_reliable && tether == Tether::Held);
            let address = address(2000 + at as u16);
            let subscription = world.subscription(at as i64 + 1);
            world.peers.push(Peer { subscription, account, address, diligence });
        }
        world
    }

    /// Runs the schedule to its end.
    pub fn run(&mut self) {
        let until = self.network.weather.until;
        while self.now < until {
            self.turn();
        }
        // Calm: everybody joins, a few more messages flow, and the stream ends.
        let session = self.publication.config().session_id;
        let calm = self.now + CALM_TIME;
        self.run_until(calm, "join", |world| {
            world.peers.iter().all(|peer| peer.account.is_live(session))
        });
        self.to_send = self.to_send.max(20);
        let calm = self.now + CALM_TIME;
        self.run_until(calm, "catch up", |world| {
            let end = world.sent.last_end(session);
            let is_there = |peer: &Peer| peer.subscription.position(session) >= Some(end);
            world.to_send == 0 && world.peers.iter().all(is_there)
        });
        self.publication.close(self.now);
        let calm = self.now + CALM_TIME;
        self.run_until(calm, "end", |world| {
            world.peers.iter().all(|peer| peer.account.has_ended(session))
                && world.publication.state() == PublicationState::Done
        });
        for peer in &self.peers {
            peer.account.check(&self.sent);
        }
    }

    fn run_until(&mut self, limit: Nanos, what: &str, is_done: impl Fn(&Self) -> bool) {
        while !is_done(self) {
            assert!(self.now < limit, "stuck: {what} by {limit}");
            self.turn();
        }
    }

    /// Everybody's turn, then time goes to where something happens next.
    fn turn(&mut self) {
        self.steps += 1;
        self.restart();
        while let Some((from, to, bytes)) = self.network.receive(self.now) {
            self.deliver(from, to, &bytes);
        }
        self.offer();
        self.publish();
        self.subscribe();
        self.advance();
    }

    fn advance(&mut self) {
        let mut next = self.now + Nanos::from_millis(20);
        let dues = [self.network.next_due(), self.publication.poll_timeout()];
        let peers = self.peers.iter().map(|peer| peer.subscription.poll_timeout());
        for due in dues.into_iter().chain(peers).flatten() {
            next = next.min(due);
        }
        if self.to_send > 0 && self.publication.is_connected() {
            next = next.min(self.now + Nanos::from_micros(self.random.below(300) as i64));
        }
        if let Some((at, _)) = self.restarts.first() {
            next = next.min(*at);
        }
        self.now = next.max(self.now + Nanos::from_micros(1));
    }

    fn restart(&mut self) {
        while let Some((_, which)) = self.restarts.first().filter(|(at, _)| *at <= self.now) {
            let which = *which;
            self.restarts.remove(0);
            self.incarnation += 1;
            match which {
                None => {
                    let (topology, id) = (self.topology, self.incarnation);
                    self.publication = publication(&mut self.random, topology, id);
                    self.publication.simulate_connection(self.has_spies);
                    if topology != Topology::Destinations && self.random.per_mille(700) {
                        self.publisher = address(1000 + id as u16);
                    }
                }
                Some(at) => {
                    let subscription = self.subscription(100 + i64::from(self.incarnation));
                    let peer = &mut self.peers[at];
                    // What was passed before is told by an event of its own.
                    while let Some(event) = peer.subscription.poll_event() {
                        peer.account.event(event);
                    }
                    peer.subscription = subscription;
                    peer.account.abandon();
                }
            }
        }
    }

    fn deliver(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if to == self.publisher {
            self.publication.handle_bytes(self.now, from, bytes);
        }
        if let Some(peer) = self.peers.iter_mut().find(|peer| peer.address == to) {
            peer.subscription.handle_bytes(self.now, from, bytes);
        }
    }

    fn offer(&mut self) {
        let session = self.publication.config().session_id;
        for _ in 0..self.random.below(20) {
            if self.to_send == 0 {
                return;
            }
            let bytes = 8 + self.random.below(self.largest) as usize;
            let bytes = message(session, self.sequence, bytes);
            let before = self.publication.tail();
            match self.publication.offer(&bytes) {
                Ok(end) => {
                    // A message that did not fit its term starts behind the padding.
                    let length = self.publication.config().term_length as i64;
                    let boundary = (before / length + 1) * length;
                    let start = if end > boundary { boundary } else { before };
                    self.sent.add(session, start, end, self.sequence);
                    self.sequence += 1;
                    self.to_send -= 1;
                }
                Err(OfferError::BackPressured | OfferError::NotConnected) => return,
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    fn publish(&mut self) {
        let (now, mut frame) = (self.now, [0; 2048]);
        self.publication.handle_timeout(now);
        while self.publication.poll_event().is_some() {}
        for _ in 0..64 {
            let Some(run) = self.publication.next_run(now) else { break };
            let bytes = self.publication.run_bytes(&run).to_vec();
            for datagram in bytes.chunks(run.segment_bytes) {
                self.send_from_publisher(run.to, datagram);
            }
            self.publication.run_sent(now, &run);
        }
        while let Some(sent) = self.publication.poll_transmit(now, &mut frame) {
            self.send_from_publisher(sent.to, &frame[..sent.bytes]);
        }
    }

    fn send_from_publisher(&mut self, to: Target, datagram: &[u8]) {
        let everybody = self.peers.iter().map(|peer| peer.address);
        let to: Vec<SocketAddr> = match (to, self.topology) {
            (Target::One(to), _) => vec![to],
            (Target::All, Topology::Destinations) => self.publication.destinations().to_vec(),
            (Target::All, _) => everybody.collect(),
        };
        for to in to {
            let datagram = (self.publisher, to, datagram.to_vec());
            self.network.send(self.now, &mut self.random, datagram);
        }
    }

    fn subscribe(&mut self) {
        let (now, mut frame) = (self.now, [0; 2048]);
        for peer in &mut self.peers {
            peer.subscription.handle_timeout(now);
            while let Some(event) = peer.subscription.poll_event() {
                peer.account.event(event);
            }
            let is_calm = now >= self.network.weather.until;
            if is_calm || self.random.per_mille(peer.diligence) {
                let limit = 1 + self.random.below(50) as usize;
                let account = &mut peer.account;
                let delivered = &mut self.delivered;
                peer.subscription.poll(limit, |message| {
                    *delivered += 1;
                    account.message(message.session_id, message.position, message.bytes);
                });
            }
            while let Some(sent) = peer.subscription.poll_transmit(now, &mut frame) {
                let Target::One(to) = sent.to else { panic!("receivers answer one address") };
                let to = if to == address(GROUP) { self.publisher } else { to };
                let datagram = (peer.address, to, frame[..sent.bytes].to_vec());
                self.network.send(now, &mut self.random, datagram);
            }
        }
    }

    fn subscription(&mut self, receiver_id: i64) -> Subscription {
        let is_group = self.topology == Topology::Multicast;
        let has_control = self.topology == Topology::Destinations;
        let secret = self.random.u128(..);
        let config = SubscriptionConfig {
            stream_id: STREAM,
            receiver_id,
            receiver_window: self.random.pick(&[4096, 16_384, 131_072]),
            is_reliable: self.is_reliable,
            tether: self.tether,
            feedback: is_group.then(|| address(GROUP)),
            elicit: has_control.then(|| address(1000)),
            secret,
            ..SubscriptionConfig::default()
        };
        Subscription::new(config).expect("a subscription")
    }
}

fn tether(seed: u64) -> Tether {
    let millis = Nanos::from_millis;
    match seed % 10 {
        3 => Tether::LOOSE,
        8 => Tether::Loose { limit_timeout: millis(5), resting_timeout: millis(20) },
        _ => Tether::Held,
    }
}

fn publication(random: &mut Random, topology: Topology, incarnation: i32) -> Publication {
    let is_group = topology != Topology::Unicast;
    let initial_term_id = random.pick(&[0, 5, -1, i32::MAX, i32::MIN]);
    let config = PublicationConfig {
        session_id: 7000 + incarnation,
        stream_id: STREAM,
        initial_term_id,
        term_id: initial_term_id.wrapping_add(random.pick(&[0, 0, 1, 3])),
        term_offset: random.pick(&[0, 0, 32, 65_504, 65_472]),
        term_length: 65_536,
        mtu: random.pick(&[1408, 256, 4096]),
        flow: if is_group { FlowControl::Min { group_min: 0 } } else { FlowControl::Max },
        destinations: match topology {
            Topology::Destinations => DestinationMode::Dynamic,
            _ => DestinationMode::Fixed,
        },
        is_group,
        segments_max: random.pick(&[1, 8]),
        secret: random.u128(..),
        ..PublicationConfig::default()
    };
    Publication::new(config).expect("a publication")
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{self:#?}");
        }
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{:?} {:?} {}", self.topology, self.network.weather, self.now)?;
        let publication = &self.publication;
        let (tail, position) = (publication.tail(), publication.position());
        writeln!(f, "tail {tail} position {position} limit {}", publication.limit())?;
        writeln!(f, "{:?} {:?}", publication.state(), publication.counters())?;
        for peer in &self.peers {
            let session = publication.config().session_id;
            let position = peer.subscription.position(session);
            writeln!(f, "{position:?} {:?}", peer.subscription.counters())?;
        }
        Ok(())
    }
}
