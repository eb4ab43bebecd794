//! What an order may ask for beyond side, price, quantity and time in force.
//!
//! The terms combine: a stop-limit iceberg is a limit order with a trigger and a display. An order
//! without terms pays one comparison for all of them.

use taut_types::{HalfTicks, Lots, Nanos};

/// When a waiting order becomes active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Trigger {
    /// At once.
    #[default]
    None = 0,
    /// A stop: a buy when a trade is at or above the trigger price, a sell at or below it.
    Stop = 1,
    /// A take-profit: a buy at or below the trigger price, a sell at or above it.
    TakeProfit = 2,
    /// A stop whose trigger price follows the market at a distance, towards the market only.
    Trailing = 3,
}

/// What the price of an order is tied to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Peg {
    /// Nothing: it has its own.
    #[default]
    None = 0,
    /// The best displayed price of its own side.
    Primary = 1,
    /// The best displayed price of the other side.
    Market = 2,
    /// The middle between the two.
    Midpoint = 3,
}

/// What becomes of a post-only order that would trade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PostOnly {
    /// It trades: it is no post-only order.
    #[default]
    No = 0,
    /// It is refused.
    Reject = 1,
    /// It rests at the nearest price at which it does not trade.
    Slide = 2,
}

/// The auction for which an order is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AuctionOnly {
    /// Any trading.
    #[default]
    No = 0,
    /// The opening auction (FIX `TimeInForce` 2).
    Open = 1,
    /// The closing auction (FIX `TimeInForce` 7).
    Close = 2,
}

/// What happens when two orders of one account, or of one group, meet. The newer order's mode
/// rules, as at Binance; names and effects are those of its six modes and of CME's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SelfTrade {
    /// What the engine's rules say; in the rules, the same as `Allow`.
    #[default]
    Default = 0,
    /// They trade.
    Allow = 1,
    /// What is left of the newer order is cancelled.
    CancelNewest = 2,
    /// The older order is cancelled and the newer one goes on.
    CancelOldest = 3,
    /// Both are cancelled.
    CancelBoth = 4,
    /// Both become smaller by the smaller quantity, without a trade.
    Decrement = 5,
    /// As `Decrement`; between two accounts of a group the quantity is reported as a transfer.
    Transfer = 6,
}

/// A set of features, for checks of many at once.
pub(crate) type Features = u32;

pub(crate) mod feature {
    use super::Features;
    pub(crate) const STOP: Features = 1;
    pub(crate) const TRAILING: Features = 1 << 1;
    pub(crate) const PEG: Features = 1 << 2;
    pub(crate) const POST: Features = 1 << 3;
    pub(crate) const ICEBERG: Features = 1 << 4;
    pub(crate) const HIDDEN: Features = 1 << 5;
    pub(crate) const MINIMUM: Features = 1 << 6;
    pub(crate) const ALL_OR_NONE: Features = 1 << 7;
    pub(crate) const PROTECTION: Features = 1 << 8;
    pub(crate) const EXPIRY: Features = 1 << 9;
    pub(crate) const AUCTION: Features = 1 << 10;
    pub(crate) const SELF_TRADE: Features = 1 << 11;
    pub(crate) const GROUP: Features = 1 << 12;
    pub(crate) const SESSION: Features = 1 << 13;
    // These are no terms; they stand for the order's type and time in force in checks.
    pub(crate) const LIMIT: Features = 1 << 16;
    pub(crate) const MARKET: Features = 1 << 17;
    pub(crate) const IMMEDIATE: Features = 1 << 18;
    pub(crate) const FILL_OR_KILL: Features = 1 << 19;
    pub(crate) const DAY: Features = 1 << 20;
}

/// The terms of an order; set them with the methods of [`NewOrder`](crate::NewOrder).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    pub(crate) trigger_price: HalfTicks,
    pub(crate) display: Lots,
    pub(crate) minimum: Lots,
    pub(crate) expires: Nanos,
    /// Half ticks behind the market for a trailing stop; towards the market for a peg.
    pub(crate) offset: i32,
    /// Whole ticks beyond the best price at which a market order stops.
    pub(crate) protection: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    pub(crate) features: Features,
    pub(crate) trigger: Trigger,
    pub(crate) peg: Peg,
    pub(crate) post_only: PostOnly,
    pub(crate) auction: AuctionOnly,
    pub(crate) self_trade: SelfTrade,
}

impl Terms {
    /// Whether there are none.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.features == 0
    }

    /// Whether any of these is among them.
    pub(crate) const fn has(&self, features: Features) -> bool {
        self.features & features != 0
    }

    /// When the order becomes active, and at what price.
    #[must_use]
    pub const fn trigger(&self) -> (Trigger, HalfTicks) {
        (self.trigger, self.trigger_price)
    }

    /// What its price is tied to.
    #[must_use]
    pub const fn peg(&self) -> Peg {
        self.peg
    }

    /// How much of it is displayed at a time; zero: all of it.
    #[must_use]
    pub const fn display(&self) -> Lots {
        self.display
    }

    /// The session that entered it; zero: none.
    #[must_use]
    pub const fn session(&self) -> u32 {
        self.session
    }
}
