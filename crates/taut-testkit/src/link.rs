//! One direction of a network on virtual time: what it carries is lost, doubled, delayed and
//! overtaken, as a seed says.

use std::collections::BTreeMap;

use taut_types::Nanos;

use crate::random::{Draw, Random};

/// What a link does to the datagrams that are sent into it. The default carries each at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// So many of a thousand are lost.
    pub loss_per_mille: u64,
    /// A loss is followed by up to so many more.
    pub burst_max: u64,
    /// So many of a thousand come twice.
    pub duplicate_per_mille: u64,
    /// So many of a thousand are held back by up to `reorder` more, so that others overtake them.
    pub reorder_per_mille: u64,
    /// How long such a one is held back at the most.
    pub reorder: Nanos,
    /// How long each is under way.
    pub delay: Nanos,
    /// And up to so much longer.
    pub jitter: Nanos,
    /// Nothing passes.
    pub is_cut: bool,
}

impl Faults {
    /// Whether a datagram arrives when it is sent, once.
    fn carry_at_once(&self) -> bool {
        // How long a burst is, or how long one is held back, matters to none.
        let Self { burst_max, reorder, .. } = *self;
        *self == Self { burst_max, reorder, ..Self::default() }
    }
}

/// What has happened to the datagrams of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Sent into it.
    pub sent: u64,
    /// Lost.
    pub lost: u64,
    /// Delivered twice.
    pub duplicated: u64,
    /// Held back, so that others could overtake them.
    pub reordered: u64,
}

/// A link, and what is under way in it. What happens to a datagram depends on the seed and on what
/// was sent before it, on nothing else. With the same due time, what was sent first comes first.
#[derive(Debug)]
pub struct Link<T> {
    /// May change at any time; what is under way already is not touched.
    pub faults: Faults,
    random: Random,
    in_flight: BTreeMap<(Nanos, u64), T>,
    counters: LinkCounters,
    burst_left: u64,
    order: u64,
}

impl<T: Clone> Link<T> {
    /// An empty link with these faults, drawn by this seed.
    #[must_use]
    pub fn new(faults: Faults, seed: u64) -> Self {
        Self {
            faults,
            random: Random::with_seed(seed),
            in_flight: BTreeMap::new(),
            counters: LinkCounters::default(),
            burst_left: 0,
            order: 0,
        }
    }

    /// A link that carries everything, in order and at once.
    #[must_use]
    pub fn perfect() -> Self {
        Self::new(Faults::default(), 0)
    }

    /// Sends a datagram into it.
    pub fn send(&mut self, now: Nanos, datagram: T) {
        self.counters.sent += 1;
        if self.loses() {
            self.counters.lost += 1;
            return;
        }
        if self.random.per_mille(self.faults.duplicate_per_mille) {
            self.counters.duplicated += 1;
            self.depart(now, datagram.clone());
        }
        self.depart(now, datagram);
    }

    /// Sends a datagram through it without taking it, if it arrives at once and as it is: without
    /// faults, and with nothing under way that it could overtake. Draws nothing.
    #[inline]
    pub fn pass(&mut self) -> bool {
        let is_clear =
            self.burst_left == 0 && self.in_flight.is_empty() && self.faults.carry_at_once();
        self.counters.sent += u64::from(is_clear);
        is_clear
    }

    /// The next datagram that has arrived by now.
    pub fn receive(&mut self, now: Nanos) -> Option<T> {
        let next = self.in_flight.first_entry().filter(|next| next.key().0 <= now)?;
        Some(next.remove())
    }

    /// When the next one arrives.
    #[must_use]
    pub fn next_due(&self) -> Option<Nanos> {
        self.in_flight.first_key_value().map(|((due, _), _)| *due)
    }

    /// What is under way, the next to arrive first.
    pub fn in_flight(&self) -> impl Iterator<Item = &T> {
        self.in_flight.values()
    }

    /// What is under way is lost, whatever the faults.
    pub fn clear(&mut self) {
        self.in_flight.clear();
    }

    /// What has happened so far.
    #[must_use]
    pub const fn counters(&self) -> LinkCounters {
        self.counters
    }

