//! Where the stages of one order end, and the intervals between.

use taut_types::Nanos;

use crate::stage::{STAGE_COUNT, Stage};

/// The end of each stage of one order, in nanoseconds after the origin of its path.
///
/// 36 bytes, so that it travels inside messages. Setting an end is one store; the truth is kept
/// when it is read: an end before that of an earlier stage (the stage was skipped, or two
/// processors' clocks disagree by some nanoseconds) counts as equal to it. So the intervals are
/// never negative, and add up to [`total`](Self::total) exactly. Offsets saturate at `u32::MAX` ns
/// (4.29 s).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageOffsets {
    ends: [u32; STAGE_COUNT],
}

impl StageOffsets {
    /// No stage has happened: all intervals are 0.
    pub const ZERO: Self = Self { ends: [0; STAGE_COUNT] };

    /// Offsets from the words of a message, in the order of [`Stage::ALL`]. Any words will do.
    #[must_use]
    pub const fn from_ends(ends: [u32; STAGE_COUNT]) -> Self {
        Self { ends }
    }

    /// The words for a message, as they were set.
    #[must_use]
    pub const fn ends(&self) -> [u32; STAGE_COUNT] {
        self.ends
    }

    /// Says that `stage` ended `offset_ns` after the origin.
    #[inline]
    pub const fn set_end(&mut self, stage: Stage, offset_ns: u64) {
        let saturated = if offset_ns > u32::MAX as u64 { u32::MAX } else { offset_ns as u32 };
        self.ends[stage.index()] = saturated;
    }

    /// How long each stage took, ns. Their sum is [`total`](Self::total).
    #[must_use]
    pub fn intervals(&self) -> [u64; STAGE_COUNT] {
        let mut previous_end = 0;
        self.ends.map(|end| {
            let end = end.max(previous_end);
            let interval = end - previous_end;
            previous_end = end;
            u64::from(interval)
        })
    }

    /// From the origin to the end of `stage`, ns: the sum of the intervals up to and with it.
    #[must_use]
    pub fn end(&self, stage: Stage) -> u64 {
        let ends = self.ends.iter().take(stage.index() + 1);
        u64::from(ends.copied().max().unwrap_or(0))
    }

    /// From the origin to the end of the last stage, ns: the tick-to-trade time.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.end(Stage::Send)
    }
}

/// [`StageOffsets`] with the point that they start from.
///
/// All times are on one clock, which every process on the path reads the same (`CLOCK_MONOTONIC`,
/// or ticks mapped to it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageClock {
    /// When the path began: the return of the receive call.
    pub origin: Nanos,
    /// Where the stages that are over ended.
    pub offsets: StageOffsets,
}

impl StageClock {
    /// A path that begins at `origin`.
    #[must_use]
    pub const fn new(origin: Nanos) -> Self {
        Self { origin, offsets: StageOffsets::ZERO }
    }

    /// Says that `stage` ended at `now`; a time before the origin counts as the origin.
    #[inline]
    pub const fn mark(&mut self, stage: Stage, now: Nanos) {
        self.offsets.set_end(stage, now.since(self.origin).0 as u64);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn intervals_add_up_to_the_total(
            origin in any::<i64>(),
            marks in prop::collection::vec((0..STAGE_COUNT, any::<i64>()), 0..20),
            near in prop::collection::vec((0..STAGE_COUNT, 0i64..10_000), 0..20),
        ) {
            let mut clock = StageClock::new(Nanos(origin));
            let near = near.into_iter().map(|(index, ns)| (index, origin.saturating_add(ns)));
            for (index, now) in marks.into_iter().chain(near) {
                clock.mark(Stage::ALL[index], Nanos(now));
                let offsets = clock.offsets;
                let sum: u64 = offsets.intervals().iter().sum();
                prop_assert_eq!(sum, offsets.total());
                prop_assert_eq!(StageOffsets::from_ends(offsets.ends()), offsets);
            }
        }

        #[test]
        fn ordered_marks_are_kept_exactly(steps in prop::array::uniform9(0u64..400_000_000)) {
            let mut offsets = StageOffsets::ZERO;
            let mut end = 0;
            for (stage, step) in Stage::ALL.into_iter().zip(steps) {
                end += step;
                offsets.set_end(stage, end);
                prop_assert_eq!(offsets.end(stage), end);
            }
            prop_assert_eq!(offsets.intervals(), steps);
            prop_assert_eq!(offsets.total(), end);
        }
    }

    #[test]
    fn a_stage_that_a_mode_does_not_have_takes_no_time() {
        let mut clock = StageClock::new(Nanos(1_000));
        clock.mark(Stage::Decode, Nanos(1_100));
        clock.mark(Stage::Book, Nanos(1_150));
        clock.mark(Stage::Strategy, Nanos(1_400));
        clock.mark(Stage::Risk, Nanos(1_390)); // behind: another processor's clock
        clock.mark(Stage::Send, Nanos(5_000));
        assert_eq!(clock.offsets.intervals(), [100, 50, 0, 0, 250, 0, 0, 0, 3_600]);
        assert_eq!(clock.offsets.total(), 4_000);
    }

    #[test]
    fn saturates_after_four_seconds_and_still_adds_up() {
        let mut clock = StageClock::new(Nanos::ZERO);
        clock.mark(Stage::Book, Nanos::from_secs(4));
        clock.mark(Stage::Strategy, Nanos::from_secs(60));
        clock.mark(Stage::Send, Nanos::MAX);
        assert_eq!(clock.offsets.total(), u64::from(u32::MAX));
        assert_eq!(clock.offsets.intervals().iter().sum::<u64>(), clock.offsets.total());
    }
}
