//! Gateway, strategies and venue on one simulated network, in seeded schedules of trading and
//! faults: connections that break at any byte, delays, packets lost, doubled and overtaken, hosts
//! that do not run for a while, clocks that jump, processes that are started again, strategies that
//! leave and come, instruments that a gateway takes while it runs, and the kill switch. Half of the
//! gateways have an order journal, and go on with it when they are started again. What must hold is
//! checked after every event of the gateway, and when all has come to rest both sides are equal,
//! exactly.
//!
//! `cargo xtask soak schedules 100000` runs many. A seed that fails is printed with what happened
//! last; `TAUT_SEED=n` replays it alone.
#![forbid(unsafe_code)]

#[path = "gateway_schedules/checks.rs"]
mod checks;
#[path = "gateway_schedules/gateway_ledger.rs"]
mod gateway_ledger;
#[path = "gateway_schedules/log.rs"]
mod log;
#[path = "gateway_schedules/queues.rs"]
mod queues;
#[path = "gateway_schedules/schedule.rs"]
mod schedule;
#[path = "gateway_schedules/trader.rs"]
mod trader;
#[path = "gateway_schedules/venue_ledger.rs"]
mod venue_ledger;
#[path = "gateway_schedules/world.rs"]
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use log::Log;
use schedule::Outcome;
use taut_sys::monotonic;
use taut_testkit::{Random, for_each_seed};
use taut_types::Nanos;

const SOME: u64 = if cfg!(debug_assertions) { 120 } else { 200 };
const MANY: u64 = 100_000;
/// Seeds of the long run that failed once: a venue that called an order open under a name that it
/// had before, and a quantity that changed while nobody listened, of which its owner was not told.
const FAILED_ONCE: [u64; 3] = [4_211, 27_900, 50_849];
/// Lines of what happened that are printed of a schedule that failed.
const LINES: usize = 400;
/// How often a long run says where it is.
const PROGRESS: Nanos = Nanos::from_secs(10);

/// Runs a schedule; one that fails is run again, and what happened is printed.
fn run(seed: u64, random: &Random, may_have_journal: bool) -> Outcome {
    let schedule = || schedule::run(random.clone(), Log::default(), may_have_journal);
    catch_unwind(AssertUnwindSafe(schedule)).unwrap_or_else(|failure| {
        let log = Log::kept();
        let again =
            AssertUnwindSafe(|| schedule::run(random.clone(), log.clone(), may_have_journal));
        let is_same = catch_unwind(again).is_err();
        log.tail(LINES).iter().for_each(|line| eprintln!("  {line}"));
        eprintln!("seed {seed} failed{}", if is_same { "" } else { ", and did not a second time" });
        resume_unwind(failure)
    })
}

#[test]
fn every_schedule_keeps_gateway_and_venue_equal() {
    let mut all = Outcome::default();
    for_each_seed(0..SOME, |seed, random| {
        let one = run(seed, &random, true);
        all.orders += one.orders;
        all.fills += one.fills;
        all.disconnects += one.disconnects;
        all.recoveries += one.recoveries;
        all.added += one.added;
    });
    assert!(all.recoveries > 0, "no journal was recovered");
    assert!(all.added > 0, "no instrument was added");
    println!("{all:?}");
}

#[test]
fn schedules_that_failed_once_hold() {
    for seed in FAILED_ONCE {
        run(seed, &Random::with_seed(seed), false);
    }
}

#[test]
fn a_seed_repeats_its_schedule() {
    for seed in 0..5 {
        let random = || Random::with_seed(seed);
        assert_eq!(run(seed, &random(), true), run(seed, &random(), true), "seed {seed}");
    }
}

#[test]
#[ignore = "long: 100,000 schedules"]
fn every_one_of_many_schedules_keeps_gateway_and_venue_equal() {
    let (began, mut told) = (monotonic(), monotonic());
    let (mut count, mut orders, mut fills, mut disconnects) = (0u64, 0, 0, 0);
    let mut recoveries = 0;
    for_each_seed(0..MANY, |seed, random| {
        let one = run(seed, &random, true);
        count += 1;
        orders += one.orders;
        fills += one.fills;
        disconnects += one.disconnects;
        recoveries += one.recoveries;
        if monotonic().since(told) >= PROGRESS {
            told = monotonic();
            let seconds = told.since(began).0 / 1_000_000_000;
            println!("{count} schedules in {seconds} s, now seed {seed}");
        }
    });
    println!(
        "{count} schedules, {orders} orders, {fills} fills, {disconnects} disconnects, \
         {recoveries} recoveries"
    );
}
