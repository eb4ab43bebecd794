//! The call auction: one price at which as much as possible trades.
//!
//! The price is a limit price of the collected orders for which, in this order: the volume is
//! greatest; what is left over is least; if all candidates leave buyers, the highest, if all leave
//! sellers, the lowest; else the nearest to the last trade, the lower of two. (The rules of
//! Euronext's and Xetra's call auctions.) Market orders come first, then price, the displayed
//! before the hidden, then time. All-or-none and pegged orders do not take part, and an auction
//! does not keep an account from meeting itself.

use taut_book::Handle;
use taut_types::{HalfTicks, Lots, OrderType, Side};

use super::shelf::{NOTED, Spot};
use super::state::Engine;
use crate::event::{Event, EventSink};
use crate::terms::feature as f;

impl Engine {
    /// The price, the volume and what would be left at the price (of buys if positive, of sells if
    /// negative) of an auction that ended now; zeros when nothing would trade. Cost: the price
    /// levels times the orders.
    #[must_use]
    pub fn indicative(&self) -> (HalfTicks, Lots, i64) {
        let mut best: Option<(i64, u64)> = None;
        self.each_candidate(|engine, price| {
            let outcome = engine.outcome(price);
            if best.is_none_or(|best| is_preferred(outcome, best)) {
                best = Some(outcome.key());
            }
        });
        let Some(best) = best.filter(|&(volume, _)| volume > 0) else {
            return (HalfTicks(0), Lots::ZERO, 0);
        };
        let mut ties = Ties::default();
        self.each_candidate(|engine, price| {
            let outcome = engine.outcome(price);
            if outcome.key() == best {
                ties.add(price, outcome.surplus, engine.last);
            }
        });
        let price = ties.price(self.last != 0);
        (HalfTicks(price), Lots(best.0), self.outcome(price).surplus)
    }

    /// Trades all that the auction comes to.
    pub(super) fn uncross(&mut self, sink: &mut impl EventSink) {
        let (price, volume, _) = self.indicative();
        let mut left = volume.0;
        while left > 0 {
            let buyer = self.next_in_auction(Side::Buy, price);
            let seller = self.next_in_auction(Side::Sell, price);
            let (Some(buyer), Some(seller)) = (buyer, seller) else { break };
            left -= self.cross(buyer, seller, price, left, sink);
        }
    }

    /// Trades two orders with each other at the auction's price; tells how much.
    fn cross(
        &mut self,
        buyer: (Spot, Handle),
        seller: (Spot, Handle),
        price: HalfTicks,
        lots_max: i64,
        sink: &mut impl EventSink,
    ) -> i64 {
        let [buy, sell] = [buyer, seller].map(|(spot, handle)| self.describe(spot, handle));
        let lots = buy.shown.min(sell.shown).min(lots_max);
        if self.first == 0 {
            self.first = price.0;
        }
        self.last = price.0;
        self.trade_count += 1;
        sink.on_event(Event::Trade {
            trade_id: self.trade_count,
            maker: sell.id,
            taker: buy.id,
            maker_owner: sell.owner,
            taker_owner: buy.owner,
            price,
            lots: Lots(lots),
            maker_remaining: Lots(sell.open - lots),
            taker_remaining: Lots(buy.open - lots),
            aggressor: Side::Buy,
            hidden: sell.spot != Spot::Lit,
            taker_rested: buy.spot == Spot::Lit,
        });
        // One after the other: what the first frees, the second must not have been using.
        for order in [buy, sell] {
            let taken = self.shelf_mut(order.spot).book.take_from(order.handle, Lots(lots));
            if order.spot == Spot::Lit {
                let leaves = i64::from(taken.removal.order.lots == Lots::ZERO);
                self.touch(order.side, taken.removal.level, lots, leaves);
            }
            self.after_take(order.spot, &taken, lots, sink);
        }
        lots
    }

    fn next_in_auction(&self, side: Side, price: HalfTicks) -> Option<(Spot, Handle)> {
        let mut waiting = self.parked.book.handles(side);
        if let Some(market) = waiting.find(|&handle| self.is_market(handle)) {
            return Some((Spot::Parked, market));
        }
        let at = |spot, handle| (self.shelf(spot).book.order_at(handle).price, spot, handle);
        let lit = self.lit.book.best_handle(side).map(|handle| at(Spot::Lit, handle));
        let mut dark = self.dark.book.handles(side);
        let dark = dark.find(|&handle| self.joins_auction(handle));
        let dark = dark.map(|handle| at(Spot::Dark, handle));
        let best = match (lit, dark) {
            (Some(lit), Some(dark)) if is_better_for(side, dark.0, lit.0) => dark,
            (lit, dark) => lit.or(dark)?,
        };
        let (limit, spot, handle) = best;
        (!is_better_for(side, price, limit)).then_some((spot, handle))
    }

