//! An exchange that is a matching engine: the recorded orders are commands to it, and so are ours.

mod names;
mod own;
mod simulation;
mod survey;
mod told;

#[cfg(test)]
pub use names::{AGGRESSOR, MARKET, OWN};

use taut_types::Side;

use super::impact::{Impact, add};
use super::interface::Exchange;
use super::outbox::Outbox;
use crate::market::OrderLevels;
use crate::order::Request;
use crate::row::{Row, RowKind};
use crate::{BacktestError, Compat, Latency, Recording};
use names::market_id;
use simulation::Simulation;
use survey::survey;
use told::{Recorded, Told};

/// An exchange that matches: the market's recorded orders stand in the book of
/// [taut's engine](taut_engine), and ours stand among them. Ours really queue and really take: what
/// they take is gone for the market, and what they are filled with nobody else is. No lot is made
/// or lost.
///
/// # What a row does
///
/// What a recorded order has in the book may differ from what the recording says, because of ours.
/// The rules, of which each is a test:
///
/// - **Add**: the order enters. Where one of ours stands across its way, it trades with it first.
/// - **Fill** of an order: an aggressor of the other side brings so many lots, up to the order's
///   price. It takes what is first in line as long as that is ours, or more than the recording
///   says that the order has; then the order for which the recording has it; and if our orders took
///   that one before, whatever is next in line. What finds nothing is
///   [`displaced`](Impact::displaced). Where the recording has an order filled that is not first in
///   line, it alone is: [`out_of_turn`](Impact::out_of_turn).
/// - **Trade**: tells an aggressor, too. The fills of its instant, and what the orders up to its
///   price have less in rows after it in its instant, are the same lots told again and not applied
///   twice. For what remains at the end of the instant nobody is named: it takes ours where they
///   are first in line, and else nothing that is displayed ([`hidden`](Impact::hidden)).
/// - **Cancel** and **Modify** after a fill say what it left, and change nothing more. Else a
///   cancel takes the order out with all that it has; a modification adds or takes off what it adds
///   or takes off in the recording, and sends the order to the end of its queue where it would
///   there, at the new price where it may meet ours. What was to be taken off and had traded
///   already is [`gone`](Impact::gone), and an order that is gone is not modified.
/// - An order that the recording has filled, and of which our orders kept something from being
///   filled, stays until an aggressor meets it, or until a new order has its id.
/// - **Clear**: the orders of the side are gone; ours expire.
///
/// # Our orders
///
/// Limit and market orders with every time in force, filled in part, with the answers of the other
/// exchanges: one for each fill. A post-only order that would trade expires. A modification keeps
/// the place for fewer lots at the same price. Two of our orders trade with each other where they
/// meet. Our side sees the recorded market, as it was without us; the book here is
/// [`best`](Self::best) and [`lots`](Self::lots).
///
/// # What it needs
///
/// Orders one by one. Levels do not say which order was cancelled or how many stand in a queue, and
/// the levels of one update cross for a moment, which a matching engine trades: they are refused.
/// So is a recording that has an order rest across the other side, as in an auction.
///
/// ```
/// use taut_backtest::{
///     Backtest, BacktestError, ConstantLatency, EngineExchange, Event, Order, Recording, RowKind,
///     Seen, Stop,
/// };
/// use taut_types::{Nanos, Side};
///
/// let row = |at, kind, order_id, lots| Event {
///     exchange_at: Nanos(at), local_at: Nanos(at), seen: Seen::Both, kind,
///     side: Some(Side::Sell), tick: 101, lots, order_id,
/// };
/// // Ten are offered, and bought by somebody at 100.
/// let recording = Recording::new([
///     row(0, RowKind::Add, 1, 10),
///     row(100, RowKind::Fill, 1, 10),
///     row(100, RowKind::Cancel, 1, 0),
/// ])?;
/// let exchange = EngineExchange::new(&recording, ConstantLatency { entry: 1, response: 1 })?;
/// let mut backtest = Backtest::new(&recording, exchange)?;
///
/// backtest.run_until(Nanos(10), Stop::Time)?;
/// backtest.trader().send(Order::market(1, Side::Buy, 4))?;
/// backtest.run_until(Nanos(200), Stop::Time)?;
/// assert_eq!(backtest.account().position(), 4);
/// // Of the ten that were bought, six were left.
/// let impact = backtest.exchange().impact();
/// assert_eq!((impact.taken, impact.displaced), (4, 4));
/// # Ok::<(), BacktestError>(())
/// ```
#[derive(Debug)]
pub struct EngineExchange<L> {
    recorded: Recorded,
    simulation: Simulation<L>,
}

