//! What our orders are at the venue.

use taut_oms::{Order, REQUESTS_MAX};
use taut_order_entry::binance::Which;
use taut_types::{ClientOrderId, InstrumentId, Lots, Nanos, OrderTerms, Price, Qty, RequestId};

use super::name::Name;
use crate::order_entry::places::OrderPlaces;

/// Decimal places of the venue's quantities.
pub(super) const DECIMALS: u8 = 8;
/// Names of an order that may be its present one: what the venue accepted last, and every request
/// without an answer.
const LEGS: usize = REQUESTS_MAX + 1;

/// An order at the venue: one of ours is several, one after the other, when it is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leg {
    name: Name,
    /// The venue's number of it; 0 while it is not known.
    id: u64,
    version: u16,
    /// What had traded before it, at eight decimals.
    before: i64,
    /// What was asked for; nothing when an earlier process asked.
    terms: Option<(Price, Lots)>,
    /// Whether the gateway was told that the venue has it: of the first one it is told otherwise.
    is_told: bool,
}

impl Leg {
    /// The order that a request makes, of which so much had traded before.
    #[inline]
    pub(super) fn of(request: RequestId, before: i64, terms: &OrderTerms) -> Self {
        let terms = Some((terms.price, terms.lots));
        Self { terms, ..Self::unknown(request, before) }
    }

    fn unknown(request: RequestId, before: i64) -> Self {
        let name = Name::of(request, before);
        let is_told = request == RequestId::create(request.order);
        Self { name, id: 0, version: request.version, before, terms: None, is_told }
    }

    /// How the venue is asked for it.
    #[inline]
    pub(super) fn which(&self) -> Which<'_> {
        if self.id == 0 { Which::Name(self.name.as_bytes()) } else { Which::Id(self.id) }
    }

    pub(super) const fn before(&self) -> i64 {
        self.before
    }

    pub(super) const fn version(&self) -> u16 {
        self.version
    }

    /// Whether it would only become smaller.
    pub(super) fn becomes_smaller(&self, to: &OrderTerms) -> bool {
        self.terms.is_some_and(|(price, lots)| price == to.price && to.lots < lots)
    }
}

/// An order that is placed when its predecessor has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Following {
    /// The request that asks for it.
    pub(super) request: RequestId,
    /// All of the order, with what has traded.
    pub(super) terms: OrderTerms,
    /// What had traded before its predecessor; of itself, once that has ended.
    pub(super) before: i64,
}

/// One order of ours.
#[derive(Clone, Copy, Debug)]
struct KnownOrder {
    instrument: InstrumentId,
    /// The newest first.
    legs: [Option<Leg>; LEGS],
    is_heard_of: bool,
    has_traded: bool,
    sent_at: Nanos,
    following: Option<Following>,
    /// The last request for which one of its legs made way.
    made_way: u16,
    /// The last request that is known to have ended a leg to put another one in its place.
    ended_by: u16,
}

/// Orders of ours that are not over, as many as there are places. One without a place is found by
/// the name in each message.
#[derive(Debug)]
pub(super) struct KnownOrders {
    orders: OrderPlaces<KnownOrder>,
    /// Orders of the venue's last list that are over here, or forgotten: what they are there.
    listed: Vec<(ClientOrderId, Leg)>,
}

