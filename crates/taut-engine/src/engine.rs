//! The engine: the books of one instrument, and the rules by which commands change them.
//!
//! This file is what an order without terms needs; each feature has its own below `engine/`.

use alloc::vec::Vec;

use taut_book::{Handle, Level, Order, OrderBook, Taken};
use taut_types::{HalfTicks, Lots, Nanos, OrderId, TimeInForce};

use crate::admission::check_plain;
use crate::command::{Command, Phase, ReplaceMode};
use crate::event::{CancelReason, Event, EventSink, RejectReason};
use crate::order::NewOrder;
use crate::rules::Rules;
use resting_book::{BookKind, NOTED, Note, RestingBook};

mod auction;
mod clock;
mod enter;
mod levels;
mod makers;
mod mass_cancel;
mod pegs;
mod phases;
mod reduce;
mod replace;
mod requeue;
mod resting_book;
mod self_trade;
mod snapshot;
mod standing;
mod state;
mod stops;
mod sweep;
mod tell;

pub use snapshot::SnapshotError;
pub use state::{Engine, EngineConfig};

use state::{DARK, RULED, Taker, WATCHING, crosses, limit};
use tell::{accepted, cancelled, day, level_event, refused, remainder_cancelled, rested, resting};

/// Half ticks of the displayed book's window for each level: prices of a market that runs wide stay
/// within it, at half a kilobyte a level and at most a megabyte a side.
const WINDOW_PER_LEVEL: usize = 128;

impl Engine {
    /// An engine with an empty book, matching by price and time.
    #[must_use]
    pub fn new(config: EngineConfig) -> Self {
        Self::with_rules(config, Rules::default())
    }

    /// An engine with an empty book and an exchange's rules.
    #[must_use]
    pub fn with_rules(config: EngineConfig, rules: Rules) -> Self {
        let EngineConfig { order_capacity, level_capacity } = config;
        let special = rules.special_capacity;
        let resting = || RestingBook::new(OrderBook::with_capacity(special, special));
        let window = level_capacity.saturating_mul(WINDOW_PER_LEVEL);
        let shares = if rules.allocation.is_fifo() { 0 } else { order_capacity };
        Self {
            lit: RestingBook::new(OrderBook::with_window(order_capacity, level_capacity, window)),
            busy: if rules.are_plain() { 0 } else { RULED },
            trade_count: 0,
            last: 0,
            first: 0,
            touched: Vec::with_capacity(2 * level_capacity + 4 * special + 16),
            dark: resting(),
            pending: resting(),
            parked: resting(),
            pegs: OrderBook::with_capacity(2 * special, 1),
            expiries: OrderBook::with_capacity(
                order_capacity + 3 * special,
                order_capacity + 3 * special,
            ),
            fired: Vec::with_capacity(special),
            fired_next: 0,
            trailing_count: 0,
            peg_top: (0, 0),
            top_orders: [None; 2],
            shares: Vec::with_capacity(shares),
            handles: Vec::with_capacity(order_capacity.max(special)),
            ids: Vec::with_capacity(order_capacity + 3 * special),
            phase: Phase::Continuous,
            now: Nanos(i64::MIN),
            config,
            rules,
        }
    }

    /// The displayed book. Its orders, level by level, are the snapshot of a market-by-order feed;
    /// its levels that of a market-by-price feed.
    #[must_use]
    pub const fn book(&self) -> &OrderBook {
        &self.lit.book
    }

    /// How many trades there have been: the last trade's id.
    #[must_use]
    pub const fn trade_count(&self) -> u64 {
        self.trade_count
    }

    /// The price of the last trade.
    #[must_use]
    pub fn last_price(&self) -> Option<HalfTicks> {
        (self.last != 0).then_some(HalfTicks(self.last))
    }

    /// How much memory it has reserved.
    #[must_use]
    pub const fn config(&self) -> EngineConfig {
        self.config
    }

    /// The exchange's rules.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The phase of the trading day.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// How many orders wait outside the displayed book: hidden, for a trigger, for anything else.
    #[must_use]
    pub const fn undisplayed_counts(&self) -> [usize; 3] {
        [
            self.dark.book.order_count(),
            self.pending.book.order_count(),
            self.parked.book.order_count(),
        ]
    }

