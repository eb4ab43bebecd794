//! Logon throttling: a CompID whose Logons fail too often from one address is not listened to from
//! there for a while. Other CompIDs of that address are, as many may stand behind one address,
//! until all of them together have failed [`ADDRESS_FACTOR`] times as often: who invents a CompID
//! for each guess gets no further.

use std::collections::{HashMap, VecDeque};

use taut_fix::CompId;
use taut_types::{Host, Nanos};

/// Who logs on, and from where.
pub type Guest = (Host, CompId);

/// How many addresses are remembered; the one that failed first makes room for another.
const ADDRESSES_MAX: usize = 4096;

/// How many CompIDs of an address are remembered; the one that failed least makes room for another
/// of the same address.
const COMP_IDS_MAX: usize = 32;

/// What an address may fail, in failures of one of its CompIDs.
const ADDRESS_FACTOR: u32 = 20;

/// Counts failed Logons by guest and by address over a window. Cost of each call: a look-up, and
/// one pass over 32 CompIDs.
#[derive(Debug)]
pub struct LogonThrottle {
    failures_max: u32,
    window: Nanos,
    addresses: HashMap<Host, Address>,
    /// The same addresses, the first one that failed in front.
    by_age: VecDeque<Host>,
}

/// Failures of one address.
#[derive(Debug)]
struct Address {
    all: Failures,
    comp_ids: Vec<(CompId, Failures)>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    since: Nanos,
    count: u32,
}

impl Failures {
    const fn new(since: Nanos) -> Self {
        Self { since, count: 0 }
    }

    /// Those of the window that is still open.
    fn count_at(self, now: Nanos, window: Nanos) -> u32 {
        if now < self.since + window { self.count } else { 0 }
    }

    fn note(&mut self, now: Nanos, window: Nanos) {
        if now >= self.since + window {
            *self = Self::new(now);
        }
        self.count = self.count.saturating_add(1);
    }
}

impl Address {
    /// The failures of a CompID, which are none when it is new here.
    fn of(&mut self, now: Nanos, window: Nanos, comp_id: CompId) -> Option<&mut Failures> {
        let at = self.comp_ids.iter().position(|(known, _)| *known == comp_id);
        let at = at.unwrap_or_else(|| {
            if self.comp_ids.len() >= COMP_IDS_MAX {
                let least = |(_, it): &(CompId, Failures)| (it.count_at(now, window), it.since);
                let least = (0..self.comp_ids.len()).min_by_key(|at| least(&self.comp_ids[*at]));
                least.map(|at| self.comp_ids.swap_remove(at));
            }
            self.comp_ids.push((comp_id, Failures::new(now)));
            self.comp_ids.len() - 1
        });
        self.comp_ids.get_mut(at).map(|(_, failures)| failures)
    }
}

impl LogonThrottle {
    /// So many failures of a guest within the window are forgiven; 0 switches the throttle off.
    #[must_use]
    pub fn new(failures_max: u32, window: Nanos) -> Self {
        Self { failures_max, window, addresses: HashMap::new(), by_age: VecDeque::new() }
    }

    /// Whether a Logon of this guest is looked at.
    #[must_use]
    pub fn admits(&self, now: Nanos, (address, comp_id): Guest) -> bool {
        let Some(address) = self.addresses.get(&address).filter(|_| self.failures_max > 0) else {
            return true;
        };
        let own = address.comp_ids.iter().find(|(known, _)| *known == comp_id);
        let own = own.map_or(0, |(_, failures)| failures.count_at(now, self.window));
        let all = address.all.count_at(now, self.window);
        own < self.failures_max && all < self.failures_max.saturating_mul(ADDRESS_FACTOR)
    }

    /// A Logon of this guest was refused.
    pub fn note_failure(&mut self, now: Nanos, (address, comp_id): Guest) {
        if self.failures_max == 0 {
            return;
        }
        if !self.addresses.contains_key(&address) {
            if self.by_age.len() >= ADDRESSES_MAX {
                let oldest = self.by_age.pop_front();
                oldest.map(|oldest| self.addresses.remove(&oldest));
            }
            self.by_age.push_back(address);
        }
        let new = || Address { all: Failures::new(now), comp_ids: Vec::new() };
        let address = self.addresses.entry(address).or_insert_with(new);
        address.all.note(now, self.window);
        if let Some(failures) = address.of(now, self.window, comp_id) {
            failures.note(now, self.window);
        }
    }

    /// A Logon of this guest succeeded. Its address is forgiven nothing: one CompID whose password
    /// is known would serve to guess those of the others.
    pub fn note_success(&mut self, (address, comp_id): Guest) {
        if let Some(address) = self.addresses.get_mut(&address) {
            address.comp_ids.retain(|(known, _)| *known != comp_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Guest;
    use super::{ADDRESS_FACTOR, ADDRESSES_MAX, COMP_IDS_MAX, LogonThrottle};
    use taut_fix::CompId;
    use taut_types::{Host, Nanos};

    fn guest(number: u32, name: &[u8]) -> Guest {
        (Host::V4(number), CompId::new(name).expect("a CompID"))
    }

    fn address(number: u32) -> Guest {
        guest(number, b"GUEST")
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
        // Its neighbour at the same address, too.
        assert!(throttle.admits(Nanos(99), guest(1, b"OTHER")));
        assert!(throttle.admits(Nanos(100), bad));
        throttle.note_failure(Nanos(100), bad);
        throttle.note_success(bad);
        throttle.note_failure(Nanos(101), bad);
        assert!(throttle.admits(Nanos(101), bad));
    }

    #[test]
    fn remembers_a_bounded_number_of_guests() {
        let mut throttle = LogonThrottle::new(1, Nanos(1_000_000));
        for number in 0..ADDRESSES_MAX as u32 + 10 {
            throttle.note_failure(Nanos(i64::from(number)), address(number));
        }
        assert_eq!([throttle.addresses.len(), throttle.by_age.len()], [ADDRESSES_MAX; 2]);
        assert!(throttle.admits(Nanos(9999), address(0)));
        assert!(!throttle.admits(Nanos(9999), address(ADDRESSES_MAX as u32)));
    }

    #[test]
    fn invented_comp_ids_neither_flush_the_one_that_is_guessed_nor_get_a_budget_each() {
        let mut throttle = LogonThrottle::new(3, Nanos(1_000_000));
        let (now, guessed, elsewhere) = (Nanos(1), guest(1, b"MEMBER"), guest(2, b"MEMBER"));
        (0..3).for_each(|_| throttle.note_failure(Nanos(0), guessed));
        (0..3).for_each(|_| throttle.note_failure(Nanos(0), elsewhere));
        let mut looked_at = 0;
        for number in 0..5_000 {
            let invented = guest(1, format!("X{number}").as_bytes());
            if throttle.admits(now, invented) {
                looked_at += 1;
                throttle.note_failure(now, invented);
            }
            assert!(!throttle.admits(now, guessed), "after {number}");
        }
        assert_eq!(looked_at, 3 * ADDRESS_FACTOR - 3);
        assert!(throttle.addresses.values().all(|it| it.comp_ids.len() <= COMP_IDS_MAX));
        // What others did is not forgotten for it, and they are not shut out for it.
        assert!(!throttle.admits(now, elsewhere));
        assert!(throttle.admits(now, guest(2, b"OTHER")));
        // A success is no pardon for the address; the end of the window is.
        throttle.note_success(guessed);
        assert!(!throttle.admits(now, guessed));
        assert!(throttle.admits(Nanos(1_000_001), guessed));
    }
}
