//! Engine events become execution reports.
//!
//! | event | ExecType (150) | OrdStatus (39) |
//! |---|---|---|
//! | accepted | New (0) | New (0), also of an order that trades at once: its trades follow |
//! | refused | Rejected (8) | Rejected (8) |
//! | trade, for taker and maker | Trade (F) | PartiallyFilled (1), Filled (2) |
//! | cancelled on request | Canceled (4) with OrigClOrdID (41) | Canceled (4) |
//! | what is left may not rest | Expired (C) | Expired (C) |
//!
//! The last row is the remainder of an immediate-or-cancel or market order and a killed
//! fill-or-kill one. Other venues say Canceled there; Expired lets a client tell it from the answer
//! to its request.

use taut_engine::{CancelReason, Event, RejectReason};
use taut_fix::{ExecType, ExecutionReport, LongText, OrdStatus};
use taut_types::{HalfTicks, Lots, Nanos, OrderId, Price, Qty};

use crate::listing::Listing;
use crate::orders::{ClientOrder, ClientOrders, SessionId};

/// By custom the OrderID (37) of what never became an order.
pub fn no_order_id() -> LongText {
    LongText::new(b"NONE").unwrap_or(LongText::from_u64(0))
}

/// OrdRejReason (103), FIX 4.4 volume 6.
pub mod ord_rej_reason {
    pub const UNKNOWN_SYMBOL: u32 = 1;
    pub const EXCEEDS_LIMIT: u32 = 3;
    pub const DUPLICATE: u32 = 6;
    pub const INCORRECT_QUANTITY: u32 = 13;
    pub const OTHER: u32 = 99;
}

/// Writes reports and numbers them.
#[derive(Debug)]
pub struct Reporter {
    exec_count: u64,
}

/// What one report adds to the state of its order.
struct Change<'a> {
    exec_type: ExecType,
    ord_status: OrdStatus,
    last: Option<(Price, Lots)>,
    refusal: Option<(u32, &'a str)>,
}

impl Reporter {
    pub const fn new() -> Self {
        Self { exec_count: 0 }
    }