    /// Executes one command to its end and tells the sink what happened.
    // Where a caller makes the command, inlining spares it the way through memory.
    #[inline(always)]
    pub fn execute(&mut self, command: Command, sink: &mut impl EventSink) {
        match command {
            Command::New(order) if self.busy & RULED == 0 && order.terms.is_none() => {
                self.enter_plain(&order, sink);
            }
            Command::Cancel { order_id } => self.cancel(order_id, sink),
            Command::Replace { order, mode: ReplaceMode::Requeue }
                if self.requeue(&{ order }, sink) => {}
            other => self.execute_special(&other, sink),
        }
    }

    #[inline(never)]
    fn execute_special(&mut self, command: &Command, sink: &mut impl EventSink) {
        match *command {
            Command::New(order) => self.enter(&order, sink),
            // It has gone the short way.
            Command::Cancel { .. } => {}
            Command::Reduce { order_id, by } => self.reduce(order_id, by, sink),
            Command::Replace { order, mode } => self.replace(&order, mode, sink),
            Command::MassCancel(filter) => {
                self.mass_cancel(&filter, CancelReason::MassCancel, sink);
            }
            Command::Disconnect { session } => self.disconnect(session, sink),
            Command::Clock { now } => self.clock(now, sink),
            Command::SetPhase(phase) => self.set_phase(phase, sink),
        }
    }

    /// An order without terms, in continuous trading by price and time.
    #[inline(always)]
    fn enter_plain(&mut self, order: &NewOrder, sink: &mut impl EventSink) {
        let outcome = match check_plain(order) {
            Err(reason) => Err(reason),
            Ok(()) if self.busy != 0 && self.is_elsewhere(order.order_id) => {
                Err(RejectReason::DuplicateOrderId)
            }
            // A copy of its own: without it the caller's would have to stand in memory, always.
            Ok(()) if self.is_marketable(order) => self.enter_marketable(&{ *order }, sink),
            Ok(()) => self.enter_passive(order, sink),
        };
        if let Err(reason) = outcome {
            let NewOrder { order_id, owner, .. } = *order;
            sink.on_event(Event::Rejected { order_id, owner, reason });
        }
    }

    /// An order with nothing to trade against: it rests or is cancelled. The book itself says
    /// whether there is room and whether the id is free.
    #[inline(always)]
    fn enter_passive(
        &mut self,
        order: &NewOrder,
        sink: &mut impl EventSink,
    ) -> Result<(), RejectReason> {
        if !order.may_rest() {
            if self.lit.book.contains(order.order_id) {
                return Err(RejectReason::DuplicateOrderId);
            }
            sink.on_event(accepted(order));
            sink.on_event(remainder_cancelled(order, order.lots));
            return Ok(());
        }
        let placed = self.lit.book.place(resting(order, order.lots), day(order));
        let level = placed.map_err(refused)?.level;
        sink.on_event(accepted(order));
        sink.on_event(rested(order, order.lots));
        if self.busy & WATCHING != 0 {
            self.touch(order.side, level, -order.lots.0, -1);
            self.finish(order.side, sink);
        } else {
            sink.on_event(level_event(order.side, level));
        }
        Ok(())
    }

    /// An order that the other side's best price meets.
    #[inline(never)]
    fn enter_marketable(
        &mut self,
        order: &NewOrder,
        sink: &mut impl EventSink,
    ) -> Result<(), RejectReason> {
        if self.lit.book.contains(order.order_id) {
            return Err(RejectReason::DuplicateOrderId);
        }
        let mut taker = Taker::new(order, limit(order), 0, &self.rules);
        if order.may_rest() && !self.remainder_fits(&taker) {
            return Err(RejectReason::BookFull);
        }
        sink.on_event(accepted(order));
        let must_fill = order.time_in_force == TimeInForce::FillOrKill;
        if must_fill && self.available(&taker, order.lots.0) < order.lots.0 {
            sink.on_event(remainder_cancelled(order, order.lots));
            return Ok(());
        }
        if self.busy & DARK != 0 {
            self.sweep(&mut taker, sink);
        } else {
            self.sweep_by_time(&mut taker, sink);
        }
        let mut own = None;
        if taker.remaining > 0 {
            own = self.rest_or_cancel(order, &taker, sink);
        }
        if self.busy & (DARK | WATCHING) != 0 {
            if let Some(level) = own {
                self.touch(order.side, level, -taker.remaining, -1);
            }
            self.finish(order.side, sink);
        } else {
            self.first = 0;
            self.tell_swept_levels(sink);
            if let Some(level) = own {
                sink.on_event(level_event(order.side, level));
            }
        }
        Ok(())
    }

