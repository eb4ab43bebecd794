//! The default strategy: trades when the top of the book changes, at a bounded rate.
//!
//! It is there to be measured, not to earn: two of three orders rest at the touch and are cancelled
//! when they have rested long enough, one of three takes the other side at once and brings the
//! position back towards zero. So acknowledgements, fills and cancels all happen.

use taut_market_data::{BestPrices, Event, EventKind, Soundness};
use taut_oms::{OrderState, Throttle};
use taut_types::{ClientOrderId, InstrumentId, Lots, Nanos, OrderTerms, Side, TimeInForce};

use crate::gateways::gateway_of;
use crate::message::{GatewayEvent, OrderUpdate, UpdateKind};
use crate::strategy::{Strategy, Trading};

/// Its habits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TouchConfig {
    /// New orders a second, at the most.
    pub orders_per_second: u32,
    /// Quantity of an order.
    pub lots: Lots,
    /// How long an order may rest before it is cancelled.
    pub rest: Nanos,
}

impl Default for TouchConfig {
    fn default() -> Self {
        Self { orders_per_second: 1_000, lots: Lots(1), rest: Nanos::from_millis(10) }
    }
}

/// Instruments that need no further memory, and the highest number that it trades: those of the
/// sixteenth gateway.
const MARKETS: usize = 256;
const MARKETS_MAX: usize = 1 << 20;
/// Orders that it keeps open at one time.
const OPEN_MAX: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Open {
    id: ClientOrderId,
    instrument: InstrumentId,
    side: Side,
    sent_at: Nanos,
    /// Acknowledged, and no cancel under way.
    cancellable: bool,
}

/// The strategy's state.
#[derive(Debug)]
pub struct TouchStrategy {
    config: TouchConfig,
    throttle: Throttle,
    stopping: bool,
    /// By instrument.
    markets: Vec<Market>,
    open: [Option<Open>; OPEN_MAX],
    turn: u64,
}

/// What it knows of an instrument.
#[derive(Clone, Copy, Debug, Default)]
struct Market {
    is_sound: bool,
    top: BestPrices,
    /// Bought less sold.
    position: Lots,
}

impl TouchStrategy {
    /// A strategy without orders or position.
    #[must_use]
    pub fn new(config: TouchConfig, now: Nanos) -> Self {
        // A burst of two: after a gap in the ticks it catches up one order, not a flood.
        let throttle = Throttle::new(config.orders_per_second, 2, now);
        Self {
            config,
            throttle,
            stopping: false,
            markets: Vec::with_capacity(MARKETS),
            open: [None; OPEN_MAX],
            turn: 0,
        }
    }

    /// Bought less sold, of an instrument.
    #[must_use]
    pub fn position(&self, instrument: InstrumentId) -> Lots {
        self.markets.get(instrument.0 as usize).map_or(Lots::ZERO, |market| market.position)
    }

    /// What is known of an instrument; nothing of one that no gateway has.
    #[inline]
    fn market(&mut self, instrument: InstrumentId) -> Option<&mut Market> {
        let at = instrument.0 as usize;
        if at >= self.markets.len() && at < MARKETS_MAX {
            self.markets.resize(at + 1, Market::default());
        }
        self.markets.get_mut(at)
    }

    /// The next order: two passive, one aggressive, and aggressive where no room is left to rest.
    fn decide(&self, instrument: InstrumentId) -> Option<OrderTerms> {
        let room = self.open.iter().any(Option::is_none);
        if !room {
            return None;
        }
        let market = self.markets.get(instrument.0 as usize)?;
        let (bid, ask) = (market.top.bid?, market.top.ask?);
        let aggressive = self.turn % 3 == 2;
        let towards_flat = match market.position.0 {
            0 if self.turn.is_multiple_of(2) => Side::Buy,
            0 => Side::Sell,
            long if long > 0 => Side::Sell,
            _ => Side::Buy,
        };
        let alternating = if self.turn.is_multiple_of(2) { Side::Buy } else { Side::Sell };
        let (side, time_in_force) = if aggressive {
            (towards_flat, TimeInForce::ImmediateOrCancel)
        } else {
            (alternating, TimeInForce::GoodTillCancel)
        };
        let (price, _) = if (side == Side::Buy) == aggressive { ask } else { bid };
        let limit = OrderTerms::limit(instrument, side, price, self.config.lots);
        Some(OrderTerms { time_in_force, ..limit })
    }

