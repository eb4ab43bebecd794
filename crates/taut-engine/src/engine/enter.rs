//! Orders with terms, and all orders when the phase or the rules ask for more than price and time.

use taut_book::Order;
use taut_types::{HalfTicks, Lots, OrderType, Side, TimeInForce};

use super::resting_book::{BookKind, Note};
use super::state::{Engine, Taker, crosses, limit};
use super::stops::fires_when_rising;
use super::tell::{accepted, cancelled, remainder_cancelled};
use crate::admission::check;
use crate::command::Phase;
use crate::event::{CancelReason, Event, EventSink, HeldUntil, RejectReason};
use crate::order::NewOrder;
use crate::terms::{AuctionOnly, PostOnly, feature as f};

impl Engine {
    pub(super) fn enter(&mut self, order: &NewOrder, sink: &mut impl EventSink) {
        let known = self.lit.book.contains(order.order_id) || self.is_elsewhere(order.order_id);
        if let Err(reason) = check(order).and_then(|()| match known {
            true => Err(RejectReason::DuplicateOrderId),
            false => self.vet(order).and_then(|()| self.find_room(order)),
        }) {
            let NewOrder { order_id, owner, .. } = *order;
            return sink.on_event(Event::Rejected { order_id, owner, reason });
        }
        sink.on_event(accepted(order));
        self.proceed(order, 0, None, sink);
        self.finish(order.side, sink);
    }

    /// What the phase, the time, the market and the rules demand of an order.
    pub(super) fn vet(&self, order: &NewOrder) -> Result<(), RejectReason> {
        let terms = &order.terms;
        let can_not_wait = f::IMMEDIATE | f::FILL_OR_KILL | f::MINIMUM | f::POST | f::ALL_OR_NONE;
        match self.phase {
            Phase::Halted => return Err(RejectReason::Halted),
            Phase::Closed => return Err(RejectReason::Closed),
            Phase::Continuous => {}
            _ if order.features() & can_not_wait != 0 => return Err(RejectReason::NotInThisPhase),
            _ => {}
        }
        let opening = matches!(self.phase, Phase::PreOpen | Phase::OpeningAuction);
        if terms.auction == AuctionOnly::Open && !opening {
            return Err(RejectReason::NotInThisPhase);
        }
        if terms.has(f::EXPIRY) && terms.expires <= self.now {
            return Err(RejectReason::Expired);
        }
        if let (Some(band), OrderType::Limit) = (self.rules.price_band, order.order_type)
            && self.last != 0
            && order.price.0.abs_diff(self.last) > u64::from(band)
        {
            return Err(RejectReason::PriceBand);
        }
        match terms.post_only {
            PostOnly::Reject if self.would_trade(order, order.price) => {
                Err(RejectReason::WouldTrade)
            }
            PostOnly::Slide if self.slid(order).is_none() => Err(RejectReason::WouldTrade),
            _ => Ok(()),
        }
    }

    /// Whether the place where the order would wait has room.
    fn find_room(&self, order: &NewOrder) -> Result<(), RejectReason> {
        let has_room = |book_kind| {
            let book = &self.resting(book_kind).book;
            book.order_count() < book.order_capacity()
        };
        let terms = &order.terms;
        let waits_for_auction = self.phase != Phase::Continuous
            && order.order_type == OrderType::Market
            || terms.auction == AuctionOnly::Close;
        let fits = if terms.has(f::STOP) {
            has_room(BookKind::Pending)
        } else if terms.has(f::PEG) {
            has_room(BookKind::Dark) && has_room(BookKind::Parked)
        } else if waits_for_auction {
            has_room(BookKind::Parked)
        } else if terms.has(f::HIDDEN | f::ALL_OR_NONE) {
            has_room(BookKind::Dark)
        } else if !order.may_rest() {
            true
        } else {
            self.fits_displayed(order)
        };
        if fits { Ok(()) } else { Err(RejectReason::BookFull) }
    }

    fn fits_displayed(&self, order: &NewOrder) -> bool {
        let price = self.slid(order).unwrap_or(order.price);
        if self.phase == Phase::Continuous && self.would_trade(order, price) {
            return self.remainder_fits(&self.taker(order, 0));
        }
        let book = &self.lit.book;
        let level_fits = match book.level_at(order.side, price) {
            Some(level) => level.lots.0.checked_add(order.lots.0).is_some(),
            None => book.level_count(order.side) < book.level_capacity(),
        };
        level_fits && book.order_count() < book.order_capacity()
    }

