//! Timers on a hierarchical wheel of nanoseconds: insert and cancel in constant time.
//!
//! Eleven levels of 64 slots cover 2^63 ns. A timer lies on the level of the highest six-bit digit
//! in which its deadline differs from the wheel's time, in the slot of that digit. When the time
//! reaches a slot of a higher level, its timers move down; on level 0 a slot is one nanosecond, so
//! timers go off in the order of their deadlines (equal ones in the order of arming). A timer moves
//! at most once per level. All memory is allocated when the wheel is built.

use alloc::boxed::Box;
use alloc::vec::Vec;

use taut_types::Nanos;

use crate::handle::TimerId;

const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
const LEVELS: usize = 11;
const NONE: u32 = u32::MAX;

/// A timer that went off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired<T> {
    /// Which one. It is stale already unless the timer repeats.
    pub timer: TimerId,
    /// What it was armed with.
    pub value: T,
    /// When it was due.
    pub deadline: Nanos,
    /// Whole periods that passed beyond that.
    pub missed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    generation: u32,
    /// Where it hangs, `level * SLOTS + slot`; [`NONE`] when free.
    list: u32,
    next: u32,
    previous: u32,
    deadline: u64,
    period: u64,
    value: Option<T>,
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

/// A wheel of at most a fixed count of timers.
#[derive(Debug)]
pub struct TimerWheel<T> {
    now: u64,
    entries: Vec<Entry<T>>,
    free: u32,
    armed: usize,
    occupied: [u64; LEVELS],
    lists: Box<[List]>,
}

impl<T: Copy> TimerWheel<T> {
    /// An empty wheel that starts at `now`.
    #[must_use]
    pub fn new(now: Nanos, timers_max: usize) -> Self {
        let timers_max = u32::try_from(timers_max).unwrap_or(NONE - 1).min(NONE - 1);
        let entry = |index: u32| Entry {
            generation: 0,
            list: NONE,
            next: if index + 1 < timers_max { index + 1 } else { NONE },
            previous: NONE,
            deadline: 0,
            period: 0,
            value: None,
        };
        Self {
            now: point(now),
            entries: (0..timers_max).map(entry).collect(),
            free: if timers_max == 0 { NONE } else { 0 },
            armed: 0,
            occupied: [0; LEVELS],
            lists: alloc::vec![List { first: NONE, last: NONE }; LEVELS * SLOTS].into(),
        }
    }

    /// Arms a timer for `deadline` (at once if that has passed), again every `period` if there is
    /// one. `None` when there is no room.
    pub fn arm(&mut self, deadline: Nanos, period: Option<Nanos>, value: T) -> Option<TimerId> {
        let index = self.free;
        let entry = self.entries.get_mut(index as usize)?;
        self.free = entry.next;
        entry.deadline = point(deadline);
        entry.period = period.map_or(0, point);
        entry.value = Some(value);
        let generation = entry.generation;
        self.armed += 1;
        self.hang(index);
        Some(TimerId { index, generation })
    }

    /// Disarms a timer; false when it is stale. Constant time, from anywhere.
    pub fn cancel(&mut self, timer: TimerId) -> bool {
        match self.entries.get(timer.index as usize) {
            Some(entry) if entry.generation == timer.generation && entry.list != NONE => {
                self.unhang(timer.index);
                self.release(timer.index);
                true
            }
            _ => false,
        }
    }

