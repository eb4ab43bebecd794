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

use super::resting_book::{BookKind, NOTED};
use super::state::Engine;
use crate::event::{Event, EventSink};
use crate::terms::feature as f;

impl Engine {
    /// The price, the volume and what would be left at the price (of buys if positive, of sells if
    /// negative) of an auction that ended now; zeros when nothing would trade. Cost: a few steps
    /// for each order.
    #[must_use]
    pub fn indicative(&self) -> (HalfTicks, Lots, i64) {
        let mut best: Option<(i64, u64)> = None;
        self.each_outcome(|_, outcome| {
            if best.is_none_or(|best| is_preferred(outcome, best)) {
                best = Some(outcome.key());
            }
        });
        let Some(best) = best.filter(|&(volume, _)| volume > 0) else {
            return (HalfTicks(0), Lots::ZERO, 0);
        };
        let mut ties = Ties::default();
        self.each_outcome(|price, outcome| {
            if outcome.key() == best {
                ties.add(price, outcome.surplus, self.last);
            }
        });
        let price = ties.price(self.last != 0);
        let mut surplus = 0;
        self.each_outcome(|at, outcome| {
            if at == price {
                surplus = outcome.surplus;
            }
        });
        (HalfTicks(price), Lots(best.0), surplus)
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
        buyer: (BookKind, Handle),
        seller: (BookKind, Handle),
        price: HalfTicks,
        lots_max: i64,
        sink: &mut impl EventSink,
    ) -> i64 {
        let [buy, sell] =
            [buyer, seller].map(|(book_kind, handle)| self.describe(book_kind, handle));
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
            hidden: sell.book_kind != BookKind::Lit,
            taker_rested: buy.book_kind == BookKind::Lit,
        });
        // One after the other: what the first frees, the second must not have been using.
        for order in [buy, sell] {
            let taken = self.resting_mut(order.book_kind).book.take_from(order.handle, Lots(lots));
            if order.book_kind == BookKind::Lit {
                let leaves = i64::from(taken.removal.order.lots == Lots::ZERO);
                self.touch(order.side, taken.removal.level, lots, leaves);
            }
            self.after_take(order.book_kind, &taken, lots, sink);
        }
        lots
    }

    fn next_in_auction(&self, side: Side, price: HalfTicks) -> Option<(BookKind, Handle)> {
        let mut waiting = self.parked.book.handles(side);
        if let Some(market) = waiting.find(|&handle| self.is_market(handle)) {
            return Some((BookKind::Parked, market));
        }
        let at = |book_kind, handle| {
            (self.resting(book_kind).book.order_at(handle).price, book_kind, handle)
        };
        let lit = self.lit.book.best_handle(side).map(|handle| at(BookKind::Lit, handle));
        let mut dark = self.dark.book.handles(side);
        let dark = dark.find(|&handle| self.joins_auction(handle));
        let dark = dark.map(|handle| at(BookKind::Dark, handle));
        let best = match (lit, dark) {
            (Some(lit), Some(dark)) if is_better_for(side, dark.0, lit.0) => dark,
            (lit, dark) => lit.or(dark)?,
        };
        let (limit, book_kind, handle) = best;
        (!is_better_for(side, price, limit)).then_some((book_kind, handle))
    }

    fn is_market(&self, parked: Handle) -> bool {
        self.parked.book.tag(parked) & NOTED != 0
            && self.parked.note(parked).order.order_type == OrderType::Market
    }

    fn joins_auction(&self, dark: Handle) -> bool {
        !self.dark.note(dark).order.terms.has(f::ALL_OR_NONE | f::PEG)
    }

    /// What the auction comes to at every limit price that takes part, from the highest down; at
    /// the last trade's if there is none. Cost: a step for each order.
    fn each_outcome(&self, mut visit: impl FnMut(i64, Outcome)) {
        // On the way down buys come in, best first, and sells drop out, worst first.
        let mut buys =
            TRADING.map(|book_kind| self.resting(book_kind).book.levels(Side::Buy).peekable());
        let mut sells = TRADING
            .map(|book_kind| self.resting(book_kind).book.levels(Side::Sell).rev().peekable());
        let mut demand = self.at_any_price(Side::Buy);
        let mut supply = self.at_any_price(Side::Sell);
        for book_kind in TRADING {
            let levels = self.resting(book_kind).book.levels(Side::Sell);
            supply += levels
                .filter_map(|level| self.joining(book_kind, Side::Sell, level.price))
                .sum::<i128>();
        }
        let mut any = false;
        loop {
            let bids = buys.iter_mut().filter_map(|levels| levels.peek());
            let asks = sells.iter_mut().filter_map(|levels| levels.peek());
            let prices = bids.map(|level| level.price).chain(asks.map(|level| level.price));
            let Some(price) = prices.max() else { break };
            let (mut takes_part, mut leaving) = (false, 0);
            for (book_kind, levels) in TRADING.into_iter().zip(&mut buys) {
                let level = levels.next_if(|level| level.price == price);
                if let Some(lots) = level.and_then(|_| self.joining(book_kind, Side::Buy, price)) {
                    (takes_part, demand) = (true, demand + lots);
                }
            }
            for (book_kind, levels) in TRADING.into_iter().zip(&mut sells) {
                let level = levels.next_if(|level| level.price == price);
                if let Some(lots) = level.and_then(|_| self.joining(book_kind, Side::Sell, price)) {
                    (takes_part, leaving) = (true, leaving + lots);
                }
            }
            if takes_part {
                any = true;
                visit(price.0, Outcome::of(demand, supply));
            }
            supply -= leaving;
        }
        if !any && self.last != 0 {
            visit(self.last, Outcome::of(demand, supply));
        }
    }

    /// What a side's market orders want.
    fn at_any_price(&self, side: Side) -> i128 {
        let waiting = self.parked.book.handles(side).filter(|&handle| self.is_market(handle));
        waiting.map(|handle| i128::from(self.parked.book.order_at(handle).lots.0)).sum()
    }

    /// What the orders of a level want; nothing when none of them takes part.
    fn joining(&self, book_kind: BookKind, side: Side, price: HalfTicks) -> Option<i128> {
        let resting = self.resting(book_kind);
        let mut wanted = None;
        for handle in resting.book.handles_at(side, price) {
            if book_kind == BookKind::Dark && !self.joins_auction(handle) {
                continue;
            }
            let reserve = if resting.book.tag(handle) & NOTED == 0 {
                0
            } else {
                self.reserve(book_kind, handle)
            };
            let lots = i128::from(resting.book.order_at(handle).lots.0) + i128::from(reserve);
            wanted = Some(wanted.unwrap_or(0) + lots);
        }
        wanted
    }
}

/// Where orders with a price of their own stand.
const TRADING: [BookKind; 2] = [BookKind::Lit, BookKind::Dark];

/// What trades at a price, and what is left there.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    volume: i64,
    surplus: i64,
}

impl Outcome {
    fn of(demand: i128, supply: i128) -> Self {
        let [demand, supply] = [demand, supply].map(|lots| i64::try_from(lots).unwrap_or(i64::MAX));
        Self { volume: demand.min(supply), surplus: demand.saturating_sub(supply) }
    }

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
