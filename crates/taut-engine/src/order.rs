//! An order to enter.

use taut_types::{HalfTicks, Lots, Nanos, OrderId, OrderType, Side, TimeInForce};

use crate::terms::{AuctionOnly, Features, Peg, PostOnly, SelfTrade, Terms, Trigger, feature};

/// An order to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Its identity: unlike that of every waiting order. It is free again when the order has been
    /// filled or cancelled.
    pub order_id: OrderId,
    /// A limit order's price: positive and a whole number of ticks, which is an even number of half
    /// ticks; a pegged order's worst price. A market order's price is only echoed.
    pub price: HalfTicks,
    /// How much, more than zero.
    pub lots: Lots,
    /// Whose it is: the account.
    pub owner: u32,
    /// Its side.
    pub side: Side,
    /// Limit or market.
    pub order_type: OrderType,
    /// What happens to a part that does not trade at once. A market order without protection never
    /// rests, whatever this says.
    pub time_in_force: TimeInForce,
    /// All else that it asks for.
    pub terms: Terms,
}

impl Default for NewOrder {
    fn default() -> Self {
        Self::limit(OrderId(0), 0, Side::Buy, HalfTicks(0), Lots(0))
    }
}

impl NewOrder {
    /// A limit order that is good till cancel.
    #[must_use]
    pub const fn limit(
        order_id: OrderId,
        owner: u32,
        side: Side,
        price: HalfTicks,
        lots: Lots,
    ) -> Self {
        Self {
            order_id,
            price,
            lots,
            owner,
            side,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::GoodTillCancel,
            terms: Terms {
                trigger_price: HalfTicks(0),
                display: Lots(0),
                minimum: Lots(0),
                expires: Nanos(0),
                offset: 0,
                protection: 0,
                group: 0,
                session: 0,
                features: 0,
                trigger: Trigger::None,
                peg: Peg::None,
                post_only: PostOnly::No,
                auction: AuctionOnly::No,
                self_trade: SelfTrade::Default,
            },
        }
    }

    /// A market order.
    #[must_use]
    pub const fn market(order_id: OrderId, owner: u32, side: Side, lots: Lots) -> Self {
        let mut order = Self::limit(order_id, owner, side, HalfTicks(0), lots);
        order.order_type = OrderType::Market;
        order
    }

    /// With another time in force.
    #[must_use]
    pub const fn force(mut self, time_in_force: TimeInForce) -> Self {
        self.time_in_force = time_in_force;
        self
    }

    const fn with(mut self, features: Features) -> Self {
        self.terms.features |= features;
        self
    }

    /// Waits until a trade reaches the price against the order: a stop, or with a limit price a
    /// stop-limit.
    #[must_use]
    pub const fn stop(mut self, price: HalfTicks) -> Self {
        self.terms.features &= !feature::TRAILING;
        self.terms.trigger = Trigger::Stop;
        self.terms.trigger_price = price;
        self.with(feature::STOP)
    }

    /// Waits until a trade reaches the price in the order's favour.
    #[must_use]
    pub const fn take_profit(mut self, price: HalfTicks) -> Self {
        self.terms.features &= !feature::TRAILING;
        self.terms.trigger = Trigger::TakeProfit;
        self.terms.trigger_price = price;
        self.with(feature::STOP)
    }

    /// A stop that starts at the price and follows the market at a distance of so many half ticks.
    #[must_use]
    pub const fn trailing(mut self, price: HalfTicks, distance: i32) -> Self {
        self.terms.trigger = Trigger::Trailing;
        self.terms.trigger_price = price;
        self.terms.offset = distance;
        self.with(feature::STOP | feature::TRAILING)
    }

    /// Tied to the market, moved by so many half ticks towards the other side. Its own price is
    /// the worst that it accepts. It is not displayed.
    #[must_use]
    pub const fn pegged(mut self, peg: Peg, offset: i32) -> Self {
        self.terms.peg = peg;
        self.terms.offset = offset;
        self.with(feature::PEG)
    }

