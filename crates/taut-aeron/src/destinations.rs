//! Where a publication sends: one address, or a table of them (multi-destination).

use alloc::vec::Vec;
use core::net::SocketAddr;

use taut_types::{Host, Nanos};

use crate::allowance::Allowance;

/// A SETUP goes to an address at most this often.
const SETUP_INTERVAL: Nanos = Nanos::from_millis(100);
/// How long an address may take to prove itself.
const PROOF_TIME: Nanos = Nanos::from_secs(1);
/// Strangers that are remembered, in all and of one host.
const STRANGERS_MAX: usize = 64;
const STRANGERS_PER_HOST_MAX: usize = 16;
/// The length of a SETUP. The status message that asks for it has 36 bytes: the very first
/// receiver asks twice.
const SETUP_BYTES: usize = 40;

/// Who says where to send (`control-mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestinationMode {
    /// One endpoint or group, which the driver knows.
    Fixed,
    /// The application adds and removes addresses.
    Manual,
    /// Receivers that send status messages to the control address.
    Dynamic,
}

/// Where a transmission goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The endpoint, the group, or every destination.
    All,
    /// One address.
    One(SocketAddr),
}

#[derive(Clone, Copy, Debug)]
struct Destination {
    address: SocketAddr,
    heard: Nanos,
    wants_setup: bool,
    next_setup: Nanos,
    /// Bytes that it was sent before it proved itself.
    sent: usize,
}

/// The table; its memory is taken when it is built.
///
/// Who asks for a SETUP is a stranger until it names the session, which only a SETUP that arrived
/// there can have told. Strangers never keep others out: they have places of their own, a few for
/// each host, and the one that was heard longest ago makes room. What all of them are sent is at
/// most what came from them.
#[derive(Debug)]
pub struct Destinations {
    mode: DestinationMode,
    proved: Vec<Destination>,
    strangers: Vec<Destination>,
    addresses: Vec<SocketAddr>,
    allowance: Allowance,
    count_max: usize,
    per_host_max: usize,
}

impl Destinations {
    pub fn new(mode: DestinationMode, count_max: usize, per_host_max: usize) -> Self {
        let places = |count| match mode {
            DestinationMode::Fixed => Vec::new(),
            _ => Vec::with_capacity(count),
        };
        let addresses = match mode {
            DestinationMode::Fixed => Vec::new(),
            _ => Vec::with_capacity(count_max),
        };
        Self {
            mode,
            proved: places(count_max),
            strangers: places(STRANGERS_MAX),
            addresses,
            allowance: Allowance::default(),
            count_max,
            per_host_max,
        }
    }

    /// Where data goes to: empty for one fixed address.
    #[inline]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The application adds an address; false when the table is full or not the application's.
    pub fn add(&mut self, address: SocketAddr) -> bool {
        if self.mode != DestinationMode::Manual {
            return false;
        }
        let is_known = self.addresses.contains(&address);
        let is_added = is_known || self.proved.len() < self.count_max;
        if is_added && !is_known {
            self.proved.push(Destination::heard(Nanos::MAX, address));
            self.update();
        }
        is_added
    }

    /// The application removes an address.
    pub fn remove(&mut self, address: SocketAddr) -> bool {
        let before = self.proved.len();
        self.proved.retain(|entry| entry.address != address);
        self.update();
        self.proved.len() < before
    }

    /// So many bytes came from an address.
    pub fn hear(&mut self, from: SocketAddr, bytes: usize) {
        if !self.is_proved(from) {
            self.allowance.earn(bytes);
        }
    }

    /// An address asked for a SETUP. True when a stranger had to make room for it.
    pub fn request_setup(&mut self, now: Nanos, from: SocketAddr) -> bool {
        if self.mode != DestinationMode::Dynamic {
            return false;
        }
        let mut known = self.proved.iter_mut().chain(&mut self.strangers);
        if let Some(entry) = known.find(|entry| entry.address == from) {
            (entry.heard, entry.wants_setup) = (now, true);
            return false;
        }
        let has_displaced = self.make_room_for_stranger(from);
        self.strangers.push(Destination { wants_setup: true, ..Destination::heard(now, from) });
        has_displaced
    }

    /// An address named the session. True when it may be listened to, false when there is no room
    /// for it, or no more for its host.
    pub fn prove(&mut self, now: Nanos, from: SocketAddr) -> bool {
        if self.mode != DestinationMode::Dynamic {
            return true;
        }
        if let Some(entry) = self.proved.iter_mut().find(|entry| entry.address == from) {
            entry.heard = now;
            return true;
        }
        let of_host = count_of_host(&self.proved, from);
        if self.proved.len() >= self.count_max || of_host >= self.per_host_max {
            return false;
        }
        let mut entry = Destination::heard(now, from);
        if let Some(at) = self.strangers.iter().position(|entry| entry.address == from) {
            let stranger = self.strangers.swap_remove(at);
            // What it was sent went to somebody who wanted it.
            self.allowance.earn(stranger.sent);
            (entry.wants_setup, entry.next_setup) = (stranger.wants_setup, stranger.next_setup);
        }
        self.proved.push(entry);
        self.update();
        true
    }

