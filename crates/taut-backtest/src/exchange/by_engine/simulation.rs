//! The engine, our orders in it, and what is said about them.

use taut_engine::{
    CancelReason, Command, Engine, EngineConfig, Event, EventSink, MassCancel, NewOrder,
    ReplaceMode, Rules,
};
use taut_types::{Lots, Nanos, OrderId, OrderType, Side};

use super::names::{AGGRESSOR, MARKET, OWN, price, tick};
use super::own::{Own, OwnOrders};
use crate::exchange::impact::{Impact, add};
use crate::exchange::outbox::Outbox;
use crate::order::{Answer, Order, Request, RequestKind, Status};
use crate::{BacktestError, Latency};

/// Orders that wait outside the displayed book: nobody has such an order here.
const SPECIAL_MAX: usize = 16;

/// The book of the market's orders and ours.
#[derive(Debug)]
pub struct Simulation<L> {
    engine: Engine,
    own: OwnOrders,
    pub outbox: Outbox<L>,
    pub impact: Impact,
    /// All that the engine told, for tests that add it up.
    #[cfg(test)]
    pub events: Option<alloc::vec::Vec<Event>>,
}

/// The order that is first in line on a side.
#[derive(Clone, Copy, Debug)]
pub struct First {
    pub id: OrderId,
    pub lots: i64,
    pub is_own: bool,
}

/// One of our orders on its way into the book.
struct Entering {
    own: Own,
    request: RequestKind,
    rests: bool,
}

impl<L: Latency> Simulation<L> {
    pub fn new(config: EngineConfig, latency: L) -> Self {
        let rules = Rules { special_capacity: SPECIAL_MAX, ..Rules::default() };
        Self {
            engine: Engine::with_rules(config, rules),
            own: OwnOrders::new(),
            outbox: Outbox::new(latency),
            impact: Impact::default(),
            #[cfg(test)]
            events: None,
        }
    }

    /// The best tick of a side.
    pub fn best(&self, side: Side) -> Option<i64> {
        self.engine.book().best_price(side).map(tick)
    }

    /// The lots at a tick, ours too.
    pub fn lots(&self, side: Side, tick: i64) -> i64 {
        self.engine.book().level_at(side, price(tick)).map_or(0, |level| level.lots.0)
    }

    /// What an order has left in the book.
    pub fn open(&self, id: OrderId) -> i64 {
        self.engine.book().order(id).map_or(0, |order| order.lots.0)
    }

    /// The order of a side that is first in line, if its price is this tick or better.
    pub fn first(&self, side: Side, limit: i64) -> Option<First> {
        let book = self.engine.book();
        if !book.is_met(side.opposite(), price(limit)) {
            return None;
        }
        let first = book.best_order(side)?;
        Some(First { id: first.id, lots: first.lots.0, is_own: first.owner == OWN })
    }

    /// An order of the market comes.
    pub fn add(
        &mut self,
        id: OrderId,
        (side, tick, lots): (Side, i64, i64),
        at: i64,
    ) -> Result<(), BacktestError> {
        let order = NewOrder::limit(id, MARKET, side, price(tick), Lots(lots));
        self.execute(Command::New(order), at, None)
    }

    /// A recorded aggressor takes what it meets, best price first and oldest first.
    pub fn aggress(
        &mut self,
        side: Side,
        limit: i64,
        lots: i64,
        at: i64,
    ) -> Result<(), BacktestError> {
        let order = NewOrder::limit(AGGRESSOR, MARKET, side, price(limit), Lots(lots));
        let order = order.force(taut_types::TimeInForce::ImmediateOrCancel);
        self.execute(Command::New(order), at, None)
    }

    /// An order of the market goes to the end of a queue, or trades on its way.
    pub fn replace(
        &mut self,
        id: OrderId,
        (side, tick, lots): (Side, i64, i64),
        at: i64,
    ) -> Result<(), BacktestError> {
        let order = NewOrder::limit(id, MARKET, side, price(tick), Lots(lots));
        self.execute(Command::Replace { order, mode: ReplaceMode::Requeue }, at, None)
    }

    /// Takes lots off an order, which keeps its place; all that it has takes it out.
    pub fn reduce(&mut self, id: OrderId, by: i64, at: i64) -> Result<(), BacktestError> {
        if by == 0 {
            return Ok(());
        }
        self.execute(Command::Reduce { order_id: id, by: Lots(by) }, at, None)
    }

