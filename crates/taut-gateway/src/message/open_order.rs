//! An order as its strategy may look it up.

use taut_oms::{Order, OrderState, RequestKind as Asked};
use taut_types::{ClientOrderId, Lots, OrderTerms, Price};

use crate::message::request::{Request, RequestKind};
use crate::message::update::OrderUpdate;

/// An order that is not over, as a strategy may look it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenOrder {
    /// Its id.
    pub id: ClientOrderId,
    /// The version that it has at the venue: 0 until the venue has taken it, then 1, and one more
    /// for every modification that the venue took.
    pub version: u16,
    /// What it asks for, with the price and the quantity that it has at the venue.
    pub terms: OrderTerms,
    /// The price that was asked for last: another than that of the terms while a modify is under
    /// way.
    pub price_asked: Price,
    /// The quantity that was asked for last; none while a cancel is under way.
    pub lots_asked: Lots,
    /// Where it is in its life.
    pub state: OrderState,
    /// What of it may still trade.
    pub lots_open: Lots,
    /// The strategy's own number.
    pub tag: u32,
}

impl OpenOrder {
    /// The order that a request asks for, if it asks for one.
    pub(crate) fn created(request: &Request) -> Option<Self> {
        let Request { id, tag, .. } = *request;
        let RequestKind::Create(terms) = request.kind else { return None };
        let (price_asked, lots_asked, lots_open) = (terms.price, terms.lots, terms.lots);
        let (version, state) = (0, OrderState::Sent);
        Some(Self { id, version, terms, price_asked, lots_asked, state, lots_open, tag })
    }

    /// An order of the gateway's table.
    pub(crate) fn of(order: &Order) -> Self {
        let Order { id, terms, tag, state, .. } = *order;
        let ((price_asked, lots_asked), version) = (asked_of(order), order.version_accepted);
        let lots_open = order.lots_open();
        Self { id, version, terms, price_asked, lots_asked, state, lots_open, tag }
    }

    /// Whether a cancel of it is under way.
    #[must_use]
    pub fn is_being_cancelled(&self) -> bool {
        self.lots_asked == Lots::ZERO
    }

    /// The same once this request is under way.
    pub(crate) fn with_request(self, request: &Request) -> Self {
        match request.kind {
            RequestKind::Modify { price, lots } if request.id == self.id => {
                Self { price_asked: price, lots_asked: lots, ..self }
            }
            RequestKind::Cancel if request.id == self.id => self.being_cancelled(),
            RequestKind::CancelAll(filter) if filter.matches(self.id, &self.terms) => {
                self.being_cancelled()
            }
            _ => self,
        }
    }

    /// The same with a cancel under way.
    const fn being_cancelled(self) -> Self {
        Self { price_asked: self.terms.price, lots_asked: Lots::ZERO, ..self }
    }

    /// The same after this update; `is_answered`: no request of the strategy about it is on its way
    /// to the gateway that the update does not know of.
    pub(crate) fn with_update(self, update: &OrderUpdate, is_answered: bool) -> Self {
        let OrderUpdate { version, state, lots_open, price, lots, .. } = *update;
        let (price_asked, lots_asked) = match is_answered {
            true => (update.price_asked, update.lots_asked),
            false if self.is_being_cancelled() => (price, Lots::ZERO),
            false => (self.price_asked, self.lots_asked),
        };
        let terms = OrderTerms { price, lots, ..self.terms };
        Self { version, terms, price_asked, lots_asked, state, lots_open, ..self }
    }
}

/// The price and the quantity that were asked for last, of an order of the gateway's table.
pub(crate) fn asked_of(order: &Order) -> (Price, Lots) {
    let OrderTerms { price, lots, .. } = order.terms;
    let newest = order.awaited().max_by_key(|request| request.version);
    match newest.map(|request| (request.kind, request.price, request.lots)) {
        Some((Asked::Modify, price, lots)) => (price, lots),
        Some((Asked::Cancel, ..)) => (price, Lots::ZERO),
        Some((Asked::Create, ..)) | None => (price, lots),
    }
}
