//! What the public sees: increments of the displayed book, numbered, from an engine's events.
//!
//! Orders that are not displayed show only in their trades. A consumer that applies every increment
//! to a snapshot taken at a sequence number has the displayed book.

use taut_book::TopOfBook;
use taut_types::{HalfTicks, Lots, OrderId, SequenceNumber, Side};

use crate::event::Event;

/// A change of the displayed book, or a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Increment {
    /// L3: an order joins the end of its level's queue.
    Add {
        /// The order.
        order_id: OrderId,
        /// Its side.
        side: Side,
        /// Its price.
        price: HalfTicks,
        /// What is displayed of it.
        lots: Lots,
    },
    /// L3: so much of a displayed order has traded; at nothing left it leaves the book.
    Execute {
        /// The order.
        order_id: OrderId,
        /// How much.
        lots: Lots,
        /// The trade; zero: none, the quantity met its own account.
        trade_id: u64,
    },
    /// L3: so much of a displayed order is no more; at nothing left it leaves the book.
    Shrink {
        /// The order.
        order_id: OrderId,
        /// What is displayed of it now.
        displayed: Lots,
    },
    /// L3: an order leaves the book.
    Delete {
        /// The order.
        order_id: OrderId,
    },
    /// A trade.
    Trade {
        /// Its number.
        trade_id: u64,
        /// The price.
        price: HalfTicks,
        /// How much.
        lots: Lots,
        /// The side that took.
        aggressor: Side,
        /// Whether the maker was not displayed.
        hidden: bool,
    },
    /// L2: a level's total; zero lots say that it is gone.
    Level {
        /// The side.
        side: Side,
        /// The price.
        price: HalfTicks,
        /// The total.
        lots: Lots,
        /// The number of orders.
        order_count: u32,
    },
    /// L1: the best levels.
    Top(TopOfBook<HalfTicks>),
}

/// Turns events into numbered increments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarketData {
    last: SequenceNumber,
    top: TopOfBook<HalfTicks>,
}

impl Default for MarketData {
    fn default() -> Self {
        Self { last: SequenceNumber(0), top: TopOfBook { bid: None, ask: None } }
    }
}

impl MarketData {
    /// The number of the last increment; a snapshot of the book now is as of that.
    #[must_use]
    pub const fn last(&self) -> SequenceNumber {
        self.last
    }

    /// Passes on what the public sees of an event.
    pub fn on_event(&mut self, event: &Event, send: &mut impl FnMut(SequenceNumber, Increment)) {
        match *event {
            Event::Rested { order_id, side, price, lots, hidden: false } => {
                self.send(Increment::Add { order_id, side, price, lots }, send);
            }
            Event::Refreshed { order_id, side, price, lots } => {
                self.send(Increment::Add { order_id, side, price, lots }, send);
            }
            Event::Trade {
                trade_id,
                maker,
                taker,
                price,
                lots,
                aggressor,
                hidden,
                taker_rested,
                ..
            } => {
                if !hidden {
                    self.send(Increment::Execute { order_id: maker, lots, trade_id }, send);
                }
                if taker_rested {
                    self.send(Increment::Execute { order_id: taker, lots, trade_id }, send);
                }
                self.send(Increment::Trade { trade_id, price, lots, aggressor, hidden }, send);
            }
            Event::Prevented { maker, lots, hidden: false, .. } => {
                let trade_id = 0;
                self.send(Increment::Execute { order_id: maker, lots, trade_id }, send);
            }
            Event::Cancelled { order_id, was_resting: true, .. } => {
                self.send(Increment::Delete { order_id }, send);
            }
            Event::Reduced { order_id, displayed, .. } if displayed > Lots::ZERO => {
                self.send(Increment::Shrink { order_id, displayed }, send);
            }
            Event::Replaced { order_id, displayed, kept_priority, was_resting: true, .. } => {
                self.send(
                    if kept_priority {
                        Increment::Shrink { order_id, displayed }
                    } else {
                        Increment::Delete { order_id }
                    },
                    send,
                );
            }
            Event::Level { side, price, lots, order_count } => {
                self.send(Increment::Level { side, price, lots, order_count }, send);
            }
            _ => {}
        }
    }

    /// Ends a command: tells the best levels if they have changed.
    pub fn on_top(
        &mut self,
        top: TopOfBook<HalfTicks>,
        send: &mut impl FnMut(SequenceNumber, Increment),
    ) {
        if top != self.top {
            self.top = top;
            self.send(Increment::Top(top), send);
        }
    }

    fn send(&mut self, increment: Increment, send: &mut impl FnMut(SequenceNumber, Increment)) {
        self.last = self.last.next();
        send(self.last, increment);
    }
}
