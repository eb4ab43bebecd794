//! What an engine holds.

use alloc::vec::Vec;

use taut_book::{Handle, OrderBook};
use taut_types::{HalfTicks, Nanos, OrderId, OrderType, Side};

use super::resting_book::RestingBook;
use crate::allocation::Share;
use crate::command::{Phase, no_limit};
use crate::order::NewOrder;
use crate::rules::Rules;
use crate::terms::SelfTrade;

/// How much memory an engine reserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// Displayed orders, up to 2^30.
    pub order_capacity: usize,
    /// Displayed price levels on each side, up to 2^22.
    pub level_capacity: usize,
}

/// A level as it was before the command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touched {
    pub(super) side: Side,
    pub(super) price: HalfTicks,
    pub(super) lots: i64,
    pub(super) order_count: u32,
    /// When it was touched: the first entry of a price is the one from before.
    pub(super) turn: u32,
}

/// An order whose trigger has fired.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fired {
    pub(super) order: NewOrder,
    pub(super) filled: i64,
}

/// A matching engine for one instrument.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(super) lit: RestingBook,
    /// What an order without terms must look at beyond the displayed book.
    pub(super) busy: u8,
    pub(super) trade_count: u64,
    /// The last trade's price; zero before the first.
    pub(super) last: i64,
    /// The first price of the trades that stops have not seen yet; zero when there are none.
    pub(super) first: i64,
    /// The displayed levels that the current command has changed, as they were before.
    pub(super) touched: Vec<Touched>,
    pub(super) dark: RestingBook,
    pub(super) pending: RestingBook,
    pub(super) parked: RestingBook,
    /// The ids of pegged orders by age.
    pub(super) pegs: OrderBook,
    /// The ids of orders with an expiry, by that time.
    pub(super) expiries: OrderBook,
    /// Triggered orders that are about to enter, in the order of their triggers.
    pub(super) fired: Vec<Fired>,
    pub(super) fired_next: usize,
    pub(super) trailing_count: usize,
    /// The displayed prices at which pegged orders were priced last.
    pub(super) peg_top: (i64, i64),
    /// The orders that bettered the market on each side (allocation with TOP).
    pub(super) top_orders: [Option<OrderId>; 2],
    pub(super) shares: Vec<Share>,
    pub(super) handles: Vec<Handle>,
    pub(super) ids: Vec<OrderId>,
    pub(super) phase: Phase,
    pub(super) now: Nanos,
    pub(super) config: EngineConfig,
    pub(super) rules: Rules,
}

/// There are orders outside the displayed book; ids must be looked up there, too.
pub(super) const ELSEWHERE: u8 = 1;
/// There are orders that trade without being displayed.
pub(super) const DARK: u8 = 1 << 1;
/// There are orders that wait for a trade or follow the market.
pub(super) const WATCHING: u8 = 1 << 2;
/// The phase or the rules ask for more than price and time: no order takes the short way.
pub(super) const RULED: u8 = 1 << 3;

/// An order that is about to trade.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taker {
    pub(super) id: OrderId,
    pub(super) owner: u32,
    pub(super) group: u32,
    pub(super) side: Side,
    /// Its own price, which is reported.
    pub(super) price: HalfTicks,
    /// The worst price at which it trades now.
    pub(super) limit: HalfTicks,
    pub(super) remaining: i64,
    pub(super) filled: i64,
    pub(super) self_trade: SelfTrade,
}

impl Taker {
    #[inline]
    pub(super) fn new(order: &NewOrder, limit: HalfTicks, filled: i64, rules: &Rules) -> Self {
        let own = order.terms.self_trade;
        Self {
            id: order.order_id,
            owner: order.owner,
            group: order.terms.group,
            side: order.side,
            price: order.price,
            limit,
            remaining: order.lots.0,
            filled,
            self_trade: if own == SelfTrade::Default { rules.self_trade } else { own },
        }
    }
}

/// Whether an order of this side and limit trades with one of the other side at a price.
#[inline]
pub(super) fn crosses(side: Side, limit: HalfTicks, price: HalfTicks) -> bool {
    match side {
        Side::Buy => price <= limit,
        Side::Sell => price >= limit,
    }
}

/// The worst price at which an order may trade.
#[inline]
pub(super) const fn limit(order: &NewOrder) -> HalfTicks {
    match order.order_type {
        OrderType::Limit => order.price,
        OrderType::Market => no_limit(order.side),
    }
}
