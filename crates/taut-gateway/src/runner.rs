//! The strategy in a process of its own.

use taut_lat::{Stage, StageOffsets};
use taut_market_data::{Event, EventKind, Soundness, Staleness};
use taut_oms::OrderState;
use taut_ring::{Bell, RingError, broadcast, spsc};
use taut_sync::atomic::AtomicU64;
use taut_sys::{Clock, Doorbell, remote_barrier};
use taut_types::{InstrumentId, Nanos};

use crate::client::{Entry, RequestQueue};
use crate::counters::StrategyCounters;
use crate::mark::Mark;
use crate::message::{GatewayEvent, OpenOrder, Reply, ReplyReader, Request, RequestKind};
use crate::owner::Owner;
use crate::regions::{Regions, StrategyRegions, TICKS_LAYOUT};
use crate::replica::{Replica, Told};
use crate::strategy::Strategy;

/// Orders of one call of the strategy that are looked up from then on.
const CREATED_MAX: usize = 256;

/// How long a sleeper trusts a gateway that it cannot run a barrier on.
const WITHOUT_BARRIER: Nanos = Nanos::from_millis(1);

/// The way to the gateway.
#[derive(Debug)]
struct RequestRing<'m> {
    requests: spsc::Producer<'m>,
    /// Rung after each request, where the gateway sleeps in the kernel.
    doorbell: Option<Doorbell>,
    sent: u64,
    /// The orders that this call of the strategy created.
    created: Vec<OpenOrder>,
}

impl RequestQueue for RequestRing<'_> {
    #[inline]
    fn push(&mut self, request: &Request, mark: Mark) -> bool {
        let taken = self.requests.push_batch(request.pack(mark.0).as_slice()).is_ok();
        if let Some(doorbell) = &self.doorbell {
            doorbell.ring();
        }
        self.sent += u64::from(taken);
        if let RequestKind::Create(terms) = request.kind
            && taken
            && self.created.len() < CREATED_MAX
        {
            let (id, tag, lots_open) = (request.id, request.tag, terms.lots);
            self.created.push(OpenOrder { id, terms, state: OrderState::Sent, lots_open, tag });
        }
        taken
    }
}

/// Runs a strategy over the rings that it shares with its gateway.
///
/// The strategy is told nothing until the gateway has told what it begins with; then what the
/// gateway says and what happens in the market come in the order in which the gateway wrote them.
#[derive(Debug)]
pub struct StrategyRunner<'m, S> {
    ticks: broadcast::Subscriber<'m>,
    replies: spsc::Consumer<'m>,
    reader: ReplyReader,
    /// A reply whose turn has not come, and its time.
    reply: Option<(Reply, Nanos)>,
    queue: RequestRing<'m>,
    owner: Owner,
    next_number: u64,
    /// Nothing before the gateway tells this process what to begin with is for it.
    has_begun: bool,
    replica: Replica,
    /// The gateway is to be asked for all books, and could not be yet.
    wants_books: bool,
    strategy: S,
    counters: StrategyCounters,
    shared_counters: &'m [AtomicU64],
    bell: Bell<'m>,
}

impl<'m, S: Strategy> StrategyRunner<'m, S> {
    /// A runner over these regions; `doorbell` is the gateway's, if it blocks.
    ///
    /// # Errors
    /// When a region cannot hold its ring.
    pub fn new(
        regions: &Regions<'m>,
        own: &StrategyRegions<'m>,
        doorbell: Option<Doorbell>,
        strategy: S,
    ) -> Result<Self, RingError> {
        let requests = spsc::Producer::resume(own.requests)?;
        let created = Vec::with_capacity(CREATED_MAX);
        Ok(Self {
            ticks: broadcast::Subscriber::passive(
                regions.ticks,
                TICKS_LAYOUT,
                broadcast::Start::Oldest,
            )?,
            replies: spsc::Consumer::resume(own.replies)?,
            reader: ReplyReader::default(),
            reply: None,
            queue: RequestRing { requests, doorbell, sent: 0, created },
            owner: Owner::default(),
            next_number: 1,
            has_begun: false,
            replica: Replica::new(),
            wants_books: false,
            strategy,
            counters: StrategyCounters::default(),
            shared_counters: own.counters,
            bell: own.bell,
        })
    }