    /// Takes an order out.
    pub fn cancel(&mut self, id: OrderId, at: i64) -> Result<(), BacktestError> {
        self.execute(Command::Cancel { order_id: id }, at, None)
    }

    /// All orders of a side are gone; ours expire.
    pub fn clear(&mut self, side: Side, at: i64) -> Result<(), BacktestError> {
        let all = MassCancel { owner: None, side: Some(side), session: None };
        self.execute(Command::MassCancel(all), at, None)?;
        while let Some(Own { engine_id, order }) = self.own.first_of(side) {
            self.own.remove(engine_id);
            let order = Order { leaves: 0, exchange_at: Nanos(at), ..order };
            self.expire(order, None);
        }
        Ok(())
    }

    /// Does what one of our requests asks for.
    pub fn serve(&mut self, request: Request, at: i64) -> Result<(), BacktestError> {
        match (request.kind, self.own.find(request.order.id)) {
            (RequestKind::New, _) => self.enter(request.order, RequestKind::New, None, at),
            (RequestKind::Modify, Some(own)) => match request.arrived(own.order.filled) {
                Some(request) => self.modify(own, &request.order, at),
                None => self.cancel_own(own, RequestKind::Modify, at),
            },
            (RequestKind::Cancel, Some(own)) => self.cancel_own(own, RequestKind::Cancel, at),
            (_, None) => {
                let order = Order { exchange_at: Nanos(at), ..request.order };
                self.outbox.say(Answer::Refused, Some(request.kind), &order);
                Ok(())
            }
        }
    }

    /// One of our orders is cancelled on request: of its end, or of less than has traded.
    fn cancel_own(
        &mut self,
        Own { engine_id, order }: Own,
        request: RequestKind,
        at: i64,
    ) -> Result<(), BacktestError> {
        self.cancel(engine_id, at)?;
        self.own.remove(engine_id);
        let order = Order { status: Status::Canceled, exchange_at: Nanos(at), ..order };
        self.answer(Answer::Canceled, Some(request), order);
        Ok(())
    }

    /// Whether one of our orders rests.
    pub fn has_own_orders(&self) -> bool {
        !self.own.is_empty()
    }

    /// One of our orders comes, or one that rests goes to the end of a queue.
    fn enter(
        &mut self,
        order: Order,
        request: RequestKind,
        resting: Option<OrderId>,
        at: i64,
    ) -> Result<(), BacktestError> {
        let order = Order { exchange_at: Nanos(at), last_lots: 0, ..order };
        let Order { side, order_type, time_in_force, .. } = order;
        let limit = price(order.tick);
        let is_met = || self.engine.book().is_met(side, limit);
        if let Some(engine_id) = resting {
            self.own.remove(engine_id);
        }
        if order.post_only && order_type == OrderType::Limit && is_met() {
            if let Some(engine_id) = resting {
                self.cancel(engine_id, at)?;
            }
            self.expire(order, Some(request));
            return Ok(());
        }
        let engine_id = resting.unwrap_or_else(|| self.own.next_id());
        let new = NewOrder::limit(engine_id, OWN, side, limit, Lots(order.leaves));
        let new = NewOrder { order_type, time_in_force, ..new };
        let command = match resting {
            None => Command::New(new),
            Some(_) => Command::Replace { order: new, mode: ReplaceMode::Requeue },
        };
        let mut entering = Entering { own: Own { engine_id, order }, request, rests: false };
        self.execute(command, at, Some(&mut entering))?;
        let Entering { mut own, rests, .. } = entering;
        if own.order.status == Status::Filled {
            return Ok(());
        }
        if !rests {
            self.expire(own.order, Some(request));
            return Ok(());
        }
        if own.order.last_lots == 0 {
            own.order.status = Status::Resting;
        }
        self.own.insert(own);
        let answer =
            if request == RequestKind::Modify { Answer::Modified } else { Answer::Entered };
        self.answer(answer, Some(request), own.order);
        Ok(())
    }

