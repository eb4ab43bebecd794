//! Requests about orders that stand: replacement, status, and all of them at once.

use std::borrow::Cow;

use taut_engine::{Command, Event, ReplaceMode};
use taut_fix::{
    CancelRejectReason, ExecutionReport, LongText, MassCancelType, MassStatus, MassStatusType,
    NewOrderSingle, Now, OrderCancelReject, OrderCancelReplaceRequest, OrderMassCancelReport,
    OrderMassCancelRequest, OrderMassStatusRequest, OrderStatusRequest, ResponseTo,
};
use taut_io::Kernel;
use taut_types::{Lots, OrderId, Side};

use crate::clients::ClientIo;
use crate::entry::{Refusal, check_order};
use crate::exchange::{Exchange, open_order};
use crate::identity::ClientId;
use crate::orders::{ClientOrder, Known};
use crate::reports::{Reporter, no_order_id, refusal};

/// MassCancelRejectReason (532): an unknown security, and anything else.
const UNKNOWN_SECURITY: u32 = 1;
const OTHER: u32 = 99;

/// Why a replacement is refused.
type Refused = (CancelRejectReason, Cow<'static, str>);

impl Exchange {
    /// Answers an OrderCancelReplaceRequest: replaced, or a cancel reject. The new OrderQty is the
    /// order's total: what has traded counts in it, and one that has traded already cancels the
    /// rest. The order keeps its place when nothing but its quantity changes, and that falls.
    pub fn replace(
        &mut self,
        now: Now,
        client: ClientId,
        request: &OrderCancelReplaceRequest,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) {
        self.counters.replace_requests += 1;
        let orig = self.orders.known_ever(client, &request.orig_cl_ord_id);
        let other = |refusal: Refusal| (CancelRejectReason::Other, refusal.text.into());
        let admitted = self.admit(now, client).map_err(other);
        let vetted = admitted.and_then(|()| self.vet(client, orig, request));
        self.orders.note(client, request.order.cl_ord_id, Known::Request);
        let refused = match vetted {
            Ok((order_id, replacement)) => {
                let Some(order) = self.orders.get_mut(order_id) else { return };
                order.request = Some(request.order.cl_ord_id);
                order.replacement = Some((replacement, request.order.account));
                let place = order.place;
                let shown = self.book(place).and_then(|book| book.order(order_id));
                let shown = shown.map_or(Lots::ZERO, |it| it.lots);
                self.publisher.expect_replacement((order_id, shown));
                if replacement.terms.display() > Lots::ZERO {
                    self.publisher.watch_iceberg(order_id);
                }
                let (order, mode) = (replacement, ReplaceMode::InFlight);
                self.execute(now, place, &Command::Replace { order, mode }, clients);
                let Some(&Event::ReplaceRejected { reason, .. }) = self.first_event() else {
                    self.counters.replaces += 1;
                    return;
                };
                if let Some(order) = self.orders.get_mut(order_id) {
                    (order.request, order.replacement) = (None, None);
                }
                (CancelRejectReason::Other, Cow::Borrowed(refusal(reason).1))
            }
            Err(refused) => refused,
        };
        self.counters.replace_rejects += 1;
        let (order_id, ord_status) = self.standing(orig);
        let reject = OrderCancelReject {
            order_id,
            cl_ord_id: request.order.cl_ord_id.into(),
            orig_cl_ord_id: Some(request.orig_cl_ord_id.into()),
            ord_status,
            response_to: ResponseTo::ReplaceRequest,
            reason: Some(refused.0),
            text: refused.1.as_bytes(),
        };
        clients.send(self.stamp(now), client, &reject);
    }

    /// The order that a replacement names, and what becomes of it.
    fn vet(
        &self,
        client: ClientId,
        orig: Option<Known>,
        request: &OrderCancelReplaceRequest,
    ) -> Result<(OrderId, taut_engine::NewOrder), Refused> {
        let wanted = &request.order;
        if self.orders.known(client, &wanted.cl_ord_id).is_some() {
            let text = "the ClOrdID has been used before";
            return Err((CancelRejectReason::DuplicateClOrdId, text.into()));
        }
        let order_id = open_order(orig).map_err(|(reason, text)| (reason, text.into()))?;
        let Some(order) = self.orders.get(order_id) else {
            return Err((CancelRejectReason::TooLateToCancel, "the order is over".into()));
        };
        // What has been triggered does not wait again.
        let stop_price = wanted.stop_price.filter(|_| !order.is_triggered);
        let wanted = &NewOrderSingle { stop_price, ..*wanted };
        let checked = check_order(&self.listings, self.post_only, wanted);
        let (place, entered) =
            checked.map_err(|refusal| (CancelRejectReason::Other, refusal.text.into()))?;
        let other = |text: &'static str| Err((CancelRejectReason::Other, text.into()));
        if place != order.place {
            return other("the order is of another Symbol");
        }
        if wanted.side != order.side() {
            return other("the order is on the other Side");
        }
        if entered.order_type != order.order.order_type {
            return other("the order is of another OrdType");
        }
        self.check_limits(client, place, &entered, true)
            .map_err(|refusal| (CancelRejectReason::Other, refusal.text.into()))?;
        let (order_id, owner) = (order.order.order_id, order.order.owner);
        // What was taken back is traded to the engine.
        let lots = Lots(entered.lots.0.saturating_add(order.busted.0));
        Ok((order_id, taut_engine::NewOrder { order_id, owner, lots, ..entered }))
    }

    /// Answers an OrderStatusRequest.
    pub fn status(
        &mut self,
        now: Now,
        client: ClientId,
        request: &OrderStatusRequest,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) {
        let now = self.stamp(now);
        let (utc, id) = (now.utc, request.cl_ord_id);
        let known = self.orders.known_ever(client, &id);
        let report = match known {
            Some(Known::Open(order_id) | Known::Former(order_id)) => {
                self.orders.get(order_id).map(|order| self.status_of(now, order))
            }
            Some(Known::Done(done)) => {
                Some(Reporter::done(utc, &self.listings.all()[done.place], id, &done))
            }
            Some(Known::Refused | Known::Request) | None => None,
        };
        let (symbol, side) = (Some(request.symbol), request.side);
        let none = || Reporter::nothing(utc, Some(id), symbol, side, None);
        clients.send(now, client, &report.unwrap_or_else(none));
    }

    /// Answers an OrderMassStatusRequest: a report for each open order, or one that says that there
    /// is none.
    pub fn mass_status(
        &mut self,
        now: Now,
        client: ClientId,
        request: &OrderMassStatusRequest,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) {
        let now = self.stamp(now);
        let only = match request.scope {
            MassStatusType::All => None,
            _ => Some(request.symbol.and_then(|symbol| self.listings.place(&symbol))),
        };
        let orders = self.orders.open_orders(client);
        let wanted = orders.iter().filter(|(_, place)| only.is_none_or(|it| it == Some(*place)));
        let wanted: Vec<&ClientOrder> =
            wanted.filter_map(|(order_id, _)| self.orders.get(*order_id)).collect();
        let mut mass_status = MassStatus {
            request_id: request.request_id.into(),
            total: u32::try_from(wanted.len()).ok(),
            is_last: wanted.is_empty(),
        };
        if wanted.is_empty() {
            let none =
                Reporter::nothing(now.utc, None, request.symbol, Side::Buy, Some(mass_status));
            return clients.send(now, client, &none);
        }
        for (at, order) in wanted.iter().enumerate() {
            mass_status.is_last = at + 1 == wanted.len();
            let report = self.status_of(now, order);
            let mass_status = Some(mass_status);
            clients.send(now, client, &ExecutionReport { mass_status, ..report });
        }
    }

    /// Answers an OrderMassCancelRequest: each order is cancelled as if it had been asked for by
    /// itself, and a report says how many.
    pub fn mass_cancel(
        &mut self,
        now: Now,
        client: ClientId,
        request: &OrderMassCancelRequest,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) {
        let place = request.symbol.and_then(|symbol| self.listings.place(&symbol));
        let refused = if self.orders.known(client, &request.cl_ord_id).is_some() {
            Some((OTHER, "the ClOrdID has been used before"))
        } else {
            match request.scope {
                MassCancelType::All => None,
                MassCancelType::Security if place.is_some() => None,
                MassCancelType::Security => {
                    Some((UNKNOWN_SECURITY, "the Symbol is not traded here"))
                }
                _ => Some((OTHER, "orders are cancelled by Symbol or all together")),
            }
        };
        self.orders.note(client, request.cl_ord_id, Known::Request);
        let mut affected = 0;
        if refused.is_none() {
            let only = place.filter(|_| request.scope == MassCancelType::Security);
            for (order_id, place) in self.orders.open_orders(client) {
                let side = self.orders.get(order_id).map(ClientOrder::side);
                if only.is_some_and(|only| only != place)
                    || request.side.is_some_and(|wanted| Some(wanted) != side)
                {
                    continue;
                }
                affected += 1;
                self.counters.cancels += 1;
                self.execute(now, place, &Command::Cancel { order_id }, clients);
            }
        }
        let report = OrderMassCancelReport {
            cl_ord_id: Some(LongText::from(request.cl_ord_id)),
            order_id: no_order_id(),
            scope: request.scope,
            response: if refused.is_some() { MassCancelType::Refused } else { request.scope },
            reason: refused.map(|(reason, _)| reason),
            affected: Some(affected),
            text: refused.map_or(&[], |(_, text)| text.as_bytes()),
        };
        clients.send(self.stamp(now), client, &report);
    }

    fn status_of(&self, now: Now, order: &ClientOrder) -> ExecutionReport<'static> {
        Reporter::status(now.utc, &self.listings.all()[order.place], order)
    }
}
