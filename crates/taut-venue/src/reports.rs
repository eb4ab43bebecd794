//! Engine events become execution reports.
//!
//! | event | ExecType (150) | OrdStatus (39) |
//! |---|---|---|
//! | accepted | New (0) | New (0), also of an order that trades at once: its trades follow |
//! | refused | Rejected (8) | Rejected (8) |
//! | trade, for taker and maker | Trade (F) | PartiallyFilled (1), Filled (2) |
//! | replaced | Replaced (5) with OrigClOrdID (41) | New (0), PartiallyFilled (1) |
//! | a trade is taken back | TradeCancel (H) with ExecRefID (19) | Canceled (4) if it was filled |
//! | cancelled on request | Canceled (4), with OrigClOrdID (41) if by itself | Canceled (4) |
//! | what is left may not rest | Expired (C) | Expired (C) |
//! | a status request | OrderStatus (I), ExecID (17) 0 | as it is; Rejected (8) if unknown |
//!
//! The last row but one is the remainder of an immediate-or-cancel or market order and a killed
//! fill-or-kill one. Other venues say Canceled there; Expired lets a client tell it from the answer
//! to its request.

use taut_engine::{CancelReason, Event, RejectReason};
use taut_fix::{
    Charges, ExecType, ExecutionReport, Liquidity, LongText, MassStatus, OrdStatus, ShortText,
};
use taut_types::{Lots, Nanos, OrderId, OrderType, Price, Qty, Side};

use crate::identity::ClientId;
use crate::listing::Listing;
use crate::orders::{ClientOrder, ClientOrders, DoneOrder, Left};
use crate::trades::{ClientTrade, Part};

/// By custom the OrderID (37) of what never became an order.
pub fn no_order_id() -> LongText {
    LongText::new(b"NONE").unwrap_or(LongText::from_u64(0))
}

/// OrdRejReason (103), FIX 4.4 volume 6.
pub mod ord_rej_reason {
    pub const UNKNOWN_SYMBOL: u32 = 1;
    pub const EXCHANGE_CLOSED: u32 = 2;
    pub const EXCEEDS_LIMIT: u32 = 3;
    pub const UNKNOWN_ORDER: u32 = 5;
    pub const DUPLICATE: u32 = 6;
    pub const INCORRECT_QUANTITY: u32 = 13;
    pub const OTHER: u32 = 99;
}

/// Writes reports and numbers them.
#[derive(Debug)]
pub struct Reporter {
    pub exec_count: u64,
    /// Text (58) of the cancels that come now: why nobody asked for them.
    pub reason: &'static str,
}

/// What one report adds to the state of its order.
struct Change<'a> {
    exec_type: ExecType,
    ord_status: OrdStatus,
    last: Option<(Price, Lots)>,
    refusal: Option<(u32, &'a str)>,
    charges: Charges,
}

impl Reporter {
    pub const fn new() -> Self {
        Self { exec_count: 0, reason: "" }
    }

    /// Tells the clients about an event in an instrument, and forgets their orders that are over.
    pub fn on_event(
        &mut self,
        utc: Nanos,
        of: &Listing,
        event: &Event,
        orders: &mut ClientOrders,
        send: &mut impl FnMut(ClientId, &ExecutionReport<'_>),
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
            Event::Trade { maker, taker, price, lots, taker_rested, .. } => {
                // In an auction both may have been there.
                let arrived = if taker_rested { Liquidity::Maker } else { Liquidity::Taker };
                let at = of.instrument.price(price).unwrap_or(Price(i64::MAX));
                let parts = [(taker, arrived), (maker, Liquidity::Maker)]
                    .map(|order| self.fill(utc, of, order, (at, lots), orders, send));
                if parts.iter().any(Option::is_some) {
                    let (place, is_busted) = (of.place, false);
                    orders.trades.push(ClientTrade { place, price: at, lots, parts, is_busted });
                }
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
            Event::Replaced { order_id, .. } => self.replaced(utc, of, order_id, orders, send),
            Event::Triggered { order_id } => {
                if let Some(order) = orders.get_mut(order_id) {
                    order.is_triggered = true;
                }
            }
            // Nobody reduces a client's order, refused requests are answered where they are asked
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
            cl_ord_id: Some(request.cl_ord_id.into()),
            account: request.account.map(LongText::from),
            exec_type: ExecType::Rejected,
            ord_status: OrdStatus::Rejected,
            symbol: Some(request.symbol.into()),
            order_qty: Some(request.qty),
            ord_rej_reason: Some(reason),
            text: text.as_bytes(),
            ..blank(utc, self.next_exec_id(), request.side)
        }
    }

    /// How an open order stands.
    pub fn status(utc: Nanos, of: &Listing, order: &ClientOrder) -> ExecutionReport<'static> {
        let qty = |lots: Lots| of.instrument.qty(lots).unwrap_or_default();
        ExecutionReport {
            order_id: LongText::from_u64(order.order.order_id.0),
            cl_ord_id: Some(order.cl_ord_id.into()),
            account: order.account.map(LongText::from),
            exec_type: ExecType::OrderStatus,
            ord_status: order.status(),
            symbol: Some(of.symbol.into()),
            order_qty: Some(qty(order.order_lots())),
            price: limit_price(of, order),
            leaves_qty: qty(order.open_lots()),
            cum_qty: qty(order.traded),
            avg_price: Some(order.avg_price()),
            ..blank(utc, LongText::from_u64(0), order.side())
        }
    }

