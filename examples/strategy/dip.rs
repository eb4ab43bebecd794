//! The strategy: buys when the offer falls, sells what it has when the bid rises. It reads no clock
//! and does no I/O, so that it runs the same in a thread, a process of its own, and a test.

use taut::prelude::*;

/// What it holds at the most.
const POSITION_MAX: Lots = Lots(10);

/// Takes falling offers and rising bids.
#[derive(Debug, Default)]
pub struct Dip {
    last: BestPrices,
    position: Lots,
    /// The side of the order that is under way: one at a time.
    waiting: Option<Side>,
}

/// The price of this side where it was better for us than before.
fn moved(
    now: Option<(Price, Lots)>,
    before: Option<(Price, Lots)>,
    is_better: fn(Price, Price) -> bool,
) -> Option<Price> {
    let ((now, _), (before, _)) = (now?, before?);
    is_better(now, before).then_some(now)
}

impl Strategy for Dip {
    fn on_market(&mut self, _now: Nanos, event: &Event, trading: &mut impl Trading) {
        let EventKind::Top(top) = event.kind else { return };
        let before = std::mem::replace(&mut self.last, top);
        if self.waiting.is_some() {
            return;
        }
        let buy = moved(top.ask, before.ask, |now, before| now < before);
        let sell = moved(top.bid, before.bid, |now, before| now > before);
        let (side, price) = match (buy, sell) {
            (Some(price), _) if self.position < POSITION_MAX => (Side::Buy, price),
            (_, Some(price)) if self.position > Lots(0) => (Side::Sell, price),
            _ => return,
        };
        let limit = OrderTerms::limit(event.instrument, side, price, Lots(1));
        let order = OrderTerms { time_in_force: TimeInForce::ImmediateOrCancel, ..limit };
        self.waiting = trading.create(&order).map(|_id| side);
    }

    fn on_order(&mut self, _now: Nanos, update: &OrderUpdate, _trading: &mut impl Trading) {
        let Some(side) = self.waiting else { return };
        if let UpdateKind::Filled { lots, .. } = update.kind {
            self.position = Lots(self.position.0 + side.sign() * lots.0);
        }
        if update.state.is_done() {
            self.waiting = None;
        }
    }
}