    fn is_market(&self, parked: Handle) -> bool {
        self.parked.book.tag(parked) & NOTED != 0
            && self.parked.note(parked).order.order_type == OrderType::Market
    }

    fn joins_auction(&self, dark: Handle) -> bool {
        !self.dark.note(dark).order.terms.has(f::ALL_OR_NONE | f::PEG)
    }

    /// Every limit price that takes part; the last trade's if there is none.
    fn each_candidate(&self, mut visit: impl FnMut(&Self, i64)) {
        let mut any = false;
        for side in Side::BOTH {
            for level in self.lit.book.levels(side) {
                any = true;
                visit(self, level.price.0);
            }
            for handle in self.dark.book.handles(side).filter(|&h| self.joins_auction(h)) {
                any = true;
                visit(self, self.dark.book.order_at(handle).price.0);
            }
        }
        if !any && self.last != 0 {
            visit(self, self.last);
        }
    }

    /// What trades at a price.
    fn outcome(&self, price: i64) -> Outcome {
        let [demand, supply] = Side::BOTH.map(|side| self.willing(side, HalfTicks(price)));
        Outcome { volume: demand.min(supply), surplus: demand.saturating_sub(supply) }
    }

    /// What a side wants to trade at a price.
    fn willing(&self, side: Side, price: HalfTicks) -> i64 {
        let accepts = |limit| !is_better_for(side, price, limit);
        let waiting = self.parked.book.handles(side).filter(|&handle| self.is_market(handle));
        let waiting = waiting.map(|handle| self.parked.book.order_at(handle).lots.0);
        let lit = self.lit.book.handles(side).map(|handle| {
            let order = self.lit.book.order_at(handle);
            let noted = self.lit.book.tag(handle) & NOTED != 0;
            (order.price, order.lots.0 + if noted { self.lit.note(handle).reserve } else { 0 })
        });
        let lit = lit.take_while(|&(limit, _)| accepts(limit)).map(|(_, lots)| lots);
        let dark = self.dark.book.handles(side).filter(|&handle| self.joins_auction(handle));
        let dark = dark.map(|handle| self.dark.book.order_at(handle));
        let dark = dark.take_while(|order| accepts(order.price)).map(|order| order.lots.0);
        waiting.chain(lit).chain(dark).fold(0, i64::saturating_add)
    }
}

/// What trades at a price, and what is left there.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    volume: i64,
    surplus: i64,
}

impl Outcome {
    const fn key(self) -> (i64, u64) {
        (self.volume, self.surplus.unsigned_abs())
    }
}

fn is_preferred(outcome: Outcome, best: (i64, u64)) -> bool {
    let (volume, left) = outcome.key();
    volume > best.0 || volume == best.0 && left < best.1
}

/// Prices that trade and leave equally much.
#[derive(Clone, Copy, Debug, Default)]
struct Ties {
    count: usize,
    leave_buyers: usize,
    leave_sellers: usize,
    highest: i64,
    lowest: i64,
    nearest: i64,
    distance: u64,
}

impl Ties {
    fn add(&mut self, price: i64, surplus: i64, last: i64) {
        let distance = price.abs_diff(last);
        let nearer = distance < self.distance || distance == self.distance && price < self.nearest;
        if self.count == 0 || nearer {
            (self.nearest, self.distance) = (price, distance);
        }
        self.highest = if self.count == 0 { price } else { self.highest.max(price) };
        self.lowest = if self.count == 0 { price } else { self.lowest.min(price) };
        self.count += 1;
        self.leave_buyers += usize::from(surplus > 0);
        self.leave_sellers += usize::from(surplus < 0);
    }

    const fn price(&self, has_last: bool) -> i64 {
        if self.leave_buyers == self.count {
            self.highest
        } else if self.leave_sellers == self.count || !has_last {
            self.lowest
        } else {
            self.nearest
        }
    }
}

/// Whether the first price is better for an order book of this side than the second.
const fn is_better_for(side: Side, price: HalfTicks, than: HalfTicks) -> bool {
    match side {
        Side::Buy => price.0 > than.0,
        Side::Sell => price.0 < than.0,
    }
}