    /// How an order ended.
    pub fn done(
        utc: Nanos,
        of: &Listing,
        cl_ord_id: ShortText,
        order: &DoneOrder,
    ) -> ExecutionReport<'static> {
        let qty = |lots: Lots| of.instrument.qty(lots).unwrap_or_default();
        ExecutionReport {
            order_id: LongText::from_u64(order.order_id.0),
            cl_ord_id: Some(cl_ord_id.into()),
            exec_type: ExecType::OrderStatus,
            ord_status: order.status,
            symbol: Some(of.symbol.into()),
            order_qty: Some(qty(order.lots)),
            cum_qty: qty(order.traded),
            avg_price: Some(order.avg_price),
            ..blank(utc, LongText::from_u64(0), order.side)
        }
    }

    /// There is no such order, or no open one at all.
    pub fn nothing(
        utc: Nanos,
        cl_ord_id: Option<ShortText>,
        symbol: Option<ShortText>,
        side: Side,
        mass_status: Option<MassStatus>,
    ) -> ExecutionReport<'static> {
        let text: &[u8] =
            if mass_status.is_some() { b"no order is open" } else { b"no order has this ClOrdID" };
        ExecutionReport {
            cl_ord_id: cl_ord_id.map(LongText::from),
            exec_type: ExecType::OrderStatus,
            ord_status: OrdStatus::Rejected,
            // What FIX says where a Symbol is required and there is none.
            symbol: symbol.map(LongText::from).or_else(|| LongText::new(b"[N/A]")),
            ord_rej_reason: Some(ord_rej_reason::UNKNOWN_ORDER),
            text,
            mass_status,
            ..blank(utc, LongText::from_u64(0), side)
        }
    }

    fn fill(
        &mut self,
        utc: Nanos,
        of: &Listing,
        (order_id, liquidity): (OrderId, Liquidity),
        (price, lots): (Price, Lots),
        orders: &mut ClientOrders,
        send: &mut impl FnMut(ClientId, &ExecutionReport<'_>),
    ) -> Option<Part> {
        if ClientOrders::is_flow_id(order_id) {
            return None;
        }
        let order = orders.fill(order_id, price, lots)?;
        let ord_status = order.status();
        let last = Some((price, lots));
        let plain = Change::plain(ExecType::Trade, ord_status);
        let charges = of.charges(price, lots, liquidity);
        self.report(utc, of, order_id, &order, &Change { last, charges, ..plain }, send);
        if ord_status == OrdStatus::Filled {
            orders.finish(order_id, ord_status);
        }
        let (client, cl_ord_id) = (order.client, order.cl_ord_id);
        let (account, side, exec_id) = (order.account, order.side(), self.exec_count);
        let commission = charges.commission;
        Some(Part { client, order_id, cl_ord_id, account, side, exec_id, commission })
    }

    /// A client's part of a trade was taken back, and its order is what is left.
    pub fn busted(
        &mut self,
        utc: Nanos,
        of: &Listing,
        trade: &ClientTrade,
        part: &Part,
        left: &Left,
    ) -> ExecutionReport<'static> {
        let qty = |lots: Lots| of.instrument.qty(lots).unwrap_or_default();
        ExecutionReport {
            order_id: LongText::from_u64(part.order_id.0),
            exec_ref_id: Some(LongText::from_u64(part.exec_id)),
            cl_ord_id: Some(left.cl_ord_id.into()),
            account: part.account.map(LongText::from),
            exec_type: ExecType::TradeCancel,
            ord_status: left.status,
            symbol: Some(of.symbol.into()),
            order_qty: left.order_lots.map(qty),
            last_qty: qty(trade.lots),
            last_price: Some(trade.price),
            leaves_qty: qty(left.open_lots),
            cum_qty: qty(left.traded),
            avg_price: Some(left.avg_price),
            text: b"the venue has taken the trade back",
            charges: Charges {
                commission: part.commission.map(|paid| Price(-paid.0)),
                ..Charges::NONE
            },
            ..blank(utc, self.next_exec_id(), part.side)
        }
    }

    #[cold]
    fn replaced(
        &mut self,
        utc: Nanos,
        of: &Listing,
        order_id: OrderId,
        orders: &mut ClientOrders,
        send: &mut impl FnMut(ClientId, &ExecutionReport<'_>),
    ) {
        let Some(former) = orders.replace(order_id) else { return };
        let Some(order) = orders.get(order_id) else { return };
        let report = ExecutionReport {
            exec_id: self.next_exec_id(),
            orig_cl_ord_id: Some(former.into()),
            exec_type: ExecType::Replaced,
            ..Self::status(utc, of, order)
        };
        send(order.client, &report);
    }

    fn report(
        &mut self,
        utc: Nanos,
        of: &Listing,
        order_id: OrderId,
        order: &ClientOrder,
        change: &Change<'_>,
        send: &mut impl FnMut(ClientId, &ExecutionReport<'_>),
    ) {
        let is_open = matches!(
            change.ord_status,
            OrdStatus::New | OrdStatus::PartiallyFilled | OrdStatus::Filled
        );
        let (cl_ord_id, orig_cl_ord_id) = match order.request {
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
            account: order.account.map(LongText::from),
            price: None,
            mass_status: None,
            charges: change.charges,
            cl_ord_id: Some(cl_ord_id.into()),
            orig_cl_ord_id: orig_cl_ord_id.map(LongText::from),
            exec_type: change.exec_type,
            ord_status: change.ord_status,
            symbol: Some(of.symbol.into()),
            side: order.side(),
            order_qty: Some(qty(order.order_lots())),
            last_qty: change.last.map_or(Qty::ZERO, |(_, lots)| qty(lots)),
            last_price: change.last.map(|(price, _)| price),
            leaves_qty: if is_open { qty(order.open_lots()) } else { Qty::ZERO },
            cum_qty: qty(order.traded),
            avg_price: Some(order.avg_price()),
            ord_rej_reason: change.refusal.map(|(code, _)| code),
            text: change.refusal.map_or(self.reason, |(_, text)| text).as_bytes(),
            transact_time: Some(utc),
        };
        send(order.client, &report);
    }

    fn next_exec_id(&mut self) -> LongText {
        self.exec_count = self.exec_count.saturating_add(1);
        LongText::from_u64(self.exec_count)
    }
}

impl Change<'_> {
    const fn plain(exec_type: ExecType, ord_status: OrdStatus) -> Self {
        Self { exec_type, ord_status, last: None, refusal: None, charges: Charges::NONE }
    }
}

