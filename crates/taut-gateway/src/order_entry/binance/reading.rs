//! What the venue says of orders, as events.

use std::collections::VecDeque;

use taut_fix::{Charges, Currency, Liquidity, LongText};
use taut_market_data::MarketDataError;
use taut_oms::{ExecId, OrderEvent as E, OrderState as S};
use taut_order_entry::binance::{Execution, ExecutionKind, Order, OrderStatus, read_orders};
use taut_types::{ClientOrderId, Nanos, Price, Qty, RequestId};

use super::known::{Following, KnownOrders, plus};
use super::name::{LegEnd, Named, read};
use crate::order_entry::handler::{OfAll, VenueEvent, VenueReport};

/// Events of a message that there is room for: a longer list of orders allocates.
const EVENTS: usize = 256;

/// Events that are still to be told.
#[derive(Debug)]
pub(super) struct Reading {
    events: VecDeque<VenueEvent>,
}

/// What an order in an answer is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum As {
    /// The answer to a cancel.
    Cancelled(RequestId),
    /// The answer to the question where it stands, under a name before which so much had traded.
    Stands(RequestId, i64),
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

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn forget(&mut self) {
        self.events.clear();
    }

    /// The venue has an order, which may be news: then it is accepted, or the one before it is
    /// replaced, whatever comes first, so that no trade is counted in the one before it.
    pub(super) fn heard(&mut self, request: RequestId, venue_id: u64, known: &mut KnownOrders) {
        let order = request.order;
        let is_in_place = known.identify(request, venue_id) == Some(true);
        if known.is_heard_first(order) {
            self.accepted(order, venue_id);
        }
        if is_in_place {
            self.replaced(request, Some(venue_id));
        }
    }

    /// The venue has an order.
    pub(super) fn accepted(&mut self, order: ClientOrderId, venue_id: u64) {
        self.report(VenueReport {
            request: Some(RequestId::create(order)),
            event: Some(E::Accepted),
            venue_id: text_of(venue_id),
            ..VenueReport::NOTHING
        });
    }

    /// A request was granted that makes another order of this one.
    pub(super) fn replaced(&mut self, request: RequestId, venue_id: Option<u64>) {
        self.report(VenueReport {
            request: Some(request),
            event: Some(E::Replaced),
            venue_id: venue_id.and_then(text_of),
            ..VenueReport::NOTHING
        });
    }

    /// An order is over: the request that was to replace it ended it alone.
    pub(super) fn cancelled(&mut self, request: RequestId) {
        self.report(VenueReport {
            request: Some(request),
            event: Some(E::Cancelled),
            ..VenueReport::NOTHING
        });
    }

    /// An order is between two of the venue's.
    pub(super) fn stands_still(&mut self, request: RequestId) {
        self.report(VenueReport {
            request: Some(unversioned(request.order)),
            event: Some(E::Status(S::Working)),
            is_answer: true,
            ..VenueReport::NOTHING
        });
    }

    pub(super) fn not_found(&mut self, request: RequestId) {
        self.report(VenueReport {
            request: Some(unversioned(request.order)),
            event: Some(E::NotFound),
            is_answer: true,
            ..VenueReport::NOTHING
        });
    }

    /// Something happened to an order; what is to be placed now that it has.
    pub(super) fn execution(
        &mut self,
        execution: &Execution<'_>,
        known: &mut KnownOrders,
    ) -> Option<Following> {
        use ExecutionKind as K;
        let named = read(execution.name);
        let (order, before) = match named {
            Some(Named::Plain { request, before }) if execution.original_name.is_empty() => {
                (Some(request), before)
            }
            // A cancel, an amendment, somebody else's cancel of an order of ours.
            _ => match read(execution.original_name) {
                Some(Named::Plain { request, before }) => (Some(request), before),
                _ => (None, 0),
            },
        };
        let Some(ours) = order else {
            // Another client of the account: its trades are told, its orders are its own.
            if execution.kind == K::Trade {
                self.trade(None, 0, execution);
            }
            return None;
        };
        if execution.kind != K::Rejected {
            self.heard(ours, execution.id, known);
        }
        let is_end = execution.kind == K::Canceled;
        match (execution.kind, named) {
            (K::Canceled, Some(Named::End(request, LegEnd::Replaced))) => {
                known.ended_by(request);
                return None;
            }
            (K::Canceled, Some(Named::End(request, LegEnd::MadeWay))) => {
                if !known.makes_way(request) {
                    return None;
                }
                let following = known.follow(ours.order, None);
                let following = following.filter(|following| following.request == request);
                let traded = execution.executed.and_then(|part| plus(part, before));
                match (following, traded) {
                    (Some(following), Some(traded)) => {
                        return Some(Following { before: traded.mantissa, ..following });
                    }
                    // It was cancelled in the meantime: its end is one.
                    _ => self.happened(unversioned(ours.order), before, E::Cancelled, execution),
                }
            }
            (K::Trade, _) => {
                known.traded(ours.order);
                self.trade(Some(unversioned(ours.order)), before, execution);
            }
            (K::Rejected, _) => self.happened(ours, before, E::Rejected, execution),
            _ => {
                let by = match named {
                    Some(Named::Plain { request, .. }) if is_end => request,
                    _ => unversioned(ours.order),
                };
                let event = match (execution.kind, report_of(execution.status)) {
                    (K::Canceled, _) => Some(E::Cancelled),
                    (K::Expired | K::TradePrevention, Some(state)) if state.is_done() => {
                        Some(E::Expired)
                    }
                    (_, state) => state.map(E::Status),
                };
                match event {
                    Some(event) => self.happened(by, before, event, execution),
                    None => self.strange(ours.order),
                }
            }
        }
        None
    }

    fn trade(&mut self, request: Option<RequestId>, before: i64, execution: &Execution<'_>) {
        let (Some(last), Some(price)) = (execution.last, execution.last_price) else {
            self.push(VenueEvent::Unreadable(request));
            return;
        };
        self.report(VenueReport {
            request,
            event: Some(E::Traded),
            told: report_of(execution.status),
            last,
            price: Some(price),
            total: execution.executed.and_then(|part| plus(part, before)),
            exec_id: exec_id(execution),
            venue_id: text_of(execution.id),
            exchange_time: utc(execution.time_ms),
            charges: charges(execution),
            ..VenueReport::NOTHING
        });
    }

    fn happened(&mut self, request: RequestId, before: i64, event: E, execution: &Execution<'_>) {
        self.report(VenueReport {
            request: Some(request),
            event: Some(event),
            told: report_of(execution.status),
            total: execution.executed.and_then(|part| plus(part, before)),
            venue_id: text_of(execution.id),
            exchange_time: utc(execution.time_ms),
            reject: execution.reject(),
            ..VenueReport::NOTHING
        });
    }

    fn strange(&mut self, order: ClientOrderId) {
        self.report(VenueReport {
            request: Some(unversioned(order)),
            is_strange: true,
            ..VenueReport::NOTHING
        });
    }

    /// An order in an answer.
    pub(super) fn order(&mut self, order: &Order<'_>, asked: As, known: &mut KnownOrders) {
        let name = match asked {
            As::Cancelled(_) => order.original_name,
            As::Stands(..) | As::OfAll => order.name,
        };
        // An order that was cancelled has its cancel's name here and there.
        let (request, before) = match (read(name), asked) {
            (Some(Named::Plain { request, before: 0 }), As::Stands(_, before)) => {
                (Some(request), before)
            }
            (Some(Named::Plain { request, before }), _) => (Some(request), before),
            (_, As::Stands(asked, before)) => (Some(unversioned(asked.order)), before),
            (_, As::Cancelled(asked)) => (Some(unversioned(asked.order)), 0),
            (_, As::OfAll) => (None, 0),
        };
        let told = report_of(order.status);
        if let Some(ours) = request.filter(|_| asked == As::OfAll && told == Some(S::Working)) {
            known.listed(ours, before, order.id);
        }
        if let Some(ours) = request.filter(|_| told != Some(S::Rejected)) {
            self.heard(ours, order.id, known);
        }
        let executed = order.executed.and_then(|part| plus(part, before));
        if let Some(ours) = request.filter(|_| executed.is_some_and(|it| it.mantissa > 0)) {
            known.traded(ours.order);
        }
        let (request, event) = match asked {
            As::Cancelled(cancel) => (Some(cancel), Some(E::Cancelled)),
            As::Stands(..) | As::OfAll => (request, told.map(E::Status)),
        };
        self.report(VenueReport {
            request,
            event,
            is_answer: matches!(asked, As::Stands(..) | As::OfAll),
            told,
            is_strange: told.is_none(),
            of_all: if asked == As::OfAll { OfAll::One } else { OfAll::No },
            total: executed,
            average: average(order).filter(|_| before == 0),
            order_qty: order.quantity.and_then(|part| plus(part, before)),
            order_price: order.price,
            venue_id: text_of(order.id),
            exchange_time: utc(order.time_ms),
            ..VenueReport::NOTHING
        });
    }

    /// The answer to the question about all orders, all of it.
    pub(super) fn all(
        &mut self,
        body: &[u8],
        known: &mut KnownOrders,
    ) -> Result<(), MarketDataError> {
        let mut count = 0_u32;
        known.begin_list();
        read_orders(body, |order| {
            count += 1;
            self.order(&order, As::OfAll, known);
        })?;
        if count == 0 {
            let of_all = OfAll::Nothing;
            self.report(VenueReport { of_all, ..VenueReport::NOTHING });
        }
        self.push(VenueEvent::AllTold);
        Ok(())
    }

    fn report(&mut self, report: VenueReport) {
        self.push(VenueEvent::Report(report));
    }
}

