//! Every channel that has sockets, in a simulated network on virtual time: seeded schedules of
//! traffic, loss, doubles, overtaking, delays, sends without room, writes and reads in parts, and
//! connections that break. A seed that fails is printed; `TAUT_SEED=n` replays it alone.
//!
//! ```sh
//! cargo test --release -p taut-channel --test schedules -- --ignored --nocapture
//! ```
//! runs 20,000 of each channel.

#[path = "schedules/world.rs"]
mod world;

use taut_channel::{Closing, EndReason, Event};
use taut_testkit::{Draw, Random, for_each_seed};
use taut_types::Nanos;
use world::{Faults, World};

const SOME: u64 = if cfg!(debug_assertions) { 100 } else { 150 };
const MANY: u64 = 20_000;
/// Of virtual time: a session that was cut off twice has found its way back long before.
const LONG: Nanos = Nanos::from_secs(120);

/// Reliable UDP delivers everything once and in order, whatever the network does.
fn aeron(_seed: u64, mut random: Random) {
    let channel = "aeron:udp?endpoint=127.0.0.1:4000|stream-id=7|term-length=64k";
    let mut world = World::new(channel, channel, Faults::datagrams(&mut random), &mut random);
    world.until("connected", LONG, World::is_connected);
    let count = 20 + random.below(150);
    while world.offered < count {
        world.offer_some(&mut random, count, 4_000);
        world.run(Nanos(random.below(400_000).cast_signed()));
    }
    world.until("everything is there", LONG, |world| world.received() == count);
    assert!(world.ends.came.iter().copied().eq(0..count), "in order: {:?}", world.ends.came);
    world.close_publication();
    world.until("the end is drained", LONG, |world| {
        world.ends.publication.closing() == Closing::Closed
    });
    world.until("the end is heard", LONG, |world| world.ends.subscription.image_count() == 0);
    let events = world.events_of_subscription();
    let ends = events.iter().filter(|event| matches!(event, Event::ImageUnavailable { .. }));
    assert_eq!(ends.count(), 1, "{events:?}");
    assert!(!events.iter().any(|event| matches!(event, Event::Gap { .. })), "{events:?}");
    let counters = world.ends.subscription.counters();
    assert_eq!((counters.received, counters.lost), (count, 0));
}

/// Leased UDP delivers nothing twice, and accounts for every message that it does not deliver.
fn lease(_seed: u64, mut random: Random) {
    let channel = "lease:udp?endpoint=127.0.0.1:4000";
    let mut world = World::new(channel, channel, Faults::datagrams(&mut random), &mut random);
    world.until("connected", LONG, World::is_connected);
    let count = 20 + random.below(150);
    while world.offered < count {
        world.offer_some(&mut random, count, 1_000);
        world.run(Nanos(random.below(400_000).cast_signed()));
    }
    world.run(Nanos::from_millis(20));
    world.close_publication();
    world.until("the end", LONG, |world| {
        world.ends.publication.closing() == Closing::Closed
            && world.ends.subscription.image_count() == 0
    });
    let mut came = world.ends.came.clone();
    came.sort_unstable();
    came.dedup();
    assert_eq!(came.len(), world.ends.came.len(), "none twice");
    let (mut begun, mut told) = (None, 0);
    for event in world.events_of_subscription() {
        match event {
            Event::ImageAvailable { position, .. } => begun = Some(position),
            Event::ImageUnavailable { position, reason, .. } => {
                let from = begun.take().expect("an image that ends has begun");
                told += position - from;
                assert!(matches!(reason, EndReason::Closed | EndReason::Lost), "{reason:?}");
            }
            _ => {}
        }
    }
    let counters = world.ends.subscription.counters();
    assert_eq!(counters.received, came.len() as u64);
    assert_eq!(counters.received + counters.lost, told, "{counters:?}");
    // A message that overtook its lease is refused, and so is one behind the end.
    assert_eq!(counters.malformed, 0, "{counters:?}");
}