    /// Whether the remainder of a marketable order will find a level.
    ///
    /// A remainder is left only after at least one maker was filled, so an order's place is free by
    /// then. A level's place on the own side is not, and the level is a new one: the order's price
    /// was at or beyond the other side's best, where its own side cannot have had any.
    pub(super) fn remainder_fits(&self, taker: &Taker) -> bool {
        self.lit.book.level_count(taker.side) < self.lit.book.level_capacity()
            || self.available(taker, taker.remaining) >= taker.remaining
    }

    /// What becomes of an order that has been accepted, activated or replaced. An answer that
    /// follows the trades is told as soon as these are over.
    pub(super) fn proceed(
        &mut self,
        order: &NewOrder,
        filled: i64,
        answer: Option<Event>,
        sink: &mut impl EventSink,
    ) {
        if self.phase == Phase::Continuous && order.terms.auction == AuctionOnly::No {
            if !order.terms.has(f::STOP | f::PEG) {
                return self.trade(order, filled, answer, sink);
            }
            if let Some(answer) = answer {
                sink.on_event(answer);
            }
            if order.terms.has(f::PEG) {
                return self.enter_peg(order, filled, sink);
            }
            if self.is_triggered(order) {
                sink.on_event(Event::Triggered { order_id: order.order_id });
                return self.trade(&order.triggered(), filled, None, sink);
            }
            return self.hold(order, filled, BookKind::Pending, HeldUntil::Trigger, sink);
        }
        if let Some(answer) = answer {
            sink.on_event(answer);
        }
        self.collect(order, filled, sink);
    }

    /// Trades as far as it goes, then rests or is cancelled.
    fn trade(
        &mut self,
        order: &NewOrder,
        filled: i64,
        answer: Option<Event>,
        sink: &mut impl EventSink,
    ) {
        let priced = self.priced(order);
        let order = priced.as_ref().unwrap_or(order);
        let mut taker = self.taker(order, filled);
        let whole =
            order.terms.has(f::ALL_OR_NONE) || order.time_in_force == TimeInForce::FillOrKill;
        let needed = if whole { order.lots.0 } else { order.terms.minimum.0.min(order.lots.0) };
        let possible =
            priced.is_some() && (needed == 0 || self.available(&taker, needed) >= needed);
        if possible {
            self.sweep(&mut taker, sink);
        }
        if let Some(answer) = answer {
            sink.on_event(answer);
        }
        if taker.remaining == 0 {
            return;
        }
        if !possible && !order.terms.has(f::ALL_OR_NONE) {
            let minimum = order.terms.minimum.0 > 0;
            return sink.on_event(if minimum {
                cancelled(order, order.lots, CancelReason::Minimum)
            } else {
                remainder_cancelled(order, order.lots)
            });
        }
        if possible {
            self.halt_if_blocked(order, &taker, sink);
        }
        self.rest(order, &taker, sink);
    }

    /// The order with the price at which it trades and rests: a market order with protection has
    /// one only if the other side has one, and a sliding order moves away from the market.
    fn priced(&self, order: &NewOrder) -> Option<NewOrder> {
        let mut priced = *order;
        if order.terms.has(f::PROTECTION) {
            let best = self.lit.book.best_price(order.side.opposite())?;
            let beyond = 2 * i64::from(order.terms.protection);
            priced.price = HalfTicks(match order.side {
                Side::Buy => best.0.saturating_add(beyond).min(i64::MAX - 1),
                Side::Sell => (best.0 - beyond).max(2),
            });
            priced.order_type = OrderType::Limit;
        } else if let Some(price) = self.slid(order) {
            priced.price = price;
        }
        Some(priced)
    }

    /// The price of an order that slides: the nearest whole tick at which it does not trade.
    fn slid(&self, order: &NewOrder) -> Option<HalfTicks> {
        if order.terms.post_only != PostOnly::Slide || !self.would_trade(order, order.price) {
            return Some(order.price);
        }
        let best = self.best_willing(order.side.opposite(), order.lots)?;
        let price = match order.side {
            Side::Buy => (best.0 - 1) & !1,
            Side::Sell => best.0.checked_add(2)? & !1,
        };
        (price > 0).then_some(HalfTicks(price))
    }