    fn loses(&mut self) -> bool {
        if self.faults.is_cut {
            return true;
        }
        if self.burst_left > 0 {
            self.burst_left -= 1;
            return true;
        }
        let is_lost = self.random.per_mille(self.faults.loss_per_mille);
        if is_lost {
            self.burst_left = self.random.below(self.faults.burst_max + 1);
        }
        is_lost
    }

    fn depart(&mut self, now: Nanos, datagram: T) {
        let mut due = now + self.faults.delay + self.up_to(self.faults.jitter);
        if self.random.per_mille(self.faults.reorder_per_mille) {
            self.counters.reordered += 1;
            due = due + self.up_to(self.faults.reorder);
        }
        self.order += 1;
        self.in_flight.insert((due, self.order), datagram);
    }

    fn up_to(&mut self, span: Nanos) -> Nanos {
        Nanos(self.random.below(span.0.unsigned_abs() + 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORM: Faults = Faults {
        loss_per_mille: 100,
        burst_max: 2,
        duplicate_per_mille: 100,
        reorder_per_mille: 100,
        reorder: Nanos(8),
        delay: Nanos(3),
        jitter: Nanos(1),
        is_cut: false,
    };

    /// What arrives of 0..200, one sent in each nanosecond, and what was counted.
    fn arrivals(faults: Faults, seed: u64) -> (Vec<u64>, LinkCounters) {
        let mut link = Link::new(faults, seed);
        let mut arrived = Vec::new();
        for number in 0..300 {
            let now = Nanos(number as i64);
            if number < 200 {
                link.send(now, number);
            }
            arrived.extend(std::iter::from_fn(|| link.receive(now)));
        }
        assert_eq!((link.next_due(), link.in_flight().count()), (None, 0));
        (arrived, link.counters())
    }

    #[test]
    fn the_same_seed_brings_the_same_faults_and_each_is_counted() {
        let (arrived, counters) = arrivals(STORM, 5);
        let LinkCounters { sent, lost, duplicated, reordered } = counters;
        assert!(lost > 0 && duplicated > 0 && reordered > 0, "{counters:?}");
        assert_eq!(arrived.len() as u64, sent - lost + duplicated);
        assert!(!arrived.is_sorted());
        assert_eq!(arrivals(STORM, 5).0, arrived);
        assert_ne!(arrivals(STORM, 6).0, arrived);
    }

    #[test]
    fn without_faults_everything_arrives_in_order_and_after_the_delay() {
        assert_eq!(arrivals(Faults::default(), 1).0, (0..200).collect::<Vec<_>>());
        let mut link = Link::new(Faults { delay: Nanos(10), ..Faults::default() }, 1);
        link.send(Nanos(5), 'a');
        assert_eq!((link.next_due(), link.receive(Nanos(14))), (Some(Nanos(15)), None));
        assert_eq!(link.receive(Nanos(15)), Some('a'));
    }

    #[test]
    fn a_datagram_passes_only_where_nothing_can_happen_to_it() {
        let mut link = Link::new(Faults { reorder: Nanos(9), ..Faults::default() }, 1);
        assert!(link.pass());
        link.send(Nanos(0), 'a');
        assert!(!link.pass(), "it would overtake what is under way");
        assert_eq!((link.receive(Nanos(0)), link.pass()), (Some('a'), true));
        for faults in [STORM, Faults { delay: Nanos(1), ..Faults::default() }] {
            link.faults = faults;
            assert!(!link.pass());
        }
        assert_eq!(link.counters(), LinkCounters { sent: 3, ..LinkCounters::default() });
    }

    #[test]
    fn nothing_passes_a_link_that_is_cut_and_clear_empties_it() {
        let mut link = Link::perfect();
        link.send(Nanos(0), 1);
        link.faults.is_cut = true;
        link.send(Nanos(0), 2);
        assert_eq!(link.in_flight().collect::<Vec<_>>(), [&1]);
        link.clear();
        assert_eq!((link.receive(Nanos::MAX), link.counters().lost), (None, 1));
    }
}