/// The order alone: whatever is under way may be meant.
pub(super) const fn unversioned(order: ClientOrderId) -> RequestId {
    RequestId { order, version: 0 }
}

/// Where an order is; nothing for a word that nobody documented.
pub(super) const fn report_of(status: OrderStatus) -> Option<S> {
    match status {
        OrderStatus::New | OrderStatus::PartiallyFilled => Some(S::Working),
        OrderStatus::Filled => Some(S::Filled),
        OrderStatus::Canceled => Some(S::Cancelled),
        OrderStatus::Rejected => Some(S::Rejected),
        OrderStatus::Expired | OrderStatus::ExpiredInMatch => Some(S::Expired),
        OrderStatus::Other => None,
    }
}

/// Trades are numbered symbol by symbol.
fn exec_id(execution: &Execution<'_>) -> ExecId {
    let Some(number) = execution.trade_id else { return ExecId::NONE };
    let mut room = [0; 64];
    let length = room.len();
    let mut rest = &mut room[..];
    let written = std::io::Write::write_all(&mut rest, execution.symbol)
        .and_then(|()| std::io::Write::write_fmt(&mut rest, format_args!("-{number}")));
    let left = rest.len();
    match written {
        Ok(()) => ExecId::new(room.get(..length - left).unwrap_or_default()),
        Err(_) => ExecId::NONE,
    }
}

