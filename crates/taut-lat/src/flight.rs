//! What a flight recorder keeps of an order: its whole way.

use taut_types::{ClientOrderId, InstrumentId, Nanos};

use crate::stage::{STAGE_COUNT, Stage};
use crate::stamps::{StageClock, StageOffsets};

/// Words of a record: the payload of a ring whose messages are one cache line each.
pub const FLIGHT_WORDS: usize = 7;

/// An order with all its stamps.
///
/// A gateway writes one for each order that it measures, into a ring that is overwritten: the last
/// seconds are there to read for whoever wants to know why an order took long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightRecord {
    /// The order.
    pub order: ClientOrderId,
    /// What it trades.
    pub instrument: InstrumentId,
    /// When its packet was received, and where its stages ended.
    pub stamps: StageClock,
}

impl FlightRecord {
    /// The words of a slot: the order, its origin, then nine ends and the instrument in pairs, the
    /// first of a pair below.
    #[must_use]
    #[inline]
    pub const fn to_words(&self) -> [u64; FLIGHT_WORDS] {
        let [a, b, c, d, e, f, g, h, i] = self.stamps.offsets.ends();
        [
            self.order.0,
            self.stamps.origin.0.cast_unsigned(),
            pair(a, b),
            pair(c, d),
            pair(e, f),
            pair(g, h),
            pair(i, self.instrument.0),
        ]
    }

    /// A record of any words.
    #[must_use]
    pub const fn from_words(words: [u64; FLIGHT_WORDS]) -> Self {
        let [order, origin, ab, cd, ef, gh, i] = words;
        let ([a, b], [c, d], [e, f], [g, h]) = (halves(ab), halves(cd), halves(ef), halves(gh));
        let [i, instrument] = halves(i);
        let ends: [u32; STAGE_COUNT] = [a, b, c, d, e, f, g, h, i];
        let offsets = StageOffsets::from_ends(ends);
        Self {
            order: ClientOrderId(order),
            instrument: InstrumentId(instrument),
            stamps: StageClock { origin: Nanos(origin.cast_signed()), offsets },
        }
    }

    /// When a stage ended, on the clock of the stamps.
    #[must_use]
    pub fn end(&self, stage: Stage) -> Nanos {
        self.stamps.origin + Nanos(self.stamps.offsets.end(stage).cast_signed())
    }

    /// When the send call returned.
    #[must_use]
    pub fn sent(&self) -> Nanos {
        self.end(Stage::Send)
    }
}

const fn pair(low: u32, high: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

const fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_record_is_its_words(words in prop::array::uniform7(any::<u64>())) {
            prop_assert_eq!(FlightRecord::from_words(words).to_words(), words);
        }
    }

    #[test]
    fn ends_are_times_of_the_clock() {
        let mut stamps = StageClock::new(Nanos(1_000));
        for (stage, at) in Stage::ALL.into_iter().zip(1_i64..) {
            stamps.mark(stage, Nanos(1_000 + 10 * at));
        }
        let record = FlightRecord { order: ClientOrderId(7), instrument: InstrumentId(3), stamps };
        assert_eq!(record.end(Stage::Decode), Nanos(1_010));
        assert_eq!(record.sent(), Nanos(1_090));
        assert_eq!(FlightRecord::from_words(record.to_words()), record);
    }
}
