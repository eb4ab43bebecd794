//! One strategy quotes at our Deribit and hedges at our Binance, on virtual time and two simulated
//! networks, while connections end, answers come twice or late, and requests are refused. In the
//! end both venues, both gateways and the strategy hold the same.
//!
//! `cargo test --release -p taut-examples --test two_venues -- --ignored` runs hours;
//! `TAUT_SEEDS=0..10000` says how many.
#![forbid(unsafe_code)]

#[path = "../../strategy/hedger.rs"]
mod hedger;
mod venues;
mod watched;
mod world;

use taut::types::Nanos;
use taut_testkit::for_each_seed;

use world::World;

/// Days of three seconds: unoptimised, each takes a third of a second of CPU.
const SOME: u64 = if cfg!(debug_assertions) { 25 } else { 100 };

/// A day of this length; what was traded.
fn day(seed: u64, length: Nanos) -> [u64; 2] {
    let memory = world::Memory::new();
    let mut world = World::open(&memory, seed);
    world.until("everybody is ready", World::is_ready);
    world.is_bad(true);
    let end = world.now() + length;
    while world.now() < end {
        world.turn();
    }
    world.is_bad(false);
    world.shown.is_leaving.set(true);
    let is_at_rest = |world: &World<'_>| {
        let (held, open) = (world.held(), world.open_orders());
        // The strategy shows what it holds with its timer.
        let is_shown = held == world.held_by_gateways();
        // A trade of the bad day's last moments may be unheard of until its question, of which the
        // answer was lost, too, is asked again.
        let is_known = held == world.held_at_venues();
        let is_even = held.iter().sum::<i64>() == 0;
        world.is_ready() && open == [0, 0] && is_shown && is_known && is_even
    };
    let mut has_stayed = false;
    while !has_stayed {
        world.until("nothing is open or unhedged, and all hold the same", is_at_rest);
        // A trade that nobody had heard of when all seemed to be at rest is hedged, too.
        let end = world.now() + Nanos::from_millis(100);
        while world.now() < end {
            world.turn();
        }
        has_stayed = is_at_rest(&world);
    }
    let held = world.held();
    assert_eq!(held, world.held_by_gateways(), "the gateways and the strategy");
    assert_eq!(held, world.held_at_venues(), "the venues and the strategy");
    world.fills()
}

#[test]
fn both_venues_both_gateways_and_the_strategy_agree() {
    let mut traded = [0; 2];
    for_each_seed(0..SOME, |seed, _| {
        let fills = day(seed, Nanos::from_secs(3));
        (traded[0], traded[1]) = (traded[0] + fills[0], traded[1] + fills[1]);
    });
    assert!(traded.iter().all(|fills| *fills > 0), "{traded:?}");
}

#[test]
#[ignore = "long: hours of virtual time"]
fn an_hour_of_both_venues_ends_in_agreement() {
    for_each_seed(0..10, |seed, _| {
        let fills = day(seed, Nanos::from_secs(3_600));
        println!("seed {seed}: {} fills at Deribit, {} at Binance", fills[0], fills[1]);
    });
}
