//! Logon throttling: who fails to log on too often is not listened to for a while.

use std::collections::HashMap;
use std::net::IpAddr;

use taut_types::Nanos;

/// How many addresses are remembered; beyond them the oldest failures are forgotten.
const ADDRESSES_MAX: usize = 4096;

/// Counts failed Logons by address over a window.
#[derive(Debug)]
pub struct LogonThrottle {
    failures_max: u32,
    window: Nanos,
    failures: HashMap<IpAddr, Failures>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    since: Nanos,
    count: u32,
}

impl LogonThrottle {
    /// So many failures within the window are forgiven; 0 switches the throttle off.
    #[must_use]
    pub fn new(failures_max: u32, window: Nanos) -> Self {
        Self { failures_max, window, failures: HashMap::new() }
    }

    /// Whether a connection from this address is let in.
    #[must_use]
    pub fn admits(&self, now: Nanos, address: IpAddr) -> bool {
        let failures = self.failures.get(&address).filter(|f| now < f.since + self.window);
        self.failures_max == 0 || failures.is_none_or(|f| f.count < self.failures_max)
    }

    /// A connection from this address ended before its Logon, or its Logon was refused.
    pub fn note_failure(&mut self, now: Nanos, address: IpAddr) {
        if self.failures_max == 0 {
            return;
        }
        if self.failures.len() >= ADDRESSES_MAX && !self.failures.contains_key(&address) {
            self.make_room(now);
        }
        let fresh = Failures { since: now, count: 0 };
        let failures = self.failures.entry(address).or_insert(fresh);
        if now >= failures.since + self.window {
            *failures = fresh;
        }
        failures.count = failures.count.saturating_add(1);
    }

    /// A Logon from this address succeeded.
    pub fn note_success(&mut self, address: IpAddr) {
        self.failures.remove(&address);
    }

    fn make_room(&mut self, now: Nanos) {
        let window = self.window;
        self.failures.retain(|_, failures| now < failures.since + window);
        if self.failures.len() >= ADDRESSES_MAX {
            let oldest = self.failures.iter().min_by_key(|(_, f)| f.since).map(|(a, _)| *a);
            oldest.map(|address| self.failures.remove(&address));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ADDRESSES_MAX, LogonThrottle};
    use std::net::{IpAddr, Ipv4Addr};
    use taut_types::Nanos;

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from(number))
    }

    #[test]
    fn shuts_out_who_fails_too_often_and_forgives_later() {
        let mut throttle = LogonThrottle::new(2, Nanos(100));
        let (bad, good) = (address(1), address(2));
        throttle.note_failure(Nanos(0), bad);
        assert!(throttle.admits(Nanos(1), bad));
        throttle.note_failure(Nanos(1), bad);
        assert!(!throttle.admits(Nanos(99), bad));
        assert!(throttle.admits(Nanos(99), good));
        assert!(throttle.admits(Nanos(100), bad));
        throttle.note_failure(Nanos(100), bad);
        throttle.note_success(bad);
        throttle.note_failure(Nanos(101), bad);
        assert!(throttle.admits(Nanos(101), bad));
    }

    #[test]
    fn remembers_a_bounded_number_of_addresses() {
        let mut throttle = LogonThrottle::new(1, Nanos(1_000_000));
        for number in 0..ADDRESSES_MAX as u32 + 10 {
            throttle.note_failure(Nanos(i64::from(number)), address(number));
        }
        assert_eq!(throttle.failures.len(), ADDRESSES_MAX);
        assert!(throttle.admits(Nanos(9999), address(0)));
        assert!(!throttle.admits(Nanos(9999), address(ADDRESSES_MAX as u32)));
    }
}
