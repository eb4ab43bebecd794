//! New orders and trading.

use super::*;
use crate::allocation::{Share, allocate};

impl NaiveEngine {
    pub(super) fn enter(&mut self, order: NewOrder, out: &mut Vec<Event>) -> Option<Side> {
        let NewOrder { order_id, owner, side, price, lots, .. } = order;
        let duplicate = self.find(order_id).map(|_| RejectReason::DuplicateOrderId);
        let reason = check(&order)
            .err()
            .or(duplicate)
            .or_else(|| self.vet(&order))
            .or_else(|| (!self.has_room(&order)).then_some(RejectReason::BookFull));
        if let Some(reason) = reason {
            out.push(Event::Rejected { order_id, owner, reason });
            return None;
        }
        out.push(Event::Accepted { order_id, owner, side, price, lots });
        self.proceed(order, 0, None, out);
        Some(side)
    }

    pub(super) fn vet(&self, order: &NewOrder) -> Option<RejectReason> {
        let terms = &order.terms;
        let immediate =
            !matches!(order.time_in_force, TimeInForce::GoodTillCancel | TimeInForce::Day);
        let impatient = immediate || terms.has(f::MINIMUM | f::POST | f::ALL_OR_NONE);
        let opening = matches!(self.phase, Phase::PreOpen | Phase::OpeningAuction);
        let off_band = self.rules.price_band.is_some_and(|band| {
            order.order_type == OrderType::Limit
                && self.last != 0
                && order.price.0.abs_diff(self.last) > band.into()
        });
        if self.phase == Phase::Halted {
            Some(RejectReason::Halted)
        } else if self.phase == Phase::Closed {
            Some(RejectReason::Closed)
        } else if self.phase.is_call() && impatient
            || terms.auction == AuctionOnly::Open && !opening
        {
            Some(RejectReason::NotInThisPhase)
        } else if terms.has(f::EXPIRY) && terms.expires.0 <= self.now {
            Some(RejectReason::Expired)
        } else if off_band {
            Some(RejectReason::PriceBand)
        } else if self.would_take(order.side, order.price.0, order.lots.0)
            && (terms.post_only == PostOnly::Reject
                || terms.post_only == PostOnly::Slide && self.slid_price(order) <= 0)
        {
            Some(RejectReason::WouldTrade)
        } else {
            None
        }
    }

    /// The best price of the other side, displayed or not, at which so many lots would trade.
    fn best_willing(&self, side: Side, lots: i64) -> Option<i64> {
        let makers = [Place::Lit, Place::Dark].into_iter();
        let makers = makers.flat_map(|place| self.at(place, side.opposite()));
        let willing = makers.filter(|w| !w.order.terms.has(f::ALL_OR_NONE) || w.shown <= lots);
        willing.map(|w| w.price).min_by_key(|&price| worth(side.opposite(), price))
    }

    fn would_take(&self, side: Side, price: i64, lots: i64) -> bool {
        self.best_willing(side, lots).is_some_and(|best| crosses(side, price, best))
    }

    /// The first whole tick away from the market that takes nothing; zero if there is none.
    fn slid_price(&self, order: &NewOrder) -> i64 {
        let mut price = order.price.0;
        // The walk begins near the market, however far the order's price is from it.
        let lots = order.lots.0;
        price = match (order.side, self.best_willing(order.side, lots)) {
            (Side::Buy, Some(best)) => price.min(best.saturating_add(4) & !1),
            (Side::Sell, Some(best)) => price.max(best.saturating_sub(4) & !1),
            (_, None) => price,
        };
        while price > 0 && self.would_take(order.side, price, lots) {
            let step = -2 * order.side.sign();
            let Some(next) = price.checked_add(step) else { return 0 };
            price = next;
        }
        price
    }

    fn has_room(&self, order: &NewOrder) -> bool {
        let room = |place| self.count(place) < self.rules.special_capacity;
        let terms = &order.terms;
        if terms.has(f::STOP) {
            return room(Place::Pending);
        }
        if terms.has(f::PEG) {
            return room(Place::Dark) && room(Place::Parked);
        }
        let is_market = order.order_type == OrderType::Market;
        if self.phase != Phase::Continuous && is_market || terms.auction == AuctionOnly::Close {
            return room(Place::Parked);
        }
        if terms.has(f::HIDDEN | f::ALL_OR_NONE) {
            return room(Place::Dark);
        }
        if !order.may_rest() {
            return true;
        }
        let price = match terms.post_only {
            PostOnly::Slide => self.slid_price(order),
            _ => order.price.0,
        };
        if self.phase == Phase::Continuous && self.would_take(order.side, price, order.lots.0) {
            return self.level_count(order.side) < self.config.level_capacity
                || self.possible(&self.taker(*order, 0)) >= order.lots.0;
        }
        self.fits(Place::Lit, order.side, price, order.lots.0)
    }

