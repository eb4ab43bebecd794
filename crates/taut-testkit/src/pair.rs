//! Two ends and the links between them, on one virtual clock.

use std::fmt::Debug;

use taut_types::Nanos;

use crate::link::{Faults, Link};

/// One end of a [`Pair`]: a protocol core, and what the application does with it.
pub trait Endpoint {
    /// A datagram has arrived.
    fn receive(&mut self, now: Nanos, datagram: &[u8]);

    /// Its turn: timeouts, the application's work, and what it has to send.
    fn turn(&mut self, now: Nanos, send: &mut dyn FnMut(&[u8]));
}

/// Two ends that take turns. Each turn is `step` later than the one before it.
#[derive(Debug)]
pub struct Pair<A, B> {
    /// The time of both.
    pub now: Nanos,
    /// How far the clock goes in a turn.
    pub step: Nanos,
    /// One end.
    pub near: A,
    /// The other.
    pub far: B,
    /// From near to far.
    pub forth: Link<Vec<u8>>,
    /// From far to near.
    pub back: Link<Vec<u8>>,
}

impl<A: Endpoint, B: Endpoint> Pair<A, B> {
    /// Both ends, with nothing under way, over links without faults.
    pub fn new(near: A, far: B) -> Self {
        let (forth, back) = (Link::perfect(), Link::perfect());
        Self { now: Nanos(1), step: Nanos::from_micros(50), near, far, forth, back }
    }

    /// The same faults on both links from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        (self.forth.faults, self.back.faults) = (faults, faults);
    }

    /// One turn of both: each takes what has arrived and says what it has to say, near first.
    pub fn turn(&mut self) {
        self.now = self.now + self.step;
        let Self { now, near, far, forth, back, .. } = self;
        while let Some(datagram) = back.receive(*now) {
            near.receive(*now, &datagram);
        }
        near.turn(*now, &mut |datagram| forth.send(*now, datagram.to_vec()));
        while let Some(datagram) = forth.receive(*now) {
            far.receive(*now, &datagram);
        }
        far.turn(*now, &mut |datagram| back.send(*now, datagram.to_vec()));
    }

    /// Turns for this time.
    pub fn run_for(&mut self, span: Nanos) {
        let end = self.now + span;
        while self.now < end {
            self.turn();
        }
    }

    /// Turns until something holds.
    ///
    /// # Panics
    /// When it does not within the span.
    pub fn run_until(&mut self, what: &str, span: Nanos, mut holds: impl FnMut(&Self) -> bool)
    where
        Self: Debug,
    {
        let end = self.now + span;
        while !holds(self) {
            assert!(self.now < end, "waited {span} of virtual time for {what}: {self:?}");
            self.turn();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends its number until the other's has come.
    #[derive(Debug)]
    struct End(u8, Option<u8>);

    impl Endpoint for End {
        fn receive(&mut self, _: Nanos, datagram: &[u8]) {
            self.1 = datagram.first().copied();
        }

        fn turn(&mut self, _: Nanos, send: &mut dyn FnMut(&[u8])) {
            send(&[self.0]);
        }
    }

    fn meet(faults: Faults) -> Pair<End, End> {
        let mut pair = Pair::new(End(1, None), End(2, None));
        pair.set_faults(faults);
        pair.run_until("both", Nanos::from_secs(1), |pair| pair.near.1.and(pair.far.1).is_some());
        pair
    }

    #[test]
    fn both_hear_each_other_over_a_link_that_loses() {
        let pair = meet(Faults { loss_per_mille: 500, ..Faults::default() });
        assert_eq!((pair.near.1, pair.far.1), (Some(2), Some(1)));
    }

    #[test]
    #[should_panic(expected = "of virtual time for both")]
    fn what_does_not_happen_is_named() {
        let _ = meet(Faults { is_cut: true, ..Faults::default() });
    }
}
