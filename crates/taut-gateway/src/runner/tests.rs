//! Hubs and a strategy's runner over real rings.

mod alike;
mod garbage;
mod hand_over;
mod orders;
mod replayed;

use std::os::fd::AsFd;

use fastrand::Rng;
use taut_ipc::Segment;
use taut_market_data::{Batch, LevelPlace, LevelUpdate};
use taut_oms::OrderState;
use taut_sys::wait_readable;
use taut_testkit::{DEADLINE, until};
use taut_types::{AccountId, ClientOrderId, Instrument, Lots, OrderTerms, Price, Side};

use super::*;
use crate::client::{Client, GatewayState};
use crate::hub::{Hub, SlotId};
use crate::info::EventInfo;
use crate::message::{OrderFilter, OrderUpdate, TickStamps, UpdateKind};
use crate::owner::Owner;
use crate::strategy::{State, Trading};
use crate::testing::Known;

/// Notes what it was told of the book and of the gateway.
#[derive(Debug, Default)]
struct Witness {
    is_sound: bool,
    soundness_told: u64,
    overtaken: u64,
    /// Whether the first that it was told of the session was that it is up.
    was_up_first: bool,
    has_been_told: bool,
    /// The times of the last market event, and of what it was told alone.
    info: EventInfo,
    own_info: EventInfo,
    /// What it was told of best levels that are not the book's.
    best_levels: Vec<EventKind>,
    is_in_best_levels: bool,
}

impl Strategy for Witness {
    fn on_market(&mut self, _: Nanos, event: &Event, trading: &mut impl Trading) {
        self.info = trading.info();
        self.is_in_best_levels |= event.kind == EventKind::Begin(Batch::BestLevels);
        if self.is_in_best_levels {
            self.best_levels.push(event.kind);
            self.is_in_best_levels = !matches!(event.kind, EventKind::End { .. });
        }
        if let EventKind::Book(soundness) = event.kind {
            self.is_sound = soundness == Soundness::Sound;
            self.soundness_told += 1;
            assert_eq!(trading.book(event.instrument).is_some(), self.is_sound);
        }
        let needs_no_book = matches!(event.kind, EventKind::Book(_) | EventKind::Status(_));
        assert!(self.is_sound || needs_no_book, "{event:?}");
    }

    fn on_order(&mut self, _: Nanos, _: &OrderUpdate, trading: &mut impl Trading) {
        self.own_info = trading.info();
    }

