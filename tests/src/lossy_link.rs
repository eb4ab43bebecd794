//! A way for datagrams that loses, doubles and delays some, as a seed says.

use taut_sys::Socket;

use crate::deadline::Deadline;
use crate::random::Random;
use crate::setup::link;

/// What happens to datagrams, so many times in a thousand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    /// Lost.
    pub loss: u64,
    /// Delivered twice.
    pub duplication: u64,
    /// Held back until up to [`DELAY_MAX`] later ones have passed.
    pub delay: u64,
}

/// The most datagrams that overtake one that is held back.
pub const DELAY_MAX: u64 = 8;

/// What has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mishaps {
    /// Datagrams lost.
    pub lost: u64,
    /// Datagrams delivered twice.
    pub duplicated: u64,
    /// Datagrams held back.
    pub delayed: u64,
}

/// A relay between a sender and a receiver. What happens to a datagram depends on the seed and on
/// how many came before it, on nothing else.
#[derive(Debug)]
pub struct LossyLink {
    from: Socket,
    to: Socket,
    weather: Weather,
    random: Random,
    taken: u64,
    /// Datagrams held back, each with the number of the last one that overtakes it.
    held: Vec<(u64, Vec<u8>)>,
    mishaps: Mishaps,
}

impl LossyLink {
    /// A link in this weather, with the sender's and the receiver's end of it.
    #[must_use]
    pub fn new(weather: Weather, seed: u64) -> (Socket, Self, Socket) {
        let ((sender, from), (to, receiver)) = (link(), link());
        let random = Random::new(seed);
        let (held, mishaps) = (Vec::new(), Mishaps::default());
        (sender, Self { from, to, weather, random, taken: 0, held, mishaps }, receiver)
    }

    /// Passes on what was sent: `sent` datagrams in all so far.
    ///
    /// # Panics
    /// When they do not arrive.
    pub fn pass_on(&mut self, sent: u64) {
        let deadline = Deadline::default();
        let mut buffer = [0; 2_048];
        while self.taken < sent {
            match self.from.receive(&mut buffer).expect("a readable socket") {
                Some(bytes) => self.take(&buffer[..bytes]),
                None => deadline.check("datagrams", || format!("{} of {sent}", self.taken)),
            }
        }
    }

    /// From now on everything arrives, also what is held back.
    pub fn clear_up(&mut self) {
        self.weather = Weather::default();
        self.held.iter_mut().for_each(|(until, _)| *until = 0);
        self.release();
    }

    /// What has happened so far.
    #[must_use]
    pub const fn mishaps(&self) -> Mishaps {
        self.mishaps
    }

    fn take(&mut self, datagram: &[u8]) {
        self.taken += 1;
        let Weather { loss, duplication, delay } = self.weather;
        let dice = self.random.below(1_000);
        if dice < loss {
            self.mishaps.lost += 1;
        } else if dice < loss + duplication {
            self.mishaps.duplicated += 1;
            self.send(datagram);
            self.send(datagram);
        } else if dice < loss + duplication + delay {
            self.mishaps.delayed += 1;
            let until = self.taken + 1 + self.random.below(DELAY_MAX);
            self.held.push((until, datagram.to_vec()));
        } else {
            self.send(datagram);
        }
        self.release();
    }

    fn release(&mut self) {
        let due = |held: &mut (u64, Vec<u8>)| held.0 <= self.taken;
        let due: Vec<_> = self.held.extract_if(.., due).collect();
        due.iter().for_each(|(_, datagram)| self.send(datagram));
    }

    fn send(&self, datagram: &[u8]) {
        let taken = self.to.send(datagram);
        assert_eq!(taken, Ok(Some(datagram.len())), "loopback takes a datagram at once");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORM: Weather = Weather { loss: 100, duplication: 100, delay: 100 };

    /// The numbers that arrive out of 0..100.
    fn arrivals(seed: u64) -> (Vec<u8>, Mishaps) {
        let (sender, mut link, receiver) = LossyLink::new(STORM, seed);
        (0..100u8).for_each(|number| assert_eq!(sender.send(&[number]), Ok(Some(1))));
        link.pass_on(100);
        link.clear_up();
        let expected = 100 - link.mishaps().lost + link.mishaps().duplicated;
        let deadline = Deadline::default();
        let (mut numbers, mut buffer) = (Vec::new(), [0; 16]);
        while (numbers.len() as u64) < expected {
            match receiver.receive(&mut buffer).expect("a readable socket") {
                Some(_) => numbers.push(buffer[0]),
                None => deadline.check("datagrams", || format!("{numbers:?}")),
            }
        }
        (numbers, link.mishaps())
    }

    #[test]
    fn the_same_seed_brings_the_same_mishaps() {
        let (numbers, Mishaps { lost, duplicated, delayed }) = arrivals(5);
        assert!(lost > 0 && duplicated > 0 && delayed > 0);
        assert!(!numbers.is_sorted());
        assert_eq!(arrivals(5).0, numbers);
        assert_ne!(arrivals(6).0, numbers);
    }
}
