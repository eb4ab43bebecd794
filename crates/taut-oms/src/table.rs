//! All orders of a gateway, by client id.

use alloc::boxed::Box;
use core::fmt;

use taut_types::{ClientOrderId, Lots, Nanos, OrderTerms};

use crate::state::{OrderEvent, OrderState};

/// An order, as far as the venue has told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The client's id; the table's key.
    pub id: ClientOrderId,
    /// What it asks for.
    pub terms: OrderTerms,
    /// A number of its sender's.
    pub tag: u32,
    /// What has not traded and may still.
    pub lots_open: Lots,
    /// What ended without a trade.
    pub lots_closed: Lots,
    /// When its send call began.
    pub sent_at: Nanos,
    /// Where it is in its life.
    pub state: OrderState,
}

/// Why the table refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// An order with this id is here already, or its place is held by one that still works.
    Full,
    /// There is no order with this id.
    UnknownOrder,
    /// The life cycle knows no such event in the order's state.
    UnexpectedEvent {
        /// The state in which it came.
        state: OrderState,
        /// The event.
        event: OrderEvent,
    },
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("no place for this order: its id or its place is in use"),
            Self::UnknownOrder => f.write_str("there is no order with this id"),
            Self::UnexpectedEvent { state, event } => {
                write!(f, "{event:?} cannot happen to an order that is {state:?}")
            }
        }
    }
}

impl core::error::Error for TableError {}

/// Every request and every answer, counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// New orders sent.
    pub orders: u64,
    /// Acknowledgements of them.
    pub acks: u64,
    /// Refusals of them.
    pub order_rejects: u64,
    /// Fills, partial ones too.
    pub fills: u64,
    /// Cancel requests sent.
    pub cancel_requests: u64,
    /// Orders cancelled at our request.
    pub cancels: u64,
    /// Cancel requests refused.
    pub cancel_rejects: u64,
    /// Orders that the venue cancelled unasked (what an immediate-or-cancel left).
    pub expired: u64,
}

impl Answers {
    /// Requests that have no answer yet.
    #[must_use]
    pub const fn unanswered(&self) -> u64 {
        (self.orders + self.cancel_requests)
            - (self.acks + self.order_rejects + self.cancels + self.cancel_rejects)
    }
}

/// A table of fixed size. An order lives at its id modulo the capacity, which a new order takes
/// over once the old one is done: with ids that count upwards, that is the one `capacity` ago.
#[derive(Debug)]
pub struct OrderTable {
    slots: Box<[Option<Order>]>,
    answers: Answers,
}

impl OrderTable {
    /// Room for this many orders, at least one.
    #[must_use]
    pub fn with_capacity(order_capacity: usize) -> Self {
        let slots = core::iter::repeat_n(None, order_capacity.max(1)).collect();
        Self { slots, answers: Answers::default() }
    }

    /// Takes a new order up, before it is sent.
    ///
    /// # Errors
    /// [`TableError::Full`] when its place is held by an order that is not done.
    pub fn insert(&mut self, order: Order) -> Result<(), TableError> {
        let slot = self.slot_mut(order.id);
        match slot {
            Some(held) if !held.state.is_done() || held.id == order.id => Err(TableError::Full),
            _ => {
                let (lots_open, lots_closed) = (order.terms.lots, Lots::ZERO);
                *slot = Some(Order { state: OrderState::Sent, lots_open, lots_closed, ..order });
                self.answers.orders += 1;
                Ok(())
            }
        }
    }

    /// Whether [`OrderTable::insert`] would take this id now.
    #[must_use]
    pub fn has_room_for(&self, id: ClientOrderId) -> bool {
        match self.slots.get(self.index(id)) {
            Some(Some(held)) => held.state.is_done() && held.id != id,
            _ => true,
        }
    }