    /// Never takes what rests. An all-or-none order that is larger is nothing it could take.
    #[must_use]
    pub const fn post_only(mut self, post_only: PostOnly) -> Self {
        self.terms.post_only = post_only;
        self.with(feature::POST)
    }

    /// An iceberg: displays so much at a time; each refill goes to the end of the queue.
    #[must_use]
    pub const fn iceberg(mut self, display: Lots) -> Self {
        self.terms.display = display;
        self.with(feature::ICEBERG)
    }

    /// Rests without being displayed, behind the displayed orders of its price.
    #[must_use]
    pub const fn hidden(self) -> Self {
        self.with(feature::HIDDEN)
    }

    /// Cancelled unless so much trades at once. What orders of the own account or group take from
    /// it without a trade does not count.
    #[must_use]
    pub const fn minimum(mut self, lots: Lots) -> Self {
        self.terms.minimum = lots;
        self.with(feature::MINIMUM)
    }

    /// Trades whole or not at all, but may wait for it, which it does without being displayed.
    #[must_use]
    pub const fn all_or_none(self) -> Self {
        self.with(feature::ALL_OR_NONE)
    }

    /// For a market order: trades no further than so many whole ticks beyond the best price, and
    /// what is left rests there as a limit order (CME's market order with protection).
    #[must_use]
    pub const fn protection(mut self, ticks: u32) -> Self {
        self.terms.protection = ticks;
        self.with(feature::PROTECTION)
    }

    /// For a market order: trades at the best price only and rests there with what is left.
    #[must_use]
    pub const fn market_to_limit(self) -> Self {
        self.protection(0)
    }

    /// Good till a time: cancelled by the first [`Clock`](crate::Command::Clock) that reaches it.
    #[must_use]
    pub const fn good_till(mut self, expires: Nanos) -> Self {
        self.terms.expires = expires;
        self.with(feature::EXPIRY)
    }

    /// For the opening auction only.
    #[must_use]
    pub const fn at_the_open(mut self) -> Self {
        self.terms.auction = AuctionOnly::Open;
        self.with(feature::AUCTION)
    }

    /// For the closing auction only.
    #[must_use]
    pub const fn at_the_close(mut self) -> Self {
        self.terms.auction = AuctionOnly::Close;
        self.with(feature::AUCTION)
    }

    /// What happens when it meets an order of its own account or group.
    #[must_use]
    pub const fn self_trade(mut self, mode: SelfTrade) -> Self {
        self.terms.self_trade = mode;
        self.with(feature::SELF_TRADE)
    }

    /// A group of accounts that shall not trade with each other; zero: none.
    #[must_use]
    pub const fn group(mut self, group: u32) -> Self {
        self.terms.group = group;
        self.with(feature::GROUP)
    }

    /// The session that enters it, for mass cancels and cancel on disconnect.
    #[must_use]
    pub const fn session(mut self, session: u32) -> Self {
        self.terms.session = session;
        self.with(feature::SESSION)
    }

    /// Whether a remainder of it, priced as it is, stays in the book.
    pub(crate) const fn may_rest(&self) -> bool {
        matches!(self.order_type, OrderType::Limit)
            && matches!(self.time_in_force, TimeInForce::GoodTillCancel | TimeInForce::Day)
    }

    /// Its terms, type and time in force as one set.
    pub(crate) const fn features(&self) -> Features {
        let kind = match self.order_type {
            OrderType::Limit => feature::LIMIT,
            OrderType::Market => feature::MARKET,
        };
        let force = match self.time_in_force {
            TimeInForce::GoodTillCancel => 0,
            TimeInForce::ImmediateOrCancel => feature::IMMEDIATE,
            TimeInForce::FillOrKill => feature::FILL_OR_KILL,
            TimeInForce::Day => feature::DAY,
        };
        self.terms.features | kind | force
    }

    /// Without its trigger: as it is once that has fired.
    pub(crate) const fn triggered(mut self) -> Self {
        self.terms.trigger = Trigger::None;
        self.terms.trigger_price = HalfTicks(0);
        self.terms.offset = 0;
        self.terms.features &= !(feature::STOP | feature::TRAILING);
        self
    }
}