    fn on_gateway(&mut self, _: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
        self.own_info = trading.info();
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
fn known() -> Known {
    let mut known = Known::new(1);
    for at in 1..=500 {
        known.book.apply(Side::Buy, Price(2_000 - 2 * at), Lots(at), 1).expect("room");
        known.book.apply(Side::Sell, Price(2_000 + 2 * at), Lots(at), 1).expect("room");
    }
    known
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
        Self { known: known(), hub, slot, doorbell, runner: runner.expect("a runner") }
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
fn a_strategy_can_see_when_a_packet_was_published() {
    with_world(|world| {
        world.settle();
        let clock = Clock::vdso();
        let received = clock.now();
        let stamps = TickStamps { origin: received, ends: [1, 2, 0] };
        let level = |price| {
            let (side, lots, place) = (Side::Buy, Lots(1), LevelPlace::Behind(0));
            EventKind::Level(LevelUpdate { side, price, lots, order_count: 1, place })
        };
        let told = |kind, receive_time| Event { receive_time, ..event(kind) };
        let before = clock.now();
        let events = [told(level(Price(1_998)), received)];
        world.hub.market(&clock, &world.known, stamps, &events);
        let after = clock.now();
        world.settle();
        let info = world.runner.strategy.info;
        assert_eq!(info.receive_time, received);
        assert!((before..=after).contains(&info.publish_time), "{info:?}");
        assert!(info.publish_time <= info.deliver_time);
        assert_eq!(info.publish_time_utc, clock.utc_at(info.publish_time));
        // What no packet caused was published at no time that is known.
        world.market(&[event(level(Price(1_998)))]);
        world.settle();
        assert_eq!(world.runner.strategy.info.publish_time, Nanos::ZERO);
    });
}

#[test]
fn a_strategy_can_see_when_it_was_told_of_its_orders_and_its_gateway() {
    with_world(|world| {
        world.settle();
        let clock = Clock::vdso();
        let tell: [fn(&mut World<'_>, &Clock, Nanos); 2] = [
            |world, clock, now| {
                let update = accepted(Owner::default().order(1));
                world.hub.order_update(clock, &world.known, now, &update);
            },
            |world, clock, now| {
                let event = GatewayEvent::OrderEntry { is_up: true };
                world.hub.gateway_event(clock, &world.known, now, &event);
            },
        ];
        for tell in tell {
            // A hiccup may be longer than the reply can say.
            until("it was written soon after it was received", DEADLINE, || {
                let received = clock.now();
                tell(world, &clock, received);
                let after = clock.now();
                world.settle();
                let info = world.runner.strategy.own_info;
                assert_eq!(info.receive_time, received);
                let is_known = info.publish_time != Nanos::ZERO;
                if is_known {
                    assert!((received..=after).contains(&info.publish_time), "{info:?}");
                    assert_eq!(info.publish_time_utc, clock.utc_at(info.publish_time));
                }
                is_known
            });
        }
        // What its own process notices nobody has written.
        world.runner.disconnected(&clock, 0);
        assert_eq!(world.runner.strategy.own_info.publish_time, Nanos::ZERO);
    });
}

#[test]
fn best_levels_are_told_to_who_has_the_book_and_move_nothing_of_it() {
    with_world(|world| {
        let level = |side, price, lots| {
            let (price, lots, place) = (Price(price), Lots(lots), LevelPlace::ByPrice);
            EventKind::Level(LevelUpdate { side, price, lots, order_count: 0, place })
        };
        let kinds = [
            EventKind::Begin(Batch::BestLevels),
            level(Side::Buy, 1_999, 7),
            level(Side::Sell, 2_002, 9),
            EventKind::End { is_final: true },
        ];
        // Who has no book yet is told nothing.
        world.market(&kinds.map(event));
        world.settle();
        assert!(world.has_the_book() && world.runner.strategy.best_levels.is_empty());
        world.market(&kinds.map(event));
        world.level(Side::Buy, 1_998, 5);
        world.settle();
        assert!(world.has_the_book());
        assert_eq!(world.runner.strategy.best_levels, kinds);
    });
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
fn a_book_that_was_told_before_events_were_lost_is_not_taken() {
    for (has_begun, is_late) in [(false, false), (true, false), (false, true)] {
        let segment = Segment::create("taut-test", &Regions::LAYOUT).expect("segment");
        let own = Segment::create("taut-test", &StrategyRegions::LAYOUT).expect("segment");
        let regions = Regions::of(&segment).expect("regions");
        let own = StrategyRegions::of(&own).expect("regions");
        let world = &mut World::new(&regions, &own);
        let clock = Clock::vdso();
        if has_begun {
            world.settle();
        }
        // The book is told behind an event that the strategy has not read yet.
        world.market(&[event(EventKind::Book(Soundness::Sound))]);
        while world.hub.idle(&world.known, &clock) {}
        (0..20_000).for_each(|at| world.level(Side::Buy, 1_998, 1 + at % 7));
        world.level(Side::Sell, 2_002, 5);
        if is_late {
            // Its process had no CPU until now.
            let runner = StrategyRunner::new(&regions, &own, None, Witness::default());
            world.runner = runner.expect("a runner");
        }
        while world.runner.poll(&clock) {}
        assert!(!world.runner.strategy.is_sound, "as long as it is not told anew");
        world.settle();
        assert!(world.runner.strategy.is_sound && world.has_the_book());
    }
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
    let mut known = [known(), known()];
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
    assert_eq!(runner.replicas.instruments().iter().map(Instrument::id).collect::<Vec<_>>(), ids);

    // One stream, by the time of receipt, however the gateways wrote.
    let mut publish = |hubs: &mut Vec<Hub<'_>>, place: usize, at: i64| {
        let known: &mut Known = &mut known[place];
        let (side, price, lots) = (Side::Buy, Price(1_998), Lots(at));
        known.book.apply(side, price, lots, 1).expect("a level");
        let level = LevelUpdate { side, price, lots, order_count: 1, place: LevelPlace::ByPrice };
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
    hubs[1].order_update(&clock, &Known::new(1), Nanos(41), &update);
    while runner.poll(&clock) {}
    assert_eq!(runner.strategy().updates, [(1, ids[1])]);

    // An order is known for as long as it is open, however many others come and go.
    for _ in 0..10_000 {
        let mut other = None;
        runner.with_entry(&clock, |_, trading| other = trading.create(&own));
        let other = other.expect("room");
        assert_eq!(ask(&mut hubs[0]), Some((other, RequestKind::Create(own))));
        let over = OrderUpdate { state: OrderState::Cancelled, ..accepted(other) };
        hubs[0].order_update(&clock, &Known::new(1), Nanos(42), &over);
        while runner.poll(&clock) {}
    }
    runner.with_entry(&clock, |_, trading| assert!(trading.cancel(sent[1])));
    assert_eq!(ask(&mut hubs[1]), Some((sent[1], RequestKind::Cancel)));

    // Without its rings for a while, it goes on where it was.
    let strategy = runner.detach();
    publish(&mut hubs, 0, 50);
    let mut runner = strategy.attach(&both).expect("a runner");
    while runner.poll(&clock) {}
    assert_eq!(runner.strategy().levels.last(), Some(&(0, ids[0], Nanos(50))));
    assert_eq!(runner.strategy().downloads.len(), 2);
    assert!(runner.replicas.order(owners[1], sent[1]).is_some_and(|it| it.version == 1));

    // One gateway goes: the other one stays.
    runner.disconnected(&clock, 1);
    assert_eq!((&runner.strategy().lost[..], &runner.strategy().stale[..]), (&[1][..], &ids[1..]));
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