impl<L: Latency> EngineExchange<L> {
    /// An exchange for a recording, which it goes through once.
    ///
    /// # Errors
    /// [`BacktestError::NeedsOrders`] for a recording of levels, [`BacktestError::Crosses`] for one
    /// that has orders rest across the book, [`BacktestError::TooWide`] for one of too many ticks.
    pub fn new(recording: &Recording, latency: L) -> Result<Self, BacktestError> {
        let config = survey(recording)?;
        let recorded = Recorded::new(recording.orders());
        Ok(Self { recorded, simulation: Simulation::new(config, latency) })
    }

    /// What our orders changed so far.
    #[must_use]
    pub const fn impact(&self) -> &Impact {
        &self.simulation.impact
    }

    /// The best tick of a side, with our orders.
    #[must_use]
    pub fn best(&self, side: Side) -> Option<i64> {
        self.simulation.best(side)
    }

    /// The lots at a tick, with our orders.
    #[must_use]
    pub fn lots(&self, side: Side, tick: i64) -> i64 {
        self.simulation.lots(side, tick)
    }

    /// All that the engine tells is kept from now on.
    #[cfg(test)]
    pub(crate) fn keep_events(&mut self) {
        self.simulation.events = Some(alloc::vec::Vec::new());
    }

    /// What was kept.
    #[cfg(test)]
    pub(crate) fn events(&self) -> &[taut_engine::Event] {
        self.simulation.events.as_deref().unwrap_or_default()
    }

    /// What an order has left in the engine's book.
    #[cfg(test)]
    pub(crate) fn open(&self, id: taut_types::OrderId) -> i64 {
        self.simulation.open(id)
    }

    /// Another instant begins: what the trades of the last one brought, and no order was named for,
    /// is brought now.
    fn settle(&mut self, next: i64) -> Result<(), BacktestError> {
        let at = self.recorded.at();
        for (side, (lots, limit)) in Side::BOTH.into_iter().zip(self.recorded.begin(next)) {
            self.bring((side, limit, lots), None, at)?;
        }
        Ok(())
    }

    /// An aggressor of a side brings lots, up to a limit, for the order with this number.
    fn bring(
        &mut self,
        (aggressor, limit, lots): (Side, i64, i64),
        named: Option<usize>,
        at: i64,
    ) -> Result<(), BacktestError> {
        let Self { recorded, simulation } = self;
        add(&mut simulation.impact.aggressed, lots);
        let mut left = lots;
        while left > 0 {
            let Some(first) = simulation.first(aggressor.opposite(), limit) else { break };
            let more = match first.is_own {
                true => first.lots,
                false => first.lots - recorded.rest(first.id.0),
            };
            let lots = match named {
                _ if more > 0 => more.min(left),
                None => break,
                Some(number) => {
                    let id = market_id(number);
                    let behind = simulation.open(id) - recorded.rest(id.0);
                    if behind > 0 {
                        let lots = behind.min(left);
                        simulation.reduce(id, lots, at)?;
                        add(&mut simulation.impact.out_of_turn, lots);
                        left -= lots;
                        continue;
                    }
                    first.lots.min(left)
                }
            };
            simulation.aggress(aggressor, limit, lots, at)?;
            left -= lots;
        }
        let impact = &mut simulation.impact;
        add(if named.is_some() { &mut impact.displaced } else { &mut impact.hidden }, left);
        Ok(())
    }

    fn added(&mut self, row: &Row) -> Result<(), BacktestError> {
        let (tick, lots, at) = (row.tick(), row.lots(), row.exchange_at());
        let (Some(side), None, 1..) = (row.side(), self.recorded.order(row), lots) else {
            return Ok(());
        };
        self.recorded.set(row, Told { side, tick, lots, filled: 0 });
        let id = market_id(row.order());
        if self.simulation.open(id) > 0 {
            self.simulation.cancel(id, at)?;
        }
        self.simulation.add(id, (side, tick, lots), at)
    }

    /// The recording tells of so many lots that filled an order.
    fn filled(&mut self, row: &Row, lots: i64) -> Result<(), BacktestError> {
        let told = self.recorded.order(row).copied();
        let Some(side) = told.map(|told| told.side).or(row.side()) else { return Ok(()) };
        self.recorded.fill(side.opposite(), lots);
        let Some(told) = told else { return Ok(()) };
        let lots = lots.min(told.rest());
        self.recorded.set(row, Told { filled: told.filled + lots, ..told });
        let (number, at) = (row.order(), row.exchange_at());
        self.bring((side.opposite(), told.tick, lots), Some(number), at)
    }