    /// Whether an address may cause data to be sent to it.
    pub fn is_proved(&self, from: SocketAddr) -> bool {
        self.mode != DestinationMode::Dynamic || self.addresses.contains(&from)
    }

    /// Where an answer to an address goes: never to more than one of several destinations, or
    /// whoever asks has all of them flooded. Where the application chose them the answer goes to
    /// one of these and nowhere else: to the one that asks or, as a receiver may ask from another
    /// port (behind a translation of addresses) or another address (of a host that has several), to
    /// the only one of its host, or else of its port; a receiver in a group asks from an address of
    /// its own. Aeron's driver looks at the session alone, and sends a repair to all destinations.
    pub fn answer_to(&self, from: SocketAddr) -> Option<Target> {
        match self.mode {
            DestinationMode::Fixed => Some(Target::All),
            DestinationMode::Dynamic => Some(Target::One(from)),
            DestinationMode::Manual => {
                let is_group = |address: &SocketAddr| address.ip().is_multicast();
                let listed = self.only_one(|address| *address == from);
                let of_host = || self.only_one(|address| address.ip() == from.ip());
                let group = || self.addresses.iter().copied().find(is_group);
                let of_port = || self.only_one(|it| it.port() == from.port() && !is_group(it));
                listed.or_else(of_host).or_else(group).or_else(of_port).map(Target::One)
            }
        }
    }

    /// The address that is meant, unless several are.
    fn only_one(&self, is_meant: impl Fn(&SocketAddr) -> bool) -> Option<SocketAddr> {
        let mut meant = self.addresses.iter().filter(|address| is_meant(address));
        meant.next().copied().filter(|_| meant.next().is_none())
    }

    /// Whether an address may be answered with so many bytes, which then count as sent.
    pub fn may_answer(&mut self, to: SocketAddr, bytes: usize) -> bool {
        if self.is_proved(to) {
            return true;
        }
        let may = self.allowance.pay(bytes);
        if let Some(entry) = self.strangers.iter_mut().find(|entry| entry.address == to && may) {
            entry.sent += bytes;
        }
        may
    }

    /// An address that waits for a SETUP which may go now.
    pub fn next_setup(&mut self, now: Nanos) -> Option<SocketAddr> {
        let is_due = |entry: &&mut Destination| entry.wants_setup && entry.next_setup <= now;
        let entry = match self.proved.iter_mut().find(is_due) {
            Some(entry) => entry,
            None => {
                // Who came last waits least: of a flood there is no end.
                let entry = self.strangers.iter_mut().rev().find(is_due)?;
                if !self.allowance.pay(SETUP_BYTES) {
                    return None;
                }
                entry.sent += SETUP_BYTES;
                entry
            }
        };
        entry.wants_setup = false;
        entry.next_setup = now + SETUP_INTERVAL;
        Some(entry.address)
    }

    /// Forgets addresses that fell silent. Returns how many of them were not answered.
    pub fn expire(&mut self, now: Nanos, timeout: Nanos) -> u64 {
        if self.mode != DestinationMode::Dynamic {
            return 0;
        }
        let mut unanswered = 0;
        self.strangers.retain(|entry| {
            let stays = now.since(entry.heard) <= PROOF_TIME;
            unanswered += u64::from(!stays && entry.wants_setup);
            stays
        });
        let before = self.proved.len();
        self.proved.retain(|entry| now.since(entry.heard) <= timeout);
        if self.proved.len() < before {
            self.update();
        }
        unanswered
    }

    /// When something here is due.
    pub fn next_due(&self, timeout: Nanos) -> Nanos {
        if self.mode != DestinationMode::Dynamic {
            return Nanos::MAX;
        }
        let covers = self.allowance.covers(SETUP_BYTES);
        let proved = self.proved.iter().map(|entry| entry.next_due(timeout, true));
        let strangers = self.strangers.iter().map(|entry| entry.next_due(PROOF_TIME, covers));
        proved.chain(strangers).min().unwrap_or(Nanos::MAX)
    }

