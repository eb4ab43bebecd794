//! Who is next in line for a taker, and how much there is.

use taut_book::{Handle, Order};
use taut_types::{HalfTicks, Lots, Side};

use super::resting_book::{BookKind, NOTED};
use super::state::{Engine, Taker, crosses};
use crate::terms::{SelfTrade, feature as f};

impl Engine {
    /// The next maker: the better price first, at one price the displayed before the hidden, then
    /// the older. An all-or-none order that is larger than the taker lets others pass.
    pub(super) fn next_maker(&self, taker: &Taker) -> Option<(BookKind, Handle)> {
        let makers = taker.side.opposite();
        let lit = self
            .lit
            .book
            .best_handle(makers)
            .map(|handle| (BookKind::Lit, handle, self.lit.book.order_at(handle).price));
        let lit = lit.filter(|&(.., price)| crosses(taker.side, taker.limit, price));
        let dark =
            self.dark.book.handles(makers).map(|handle| (handle, self.dark.book.order_at(handle)));
        let mut dark = dark.take_while(|(_, order)| crosses(taker.side, taker.limit, order.price));
        let dark = dark.find(|&(handle, order)| self.takes_part(handle, &order, taker.remaining));
        let next = match (lit, dark) {
            (Some(lit), Some((_, order))) if !is_better(taker.side, order.price, lit.2) => lit,
            (_, Some((handle, order))) => (BookKind::Dark, handle, order.price),
            (lit, None) => lit?,
        };
        Some((next.0, next.1))
    }

    /// Whether an undisplayed maker would trade with a taker of so many lots.
    fn takes_part(&self, maker: Handle, order: &Order, lots: i64) -> bool {
        order.lots <= Lots(lots) || !self.dark.note(maker).order.terms.has(f::ALL_OR_NONE)
    }

    /// How much the taker would trade now, counted up to what is needed. An order of its own
    /// account or group ends the count, unless it would be cancelled and the taker go on.
    ///
    /// Cost: a step for each order it would meet.
    pub(super) fn available(&self, taker: &Taker, needed: i64) -> i64 {
        let makers = taker.side.opposite();
        let within = |price: HalfTicks| crosses(taker.side, taker.limit, price);
        let mut lit =
            self.lit.book.levels(makers).take_while(|level| within(level.price)).peekable();
        let mut dark = self.dark.book.handles(makers).peekable();
        let mut counted = 0i64;
        while counted < needed {
            let hidden = dark.peek().map(|&handle| (handle, self.dark.book.order_at(handle)));
            let hidden = hidden.filter(|(_, order)| within(order.price));
            match (lit.peek(), hidden) {
                (None, None) => break,
                (Some(level), hidden)
                    if hidden.is_none_or(|(_, o)| !is_better(taker.side, o.price, level.price)) =>
                {
                    let price = level.price;
                    lit.next();
                    if !self.count_level(taker, price, needed, &mut counted) {
                        break;
                    }
                }
                (_, None) => break,
                (_, Some((maker, order))) => {
                    dark.next();
                    if !self.takes_part(maker, &order, taker.remaining - counted) {
                        continue;
                    }
                    match self.is_own(taker, BookKind::Dark, maker) {
                        true if taker.self_trade == SelfTrade::CancelOldest => {}
                        true => break,
                        false => counted = counted.saturating_add(order.lots.0),
                    }
                }
            }
        }
        counted
    }

    /// Adds a displayed level to the count and tells whether the taker would go on beyond it.
    fn count_level(&self, taker: &Taker, price: HalfTicks, needed: i64, counted: &mut i64) -> bool {
        let makers = taker.side.opposite();
        let others_go_on = taker.self_trade == SelfTrade::CancelOldest;
        let own = |handle| self.is_own(taker, BookKind::Lit, handle);
        if !self.rules.allocation.is_fifo()
            && !others_go_on
            && self.lit.book.handles_at(makers, price).any(own)
        {
            return false;
        }
        let mut reserves = 0i64;
        for handle in self.lit.book.handles_at(makers, price) {
            if own(handle) {
                if others_go_on {
                    continue;
                }
                return false;
            }
            *counted = counted.saturating_add(self.lit.book.order_at(handle).lots.0);
            if *counted >= needed {
                return true;
            }
            if self.lit.book.tag(handle) & NOTED != 0 {
                reserves = reserves.saturating_add(self.lit.note(handle).reserve);
            }
        }
        *counted = counted.saturating_add(reserves);
        true
    }

    /// Whether the taker must not trade with this maker.
    pub(super) fn is_own(&self, taker: &Taker, book_kind: BookKind, maker: Handle) -> bool {
        if matches!(taker.self_trade, SelfTrade::Default | SelfTrade::Allow) {
            return false;
        }
        let resting = self.resting(book_kind);
        resting.book.order_at(maker).owner == taker.owner
            || taker.group != 0
                && resting.book.tag(maker) & NOTED != 0
                && resting.note(maker).order.terms.group == taker.group
    }
}

/// Whether a price is better for a taker of this side than another.
pub(super) const fn is_better(taker: Side, price: HalfTicks, than: HalfTicks) -> bool {
    match taker {
        Side::Buy => price.0 < than.0,
        Side::Sell => price.0 > than.0,
    }
}