    /// Applies what happened to an order; `filled` is the quantity of a fill. Returns the order as
    /// it is afterwards and, when that is its end, how much of it ended without a trade.
    ///
    /// # Errors
    /// When there is no such order, the event cannot happen in its state, or the quantity is not
    /// what the event says: then nothing changes.
    pub fn apply(
        &mut self,
        id: ClientOrderId,
        event: OrderEvent,
        filled: Lots,
    ) -> Result<(Order, Lots), TableError> {
        let Some(order) = self.slot_mut(id).as_mut().filter(|order| order.id == id) else {
            return Err(TableError::UnknownOrder);
        };
        let unexpected = TableError::UnexpectedEvent { state: order.state, event };
        let Some(mut state) = order.state.after(event) else { return Err(unexpected) };
        let is_over = order.lots_open == Lots::ZERO;
        match event {
            OrderEvent::PartlyFilled | OrderEvent::Filled => {
                let left = order.lots_open.0.saturating_sub(filled.0);
                let is_last = event == OrderEvent::Filled;
                if filled <= Lots::ZERO || left < 0 || (left == 0) != is_last {
                    return Err(unexpected);
                }
                order.lots_open = Lots(left);
            }
            OrderEvent::Rejected | OrderEvent::Cancelled | OrderEvent::Expired => {
                if is_over {
                    return Err(unexpected);
                }
                order.lots_closed = core::mem::replace(&mut order.lots_open, Lots::ZERO);
            }
            // Too late: the order had ended while the request was under way.
            OrderEvent::CancelRejected if is_over => {
                let has_expired = order.lots_closed > Lots::ZERO;
                state = if has_expired { OrderState::Expired } else { OrderState::Filled };
            }
            OrderEvent::Accepted | OrderEvent::CancelSent | OrderEvent::CancelRejected => {}
        }
        order.state = state;
        let order = *order;
        self.count(event);
        Ok((order, if state.is_done() { order.lots_closed } else { Lots::ZERO }))
    }

    /// The order with this id, done or not, if it has not been replaced.
    #[must_use]
    pub fn get(&self, id: ClientOrderId) -> Option<&Order> {
        self.slots.get(self.index(id))?.as_ref().filter(|order| order.id == id)
    }

    /// All orders that are not done. Walks the whole table: not for the hot path.
    pub fn open_orders(&self) -> impl Iterator<Item = &Order> {
        self.slots.iter().flatten().filter(|order| !order.state.is_done())
    }

    /// What was asked and answered so far.
    #[must_use]
    pub const fn answers(&self) -> &Answers {
        &self.answers
    }

    fn index(&self, id: ClientOrderId) -> usize {
        // The remainder is below the length, which is a usize.
        (id.0 % self.slots.len() as u64) as usize
    }

    fn slot_mut(&mut self, id: ClientOrderId) -> &mut Option<Order> {
        let index = self.index(id);
        &mut self.slots[index]
    }

    const fn count(&mut self, event: OrderEvent) {
        let counter = match event {
            OrderEvent::Accepted => &mut self.answers.acks,
            OrderEvent::Rejected => &mut self.answers.order_rejects,
            OrderEvent::PartlyFilled | OrderEvent::Filled => &mut self.answers.fills,
            OrderEvent::CancelSent => &mut self.answers.cancel_requests,
            OrderEvent::Cancelled => &mut self.answers.cancels,
            OrderEvent::CancelRejected => &mut self.answers.cancel_rejects,
            OrderEvent::Expired => &mut self.answers.expired,
        };
        *counter += 1;
    }
}

#[cfg(test)]
mod tests {
    use taut_types::{InstrumentId, Price, Side};

    use super::*;
    use OrderEvent as E;

    fn order(id: u64) -> Order {
        Order {
            id: ClientOrderId(id),
            terms: OrderTerms::limit(InstrumentId(0), Side::Buy, Price(100), Lots(10)),
            tag: 0,
            lots_open: Lots::ZERO,
            lots_closed: Lots::ZERO,
            sent_at: Nanos::ZERO,
            state: OrderState::Filled,
        }
    }

    fn run(table: &mut OrderTable, id: u64, events: &[(E, i64)]) -> Option<OrderState> {
        for &(event, lots) in events {
            table.apply(ClientOrderId(id), event, Lots(lots)).unwrap();
        }
        table.get(ClientOrderId(id)).map(|order| order.state)
    }

    #[test]
    fn every_request_is_answered_once_in_each_way_of_a_life() {
        let mut table = OrderTable::with_capacity(8);
        (1..=5).for_each(|id| table.insert(order(id)).unwrap());
        assert_eq!(table.answers().unanswered(), 5);
        let ends = [
            run(&mut table, 1, &[(E::Accepted, 0), (E::PartlyFilled, 4), (E::Filled, 6)]),
            run(&mut table, 2, &[(E::Accepted, 0), (E::CancelSent, 0), (E::Cancelled, 0)]),
            run(&mut table, 3, &[(E::Rejected, 0)]),
            run(&mut table, 4, &[(E::Accepted, 0), (E::PartlyFilled, 1), (E::Expired, 0)]),
            // The fill that crosses the cancel: the cancel is refused, the order is filled.
            run(
                &mut table,
                5,
                &[(E::Accepted, 0), (E::CancelSent, 0), (E::Filled, 10), (E::CancelRejected, 0)],
            ),
        ];
        use OrderState as S;
        let expected = [S::Filled, S::Cancelled, S::Rejected, S::Expired, S::Filled];
        assert_eq!(ends, expected.map(Some));
        assert_eq!(table.answers().unanswered(), 0);
        assert_eq!(table.answers().fills, 4);
        assert_eq!(table.open_orders().count(), 0);
    }