    /// True when the one that was heard longest ago, of its host where that has its share, left.
    fn make_room_for_stranger(&mut self, from: SocketAddr) -> bool {
        let is_crowd = count_of_host(&self.strangers, from) >= STRANGERS_PER_HOST_MAX;
        if !is_crowd && self.strangers.len() < STRANGERS_MAX {
            return false;
        }
        let places = self.strangers.iter().enumerate();
        let oldest = places
            .filter(|(_, entry)| !is_crowd || is_of_host(entry, from))
            .min_by_key(|(_, entry)| (entry.wants_setup, entry.heard));
        let place = oldest.map(|(place, _)| place);
        // In their order: the last one is served first.
        place.map(|place| self.strangers.remove(place)).is_some()
    }

    fn update(&mut self) {
        self.addresses.clear();
        self.addresses.extend(self.proved.iter().map(|entry| entry.address));
    }
}

impl Destination {
    const fn heard(now: Nanos, address: SocketAddr) -> Self {
        let (wants_setup, next_setup) = (false, Nanos(i64::MIN));
        Self { address, heard: now, wants_setup, next_setup, sent: 0 }
    }

    fn next_due(&self, timeout: Nanos, may_answer: bool) -> Nanos {
        let silent = self.heard + timeout + Nanos(1);
        if self.wants_setup && may_answer { silent.min(self.next_setup) } else { silent }
    }
}

fn count_of_host(entries: &[Destination], of: SocketAddr) -> usize {
    entries.iter().filter(|entry| is_of_host(entry, of)).count()
}