    pub(super) fn proceed(
        &mut self,
        order: NewOrder,
        filled: i64,
        answer: Option<Event>,
        out: &mut Vec<Event>,
    ) {
        let terms = order.terms;
        if self.phase != Phase::Continuous || terms.auction != AuctionOnly::No {
            out.extend(answer);
            return self.collect(order, filled, out);
        }
        if terms.has(f::PEG) {
            out.extend(answer);
            return self.enter_peg(order, filled, out);
        }
        if terms.has(f::STOP) {
            out.extend(answer);
            let reached = match rises(&order) {
                true => self.last >= terms.trigger_price.0,
                false => self.last <= terms.trigger_price.0,
            };
            if self.last == 0 || !reached {
                return self.hold(order, filled, Place::Pending, HeldUntil::Trigger, out);
            }
            out.push(Event::Triggered { order_id: order.order_id });
            return self.trade(order.triggered(), filled, None, out);
        }
        self.trade(order, filled, answer, out);
    }

    fn trade(
        &mut self,
        mut order: NewOrder,
        filled: i64,
        answer: Option<Event>,
        out: &mut Vec<Event>,
    ) {
        let mut possible = true;
        if order.terms.has(f::PROTECTION) {
            match self.best(Place::Lit, order.side.opposite()) {
                None => possible = false,
                Some(best) => {
                    let beyond = 2 * i64::from(order.terms.protection) * order.side.sign();
                    let price = best.saturating_add(beyond).clamp(2, i64::MAX - 1);
                    order.price = HalfTicks(price);
                    order.order_type = OrderType::Limit;
                }
            }
        }
        if order.terms.post_only == PostOnly::Slide {
            order.price = HalfTicks(self.slid_price(&order));
        }
        let mut taker = self.taker(order, filled);
        let is_whole =
            order.terms.has(f::ALL_OR_NONE) || order.time_in_force == TimeInForce::FillOrKill;
        let needed = if is_whole { order.lots.0 } else { order.terms.minimum.0.min(order.lots.0) };
        possible = possible && (needed == 0 || self.possible(&taker) >= needed);
        if possible {
            self.sweep(&mut taker, out);
        }
        out.extend(answer);
        if taker.remaining == 0 {
            return;
        }
        if !possible && !order.terms.has(f::ALL_OR_NONE) {
            let reason = if order.terms.has(f::MINIMUM) {
                CancelReason::Minimum
            } else {
                remainder_reason(&order)
            };
            return out.push(dropped(&order, taker.remaining, reason));
        }
        if possible {
            let beyond = Taker { limit: own_limit(&order), ..taker };
            if beyond.limit != taker.limit && self.next_maker(&beyond).is_some() {
                self.phase = Phase::VolatilityAuction;
                out.push(Event::Phase { phase: self.phase });
            }
            taker = Taker { limit: taker.limit, ..beyond };
        }
        self.rest(order, taker.remaining, taker.filled, out);
    }

    pub(super) fn taker(&self, order: NewOrder, filled: i64) -> Taker {
        let mut limit = own_limit(&order);
        if let (Some(band), true) = (self.rules.volatility_band, self.last != 0) {
            let bound = self.last.saturating_add(order.side.sign() * i64::from(band));
            limit = match order.side {
                Side::Buy => limit.min(bound),
                Side::Sell => limit.max(bound),
            };
        }
        let self_trade = match order.terms.self_trade {
            SelfTrade::Default => self.rules.self_trade,
            mode => mode,
        };
        Taker { order, limit, remaining: order.lots.0, filled, self_trade }
    }

    /// What the taker would trade, tried on a copy.
    fn possible(&self, taker: &Taker) -> i64 {
        let mut trial = Taker { filled: 0, ..*taker };
        self.clone().sweep(&mut trial, &mut Vec::new());
        trial.filled
    }