    /// Takes one market event or one reply; whether there was one.
    #[inline]
    pub fn poll(&mut self, clock: &Clock) -> bool {
        if self.take_reply(clock) {
            return true;
        }
        match self.ticks.poll() {
            broadcast::Polled::Message(payload) => {
                self.counters.events += 1;
                if let Some((event, mark)) = Event::from_words(&payload) {
                    self.on_ring(clock, &event, Mark(mark));
                }
                true
            }
            broadcast::Polled::Lapped(lost) => {
                self.overtaken(clock, lost);
                true
            }
            // The gateway is ready: what it publishes comes next.
            broadcast::Polled::NewWriter(_) => true,
            broadcast::Polled::Empty => false,
        }
    }

    /// Sleeps in `wait`, which is told for how long at the most, until the gateway rings; looks once
    /// more before, so that nothing published in between waits.
    pub fn sleep(&mut self, clock: &Clock, span: Nanos, wait: impl FnOnce(Nanos)) {
        let _ = self.bell.listen();
        let span = if remote_barrier().is_ok() { span } else { span.min(WITHOUT_BARRIER) };
        if !self.poll(clock) {
            wait(span);
        }
    }

    /// Housekeeping, about every millisecond.
    pub fn timer(&mut self, clock: &Clock) {
        let now = clock.now();
        self.with_entry(clock, |strategy, entry| strategy.on_timer(now, entry));
        if self.wants_books {
            self.ask_for_books();
        }
        self.counters.requests = self.queue.sent;
        self.counters.store(self.shared_counters);
    }

    /// No new orders from now on; what is open is cancelled.
    pub fn stop(&mut self) {
        self.strategy.stop();
    }

    /// Whether the gateway has told what the strategy begins with.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The strategy.
    #[must_use]
    pub const fn strategy(&self) -> &S {
        &self.strategy
    }

    /// Gives the strategy back, to run it over other rings.
    #[must_use]
    pub fn into_strategy(self) -> S {
        self.strategy
    }

    /// Takes a reply if it comes before the next event of the market ring.
    #[inline]
    fn take_reply(&mut self, clock: &Clock) -> bool {
        if self.reply.is_none() {
            let Some(payload) = self.replies.pop() else { return false };
            self.reply = self.reader.read(&payload);
            // A slot that goes before another one is no reply yet.
            if self.reply.is_none() {
                return true;
            }
        }
        if self.reader.position() > self.ticks.position() {
            return false;
        }
        if let Some((reply, now)) = self.reply.take() {
            self.on_reply(clock, &reply, now);
        }
        true
    }

    fn on_reply(&mut self, clock: &Clock, reply: &Reply, now: Nanos) {
        if let Reply::Gateway(GatewayEvent::DownloadBegin { owner, next_number }) = *reply {
            (self.owner, self.has_begun) = (owner, true);
            self.next_number = self.next_number.max(next_number);
        }
        if !self.has_begun {
            return;
        }
        match reply {
            Reply::Order(update) => {
                self.counters.updates += 1;
                // Looked up while it is told, an order is as the update says.
                self.replica.on_order(update);
                self.with_entry(clock, |strategy, entry| strategy.on_order(now, update, entry));
            }
            Reply::Gateway(event) => {
                self.replica.on_gateway(event);
                self.with_entry(clock, |strategy, entry| strategy.on_gateway(now, event, entry));
            }
            Reply::Market(event) => {
                let told = self.replica.on_book(event.instrument, &event.kind);
                self.tell(clock, event, told, Mark::default());
            }
        }
    }

    #[inline]
    fn on_ring(&mut self, clock: &Clock, event: &Event, mark: Mark) {
        let told = self.replica.on_ring(event.instrument, &event.kind);
        self.tell(clock, event, told, mark);
    }

    #[inline]
    fn tell(&mut self, clock: &Clock, event: &Event, told: Told, mark: Mark) {
        match told {
            Told::Event => self.on_market(clock, event, mark),
            Told::Nothing => {}
            Told::BookIsWhole(top) => {
                self.on_market(clock, event, mark);
                self.on_market(clock, &Event { kind: EventKind::Top(top), ..*event }, mark);
            }
            Told::Contradiction => self.books_anew(clock, event.receive_time),
        }
    }

