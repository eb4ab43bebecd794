//! What the engine promises, a sentence each; and the engine against its slow twin.

mod allocation;
mod bug_classes;
mod defects;
mod exhaustive;
mod features;
mod limits;
mod market_data;
mod matching;
mod random;
mod twin;

use std::vec::Vec;

use taut_types::{HalfTicks, Lots, OrderId, Side, TimeInForce};

use crate::{Command, Engine, EngineConfig, Event, EventSink, NewOrder, Phase};

/// Takes the events of all tests: for each sink of a type of its own the compiler would make
/// another engine.
struct Sink<'s>(&'s mut dyn FnMut(Event));

impl EventSink for Sink<'_> {
    fn on_event(&mut self, event: Event) {
        (self.0)(event);
    }
}

/// Executes a command and hands its events over.
fn execute(engine: &mut Engine, command: Command, mut sink: impl FnMut(Event)) {
    engine.execute(command, &mut Sink(&mut sink));
}

/// An engine whose events are collected, with the checks that hold after every command.
struct CheckedEngine(Engine);

impl CheckedEngine {
    fn new() -> Self {
        Self::with_capacity(64, 16)
    }

    fn with_capacity(order_capacity: usize, level_capacity: usize) -> Self {
        Self(Engine::new(EngineConfig { order_capacity, level_capacity }))
    }

    fn run(&mut self, command: Command) -> Vec<Event> {
        let mut events = Vec::new();
        execute(&mut self.0, command, |event| events.push(event));
        assert!(!events.is_empty(), "no answer to {command:?}");
        let refusals = events.iter().filter(|event| is_refusal(event)).count();
        assert!(refusals == 0 || events.len() == 1, "a refusal is all: {events:?}");
        let top = self.0.book().top();
        if let (Phase::Continuous, Some(bid), Some(ask)) = (self.0.phase(), top.bid, top.ask) {
            assert!(bid.price < ask.price, "a crossed book after {command:?}");
        }
        events
    }

    fn enter(&mut self, order: NewOrder) -> Vec<Event> {
        self.run(Command::New(order))
    }

    fn cancel(&mut self, id: u64) -> Vec<Event> {
        self.run(Command::Cancel { order_id: OrderId(id) })
    }

    fn reduce(&mut self, id: u64, by: i64) -> Vec<Event> {
        self.run(Command::Reduce { order_id: OrderId(id), by: Lots(by) })
    }

    /// The side's orders in priority order: id, price in ticks, lots.
    fn queue(&self, side: Side) -> Vec<(u64, i64, i64)> {
        let orders = self.0.book().orders(side);
        orders.map(|order| (order.id.0, order.price.0 / 2, order.lots.0)).collect()
    }

    /// The best bid and the best offer: price in ticks and lots.
    fn touch(&self) -> [Option<(i64, i64)>; 2] {
        let top = self.0.book().top();
        [top.bid, top.ask].map(|level| level.map(|level| (level.price.0 / 2, level.lots.0)))
    }
}

const fn is_refusal(event: &Event) -> bool {
    matches!(
        event,
        Event::Rejected { .. } | Event::CancelRejected { .. } | Event::ReplaceRejected { .. }
    )
}

fn limit(side: Side, id: u64, ticks: i64, lots: i64) -> NewOrder {
    NewOrder::limit(OrderId(id), 1, side, HalfTicks(2 * ticks), Lots(lots))
}

fn buy(id: u64, ticks: i64, lots: i64) -> NewOrder {
    limit(Side::Buy, id, ticks, lots)
}

fn sell(id: u64, ticks: i64, lots: i64) -> NewOrder {
    limit(Side::Sell, id, ticks, lots)
}

fn market(side: Side, id: u64, lots: i64) -> NewOrder {
    NewOrder::market(OrderId(id), 1, side, Lots(lots))
}

fn ioc(order: NewOrder) -> NewOrder {
    NewOrder { time_in_force: TimeInForce::ImmediateOrCancel, ..order }
}

fn fok(order: NewOrder) -> NewOrder {
    NewOrder { time_in_force: TimeInForce::FillOrKill, ..order }
}

/// The trades among the events: maker, price in ticks, lots.
fn trades(events: &[Event]) -> Vec<(u64, i64, i64)> {
    let trade = |event: &Event| match *event {
        Event::Trade { maker, price, lots, .. } => Some((maker.0, price.0 / 2, lots.0)),
        _ => None,
    };
    events.iter().filter_map(trade).collect()
}

/// The level events: side, price in ticks, lots, order count.
fn levels(events: &[Event]) -> Vec<(Side, i64, i64, u32)> {
    let level = |event: &Event| match *event {
        Event::Level { side, price, lots, order_count } => {
            Some((side, price.0 / 2, lots.0, order_count))
        }
        _ => None,
    };
    events.iter().filter_map(level).collect()
}

/// What was cancelled: lots and reason.
fn cancelled(events: &[Event]) -> Option<(i64, crate::CancelReason)> {
    events.iter().find_map(|event| match *event {
        Event::Cancelled { lots, reason, .. } => Some((lots.0, reason)),
        _ => None,
    })
}

/// Why the command was refused, if it was; then nothing else may have happened.
fn refusal(events: &[Event]) -> Option<crate::RejectReason> {
    match *events {
        [Event::Rejected { reason, .. } | Event::CancelRejected { reason, .. }] => Some(reason),
        _ => None,
    }
}
