//! The gaps of a CPU, counted by length and by cause.

use std::fmt;

use serde::Serialize;
use taut_lat::{Recorder, Snapshot, View, new_words};
use taut_sync::atomic::AtomicU64;
use taut_types::Nanos;

/// The shortest gap that counts. A look at the clock takes 10 to 50 ns.
pub const GAP_MIN: Nanos = Nanos::from_micros(1);
/// From here on the kernel is asked for the cause of a gap.
pub const CAUSE_MIN: Nanos = Nanos::from_micros(10);

/// The lengths that gaps are counted above.
pub const ABOVE: [Nanos; 5] = [
    Nanos::from_micros(1),
    Nanos::from_micros(10),
    Nanos::from_micros(100),
    Nanos::from_millis(1),
    Nanos::from_millis(10),
];

/// So many of the longest gaps are kept one by one.
pub const WORST_MAX: usize = 10;

/// Why a thread did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Another task had the CPU.
    Descheduled,
    /// A page was not there.
    PageFault,
    /// The kernel counted neither: an interrupt, the hypervisor, or the firmware.
    Unknown,
    /// Too short to ask for the cause.
    Short,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Descheduled, Self::PageFault, Self::Unknown, Self::Short];

    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Descheduled => "another task ran",
            Self::PageFault => "page fault",
            Self::Unknown => "interrupt, hypervisor or firmware",
            Self::Short => "below 10 µs",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// A gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When it began, from the start of the run.
    pub at: Nanos,
    /// How long it was.
    pub length: Nanos,
    /// Why.
    pub cause: Cause,
}

/// The gaps of a CPU.
#[derive(Clone, PartialEq, Eq)]
pub struct Gaps {
    histogram: Snapshot,
    above: [u64; ABOVE.len()],
    causes: [(u64, Nanos); Cause::ALL.len()],
    worst: Vec<Gap>,
}

impl Gaps {
    /// All lengths, in nanoseconds.
    #[must_use]
    pub const fn histogram(&self) -> &Snapshot {
        &self.histogram
    }

    /// How many are as long as each length of [`ABOVE`], or longer.
    #[must_use]
    pub const fn above(&self) -> [u64; ABOVE.len()] {
        self.above
    }

    /// How many have this cause, and how long they are together.
    #[must_use]
    pub fn by_cause(&self, cause: Cause) -> (u64, Nanos) {
        self.causes.get(cause.index()).copied().unwrap_or_default()
    }

    /// The longest ones, the longest first.
    #[must_use]
    pub fn worst(&self) -> &[Gap] {
        &self.worst
    }
}

impl fmt::Debug for Gaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gaps").field("histogram", &self.histogram).finish_non_exhaustive()
    }
}

/// Counts gaps. Allocates when it is made, and never again.
pub struct Counting {
    words: Box<[AtomicU64]>,
    above: [u64; ABOVE.len()],
    causes: [(u64, Nanos); Cause::ALL.len()],
    worst: Vec<Gap>,
}

impl Counting {
    pub fn new() -> Self {
        Self {
            words: new_words(),
            above: Default::default(),
            causes: Default::default(),
            worst: Vec::with_capacity(WORST_MAX + 1),
        }
    }

    pub fn note(&mut self, gap: Gap) {
        if let Some(mut recorder) = Recorder::new(&self.words) {
            recorder.record(gap.length.0.unsigned_abs());
        }
        for (count, _) in self.above.iter_mut().zip(ABOVE).filter(|(_, from)| gap.length >= *from) {
            *count += 1;
        }
        if let Some((count, sum)) = self.causes.get_mut(gap.cause.index()) {
            *count += 1;
            *sum = *sum + gap.length;
        }
        let place = self.worst.partition_point(|other| other.length >= gap.length);
        if place < WORST_MAX {
            self.worst.insert(place, gap);
            self.worst.truncate(WORST_MAX);
        }
    }

    pub fn finish(self) -> Gaps {
        let Self { words, above, causes, worst } = self;
        let histogram = View::new(&words).map(|view| Snapshot::of(&view)).unwrap_or_default();
        Gaps { histogram, above, causes, worst }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_add_up_by_length_and_by_cause() {
        let mut counting = Counting::new();
        let lengths = [1_000, 9_999, 10_000, 150_000, 2_000_000, 30_000_000, 5_000, 70_000];
        for (at, (length, cause)) in (0..).zip(lengths.iter().zip(Cause::ALL.iter().cycle())) {
            counting.note(Gap { at: Nanos(at), length: Nanos(*length), cause: *cause });
        }
        for at in 100..200 {
            counting.note(Gap { at: Nanos(at), length: Nanos(1_500), cause: Cause::Short });
        }
        let gaps = counting.finish();
        assert_eq!(gaps.above(), [108, 5, 3, 2, 1]);
        let all = gaps.histogram().summary();
        let (count, sum) = Cause::ALL
            .iter()
            .map(|cause| gaps.by_cause(*cause))
            .fold((0, Nanos::ZERO), |(count, sum), (more, longer)| (count + more, sum + longer));
        assert_eq!((count, sum.0.unsigned_abs()), (all.count, all.sum));
        assert_eq!((all.min, all.max), (1_000, 30_000_000));
        let worst: Vec<i64> = gaps.worst().iter().map(|gap| gap.length.0).collect();
        assert_eq!(worst.len(), WORST_MAX);
        assert_eq!(worst.first(), Some(&30_000_000));
        assert!(worst.is_sorted_by(|one, other| one >= other), "{worst:?}");
    }
}
