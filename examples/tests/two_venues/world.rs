//! Two venues, their gateways and one strategy, in turns of one thread.

use std::rc::Rc;

use taut::fix::{CompId, Now};
use taut::gateway::{
    BinanceWs, DeribitJson, DetachedStrategy, Gateway, Hub, OrderHandler, Owner, Regions,
    StrategyRegions, StrategyRunner,
};
use taut::io::{SimConfig, SimHost, SimNetwork};
use taut::ipc::Segment;
use taut::market_data::FeedHandler;
use taut::market_data::binance::BinanceFeeds;
use taut::market_data::deribit::DeribitFeed;
use taut::runner::wires;
use taut::sys::Clock;
use taut::types::{HalfTicks, InstrumentId, Lots, Nanos, Price, StrategyId, UserId};
use taut::venue::flow::{Crowd, SyntheticConfig};
use taut::venue::{Flow, Venue, VenueConfig};
use taut_web_venue::binance::Binance;
use taut_web_venue::deribit::Deribit;
use taut_web_venue::{Door, DoorConfig, Faults, Faulty, Front};

use crate::hedger::Hedger;
use crate::venues::{
    AT, BALANCE, NAMES, Parts, SYMBOLS, TICK, binance, binance_gateway, deribit, deribit_gateway,
    instrument,
};
use crate::watched::{Shown, Watched};

/// What passes in a turn.
const TURN: Nanos = Nanos::from_millis(1);
/// How long something may take to come about.
const PATIENCE: Nanos = Nanos::from_secs(30);
/// UTC when virtual time begins: 2026-01-01.
const EPOCH: Nanos = Nanos::from_secs(1_767_225_600);
const SOURCES: usize = 32;
/// What others do at each venue.
const COMMANDS_PER_SECOND: u32 = 60;
/// A thousandth of a bitcoin at 1e-9.
const LOT: i128 = 1_000_000;
/// Half a dollar between a quote and its hedge.
const EDGE: Price = TICK;

/// What the gateways share with the strategy.
pub struct Memory([(Segment, Segment); 2]);

impl Memory {
    pub fn new() -> Self {
        Self([0, 1].map(|_| {
            let market = Segment::create("two-venues", &Regions::LAYOUT).expect("a segment");
            let own = Segment::create("two-venues", &StrategyRegions::LAYOUT).expect("a segment");
            (market, own)
        }))
    }

    fn regions(&self, venue: usize) -> (Regions<'_>, StrategyRegions<'_>) {
        let (market, own) = &self.0[venue];
        (Regions::of(market).expect("regions"), StrategyRegions::of(own).expect("regions"))
    }
}

/// A venue, and our gateway there, on a network of theirs.
struct Place<'m, D, F, H> {
    network: SimNetwork,
    venue: Venue<SimHost, Door<Faulty<D>>>,
    gateway: Gateway<'m, Hub<'m>, F, SimHost, (), H>,
}

impl<'m, D: Front, F: FeedHandler, H: OrderHandler> Place<'m, D, F, H> {
    fn open(
        memory: &'m Memory,
        number: usize,
        seed: u64,
        front: D,
        parts: impl FnOnce(Nanos) -> Parts<F, H>,
    ) -> Self {
        let behaviour = SimConfig {
            seed: seed * 2 + number as u64,
            delay_ns_max: 300_000,
            window_bytes: 1 << 20,
            look_ns: 100,
            ..SimConfig::default()
        };
        let [venue_host, gateway_host] = SimHost::pair([SOURCES; 2], behaviour);
        let network = gateway_host.network();
        // Time 0 means that there is none.
        network.pass(Nanos::from_secs(1));
        let door =
            DoorConfig { plain: vec![AT.into()], connections_max: 16, ..DoorConfig::default() };
        let config = VenueConfig {
            // The crowd leaves orders behind where prices were.
            order_capacity: 1 << 15,
            level_capacity: 1 << 13,
            observer_sources: Door::<Faulty<D>>::sources(&door),
            ..VenueConfig::new(vec![instrument(number)], CompId::new(b"VENUE").expect("one"), 1)
        };
        let flow = SyntheticConfig {
            seed: seed * 2 + number as u64,
            level_count: 12,
            orders_per_level: 2,
            lots_max: 20,
            start_price: HalfTicks(2 * 2 * 43_000),
            ..SyntheticConfig::default()
        };
        let flow = Flow::crowd(Crowd::new(flow, 0, &[1]), COMMANDS_PER_SECOND);
        let front = Door::new(Faulty::new(front, Faults::default()), door);
        let venue = Venue::on_kernel(venue_host, &config, wires::venue_sockets(), flow)
            .and_then(|venue| venue.with_observer(front));
        let mut venue = venue.expect("a venue");
        venue.start_flow(network.now());
        let clock = clock_at(network.now());
        let (config, input, feed, orders) = parts(clock.now());
        let (regions, own) = memory.regions(number);
        let mut hub = Hub::new(&regions).expect("a hub");
        let slot = hub.add_slot(&own, None).expect("a slot");
        assert!(hub.attach(slot, Owner { user: UserId(1), strategy: StrategyId(1) }));
        let handlers = (feed, orders);
        let gateway =
            Gateway::with_handlers(gateway_host, &config, clock, input, handlers, hub, &regions);
        Self { network, venue, gateway: gateway.expect("a gateway") }
    }

