//! What the venue says of orders, as events.

use std::collections::VecDeque;

use taut_fix::{Charges, Currency, Liquidity, LongText};
use taut_market_data::MarketDataError;
use taut_oms::{ExecId, OrderEvent as E, OrderState as S};
use taut_order_entry::deribit::{
    self as venue, Change, Fill, Order, OrderState, read_changes, read_positions,
};
use taut_types::{ClientOrderId, Nanos, Price, Qty, RequestId, Side};

use super::super::known::KnownOrders;
use crate::order_entry::handler::{OfAll, VenueEvent, VenuePosition, VenueReport};

/// Events of a message that there is room for: a longer list of orders allocates.
const EVENTS: usize = 256;

/// Events that are still to be told.
#[derive(Debug)]
pub(super) struct Reading {
    events: VecDeque<VenueEvent>,
}

/// What an order in a message is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum As {
    /// Nobody asked.
    Notification,
    /// The answer to a new order.
    Placed(RequestId),
    /// The answer to an edit.
    Edited(RequestId),
    /// The answer to a cancel.
    Cancelled(RequestId),
    /// The answer to the question where it stands.
    Stands(RequestId),
    /// One of the answers to the question about all.
    OfAll,
}

impl Reading {
    pub(super) fn new() -> Self {
        Self { events: VecDeque::with_capacity(EVENTS) }
    }

    pub(super) fn push(&mut self, event: VenueEvent) {
        self.events.push_back(event);
    }

    pub(super) fn next(&mut self) -> Option<VenueEvent> {
        self.events.pop_front()
    }

    pub(super) fn forget(&mut self) {
        self.events.clear();
    }

    /// Orders and trades of one step of the matching engine. An order that is heard of for the
    /// first time is accepted before its trades; its total goes with each of them.
    pub(super) fn changes(
        &mut self,
        body: &[u8],
        asked: As,
        known: &mut KnownOrders,
    ) -> Result<(), MarketDataError> {
        let mut told = Ok(());
        // The orders stand behind the trades; what a trade needs of its order is looked up there.
        read_changes(body, |change| match change {
            Change::Fill(fill) => {
                let mut of = None;
                let again = read_changes(body, |change| match change {
                    Change::Order(order) if order.order_id == fill.order_id => of = Some(order),
                    _ => {}
                });
                told = told.and(again);
                self.fill(&fill, of.as_ref(), known);
            }
            Change::Order(order) => self.order(&order, asked, known),
        })?;
        told
    }

    /// What the account holds of these instruments, by the venue's name and our symbol.
    pub(super) fn positions(
        &mut self,
        body: &[u8],
        symbols: &[(String, LongText)],
    ) -> Result<(), MarketDataError> {
        read_positions(body, |position| {
            let is_it = |(name, _): &&(String, LongText)| name.as_bytes() == position.instrument;
            let Some((_, symbol)) = symbols.iter().find(is_it) else { return };
            let held = |of| position.size.filter(|_| position.side == Some(of));
            self.events.push_back(VenueEvent::Position(VenuePosition {
                account: None,
                symbol: *symbol,
                long: held(Side::Buy).unwrap_or(Qty::ZERO),
                short: held(Side::Sell).unwrap_or(Qty::ZERO),
                price: position.settlement_price.unwrap_or(Price(0)),
            }));
        })?;
        self.push(VenueEvent::AllPositionsTold);
        Ok(())
    }

    fn fill(&mut self, fill: &Fill<'_>, of: Option<&Order<'_>>, known: &mut KnownOrders) {
        let label = of.map_or(fill.label, |order| order.label);
        let order = order_of(label, fill.order_id, known);
        if let Some(order) = order.filter(|_| of.is_some()) {
            self.heard(order, fill.order_id, known);
        }
        let (Some(last), Some(price)) = (fill.amount, fill.price) else {
            self.push(VenueEvent::Unreadable(order.map(unversioned)));
            return;
        };
        let total = of.and_then(|order| order.filled);
        // Open is said before the answer to an edit that made it larger: what was whole is not.
        let told = of.and_then(|order| state(order.state)).filter(|state| !state.is_done());
        self.push(VenueEvent::Report(VenueReport {
            request: order.map(unversioned),
            // Without its order nobody knows whether it is counted already: that is asked for.
            event: total.map(|_| E::Traded),
            is_strange: total.is_none(),
            told,
            last,
            price: Some(price),
            total,
            exec_id: ExecId::new(fill.trade_id),
            venue_id: LongText::new(fill.order_id),
            exchange_time: utc(fill.time_ms),
            charges: charges(fill),
            ..VenueReport::NOTHING
        }));
    }

    /// Something of an order that may be new: then it is accepted.
    fn heard(&mut self, order: ClientOrderId, venue_id: &[u8], known: &mut KnownOrders) {
        let is_new = known.expects(order);
        known.name(order, venue_id);
        if is_new {
            self.push(VenueEvent::Report(VenueReport {
                request: Some(RequestId::create(order)),
                event: Some(E::Accepted),
                venue_id: LongText::new(venue_id),
                ..VenueReport::NOTHING
            }));
        }
    }

