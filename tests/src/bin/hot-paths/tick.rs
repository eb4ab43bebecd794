//! A venue and a fused gateway in one thread on a clock that is turned, from the venue's engine to
//! the strategy's orders and back; with `journal` the gateway has an order journal.

use taut_gateway::{FusedClient, Regions, TouchConfig, TouchStrategy};
use taut_ipc::Segment;
use taut_journal::{Durability, Journal, Settings};
use taut_tests::lockstep::{Conditions, Lockstep, START};
use taut_tests::setup::{synthetic_flow, venue_config};
use taut_types::{Lots, Nanos};

use crate::{Outcome, count, one_of};

/// Market events a second: twenty a step of the clock.
const EVENTS_HZ: u32 = 20_000;
const EVENTS_PER_STEP: u64 = 20;

pub fn run(words: &[&str]) -> Outcome {
    let count = count(words.first())?;
    let is_journalled = words.len() > 1;
    if is_journalled {
        one_of(words.get(1), &["journal"])?;
    }
    let segment = Segment::create("tick-cost", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let config =
        TouchConfig { orders_per_second: 2_000, lots: Lots(2), rest: Nanos::from_millis(3) };
    let client = FusedClient::new(TouchStrategy::new(config, START));
    let flow = synthetic_flow(7, EVENTS_HZ);
    let mut pair = Lockstep::open(&venue_config(), flow, Conditions::default(), &regions, client);
    let folder = tempfile::tempdir().expect("a folder");
    if is_journalled {
        let settings = Settings { durability: Durability::None, ..Settings::default() };
        let Journal { writer, recovered, .. } =
            Journal::open(folder.path(), settings).expect("a journal");
        pair.gateway.resume(writer, &recovered.state).expect("a new journal");
    }
    for _ in 0..count / EVENTS_PER_STEP {
        pair.step();
    }
    let counters = pair.gateway.counters();
    println!("{count} events: {} ticks, {} orders", counters.ticks, counters.orders);
    Ok(())
}