    /// One of our orders keeps its place for fewer lots at its price, and enters anew for others.
    fn modify(&mut self, own: Own, wanted: &Order, at: i64) -> Result<(), BacktestError> {
        let Own { engine_id, order } = own;
        let leaves = order.leaves;
        let order = Order { tick: wanted.tick, lots: wanted.lots, leaves: wanted.lots, ..order };
        if order.tick != own.order.tick || order.leaves > leaves {
            return self.enter(order, RequestKind::Modify, Some(engine_id), at);
        }
        self.reduce(engine_id, leaves - order.leaves, at)?;
        let order = Order { exchange_at: Nanos(at), ..order };
        self.own.insert(Own { engine_id, order });
        self.answer(Answer::Modified, Some(RequestKind::Modify), order);
        Ok(())
    }

    fn expire(&mut self, order: Order, request: Option<RequestKind>) {
        let order = Order { status: Status::Expired, ..order };
        self.answer(Answer::Expired, request, order);
    }

    /// Tells what is no fill.
    fn answer(&mut self, answer: Answer, request: Option<RequestKind>, order: Order) {
        self.outbox.say(answer, request, &Order { last_lots: 0, ..order });
    }

    fn execute(
        &mut self,
        command: Command,
        at: i64,
        entering: Option<&mut Entering>,
    ) -> Result<(), BacktestError> {
        let mut sink = Sink {
            own: &mut self.own,
            outbox: &mut self.outbox,
            impact: &mut self.impact,
            entering,
            at: Nanos(at),
            is_full: false,
            #[cfg(test)]
            events: &mut self.events,
        };
        self.engine.execute(command, &mut sink);
        if sink.is_full { Err(BacktestError::NoRoom) } else { Ok(()) }
    }
}

/// Hears what one command did.
struct Sink<'a, L> {
    own: &'a mut OwnOrders,
    outbox: &'a mut Outbox<L>,
    impact: &'a mut Impact,
    entering: Option<&'a mut Entering>,
    at: Nanos,
    is_full: bool,
    #[cfg(test)]
    events: &'a mut Option<alloc::vec::Vec<Event>>,
}

impl<L: Latency> EventSink for Sink<'_, L> {
    fn on_event(&mut self, event: Event) {
        #[cfg(test)]
        if let Some(events) = self.events {
            events.push(event);
        }
        match event {
            Event::Trade { maker, taker, maker_owner, taker_owner, price, lots, .. } => {
                let fill = (tick(price), lots.0);
                if maker_owner == OWN {
                    self.made(maker, fill);
                }
                if taker_owner == OWN {
                    self.took(fill);
                }
                let impact = &mut *self.impact;
                match (maker_owner, taker_owner, taker) {
                    (OWN, MARKET, AGGRESSOR) => add(&mut impact.made, lots.0),
                    (OWN, MARKET, _) => add(&mut impact.crossed, lots.0),
                    (MARKET, OWN, _) => add(&mut impact.taken, lots.0),
                    (MARKET, MARKET, taker) if taker != AGGRESSOR => {
                        add(&mut impact.rematched, lots.0);
                    }
                    _ => {}
                }
            }
            Event::Rested { order_id, .. } => {
                if let Some(entering) = &mut self.entering {
                    entering.rests |= entering.own.engine_id == order_id;
                }
            }
            Event::Rejected { .. }
            | Event::ReplaceRejected { .. }
            | Event::Cancelled { reason: CancelReason::BookFull, .. } => self.is_full = true,
            _ => {}
        }
    }
}

impl<L: Latency> Sink<'_, L> {
    /// One of our orders that rest was filled.
    fn made(&mut self, engine_id: OrderId, fill: (i64, i64)) {
        let Some(order) = self.own.get_mut(engine_id) else { return };
        apply(order, true, fill, self.at);
        self.outbox.say(Answer::Filled, None, order);
        if order.status == Status::Filled {
            self.own.remove(engine_id);
        }
    }

    /// Our order that is on its way took something.
    fn took(&mut self, fill: (i64, i64)) {
        let Some(entering) = &mut self.entering else { return };
        let order = &mut entering.own.order;
        apply(order, false, fill, self.at);
        self.outbox.say(Answer::Filled, Some(entering.request), order);
    }
}

fn apply(order: &mut Order, maker: bool, (tick, lots): (i64, i64), at: Nanos) {
    order.leaves -= lots;
    order.filled = order.filled.saturating_add(lots);
    order.status = if order.leaves > 0 { Status::PartlyFilled } else { Status::Filled };
    (order.maker, order.last_tick, order.last_lots) = (maker, tick, lots);
    order.exchange_at = at;
}