impl KnownOrders {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { orders: OrderPlaces::with_capacity(capacity), listed: Vec::new() }
    }

    /// An order of an earlier process, or one that was over and goes on, of which so much has
    /// traded; whether that is news. A request of it without an answer may have given it another
    /// name.
    pub(super) fn adopt(&mut self, order: &Order, venue_id: u64, traded: i64) -> bool {
        if self.orders.get(order.id).is_some() {
            return false;
        }
        let mut known = KnownOrder {
            instrument: order.terms.instrument,
            legs: [None; LEGS],
            is_heard_of: order.version_accepted > 0,
            has_traded: traded > 0,
            // Before this process.
            sent_at: Nanos::ZERO,
            following: None,
            made_way: 0,
            ended_by: 0,
        };
        let of = |version| RequestId { order: order.id, version };
        let accepted = order.version_accepted.max(1);
        let mut legs = known.legs.iter_mut();
        let newest = (accepted + 1..=order.version_sent).rev().take(LEGS - 1);
        for version in newest {
            legs.next().into_iter().for_each(|leg| *leg = Some(Leg::unknown(of(version), traded)));
        }
        // The newest order that the venue has told of, if it has.
        let told = Leg { id: venue_id, is_told: true, ..Leg::unknown(of(accepted), 0) };
        legs.next().into_iter().for_each(|leg| *leg = Some(told));
        self.orders.get_or_insert(order.id, known).is_some()
    }

    /// A request leaves that makes an order at the venue.
    #[inline]
    pub(super) fn leaves(
        &mut self,
        request: RequestId,
        instrument: InstrumentId,
        leg: &Leg,
        now: Nanos,
    ) {
        match self.orders.get_mut(request.order) {
            Some(known) => {
                // What the venue told of last stays, however many names came to nothing since.
                let told = known.legs.iter().position(|it| it.is_some_and(|it| it.is_told));
                let oldest = if told == Some(LEGS - 1) { LEGS - 2 } else { LEGS - 1 };
                known.legs[..=oldest].rotate_right(1);
                known.legs[0] = Some(*leg);
                known.sent_at = now;
            }
            None => {
                let mut legs = [None; LEGS];
                legs[0] = Some(*leg);
                let known = KnownOrder {
                    instrument,
                    legs,
                    is_heard_of: false,
                    has_traded: false,
                    sent_at: now,
                    following: None,
                    made_way: 0,
                    ended_by: 0,
                };
                let _ = self.orders.get_or_insert(request.order, known);
            }
        }
    }

    /// A request was refused: the order has no such name.
    pub(super) fn was_refused(&mut self, request: RequestId) {
        let Some(known) = self.orders.get_mut(request.order) else { return };
        let is_it = |leg: &Leg| leg.version == request.version && !leg.is_told;
        let place = known.legs.iter().position(|leg| leg.as_ref().is_some_and(is_it));
        if let Some(place) = place {
            known.legs[place] = None;
            known.legs[place..].rotate_left(1);
        }
    }

    /// A request about an order leaves that gives it no other name.
    pub(super) fn touched(&mut self, order: ClientOrderId, now: Nanos) {
        if let Some(known) = self.orders.get_mut(order) {
            known.sent_at = now;
        }
    }

    /// When the last request of an order left that changes it.
    pub(super) fn sent_at(&self, order: ClientOrderId) -> Nanos {
        self.orders.get(order).map_or(Nanos::ZERO, |known| known.sent_at)
    }

    /// What the order is under the name that a request gave it.
    #[inline]
    pub(super) fn leg(&self, request: RequestId) -> Leg {
        let known = self.orders.get(request.order);
        let mut legs = known.into_iter().flat_map(|known| known.legs).flatten();
        legs.find(|leg| leg.version == request.version).unwrap_or_else(|| Leg::unknown(request, 0))
    }

    /// What the order is by its newest name.
    pub(super) fn newest(&self, order: ClientOrderId) -> Leg {
        self.names(order).next().unwrap_or_else(|| Leg::unknown(RequestId::create(order), 0))
    }

    /// The names that the order may have, the newest first.
    pub(super) fn names(&self, order: ClientOrderId) -> impl Iterator<Item = Leg> {
        let known = self.orders.get(order);
        let listed = self.listed.iter().filter(move |(of, _)| known.is_none() && *of == order);
        let known = known.into_iter().flat_map(|known| known.legs).flatten();
        known.chain(listed.map(|(_, leg)| *leg))
    }

    /// The venue lists all orders of the account.
    pub(super) fn begin_list(&mut self) {
        self.listed.clear();
    }

    /// It has this one in its list, made by a request of ours: where nothing else is known of it,
    /// it is asked about so.
    pub(super) fn listed(&mut self, request: RequestId, before: i64, id: u64) {
        if self.orders.get(request.order).is_none() {
            let leg = Leg { id, is_told: true, ..Leg::unknown(request, before) };
            self.listed.push((request.order, leg));
        }
    }

    /// The venue has an order that was on its way; whether that is news.
    pub(super) fn is_heard_first(&mut self, order: ClientOrderId) -> bool {
        let known = self.orders.get_mut(order);
        known.is_some_and(|known| !std::mem::replace(&mut known.is_heard_of, true))
    }

    /// The venue's number of the order that a request made; whether it is news that the venue has
    /// an order that takes the place of another one. Nothing when the order is not known.
    pub(super) fn identify(&mut self, request: RequestId, id: u64) -> Option<bool> {
        let legs = self.orders.get_mut(request.order).map(|known| &mut known.legs);
        let mut legs = legs.into_iter().flatten().flatten();
        let leg = legs.find(|leg| leg.version == request.version)?;
        leg.id = id;
        Some(!std::mem::replace(&mut leg.is_told, true))
    }

    /// Some of it traded.
    pub(super) fn traded(&mut self, order: ClientOrderId) {
        if let Some(known) = self.orders.get_mut(order) {
            known.has_traded = true;
        }
    }

    pub(super) fn has_traded(&self, order: ClientOrderId) -> bool {
        self.orders.get(order).is_some_and(|known| known.has_traded)
    }

    /// What takes the order's place when it has ended; what would have until now.
    pub(super) fn follow(
        &mut self,
        order: ClientOrderId,
        following: Option<Following>,
    ) -> Option<Following> {
        let known = self.orders.get_mut(order)?;
        std::mem::replace(&mut known.following, following)
    }

    /// An order made way for what a request asks for; false when the venue says so again.
    pub(super) fn makes_way(&mut self, request: RequestId) -> bool {
        self.orders.get_mut(request.order).is_none_or(|known| {
            std::mem::replace(&mut known.made_way, request.version) != request.version
        })
    }

    /// The order ended in the first half of a request to replace it.
    pub(super) fn ended_by(&mut self, request: RequestId) {
        if let Some(known) = self.orders.get_mut(request.order) {
            known.ended_by = request.version;
        }
    }

    /// Whether it did.
    pub(super) fn was_ended_by(&self, request: RequestId) -> bool {
        self.orders.get(request.order).is_some_and(|known| known.ended_by == request.version)
    }

    /// Whether something takes the order's place.
    pub(super) fn follows(&self, order: ClientOrderId) -> bool {
        self.orders.get(order).is_some_and(|known| known.following.is_some())
    }

    /// The connection is gone: nothing is sent any more that was to follow.
    pub(super) fn forget_following(&mut self) {
        self.orders.for_each(|known| known.following = None);
    }

    /// An order is over; its instrument.
    pub(super) fn forget(&mut self, order: ClientOrderId) -> Option<InstrumentId> {
        self.orders.remove(order).map(|known| known.instrument)
    }
}

/// What has traded of an order, at eight decimals.
pub(super) fn traded(order: &Order, lot: Qty) -> Option<i64> {
    let lot = lot.with_decimals(DECIMALS)?.mantissa;
    let rest = order.traded.rest.with_decimals(DECIMALS)?.mantissa;
    order.traded.lots.0.checked_mul(lot)?.checked_add(rest)
}

/// A quantity without what had traded before; nothing when nothing is left.
#[inline]
pub(super) fn minus(all: Qty, before: i64) -> Option<Qty> {
    if before == 0 {
        return Some(all);
    }
    let all = all.with_decimals(DECIMALS)?;
    let mantissa = all.mantissa.checked_sub(before).filter(|left| *left > 0)?;
    Some(Qty { mantissa, decimals: DECIMALS })
}

/// A quantity with what had traded before.
pub(super) fn plus(part: Qty, before: i64) -> Option<Qty> {
    let part = part.with_decimals(DECIMALS)?;
    let mantissa = part.mantissa.checked_add(before)?;
    Some(Qty { mantissa, decimals: DECIMALS })
}
