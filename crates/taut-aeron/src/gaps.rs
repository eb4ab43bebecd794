//! What is missing: the holes between what an application has consumed and the highest position
//! that is known, each with its own timer.

use alloc::vec::Vec;
use taut_types::Nanos;

/// A hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Its first byte.
    pub start: i64,
    /// The byte after its last.
    pub end: i64,
    /// When it was found.
    pub found: Nanos,
    /// When to do something about it.
    pub due: Nanos,
    /// How often it was asked for.
    pub attempts: u8,
}

/// What a run of frames did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// It lies at or above everything known.
    Fresh,
    /// It lies wholly in this gap.
    Inside(Gap),
    /// Nothing in it is wholly missing.
    Nothing,
}

/// The holes in order. Their number is bounded, and the memory for them is taken when it is built.
#[derive(Debug)]
pub struct Gaps {
    gaps: Vec<Gap>,
    count_max: usize,
    high: i64,
    next_due: Nanos,
}

impl Gaps {
    pub fn new(count_max: usize, start: i64) -> Self {
        Self {
            gaps: Vec::with_capacity(count_max + 1),
            count_max,
            high: start,
            next_due: Nanos::MAX,
        }
    }

    /// Everything below is received or a gap.
    #[inline]
    pub const fn high(&self) -> i64 {
        self.high
    }

    /// The end of what can be read from the front.
    #[inline]
    pub fn contiguous(&self) -> i64 {
        self.gaps.first().map_or(self.high, |gap| gap.start)
    }

    /// The first gap.
    pub fn first(&self) -> Option<&Gap> {
        self.gaps.first()
    }

    /// The earliest time at which a gap is due.
    #[inline]
    pub const fn next_due(&self) -> Nanos {
        self.next_due
    }

    /// What the run from `start` to `end` would do.
    #[inline]
    pub fn look(&self, start: i64, end: i64) -> Filled {
        if start >= self.high {
            return Filled::Fresh;
        }
        let at = self.gaps.partition_point(|gap| gap.end <= start);
        match self.gaps.get(at) {
            Some(gap) if gap.start <= start && end <= gap.end => Filled::Inside(*gap),
            _ => Filled::Nothing,
        }
    }

    /// Everything below `position` was sent: what is missing up to there is a gap. False when there
    /// is no room for another one; nothing has changed then. True and [`Self::high`] moves.
    #[inline]
    pub fn extend(&mut self, start: i64, end: i64, now: Nanos, due: Nanos) -> bool {
        if start > self.high {
            if self.gaps.len() >= self.count_max {
                return false;
            }
            self.gaps.push(Gap { start: self.high, end: start, found: now, due, attempts: 0 });
            self.next_due = self.next_due.min(due);
        }
        self.high = end;
        true
    }

    /// More is missing right behind the last gap. False when the last gap does not reach the top.
    pub fn grow_last(&mut self, end: i64) -> bool {
        let high = self.high;
        let last = self.gaps.last_mut().filter(|gap| gap.end == high);
        if let Some(gap) = last {
            gap.end = end;
            self.high = end;
            return true;
        }
        false
    }

    /// The run from `start` to `end`, which lies inside one gap, has arrived. False when it would
    /// split a gap and there is no room for another.
    pub fn fill(&mut self, start: i64, end: i64) -> bool {
        let at = self.gaps.partition_point(|gap| gap.end <= start);
        let is_full = self.gaps.len() > self.count_max;
        let Some(gap) = self.gaps.get_mut(at) else { return false };
        let whole = *gap;
        match (start > whole.start, end < whole.end) {
            (false, false) => {
                self.gaps.remove(at);
            }
            (false, true) => gap.start = end,
            (true, false) => gap.end = start,
            (true, true) => {
                if is_full {
                    return false;
                }
                gap.end = start;
                self.gaps.insert(at + 1, Gap { start: end, ..whole });
            }
        }
        if self.gaps.is_empty() {
            self.next_due = Nanos::MAX;
        }
        true
    }

