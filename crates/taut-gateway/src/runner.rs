//! The strategy in a process of its own.

use taut_lat::StageOffsets;
use taut_market_data::{Event, EventKind, Soundness, Staleness};
use taut_ring::RingError;
use taut_sys::{Clock, Doorbell, remote_barrier};
use taut_types::{InstrumentId, Nanos};

use crate::alarms::Alarms;
use crate::client::{Entry, GatewayState, RequestQueue, Rest};
use crate::counters::StrategyCounters;
use crate::gateways::{InstrumentNumbers, Replicas, RequestRings, RingState};
use crate::link::{Item, Link, LinkState};
use crate::mark::Mark;
use crate::message::{GatewayEvent, Reply, ReplyStamp, Request, RequestKind};
use crate::owner::Owner;
use crate::regions::{Regions, StrategyRegions};
use crate::replica::Told;
use crate::strategy::Strategy;
use crate::timer::Timer;

/// How long a sleeper trusts a gateway that it cannot run a barrier on.
const WITHOUT_BARRIER: Nanos = Nanos::from_millis(1);

/// Runs a strategy over the rings that it shares with its gateway, or with several.
///
/// The strategy is told nothing of a gateway until the gateway has told what it begins with; then
/// what the gateway says and what happens in the market come in the order in which the gateway
/// wrote them. Of what several have to say, the oldest comes first; nobody waits for a gateway that
/// says nothing.
#[derive(Debug)]
pub struct StrategyRunner<'m, S> {
    /// One for each gateway, in its place.
    links: Vec<Link<'m>>,
    requests: RequestRings<'m>,
    replicas: Replicas,
    next_number: u64,
    alarms: Alarms,
    strategy: S,
    rest: Rest,
}

/// A strategy and all that it knows, without the memory that it shares with its gateways: they may
/// come and go meanwhile.
#[derive(Debug)]
pub struct DetachedStrategy<S> {
    links: Vec<LinkState>,
    rings: Vec<RingState>,
    replicas: Replicas,
    next_number: u64,
    alarms: Alarms,
    strategy: S,
    rest: Rest,
}

impl<S: Strategy> DetachedStrategy<S> {
    /// A strategy that has so many gateways, none of which is there.
    #[must_use]
    pub fn new(gateways: usize, strategy: S) -> Self {
        fn all<T: Default>(count: usize) -> Vec<T> {
            (0..count).map(|_| T::default()).collect()
        }
        Self {
            links: all(gateways),
            rings: all(gateways),
            replicas: Replicas::new(gateways),
            next_number: 1,
            alarms: Alarms::default(),
            strategy,
            rest: Rest::default(),
        }
    }

    /// The gateway in this place takes the strategy up. `doorbell` is the gateway's, if it blocks.
    pub fn begin(&mut self, place: usize, doorbell: Option<Doorbell>) {
        let next = (self.links.get_mut(place), self.rings.get_mut(place));
        if let (Some(link), Some(ring)) = next {
            *link = LinkState::default();
            *ring = RingState { doorbell, ..RingState::default() };
        }
    }

    /// Runs it over these regions of its gateways, each in its place; nothing for one that is not
    /// there.
    ///
    /// # Errors
    /// When a region cannot hold its ring.
    pub fn attach<'m>(
        self,
        gateways: &[Option<(Regions<'m>, StrategyRegions<'m>)>],
    ) -> Result<StrategyRunner<'m, S>, RingError> {
        let Self { links, rings, replicas, next_number, alarms, strategy, rest } = self;
        let link = |(place, state)| Link::closed(InstrumentNumbers::of_gateway(place), state);
        let mut links: Vec<_> = links.into_iter().enumerate().map(link).collect();
        let mut requests = RequestRings::closed(rings);
        for (place, (link, gateway)) in links.iter_mut().zip(gateways).enumerate() {
            if let Some((regions, own)) = gateway {
                link.open(regions, own)?;
                requests.open(place, regions, own)?;
            }
        }
        Ok(StrategyRunner { links, requests, replicas, next_number, alarms, strategy, rest })
    }
}

impl<'m, S: Strategy> StrategyRunner<'m, S> {
    /// A runner over the regions of one gateway; `doorbell` is the gateway's, if it blocks.
    ///
    /// # Errors
    /// When a region cannot hold its ring.
    pub fn new(
        regions: &Regions<'m>,
        own: &StrategyRegions<'m>,
        doorbell: Option<Doorbell>,
        strategy: S,
    ) -> Result<Self, RingError> {
        let mut detached = DetachedStrategy::new(1, strategy);
        detached.begin(0, doorbell);
        detached.attach(&[Some((*regions, *own))])
    }