/// What a trade costs, in an asset of its own.
fn charges(execution: &Execution<'_>) -> Charges {
    let fee = execution.commission.and_then(|fee| fee.with_decimals(Price::DECIMALS));
    let is_named = !execution.commission_asset.is_empty();
    Charges {
        commission: fee.filter(|_| is_named).map(|fee| Price(fee.mantissa)),
        comm_currency: Currency::new(execution.commission_asset).filter(|_| is_named),
        liquidity: Some(if execution.is_maker { Liquidity::Maker } else { Liquidity::Taker }),
        ..Charges::NONE
    }
}

/// The average price of what has traded.
fn average(order: &Order<'_>) -> Option<Price> {
    let (worth, executed): (Qty, Qty) = (order.worth?, order.executed?);
    let scale = i128::from(10_i64.pow(u32::from(Price::DECIMALS)));
    let worth = i128::from(worth.mantissa) * scale;
    let average = worth.checked_div(i128::from(executed.mantissa))?;
    i64::try_from(average).ok().map(Price)
}

/// An id of ours, or one of the venue's: digits.
pub(super) fn number(id: &[u8]) -> Option<u64> {
    std::str::from_utf8(id).ok()?.parse().ok()
}

fn text_of(id: u64) -> Option<LongText> {
    let mut room = [0; 20];
    let mut rest = &mut room[..];
    std::io::Write::write_fmt(&mut rest, format_args!("{id}")).ok()?;
    let left = rest.len();
    LongText::new(room.get(..room.len() - left)?)
}

fn utc(milliseconds: Option<u64>) -> Nanos {
    let milliseconds = milliseconds.and_then(|ms| i64::try_from(ms).ok()).unwrap_or(0);
    Nanos(milliseconds.saturating_mul(1_000_000))
}
