//! The strategy in a process of its own.

use taut_lat::{Stage, StageOffsets};
use taut_market_data::{Event, EventKind, Soundness, Staleness};
use taut_ring::{RingError, broadcast, spsc};
use taut_sync::atomic::AtomicU64;
use taut_sys::{Clock, Doorbell};
use taut_types::Nanos;

use crate::client::{Entry, RequestQueue};
use crate::counters::StrategyCounters;
use crate::mark::Mark;
use crate::message::{OrderUpdate, Request};
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
    fn push(&mut self, request: &Request, mark: Mark) -> bool {
        let taken = self.requests.push(&request.pack(mark.0)).is_ok();
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
    /// Whether the book can be trusted, as the strategy was told last.
    soundness: Soundness,
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
            soundness: Soundness::Stale(Staleness::Joining),
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
                if let Some((event, mark)) = Event::from_words(&payload) {
                    self.on_event(clock, &event, Mark(mark));
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
        let mut entry = entry(clock, &mut self.queue, &mut self.next_id);
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
    fn on_event(&mut self, clock: &Clock, event: &Event, mark: Mark) {
        if let EventKind::Book(soundness) = event.kind {
            self.soundness = soundness;
        } else if let Some(soundness) = mark.soundness()
            && soundness != self.soundness
        {
            // Overtaken over the event that said so: it is said again.
            self.soundness = soundness;
            let told = Event { kind: EventKind::Book(soundness), ..*event };
            self.on_market(clock, &told, Mark::default());
        }
        self.on_market(clock, event, mark);
    }

    #[inline]
    fn on_market(&mut self, clock: &Clock, event: &Event, mark: Mark) {
        let now = event.receive_time;
        let mut entry = entry(clock, &mut self.queue, &mut self.next_id);
        if mark.number() != 0 {
            let end = clock.now().since(now).0.unsigned_abs();
            (entry.origin, entry.mark) = (now, mark);
            entry.offsets.set_end(Stage::ToStrategy, end);
        }
        self.strategy.on_market(now, event, &mut entry);
    }

    fn poll_updates(&mut self, clock: &Clock) -> bool {
        let Some(payload) = self.updates.pop() else { return false };
        self.counters.updates += 1;
        if let Some((update, now)) = OrderUpdate::unpack(&payload) {
            let mut entry = entry(clock, &mut self.queue, &mut self.next_id);
            self.strategy.on_order(now, &update, &mut entry);
        }
        true
    }
}

/// The strategy's way to send, for one event.
fn entry<'a, 'm>(
    clock: &'a Clock,
    queue: &'a mut RequestRing<'m>,
    next_id: &'a mut u64,
) -> Entry<'a, RequestRing<'m>> {
    let (origin, offsets) = (Nanos::ZERO, StageOffsets::ZERO);
    Entry { clock, queue, next_id, origin, offsets, mark: Mark::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Client, SplitClient};
    use crate::message::TickStamps;
    use crate::strategy::OrderEntry;
    use taut_ipc::Segment;
    use taut_market_data::BestPrices;
    use taut_types::InstrumentId;

    /// Notes whether it was told that the book is live when it saw a top.
    #[derive(Debug, Default)]
    struct Witness {
        live: bool,
        tops_live: u64,
        tops_stale: u64,
    }

    impl Strategy for Witness {
        fn on_market(&mut self, _: Nanos, event: &Event, _: &mut impl OrderEntry) {
            match event.kind {
                EventKind::Book(soundness) => self.live = soundness == Soundness::Sound,
                EventKind::Top(_) if self.live => self.tops_live += 1,
                EventKind::Top(_) => self.tops_stale += 1,
                _ => {}
            }
        }
    }

    #[test]
    fn a_strategy_that_was_overtaken_over_what_became_of_the_book_is_told_again() {
        let segment = Segment::create("taut-test", &Regions::LAYOUT).expect("segment");
        let regions = Regions::of(&segment).expect("regions");
        let mut client = SplitClient::new(&regions, None).expect("client");
        let mut runner = StrategyRunner::new(&regions, None, Witness::default()).expect("runner");
        let clock = Clock::vdso();
        let event = |kind| Event {
            instrument: InstrumentId(1),
            exchange_time: Nanos::ZERO,
            receive_time: Nanos(1),
            kind,
        };
        let top = [event(EventKind::Top(BestPrices::default()))];
        let mut rounds = |live: bool, count: usize| {
            let stale = Soundness::Stale(Staleness::Gap);
            let book = event(EventKind::Book(if live { Soundness::Sound } else { stale }));
            client.market(&clock, TickStamps::NONE, &[book]);
            (0..count).for_each(|_| client.market(&clock, TickStamps::NONE, &top));
            while runner.poll(&clock) {}
            let seen = (runner.strategy.tops_live, runner.strategy.tops_stale);
            (runner.strategy.tops_live, runner.strategy.tops_stale) = (0, 0);
            seen
        };
        assert_eq!(rounds(true, 3), (3, 0));
        assert_eq!(rounds(false, 3), (0, 3));
        // More than the ring holds: the event that said so is overwritten.
        let (live, stale) = rounds(true, 20_000);
        assert!(live > 0 && stale == 0);
        let (live, stale) = rounds(false, 20_000);
        assert!(stale > 0 && live == 0);
    }
}
