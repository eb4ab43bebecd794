//! A gateway whose feed loses, doubles and reorders datagrams heals from snapshots, and sends no
//! order while it cannot trust its book.

use taut_gateway::{
    FusedClient, GatewayCounters, OrderUpdate, Refusal, Regions, Strategy, TouchConfig,
    TouchStrategy, Trading, UpdateKind,
};
use taut_ipc::Segment;
use taut_market_data::{BestPrices, Event, EventKind, Soundness};
use taut_oms::RiskReject;
use taut_testkit::Faults;
use taut_tests::books::assert_same_levels;
use taut_tests::ledger::Ledger;
use taut_tests::lockstep::{Conditions, Lockstep, Round, START};
use taut_tests::lossy_link::faults;
use taut_tests::setup::{synthetic_flow, venue_config_for_losses};
use taut_types::{
    InstrumentId, Lots, Nanos, OrderTerms, OrderType, Price, SequenceNumber, Side, TimeInForce,
};

const STEPS: u32 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };
const TICKS_HZ: u32 = 20_000;

const SHOWERS: Faults = faults(3, 5, 5);
const RAIN: Faults = faults(10, 20, 20);

type Pair<'m, S> = Lockstep<'m, FusedClient<Ledger<S>>>;

/// Runs a strategy in this weather to its end. Compares the books whenever they should be the same,
/// and looks at the orders in every round.
fn run<'m, S: Strategy>(regions: &Regions<'m>, conditions: Conditions, strategy: S) -> Pair<'m, S> {
    let flow = synthetic_flow(conditions.seed, TICKS_HZ);
    let client = FusedClient::new(Ledger::new(strategy));
    let mut pair = Lockstep::open(&venue_config_for_losses(), flow, conditions, regions, client);
    let (mut books, mut blind_rounds) = (0, 0);
    for _ in 0..STEPS {
        blind_rounds += step_without_blind_orders(&mut pair);
        let published = SequenceNumber(pair.venue.counters().published);
        if pair.gateway.has_caught_up_with(published) {
            books += 1;
            assert_same_levels(pair.venue.book(), pair.gateway.book(InstrumentId(0)));
        }
    }
    pair.gateway.client_mut().stop();
    pair.step_until("the last answer", |pair| {
        pair.gateway.counters().unanswered == 0 && pair.gateway.client().is_at_rest()
    });
    pair.incremental.clear_up();
    pair.snapshot.clear_up();
    pair.catch_up();
    assert_same_levels(pair.venue.book(), pair.gateway.book(InstrumentId(0)));
    println!("seed {}: {:?}", conditions.seed, pair.gateway.counters());
    println!("{:?}, {:?}", pair.incremental.counters(), pair.snapshot.counters());
    println!("{blind_rounds} blind rounds, {books} books compared on the way");
    assert!(blind_rounds > 100 && books > 100);
    pair
}

/// A step in which no round that begins and ends with a book that cannot be trusted sends an order.
/// Returns how many such rounds there were.
fn step_without_blind_orders<S: Strategy>(pair: &mut Pair<'_, S>) -> u32 {
    let mut before = GatewayCounters::default();
    let mut blind_rounds = 0;
    pair.step_watching(|round, gateway| {
        let now = gateway.counters();
        match round {
            Round::Before => before = now,
            Round::After if before.live == 0 && now.live == 0 => {
                assert_eq!(now.orders, before.orders, "a blind gateway sent an order");
                blind_rounds += 1;
            }
            Round::After => {}
        }
    });
    blind_rounds
}

/// Every packet is accounted for, and every kind of trouble was there.
fn check<S: Strategy>(pair: &Pair<'_, S>) {
    let (counters, venue) = (pair.gateway.counters(), pair.venue.counters());
    assert_eq!(counters.ticks + counters.recovered, venue.published);
    assert!(pair.gateway.has_caught_up_with(SequenceNumber(venue.published)));
    assert!(counters.recovered > 0 && counters.gaps > 0 && counters.snapshots > 1);
    assert!(counters.recovered_at_start < counters.recovered);
    assert_eq!((counters.malformed, counters.live), (0, 1));
    let mishaps = pair.incremental.counters();
    assert!(mishaps.lost > 0 && mishaps.duplicated > 0 && mishaps.reordered > 0);
    assert_eq!((venue.orders, venue.fills), (counters.orders, counters.fills));
}

