//! What an order asks for.

/// How an order names its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum OrderType {
    /// At its price or better.
    Limit = 0,
    /// At any price.
    Market = 1,
}

impl OrderType {
    /// The type with this index, if it is one.
    #[must_use]
    pub const fn from_index(index: u8) -> Option<Self> {
        match index {
            0 => Some(Self::Limit),
            1 => Some(Self::Market),
            _ => None,
        }
    }
}

/// How long an order lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TimeInForce {
    /// Until it is cancelled.
    GoodTillCancel = 0,
    /// What does not trade at once is cancelled.
    ImmediateOrCancel = 1,
    /// All of it trades at once, or nothing does.
    FillOrKill = 2,
    /// Until the session ends.
    Day = 3,
}

impl TimeInForce {
    /// The time in force with this index, if it is one.
    #[must_use]
    pub const fn from_index(index: u8) -> Option<Self> {
        match index {
            0 => Some(Self::GoodTillCancel),
            1 => Some(Self::ImmediateOrCancel),
            2 => Some(Self::FillOrKill),
            3 => Some(Self::Day),
            _ => None,
        }
    }
}