    /// Takes one market event or one reply: of several gateways' the oldest. Whether there was one.
    #[inline]
    pub fn poll(&mut self, clock: &Clock) -> bool {
        let place = if self.links.len() == 1 { Some(0) } else { self.oldest() };
        let Some(place) = place else { return false };
        match self.links.get_mut(place).and_then(Link::take) {
            Some(item) => {
                self.handle(clock, place, &item);
                true
            }
            None => false,
        }
    }

    /// Sleeps in `wait`, which is told for how long at the most, until a gateway rings; looks once
    /// more before, so that nothing published in between waits.
    pub fn sleep(&mut self, clock: &Clock, span: Nanos, wait: impl FnOnce(Nanos)) {
        self.links.iter().for_each(Link::listen);
        let span = if remote_barrier().is_ok() { span } else { span.min(WITHOUT_BARRIER) };
        if !self.poll(clock) {
            wait(span);
        }
    }

    /// Housekeeping, about every millisecond. The strategy's timer is its gateway's, and comes with
    /// what the gateway tells; of several, that of the first that has taken the strategy up. While
    /// none has, it is this call.
    pub fn timer(&mut self, clock: &Clock) {
        if self.pace_maker().is_none() {
            self.timer_fired(clock, clock.now());
        }
        for place in 0..self.links.len() {
            self.ask_for_books(place);
            if let Some(link) = self.links.get_mut(place) {
                link.state.counters.requests = self.requests.sent(place);
                link.state.counters.full = self.requests.full(place);
                link.state.counters.beats += 1;
                link.store_counters();
            }
        }
    }

    /// The place of the gateway whose timer is the strategy's.
    fn pace_maker(&self) -> Option<usize> {
        self.links.iter().position(|link| link.state.has_begun)
    }

    /// The timer of the gateway in this place fired.
    fn gateway_timer(&mut self, clock: &Clock, place: usize, timer: Timer) {
        if self.pace_maker() == Some(place) {
            if timer.rests && !self.rest.has_begun() {
                self.rest.begin();
            }
            self.timer_fired(clock, timer.at);
        }
    }

    fn timer_fired(&mut self, clock: &Clock, now: Nanos) {
        let mut rest = self.rest;
        let round = self.alarms.round();
        while let Some(token) = self.alarms.next(now, round) {
            self.with_entry(clock, |strategy, entry| {
                entry.receive_time = now;
                strategy.on_alarm(now, token, entry);
            });
        }
        self.with_entry(clock, |strategy, entry| {
            entry.receive_time = now;
            rest.approach(now, strategy, entry);
            strategy.on_timer(now, entry);
        });
        self.rest = rest;
    }

    /// The gateway in this place is gone: no order can be sent to it, none of its books is sound.
    pub fn disconnected(&mut self, clock: &Clock, place: usize) {
        let now = clock.now();
        if !self.links.get(place).is_some_and(|link| link.state.has_begun) {
            return;
        }
        self.books_became_stale(clock, place, now);
        let event = GatewayEvent::Disconnected;
        self.replicas.on_gateway(place, &event);
        self.on_gateway(clock, place, noticed(now), &event);
        if let Some(link) = self.links.get_mut(place) {
            link.state.has_begun = false;
        }
    }

    /// No new orders from now on; what is open is cancelled.
    pub const fn stop(&mut self) {
        self.rest.begin();
    }

    /// Whether the strategy was stopped, is idle, and has no order open.
    #[must_use]
    pub const fn is_at_rest(&self) -> bool {
        self.rest.is_over()
    }

    /// Its orders that are not over, as far as it was told.
    #[must_use]
    pub fn open_orders(&self) -> usize {
        let mut count = 0;
        // A replica has the orders of one owner.
        self.replicas.visit_orders(Owner::default(), &mut |_| count += 1);
        count
    }