    /// An order has so few lots now that a trade of this instant may be why.
    fn may_be_filled(&mut self, row: &Row, lots: i64) -> Result<(), BacktestError> {
        if !self.recorded.has_traded() {
            return Ok(());
        }
        let Some(told) = self.recorded.order(row) else { return Ok(()) };
        let filled = (told.rest() - lots).min(self.recorded.may_have_filled(told));
        if filled > 0 { self.filled(row, filled) } else { Ok(()) }
    }

    fn modified(&mut self, row: &Row) -> Result<(), BacktestError> {
        let (tick, lots, at) = (row.tick(), row.lots(), row.exchange_at());
        if lots == 0 {
            return self.cancelled(row);
        }
        let Some(told) = self.recorded.order(row).copied() else { return Ok(()) };
        let stays = tick == told.tick;
        if stays {
            self.may_be_filled(row, lots)?;
        }
        let Some(told) = self.recorded.order(row).copied() else { return Ok(()) };
        self.recorded.set(row, Told { tick, lots, filled: 0, ..told });
        let (id, change) = (market_id(row.order()), lots - told.rest());
        let open = self.simulation.open(id);
        let left = open + change;
        if change < 0 {
            add(&mut self.simulation.impact.gone, (-left).max(0));
        }
        match (open, stays && change <= 0) {
            (0, _) => Ok(()),
            (_, true) => self.simulation.reduce(id, open.min(-change), at),
            (_, false) if left > 0 => self.simulation.replace(id, (told.side, tick, left), at),
            (_, false) => self.simulation.cancel(id, at),
        }
    }

    fn cancelled(&mut self, row: &Row) -> Result<(), BacktestError> {
        self.may_be_filled(row, 0)?;
        let Some(told) = self.recorded.order(row).copied() else { return Ok(()) };
        self.recorded.set(row, Told { lots: 0, filled: 0, ..told });
        let (id, rest) = (market_id(row.order()), told.rest());
        let open = self.simulation.open(id);
        add(&mut self.simulation.impact.gone, (rest - open).max(0));
        if rest > 0 && open > 0 {
            return self.simulation.cancel(id, row.exchange_at());
        }
        Ok(())
    }

    fn cleared(&mut self, row: &Row) -> Result<(), BacktestError> {
        let sides = Side::BOTH.into_iter().filter(|one| row.side().is_none_or(|side| side == *one));
        for side in sides {
            self.recorded.clear(side);
            self.simulation.clear(side, row.exchange_at())?;
        }
        Ok(())
    }
}

impl<L: Latency> Exchange for EngineExchange<L> {
    type Market = OrderLevels;
    type Latency = L;

    fn take_row(&mut self, row: &Row) -> Result<(), BacktestError> {
        if row.exchange_at() != self.recorded.at() {
            self.settle(row.exchange_at())?;
        }
        match (row.kind(), row.side()) {
            (RowKind::Add, _) => self.added(row),
            (RowKind::Modify, _) => self.modified(row),
            (RowKind::Cancel, _) => self.cancelled(row),
            (RowKind::Fill, _) => self.filled(row, row.lots()),
            (RowKind::Trade, Some(aggressor)) => {
                self.recorded.trade(aggressor, row);
                Ok(())
            }
            (RowKind::Clear, _) => self.cleared(row),
            (RowKind::Trade, None) | (RowKind::Level, _) => Ok(()),
        }
    }

    fn take_request(&mut self, request: Request, at: i64) -> Result<(), BacktestError> {
        self.simulation.serve(request, at)
    }

    /// An instant is over when a row of another one is next, or none.
    fn take_rows(
        &mut self,
        rows: &[Row],
        next: &mut usize,
        until: i64,
    ) -> Result<(), BacktestError> {
        while let Some(row) = rows.get(*next) {
            if row.is_at_exchange() {
                if row.exchange_at() != self.recorded.at() {
                    self.settle(row.exchange_at())?;
                }
                if row.exchange_at() > until.min(self.outbox().limit()) {
                    return Ok(());
                }
                self.take_row(row)?;
            }
            *next += 1;
        }
        self.settle(i64::MAX)
    }

    fn has_orders(&self) -> bool {
        self.simulation.has_own_orders()
    }

    fn outbox(&self) -> &Outbox<L> {
        &self.simulation.outbox
    }

    fn outbox_mut(&mut self) -> &mut Outbox<L> {
        &mut self.simulation.outbox
    }

    fn compat(&self) -> &Compat {
        &Compat::NONE
    }
}