    /// Cancels the order that has rested the longest, if it has rested long enough (or all should
    /// go).
    fn cancel_one(&mut self, now: Nanos, trading: &mut impl Trading) {
        let rest = if self.stopping { Nanos::ZERO } else { self.config.rest };
        let due = self
            .open
            .iter_mut()
            .flatten()
            .filter(|open| open.cancellable && now.since(open.sent_at) >= rest)
            .min_by_key(|open| open.sent_at);
        if let Some(open) = due
            && trading.cancel(open.id)
        {
            open.cancellable = false;
        }
    }
}

impl Strategy for TouchStrategy {
    fn on_market(&mut self, now: Nanos, event: &Event, trading: &mut impl Trading) {
        let is_stopping = self.stopping;
        let Some(market) = self.market(event.instrument) else { return };
        match event.kind {
            EventKind::Book(soundness) => market.is_sound = soundness == Soundness::Sound,
            EventKind::Top(top) if top != market.top => {
                market.top = top;
                if !market.is_sound || is_stopping {
                    return;
                }
                match self.decide(event.instrument) {
                    Some(order) if self.throttle.take(now) => {
                        self.turn += 1;
                        if let Some(id) = trading.create(&order)
                            && let Some(free) = self.open.iter_mut().find(|open| open.is_none())
                        {
                            let OrderTerms { instrument, side, .. } = order;
                            let (sent_at, cancellable) = (now, false);
                            *free = Some(Open { id, instrument, side, sent_at, cancellable });
                        }
                    }
                    // A tick that brings no order has time for a cancel.
                    _ => self.cancel_one(now, trading),
                }
            }
            _ => {}
        }
    }

    fn on_order(&mut self, _now: Nanos, update: &OrderUpdate, _trading: &mut impl Trading) {
        let ours = |open: &&mut Option<Open>| open.is_some_and(|open| open.id == update.id);
        let Some(slot) = self.open.iter_mut().find(ours) else { return };
        let Some(open) = slot else { return };
        // The gateway's table is the truth; this position only steers.
        if let UpdateKind::Filled { lots, .. } | UpdateKind::Corrected { lots, .. } = update.kind
            && let Some(market) = self.markets.get_mut(update.instrument.0 as usize)
        {
            market.position = Lots(market.position.0.saturating_add(open.side.sign() * lots.0));
        }
        // A cancel that is under way shows in no state.
        open.cancellable = match update.kind {
            UpdateKind::Accepted | UpdateKind::CancelRejected(_) => {
                update.state == OrderState::Working
            }
            _ => open.cancellable,
        };
        if update.state.is_done() {
            *slot = None;
        }
    }

    fn on_gateway(&mut self, now: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
        match *event {
            // What was open at a gateway that ended is told anew by the next one.
            GatewayEvent::DownloadBegin { .. } | GatewayEvent::Disconnected => {
                let gateway = trading.info().gateway;
                let is_its = |instrument| gateway_of(instrument) == gateway;
                for open in &mut self.open {
                    *open = open.filter(|open| !is_its(open.instrument));
                }
                for (id, market) in (0..).map(InstrumentId).zip(&mut self.markets) {
                    if is_its(id) {
                        *market = Market::default();
                    }
                }
            }
            GatewayEvent::Position(held) => {
                if let Some(market) = self.market(held.instrument) {
                    market.position = held.lots;
                }
            }
            GatewayEvent::OpenOrder(order) => {
                let cancellable = order.state == OrderState::Working;
                let OrderTerms { instrument, side, .. } = order.terms;
                if let Some(free) = self.open.iter_mut().find(|open| open.is_none()) {
                    let (id, sent_at) = (order.id, now);
                    *free = Some(Open { id, instrument, side, sent_at, cancellable });
                }
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, now: Nanos, trading: &mut impl Trading) {
        self.cancel_one(now, trading);
    }

    fn on_stop(&mut self, _now: Nanos, _trading: &mut impl Trading) {
        self.stopping = true;
    }

    fn is_idle(&self) -> bool {
        self.open.iter().all(Option::is_none)
    }
}