    /// Whether every gateway has told what the strategy begins with.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.links.iter().all(|link| link.state.has_begun)
    }

    /// The strategy.
    #[must_use]
    pub const fn strategy(&self) -> &S {
        &self.strategy
    }

    #[cfg(test)]
    pub(crate) const fn strategy_mut(&mut self) -> &mut S {
        &mut self.strategy
    }

    /// What was counted, over all gateways.
    #[must_use]
    pub fn counters(&self) -> StrategyCounters {
        let mut all = StrategyCounters::default();
        for (place, link) in self.links.iter().enumerate() {
            let counters = link.state.counters;
            all.events += counters.events;
            all.lapped = all.lapped.saturating_add(counters.lapped);
            all.updates += counters.updates;
            all.position = all.position.saturating_add(counters.position);
            all.beats += counters.beats;
            all.requests += self.requests.sent(place);
            all.full += self.requests.full(place);
        }
        all
    }

    /// Lets the memory go that is shared with the gateways.
    #[must_use]
    pub fn detach(self) -> DetachedStrategy<S> {
        let Self { links, requests, replicas, next_number, alarms, strategy, rest } = self;
        let links = links.into_iter().map(Link::into_state).collect();
        let rings = requests.into_states();
        DetachedStrategy { links, rings, replicas, next_number, alarms, strategy, rest }
    }

    /// The place of the gateway that has the oldest to tell.
    fn oldest(&mut self) -> Option<usize> {
        let times = self.links.iter_mut().map(Link::next_time).enumerate();
        let next = times.filter_map(|(place, at)| Some((at?, place))).min();
        next.map(|(_, place)| place)
    }

    #[inline]
    fn handle(&mut self, clock: &Clock, place: usize, item: &Item) {
        match item {
            Item::Event(event, mark) => self.on_ring(clock, place, event, *mark),
            Item::Reply(reply, stamp) => self.on_reply(clock, place, reply, *stamp),
            Item::Timer(timer) => self.gateway_timer(clock, place, *timer),
            Item::Overtaken(events) => self.overtaken(clock, place, *events),
            Item::Nothing => {}
        }
    }

    fn on_reply(&mut self, clock: &Clock, place: usize, reply: &Reply, stamp: ReplyStamp) {
        if let Reply::Gateway(GatewayEvent::DownloadBegin { owner, next_number }) = *reply {
            self.begin(clock, place, stamp, (owner, next_number));
        }
        let (Some(link), Some(replica)) = (self.links.get_mut(place), self.replicas.get_mut(place))
        else {
            return;
        };
        if !link.state.has_begun {
            return;
        }
        match reply {
            Reply::Position(held) => replica.on_position(*held),
            Reply::Order(update, taken) => {
                link.state.counters.updates += 1;
                // Looked up while it is told, an order is as the update says.
                replica.on_order(update, *taken);
                self.with_entry(clock, |strategy, entry| {
                    entry.told_by(place, stamp);
                    entry.exchange_time = update.exchange_time;
                    strategy.on_order(stamp.at, update, entry);
                });
            }
            Reply::Gateway(event) => {
                self.replicas.on_gateway(place, event);
                self.on_gateway(clock, place, stamp, event);
            }
            Reply::Market(_) if stamp.position < link.state.books_from => {
                if std::mem::take(&mut link.state.has_begun_late) {
                    self.want_books(place);
                }
            }
            Reply::Market(event) => {
                let told = replica.on_book(event.instrument, &event.kind);
                self.tell(clock, place, event, told, Mark::default());
            }
        }
    }

    /// The gateway in this place takes the strategy up.
    fn begin(&mut self, clock: &Clock, place: usize, stamp: ReplyStamp, next: (Owner, u64)) {
        let Some(link) = self.links.get_mut(place) else { return };
        link.state.has_begun = true;
        let (owner, next_number) = next;
        self.requests.set_owner(place, owner);
        self.next_number = self.next_number.max(next_number);
        self.on_gateway(clock, place, stamp, &GatewayEvent::Connected);
    }

    fn on_gateway(&mut self, clock: &Clock, place: usize, stamp: ReplyStamp, event: &GatewayEvent) {
        self.with_entry(clock, |strategy, entry| {
            entry.told_by(place, stamp);
            strategy.on_gateway(stamp.at, event, entry);
        });
    }

    #[inline]
    fn on_ring(&mut self, clock: &Clock, place: usize, event: &Event, mark: Mark) {
        let Some(replica) = self.replicas.get_mut(place) else { return };
        let told = replica.on_ring(event.instrument, &event.kind);
        self.tell(clock, place, event, told, mark.packet());
        let Some(link) = self.links.get_mut(place) else { return };
        link.state.is_in_batch |= told == Told::Event;
        if mark.is_last() && std::mem::take(&mut link.state.is_in_batch) {
            self.batch_end(clock, place, event, mark.packet());
        }
    }

    /// All that a packet changed has been told.
    fn batch_end(&mut self, clock: &Clock, place: usize, event: &Event, mark: Mark) {
        self.with_entry(clock, |strategy, entry| {
            entry.tell_of(place, event, mark);
            strategy.on_batch_end(event.receive_time, entry);
        });
    }

    #[inline]
    fn tell(&mut self, clock: &Clock, place: usize, event: &Event, told: Told, mark: Mark) {
        match told {
            Told::Event => self.on_market(clock, place, event, mark),
            Told::LastEvent => {
                self.on_market(clock, place, event, mark);
                self.batch_end(clock, place, event, mark);
            }
            Told::Nothing => {}
            Told::BookIsWhole(top) => {
                self.on_market(clock, place, event, mark);
                let top = Event { kind: EventKind::Top(top), ..*event };
                self.on_market(clock, place, &top, mark);
                self.batch_end(clock, place, &top, mark);
            }
            Told::Contradiction => self.books_anew(clock, place, event.receive_time),
        }
    }

    #[inline]
    fn on_market(&mut self, clock: &Clock, place: usize, event: &Event, mark: Mark) {
        self.with_entry(clock, |strategy, entry| {
            entry.tell_of(place, event, mark);
            strategy.on_market(event.receive_time, event, entry);
        });
    }

    /// A market ring went on without us.
    #[cold]
    fn overtaken(&mut self, clock: &Clock, place: usize, events: u64) {
        let Some(link) = self.links.get_mut(place) else { return };
        link.overtaken(events);
        if !link.state.has_begun {
            return;
        }
        // Before the strategy decides anything with what it knows no more: where requests are held
        // against those of a replay, this one says that those behind it cannot be.
        self.want_books(place);
        let (now, event) = (clock.now(), GatewayEvent::Overtaken { events });
        self.on_gateway(clock, place, noticed(now), &event);
        self.books_became_stale(clock, place, now);
    }

    /// No book can be trusted: the gateway is asked for all of them, and the strategy told.
    #[cold]
    fn books_anew(&mut self, clock: &Clock, place: usize, now: Nanos) {
        self.want_books(place);
        self.books_became_stale(clock, place, now);
    }

    fn want_books(&mut self, place: usize) {
        if let Some(link) = self.links.get_mut(place) {
            link.state.wants_books = true;
        }
        self.ask_for_books(place);
    }

    #[cold]
    fn books_became_stale(&mut self, clock: &Clock, place: usize, now: Nanos) {
        let mut were_sound: Vec<InstrumentId> = Vec::new();
        if let Some(replica) = self.replicas.get_mut(place) {
            replica.overtaken(|instrument| were_sound.push(instrument));
        }
        let kind = EventKind::Book(Soundness::Stale(Staleness::Gap));
        for instrument in were_sound {
            let event = Event { instrument, exchange_time: Nanos::ZERO, receive_time: now, kind };
            self.on_market(clock, place, &event, Mark::default());
        }
    }

    fn ask_for_books(&mut self, place: usize) {
        let Some(link) = self.links.get_mut(place).filter(|link| link.state.wants_books) else {
            return;
        };
        let owner = self.requests.owner(place);
        let (id, kind, offsets) = (owner.order(0), RequestKind::TellBooks, StageOffsets::ZERO);
        let (only_if, tag, origin) = (None, 0, Nanos::ZERO);
        let request = Request { id, owner, kind, only_if, tag, origin, offsets };
        link.state.wants_books = !self.requests.push(place, &request, Mark::default());
        self.requests.remember(&mut self.replicas);
    }

    /// Calls the strategy with its way to send, and remembers what it asked for.
    #[inline]
    fn with_entry(
        &mut self,
        clock: &Clock,
        act: impl FnOnce(&mut S, &mut Entry<'_, RequestRings<'m>, Replicas>),
    ) {
        let Self { requests, next_number, alarms, replicas, strategy, rest, .. } = self;
        let mut entry = Entry {
            clock,
            state: replicas,
            queue: requests,
            next_number,
            alarms,
            gateway: 0,
            origin: Nanos::ZERO,
            offsets: StageOffsets::ZERO,
            exchange_time: Nanos::ZERO,
            receive_time: Nanos::ZERO,
            published: Nanos::ZERO,
            mark: Mark::default(),
            may_create: !rest.has_begun(),
        };
        act(strategy, &mut entry);
        if !self.requests.is_empty() {
            self.requests.remember(&mut self.replicas);
        }
    }
}

/// What the strategy's own process noticed.
fn noticed(at: Nanos) -> ReplyStamp {
    ReplyStamp { at, ..ReplyStamp::default() }
}

#[cfg(test)]
mod tests;
