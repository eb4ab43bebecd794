//! The phases of the trading day.
//!
//! | phase | new orders | trading |
//! |---|---|---|
//! | continuous | all | at once |
//! | pre-open, auctions | those that can wait for the auction's end | none |
//! | halted, closed | refused; cancels are carried out | none |
//!
//! Whatever phase ends into continuous trading or into the close, the orders that were collected
//! trade in an auction first.

use taut_types::{Lots, OrderType};

use super::resting_book::BookKind;
use super::standing::Standing;
use super::state::{Engine, Taker, limit};
use super::tell::remainder_cancelled;
use crate::command::Phase;
use crate::event::{CancelReason, Event, EventSink, HeldUntil};
use crate::order::NewOrder;
use crate::terms::{AuctionOnly, feature as f};

impl Engine {
    pub(super) fn set_phase(&mut self, phase: Phase, sink: &mut impl EventSink) {
        let before = core::mem::replace(&mut self.phase, phase);
        sink.on_event(Event::Phase { phase });
        let ends = matches!(phase, Phase::Continuous | Phase::Closed);
        if phase == Phase::ClosingAuction {
            self.bring_to_the_close(sink);
        }
        if ends && before != Phase::Continuous {
            self.uncross(sink);
        }
        match phase {
            Phase::Continuous => {
                self.cancel_where(CancelReason::AuctionOver, sink, |standing| {
                    let order = &standing.note.order;
                    match order.terms.auction {
                        AuctionOnly::Open => true,
                        AuctionOnly::Close => standing.book_kind != BookKind::Parked,
                        AuctionOnly::No => waits_for_auction(standing),
                    }
                });
            }
            Phase::Closed => {
                // Nothing trades any more, so nothing is triggered.
                self.first = 0;
                self.cancel_where(CancelReason::AuctionOver, sink, |standing| {
                    standing.note.order.terms.has(f::AUCTION) || waits_for_auction(standing)
                });
                self.cancel_where(CancelReason::Expired, sink, |standing| standing.day);
            }
            _ => {}
        }
        // No price, so that pegged orders are priced when they can trade again.
        self.peg_top = (-1, -1);
        self.finish(taut_types::Side::Buy, sink);
    }

    /// Takes in an order that cannot trade now.
    pub(super) fn collect(&mut self, order: &NewOrder, filled: i64, sink: &mut impl EventSink) {
        let is_market = order.order_type == OrderType::Market;
        let waits_for_close =
            order.terms.auction == AuctionOnly::Close && self.phase != Phase::ClosingAuction;
        if order.terms.has(f::STOP) {
            self.hold(order, filled, BookKind::Pending, HeldUntil::Trigger, sink);
        } else if order.terms.has(f::PEG) {
            self.hold(order, filled, BookKind::Parked, HeldUntil::Market, sink);
        } else if order.features() & (f::IMMEDIATE | f::FILL_OR_KILL) != 0 {
            sink.on_event(remainder_cancelled(order, order.lots));
        } else if is_market || waits_for_close {
            self.hold(order, filled, BookKind::Parked, HeldUntil::Auction, sink);
        } else {
            let taker = Taker::new(order, limit(order), filled, &self.rules);
            self.rest(order, &taker, sink);
        }
    }

    /// Stops trading for an auction when the band, and nothing else, keeps a taker from a maker.
    pub(super) fn halt_if_blocked(
        &mut self,
        order: &NewOrder,
        taker: &Taker,
        sink: &mut impl EventSink,
    ) {
        let unbound = Taker { limit: limit(order), ..*taker };
        if unbound.limit != taker.limit && self.next_maker(&unbound).is_some() {
            self.phase = Phase::VolatilityAuction;
            sink.on_event(Event::Phase { phase: self.phase });
        }
    }

    /// Limit orders that are meant for the close enter the book; market orders go on waiting.
    fn bring_to_the_close(&mut self, sink: &mut impl EventSink) {
        let ids = self.select(|standing| {
            let order = &standing.note.order;
            standing.book_kind == BookKind::Parked
                && order.terms.auction == AuctionOnly::Close
                && order.order_type == OrderType::Limit
        });
        for &id in &ids {
            let Some(standing) = self.locate(id) else { continue };
            let order = NewOrder { lots: Lots(standing.shown), ..standing.note.order };
            self.take_out(&standing);
            self.collect(&order, standing.filled, sink);
        }
        self.ids = ids;
    }

    fn cancel_where(
        &mut self,
        reason: CancelReason,
        sink: &mut impl EventSink,
        matches: impl Fn(&Standing) -> bool,
    ) {
        let ids = self.select(matches);
        self.cancel_all(ids, reason, sink);
    }
}

fn waits_for_auction(standing: &Standing) -> bool {
    standing.book_kind == BookKind::Parked && standing.note.order.order_type == OrderType::Market
}
