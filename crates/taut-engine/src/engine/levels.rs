//! The displayed levels that a command has changed, and how it ends.

use taut_book::Level;
use taut_types::{HalfTicks, Lots, Side};

use super::state::{DARK, ELSEWHERE, Engine, RULED, Touched, WATCHING};
use super::tell::level_event;
use crate::command::Phase;
use crate::event::{Event, EventSink};

impl Engine {
    /// Remembers how a displayed level was before so many lots and orders left it (or, negative,
    /// came to it).
    #[inline]
    pub(super) fn touch(&mut self, side: Side, now: Level<HalfTicks>, lots: i64, orders: i64) {
        if let Some(last) = self.touched.last()
            && last.price == now.price
            && last.side == side
        {
            return;
        }
        self.touch_another(side, now, lots, orders);
    }

    #[inline(never)]
    fn touch_another(&mut self, side: Side, now: Level<HalfTicks>, lots: i64, orders: i64) {
        if self.touched.len() == self.touched.capacity() {
            self.merge_touched(side);
        }
        let turn = u32::try_from(self.touched.len()).unwrap_or(u32::MAX);
        let order_count = i64::from(now.order_count) + orders;
        self.touched.push(Touched {
            side,
            price: now.price,
            lots: now.lots.0.wrapping_add(lots),
            order_count: u32::try_from(order_count).unwrap_or(0),
            turn,
        });
    }

    /// Tells the levels of a plain sweep, which are in order already.
    #[inline]
    pub(super) fn tell_swept_levels(&mut self, sink: &mut impl EventSink) {
        for at in 0..self.touched.len() {
            self.tell_level(self.touched[at], sink);
        }
        self.touched.clear();
    }

    /// Ends a command: all that follows from it happens, then its levels are told, those of the
    /// other side first, best first.
    #[inline(never)]
    pub(super) fn finish(&mut self, own_side: Side, sink: &mut impl EventSink) {
        self.settle(sink);
        self.merge_touched(own_side);
        self.tell_swept_levels(sink);
        if self.phase.is_auction() {
            let (price, lots, surplus) = self.indicative();
            sink.on_event(Event::Indicative { price, lots, surplus });
        }
        let [dark, pending, parked] = self.undisplayed_counts();
        self.busy = if dark + pending + parked > 0 { ELSEWHERE } else { 0 }
            | if dark > 0 { DARK } else { 0 }
            | if pending + self.pegs.order_count() > 0 { WATCHING } else { 0 }
            | self.ruled();
    }

    fn ruled(&self) -> u8 {
        let is_plain = self.phase == Phase::Continuous && self.rules.are_plain();
        if is_plain { 0 } else { RULED }
    }

    /// Sorts the touched levels and keeps the oldest entry of each.
    pub(super) fn merge_touched(&mut self, own_side: Side) {
        self.touched.sort_unstable_by_key(|level| {
            let best_first = match level.side {
                Side::Buy => !level.price.0,
                Side::Sell => level.price.0,
            };
            (level.side == own_side, best_first, level.turn)
        });
        self.touched.dedup_by_key(|level| (level.side, level.price));
        for (turn, level) in (0..).zip(&mut self.touched) {
            level.turn = turn;
        }
    }

    #[inline]
    fn tell_level(&self, before: Touched, sink: &mut impl EventSink) {
        let Touched { side, price, lots, order_count, .. } = before;
        let gone = Level { price, lots: Lots::ZERO, order_count: 0 };
        let now = self.lit.book.level_at(side, price).unwrap_or(gone);
        if (now.lots.0, now.order_count) != (lots, order_count) {
            sink.on_event(level_event(side, now));
        }
    }
}
