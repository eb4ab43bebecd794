//! Which of the newest sequence numbers came.

/// How far behind the newest a late one is told from one that came twice.
const WINDOW: u64 = 1024;

/// What a sequence number is, against those that came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The next one.
    Next,
    /// So many before it are missing.
    Ahead { missing: u64 },
    /// It was missing.
    Late,
    /// It came before, or is too old to tell.
    Twice,
}

/// A window over the sequence of one publisher.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    seen: [u64; (WINDOW / 64) as usize],
    next: u64,
    base: u64,
}

impl Window {
    /// Before any message; the first one will be `next`.
    pub(crate) const fn starting_at(next: u64) -> Self {
        Self { seen: [0; (WINDOW / 64) as usize], next, base: next }
    }

    /// The number behind the newest.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// A number came.
    #[inline]
    pub(crate) fn note(&mut self, sequence: u64) -> Place {
        if sequence < self.next {
            let is_old = self.next - sequence > WINDOW || sequence < self.base;
            if is_old || !self.set(sequence, true) {
                return Place::Twice;
            }
            return Place::Late;
        }
        let missing = sequence - self.next;
        self.pass(sequence);
        self.set(sequence, true);
        self.next = sequence.saturating_add(1);
        if missing == 0 { Place::Next } else { Place::Ahead { missing } }
    }

    /// All before `next` were sent: returns how many of them are newly missing.
    pub(crate) fn reach(&mut self, next: u64) -> u64 {
        let missing = next.saturating_sub(self.next);
        self.pass(next);
        self.next = self.next.max(next);
        missing
    }

    /// Notes that what lies between has not come.
    #[inline]
    fn pass(&mut self, upto: u64) {
        let from = self.next.max(upto.saturating_sub(WINDOW));
        (from..upto).for_each(|skipped| {
            self.set(skipped, false);
        });
    }

    /// Sets a number's bit; whether that changed it.
    #[inline]
    fn set(&mut self, sequence: u64, to: bool) -> bool {
        let at = sequence % WINDOW;
        let Some(word) = self.seen.get_mut((at / 64) as usize) else { return false };
        let before = *word >> (at % 64) & 1 == 1;
        *word = *word & !(1 << (at % 64)) | u64::from(to) << (at % 64);
        before != to
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use taut_testkit::{Draw, Random};

    #[test]
    fn tells_next_ahead_late_and_twice() {
        let mut window = Window::starting_at(10);
        let places = [10, 12, 11, 11, 12, 9, 15].map(|sequence| window.note(sequence));
        let expected = [
            Place::Next,
            Place::Ahead { missing: 1 },
            Place::Late,
            Place::Twice,
            Place::Twice,
            Place::Twice,
            Place::Ahead { missing: 2 },
        ];
        assert_eq!(places, expected);
        assert_eq!((window.reach(20), window.next()), (4, 20));
        assert_eq!(window.note(19), Place::Late);
        assert_eq!(window.note(u64::MAX), Place::Ahead { missing: u64::MAX - 20 });
    }

    #[test]
    fn agrees_with_a_set_of_numbers_on_random_orders() {
        let (mut window, mut seen, mut next) = (Window::starting_at(0), BTreeSet::new(), 0_u64);
        let mut random = Random::with_seed(1);
        for _ in 0..100_000 {
            let sequence = (next + 8).saturating_sub(random.below(900));
            let place = window.note(sequence);
            let expected = match sequence {
                _ if seen.contains(&sequence) => Place::Twice,
                _ if sequence < next => Place::Late,
                _ if sequence == next => Place::Next,
                _ => Place::Ahead { missing: sequence - next },
            };
            assert_eq!(place, expected, "{sequence} at {next}");
            seen.insert(sequence);
            next = next.max(sequence + 1);
        }
    }
}