    pub(super) fn sweep(&mut self, taker: &mut Taker, out: &mut Vec<Event>) {
        while taker.remaining > 0 {
            let Some(at) = self.next_maker(taker) else { break };
            let (place, price) = (self.orders[at].place, self.orders[at].price);
            if place == Place::Lit && !self.rules.allocation.is_fifo() {
                self.divide(taker, price, out);
            } else if self.is_own(taker, at) {
                self.prevent(taker, at, out);
            } else {
                self.fill(taker, at, taker.remaining, out);
            }
        }
    }

    fn next_maker(&self, taker: &Taker) -> Option<usize> {
        let side = taker.order.side.opposite();
        let mut makers: Vec<usize> = (0..self.orders.len()).collect();
        makers.retain(|&at| {
            let w = &self.orders[at];
            matches!(w.place, Place::Lit | Place::Dark)
                && w.order.side == side
                && crosses(taker.order.side, taker.limit, w.price)
                && !(w.place == Place::Dark
                    && w.order.terms.has(f::ALL_OR_NONE)
                    && w.shown > taker.remaining)
        });
        makers.into_iter().min_by_key(|&at| {
            let w = &self.orders[at];
            (worth(side, w.price), w.place, w.turn)
        })
    }

    fn is_own(&self, taker: &Taker, at: usize) -> bool {
        let (maker, taken) = (&self.orders[at].order, &taker.order);
        let prevents = !matches!(taker.self_trade, SelfTrade::Default | SelfTrade::Allow);
        let same_group = taken.terms.group != 0 && taken.terms.group == maker.terms.group;
        prevents && (maker.owner == taken.owner || same_group)
    }

    fn divide(&mut self, taker: &mut Taker, price: i64, out: &mut Vec<Event>) {
        let side = taker.order.side.opposite();
        let mut level: Vec<usize> = (0..self.orders.len()).collect();
        level.retain(|&at| {
            let w = &self.orders[at];
            w.place == Place::Lit && w.order.side == side && w.price == price
        });
        level.sort_by_key(|&at| self.orders[at].turn);
        if let Some(&own) = level.iter().find(|&&at| self.is_own(taker, at)) {
            return self.prevent(taker, own, out);
        }
        let ids: Vec<OrderId> = level.iter().map(|&at| self.orders[at].order.order_id).collect();
        let mut shares: Vec<Share> = (0..)
            .zip(&level)
            .map(|(n, &at)| Share::new(n, self.orders[at].order.owner, self.orders[at].shown))
            .collect();
        let head_is_top = self.top_orders[side.index()] == ids.first().copied();
        allocate(&self.rules.allocation, &mut shares, taker.remaining, head_is_top);
        for share in shares.into_iter().filter(|share| share.given > 0) {
            if let Some(at) = self.find(ids[share.place as usize]) {
                self.fill(taker, at, share.given, out);
            }
        }
    }

    fn fill(&mut self, taker: &mut Taker, at: usize, lots_max: i64, out: &mut Vec<Event>) {
        let w = &mut self.orders[at];
        let lots = w.shown.min(lots_max);
        w.shown -= lots;
        w.filled = w.filled.saturating_add(lots);
        taker.remaining -= lots;
        taker.filled = taker.filled.saturating_add(lots);
        self.trade_count += 1;
        self.last = w.price;
        self.prices.push(w.price);
        out.push(Event::Trade {
            trade_id: self.trade_count,
            maker: w.order.order_id,
            taker: taker.order.order_id,
            maker_owner: w.order.owner,
            taker_owner: taker.order.owner,
            price: HalfTicks(w.price),
            lots: Lots(lots),
            maker_remaining: Lots(w.shown + w.reserve),
            taker_remaining: Lots(taker.remaining),
            aggressor: taker.order.side,
            hidden: w.place != Place::Lit,
            taker_rested: false,
        });
        self.after_take(at, out);
    }

    /// Refills an iceberg or removes what is used up.
    pub(super) fn after_take(&mut self, at: usize, out: &mut Vec<Event>) {
        let turn = self.next_turn();
        let w = &mut self.orders[at];
        if w.shown > 0 {
            return;
        }
        if w.reserve > 0 {
            w.shown = w.reserve.min(w.order.terms.display.0);
            w.reserve -= w.shown;
            w.turn = turn;
            out.push(Event::Refreshed {
                order_id: w.order.order_id,
                side: w.order.side,
                price: HalfTicks(w.price),
                lots: Lots(w.shown),
            });
        } else {
            let gone = self.orders.remove(at);
            self.forget_top(&gone);
        }
    }

