//! What is looked at with the time: the venue's terms of instruments, and what positions are worth.

use taut_market_data::FeedHandler;
use taut_oms::{KillCause, KillScope, Reference};
use taut_types::{Instrument, Price};

use super::Core;
use crate::client::Client;
use crate::observer::Observer;
use crate::order_entry::OrderSession;
use crate::order_entry::handler::OrderHandler;

/// Instruments whose positions are valued in one round of housekeeping.
const MARKED_IN_A_ROW: usize = 32;

impl<C: Client, F: FeedHandler, O: Observer, H: OrderHandler> Core<'_, C, F, O, H> {
    /// An instrument that the venue has by another symbol, or with other steps of prices or
    /// quantities, is traded no more: each order could be refused, or mean something else. One that
    /// was added is traded from here on when the venue has it as it is.
    pub(super) fn compare_terms(&mut self) {
        let Self { streams, instruments, market, orders, .. } = self;
        let stop = |orders: &mut OrderSession<H>, id| {
            orders.kill_switch_mut().kill(KillScope::Instrument(id), KillCause::ReferenceData);
        };
        while let Some(id) = market.feed_mut().poll_contradiction() {
            stop(orders, id);
        }
        while let Some((id, is_ours)) = orders.poll_compared() {
            match is_ours {
                true => orders.compared(id, market.order_status(id)),
                false => stop(orders, id),
            }
        }
        let Some(streams) = streams else { return };
        while let Some((id, terms)) = streams.poll_terms() {
            orders.set_terms(id, &terms);
            match instruments.get(id.0 as usize).is_none_or(|own| terms.contain(own)) {
                true => orders.compared(id, market.order_status(id)),
                false => stop(orders, id),
            }
        }
    }

    /// Values what is held at the middle of the market, some instruments at a time.
    pub(super) fn mark_some(&mut self) {
        for _ in 0..MARKED_IN_A_ROW.min(self.instruments.len()) {
            self.marked =
                if self.marked + 1 < self.instruments.len() { self.marked + 1 } else { 0 };
            let Some(instrument) = self.instruments.get(self.marked).map(Instrument::id) else {
                return;
            };
            let Reference { bid: Some(bid), ask: Some(ask), .. } =
                self.market.reference(instrument)
            else {
                continue;
            };
            self.orders.mark(instrument, Price(bid.0.midpoint(ask.0)));
        }
    }
}
