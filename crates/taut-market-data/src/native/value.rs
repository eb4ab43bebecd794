//! The types of taut and what stands for them in the generated codec.

use taut_types::{InstrumentId, Lots, Price, SequenceNumber, Side};

use crate::event::{ReduceReason, TradingStatus};
use crate::native::codec;

/// A value of a field.
pub(crate) trait Value<Raw>: Sized {
    /// The value, or nothing when the raw one does not name one.
    fn of(raw: Raw) -> Option<Self>;
    /// What is encoded.
    fn raw(self) -> Raw;
}

macro_rules! plain {
    ($($int:ty),*) => {$(
        impl Value<Self> for $int {
            #[inline]
            fn of(raw: Self) -> Option<Self> {
                Some(raw)
            }
            #[inline]
            fn raw(self) -> Self {
                self
            }
        }
    )*};
}

macro_rules! wrapped {
    ($($outer:ident($inner:ty)),*) => {$(
        impl Value<$inner> for $outer {
            #[inline]
            fn of(raw: $inner) -> Option<Self> {
                Some(Self(raw))
            }
            #[inline]
            fn raw(self) -> $inner {
                self.0
            }
        }
    )*};
}

plain!(u32);
wrapped!(SequenceNumber(u64), InstrumentId(u32), Lots(i64));

impl Value<codec::Price> for Price {
    #[inline]
    fn of(raw: codec::Price) -> Option<Self> {
        Some(Self(raw.mantissa))
    }
    #[inline]
    fn raw(self) -> codec::Price {
        codec::Price { mantissa: self.0 }
    }
}

impl Value<codec::Side> for Side {
    #[inline]
    fn of(raw: codec::Side) -> Option<Self> {
        match raw {
            codec::Side::Buy => Some(Self::Buy),
            codec::Side::Sell => Some(Self::Sell),
            codec::Side::Unknown(_) => None,
        }
    }
    #[inline]
    fn raw(self) -> codec::Side {
        match self {
            Self::Buy => codec::Side::Buy,
            Self::Sell => codec::Side::Sell,
        }
    }
}

impl Value<codec::ReduceReason> for ReduceReason {
    #[inline]
    fn of(raw: codec::ReduceReason) -> Option<Self> {
        match raw {
            codec::ReduceReason::Execution => Some(Self::Execution),
            codec::ReduceReason::Cancel => Some(Self::Cancel),
            codec::ReduceReason::Unknown(_) => None,
        }
    }
    #[inline]
    fn raw(self) -> codec::ReduceReason {
        match self {
            Self::Execution => codec::ReduceReason::Execution,
            Self::Cancel => codec::ReduceReason::Cancel,
        }
    }
}

impl Value<codec::TradingStatus> for TradingStatus {
    /// A status that a newer version names is one that this one has no place for.
    fn of(raw: codec::TradingStatus) -> Option<Self> {
        Some(match raw {
            codec::TradingStatus::PreOpen => Self::PreOpen,
            codec::TradingStatus::Trading => Self::Trading,
            codec::TradingStatus::Halted => Self::Halted,
            codec::TradingStatus::Closed => Self::Closed,
            codec::TradingStatus::Unknown(_) => Self::Other,
        })
    }
    fn raw(self) -> codec::TradingStatus {
        match self {
            Self::PreOpen => codec::TradingStatus::PreOpen,
            Self::Trading => codec::TradingStatus::Trading,
            Self::Halted | Self::Other => codec::TradingStatus::Halted,
            Self::Closed => codec::TradingStatus::Closed,
        }
    }
}
