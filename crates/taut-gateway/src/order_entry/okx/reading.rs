//! What the venue says of orders, as events.

use std::collections::VecDeque;

use taut_fix::{Charges, Currency, Liquidity, LongText};
use taut_market_data::MarketDataError;
use taut_oms::{ExecId, OrderEvent as E, OrderState as S, RequestKind};
use taut_order_entry::okx::{Order, OrderState, read_orders, read_positions, reject};
use taut_types::{ClientOrderId, Nanos, Price, Qty, RequestId};

use crate::order_entry::handler::{ChangeRefused, OfAll, VenueEvent, VenuePosition, VenueReport};
use crate::order_entry::places::OrderPlaces;

/// Events of a message that there is room for: a longer list of orders allocates.
const EVENTS: usize = 256;

/// An order of ours that is not over.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KnownOrder {
    pub(super) venue_id: Option<LongText>,
    /// The gateway was told that the venue has it.
    pub(super) is_heard: bool,
    /// The newest amendment whose outcome was told.
    pub(super) amended: u16,
    /// When the last request about it left; 0 when an earlier process sent it.
    pub(super) sent_at: Nanos,
}

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
    /// The answer to the question where it stands.
    Stands(RequestId),
    /// One of the answers to the question about all.
    OfAll,
}

/// An answer to the question about all orders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) orders: u32,
    /// The venue's name of the last one.
    pub(super) last: Option<LongText>,
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

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn forget(&mut self) {
        self.events.clear();
    }

    /// Orders that a message tells.
    pub(super) fn orders(
        &mut self,
        data: &[u8],
        told: As,
        known: &mut OrderPlaces<KnownOrder>,
    ) -> Result<(), MarketDataError> {
        read_orders(data, |order| self.order(&order, told, known))
    }

    /// A page of all open orders.
    pub(super) fn open(
        &mut self,
        data: &[u8],
        known: &mut OrderPlaces<KnownOrder>,
    ) -> Result<Page, MarketDataError> {
        let mut page = Page { orders: 0, last: None };
        read_orders(data, |order| {
            page.orders += 1;
            page.last = LongText::new(order.order_id);
            self.order(&order, As::OfAll, known);
        })?;
        Ok(page)
    }

    /// What the account holds of these instruments, by the venue's names and our symbols.
    pub(super) fn positions(
        &mut self,
        data: &[u8],
        (names, symbols): (&[String], &[LongText]),
    ) -> Result<(), MarketDataError> {
        read_positions(data, |position| {
            let mut all = names.iter().zip(symbols);
            let named = all.find(|(name, _)| name.as_bytes() == position.instrument);
            let Some((_, symbol)) = named else { return };
            let held = Qty { mantissa: position.size.mantissa.saturating_abs(), ..position.size };
            let (long, short) = match position.size.mantissa < 0 {
                true => (Qty::ZERO, held),
                false => (held, Qty::ZERO),
            };
            self.events.push_back(VenueEvent::Position(VenuePosition {
                account: None,
                symbol: *symbol,
                long,
                short,
                price: position.mark_price.unwrap_or(Price(0)),
            }));
        })?;
        self.push(VenueEvent::AllPositionsTold);
        Ok(())
    }

    /// There are no open orders.
    pub(super) fn nothing_open(&mut self) {
        let of_all = OfAll::Nothing;
        self.push(VenueEvent::Report(VenueReport { of_all, ..VenueReport::NOTHING }));
    }

    pub(super) fn not_found(&mut self, request: RequestId) {
        self.push(VenueEvent::Report(VenueReport {
            request: Some(unversioned(request.order)),
            event: Some(E::NotFound),
            is_answer: true,
            ..VenueReport::NOTHING
        }));
    }

    /// The venue has an order. When that is news, it is accepted.
    pub(super) fn heard(
        &mut self,
        order: ClientOrderId,
        venue_id: &[u8],
        known: &mut OrderPlaces<KnownOrder>,
    ) {
        let Some(known) = known.get_mut(order) else { return };
        known.venue_id =
            LongText::new(venue_id).filter(|id| !id.as_bytes().is_empty()).or(known.venue_id);
        if !std::mem::replace(&mut known.is_heard, true) {
            self.push(VenueEvent::Report(VenueReport {
                request: Some(RequestId::create(order)),
                event: Some(E::Accepted),
                venue_id: known.venue_id,
                ..VenueReport::NOTHING
            }));
        }
    }

    fn order(&mut self, order: &Order<'_>, told: As, known: &mut OrderPlaces<KnownOrder>) {
        let ours = match told {
            As::Stands(request) => Some(request.order),
            As::Notification | As::OfAll => RequestId::from_text(order.name).map(|it| it.order),
        };
        let state = state(order.state);
        if let Some(ours) = ours {
            self.heard(ours, order.order_id, known);
        }
        let is_answer = told != As::Notification;
        if told == As::Notification && !order.trade_id.is_empty() && order.fill_qty.is_some() {
            self.trade(order, ours);
        }
        if ours.is_none() && told == As::Notification {
            // Another client of the account: its trades are told, its orders are its own.
            return;
        }
        let amended = ours.and_then(|ours| self.amended(order, ours, state, known));
        let (request, event) = match (amended, state) {
            (Some(request), Some(S::Working)) => (Some(request), Some(E::Replaced)),
            (_, Some(state)) => (ours.map(unversioned), Some(E::Status(state))),
            (_, None) => (ours.map(unversioned), None),
        };
        self.push(VenueEvent::Report(VenueReport {
            request,
            event,
            is_answer,
            told: state,
            is_strange: state.is_none(),
            of_all: if told == As::OfAll { OfAll::One } else { OfAll::No },
            total: order.filled.or(Some(Qty::ZERO).filter(|_| is_answer)),
            average: order.average,
            order_qty: order.qty,
            order_price: order.price,
            venue_id: LongText::new(order.order_id),
            exchange_time: utc(order.updated_ms),
            ..VenueReport::NOTHING
        }));
    }

    /// The request to amend an order that was done, if that is news. One that was refused is told.
    fn amended(
        &mut self,
        order: &Order<'_>,
        ours: ClientOrderId,
        state: Option<S>,
        known: &mut OrderPlaces<KnownOrder>,
    ) -> Option<RequestId> {
        let request = RequestId::from_text(order.amend_request).filter(|it| it.order == ours)?;
        let known = known.get_mut(ours)?;
        if order.amend_result.is_empty() || request.version <= known.amended {
            return None;
        }
        known.amended = request.version;
        if order.amend_result == b"0" {
            return Some(request);
        }
        self.push(VenueEvent::ChangeRefused(ChangeRefused {
            request: Some(request),
            kind: Some(RequestKind::Modify),
            told: state,
            is_over: state.is_some_and(S::is_done),
            venue_id: LongText::new(order.order_id),
            reject: reject(order.code.unwrap_or(0)),
        }));
        None
    }

    fn trade(&mut self, order: &Order<'_>, ours: Option<ClientOrderId>) {
        let (Some(last), Some(price)) = (order.fill_qty, order.fill_price) else {
            self.push(VenueEvent::Unreadable(ours.map(unversioned)));
            return;
        };
        self.push(VenueEvent::Report(VenueReport {
            request: ours.map(unversioned),
            // Without the total nobody knows whether it is counted already: that is asked for.
            event: order.filled.map(|_| E::Traded),
            // Open is said before the amendment that made it larger: what was whole is not.
            told: state(order.state).filter(|state| !state.is_done()),
            is_strange: order.filled.is_none(),
            last,
            price: Some(price),
            total: order.filled,
            exec_id: ExecId::new(order.trade_id),
            venue_id: LongText::new(order.order_id),
            exchange_time: utc(order.traded_ms.or(order.updated_ms)),
            charges: charges(order),
            ..VenueReport::NOTHING
        }));
    }
}