    /// Tells the clients about an event in an instrument, and forgets their orders that are over.
    pub fn on_event(
        &mut self,
        utc: Nanos,
        of: &Listing,
        event: &Event,
        orders: &mut ClientOrders,
        send: &mut impl FnMut(SessionId, &ExecutionReport<'_>),
    ) {
        match *event {
            Event::Accepted { order_id, .. } => {
                if let Some(order) = orders.get(order_id) {
                    let change = Change::plain(ExecType::New, OrdStatus::New);
                    self.report(utc, of, order_id, order, &change, send);
                }
            }
            Event::Rejected { order_id, reason, .. } => {
                if let Some(order) = orders.get(order_id) {
                    let refusal = Some(refusal(reason));
                    let plain = Change::plain(ExecType::Rejected, OrdStatus::Rejected);
                    self.report(utc, of, order_id, order, &Change { refusal, ..plain }, send);
                    orders.finish(order_id, OrdStatus::Rejected);
                }
            }
            Event::Trade { maker, taker, price, lots, .. } => {
                self.fill(utc, of, taker, (price, lots), orders, send);
                self.fill(utc, of, maker, (price, lots), orders, send);
            }
            Event::Cancelled { order_id, reason, .. } => {
                if let Some(order) = orders.get(order_id) {
                    let change = match reason {
                        CancelReason::Requested => {
                            Change::plain(ExecType::Canceled, OrdStatus::Canceled)
                        }
                        _ => Change::plain(ExecType::Expired, OrdStatus::Expired),
                    };
                    self.report(utc, of, order_id, order, &change, send);
                    orders.finish(order_id, change.ord_status);
                }
            }
            // Nobody reduces a client's order, refused cancels are answered where they are asked
            // for, and the rest is market data.
            _ => {}
        }
    }

    /// An order that never reached the engine.
    pub fn reject<'a>(
        &mut self,
        utc: Nanos,
        request: &taut_fix::NewOrderSingle,
        reason: u32,
        text: &'a str,
    ) -> ExecutionReport<'a> {
        ExecutionReport {
            order_id: no_order_id(),
            exec_id: self.next_exec_id(),
            exec_ref_id: None,
            exec_trans_type: None,
            account: None,
            price: None,
            mass_status: None,
            cl_ord_id: Some(request.cl_ord_id.into()),
            orig_cl_ord_id: None,
            exec_type: ExecType::Rejected,
            ord_status: OrdStatus::Rejected,
            symbol: Some(request.symbol.into()),
            side: request.side,
            order_qty: Some(request.qty),
            last_qty: Qty::ZERO,
            last_price: None,
            leaves_qty: Qty::ZERO,
            cum_qty: Qty::ZERO,
            avg_price: Some(Price(0)),
            ord_rej_reason: Some(reason),
            text: text.as_bytes(),
            transact_time: Some(utc),
        }
    }

    fn fill(
        &mut self,
        utc: Nanos,
        of: &Listing,
        order_id: OrderId,
        (price, lots): (HalfTicks, Lots),
        orders: &mut ClientOrders,
        send: &mut impl FnMut(SessionId, &ExecutionReport<'_>),
    ) {
        let Some(order) = orders.get_mut(order_id) else { return };
        let price = of.instrument.price(price).unwrap_or(Price(i64::MAX));
        order.fill(price, lots);
        let (order, ord_status) = (*order, order.status());
        let last = Some((price, lots));
        let plain = Change::plain(ExecType::Trade, ord_status);
        self.report(utc, of, order_id, &order, &Change { last, ..plain }, send);
        if ord_status == OrdStatus::Filled {
            orders.finish(order_id, ord_status);
        }
    }

    fn report(
        &mut self,
        utc: Nanos,
        of: &Listing,
        order_id: OrderId,
        order: &ClientOrder,
        change: &Change<'_>,
        send: &mut impl FnMut(SessionId, &ExecutionReport<'_>),
    ) {
        let is_open = matches!(
            change.ord_status,
            OrdStatus::New | OrdStatus::PartiallyFilled | OrdStatus::Filled
        );
        let (cl_ord_id, orig_cl_ord_id) = match order.cancel_request {
            Some(request) => (request, Some(order.cl_ord_id)),
            None => (order.cl_ord_id, None),
        };
        // As FIX writes it. An order's lots came out of a quantity, and its parts are less.
        let qty = |lots: Lots| of.instrument.qty(lots).unwrap_or_default();
        let report = ExecutionReport {
            order_id: LongText::from_u64(order_id.0),
            exec_id: self.next_exec_id(),
            exec_ref_id: None,
            exec_trans_type: None,
            account: None,
            price: None,
            mass_status: None,
            cl_ord_id: Some(cl_ord_id.into()),
            orig_cl_ord_id: orig_cl_ord_id.map(LongText::from),
            exec_type: change.exec_type,
            ord_status: change.ord_status,
            symbol: Some(of.symbol.into()),
            side: order.side,
            order_qty: Some(qty(order.lots)),
            last_qty: change.last.map_or(Qty::ZERO, |(_, lots)| qty(lots)),
            last_price: change.last.map(|(price, _)| price),
            leaves_qty: if is_open { qty(order.open_lots()) } else { Qty::ZERO },
            cum_qty: qty(order.traded),
            avg_price: Some(order.avg_price()),
            ord_rej_reason: change.refusal.map(|(code, _)| code),
            text: change.refusal.map_or(&[], |(_, text)| text.as_bytes()),
            transact_time: Some(utc),
        };
        send(order.session, &report);
    }

    fn next_exec_id(&mut self) -> LongText {
        self.exec_count = self.exec_count.saturating_add(1);
        LongText::from_u64(self.exec_count)
    }
}

impl Change<'_> {
    const fn plain(exec_type: ExecType, ord_status: OrdStatus) -> Self {
        Self { exec_type, ord_status, last: None, refusal: None }
    }
}

/// OrdRejReason (103) and Text (58) for what the engine refuses.
const fn refusal(reason: RejectReason) -> (u32, &'static str) {
    match reason {
        RejectReason::NonPositiveLots => {
            (ord_rej_reason::INCORRECT_QUANTITY, "the quantity must be more than zero")
        }
        RejectReason::BadPrice => {
            (ord_rej_reason::OTHER, "the price must be more than zero and a whole number of ticks")
        }
        RejectReason::DuplicateOrderId => (ord_rej_reason::DUPLICATE, "the order is in the book"),
        RejectReason::BookFull => {
            (ord_rej_reason::EXCEEDS_LIMIT, "the book is full: cancel orders and try again")
        }
        _ => (ord_rej_reason::OTHER, "the engine refused the order"),
    }
}
