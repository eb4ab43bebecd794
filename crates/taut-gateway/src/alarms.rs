//! Moments that a strategy wants to be called at.

use taut_types::Nanos;

/// As many as a strategy may have set at one time.
const ALARMS_MAX: usize = 256;

/// A moment, and what the strategy calls it.
#[derive(Clone, Copy, Debug)]
struct Alarm {
    at: Nanos,
    /// Counts what was set: of two for the same moment the one that was set first comes first.
    number: u64,
    token: u64,
}

/// The alarms of a strategy. Takes its memory once: a binary heap, the next alarm at its root.
#[derive(Debug)]
pub(crate) struct Alarms {
    heap: Vec<Alarm>,
    set: u64,
}

impl Default for Alarms {
    fn default() -> Self {
        Self { heap: Vec::with_capacity(ALARMS_MAX), set: 0 }
    }
}

impl Alarms {
    /// Sets the alarm with this token, or sets it anew; false when there is no room for another.
    /// Cost: a look at each alarm that is set.
    pub(crate) fn set(&mut self, at: Nanos, token: u64) -> bool {
        self.cancel(token);
        if self.heap.len() == ALARMS_MAX {
            return false;
        }
        self.set += 1;
        self.heap.push(Alarm { at, number: self.set, token });
        self.rise(self.heap.len() - 1);
        true
    }

    /// Whether the alarm with this token was set. Cost: as [`Alarms::set`].
    pub(crate) fn cancel(&mut self, token: u64) -> bool {
        let found = self.heap.iter().position(|alarm| alarm.token == token);
        found.is_some_and(|at| self.take(at).is_some())
    }

    /// The mark of a round: what is set from here on comes in the next one, so that a round ends.
    pub(crate) const fn round(&self) -> u64 {
        self.set
    }

    /// The token of the next alarm of the round whose moment has come.
    #[inline]
    pub(crate) fn next(&mut self, now: Nanos, round: u64) -> Option<u64> {
        let next = self.heap.first()?;
        if next.at > now {
            return None;
        }
        if next.number <= round {
            return self.take(0).map(|alarm| alarm.token);
        }
        // One of this round, whose moment has come too, was set for a moment before those that
        // wait for the round.
        let is_due = |alarm: &Alarm| alarm.at <= now && alarm.number <= round;
        let due = self.heap.iter().enumerate().filter(|(_, alarm)| is_due(alarm));
        let (at, _) = due.min_by_key(|(_, alarm)| (alarm.at, alarm.number))?;
        self.take(at).map(|alarm| alarm.token)
    }

    fn take(&mut self, at: usize) -> Option<Alarm> {
        if at >= self.heap.len() {
            return None;
        }
        let alarm = self.heap.swap_remove(at);
        // What has come from the end may belong above or below.
        self.rise(at);
        self.sink(at);
        Some(alarm)
    }

    fn is_before(&self, one: usize, other: usize) -> bool {
        let key = |at: usize| self.heap.get(at).map(|alarm| (alarm.at, alarm.number));
        key(other).is_some_and(|other| key(one).is_some_and(|one| one < other))
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.is_before(at, (at - 1) / 2) {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let child = if self.is_before(right, left) { right } else { left };
            if !self.is_before(child, at) {
                return;
            }
            self.heap.swap(child, at);
            at = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use taut_testkit::for_each_seed;

    fn all_due(alarms: &mut Alarms, now: Nanos) -> Vec<u64> {
        let round = alarms.round();
        std::iter::from_fn(|| alarms.next(now, round)).collect()
    }

    #[test]
    fn alarms_come_by_their_moments_and_of_one_moment_as_they_were_set() {
        for_each_seed(0..50, |_, mut random| {
            let mut alarms = Alarms::default();
            // The twin: what is set, by moment and number.
            let mut twin: BTreeMap<(i64, u64), u64> = BTreeMap::new();
            for number in 0..1_000 {
                let token = random.u64(0..300);
                let known = twin.iter().find(|(_, known)| **known == token).map(|(key, _)| *key);
                known.map(|key| twin.remove(&key));
                if random.u32(0..4) == 0 {
                    assert_eq!(alarms.cancel(token), known.is_some());
                    continue;
                }
                let at = random.i64(0..1_000);
                let is_set = alarms.set(Nanos(at), token);
                assert_eq!(is_set, twin.len() < ALARMS_MAX);
                if is_set {
                    twin.insert((at, number), token);
                }
                if random.u32(0..8) == 0 {
                    let now = random.i64(0..500);
                    let later = twin.split_off(&(now + 1, 0));
                    let due: Vec<u64> = std::mem::replace(&mut twin, later).into_values().collect();
                    assert_eq!(all_due(&mut alarms, Nanos(now)), due);
                }
            }
            assert_eq!(alarms.heap.capacity(), ALARMS_MAX);
        });
    }

    #[test]
    fn what_is_set_in_a_round_comes_in_the_next_one() {
        let mut alarms = Alarms::default();
        assert!(alarms.set(Nanos(5), 1) && alarms.set(Nanos(6), 2));
        let round = alarms.round();
        assert_eq!(alarms.next(Nanos(9), round), Some(1));
        assert!(alarms.set(Nanos(1), 3));
        assert_eq!(alarms.next(Nanos(9), round), Some(2));
        assert_eq!(alarms.next(Nanos(9), round), None);
        assert_eq!(all_due(&mut alarms, Nanos(9)), [3]);
    }
}
