//! The strategy in the gateway's own thread: no memory between them but the stack.

use std::collections::VecDeque;

use taut_market_data::Event;
use taut_sys::Clock;
use taut_types::{ClientOrderId, Nanos};

use crate::client::{Client, Entry, GatewayState, RequestQueue};
use crate::mark::Mark;
use crate::message::{GatewayEvent, OrderUpdate, Request, TickStamps};
use crate::owner::Owner;
use crate::strategy::Strategy;

/// A bounded queue within the thread; it allocates when it is built and never again.
#[derive(Debug)]
struct LocalQueue(VecDeque<Request>);

/// Requests that a fused strategy may have waiting: one packet's worth.
const LOCAL_REQUESTS_MAX: usize = 256;

impl RequestQueue for LocalQueue {
    fn push(&mut self, request: &Request, _mark: Mark) -> bool {
        let room = self.0.len() < LOCAL_REQUESTS_MAX;
        if room {
            self.0.push_back(*request);
        }
        room
    }
}

/// A strategy in the gateway's own thread.
#[derive(Debug)]
pub struct FusedClient<S> {
    strategy: S,
    queue: LocalQueue,
    owner: Owner,
    next_number: u64,
}

impl<S: Strategy> FusedClient<S> {
    /// A client around this strategy.
    #[must_use]
    pub fn new(strategy: S) -> Self {
        let queue = LocalQueue(VecDeque::with_capacity(LOCAL_REQUESTS_MAX));
        Self { strategy, queue, owner: Owner::default(), next_number: 1 }
    }

    /// The strategy.
    #[must_use]
    pub const fn strategy(&self) -> &S {
        &self.strategy
    }

    /// No new orders from now on; what is open is cancelled.
    pub fn stop(&mut self) {
        self.strategy.stop();
    }

    #[inline]
    fn with_entry<G: GatewayState>(
        &mut self,
        clock: &Clock,
        state: &G,
        stamps: TickStamps,
        act: impl FnOnce(&mut S, &mut Entry<'_, LocalQueue, G>),
    ) {
        let mut entry = Entry {
            clock,
            state,
            queue: &mut self.queue,
            owner: self.owner,
            next_number: &mut self.next_number,
            origin: stamps.origin,
            offsets: stamps.offsets(),
            mark: Mark::default(),
        };
        act(&mut self.strategy, &mut entry);
    }
}

impl<S: Strategy> Client for FusedClient<S> {
    #[inline]
    fn market(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        stamps: TickStamps,
        events: &[Event],
    ) {
        self.with_entry(clock, state, stamps, |strategy, entry| {
            events.iter().for_each(|event| strategy.on_market(event.receive_time, event, entry));
        });
    }

    fn order_update(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        now: Nanos,
        update: &OrderUpdate,
    ) {
        self.with_entry(clock, state, TickStamps::NONE, |strategy, entry| {
            strategy.on_order(now, update, entry);
        });
    }

    fn gateway_event(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        now: Nanos,
        event: &GatewayEvent,
    ) {
        self.with_entry(clock, state, TickStamps::NONE, |strategy, entry| {
            strategy.on_gateway(now, event, entry);
        });
    }

    fn number_after(&mut self, highest: ClientOrderId) {
        if Owner::of(highest) == self.owner {
            self.next_number = highest.number() + 1;
        }
    }

    #[inline]
    fn next_request(&mut self) -> Option<Request> {
        self.queue.0.pop_front()
    }

    fn timer(&mut self, clock: &Clock, state: &impl GatewayState, now: Nanos) {
        self.with_entry(clock, state, TickStamps::NONE, |strategy, entry| {
            strategy.on_timer(now, entry);
        });
    }
}