    /// Whether the order would find a maker at this price, which an all-or-none order that is
    /// larger is not.
    pub(super) fn would_trade(&self, order: &NewOrder, price: HalfTicks) -> bool {
        let best = self.best_willing(order.side.opposite(), order.lots);
        best.is_some_and(|best| crosses(order.side, price, best))
    }

    /// The order as a taker, within the band of the rules.
    pub(super) fn taker(&self, order: &NewOrder, filled: i64) -> Taker {
        let mut limit = limit(order);
        if let (Some(band), true) = (self.rules.volatility_band, self.last != 0) {
            let band = i64::from(band);
            limit.0 = match order.side {
                Side::Buy => limit.0.min(self.last.saturating_add(band)),
                Side::Sell => limit.0.max(self.last.saturating_sub(band)),
            };
        }
        Taker::new(order, limit, filled, &self.rules)
    }

    /// Rests what is left, where its terms say, or cancels it.
    pub(super) fn rest(&mut self, order: &NewOrder, taker: &Taker, sink: &mut impl EventSink) {
        let remaining = Lots(taker.remaining);
        if !order.may_rest() {
            return sink.on_event(remainder_cancelled(order, remaining));
        }
        let is_dark = order.terms.has(f::HIDDEN | f::ALL_OR_NONE);
        let book_kind = if is_dark { BookKind::Dark } else { BookKind::Lit };
        self.stand(book_kind, order, order.price, remaining, taker.filled, sink);
        self.remember_if_waiting(order);
    }

    /// Puts an order into one of the books that trade.
    pub(super) fn stand(
        &mut self,
        book_kind: BookKind,
        order: &NewOrder,
        price: HalfTicks,
        lots: Lots,
        filled: i64,
        sink: &mut impl EventSink,
    ) {
        let NewOrder { order_id, owner, side, .. } = *order;
        let display =
            if order.terms.has(f::ICEBERG) { lots.min(order.terms.display) } else { lots };
        let note = Note { order: *order, reserve: lots.0 - display.0 };
        let standing = Order { id: order_id, owner, side, price, lots: display };
        match self.resting_mut(book_kind).place(standing, &note, filled) {
            Ok(placement) => {
                let hidden = book_kind != BookKind::Lit;
                sink.on_event(Event::Rested { order_id, side, price, lots: display, hidden });
                if book_kind == BookKind::Lit {
                    self.touch(side, placement.level, -display.0, -1);
                    self.note_top_order(&standing, placement.level.order_count);
                }
            }
            Err(_) => sink.on_event(cancelled(order, lots, CancelReason::BookFull)),
        }
    }

    /// Makes an order wait for a trigger, an auction or a market.
    pub(super) fn hold(
        &mut self,
        order: &NewOrder,
        filled: i64,
        book_kind: BookKind,
        until: HeldUntil,
        sink: &mut impl EventSink,
    ) {
        let NewOrder { order_id: id, owner, lots, .. } = *order;
        let (side, price) = match book_kind {
            BookKind::Pending if fires_when_rising(order) => {
                (Side::Sell, order.terms.trigger_price)
            }
            BookKind::Pending => (Side::Buy, order.terms.trigger_price),
            _ => (order.side, HalfTicks(0)),
        };
        let waiting = Order { id, owner, side, price, lots };
        let note = Note { order: *order, reserve: 0 };
        match self.resting_mut(book_kind).place(waiting, &note, filled) {
            Ok(_) => {
                sink.on_event(Event::Held { order_id: id, until });
                self.trailing_count +=
                    usize::from(book_kind == BookKind::Pending && order.terms.has(f::TRAILING));
                self.remember_if_waiting(order);
            }
            Err(_) => sink.on_event(cancelled(order, lots, CancelReason::BookFull)),
        }
    }

    /// Notes the expiry and the peg of an order that has found a place.
    pub(super) fn remember_if_waiting(&mut self, order: &NewOrder) {
        if order.terms.has(f::EXPIRY | f::PEG) && self.locate(order.order_id).is_some() {
            self.remember(order);
        }
    }
}
