//! The two sides of a book.

use core::fmt;

/// The side of an order or of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Side {
    /// Bids: the best price is the highest.
    Buy = 0,
    /// Offers: the best price is the lowest.
    Sell = 1,
}

impl Side {
    /// Both sides, in index order.
    pub const BOTH: [Self; 2] = [Self::Buy, Self::Sell];

    /// 0 for buy, 1 for sell: the index into per-side arrays.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The side that an order of this side trades against.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Buy => Self::Sell,
            Self::Sell => Self::Buy,
        }
    }

    /// +1 for buy, -1 for sell: what a fill does to a position.
    #[must_use]
    pub const fn sign(self) -> i64 {
        match self {
            Self::Buy => 1,
            Self::Sell => -1,
        }
    }

    /// The side with this index, if it is one.
    #[must_use]
    pub const fn from_index(index: u8) -> Option<Self> {
        match index {
            0 => Some(Self::Buy),
            1 => Some(Self::Sell),
            _ => None,
        }
    }
}

/// `buy` or `sell`.
impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Buy => "buy",
            Self::Sell => "sell",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Side;
    use std::format;

    #[test]
    fn a_side_is_printed_as_a_word_that_can_be_padded() {
        assert_eq!(
            format!("{} {:>5}|{:<5}|", Side::Buy, Side::Sell, Side::Buy),
            "buy  sell|buy  |"
        );
    }

    #[test]
    fn opposite_is_an_involution_and_the_index_round_trips() {
        for side in Side::BOTH {
            assert_eq!(side.opposite().opposite(), side);
            assert_eq!(Side::from_index(side as u8), Some(side));
            assert_eq!(side.sign() + side.opposite().sign(), 0);
        }
        assert_eq!(Side::from_index(2), None);
    }
}
