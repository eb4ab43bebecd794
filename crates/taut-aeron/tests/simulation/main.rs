//! Publications and subscriptions over a seeded, faulty network on virtual time.
//!
//! A failing schedule prints its seed; `TAUT_SEED=n` replays it alone. The ordinary run takes
//! 20,000 schedules (fewer without optimisation); a million:
//! `cargo test --release -p taut-aeron --test simulation -- --ignored`, or some of them with
//! `TAUT_SEEDS=1000000..1100000`.

mod checker;
mod network;
mod world;

use std::ops::Range;

use taut_testkit::for_each_seed;
use world::World;

fn run_all(all: Range<u64>) {
    let (mut schedules, mut turns, mut delivered) = (0, 0, 0);
    for_each_seed(all, |seed, _| {
        let mut world = World::new(seed);
        world.run();
        schedules += 1;
        turns += world.steps;
        delivered += world.delivered;
    });
    println!("{schedules} schedules, {turns} turns, {delivered} messages delivered");
}

#[test]
fn nothing_is_lost_duplicated_reordered_or_stuck_in_20_000_schedules() {
    run_all(0..if cfg!(debug_assertions) { 120 } else { 20_000 });
}

#[test]
#[ignore = "a million schedules take a quarter of an hour"]
fn nothing_is_lost_duplicated_reordered_or_stuck_in_a_million_schedules() {
    run_all(1_000_000..2_000_000);
}
