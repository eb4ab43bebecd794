//! Where a publication sends: one address, or a table of them (multi-destination).

use alloc::vec::Vec;
use core::net::SocketAddr;

use taut_types::Nanos;

/// A SETUP goes to an address at most this often.
const SETUP_INTERVAL: Nanos = Nanos::from_millis(100);
/// How long an address may take to prove itself.
const PROOF_TIME: Nanos = Nanos::from_secs(1);

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
    /// It has named the session, which only a SETUP that arrived there can have told.
    is_proved: bool,
    wants_setup: bool,
    next_setup: Nanos,
}

/// The table; its memory is taken when it is built.
#[derive(Debug)]
pub struct Destinations {
    mode: DestinationMode,
    entries: Vec<Destination>,
    addresses: Vec<SocketAddr>,
    count_max: usize,
}

impl Destinations {
    pub fn new(mode: DestinationMode, count_max: usize) -> Self {
        let count_max = if mode == DestinationMode::Fixed { 0 } else { count_max };
        let (entries, addresses) = (Vec::with_capacity(count_max), Vec::with_capacity(count_max));
        Self { mode, entries, addresses, count_max }
    }

    /// Where data goes to: empty for one fixed address.
    #[inline]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The application adds an address; false when the table is full or not the application's.
    pub fn add(&mut self, address: SocketAddr) -> bool {
        let is_manual = self.mode == DestinationMode::Manual;
        is_manual && (self.entry(address).is_some() || self.insert(Nanos::MAX, address, true))
    }

    /// The application removes an address.
    pub fn remove(&mut self, address: SocketAddr) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.address != address);
        self.update();
        self.entries.len() < before
    }

    /// An address asked for a SETUP.
    pub fn request_setup(&mut self, now: Nanos, from: SocketAddr) {
        if self.mode != DestinationMode::Dynamic {
            return;
        }
        if self.entry(from).is_none() && !self.insert(now, from, false) {
            return;
        }
        if let Some(entry) = self.entry(from) {
            entry.heard = now;
            entry.wants_setup = true;
        }
    }

    /// An address named the session. True when it may be listened to.
    pub fn prove(&mut self, now: Nanos, from: SocketAddr) -> bool {
        if self.mode != DestinationMode::Dynamic {
            return true;
        }
        if self.entry(from).is_none() && !self.insert(now, from, false) {
            return false;
        }
        let Some(entry) = self.entry(from) else { return false };
        entry.heard = now;
        let is_new = !core::mem::replace(&mut entry.is_proved, true);
        if is_new {
            self.update();
        }
        true
    }

    /// Whether an address may cause data to be sent to it.
    pub fn is_proved(&self, from: SocketAddr) -> bool {
        self.mode != DestinationMode::Dynamic || self.addresses.contains(&from)
    }

    /// An address that waits for a SETUP which may go now.
    pub fn next_setup(&mut self, now: Nanos) -> Option<SocketAddr> {
        let is_due = |entry: &&mut Destination| entry.wants_setup && entry.next_setup <= now;
        let entry = self.entries.iter_mut().find(is_due)?;
        entry.wants_setup = false;
        entry.next_setup = now + SETUP_INTERVAL;
        Some(entry.address)
    }

    /// Forgets addresses that fell silent.
    pub fn expire(&mut self, now: Nanos, timeout: Nanos) {
        if self.mode != DestinationMode::Dynamic {
            return;
        }
        let before = self.entries.len();
        self.entries.retain(|entry| {
            now.since(entry.heard) <= if entry.is_proved { timeout } else { PROOF_TIME }
        });
        if self.entries.len() < before {
            self.update();
        }
    }

    /// When something here is due.
    pub fn next_due(&self, timeout: Nanos) -> Nanos {
        if self.mode != DestinationMode::Dynamic {
            return Nanos::MAX;
        }
        let due = self.entries.iter().map(|entry| {
            let silent = entry.heard + if entry.is_proved { timeout } else { PROOF_TIME };
            let silent = silent + Nanos(1);
            if entry.wants_setup { silent.min(entry.next_setup) } else { silent }
        });
        due.min().unwrap_or(Nanos::MAX)
    }

    fn entry(&mut self, address: SocketAddr) -> Option<&mut Destination> {
        self.entries.iter_mut().find(|entry| entry.address == address)
    }

    fn insert(&mut self, now: Nanos, address: SocketAddr, is_proved: bool) -> bool {
        if self.entries.len() >= self.count_max {
            return false;
        }
        let (wants_setup, next_setup) = (false, Nanos(i64::MIN));
        let entry = Destination { address, heard: now, is_proved, wants_setup, next_setup };
        self.entries.push(entry);
        self.update();
        true
    }

    fn update(&mut self) {
        self.addresses.clear();
        let proved = self.entries.iter().filter(|entry| entry.is_proved);
        self.addresses.extend(proved.map(|entry| entry.address));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{IpAddr, Ipv4Addr};

    fn address(port: u16) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
    }

    #[test]
    fn an_unproved_address_gets_one_setup_per_request_and_100_ms_and_no_data() {
        let mut table = Destinations::new(DestinationMode::Dynamic, 4);
        for millis in 0..50 {
            table.request_setup(Nanos::from_millis(millis), address(1));
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
        let mut table = Destinations::new(DestinationMode::Dynamic, 2);
        for port in 1..=9 {
            table.request_setup(Nanos(0), address(port));
        }
        assert!(table.prove(Nanos(0), address(1)) && !table.prove(Nanos(0), address(7)));
        table.expire(Nanos::from_secs(2), Nanos::from_secs(5));
        assert!(table.prove(Nanos::from_secs(2), address(7)));
        table.expire(Nanos::from_secs(6), Nanos::from_secs(5));
        assert_eq!(table.addresses(), [address(7)]);
    }

    #[test]
    fn the_application_adds_and_removes_addresses_by_hand() {
        let mut table = Destinations::new(DestinationMode::Manual, 2);
        assert!(table.add(address(1)) && table.add(address(1)) && table.add(address(2)));
        assert!(!table.add(address(3)));
        assert!(table.remove(address(1)) && !table.remove(address(1)));
        table.expire(Nanos::from_secs(100), Nanos::from_secs(5));
        assert_eq!(table.addresses(), [address(2)]);
    }
}