/// The order alone: whatever is under way may be meant.
const fn unversioned(order: ClientOrderId) -> RequestId {
    RequestId { order, version: 0 }
}

const fn state(state: OrderState) -> Option<S> {
    match state {
        OrderState::Open => Some(S::Working),
        OrderState::Filled => Some(S::Filled),
        OrderState::Cancelled => Some(S::Cancelled),
        OrderState::Other => None,
    }
}

/// What a trade costs: the venue has it below zero.
fn charges(order: &Order<'_>) -> Charges {
    let fee = order.fee.and_then(|fee| fee.with_decimals(Price::DECIMALS));
    let fee = fee.and_then(|fee| fee.mantissa.checked_neg()).map(Price);
    let liquidity = order.is_maker.map(|is_maker| match is_maker {
        true => Liquidity::Maker,
        false => Liquidity::Taker,
    });
    Charges {
        commission: fee,
        comm_currency: Currency::new(order.fee_currency).filter(|it| !it.as_bytes().is_empty()),
        is_mixed: order.fee.is_some() && fee.is_none(),
        liquidity,
        ..Charges::NONE
    }
}

fn utc(milliseconds: Option<u64>) -> Nanos {
    let milliseconds = milliseconds.and_then(|ms| i64::try_from(ms).ok()).unwrap_or(0);
    Nanos(milliseconds.saturating_mul(1_000_000))
}
