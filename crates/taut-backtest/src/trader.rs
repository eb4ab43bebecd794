//! Our side: orders as we know them, and what we ask.

use alloc::collections::{BTreeMap, VecDeque};

use taut_types::{Nanos, Side};

use crate::order::{Answer, Order, Request, RequestKind, Response, Status};
use crate::{Account, BacktestError, FlatBook};

/// Our orders by id, and the requests that are about to leave.
#[derive(Debug, Default)]
pub(crate) struct OrderTable {
    pub orders: BTreeMap<u64, Order>,
    pub account: Account,
    pub outgoing: VecDeque<Request>,
}

impl OrderTable {
    /// Takes a response. `any` and `filled_only` as
    /// [`Compat::any_response_answers`](crate::Compat::any_response_answers) and
    /// [`Compat::partial_fills_unbooked`](crate::Compat::partial_fills_unbooked).
    pub fn hear(&mut self, response: &Response, any: bool, filled_only: bool) {
        let heard = response.order;
        let is_fill = match filled_only {
            true => heard.status == Status::Filled && response.answer == Answer::Filled,
            false => response.answer == Answer::Filled,
        };
        if is_fill {
            self.account.book(&heard);
        }
        let Some(order) = self.orders.get_mut(&heard.id) else {
            if response.answer != Answer::Refused {
                self.orders.insert(heard.id, heard);
            }
            return;
        };
        if response.answer == Answer::Refused {
            if order.local_at != heard.local_at || order.status.is_done() {
                return;
            }
            match order.pending.take() {
                Some(RequestKind::New) => order.status = Status::Expired,
                Some(RequestKind::Modify) => (order.tick, order.lots) = (heard.tick, heard.lots),
                _ => {}
            }
            return;
        }
        let ends = any || (response.request.is_some() && response.request == order.pending);
        let pending = if ends { None } else { order.pending };
        *order = Order { pending, local_at: order.local_at, ..heard };
    }
}

/// What a strategy has: the time, the book, its orders and its account as they look from here, and
/// requests to send.
#[derive(Debug)]
pub struct Trader<'a> {
    pub(crate) now: Nanos,
    pub(crate) book: &'a FlatBook,
    pub(crate) table: &'a mut OrderTable,
}

impl Trader<'_> {
    /// The time.
    #[must_use]
    pub const fn now(&self) -> Nanos {
        self.now
    }

    /// The levels.
    #[must_use]
    pub const fn book(&self) -> &FlatBook {
        self.book
    }

    /// The best bid and the best offer, if there are both.
    #[must_use]
    pub fn best(&self) -> Option<(i64, i64)> {
        Some((self.book.best(Side::Buy)?, self.book.best(Side::Sell)?))
    }

    /// What was booked.
    #[must_use]
    pub const fn account(&self) -> &Account {
        &self.table.account
    }

    /// The orders, by id.
    pub fn orders(&self) -> impl Iterator<Item = &Order> {
        self.table.orders.values()
    }

    /// The order with an id.
    #[must_use]
    pub fn order(&self, id: u64) -> Option<&Order> {
        self.table.orders.get(&id)
    }

    /// Forgets orders that are done.
    pub fn forget_done(&mut self) {
        self.table.orders.retain(|_, order| !order.status.is_done());
    }

    /// Sends an order.
    ///
    /// # Errors
    /// When its id is that of another, or it has no quantity.
    pub fn send(&mut self, order: Order) -> Result<(), BacktestError> {
        check(order.tick, order.lots)?;
        if self.table.orders.contains_key(&order.id) {
            return Err(BacktestError::OrderExists(order.id));
        }
        let pending = Some(RequestKind::New);
        let order = Order { pending, local_at: self.now, status: Status::Pending, ..order };
        self.table.orders.insert(order.id, order);
        self.table.outgoing.push_back(Request {
            kind: RequestKind::New,
            order,
            known: (order.tick, order.lots),
            total: None,
        });
        Ok(())
    }

    /// Asks to cancel an order.
    ///
    /// # Errors
    /// When there is none, it is done, or an earlier request about it is under way.
    pub fn cancel(&mut self, id: u64) -> Result<(), BacktestError> {
        let order = *self.ask(id, RequestKind::Cancel)?;
        let known = (order.tick, order.lots);
        let (kind, total) = (RequestKind::Cancel, None);
        self.table.outgoing.push_back(Request { kind, order, known, total });
        Ok(())
    }

    /// Asks for another price, and for so many lots to be open. An order keeps its place in the
    /// queue for fewer lots at the same price alone.
    ///
    /// # Errors
    /// As [`cancel`](Self::cancel), and for no quantity.
    pub fn modify(&mut self, id: u64, tick: i64, lots: i64) -> Result<(), BacktestError> {
        check(tick, lots)?;
        let order = self.ask(id, RequestKind::Modify)?;
        let known = (order.tick, order.lots);
        (order.tick, order.lots) = (tick, lots);
        let order = *order;
        let (kind, total) = (RequestKind::Modify, None);
        self.table.outgoing.push_back(Request { kind, order, known, total });
        Ok(())
    }

    /// An order, which now has a request under way.
    fn ask(&mut self, id: u64, kind: RequestKind) -> Result<&mut Order, BacktestError> {
        let order = self.table.orders.get_mut(&id).ok_or(BacktestError::UnknownOrder(id))?;
        if order.pending.is_some() || order.status.is_done() {
            return Err(BacktestError::NotNow(id));
        }
        (order.pending, order.local_at) = (Some(kind), self.now);
        Ok(order)
    }
}

/// So large a price or a quantity is a mistake, and could overflow sums of them.
const LARGEST: i64 = 1 << 55;

fn check(tick: i64, lots: i64) -> Result<(), BacktestError> {
    let is_good = (1..=LARGEST).contains(&lots) && (-LARGEST..=LARGEST).contains(&tick);
    if is_good { Ok(()) } else { Err(BacktestError::BadCommand) }
}
