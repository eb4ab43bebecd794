//! Once they run, gateway and strategy allocate nothing: per tick, per order, per report.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use allocation_counter::measure;
use taut_gateway::{
    Client, FusedClient, Gateway, GatewayCounters, NewInstrument, Regions, Strategy,
    StrategyCounters, StrategyRegions, StrategyRunner, TouchStrategy, Trading,
};
use taut_ipc::Segment;
use taut_journal::{Durability, Journal, Settings, read};
use taut_market_data::Event;
use taut_market_data::native::NativeFeed;
use taut_sys::Clock;
use taut_tests::live::{Session, clock, hub, run_rounds, touch};
use taut_types::{FeeRates, Instrument, InstrumentId, Nanos, Price, Qty, Symbol};

/// Orders answered before the counting begins, so that every path has been taken once.
const WARM_ORDERS: u64 = 500;
/// What is counted over.
const ORDERS: u64 = 1_000;
const TICKS: u64 = 10_000;

fn answered(counters: &GatewayCounters) -> u64 {
    counters.acks + counters.order_rejects
}

fn is_warm(counters: &GatewayCounters) -> bool {
    answered(counters) >= WARM_ORDERS && counters.fills > 50 && counters.cancels > 50
}

/// Runs a warm gateway for the agreed numbers of ticks and orders. Returns its allocations.
fn allocations_of_gateway<C: Client>(session: &mut Session<'_, C>) -> u64 {
    session.run_until("a warm gateway", |gateway| is_warm(&gateway.counters()));
    let before = session.gateway.counters();
    let enough = |gateway: &mut Gateway<'_, C, NativeFeed>| {
        let after = gateway.counters();
        answered(&after) - answered(&before) >= ORDERS && after.ticks - before.ticks >= TICKS
    };
    let spent = measure(|| session.run_until("enough orders and ticks", enough));
    let after = session.gateway.counters();
    println!("before {before:?}\nafter {after:?}\n{spent:?}");
    assert!(after.fills > before.fills && after.cancels > before.cancels);
    spent.count_total
}

#[test]
fn the_counter_counts() {
    let spent = measure(|| drop(black_box(vec![1u8])));
    assert_eq!((spent.count_total, spent.bytes_total), (1, 1));
}

/// Sets alarms with every timer, more than have room, and cancels some of them.
#[derive(Default)]
struct Waker {
    calls: u64,
    refused: u64,
}

impl Strategy for Waker {
    fn on_market(&mut self, _: Nanos, _: &Event, _: &mut impl Trading) {}

    fn on_alarm(&mut self, now: Nanos, token: u64, trading: &mut impl Trading) {
        self.calls += 1;
        trading.set_alarm(now + Nanos(5), token);
    }

    fn on_timer(&mut self, now: Nanos, trading: &mut impl Trading) {
        for token in 0..300 {
            let is_set = trading.set_alarm(now + Nanos(token % 7), token.cast_unsigned());
            self.refused += u64::from(!is_set);
        }
        trading.cancel_alarm(17);
    }
}

#[test]
fn alarms_allocate_nothing() {
    let mut client = FusedClient::new(Waker::default());
    // The first time, it is told what it begins with.
    client.timer(&Clock::vdso(), &(), Nanos(1));
    let spent = measure(|| {
        for now in 2..500 {
            client.timer(&Clock::vdso(), &(), Nanos(now));
        }
    });
    assert_eq!(spent.count_total, 0);
    let Waker { calls, refused } = *client.strategy();
    assert!(calls > 10_000 && refused > 10_000, "{calls} calls, {refused} refused");
}

