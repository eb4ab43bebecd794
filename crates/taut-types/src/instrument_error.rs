//! Why something is none of an instrument's.

use core::fmt;

/// Why a price or a quantity is not one of this instrument's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstrumentError {
    /// The price is not a whole number of half ticks.
    OffTick,
    /// The quantity is not a whole number of lots.
    OffLot,
    /// The value does not fit 64 bits.
    OutOfRange,
    /// The tick is not positive and even at 1e-9, or the lot is not positive.
    BadIncrement,
    /// A price from which on another tick holds is not where it can be: see
    /// [`TickTable::with_steps`](crate::TickTable::with_steps).
    BadSteps,
    /// The multiplier or the smallest quantity is not positive, or the smallest worth is below 0.
    BadTerms,
}

impl fmt::Display for InstrumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OffTick => "the price is no whole number of half ticks",
            Self::OffLot => "the quantity is no whole number of lots",
            Self::OutOfRange => "the value does not fit 64 bits",
            Self::BadIncrement => "the tick must be positive and even at 1e-9, the lot positive",
            Self::BadSteps => {
                "at most 7 steps in the order of their prices, each at a whole number of its tick \
                 and of the one before, by a whole number of the smallest"
            }
            Self::BadTerms => {
                "the multiplier and the smallest quantity must be above 0, the smallest worth not \
                 below"
            }
        })
    }
}

impl core::error::Error for InstrumentError {}
