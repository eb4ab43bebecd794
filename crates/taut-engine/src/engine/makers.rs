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

    /// How much the taker would trade now, counted up to what is needed: exact, whatever orders of
    /// its own account or group it would meet on the way.
    ///
    /// Cost: a step for each order it would meet, and for each part of an iceberg where orders of
    /// its own make it smaller.
    pub(super) fn available(&self, taker: &Taker, needed: i64) -> i64 {
        let makers = taker.side.opposite();
        let within = |price: HalfTicks| crosses(taker.side, taker.limit, price);
        let mut lit =
            self.lit.book.levels(makers).take_while(|level| within(level.price)).peekable();
        let mut dark = self.dark.book.handles(makers).peekable();
        let mut count = Count { traded: 0, left: taker.remaining };
        while count.traded < needed && count.left > 0 {
            let hidden = dark.peek().map(|&handle| (handle, self.dark.book.order_at(handle)));
            let hidden = hidden.filter(|(_, order)| within(order.price));
            match (lit.peek(), hidden) {
                (None, None) => break,
                (Some(level), hidden)
                    if hidden.is_none_or(|(_, o)| !is_better(taker.side, o.price, level.price)) =>
                {
                    let price = level.price;
                    lit.next();
                    if !self.count_level(taker, price, needed, &mut count) {
                        break;
                    }
                }
                (_, None) => break,
                (_, Some((maker, order))) => {
                    dark.next();
                    if !self.takes_part(maker, &order, count.left) {
                        continue;
                    }
                    match (self.is_own(taker, BookKind::Dark, maker), Meeting::of(taker)) {
                        (false, _) => count.trade(order.lots.0),
                        (true, Meeting::MakerGoes) => {}
                        (true, Meeting::BothShrink) => count.lose(order.lots.0),
                        (true, Meeting::TakerGoes) => break,
                    }
                }
            }
        }
        count.traded
    }

    /// Adds a displayed level to the count and tells whether the taker would go on beyond it.
    fn count_level(&self, taker: &Taker, price: HalfTicks, needed: i64, count: &mut Count) -> bool {
        let level = || self.lit.book.handles_at(taker.side.opposite(), price);
        let own = |handle: &Handle| self.is_own(taker, BookKind::Lit, *handle);
        let meeting = Meeting::of(taker);
        let is_fifo = self.rules.allocation.is_fifo();
        if meeting == Meeting::BothShrink && level().any(|handle| own(&handle)) {
            if is_fifo {
                self.count_in_turn(taker, price, needed, count);
                return true;
            }
            // Before the taker is divided, it meets each part of its own orders.
            level().filter(own).for_each(|handle| count.lose(self.whole(handle)));
        }
        if !is_fifo && meeting == Meeting::TakerGoes && level().any(|handle| own(&handle)) {
            return false;
        }
        let mut reserves = 0i64;
        for handle in level() {
            if own(&handle) {
                if meeting == Meeting::TakerGoes {
                    return false;
                }
                continue;
            }
            count.trade(self.lit.book.order_at(handle).lots.0);
            if count.traded >= needed {
                return true;
            }
            if self.lit.book.tag(handle) & NOTED != 0 {
                reserves = reserves.saturating_add(self.lit.note(handle).reserve);
            }
        }
        count.trade(reserves);
        true
    }

    /// Adds a displayed level order by order, where orders of its own make the taker smaller: then
    /// it matters which come first, and of icebergs which part.
    #[cold]
    fn count_in_turn(&self, taker: &Taker, price: HalfTicks, needed: i64, count: &mut Count) {
        let makers = taker.side.opposite();
        for round in 0.. {
            let mut has_more = false;
            for handle in self.lit.book.handles_at(makers, price) {
                let (part, reserve) = self.part(handle, round);
                has_more |= reserve > 0;
                if self.is_own(taker, BookKind::Lit, handle) {
                    count.lose(part);
                } else {
                    count.trade(part);
                }
                if count.traded >= needed || count.left == 0 {
                    return;
                }
            }
            if !has_more {
                return;
            }
        }
    }

    /// What a displayed order shows when it comes to its turn for the `round`-th time, and what is
    /// behind that.
    fn part(&self, handle: Handle, round: i64) -> (i64, i64) {
        let shown = self.lit.book.order_at(handle).lots.0;
        if self.lit.book.tag(handle) & NOTED == 0 {
            return if round == 0 { (shown, 0) } else { (0, 0) };
        }
        let note = self.lit.note(handle);
        if round == 0 {
            return (shown, note.reserve);
        }
        let display = note.order.terms.display.0;
        let reserve = note.reserve.saturating_sub((round - 1).saturating_mul(display)).max(0);
        let part = reserve.min(display);
        (part, reserve - part)
    }

    /// All of a displayed order.
    fn whole(&self, handle: Handle) -> i64 {
        let (shown, reserve) = self.part(handle, 0);
        shown.saturating_add(reserve)
    }

    /// The best price of a side, displayed or not, at which an order of so many lots would trade.
    pub(super) fn best_willing(&self, makers: Side, lots: Lots) -> Option<HalfTicks> {
        let lit = self.lit.book.best_price(makers);
        let dark = self.dark.book.handles(makers);
        let mut dark = dark.map(|handle| (handle, self.dark.book.order_at(handle)));
        let dark = dark.find(|(handle, order)| self.takes_part(*handle, order, lots.0));
        match (lit, dark.map(|(_, order)| order.price)) {
            (Some(lit), Some(dark)) if is_better(makers.opposite(), dark, lit) => Some(dark),
            (lit, dark) => lit.or(dark),
        }
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

/// What a taker would trade, and what is left of it.
struct Count {
    traded: i64,
    left: i64,
}

impl Count {
    fn trade(&mut self, lots: i64) {
        let lots = lots.min(self.left);
        self.traded += lots;
        self.left -= lots;
    }

    /// An order of its own takes so much without a trade.
    fn lose(&mut self, lots: i64) {
        self.left -= lots.min(self.left);
    }
}

/// What becomes of a taker that meets an order of its own account or group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meeting {
    TakerGoes,
    MakerGoes,
    BothShrink,
}

impl Meeting {
    const fn of(taker: &Taker) -> Self {
        match taker.self_trade {
            SelfTrade::CancelOldest => Self::MakerGoes,
            SelfTrade::Decrement | SelfTrade::Transfer => Self::BothShrink,
            _ => Self::TakerGoes,
        }
    }
}

/// Whether a price is better for a taker of this side than another.
pub(super) const fn is_better(taker: Side, price: HalfTicks, than: HalfTicks) -> bool {
    match taker {
        Side::Buy => price.0 < than.0,
        Side::Sell => price.0 > than.0,
    }
}