fn is_of_host(entry: &Destination, of: SocketAddr) -> bool {
    Host::of(entry.address.ip()) == Host::of(of.ip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{IpAddr, Ipv4Addr};

    /// The length of the status message that asks for a SETUP.
    const QUESTION_BYTES: usize = 36;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
    }

    /// The address of another host.
    fn host(number: u16) -> SocketAddr {
        let [high, low] = number.to_be_bytes();
        SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, high, low)), 7)
    }

    /// It asks for a SETUP, in 36 bytes.
    fn ask(table: &mut Destinations, now: Nanos, from: SocketAddr) -> bool {
        table.hear(from, QUESTION_BYTES);
        table.request_setup(now, from)
    }

    #[test]
    fn an_unproved_address_gets_one_setup_per_request_and_100_ms_and_no_data() {
        let mut table = Destinations::new(DestinationMode::Dynamic, 4, 4);
        for millis in 0..50 {
            ask(&mut table, Nanos::from_millis(millis), address(1));
        }
        assert_eq!(table.next_setup(Nanos::from_millis(50)), Some(address(1)));
        table.request_setup(Nanos::from_millis(60), address(1));
        assert_eq!(table.next_setup(Nanos::from_millis(149)), None);
        assert_eq!(table.next_setup(Nanos::from_millis(150)), Some(address(1)));
        assert_eq!(table.next_setup(Nanos::from_millis(300)), None, "none was asked for");
        assert!(table.addresses().is_empty() && !table.is_proved(address(1)));
        assert!(table.prove(Nanos::from_millis(300), address(1)));
        assert_eq!(table.addresses(), [address(1)]);
    }

    #[test]
    fn addresses_are_bounded_and_forgotten() {
        let mut table = Destinations::new(DestinationMode::Dynamic, 2, 2);
        assert!(table.prove(Nanos(0), address(1)) && table.prove(Nanos(0), address(2)));
        assert!(!table.prove(Nanos(0), address(7)));
        table.prove(Nanos::from_secs(2), address(1));
        table.expire(Nanos::from_secs(6), Nanos::from_secs(5));
        assert!(table.prove(Nanos::from_secs(6), address(7)));
        table.expire(Nanos::from_secs(8), Nanos::from_secs(5));
        assert_eq!(table.addresses(), [address(7)]);
    }

    #[test]
    fn the_application_adds_and_removes_addresses_by_hand() {
        let mut table = Destinations::new(DestinationMode::Manual, 2, 1);
        assert!(table.add(address(1)) && table.add(address(1)) && table.add(address(2)));
        assert!(!table.add(address(3)));
        assert!(table.remove(address(1)) && !table.remove(address(1)));
        table.expire(Nanos::from_secs(100), Nanos::from_secs(5));
        assert_eq!(table.addresses(), [address(2)]);
    }

    #[test]
    fn of_destinations_by_hand_one_is_answered_and_nobody_else() {
        let mut table = Destinations::new(DestinationMode::Manual, 4, 4);
        assert_eq!(table.answer_to(address(1)), None);
        assert!(table.add(address(1)) && table.add(address(2)));
        assert_eq!(table.answer_to(address(2)), Some(Target::One(address(2))));
        assert_eq!(table.answer_to(address(3)), None, "a stranger");
        // A receiver that asks from elsewhere is answered where the application said that it is.
        let mut others = Destinations::new(DestinationMode::Manual, 4, 4);
        let [one, other, at_the_same_host] =
            ["10.0.0.1:7", "10.0.0.2:8", "10.0.0.2:9"].map(|text| text.parse().unwrap());
        assert!(others.add(one) && others.add(other));
        let from = |text: &str| text.parse().unwrap();
        for (from, to) in [
            (from("10.0.0.1:5000"), Some(one)),
            (from("10.0.0.2:7"), Some(other)),
            (from("192.168.0.1:7"), Some(one)),
            (from("192.168.0.1:8"), Some(other)),
            (from("192.168.0.1:9"), None),
        ] {
            assert_eq!(others.answer_to(from), to.map(Target::One), "{from}");
        }
        // Of two nobody knows which one it is.
        assert!(others.add(at_the_same_host));
        assert_eq!(others.answer_to(from("10.0.0.2:5000")), None);
        let group = "224.0.1.1:7".parse().unwrap();
        assert!(table.add(group));
        assert_eq!(table.answer_to(address(3)), Some(Target::One(group)), "or one in the group");
        assert_eq!(table.answer_to(address(1)), Some(Target::One(address(1))));
    }

    #[test]
    fn strangers_keep_nobody_out_whether_they_come_from_one_host_or_from_many() {
        for flood in [address as fn(u16) -> SocketAddr, host] {
            let mut table = Destinations::new(DestinationMode::Dynamic, 64, 32);
            let good: SocketAddr = "10.9.9.9:9".parse().unwrap();
            let mut displaced = 0;
            for number in 1..=1000 {
                displaced += u32::from(ask(&mut table, Nanos(i64::from(number)), flood(number)));
            }
            assert!(displaced > 900 && table.strangers.len() <= STRANGERS_MAX, "{displaced}");
            ask(&mut table, Nanos(1001), good);
            assert_eq!(table.next_setup(Nanos(1001)), Some(good), "it is answered before them");
            assert!(table.prove(Nanos(1002), good));
        }
    }

    #[test]
    fn one_host_proves_itself_at_so_many_ports_and_another_one_has_room() {
        let mut table = Destinations::new(DestinationMode::Dynamic, 64, 32);
        let proved = (1..=100).filter(|port| table.prove(Nanos(0), address(*port))).count();
        assert_eq!(proved, 32);
        assert!(table.prove(Nanos(0), host(1)) && table.prove(Nanos(0), address(1)));
    }

    #[test]
    fn all_addresses_of_a_network_of_64_bits_are_one_host() {
        let mut table = Destinations::new(DestinationMode::Dynamic, 64, 32);
        let of = |low: u128| {
            let network = 0x2001_0db8_0000_0001_u128 << 64;
            SocketAddr::new(IpAddr::V6((network | low).into()), 7)
        };
        let proved = (1..=100).filter(|low| table.prove(Nanos(0), of(*low))).count();
        assert_eq!(proved, 32);
        assert!(table.prove(Nanos(0), host(1)), "another one has room");
        // Strangers of it give way to one another, and to nobody's cost.
        assert!(!ask(&mut table, Nanos(1), host(2)));
        let displaced = (1_000..2_000).filter(|low| ask(&mut table, Nanos(2), of(*low))).count();
        assert_eq!(displaced, 1_000 - STRANGERS_PER_HOST_MAX);
        assert!(table.strangers.iter().any(|entry| entry.address == host(2)));
    }

    #[test]
    fn strangers_are_sent_no_more_than_came_from_them() {
        let mut table = Destinations::new(DestinationMode::Dynamic, 64, 32);
        let (mut came, mut went) = (0, 0);
        for number in 1..=2000 {
            let now = Nanos::from_millis(i64::from(number));
            table.expire(now, Nanos::from_secs(5));
            ask(&mut table, now, host(number));
            came += QUESTION_BYTES;
            while table.next_setup(now).is_some() {
                went += SETUP_BYTES;
                assert!(went <= came, "{went} for {came}");
            }
            assert!(!table.may_answer(host(number), SETUP_BYTES));
            assert!(table.next_due(Nanos::from_secs(5)) > now, "nothing is due that cannot go");
        }
        assert!(went > came / 10 * 9, "{went} for {came}");
    }

    #[test]
    fn who_proves_itself_costs_the_others_nothing() {
        let mut table = Destinations::new(DestinationMode::Dynamic, 64, 64);
        // The first of all asks twice.
        ask(&mut table, Nanos(0), host(1));
        assert_eq!(table.next_setup(Nanos(0)), None);
        for number in 1..=50 {
            ask(&mut table, Nanos(0), host(number));
            assert_eq!(table.next_setup(Nanos(0)), Some(host(number)));
            assert!(table.prove(Nanos(0), host(number)));
        }
    }
}
