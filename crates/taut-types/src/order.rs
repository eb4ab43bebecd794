//! What an order asks for.

use core::ops::BitOr;

use crate::ids::{AccountId, InstrumentId};
use crate::price::{Lots, Price};
use crate::side::Side;

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

/// What an order must not do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OrderFlags(u8);

impl OrderFlags {
    /// Nothing of the kind.
    pub const NONE: Self = Self(0);
    /// It must not trade when it arrives: it rests or is refused.
    pub const POST_ONLY: Self = Self(1);
    /// It must not make the position larger.
    pub const REDUCE_ONLY: Self = Self(2);

    /// The flags with these bits, if all of them are known.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Option<Self> {
        if bits <= 3 { Some(Self(bits)) } else { None }
    }

    /// The flags as bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether all of these are set.
    #[must_use]
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

impl BitOr for OrderFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// An order, as a strategy asks for it: the instrument and the account by the gateway's numbers,
/// quantities in lots of the instrument. Start from [`OrderTerms::limit`] or
/// [`OrderTerms::market`], and change what differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrderTerms {
    /// What is traded.
    pub instrument: InstrumentId,
    /// For which account.
    pub account: AccountId,
    /// Buy or sell.
    pub side: Side,
    /// Limit or market; with a [`stop_price`](Self::stop_price), what it becomes when the market
    /// has come there.
    pub order_type: OrderType,
    /// How long it lives.
    pub time_in_force: TimeInForce,
    /// What it must not do.
    pub flags: OrderFlags,
    /// The limit price; not looked at for a market order.
    pub price: Price,
    /// It waits until the market trades at this price or beyond; without one it does not wait.
    pub stop_price: Option<Price>,
    /// How much.
    pub lots: Lots,
    /// How much of it the book shows at a time (an iceberg); 0 shows all.
    pub lots_shown: Lots,
}

impl OrderTerms {
    /// A limit order that rests until it is cancelled, for account 0.
    #[must_use]
    pub const fn limit(instrument: InstrumentId, side: Side, price: Price, lots: Lots) -> Self {
        Self {
            instrument,
            account: AccountId(0),
            side,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::GoodTillCancel,
            flags: OrderFlags::NONE,
            price,
            stop_price: None,
            lots,
            lots_shown: Lots::ZERO,
        }
    }

    /// A market order: it trades at once, and what does not is cancelled. For account 0.
    #[must_use]
    pub const fn market(instrument: InstrumentId, side: Side, lots: Lots) -> Self {
        let order_type = OrderType::Market;
        let time_in_force = TimeInForce::ImmediateOrCancel;
        Self { order_type, time_in_force, ..Self::limit(instrument, side, Price(0), lots) }
    }
}