    fn turn(&mut self) {
        self.network.pass(TURN);
        let mono = self.network.now();
        self.venue.poll(Now { mono, utc: EPOCH + mono }).expect("the venue goes on");
        for _ in 0..64 {
            *self.gateway.clock_mut() = clock_at(self.network.now());
            if !self.gateway.poll_one().expect("the gateway goes on") {
                break;
            }
        }
        self.gateway.housekeeping().expect("the gateway goes on");
    }

    fn held(&self) -> i64 {
        self.gateway.position(InstrumentId(0)).0
    }

    fn open_orders(&self) -> usize {
        let mut count = 0;
        self.gateway.visit_orders(|_| count += 1);
        count
    }
}

/// Everybody.
pub struct World<'m> {
    deribit: Place<'m, Deribit, DeribitFeed, DeribitJson>,
    binance: Place<'m, Binance, BinanceFeeds, BinanceWs>,
    runner: StrategyRunner<'m, Watched>,
    pub shown: Rc<Shown>,
    faults: Faults,
    next_timer: Nanos,
}

impl<'m> World<'m> {
    pub fn open(memory: &'m Memory, seed: u64) -> Self {
        let front = Deribit::new(&deribit()).expect("settings");
        let deribit = Place::open(memory, 0, seed, front, deribit_gateway);
        let front = Binance::new(&binance()).expect("settings");
        let binance = Place::open(memory, 1, seed, front, binance_gateway);
        let hedger = Hedger::new(SYMBOLS.map(str::to_owned), EDGE, Lots(5));
        let shown = Rc::new(Shown::default());
        let watched = Watched { hedger, shown: Rc::clone(&shown) };
        let mut detached = DetachedStrategy::new(2, watched);
        (0..2).for_each(|place| detached.begin(place, None));
        let regions = [0, 1].map(|venue| Some(memory.regions(venue)));
        let runner = detached.attach(&regions).expect("a runner");
        // Of a thousand messages; milliseconds.
        let faults = Faults {
            seed,
            disconnect: 2,
            drop: 10,
            duplicate: 30,
            reorder: 5,
            delay: 20,
            reject: 30,
            ..Faults::default()
        };
        Self { deribit, binance, runner, shown, faults, next_timer: Nanos::ZERO }
    }

    pub fn now(&self) -> Nanos {
        self.deribit.network.now()
    }

    /// Everybody has a turn.
    pub fn turn(&mut self) {
        self.deribit.turn();
        self.binance.turn();
        let clock = clock_at(self.now());
        for _ in 0..256 {
            if !self.runner.poll(&clock) {
                break;
            }
        }
        if clock.now() >= self.next_timer {
            self.next_timer = clock.now() + Nanos::from_millis(10);
            self.runner.timer(&clock);
        }
    }

    pub fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let deadline = self.now() + PATIENCE;
        while !holds(self) {
            let (held, open) = (self.held(), self.open_orders());
            let counters = || {
                let gateways = [self.deribit.gateway.counters(), self.binance.gateway.counters()];
                (gateways, [self.deribit.venue.counters(), self.binance.venue.counters()])
            };
            assert!(
                self.now() < deadline,
                "{what}: did not happen; held {held:?}, at the venues {:?}, open {open:?}, {:?}",
                self.held_at_venues(),
                counters()
            );
            self.turn();
        }
    }

    /// Days begin to be bad, or good.
    pub fn is_bad(&mut self, is_bad: bool) {
        let faults = if is_bad { self.faults } else { Faults::default() };
        self.deribit.venue.observer_mut().front_mut().set_faults(faults);
        self.binance.venue.observer_mut().front_mut().set_faults(faults);
    }

    pub fn is_ready(&self) -> bool {
        self.deribit.gateway.is_ready() && self.binance.gateway.is_ready()
    }

    pub fn open_orders(&self) -> [usize; 2] {
        [self.deribit.open_orders(), self.binance.open_orders()]
    }

    /// Lots, as the strategy has them.
    pub fn held(&self) -> [i64; 2] {
        self.shown.held.get()
    }

    pub fn held_by_gateways(&self) -> [i64; 2] {
        [self.deribit.held(), self.binance.held()]
    }

    pub fn held_at_venues(&self) -> [i64; 2] {
        let deribit = self.deribit.venue.observer().front().front();
        let binance = self.binance.venue.observer().front().front();
        let bought = deribit.position_of("one", NAMES[0]).expect("an account");
        let balance = binance.balance_of("one", "BTC").expect("an account");
        let lots = |amount: i128| i64::try_from(amount / LOT).expect("few");
        [lots(bought), lots(balance - i128::from(BALANCE) * 1_000 * LOT)]
    }

    pub fn fills(&self) -> [u64; 2] {
        [self.deribit.gateway.counters().fills, self.binance.gateway.counters().fills]
    }
}

fn clock_at(now: Nanos) -> Clock {
    Clock::standing_at(now, EPOCH + now)
}