    /// Gives the first gap up.
    pub fn pass_first(&mut self) {
        if !self.gaps.is_empty() {
            self.gaps.remove(0);
        }
        if self.gaps.is_empty() {
            self.next_due = Nanos::MAX;
        }
    }

    /// Gives all gaps up.
    pub fn pass_all(&mut self) {
        self.gaps.clear();
        self.next_due = Nanos::MAX;
    }

    /// The next gap that is due, from place `from` on, and its place.
    pub fn due_from(&self, from: usize, now: Nanos) -> Option<usize> {
        let later = self.gaps.get(from..)?;
        later.iter().position(|gap| gap.due <= now).map(|at| from + at)
    }

    /// The gap at a place, to be put off.
    pub fn get_mut(&mut self, at: usize) -> Option<&mut Gap> {
        self.gaps.get_mut(at)
    }

    /// After gaps were put off: finds the earliest one.
    pub fn settle(&mut self) {
        self.next_due = self.gaps.iter().map(|gap| gap.due).min().unwrap_or(Nanos::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    fn ranges(gaps: &Gaps) -> Vec<(i64, i64)> {
        gaps.gaps.iter().map(|gap| (gap.start, gap.end)).collect()
    }

    #[test]
    fn a_gap_is_filled_from_either_end_and_split_in_the_middle() {
        let mut gaps = Gaps::new(4, 0);
        assert!(gaps.extend(100, 110, Nanos(1), Nanos(2)));
        assert_eq!((gaps.contiguous(), gaps.high()), (0, 110));
        assert!(gaps.fill(0, 10) && gaps.fill(90, 100) && gaps.fill(40, 50));
        assert_eq!(ranges(&gaps), [(10, 40), (50, 90)]);
        assert_eq!(gaps.look(20, 30), Filled::Inside(*gaps.first().unwrap()));
        assert_eq!(gaps.look(30, 60), Filled::Nothing);
        assert_eq!(gaps.look(110, 120), Filled::Fresh);
        assert!(gaps.fill(10, 40) && gaps.fill(50, 90));
        assert_eq!((gaps.contiguous(), gaps.next_due()), (110, Nanos::MAX));
    }

    #[test]
    fn the_number_of_gaps_is_bounded_and_a_refused_one_changes_nothing() {
        let mut gaps = Gaps::new(2, 0);
        for start in [10, 30] {
            assert!(gaps.extend(start, start + 10, Nanos(0), Nanos(0)));
        }
        assert!(!gaps.extend(50, 60, Nanos(0), Nanos(0)));
        assert_eq!((gaps.high(), gaps.gaps.len()), (40, 2));
        assert!(gaps.extend(40, 60, Nanos(0), Nanos(0)), "what follows at once needs no gap");
    }

    proptest! {
        #[test]
        fn gaps_are_what_a_set_of_blocks_says_is_missing(
            runs in proptest::collection::vec((0i64..64, 1i64..6), 1..120)
        ) {
            let mut gaps = Gaps::new(64, 0);
            let (mut there, mut high) = (BTreeSet::new(), 0);
            for (start, length) in runs {
                let end = start + length;
                match gaps.look(start, end) {
                    Filled::Fresh => prop_assert!(gaps.extend(start, end, Nanos(0), Nanos(0))),
                    Filled::Inside(_) => prop_assert!(gaps.fill(start, end)),
                    Filled::Nothing => {
                        let is_partly_there = (start..end).any(|block| there.contains(&block));
                        prop_assert!(is_partly_there || end > high);
                        continue;
                    }
                }
                there.extend(start..end);
                high = high.max(end);
                prop_assert_eq!(gaps.high(), high);
                let missing: i64 = ranges(&gaps).iter().map(|(start, end)| end - start).sum();
                prop_assert_eq!(missing, high - there.len() as i64);
                prop_assert!((0..gaps.contiguous()).all(|block| there.contains(&block)));
            }
        }
    }
}