    /// Trades against displayed orders, best price first and oldest first, as far as the limit
    /// allows.
    #[inline]
    fn sweep_by_time(&mut self, taker: &mut Taker, sink: &mut impl EventSink) {
        let makers = taker.side.opposite();
        while taker.remaining > 0 {
            let best = self.lit.book.best_price(makers);
            if !best.is_some_and(|best| crosses(taker.side, taker.limit, best)) {
                break;
            }
            let Some(maker) = self.lit.book.best_handle(makers) else { break };
            self.fill(taker, BookKind::Lit, maker, taker.remaining, sink);
        }
    }

    /// One trade of up to so many lots with a maker.
    #[inline]
    fn fill(
        &mut self,
        taker: &mut Taker,
        book_kind: BookKind,
        maker: Handle,
        lots_max: i64,
        sink: &mut impl EventSink,
    ) {
        let taken = self.resting_mut(book_kind).book.take_from(maker, Lots(lots_max));
        let Order { id, owner, price, lots: left, .. } = taken.removal.order;
        let lots = taken.removal.lots;
        taker.remaining -= lots.0;
        taker.filled = taker.filled.saturating_add(lots.0);
        if book_kind == BookKind::Lit {
            let leaves = i64::from(left == Lots::ZERO);
            self.touch(taker.side.opposite(), taken.removal.level, lots.0, leaves);
        }
        if self.first == 0 {
            self.first = price.0;
        }
        self.last = price.0;
        self.trade_count += 1;
        let reserve = if taken.tag & NOTED == 0 { 0 } else { self.reserve(book_kind, maker) };
        sink.on_event(Event::Trade {
            trade_id: self.trade_count,
            maker: id,
            taker: taker.id,
            maker_owner: owner,
            taker_owner: taker.owner,
            price,
            lots,
            maker_remaining: Lots(left.0 + reserve),
            taker_remaining: Lots(taker.remaining),
            aggressor: taker.side,
            hidden: book_kind != BookKind::Lit,
            taker_rested: false,
        });
        self.after_take(book_kind, &taken, lots.0, sink);
    }

    /// What follows for a maker that lots were taken from, `traded` of them in a trade.
    #[inline]
    fn after_take(
        &mut self,
        book_kind: BookKind,
        taken: &Taken,
        traded: i64,
        sink: &mut impl EventSink,
    ) {
        if taken.removal.order.lots > Lots::ZERO {
            if traded > 0 {
                self.resting_mut(book_kind).add_filled(taken.handle, taken.tag, traded);
            }
        } else if taken.tag & NOTED != 0 || self.busy & RULED != 0 {
            self.after_last_lot(book_kind, taken, traded, sink);
        }
    }

    /// Rests what is left of an order without terms, and tells its level, or cancels it.
    fn rest_or_cancel(
        &mut self,
        order: &NewOrder,
        taker: &Taker,
        sink: &mut impl EventSink,
    ) -> Option<Level<HalfTicks>> {
        let remaining = Lots(taker.remaining);
        if !order.may_rest() {
            sink.on_event(remainder_cancelled(order, remaining));
            return None;
        }
        let note = Note { order: *order, reserve: 0 };
        match self.lit.place(resting(order, remaining), &note, taker.filled) {
            Ok(placement) => {
                sink.on_event(rested(order, remaining));
                Some(placement.level)
            }
            Err(_) => {
                sink.on_event(cancelled(order, remaining, CancelReason::BookFull));
                None
            }
        }
    }

    #[inline(always)]
    fn cancel(&mut self, order_id: OrderId, sink: &mut impl EventSink) {
        match self.lit.book.withdraw(order_id) {
            Some(taken) if (taken.tag & NOTED) | (self.busy & (WATCHING | RULED)) == 0 => {
                let Order { owner, side, price, .. } = taken.removal.order;
                sink.on_event(Event::Cancelled {
                    order_id,
                    owner,
                    side,
                    price,
                    lots: taken.removal.lots,
                    reason: CancelReason::Requested,
                    was_resting: true,
                });
                sink.on_event(level_event(side, taken.removal.level));
            }
            Some(taken) => self.cancel_noted(&{ taken }, sink),
            None => self.cancel_elsewhere(order_id, sink),
        }
    }

    /// Whether an order without terms would trade now.
    #[inline(always)]
    fn is_marketable(&self, order: &NewOrder) -> bool {
        self.lit.book.is_met(order.side, limit(order))
            || self.busy & DARK != 0 && self.would_trade(order, limit(order))
    }
}