    #[inline]
    fn on_market(&mut self, clock: &Clock, event: &Event, mark: Mark) {
        let now = event.receive_time;
        self.with_entry(clock, |strategy, entry| {
            if mark.0 != 0 {
                let end = clock.now().since(now).0.unsigned_abs();
                (entry.origin, entry.mark) = (now, mark);
                entry.offsets.set_end(Stage::ToStrategy, end);
            }
            strategy.on_market(now, event, entry);
        });
    }

    /// The market ring went on without us.
    #[cold]
    fn overtaken(&mut self, clock: &Clock, events: u64) {
        self.counters.lapped += events;
        if !self.has_begun {
            return;
        }
        let (now, event) = (clock.now(), GatewayEvent::Overtaken { events });
        self.with_entry(clock, |strategy, entry| strategy.on_gateway(now, &event, entry));
        self.books_anew(clock, now);
    }

    /// No book can be trusted: the strategy is told, and the gateway asked for all of them.
    #[cold]
    fn books_anew(&mut self, clock: &Clock, now: Nanos) {
        let mut were_sound: Vec<InstrumentId> = Vec::new();
        self.replica.overtaken(|instrument| were_sound.push(instrument));
        let kind = EventKind::Book(Soundness::Stale(Staleness::Gap));
        for instrument in were_sound {
            let event = Event { instrument, exchange_time: Nanos::ZERO, receive_time: now, kind };
            self.on_market(clock, &event, Mark::default());
        }
        self.wants_books = true;
        self.ask_for_books();
    }

    fn ask_for_books(&mut self) {
        let (id, kind) = (self.owner.order(0), RequestKind::TellBooks);
        let offsets = StageOffsets::ZERO;
        let request = Request { id, kind, tag: 0, origin: Nanos::ZERO, offsets };
        self.wants_books = !self.queue.push(&request, Mark::default());
    }

    /// Calls the strategy with its way to send, and remembers the orders that it created.
    #[inline]
    fn with_entry(
        &mut self,
        clock: &Clock,
        act: impl FnOnce(&mut S, &mut Entry<'_, RequestRing<'m>, Replica>),
    ) {
        let Self { queue, owner, next_number, replica, strategy, .. } = self;
        let mut entry = Entry {
            clock,
            state: replica,
            queue,
            owner: *owner,
            next_number,
            origin: Nanos::ZERO,
            offsets: StageOffsets::ZERO,
            mark: Mark::default(),
        };
        act(strategy, &mut entry);
        for order in self.queue.created.drain(..) {
            self.replica.insert_order(order);
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
    use taut_sys::wait_readable;
    use taut_types::{
        AccountId, ClientOrderId, Instrument, Lots, OrderTerms, Price, Qty, Side, Symbol,
    };

    use super::*;
    use crate::client::{Client, GatewayState};
    use crate::hub::{Hub, SlotId};
    use crate::message::{OrderFilter, OrderUpdate, Position, TickStamps, UpdateKind};
    use crate::strategy::Trading;

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
        fn order(&self, _: ClientOrderId) -> Option<OpenOrder> {
            None
        }
        fn visit_orders(&self, _: Owner, _: &mut dyn FnMut(&OpenOrder)) {}
        fn position(&self, _: Owner, _: InstrumentId, _: AccountId) -> Position {
            Position::default()
        }
        fn is_order_entry_up(&self) -> bool {
            true
        }
    }

    fn event(kind: EventKind) -> Event {
        let (exchange_time, receive_time) = (Nanos::ZERO, Nanos(1));
        Event { instrument: InstrumentId(0), exchange_time, receive_time, kind }
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
            let copy = self.runner.replica.book(InstrumentId(0));
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
            assert_eq!(world.runner.counters.lapped, 0);
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
            assert!(world.runner.replica.book(InstrumentId(0)).is_none());
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
            let update = OrderUpdate {
                id: ClientOrderId(1),
                version: 1,
                instrument: InstrumentId(0),
                account: AccountId(0),
                side: Side::Buy,
                kind: UpdateKind::Accepted,
                state: OrderState::Working,
                lots_open: Lots(1),
                lots_filled: Lots(0),
                exchange_time: Nanos::ZERO,
            };
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
}