/// A stream delivers in order and nothing twice; what is missing is missing where a connection
/// broke, and when the network holds, everything comes again.
fn zmtp(_seed: u64, mut random: Random) {
    let (bound, connected) = ("tcp://127.0.0.1:4000?on-full=block", "tcp://127.0.0.1:4000");
    let faults = Faults::streams(&mut random);
    let breaks_per_mille = random.pick(&[0, 0, 10, 50]);
    let mut world = World::new(bound, connected, faults, &mut random);
    world.until("connected", LONG, World::is_connected);
    let (count, mut breaks) = (20 + random.below(150), 0u64);
    while world.offered < count {
        world.offer_some(&mut random, count, 6_000);
        world.run(Nanos(random.below(400_000).cast_signed()));
        if random.per_mille(breaks_per_mille) {
            world.break_a_stream(&mut random);
            breaks += 1;
        }
        if !world.is_connected() {
            world.until("connected again", LONG, World::is_connected);
        }
    }
    // The network holds from here on: what is offered to who is there comes. What was offered
    // before has come first, over a narrow link slowly.
    let mut before = u64::MAX;
    while before != world.received() {
        before = world.received();
        world.run(Nanos::from_secs(5));
    }
    world.until("connected at last", LONG, World::is_connected);
    let last = world.offered + 20;
    while world.offered < last {
        world.offer_some(&mut random, last, 6_000);
        world.run(Nanos::from_micros(100));
    }
    world.until("the last ones", LONG, |world| world.ends.came.last() == Some(&(last - 1)));
    let came = &world.ends.came;
    assert!(came.iter().skip(before as usize).copied().eq(last - 20..last), "{came:?}");
    assert!(came.is_sorted_by(|a, b| a < b), "in order, none twice: {came:?}");
    let gaps = came.windows(2).filter(|pair| pair[0] + 1 != pair[1]).count() as u64;
    assert!(gaps <= breaks, "{gaps} gaps of {breaks} breaks: {came:?}");
    assert!(breaks > 0 || came.iter().copied().eq(0..last), "{came:?}");
    world.close_publication();
    world.until("the end", LONG, |world| {
        world.ends.publication.closing() == Closing::Closed
            && world.ends.subscription.image_count() == 0
    });
    assert_eq!(world.ends.subscription.counters().malformed, 0);
}

#[test]
fn aeron_delivers_everything_once_and_in_order() {
    for_each_seed(0..SOME, aeron);
}

#[test]
fn a_lease_accounts_for_every_message() {
    for_each_seed(0..SOME, lease);
}

#[test]
fn zmtp_delivers_in_order_and_heals() {
    for_each_seed(0..SOME, zmtp);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut random = Random::with_seed(seed);
        let channel = "aeron:udp?endpoint=127.0.0.1:4000|stream-id=7|term-length=64k";
        let mut world = World::new(channel, channel, Faults::datagrams(&mut random), &mut random);
        world.until("connected", LONG, World::is_connected);
        for _ in 0..50 {
            world.offer_some(&mut random, u64::MAX, 4_000);
            world.run(Nanos(random.below(400_000).cast_signed()));
        }
        (world.trace(), world.ends.came)
    };
    for seed in 0..20 {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
}

#[test]
#[ignore = "long: 20,000 schedules"]
fn aeron_delivers_everything_once_and_in_order_in_20_000_schedules() {
    for_each_seed(0..MANY, aeron);
}

#[test]
#[ignore = "long: 20,000 schedules"]
fn a_lease_accounts_for_every_message_in_20_000_schedules() {
    for_each_seed(0..MANY, lease);
}

#[test]
#[ignore = "long: 20,000 schedules"]
fn zmtp_delivers_in_order_and_heals_in_20_000_schedules() {
    for_each_seed(0..MANY, zmtp);
}
