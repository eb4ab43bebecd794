//! The histograms of a whole path: its stages, and the path from end to end.

use core::fmt;

use taut_sync::atomic::AtomicU64;

use crate::recorder::{HISTOGRAM_WORDS, Recorder};
use crate::snapshot::Snapshot;
use crate::stage::{STAGE_COUNT, Stage};
use crate::stamps::StageOffsets;
use crate::view::View;

/// The words of a path: a histogram per stage, tick-to-send and tick-to-trade. 654 KB.
pub const PATH_WORDS: usize = HISTOGRAMS * HISTOGRAM_WORDS;

const HISTOGRAMS: usize = STAGE_COUNT + 2;
const TICK_TO_SEND: usize = STAGE_COUNT;
const TICK_TO_TRADE: usize = STAGE_COUNT + 1;

/// Records the path of each order into one histogram per stage and two for the whole.
///
/// One writer, any number of readers, as for a [`Recorder`]; zeroed words are an empty path.
/// Because the intervals of an order add up to its tick-to-trade time and each histogram carries an
/// exact sum, the sums of the stages add up to the sum of tick-to-trade.
pub struct PathRecorder<'a> {
    histograms: [Recorder<'a>; HISTOGRAMS],
}

impl<'a> PathRecorder<'a> {
    /// A recorder over the first [`PATH_WORDS`] of `words`; `None` if there are fewer.
    #[must_use]
    pub fn new(words: &'a [AtomicU64]) -> Option<Self> {
        Some(Self { histograms: split(words)?.map(Recorder::over) })
    }

    /// Records one order, in about 30 ns: after its send call, off the path that it measures.
    pub fn record(&mut self, offsets: &StageOffsets) {
        let (stages, whole) = self.histograms.split_at_mut(STAGE_COUNT);
        for (histogram, interval) in stages.iter_mut().zip(offsets.intervals()) {
            histogram.record(interval);
        }
        let ends = [offsets.end(Stage::Encode), offsets.total()];
        for (histogram, end) in whole.iter_mut().zip(ends) {
            histogram.record(end);
        }
    }
}

impl fmt::Debug for PathRecorder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PathRecorder").field(&self.histograms[TICK_TO_TRADE]).finish()
    }
}

/// Reads the histograms of a path, also while they are written.
#[derive(Clone, Copy)]
pub struct PathView<'a> {
    histograms: [View<'a>; HISTOGRAMS],
}

impl<'a> PathView<'a> {
    /// A view of the first [`PATH_WORDS`] of `words`; `None` if there are fewer.
    #[must_use]
    pub fn new(words: &'a [AtomicU64]) -> Option<Self> {
        Some(Self { histograms: split(words)?.map(View::over) })
    }

    /// The intervals of one stage.
    #[must_use]
    pub const fn stage(&self, stage: Stage) -> View<'a> {
        self.histograms[stage.index()]
    }

    /// From the receive call's return to the send call: tick-to-trade less the send stage.
    #[must_use]
    pub const fn tick_to_send(&self) -> View<'a> {
        self.histograms[TICK_TO_SEND]
    }

    /// From the receive call's return to the send call's return.
    #[must_use]
    pub const fn tick_to_trade(&self) -> View<'a> {
        self.histograms[TICK_TO_TRADE]
    }
}

impl fmt::Debug for PathView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PathView").field(&self.tick_to_trade()).finish()
    }
}

/// Copies of all histograms of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathSnapshot {
    /// One per stage, in the order of [`Stage::ALL`].
    pub stages: [Snapshot; STAGE_COUNT],
    /// Tick-to-trade less the send stage.
    pub tick_to_send: Snapshot,
    /// The whole path.
    pub tick_to_trade: Snapshot,
}

impl PathSnapshot {
    /// A new snapshot of what `view` shows.
    #[must_use]
    pub fn of(view: &PathView<'_>) -> Self {
        Self {
            stages: Stage::ALL.map(|stage| Snapshot::of(&view.stage(stage))),
            tick_to_send: Snapshot::of(&view.tick_to_send()),
            tick_to_trade: Snapshot::of(&view.tick_to_trade()),
        }
    }
}

/// The words of each histogram of a path.
fn split(words: &[AtomicU64]) -> Option<[&[AtomicU64; HISTOGRAM_WORDS]; HISTOGRAMS]> {
    let (histograms, _) = words.as_chunks::<HISTOGRAM_WORDS>();
    Some(histograms.first_chunk::<HISTOGRAMS>()?.each_ref())
}

#[cfg(test)]
mod tests {
    use std::boxed::Box;

    use proptest::prelude::*;

    use super::*;

    fn new_path() -> Box<[AtomicU64]> {
        (0..PATH_WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn refuses_too_few_words() {
        let words = new_path();
        assert!(PathRecorder::new(&words[1..]).is_none());
        assert!(PathView::new(&words[1..]).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn the_sums_of_the_stages_add_up_to_tick_to_trade(
            orders in prop::collection::vec(prop::array::uniform9(any::<u32>()), 1..50),
        ) {
            let words = new_path();
            let mut recorder = PathRecorder::new(&words).unwrap();
            orders.iter().for_each(|&ends| recorder.record(&StageOffsets::from_ends(ends)));
            let PathSnapshot { stages, tick_to_send, tick_to_trade } =
                PathSnapshot::of(&PathView::new(&words).unwrap());
            let sum: u64 = stages.iter().map(Snapshot::sum).sum();
            prop_assert_eq!(sum, tick_to_trade.sum());
            prop_assert_eq!(sum - stages[Stage::Send.index()].sum(), tick_to_send.sum());
            let orders = orders.len() as u64;
            prop_assert!(stages.iter().all(|stage| stage.count() == orders));
            prop_assert_eq!((tick_to_send.count(), tick_to_trade.count()), (orders, orders));
        }
    }
}