    /// Timers that are armed.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.armed
    }

    /// Whether no timer is armed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.armed == 0
    }

    /// When the next timer is due. Looks through one slot: for use before sleeping.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Nanos> {
        let (level, slot, _) = self.first_occupied()?;
        let mut earliest = u64::MAX;
        let mut index = self.lists[level * SLOTS + slot].first;
        while let Some(entry) = self.entries.get(index as usize) {
            earliest = earliest.min(entry.deadline);
            index = entry.next;
        }
        Some(Nanos(i64::try_from(earliest).unwrap_or(i64::MAX)))
    }

    /// Takes the next timer that is due at `now`. A repeating one is armed again on its grid.
    /// Constant time when nothing is due.
    pub fn expire(&mut self, now: Nanos) -> Option<Expired<T>> {
        let now = point(now).max(self.now);
        loop {
            let Some((level, slot, start)) = self.first_occupied() else {
                self.now = now;
                return None;
            };
            if start > now {
                self.now = now;
                return None;
            }
            self.now = self.now.max(start);
            let list = level * SLOTS + slot;
            if level == 0 {
                let index = self.lists[list].first;
                self.unhang(index);
                return self.go_off(index, now);
            }
            // The time has reached this slot: all of it moves down, in order.
            while self.lists[list].first != NONE {
                let index = self.lists[list].first;
                self.unhang(index);
                self.hang(index);
            }
        }
    }

    fn go_off(&mut self, index: u32, now: u64) -> Option<Expired<T>> {
        let entry = self.entries.get_mut(index as usize)?;
        let (due, period, generation) = (entry.deadline, entry.period, entry.generation);
        let value = entry.value?;
        let missed = now.saturating_sub(due).checked_div(period).unwrap_or(0);
        if period == 0 {
            self.release(index);
        } else {
            entry.deadline = due.saturating_add(period.saturating_mul(missed + 1));
            self.hang(index);
        }
        let deadline = Nanos(i64::try_from(due).unwrap_or(i64::MAX));
        Some(Expired { timer: TimerId { index, generation }, value, deadline, missed })
    }

    /// The occupied slot with the earliest start, and that start. The lowest level that is occupied
    /// holds it: everything there lies within one slot of the level above.
    fn first_occupied(&self) -> Option<(usize, usize, u64)> {
        let level = self.occupied.iter().position(|bits| *bits != 0)?;
        let slot = self.occupied[level].trailing_zeros() as usize;
        let shift = DIGIT_BITS * level as u32;
        let above = self.now.checked_shr(shift + DIGIT_BITS).unwrap_or(0);
        let base = above.checked_shl(shift + DIGIT_BITS).unwrap_or(0);
        Some((level, slot, base | (slot as u64) << shift))
    }

    /// Hangs an entry into its slot, at the end.
    fn hang(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        // What is overdue hangs at the present nanosecond: it goes off next.
        let key = entry.deadline.max(self.now);
        let differing = key ^ self.now;
        let level = (63 - (differing | 1).leading_zeros()) / DIGIT_BITS;
        let slot = (key >> (level * DIGIT_BITS)) as usize & (SLOTS - 1);
        let list = level as usize * SLOTS + slot;
        let last = self.lists[list].last;
        entry.list = list as u32;
        (entry.previous, entry.next) = (last, NONE);
        match self.entries.get_mut(last as usize) {
            Some(before) => before.next = index,
            None => self.lists[list].first = index,
        }
        self.lists[list].last = index;
        self.occupied[level as usize] |= 1 << slot;
    }

    fn unhang(&mut self, index: u32) {
        let Entry { list, next, previous, .. } = self.entries[index as usize];
        let list = list as usize;
        match self.entries.get_mut(previous as usize) {
            Some(before) => before.next = next,
            None => self.lists[list].first = next,
        }
        match self.entries.get_mut(next as usize) {
            Some(after) => after.previous = previous,
            None => self.lists[list].last = previous,
        }
        if self.lists[list].first == NONE {
            self.occupied[list / SLOTS] &= !(1 << (list % SLOTS));
        }
        self.entries[index as usize].list = NONE;
    }

    fn release(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.list = NONE;
        entry.value = None;
        entry.next = self.free;
        self.free = index;
        self.armed -= 1;
    }
}

fn point(time: Nanos) -> u64 {
    time.0.max(0).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_repeating_timer_stays_on_its_grid_and_counts_what_it_missed() {
        let mut wheel = TimerWheel::new(Nanos(5), 4);
        let id = wheel.arm(Nanos(100), Some(Nanos(100)), 'x').unwrap();
        assert_eq!(wheel.expire(Nanos(99)), None);
        let first = wheel.expire(Nanos(107)).unwrap();
        assert_eq!((first.deadline, first.missed, first.timer), (Nanos(100), 0, id));
        let second = wheel.expire(Nanos(431)).unwrap();
        assert_eq!((second.deadline, second.missed), (Nanos(200), 2));
        assert_eq!(wheel.expire(Nanos(499)), None);
        assert_eq!(wheel.next_deadline(), Some(Nanos(500)));
        assert!(wheel.cancel(id) && !wheel.cancel(id) && wheel.is_empty());
    }

    #[test]
    fn refuses_more_timers_than_it_was_built_for() {
        let mut wheel = TimerWheel::new(Nanos::ZERO, 1);
        let id = wheel.arm(Nanos(1), None, ()).unwrap();
        assert_eq!(wheel.arm(Nanos(2), None, ()), None);
        assert!(wheel.cancel(id));
        assert!(wheel.arm(Nanos(2), None, ()).is_some());
    }

    /// The naive twin: a sorted map of (deadline, order of arming).
    #[derive(Default)]
    struct Oracle {
        armed: BTreeMap<(u64, u64), TimerId>,
        next: u64,
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn agrees_with_a_sorted_map(
            commands in proptest::collection::vec((0u8..4, 0u32..40, any::<u64>()), 1..600),
        ) {
            let mut wheel = TimerWheel::new(Nanos(1_000), 1 << 10);
            let mut oracle = Oracle::default();
            let mut now = 1_000u64;
            for (kind, bits, random) in commands {
                let span = random & ((1 << bits) - 1);
                match kind {
                    0 | 1 => {
                        let at = now.saturating_sub(500) + span;
                        let id = wheel.arm(Nanos(at as i64), None, at).unwrap();
                        oracle.armed.insert((at.max(now), oracle.next), id);
                        oracle.next += 1;
                    }
                    2 => {
                        let count = oracle.armed.len().max(1);
                        let victim = oracle.armed.iter().nth(random as usize % count);
                        if let Some((&key, &id)) = victim {
                            prop_assert!(wheel.cancel(id));
                            oracle.armed.remove(&key);
                        }
                    }
                    _ => {
                        now += span;
                        while let Some(expired) = wheel.expire(Nanos(now as i64)) {
                            let ((at, _), id) = oracle.armed.pop_first().unwrap();
                            prop_assert!(at <= now && expired.deadline.0 as u64 <= at);
                            prop_assert_eq!(expired.timer, id);
                        }
                        let first = oracle.armed.first_key_value();
                        prop_assert!(first.is_none_or(|((at, _), _)| *at > now));
                    }
                }
                prop_assert_eq!(wheel.len(), oracle.armed.len());
            }
        }
    }
}