/// A report that says nothing of an order.
fn blank(utc: Nanos, exec_id: LongText, side: Side) -> ExecutionReport<'static> {
    ExecutionReport {
        order_id: no_order_id(),
        exec_id,
        exec_ref_id: None,
        exec_trans_type: None,
        cl_ord_id: None,
        orig_cl_ord_id: None,
        account: None,
        exec_type: ExecType::OrderStatus,
        ord_status: OrdStatus::Rejected,
        symbol: None,
        side,
        order_qty: None,
        price: None,
        last_qty: Qty::ZERO,
        last_price: None,
        leaves_qty: Qty::ZERO,
        cum_qty: Qty::ZERO,
        avg_price: Some(Price(0)),
        ord_rej_reason: None,
        text: &[],
        transact_time: Some(utc),
        mass_status: None,
        charges: Charges::NONE,
    }
}

/// Price (44) of a limit order.
fn limit_price(of: &Listing, order: &ClientOrder) -> Option<Price> {
    match order.order.order_type {
        OrderType::Limit => of.instrument.price(order.order.price).ok(),
        OrderType::Market => None,
    }
}

/// OrdRejReason (103) and Text (58) for what the engine refuses.
pub const fn refusal(reason: RejectReason) -> (u32, &'static str) {
    match reason {
        RejectReason::NonPositiveLots => {
            (ord_rej_reason::INCORRECT_QUANTITY, "the quantity must be more than zero")
        }
        RejectReason::BadPrice => {
            (ord_rej_reason::OTHER, "the price must be more than zero and a whole number of ticks")
        }
        RejectReason::BadTrigger => (
            ord_rej_reason::OTHER,
            "the stop price must be more than zero and a whole number of ticks",
        ),
        RejectReason::PriceBand => {
            (ord_rej_reason::OTHER, "the price is too far from the last trade")
        }
        RejectReason::DuplicateOrderId => (ord_rej_reason::DUPLICATE, "the order is in the book"),
        RejectReason::BookFull => {
            (ord_rej_reason::EXCEEDS_LIMIT, "the book is full: cancel orders and try again")
        }
        RejectReason::WouldTrade => {
            (ord_rej_reason::OTHER, "the order is post-only and would trade at once")
        }
        RejectReason::BadDisplay => {
            (ord_rej_reason::OTHER, "MaxFloor must be from a thousandth of OrderQty to all of it")
        }
        RejectReason::Conflict => (ord_rej_reason::OTHER, "two terms of the order contradict"),
        RejectReason::UnknownOrderId => (ord_rej_reason::UNKNOWN_ORDER, "the order is over"),
        RejectReason::Closed => (ord_rej_reason::EXCHANGE_CLOSED, "the day is over"),
        RejectReason::NotInThisPhase => (
            ord_rej_reason::OTHER,
            "orders are collected for an auction, and this one cannot wait for it",
        ),
        RejectReason::Halted => (ord_rej_reason::EXCHANGE_CLOSED, "the instrument is halted"),
        _ => (ord_rej_reason::OTHER, "the engine refused the order"),
    }
}
