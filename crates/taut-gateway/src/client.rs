//! Where the strategy lives, as the gateway sees it.

use std::collections::VecDeque;

use taut_lat::{Stage, StageOffsets};
use taut_market_data::{Event, EventKind, Soundness, Staleness};
use taut_ring::{Policy, RingError, broadcast, spsc};
use taut_sys::{Clock, Doorbell};
use taut_types::{ClientOrderId, Nanos};

use crate::mark::{Mark, StampTable};
use crate::message::{NewOrder, OrderUpdate, Request, RequestKind, TickStamps};
use crate::regions::{Regions, TICKS_LAYOUT};
use crate::strategy::{OrderEntry, Strategy};

/// A client of the gateway: takes events and updates, has requests.
pub trait Client {
    /// Tells it what one packet changed. `stamps` holds the ends of `decode` and `book`.
    fn market(&mut self, clock: &Clock, stamps: TickStamps, events: &[Event]);

    /// Tells it what happened to one of its orders, and when; `false` when it does not take it.
    fn order_update(&mut self, clock: &Clock, now: Nanos, update: &OrderUpdate) -> bool;

    /// Its next request.
    fn next_request(&mut self) -> Option<Request>;

    /// Comes about every millisecond.
    fn timer(&mut self, clock: &Clock, now: Nanos);
}

/// Where the requests of a strategy go.
pub(crate) trait RequestQueue {
    /// Takes a request that the event with this mark caused, unless full.
    fn push(&mut self, request: &Request, mark: Mark) -> bool;
}

/// The strategy's [`OrderEntry`]: numbers the requests and stamps them.
pub(crate) struct Entry<'a, Q> {
    pub(crate) clock: &'a Clock,
    pub(crate) queue: &'a mut Q,
    pub(crate) next_id: &'a mut u64,
    pub(crate) origin: Nanos,
    pub(crate) offsets: StageOffsets,
    pub(crate) mark: Mark,
}

impl<Q: RequestQueue> Entry<'_, Q> {
    fn send(&mut self, kind: RequestKind) -> Option<ClientOrderId> {
        let id = ClientOrderId(*self.next_id);
        let mut offsets = self.offsets;
        if self.origin != Nanos::ZERO {
            let now = self.clock.now();
            offsets.set_end(Stage::Strategy, now.since(self.origin).0.unsigned_abs());
        }
        let request = Request { id, kind, origin: self.origin, offsets };
        self.queue.push(&request, self.mark).then(|| {
            *self.next_id += 1;
            id
        })
    }
}

impl<Q: RequestQueue> OrderEntry for Entry<'_, Q> {
    fn new_order(&mut self, order: NewOrder) -> Option<ClientOrderId> {
        self.send(RequestKind::New(order))
    }

    fn cancel(&mut self, order: ClientOrderId) -> bool {
        self.send(RequestKind::Cancel(order)).is_some()
    }
}

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

/// The strategy in the gateway's own thread: no memory between them but the stack.
#[derive(Debug)]
pub struct FusedClient<S> {
    strategy: S,
    queue: LocalQueue,
    next_id: u64,
}

impl<S: Strategy> FusedClient<S> {
    /// A client around this strategy.
    #[must_use]
    pub fn new(strategy: S) -> Self {
        let queue = LocalQueue(VecDeque::with_capacity(LOCAL_REQUESTS_MAX));
        Self { strategy, queue, next_id: 1 }
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

    fn with_entry(
        &mut self,
        clock: &Clock,
        stamps: TickStamps,
        act: impl FnOnce(&mut S, &mut Entry<'_, LocalQueue>),
    ) {
        let mut entry = Entry {
            clock,
            queue: &mut self.queue,
            next_id: &mut self.next_id,
            origin: stamps.origin,
            offsets: stamps.offsets(),
            mark: Mark::default(),
        };
        act(&mut self.strategy, &mut entry);
    }
}

impl<S: Strategy> Client for FusedClient<S> {
    #[inline]
    fn market(&mut self, clock: &Clock, stamps: TickStamps, events: &[Event]) {
        self.with_entry(clock, stamps, |strategy, entry| {
            events.iter().for_each(|event| strategy.on_market(event.receive_time, event, entry));
        });
    }

    fn order_update(&mut self, clock: &Clock, now: Nanos, update: &OrderUpdate) -> bool {
        self.with_entry(clock, TickStamps::NONE, |strategy, entry| {
            strategy.on_order(now, update, entry);
        });
        true
    }

    #[inline]
    fn next_request(&mut self) -> Option<Request> {
        self.queue.0.pop_front()
    }

    fn timer(&mut self, clock: &Clock, now: Nanos) {
        self.with_entry(clock, TickStamps::NONE, |strategy, entry| {
            strategy.on_timer(now, entry);
        });
    }
}

/// The strategy in another process, behind shared memory.
#[derive(Debug)]
pub struct SplitClient<'m> {
    ticks: broadcast::Publisher<'m>,
    requests: spsc::Consumer<'m>,
    updates: spsc::Producer<'m>,
    /// Whether the book can be trusted, as the strategy was told last.
    soundness: Soundness,
    /// What orders are measured from, while the events that may cause them are in the ring.
    stamps: StampTable,
    /// Rung after each publication, where the strategy sleeps in the kernel.
    doorbell: Option<Doorbell>,
}

impl<'m> SplitClient<'m> {
    /// A client behind these regions; `doorbell` is the strategy's, if it blocks.
    ///
    /// # Errors
    /// When a region cannot hold its ring.
    pub fn new(regions: &Regions<'m>, doorbell: Option<Doorbell>) -> Result<Self, RingError> {
        Ok(Self {
            ticks: broadcast::Publisher::resume(regions.ticks, TICKS_LAYOUT, Policy::Overwrite)?,
            requests: spsc::Consumer::resume(regions.requests)?,
            updates: spsc::Producer::resume(regions.updates)?,
            soundness: Soundness::Stale(Staleness::Joining),
            stamps: StampTable::default(),
            doorbell,
        })
    }

    fn wake(&self) {
        if let Some(doorbell) = &self.doorbell {
            doorbell.ring();
        }
    }
}

impl Client for SplitClient<'_> {
    #[inline]
    fn market(&mut self, clock: &Clock, mut stamps: TickStamps, events: &[Event]) {
        let mut number = 0;
        if stamps.is_measured() {
            // The stage ends with the store that follows: it cannot be stamped after itself.
            let [.., publish] = &mut stamps.ends;
            let end = clock.now().since(stamps.origin).0;
            *publish = u32::try_from(end).unwrap_or(u32::MAX);
            number = self.stamps.insert(stamps);
        }
        for event in events {
            if let EventKind::Book(soundness) = event.kind {
                self.soundness = soundness;
            }
            let mark = Mark::new(number, self.soundness);
            // An overwriting ring is never full.
            let _ = self.ticks.publish(&event.to_words(mark.0));
        }
        if !events.is_empty() {
            self.wake();
        }
    }

    fn order_update(&mut self, _clock: &Clock, now: Nanos, update: &OrderUpdate) -> bool {
        let taken = self.updates.push(&update.pack(now)).is_ok();
        self.wake();
        taken
    }

    #[inline]
    fn next_request(&mut self) -> Option<Request> {
        // Words that are no request are a broken peer's; they are passed over.
        while let Some(payload) = self.requests.pop() {
            if let Some((request, mark)) = Request::unpack(&payload) {
                return Some(self.stamps.complete(request, Mark(mark)));
            }
        }
        None
    }

    fn timer(&mut self, _clock: &Clock, _now: Nanos) {}
}
