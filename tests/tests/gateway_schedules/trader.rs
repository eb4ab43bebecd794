//! A strategy that trades at random.

use std::cell::Cell;
use std::rc::Rc;

use taut_book::LevelBook;
use taut_gateway::{GatewayEvent, OpenOrder, OrderFilter, Strategy, Trading};
use taut_market_data::Event;
use taut_testkit::{Draw, Random};
use taut_types::{
    AccountId, InstrumentId, Lots, Nanos, OrderFlags, OrderTerms, Price, Side, TimeInForce,
};

use crate::queues::{Queued, Queues};

/// What all strategies of a schedule are told to do.
#[derive(Debug, Default)]
pub struct Orders {
    /// No more requests.
    pub quiet: Cell<bool>,
    /// At every timer they show what they know, unless this is 0: what was shown in another round
    /// is old.
    pub round: Cell<u64>,
    /// Of a thousand timers, how many bring a request.
    pub requests_per_mille: Cell<u64>,
}

/// What a strategy may look up, as it was when it was asked to show it.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    pub round: u64,
    /// By instrument, the hash of its book; nothing of one that is not whole.
    pub books: Vec<Option<u64>>,
    /// And its single orders, where they are told and known.
    pub queues: Vec<Option<Vec<Queued>>>,
    pub positions: Vec<Lots>,
    pub orders: Vec<OpenOrder>,
}

#[derive(Debug)]
pub struct Trader {
    random: Random,
    orders: Rc<Orders>,
    is_ready: bool,
    /// By instrument, as it was told.
    queues: Vec<Queues>,
    pub shown: Option<Shown>,
}

impl Trader {
    pub fn new(random: Random, orders: Rc<Orders>) -> Self {
        Self { random, orders, is_ready: false, queues: Vec::new(), shown: None }
    }

    /// The round in which strategies show what they know.
    pub fn round(&self) -> u64 {
        self.orders.round.get()
    }

    fn act(&mut self, trading: &mut impl Trading) {
        let random = &mut self.random;
        let mut open = Vec::new();
        let dice = random.below(100);
        if dice >= 55 {
            trading.visit_orders(&mut |order| open.push(*order));
        }
        let chosen = (!open.is_empty()).then(|| open[random.below(open.len() as u64) as usize]);
        match (dice, chosen) {
            (0..55, _) | (55..80, None) => {
                let terms = terms(random, trading);
                if let Some(terms) = terms {
                    let _ = trading.create_tagged(&terms, random.below(1 << 20) as u32);
                }
            }
            (55..80, Some(order)) => {
                let tick = trading.instruments()[order.terms.instrument.0 as usize].tick();
                let moved = random.below(7).cast_signed() - 3;
                let price = Price(order.terms.price.0 + moved * tick.0);
                let lots = Lots(1 + random.below(30).cast_signed());
                let _ = trading.modify(order.id, price, lots);
            }
            (80..98, Some(order)) => _ = trading.cancel(order.id),
            (98.., _) => {
                let instrument = InstrumentId(random.below(3) as u32);
                let side = [None, Some(Side::Buy), Some(Side::Sell)][random.below(3) as usize];
                let filter = OrderFilter { instrument: Some(instrument), side, ..OrderFilter::ALL };
                let _ = trading.cancel_all(filter);
            }
            _ => {}
        }
    }
}

/// An order near the touch, on either side of it.
fn terms(random: &mut Random, trading: &impl Trading) -> Option<OrderTerms> {
    let instruments = trading.instruments();
    let instrument = instruments[random.below(instruments.len() as u64) as usize];
    let side = if random.bool() { Side::Buy } else { Side::Sell };
    let touch = trading.book(instrument.id())?.best(side)?.price;
    let away = random.below(9).cast_signed() - 3;
    let price = Price(touch.0 - side.sign() * away * instrument.tick().0);
    let lots = Lots(1 + random.below(30).cast_signed());
    let mut terms = OrderTerms::limit(instrument.id(), side, price, lots);
    terms.time_in_force = match random.below(10) {
        0 => TimeInForce::ImmediateOrCancel,
        1 => TimeInForce::FillOrKill,
        2 => TimeInForce::Day,
        _ => TimeInForce::GoodTillCancel,
    };
    match random.below(12) {
        0 => terms.flags = OrderFlags::POST_ONLY,
        1 => terms.lots_shown = Lots(1 + lots.0 / 3),
        2 => terms.stop_price = Some(Price(price.0 + side.sign() * 2 * instrument.tick().0)),
        3 => terms = OrderTerms::market(instrument.id(), side, lots),
        _ => {}
    }
    Some(terms)
}

impl Strategy for Trader {
    fn on_market(&mut self, _now: Nanos, event: &Event, trading: &mut impl Trading) {
        let at = event.instrument.0 as usize;
        self.queues.resize_with(self.queues.len().max(at + 1), Queues::default);
        // Single orders bring no request: a schedule is the same with and without them.
        if self.queues[at].take(&event.kind) {
            return;
        }
        if self.is_ready && !self.orders.quiet.get() && self.random.per_mille(20) {
            self.act(trading);
        }
    }

    fn on_gateway(&mut self, _now: Nanos, event: &GatewayEvent, _trading: &mut impl Trading) {
        match event {
            GatewayEvent::DownloadBegin { .. } => {
                self.is_ready = false;
                self.queues.clear();
            }
            GatewayEvent::DownloadEnd => self.is_ready = true,
            _ => {}
        }
    }

    fn on_timer(&mut self, _now: Nanos, trading: &mut impl Trading) {
        let round = self.round();
        if round > 0 {
            let ids = || trading.instruments().iter().map(taut_types::Instrument::id);
            let books = ids().map(|id| trading.book(id).map(LevelBook::state_hash)).collect();
            let queues = ids().map(|id| self.queues.get(id.0 as usize).and_then(Queues::all));
            let queues = queues.collect();
            let positions = ids().map(|id| trading.position(id, AccountId(0)).lots).collect();
            let mut orders = Vec::new();
            trading.visit_orders(&mut |order| orders.push(*order));
            orders.sort_unstable_by_key(|order| order.id);
            let shown = Shown { round, books, queues, positions, orders };
            self.shown = self.is_ready.then_some(shown);
        }
        let wants = self.orders.requests_per_mille.get();
        if self.is_ready && !self.orders.quiet.get() && self.random.per_mille(wants) {
            self.act(trading);
        }
    }
}