#[test]
fn a_fused_gateway_allocates_nothing() {
    let segment = Segment::create("allocations-fused", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let clock = clock();
    let client = FusedClient::new(TouchStrategy::new(touch(), clock.now()));
    let mut session = Session::open(clock, 11, &regions, client);
    assert_eq!(allocations_of_gateway(&mut session), 0);
}

#[test]
fn a_gateway_that_has_taken_another_instrument_allocates_nothing() {
    let segment = Segment::create("allocations-added", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let clock = clock();
    let client = FusedClient::new(TouchStrategy::new(touch(), clock.now()));
    let mut session = Session::open(clock, 14, &regions, client);
    // The venue does not have it: the gateway trades on while it waits for the new book.
    let (symbol, tick) = (Symbol::new(b"MSFT").expect("a symbol"), Price(10_000_000));
    let instrument = Instrument::new(InstrumentId(1), symbol, tick, Qty::whole(1));
    let new = NewInstrument {
        instrument: instrument.expect("an instrument"),
        venue_number: InstrumentId(1),
        name: String::new(),
        group: 0,
        fees: FeeRates::FREE,
        settlement: None,
    };
    let spent = measure(|| session.gateway.add_instrument(&new).expect("there is room"));
    assert_eq!(spent.count_total, 0, "the addition: {spent:?}");
    assert_eq!(allocations_of_gateway(&mut session), 0);
    assert!(!session.gateway.is_ready(), "not every book is sound");
}

#[test]
fn a_gateway_with_a_journal_allocates_nothing() {
    let segment = Segment::create("allocations-journal", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let clock = clock();
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings { durability: Durability::None, ..Settings::default() };
    let journal = Journal::open(folder.path(), settings).expect("a journal");
    let client = FusedClient::new(TouchStrategy::new(touch(), clock.now()));
    let mut session = Session::open(clock, 13, &regions, client);
    session.gateway.resume(journal.writer, &journal.recovered.state).expect("a new journal");
    assert_eq!(allocations_of_gateway(&mut session), 0);
    let found = read(folder.path(), settings.executions_max, &mut |_| ()).expect("its journal");
    assert!(found.records > 2 * ORDERS, "{} records", found.records);
    assert_eq!(session.gateway.counters().unjournalled, 0);
}

/// What a strategy did while it was counted.
#[derive(Default)]
struct StrategyRun {
    allocations: u64,
    before: StrategyCounters,
    after: StrategyCounters,
}

/// Runs a strategy for as long as somebody is there who may ask for something, and counts its
/// allocations from the first wish on.
fn run_counted(
    mut runner: StrategyRunner<'_, TouchStrategy>,
    regions: &StrategyRegions<'_>,
    clock: &Clock,
    wishes: &Receiver<()>,
) -> StrategyRun {
    let mut run = StrategyRun::default();
    let mut counting = false;
    loop {
        let spent = measure(|| run_rounds(&mut runner, clock));
        match wishes.try_recv() {
            Ok(()) => {
                counting = true;
                run.before = StrategyCounters::load(regions.counters);
            }
            Err(TryRecvError::Empty) if counting => run.allocations += spent.count_total,
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => {
                run.after = StrategyCounters::load(regions.counters);
                return run;
            }
        }
    }
}

#[test]
fn a_split_gateway_and_its_strategy_allocate_nothing() {
    let segment = Segment::create("allocations-split", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let clock = clock();
    let own = Segment::create("allocations-strategy", &StrategyRegions::LAYOUT).expect("a segment");
    let own = StrategyRegions::of(&own).expect("regions");
    let client = hub(&regions, &own);
    let strategy = TouchStrategy::new(touch(), clock.now());
    let runner = StrategyRunner::new(&regions, &own, None, strategy).expect("rings");
    thread::scope(|scope| {
        let mut session = Session::open(clock, 12, &regions, client);
        let (wish, wishes) = channel();
        let strategy = scope.spawn(move || run_counted(runner, &own, &clock, &wishes));
        session.run_until("a warm gateway", |gateway| is_warm(&gateway.counters()));
        wish.send(()).expect("the strategy goes on");
        assert_eq!(allocations_of_gateway(&mut session), 0, "gateway");
        drop(wish);
        let StrategyRun { allocations, before, after } = strategy.join().expect("it went on");
        println!("strategy: before {before:?}, after {after:?}");
        assert!(after.events - before.events >= TICKS);
        assert!(after.requests - before.requests >= ORDERS);
        assert!(after.updates > before.updates);
        assert_eq!(allocations, 0, "strategy");
    });
}