fn touch() -> TouchStrategy {
    let config = TouchConfig { orders_per_second: 1_000, lots: Lots(1), ..TouchConfig::default() };
    TouchStrategy::new(config, START)
}

#[test]
fn heals_from_snapshots_and_trades_in_between() {
    let segment = Segment::create("feed-loss", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let conditions = Conditions { incremental: SHOWERS, seed: 41, ..Conditions::default() };
    let pair = run(&regions, conditions, touch());
    check(&pair);
    let counters = pair.gateway.counters();
    assert!(counters.orders > 200 && counters.fills > 0 && counters.cancels > 0);
    // What only came late needed no snapshot.
    assert!(counters.gaps > counters.snapshots);
    // A strategy that listens asks for nothing while the book is not live.
    assert_eq!(counters.risk_rejects, 0);
}

#[test]
fn heals_although_snapshots_suffer_too() {
    let segment = Segment::create("feed-loss", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let conditions =
        Conditions { incremental: SHOWERS, snapshot: RAIN, seed: 42, ..Conditions::default() };
    let pair = run(&regions, conditions, touch());
    check(&pair);
    assert!(pair.snapshot.counters().lost > 0);
}

/// A strategy that asks for an order at every turn of its timer, whatever it was told.
#[derive(Default)]
struct Reckless {
    top: BestPrices,
    live: bool,
    stopped: bool,
    done: u64,
    asked: u64,
    asked_blind: u64,
    answered_blind: u64,
}

impl Strategy for Reckless {
    fn on_market(&mut self, _now: Nanos, event: &Event, _trading: &mut impl Trading) {
        match event.kind {
            EventKind::Book(soundness) => self.live = soundness == Soundness::Sound,
            EventKind::Top(top) => self.top = top,
            _ => {}
        }
    }

    fn on_order(&mut self, _now: Nanos, update: &OrderUpdate, _trading: &mut impl Trading) {
        self.done += u64::from(update.state.is_done());
        if let UpdateKind::Refused(why) = update.kind {
            assert_eq!(why, Refusal::Risk(RiskReject::NoReference));
            self.answered_blind += 1;
        }
    }

    fn on_timer(&mut self, _now: Nanos, trading: &mut impl Trading) {
        if self.stopped {
            return;
        }
        let side = if self.asked.is_multiple_of(2) { Side::Buy } else { Side::Sell };
        let best = if side == Side::Buy { self.top.ask } else { self.top.bid };
        let price = best.map_or(Price(585_330_000_000), |(price, _)| price);
        let time_in_force = TimeInForce::ImmediateOrCancel;
        let (order_type, lots) = (OrderType::Limit, Lots(1));
        let limit = OrderTerms::limit(InstrumentId(0), side, price, lots);
        let order = OrderTerms { order_type, time_in_force, ..limit };
        assert!(trading.create(&order).is_some());
        self.asked += 1;
        self.asked_blind += u64::from(!self.live);
    }

    fn on_stop(&mut self, _: Nanos, _: &mut impl Trading) {
        self.stopped = true;
    }

    fn is_idle(&self) -> bool {
        self.done == self.asked
    }
}

#[test]
fn refuses_every_order_that_is_asked_for_while_the_book_is_not_live() {
    let segment = Segment::create("feed-loss", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let conditions = Conditions { incremental: RAIN, seed: 43, ..Conditions::default() };
    let mut pair = run(&regions, conditions, Reckless::default());
    check(&pair);
    let counters = pair.gateway.counters();
    let Reckless { asked, asked_blind, answered_blind, .. } =
        *pair.gateway.client_mut().strategy().strategy();
    println!("{asked} orders asked for, {asked_blind} of them blindly");
    assert!(asked_blind > 100 && asked - asked_blind > 100);
    assert_eq!((counters.risk_rejects, answered_blind), (asked_blind, asked_blind));
    assert_eq!((counters.orders, counters.refused), (asked - asked_blind, 0));
}