    pub(super) fn order(&mut self, order: &Order<'_>, asked: As, known: &mut KnownOrders) {
        let ours = match asked {
            As::Placed(request)
            | As::Edited(request)
            | As::Cancelled(request)
            | As::Stands(request) => Some(request.order),
            As::Notification | As::OfAll => order_of(order.label, order.order_id, known),
        };
        if ours.is_none() && asked == As::Notification {
            // Another client of the account: its trades are told, its orders are its own.
            return;
        }
        let told = state(order.state);
        if let Some(ours) = ours.filter(|_| told != Some(S::Rejected)) {
            self.heard(ours, order.order_id, known);
        }
        let (request, event) = match (asked, told) {
            (As::Stands(_) | As::OfAll, Some(state)) => {
                (ours.map(unversioned), Some(E::Status(state)))
            }
            (As::Placed(request), Some(S::Working | S::Filled)) => {
                (Some(request), Some(E::Accepted))
            }
            (As::Edited(request), Some(S::Working | S::Filled)) => {
                (Some(request), Some(E::Replaced))
            }
            (As::Cancelled(request) | As::Edited(request), Some(S::Cancelled)) => {
                (Some(request), Some(E::Cancelled))
            }
            (_, Some(state)) => (ours.map(unversioned), Some(E::Status(state))),
            (_, None) => (ours.map(unversioned), None),
        };
        let is_answer = matches!(asked, As::Stands(_) | As::OfAll);
        self.push(VenueEvent::Report(VenueReport {
            request,
            event,
            is_answer,
            told,
            is_strange: told.is_none(),
            of_all: if asked == As::OfAll { OfAll::One } else { OfAll::No },
            total: order.filled.or(Some(Qty::ZERO).filter(|_| is_answer)),
            average: order.average,
            order_qty: order.amount,
            order_price: order.price,
            venue_id: LongText::new(order.order_id),
            exchange_time: utc(order.updated_ms),
            ..VenueReport::NOTHING
        }));
    }

    /// The answer to the question about all orders, all of it.
    pub(super) fn all(
        &mut self,
        body: &[u8],
        known: &mut KnownOrders,
    ) -> Result<(), MarketDataError> {
        let mut count = 0_u32;
        venue::read_orders(body, |order| {
            count += 1;
            self.order(&order, As::OfAll, known);
        })?;
        if count == 0 {
            let of_all = OfAll::Nothing;
            self.push(VenueEvent::Report(VenueReport { of_all, ..VenueReport::NOTHING }));
        }
        self.push(VenueEvent::AllTold);
        Ok(())
    }

    /// The answer to the question about one order by its label. Labels of ours are not used twice;
    /// of a stop and what it became, the one that is not over counts.
    pub(super) fn by_label(
        &mut self,
        body: &[u8],
        request: RequestId,
        known: &mut KnownOrders,
    ) -> Result<(), MarketDataError> {
        let mut found = None;
        venue::read_orders(body, |order| {
            let is_over = |order: &Order<'_>| state(order.state).is_none_or(S::is_done);
            if found.as_ref().is_none_or(is_over) {
                found = Some(order);
            }
        })?;
        match found {
            Some(order) => self.order(&order, As::Stands(request), known),
            None => self.not_found(request),
        }
        Ok(())
    }

    pub(super) fn not_found(&mut self, request: RequestId) {
        self.push(VenueEvent::Report(VenueReport {
            request: Some(unversioned(request.order)),
            event: Some(E::NotFound),
            is_answer: true,
            ..VenueReport::NOTHING
        }));
    }
}

/// The order alone: whatever is under way may be meant.
pub(super) const fn unversioned(order: ClientOrderId) -> RequestId {
    RequestId { order, version: 0 }
}

/// By our own name, or by the venue's.
fn order_of(label: &[u8], venue_id: &[u8], known: &KnownOrders) -> Option<ClientOrderId> {
    let ours = RequestId::from_text(label).map(|request| request.order);
    ours.or_else(|| known.order_of(venue_id))
}

/// An order whose trigger has not come, or has just come, works.
const fn state(state: OrderState) -> Option<S> {
    match state {
        OrderState::Open | OrderState::Untriggered | OrderState::Triggered => Some(S::Working),
        OrderState::Filled => Some(S::Filled),
        OrderState::Rejected => Some(S::Rejected),
        OrderState::Cancelled => Some(S::Cancelled),
        OrderState::Other => None,
    }
}

/// What a trade costs, in a currency of its own.
fn charges(fill: &Fill<'_>) -> Charges {
    let fee = fill.fee.and_then(|fee| fee.with_decimals(Price::DECIMALS));
    let liquidity = fill.is_maker.map(|is_maker| match is_maker {
        true => Liquidity::Maker,
        false => Liquidity::Taker,
    });
    Charges {
        commission: fee.map(|fee| Price(fee.mantissa)),
        comm_currency: Currency::new(fill.fee_currency).filter(|name| !name.as_bytes().is_empty()),
        is_mixed: fill.fee.is_some() && fee.is_none(),
        liquidity,
        ..Charges::NONE
    }
}

fn utc(milliseconds: Option<u64>) -> Nanos {
    let milliseconds = milliseconds.and_then(|ms| i64::try_from(ms).ok()).unwrap_or(0);
    Nanos(milliseconds.saturating_mul(1_000_000))
}
