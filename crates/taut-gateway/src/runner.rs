//! The strategy in a process of its own.

use taut_lat::StageOffsets;
use taut_market_data::{Event, EventKind, Soundness, Staleness};
use taut_ring::RingError;
use taut_sys::{Clock, Doorbell, remote_barrier};
use taut_types::{InstrumentId, Nanos};

use crate::client::{Entry, RequestQueue, Rest};
use crate::counters::StrategyCounters;
use crate::gateways::{InstrumentNumbers, Replicas, RequestRings, RingState};
use crate::link::{Item, Link, LinkState};
use crate::mark::Mark;
use crate::message::{GatewayEvent, Reply, Request, RequestKind};
use crate::regions::{Regions, StrategyRegions};
use crate::replica::Told;
use crate::strategy::Strategy;

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
        let Self { links, rings, replicas, next_number, strategy, rest } = self;
        let link = |(place, state)| Link::closed(InstrumentNumbers::of_gateway(place), state);
        let mut links: Vec<_> = links.into_iter().enumerate().map(link).collect();
        let mut requests = RequestRings::closed(rings);
        for (place, (link, gateway)) in links.iter_mut().zip(gateways).enumerate() {
            if let Some((regions, own)) = gateway {
                link.open(regions, own)?;
                requests.open(place, own)?;
            }
        }
        Ok(StrategyRunner { links, requests, replicas, next_number, strategy, rest })
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

    /// Housekeeping, about every millisecond.
    pub fn timer(&mut self, clock: &Clock) {
        let (now, mut rest) = (clock.now(), self.rest);
        self.with_entry(clock, |strategy, entry| {
            entry.receive_time = now;
            rest.approach(now, strategy, entry);
            strategy.on_timer(now, entry);
        });
        self.rest = rest;
        for place in 0..self.links.len() {
            self.ask_for_books(place);
            if let Some(link) = self.links.get_mut(place) {
                link.state.counters.requests = self.requests.sent(place);
                link.store_counters();
            }
        }
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
        self.on_gateway(clock, place, now, &event);
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
            all.lapped += counters.lapped;
            all.updates += counters.updates;
            all.requests += self.requests.sent(place);
        }
        all
    }

    /// Lets the memory go that is shared with the gateways.
    #[must_use]
    pub fn detach(self) -> DetachedStrategy<S> {
        let Self { links, requests, replicas, next_number, strategy, rest } = self;
        let links = links.into_iter().map(Link::into_state).collect();
        let rings = requests.into_states();
        DetachedStrategy { links, rings, replicas, next_number, strategy, rest }
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
            Item::Reply(reply, at) => self.on_reply(clock, place, reply, *at),
            Item::Overtaken(events) => self.overtaken(clock, place, *events),
            Item::Nothing => {}
        }
    }

    fn on_reply(&mut self, clock: &Clock, place: usize, reply: &Reply, now: Nanos) {
        let (Some(link), Some(replica)) = (self.links.get_mut(place), self.replicas.get_mut(place))
        else {
            return;
        };
        if let Reply::Gateway(GatewayEvent::DownloadBegin { owner, next_number }) = *reply {
            link.state.has_begun = true;
            self.requests.set_owner(place, owner);
            self.next_number = self.next_number.max(next_number);
        }
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
                    entry.gateway = place;
                    (entry.exchange_time, entry.receive_time) = (update.exchange_time, now);
                    strategy.on_order(now, update, entry);
                });
            }
            Reply::Gateway(event) => {
                self.replicas.on_gateway(place, event);
                self.on_gateway(clock, place, now, event);
            }
            Reply::Market(event) => {
                let told = replica.on_book(event.instrument, &event.kind);
                self.tell(clock, place, event, told, Mark::default());
            }
        }
    }

    fn on_gateway(&mut self, clock: &Clock, place: usize, now: Nanos, event: &GatewayEvent) {
        self.with_entry(clock, |strategy, entry| {
            (entry.gateway, entry.receive_time) = (place, now);
            strategy.on_gateway(now, event, entry);
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
        link.state.counters.lapped += events;
        if !link.state.has_begun {
            return;
        }
        let (now, event) = (clock.now(), GatewayEvent::Overtaken { events });
        self.on_gateway(clock, place, now, &event);
        self.books_anew(clock, place, now);
    }

    /// No book can be trusted: the strategy is told, and the gateway asked for all of them.
    #[cold]
    fn books_anew(&mut self, clock: &Clock, place: usize, now: Nanos) {
        self.books_became_stale(clock, place, now);
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
        let (id, kind) = (self.requests.owner(place).order(0), RequestKind::TellBooks);
        let offsets = StageOffsets::ZERO;
        let request = Request { id, kind, only_if: None, tag: 0, origin: Nanos::ZERO, offsets };
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
        let Self { requests, next_number, replicas, strategy, rest, .. } = self;
        let mut entry = Entry {
            clock,
            state: replicas,
            queue: requests,
            next_number,
            gateway: 0,
            origin: Nanos::ZERO,
            offsets: StageOffsets::ZERO,
            exchange_time: Nanos::ZERO,
            receive_time: Nanos::ZERO,
            mark: Mark::default(),
            may_create: !rest.has_begun(),
        };
        act(strategy, &mut entry);
        if !self.requests.is_empty() {
            self.requests.remember(&mut self.replicas);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use fastrand::Rng;
    use taut_book::LevelBook;
    use taut_ipc::Segment;
    use taut_market_data::{BestPrices, LevelPlace, LevelUpdate};
    use taut_oms::OrderState;
    use taut_sys::wait_readable;
    use taut_types::{
        AccountId, ClientOrderId, Instrument, Lots, OrderTerms, Price, Qty, Side, Symbol,
    };

    use super::*;
    use crate::client::{Client, GatewayState};
    use crate::hub::{Hub, SlotId};
    use crate::message::{OrderFilter, OrderUpdate, TickStamps, UpdateKind};
    use crate::owner::Owner;
    use crate::strategy::{State, Trading};

    /// Notes what it was told of the book and of the gateway.
    #[derive(Debug, Default)]
    struct Witness {
        is_sound: bool,
        soundness_told: u64,
        overtaken: u64,
        /// Whether the first that it was told of the session was that it is up.
        was_up_first: bool,
        has_been_told: bool,
    }

    impl Strategy for Witness {
        fn on_market(&mut self, _: Nanos, event: &Event, trading: &mut impl Trading) {
            if let EventKind::Book(soundness) = event.kind {
                self.is_sound = soundness == Soundness::Sound;
                self.soundness_told += 1;
                assert_eq!(trading.book(event.instrument).is_some(), self.is_sound);
            }
            assert!(self.is_sound || matches!(event.kind, EventKind::Book(_)), "{event:?}");
        }

        fn on_gateway(&mut self, _: Nanos, event: &GatewayEvent, _: &mut impl Trading) {
            match *event {
                GatewayEvent::Overtaken { events } => self.overtaken += events,
                GatewayEvent::OrderEntry { is_up } => {
                    self.was_up_first |= is_up && !self.has_been_told;
                    self.has_been_told = true;
                }
                _ => {}
            }
        }
    }

    /// A gateway's knowledge of one instrument.
    struct Known {
        instruments: [Instrument; 1],
        book: LevelBook,
        soundness: Soundness,
    }

    impl Known {
        fn new() -> Self {
            let (symbol, lot) = (Symbol::new(b"X").expect("a symbol"), Qty::whole(1));
            let instrument = Instrument::new(InstrumentId(0), symbol, Price(2), lot);
            let mut book = LevelBook::with_capacity(1 << 10);
            for at in 1..=500 {
                book.apply(Side::Buy, Price(2_000 - 2 * at), Lots(at), 1).expect("room");
                book.apply(Side::Sell, Price(2_000 + 2 * at), Lots(at), 1).expect("room");
            }
            let instruments = [instrument.expect("an instrument")];
            Self { instruments, book, soundness: Soundness::Sound }
        }
    }

    impl GatewayState for Known {
        fn instruments(&self) -> &[Instrument] {
            &self.instruments
        }
        fn book(&self, _: InstrumentId) -> Option<&LevelBook> {
            Some(&self.book)
        }
        fn soundness(&self, _: InstrumentId) -> Soundness {
            self.soundness
        }
        fn best(&self, _: InstrumentId) -> BestPrices {
            BestPrices::of(&self.book)
        }
        fn is_order_entry_up(&self, _: InstrumentId) -> bool {
            true
        }
    }

    fn event(kind: EventKind) -> Event {
        let (exchange_time, receive_time) = (Nanos::ZERO, Nanos(1));
        Event { instrument: InstrumentId(0), exchange_time, receive_time, kind }
    }

    /// The venue took an order.
    fn accepted(id: ClientOrderId) -> OrderUpdate {
        OrderUpdate {
            id,
            version: 1,
            instrument: InstrumentId(0),
            account: AccountId(0),
            side: Side::Buy,
            kind: UpdateKind::Accepted,
            state: OrderState::Working,
            lots_open: Lots(1),
            lots_filled: Lots(0),
            price: Price(2),
            lots: Lots(1),
            price_asked: Price(2),
            lots_asked: Lots(1),
            exchange_time: Nanos::ZERO,
        }
    }

    struct World<'m> {
        known: Known,
        hub: Hub<'m>,
        slot: SlotId,
        doorbell: Doorbell,
        runner: StrategyRunner<'m, Witness>,
    }

    impl<'m> World<'m> {
        fn new(regions: &Regions<'m>, own: &StrategyRegions<'m>) -> Self {
            let mut hub = Hub::new(regions).expect("a hub");
            let doorbell = Doorbell::new().expect("a doorbell");
            let rung = doorbell.try_clone().expect("a doorbell");
            let slot = hub.add_slot(own, Some(rung)).expect("a slot");
            assert!(hub.attach(slot, Owner::default()));
            let runner = StrategyRunner::new(regions, own, None, Witness::default());
            Self { known: Known::new(), hub, slot, doorbell, runner: runner.expect("a runner") }
        }

        /// Whether the strategy was rung for since it was asked last.
        fn was_rung_for(&self) -> bool {
            let rung = wait_readable(&[self.doorbell.as_fd()], Some(Nanos(1)));
            self.doorbell.silence();
            rung == Ok(true)
        }

        /// Everybody has his turn until nothing is left.
        fn settle(&mut self) {
            let clock = Clock::vdso();
            loop {
                let mut worked = self.hub.next_request().is_some();
                worked |= self.hub.idle(&self.known, &clock);
                worked |= self.runner.poll(&clock);
                if !worked {
                    return;
                }
            }
        }

        /// A level changes, in the gateway's book and on the ring.
        fn level(&mut self, side: Side, price: i64, lots: i64) {
            let (price, lots) = (Price(price), Lots(lots));
            let change = self.known.book.apply(side, price, lots, 1).expect("a level");
            let place = LevelPlace::Behind(change.depth as u32);
            let level = LevelUpdate { side, price, lots, order_count: 1, place };
            self.market(&[event(EventKind::Level(level))]);
        }

        fn market(&mut self, events: &[Event]) {
            self.hub.market(&Clock::vdso(), &self.known, TickStamps::NONE, events);
        }

        fn has_the_book(&self) -> bool {
            let copy = self.runner.replicas.book(InstrumentId(0));
            copy.is_some_and(|copy| copy.state_hash() == self.known.book.state_hash())
        }
    }

    fn with_world(act: impl FnOnce(&mut World<'_>)) {
        let segment = Segment::create("taut-test", &Regions::LAYOUT).expect("segment");
        let own = Segment::create("taut-test", &StrategyRegions::LAYOUT).expect("segment");
        let regions = Regions::of(&segment).expect("regions");
        act(&mut World::new(&regions, &StrategyRegions::of(&own).expect("regions")));
    }

    #[test]
    fn a_strategy_is_given_the_whole_book_while_it_moves() {
        with_world(|world| {
            // The book moves on both sides of what has been told, piece by piece.
            let mut random = Rng::with_seed(7);
            for _ in 0..3_000 {
                let side = if random.bool() { Side::Buy } else { Side::Sell };
                let away = 2 * random.i64(1..=500);
                let price = 2_000 - side.sign() * away;
                let has = world.known.book.level_at(side, Price(price)).is_some();
                let lots = if has && random.bool() { 0 } else { random.i64(1..100) };
                world.level(side, price, lots);
                world.hub.idle(&world.known, &Clock::vdso());
                for _ in 0..random.u32(0..20) {
                    world.runner.poll(&Clock::vdso());
                }
            }
            world.settle();
            assert!(world.has_the_book());
            assert!(world.runner.strategy.is_sound);
            assert_eq!(world.runner.counters().lapped, 0);
        });
    }

    #[test]
    fn only_a_strategy_that_sleeps_is_rung_for() {
        with_world(|world| {
            let (clock, span) = (Clock::vdso(), Nanos::from_millis(1));
            world.settle();
            world.level(Side::Buy, 1_990, 1);
            assert!(!world.was_rung_for());
            world.runner.sleep(&clock, span, |_| panic!("there was something to do"));
            world.settle();
            let mut sleeps = 0;
            world.runner.sleep(&clock, span, |_| sleeps += 1);
            assert_eq!(sleeps, 1);
            world.level(Side::Buy, 1_990, 2);
            assert!(world.was_rung_for());
            world.level(Side::Buy, 1_990, 3);
            assert!(!world.was_rung_for(), "it is awake");
        });
    }

    #[test]
    fn a_strategy_that_was_overtaken_is_told_so_and_given_the_book_anew() {
        with_world(|world| {
            world.settle();
            assert!(world.runner.strategy.is_sound && world.has_the_book());
            // More than the ring holds.
            (0..20_000).for_each(|at| world.level(Side::Buy, 1_998, 1 + at % 7));
            world.settle();
            assert!(world.runner.strategy.overtaken > 10_000);
            assert_eq!(world.runner.strategy.soundness_told, 3, "sound, stale, sound");
            assert!(world.runner.strategy.is_sound && world.has_the_book());
        });
    }

    #[test]
    fn a_book_that_became_stale_is_told_so_and_then_given_anew() {
        with_world(|world| {
            world.settle();
            let stale = Soundness::Stale(Staleness::Gap);
            world.known.soundness = stale;
            world.market(&[event(EventKind::Book(stale))]);
            world.settle();
            assert!(!world.runner.strategy.is_sound);
            assert!(world.runner.replicas.book(InstrumentId(0)).is_none());
            world.known.book.clear();
            world.known.soundness = Soundness::Sound;
            world.market(&[event(EventKind::Book(Soundness::Sound))]);
            world.level(Side::Sell, 2_002, 5);
            world.settle();
            assert!(world.runner.strategy.is_sound && world.has_the_book());
        });
    }

    #[test]
    fn a_strategy_that_reads_nothing_is_dropped_and_its_orders_are_cancelled() {
        with_world(|world| {
            world.settle();
            let update = accepted(ClientOrderId(1));
            for _ in 0..10_000 {
                world.hub.order_update(&Clock::vdso(), &world.known, Nanos(1), &update);
            }
            assert_eq!((world.hub.dropped(), world.hub.owner(world.slot)), (1, None));
            let request = world.hub.next_request().expect("a request in its name");
            assert_eq!(request.kind, RequestKind::CancelAll(OrderFilter::ALL));
            assert_eq!(world.hub.vacant_slot(), Some(world.slot));
        });
    }

    #[test]
    fn a_successor_hears_nothing_that_was_meant_for_the_one_before() {
        let segment = Segment::create("taut-test", &Regions::LAYOUT).expect("segment");
        let own = Segment::create("taut-test", &StrategyRegions::LAYOUT).expect("segment");
        let regions = Regions::of(&segment).expect("regions");
        let own = StrategyRegions::of(&own).expect("regions");
        let mut world = World::new(&regions, &own);
        // It sent an order, is told of the gateway, and dies before it reads on.
        world.settle();
        let clock = Clock::vdso();
        let order = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(2), Lots(1));
        world.runner.with_entry(&clock, |_, trading| {
            assert_eq!(trading.create(&order).map(ClientOrderId::number), Some(1));
        });
        assert!(world.hub.next_request().is_some());
        let down = GatewayEvent::OrderEntry { is_up: false };
        world.hub.gateway_event(&clock, &world.known, Nanos(1), &down);
        world.hub.detach(world.slot);
        assert!(!world.hub.attach(world.slot, Owner::default()), "its orders come first");
        assert!(matches!(
            world.hub.next_request().map(|request| request.kind),
            Some(RequestKind::CancelAll(_))
        ));
        assert!(world.hub.attach(world.slot, Owner::default()));
        let runner = StrategyRunner::new(&regions, &own, None, Witness::default());
        world.runner = runner.expect("a runner");
        world.settle();
        assert!(world.runner.strategy.was_up_first, "it was told what was before it");
        assert!(world.runner.strategy.is_sound && world.has_the_book());
        world.runner.with_entry(&clock, |_, trading| {
            assert_eq!(trading.create(&order).map(ClientOrderId::number), Some(2));
        });
    }
    /// Notes which gateway told it what, and when.
    #[derive(Debug, Default)]
    struct Merged {
        levels: Vec<(usize, InstrumentId, Nanos)>,
        downloads: Vec<usize>,
        lost: Vec<usize>,
        stale: Vec<InstrumentId>,
        updates: Vec<(usize, InstrumentId)>,
    }

    impl Strategy for Merged {
        fn on_market(&mut self, now: Nanos, event: &Event, trading: &mut impl Trading) {
            let gateway = trading.info().gateway;
            match event.kind {
                EventKind::Level(_) => self.levels.push((gateway, event.instrument, now)),
                EventKind::Book(Soundness::Stale(_)) => self.stale.push(event.instrument),
                _ => {}
            }
        }

        fn on_gateway(&mut self, _: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
            match event {
                GatewayEvent::DownloadEnd => self.downloads.push(trading.info().gateway),
                GatewayEvent::Disconnected => self.lost.push(trading.info().gateway),
                _ => {}
            }
        }

        fn on_order(&mut self, _: Nanos, update: &OrderUpdate, trading: &mut impl Trading) {
            self.updates.push((trading.info().gateway, update.instrument));
        }
    }

    #[test]
    fn two_gateways_tell_one_strategy_by_time_and_each_gets_its_own_orders() {
        let clock = Clock::vdso();
        let segments = ["a", "b"].map(|_| {
            let segment = |layout: &[_]| Segment::create("taut-test", layout).expect("segment");
            (segment(&Regions::LAYOUT), segment(&StrategyRegions::LAYOUT))
        });
        let regions = segments.each_ref().map(|(shared, own)| {
            let shared = Regions::of(shared).expect("regions");
            (shared, StrategyRegions::of(own).expect("regions"))
        });
        // Its numbers at the two are not the same.
        let owners = [(0, 0), (3, 4)].map(|(user, strategy)| Owner {
            user: taut_types::UserId(user),
            strategy: taut_types::StrategyId(strategy),
        });
        let mut known = [Known::new(), Known::new()];
        let mut hubs: Vec<Hub<'_>> = Vec::new();
        for ((shared, own), owner) in regions.iter().zip(owners) {
            let mut hub = Hub::new(shared).expect("a hub");
            let slot = hub.add_slot(own, None).expect("a slot");
            assert!(hub.attach(slot, owner));
            hubs.push(hub);
        }
        let both = regions.map(Some);
        let mut strategy = DetachedStrategy::new(2, Merged::default());
        [0, 1].into_iter().for_each(|place| strategy.begin(place, None));
        let mut runner = strategy.attach(&both).expect("a runner");
        let ids = [InstrumentId(0), InstrumentId(1 << 16)];

        macro_rules! settle {
            () => {
                loop {
                    let mut worked = runner.poll(&clock);
                    for (hub, known) in hubs.iter_mut().zip(&known) {
                        worked |= hub.idle(known, &clock);
                    }
                    if !worked {
                        break;
                    }
                }
            };
        }
        settle!();
        assert!(runner.has_begun());
        let mut downloads = runner.strategy().downloads.clone();
        downloads.sort_unstable();
        assert_eq!(downloads, [0, 1]);
        assert_eq!(
            runner.replicas.instruments().iter().map(Instrument::id).collect::<Vec<_>>(),
            ids
        );

        // One stream, by the time of receipt, however the gateways wrote.
        let mut publish = |hubs: &mut Vec<Hub<'_>>, place: usize, at: i64| {
            let known: &mut Known = &mut known[place];
            let (side, price, lots) = (Side::Buy, Price(1_998), Lots(at));
            known.book.apply(side, price, lots, 1).expect("a level");
            let level =
                LevelUpdate { side, price, lots, order_count: 1, place: LevelPlace::ByPrice };
            let event = Event { receive_time: Nanos(at), ..event(EventKind::Level(level)) };
            hubs[place].market(&clock, known, TickStamps::NONE, &[event]);
        };
        for (place, at) in [(0, 10), (0, 30), (0, 31), (1, 20), (1, 29), (1, 40)] {
            publish(&mut hubs, place, at);
        }
        while runner.poll(&clock) {}
        let told = [(0, 10), (1, 20), (1, 29), (0, 30), (0, 31), (1, 40)];
        let told = told.map(|(place, at)| (place, ids[place], Nanos(at)));
        assert_eq!(runner.strategy().levels, told);

        // Orders go to the gateway of their instrument, by its own number and in its own name.
        let ask = |hub: &mut Hub<'_>| {
            let request = hub.next_request()?;
            Some((request.id, request.kind))
        };
        let mut sent = Vec::new();
        runner.with_entry(&clock, |_, trading| {
            for instrument in ids {
                let terms = OrderTerms::limit(instrument, Side::Buy, Price(1_998), Lots(1));
                sent.push(trading.create(&terms).expect("room"));
            }
            assert!(trading.order(sent[1]).is_some_and(|it| it.terms.instrument == ids[1]));
            assert!(trading.cancel(sent[1]));
        });
        assert_eq!([sent[0], sent[1]].map(Owner::of), owners);
        let own = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(1_998), Lots(1));
        for (hub, id) in hubs.iter_mut().zip(&sent) {
            assert_eq!(ask(hub), Some((*id, RequestKind::Create(own))));
        }
        assert_eq!(ask(&mut hubs[1]), Some((sent[1], RequestKind::Cancel)));
        assert_eq!([ask(&mut hubs[0]), ask(&mut hubs[1])], [None, None]);
        runner.with_entry(&clock, |_, trading| assert!(trading.cancel_all(OrderFilter::ALL)));
        let all = RequestKind::CancelAll(OrderFilter::ALL);
        for (hub, owner) in hubs.iter_mut().zip(owners) {
            assert_eq!(ask(hub), Some((owner.order(0), all)));
        }
        let update = accepted(sent[1]);
        hubs[1].order_update(&clock, &Known::new(), Nanos(41), &update);
        while runner.poll(&clock) {}
        assert_eq!(runner.strategy().updates, [(1, ids[1])]);

        // Without its rings for a while, it goes on where it was.
        let strategy = runner.detach();
        publish(&mut hubs, 0, 50);
        let mut runner = strategy.attach(&both).expect("a runner");
        while runner.poll(&clock) {}
        assert_eq!(runner.strategy().levels.last(), Some(&(0, ids[0], Nanos(50))));
        assert_eq!(runner.strategy().downloads.len(), 2);
        assert!(runner.replicas.order(sent[1]).is_some_and(|it| it.version == 1));

        // One gateway goes: the other one stays.
        runner.disconnected(&clock, 1);
        assert_eq!(
            (&runner.strategy().lost[..], &runner.strategy().stale[..]),
            (&[1][..], &ids[1..])
        );
        let mut runner = runner.detach().attach(&[both[0], None]).expect("a runner");
        runner.with_entry(&clock, |_, trading| {
            assert!(trading.book(ids[0]).is_some() && trading.book(ids[1]).is_none());
            assert!(trading.instrument_of(ids[1]).is_none());
            let terms = |instrument| OrderTerms::limit(instrument, Side::Buy, Price(2), Lots(1));
            assert_eq!(trading.create(&terms(ids[1])), None);
            assert!(trading.create(&terms(ids[0])).is_some());
        });
        publish(&mut hubs, 0, 60);
        while runner.poll(&clock) {}
        assert_eq!(runner.strategy().levels.last(), Some(&(0, ids[0], Nanos(60))));
    }
}
