//! A way for datagrams that loses, doubles and delays some, as a seed says.

use taut_sys::Socket;
use taut_testkit::{DEADLINE, Faults, Link, LinkCounters, until};
use taut_types::Nanos;

use crate::setup::link;

/// The most datagrams that overtake one that is held back.
pub const DELAY_MAX: i64 = 8;

/// What happens to datagrams, so many times in a thousand: they are lost, delivered twice, or held
/// back until up to [`DELAY_MAX`] later ones have passed.
#[must_use]
pub const fn faults(loss: u64, duplication: u64, delay: u64) -> Faults {
    Faults {
        loss_per_mille: loss,
        burst_max: 0,
        duplicate_per_mille: duplication,
        reorder_per_mille: delay,
        reorder: Nanos(1 + DELAY_MAX),
        delay: Nanos::ZERO,
        jitter: Nanos::ZERO,
        is_cut: false,
    }
}

/// A relay between a sender and a receiver. Its time is the count of datagrams: what happens to one
/// depends on the seed and on how many came before it, on nothing else.
#[derive(Debug)]
pub struct LossyLink {
    from: Socket,
    to: Socket,
    link: Link<Vec<u8>>,
    taken: u64,
}

impl LossyLink {
    /// A link with these faults, with the sender's and the receiver's end of it.
    #[must_use]
    pub fn new(faults: Faults, seed: u64) -> (Socket, Self, Socket) {
        let ((sender, from), (to, receiver)) = (link(), link());
        (sender, Self { from, to, link: Link::new(faults, seed), taken: 0 }, receiver)
    }

    /// Passes on what was sent: `sent` datagrams in all so far.
    ///
    /// # Panics
    /// When they do not arrive.
    pub fn pass_on(&mut self, sent: u64) {
        if !self.take(sent) {
            let name = format!("{sent} datagrams come to the link");
            until(&name, DEADLINE, || self.take(sent));
        }
    }

    /// Passes on what is there; whether that is all that was sent.
    fn take(&mut self, sent: u64) -> bool {
        let mut buffer = [0; 2_048];
        while self.taken < sent
            && let Some(bytes) = self.from.receive(&mut buffer).expect("a readable socket")
        {
            self.taken += 1;
            let datagram = &buffer[..bytes];
            // So that what is measured behind a link without faults is not the link.
            if self.link.pass() {
                self.send(datagram);
            } else {
                self.link.send(self.now(), datagram.to_vec());
                self.release(self.now());
            }
        }
        self.taken >= sent
    }

    /// From now on everything arrives, also what is held back.
    pub fn clear_up(&mut self) {
        self.link.faults = Faults::default();
        self.release(Nanos::MAX);
    }

    /// What has happened so far.
    #[must_use]
    pub const fn counters(&self) -> LinkCounters {
        self.link.counters()
    }

    const fn now(&self) -> Nanos {
        Nanos(self.taken.cast_signed())
    }

    fn release(&mut self, now: Nanos) {
        while let Some(datagram) = self.link.receive(now) {
            self.send(&datagram);
        }
    }

    fn send(&self, datagram: &[u8]) {
        let taken = self.to.send(datagram);
        assert_eq!(taken, Ok(Some(datagram.len())), "loopback takes a datagram at once");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that arrive out of 0..100.
    fn arrivals(seed: u64) -> (Vec<u8>, LinkCounters) {
        let (sender, mut link, receiver) = LossyLink::new(faults(100, 100, 100), seed);
        (0..100u8).for_each(|number| assert_eq!(sender.send(&[number]), Ok(Some(1))));
        link.pass_on(100);
        link.clear_up();
        let expected = 100 - link.counters().lost + link.counters().duplicated;
        let (mut numbers, mut buffer) = (Vec::new(), [0; 16]);
        until(&format!("{expected} datagrams arrive"), DEADLINE, || {
            while receiver.receive(&mut buffer).expect("a readable socket").is_some() {
                numbers.push(buffer[0]);
            }
            numbers.len() as u64 >= expected
        });
        (numbers, link.counters())
    }

    #[test]
    fn the_same_seed_brings_the_same_mishaps() {
        let (numbers, LinkCounters { lost, duplicated, reordered, .. }) = arrivals(5);
        assert!(lost > 0 && duplicated > 0 && reordered > 0);
        assert!(!numbers.is_sorted());
        assert_eq!(arrivals(5).0, numbers);
        assert_ne!(arrivals(6).0, numbers);
    }
}