    fn prevent(&mut self, taker: &mut Taker, at: usize, out: &mut Vec<Event>) {
        match taker.self_trade {
            SelfTrade::CancelOldest | SelfTrade::CancelBoth => {
                self.cancel(at, CancelReason::SelfTrade, out);
            }
            SelfTrade::Decrement | SelfTrade::Transfer => {
                let w = &mut self.orders[at];
                let lots = w.shown.min(taker.remaining);
                w.shown -= lots;
                taker.remaining -= lots;
                let is_transfer = taker.self_trade == SelfTrade::Transfer;
                out.push(Event::Prevented {
                    maker: w.order.order_id,
                    taker: taker.order.order_id,
                    price: HalfTicks(w.price),
                    lots: Lots(lots),
                    maker_remaining: Lots(w.shown + w.reserve),
                    taker_remaining: Lots(taker.remaining),
                    transfer: is_transfer && w.order.owner != taker.order.owner,
                    hidden: w.place != Place::Lit,
                });
                return self.after_take(at, out);
            }
            _ => {}
        }
        if taker.self_trade != SelfTrade::CancelOldest {
            out.push(dropped(&taker.order, taker.remaining, CancelReason::SelfTrade));
            taker.remaining = 0;
        }
    }

    pub(super) fn rest(&mut self, order: NewOrder, lots: i64, filled: i64, out: &mut Vec<Event>) {
        if !order.may_rest() {
            return out.push(dropped(&order, lots, remainder_reason(&order)));
        }
        let is_dark = order.terms.has(f::HIDDEN | f::ALL_OR_NONE);
        let place = if is_dark { Place::Dark } else { Place::Lit };
        self.stand(place, order, order.price.0, lots, filled, out);
    }

    pub(super) fn stand(
        &mut self,
        place: Place,
        order: NewOrder,
        price: i64,
        lots: i64,
        filled: i64,
        out: &mut Vec<Event>,
    ) {
        let is_iceberg = order.terms.has(f::ICEBERG);
        let shown = if is_iceberg { lots.min(order.terms.display.0) } else { lots };
        if !self.fits(place, order.side, price, shown) {
            return out.push(dropped(&order, lots, CancelReason::BookFull));
        }
        let betters = self
            .best(Place::Lit, order.side)
            .is_none_or(|best| worth(order.side, price) < worth(order.side, best));
        self.add(place, order, price, shown, lots - shown, filled);
        let (order_id, side) = (order.order_id, order.side);
        let hidden = place == Place::Dark;
        let (price, lots) = (HalfTicks(price), Lots(shown));
        out.push(Event::Rested { order_id, side, price, lots, hidden });
        if place == Place::Lit && betters && self.rules.allocation.top_lots_max > 0 {
            let is_large = shown >= self.rules.allocation.top_lots_min;
            self.top_orders[side.index()] = is_large.then_some(order_id);
        }
    }

    pub(super) fn add(
        &mut self,
        place: Place,
        order: NewOrder,
        price: i64,
        shown: i64,
        reserve: i64,
        filled: i64,
    ) {
        let turn = self.next_turn();
        let (peg_turn, expiry_turn) = (turn, turn);
        let waiting =
            Waiting { order, place, price, shown, reserve, filled, turn, peg_turn, expiry_turn };
        self.orders.push(waiting);
    }

    pub(super) fn hold(
        &mut self,
        order: NewOrder,
        filled: i64,
        place: Place,
        until: HeldUntil,
        out: &mut Vec<Event>,
    ) {
        let (side, price) = match place {
            Place::Pending if rises(&order) => (Side::Sell, order.terms.trigger_price.0),
            Place::Pending => (Side::Buy, order.terms.trigger_price.0),
            _ => (order.side, 0),
        };
        if self.fits(place, side, price, order.lots.0) {
            self.add(place, order, price, order.lots.0, 0, filled);
            out.push(Event::Held { order_id: order.order_id, until });
        } else {
            out.push(dropped(&order, order.lots.0, CancelReason::BookFull));
        }
    }
}

fn remainder_reason(order: &NewOrder) -> CancelReason {
    match order.time_in_force {
        TimeInForce::FillOrKill => CancelReason::FillOrKill,
        _ => CancelReason::Remainder,
    }
}

/// What was left of an order that waited nowhere is cancelled.
pub(super) fn dropped(order: &NewOrder, lots: i64, reason: CancelReason) -> Event {
    let NewOrder { order_id, owner, side, price, .. } = *order;
    let (lots, was_resting) = (Lots(lots), false);
    Event::Cancelled { order_id, owner, side, price, lots, reason, was_resting }
}
