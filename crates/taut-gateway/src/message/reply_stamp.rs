//! When a reply was received and published, and where it belongs: two words of its slots.

use taut_types::Nanos;

/// Bits of a position of the market ring: four years of a million events a second.
const POSITION_BITS: u32 = 47;
/// Bits of a monotonic time in ns: the host has run for less than four years and a half.
const TIME_BITS: u32 = 57;
/// Bits of the time from receiving to publishing in ns: 16.7 ms.
const DELAY_BITS: u32 = 128 - POSITION_BITS - TIME_BITS;
/// It took longer than can be said.
const UNKNOWN: u64 = mask(DELAY_BITS);

/// What goes with every reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplyStamp {
    /// The position of the market ring that the reply goes before.
    pub(crate) position: u64,
    /// When the gateway received or noticed what it tells.
    pub(crate) at: Nanos,
    /// When the gateway wrote the reply; 0 where that is not known.
    pub(crate) published: Nanos,
}

impl ReplyStamp {
    pub(super) fn to_words(self) -> [u64; 2] {
        let delay = match self.published {
            Nanos::ZERO => UNKNOWN,
            published => u64::try_from(published.since(self.at).0).unwrap_or(0).min(UNKNOWN),
        };
        let at = self.at.0.cast_unsigned() & mask(TIME_BITS);
        let packed = u128::from(self.position & mask(POSITION_BITS))
            | u128::from(at) << POSITION_BITS
            | u128::from(delay) << (POSITION_BITS + TIME_BITS);
        [packed as u64, (packed >> 64) as u64]
    }

    pub(super) fn from_words([low, high]: [u64; 2]) -> Self {
        let packed = u128::from(low) | u128::from(high) << 64;
        let at = Nanos(((packed >> POSITION_BITS) as u64 & mask(TIME_BITS)).cast_signed());
        let published = match (packed >> (POSITION_BITS + TIME_BITS)) as u64 {
            UNKNOWN => Nanos::ZERO,
            delay => at + Nanos(delay.cast_signed()),
        };
        Self { position: packed as u64 & mask(POSITION_BITS), at, published }
    }
}

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_itself_again_and_a_longer_delay_is_not_known() {
        let at = Nanos(mask(TIME_BITS).cast_signed() / 2);
        for position in [0, 1, mask(POSITION_BITS)] {
            for delay in [0, 1, UNKNOWN - 1] {
                let stamp = ReplyStamp { position, at, published: at + Nanos(delay.cast_signed()) };
                assert_eq!(ReplyStamp::from_words(stamp.to_words()), stamp);
            }
            let unknown = ReplyStamp { position, at, published: Nanos::ZERO };
            let late = ReplyStamp { published: at + Nanos::from_millis(17), ..unknown };
            assert_eq!(ReplyStamp::from_words(late.to_words()), unknown);
            assert_eq!(ReplyStamp::from_words(unknown.to_words()), unknown);
        }
    }
}