    #[test]
    fn what_is_closed_without_a_trade_is_told_once() {
        let mut table = OrderTable::with_capacity(1);
        table.insert(order(1)).unwrap();
        run(&mut table, 1, &[(E::Accepted, 0), (E::PartlyFilled, 4), (E::CancelSent, 0)]);
        let (after, closed) = table.apply(ClientOrderId(1), E::Cancelled, Lots::ZERO).unwrap();
        assert_eq!((after.lots_open, closed), (Lots::ZERO, Lots(6)));
    }

    #[test]
    fn an_overfill_or_an_event_out_of_its_place_changes_nothing() {
        let mut table = OrderTable::with_capacity(4);
        table.insert(order(1)).unwrap();
        let id = ClientOrderId(1);
        assert!(table.apply(id, E::Filled, Lots(10)).is_err());
        table.apply(id, E::Accepted, Lots::ZERO).unwrap();
        for lots in [-1, 0, 11] {
            assert!(table.apply(id, E::Filled, Lots(lots)).is_err());
        }
        assert_eq!(
            table.apply(ClientOrderId(9), E::Accepted, Lots(0)),
            Err(TableError::UnknownOrder)
        );
        assert_eq!(table.answers().acks, 1);
        assert_eq!(table.answers().fills, 0);
    }

    #[test]
    fn an_order_that_expires_while_its_cancel_is_under_way_frees_its_quantity_once() {
        let mut table = OrderTable::with_capacity(1);
        table.insert(order(1)).unwrap();
        run(&mut table, 1, &[(E::Accepted, 0), (E::PartlyFilled, 4), (E::CancelSent, 0)]);
        let id = ClientOrderId(1);
        let (open, closed) = table.apply(id, E::Expired, Lots::ZERO).unwrap();
        assert_eq!((open.state, closed), (OrderState::PendingCancel, Lots::ZERO));
        let (over, closed) = table.apply(id, E::CancelRejected, Lots::ZERO).unwrap();
        assert_eq!((over.state, closed), (OrderState::Expired, Lots(6)));
    }

    #[test]
    fn an_order_that_is_over_takes_nothing_but_the_answer_to_its_cancel() {
        for end in [(E::Filled, 10), (E::Expired, 0)] {
            let mut table = OrderTable::with_capacity(1);
            table.insert(order(1)).unwrap();
            run(&mut table, 1, &[(E::Accepted, 0), (E::CancelSent, 0), end]);
            for event in [E::PartlyFilled, E::Filled, E::Cancelled, E::Expired] {
                assert!(table.apply(ClientOrderId(1), event, Lots(1)).is_err(), "{event:?}");
            }
            assert!(table.apply(ClientOrderId(1), E::CancelRejected, Lots::ZERO).is_ok());
        }
    }

    #[test]
    fn a_fill_that_lies_about_what_it_leaves_changes_nothing() {
        let mut table = OrderTable::with_capacity(1);
        table.insert(order(1)).unwrap();
        let id = ClientOrderId(1);
        table.apply(id, E::Accepted, Lots::ZERO).unwrap();
        assert!(table.apply(id, E::Filled, Lots(9)).is_err(), "one lot is left");
        assert!(table.apply(id, E::PartlyFilled, Lots(10)).is_err(), "no lot is left");
        assert_eq!(table.answers().fills, 0);
    }

    #[test]
    fn a_place_is_reused_only_after_its_order_is_done() {
        let mut table = OrderTable::with_capacity(2);
        table.insert(order(1)).unwrap();
        assert!(!table.has_room_for(ClientOrderId(3)));
        assert_eq!(table.insert(order(3)), Err(TableError::Full));
        assert_eq!(table.insert(order(1)), Err(TableError::Full));
        run(&mut table, 1, &[(E::Rejected, 0)]);
        assert_eq!(table.insert(order(1)), Err(TableError::Full));
        assert!(table.has_room_for(ClientOrderId(3)));
        table.insert(order(3)).unwrap();
        assert!(table.get(ClientOrderId(1)).is_none());
    }
}
