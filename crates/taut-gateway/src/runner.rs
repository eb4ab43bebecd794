//! The strategy in a process of its own.

use taut_lat::Stage;
use taut_ring::{RingError, broadcast, spsc};
use taut_sync::atomic::AtomicU64;
use taut_sys::{Clock, Doorbell};

use crate::client::{Entry, RequestQueue};
use crate::counters::StrategyCounters;
use crate::message::{MarketEvent, OrderUpdate, Request, TickStamps};
use crate::regions::{Regions, TICKS_LAYOUT};
use crate::strategy::Strategy;

/// The way to the gateway.
#[derive(Debug)]
struct RequestRing<'m> {
    requests: spsc::Producer<'m>,
    /// Rung after each request, where the gateway sleeps in the kernel.
    doorbell: Option<Doorbell>,
    sent: u64,
}

impl RequestQueue for RequestRing<'_> {
    #[inline]
    fn push(&mut self, request: &Request) -> bool {
        let taken = self.requests.push(&request.pack()).is_ok();
        if let Some(doorbell) = &self.doorbell {
            doorbell.ring();
        }
        self.sent += u64::from(taken);
        taken
    }
}

/// Runs a strategy over the rings of a segment.
#[derive(Debug)]
pub struct StrategyRunner<'m, S> {
    ticks: broadcast::Subscriber<'m>,
    updates: spsc::Consumer<'m>,
    queue: RequestRing<'m>,
    next_id: u64,
    strategy: S,
    counters: StrategyCounters,
    shared_counters: &'m [AtomicU64],
}

impl<'m, S: Strategy> StrategyRunner<'m, S> {
    /// A runner over these regions; `doorbell` is the gateway's, if it blocks.
    ///
    /// # Errors
    /// When a region cannot hold its ring.
    pub fn new(
        regions: &Regions<'m>,
        doorbell: Option<Doorbell>,
        strategy: S,
    ) -> Result<Self, RingError> {
        let requests = spsc::Producer::resume(regions.requests)?;
        Ok(Self {
            ticks: broadcast::Subscriber::passive(
                regions.ticks,
                TICKS_LAYOUT,
                broadcast::Start::Oldest,
            )?,
            updates: spsc::Consumer::resume(regions.updates)?,
            queue: RequestRing { requests, doorbell, sent: 0 },
            next_id: 1,
            strategy,
            counters: StrategyCounters::default(),
            shared_counters: regions.strategy,
        })
    }

    /// Takes one market event or one order update; whether there was one.
    #[inline]
    pub fn poll(&mut self, clock: &Clock) -> bool {
        match self.ticks.poll() {
            broadcast::Polled::Message(payload) => {
                self.counters.events += 1;
                if let Some((event, stamps)) = MarketEvent::unpack(&payload) {
                    self.on_market(clock, stamps, &event);
                }
                true
            }
            broadcast::Polled::Lapped(lost) => {
                self.counters.lapped += lost;
                true
            }
            // The gateway is ready: what it publishes comes next.
            broadcast::Polled::NewWriter(_) => true,
            broadcast::Polled::Empty => self.poll_updates(clock),
        }
    }

    /// Housekeeping, about every millisecond.
    pub fn timer(&mut self, clock: &Clock) {
        let now = clock.now();
        let mut entry = entry(clock, TickStamps::NONE, &mut self.queue, &mut self.next_id);
        self.strategy.on_timer(now, &mut entry);
        self.counters.requests = self.queue.sent;
        self.counters.store(self.shared_counters);
    }

    /// No new orders from now on; what is open is cancelled.
    pub fn stop(&mut self) {
        self.strategy.stop();
    }

    /// The strategy.
    #[must_use]
    pub const fn strategy(&self) -> &S {
        &self.strategy
    }

    #[inline]
    fn on_market(&mut self, clock: &Clock, stamps: TickStamps, event: &MarketEvent) {
        let now = clock.now();
        let mut entry = entry(clock, stamps, &mut self.queue, &mut self.next_id);
        if stamps.is_measured() {
            let end = now.since(stamps.origin).0.unsigned_abs();
            entry.offsets.set_end(Stage::ToStrategy, end);
        }
        self.strategy.on_market(now, event, &mut entry);
    }

    fn poll_updates(&mut self, clock: &Clock) -> bool {
        let Some(payload) = self.updates.pop() else { return false };
        self.counters.updates += 1;
        if let Some(update) = OrderUpdate::unpack(&payload) {
            let now = clock.now();
            let mut entry = entry(clock, TickStamps::NONE, &mut self.queue, &mut self.next_id);
            self.strategy.on_order(now, &update, &mut entry);
        }
        true
    }
}

/// The strategy's way to send, for one event.
fn entry<'a, 'm>(
    clock: &'a Clock,
    stamps: TickStamps,
    queue: &'a mut RequestRing<'m>,
    next_id: &'a mut u64,
) -> Entry<'a, RequestRing<'m>> {
    Entry { clock, queue, next_id, origin: stamps.origin, offsets: stamps.offsets() }
}
