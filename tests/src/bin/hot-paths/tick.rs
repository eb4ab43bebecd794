//! A venue and a fused gateway in one thread on a clock that is turned, from the venue's engine to
//! the strategy's orders and back; with `journal` the gateway has an order journal, with `record`
//! all that it hears is written down.

use taut_gateway::{FusedClient, Regions, TouchConfig, TouchStrategy};
use taut_io::{EpollKernel, Kernel, TapedKernel};
use taut_ipc::Segment;
use taut_journal::{Durability, Journal, Settings, TURN};
use taut_sys::tape;
use taut_tests::lockstep::{Conditions, Lockstep, Round, START, clock};
use taut_tests::setup::{synthetic_flow, venue_config};
use taut_types::{Lots, Nanos};

use crate::{Outcome, count, one_of};

/// Market events a second: twenty a step of the clock.
const EVENTS_HZ: u32 = 20_000;
const EVENTS_PER_STEP: u64 = 20;

type Pair<'m, K> = Lockstep<'m, FusedClient<TouchStrategy>, K>;

fn open<'m, K: Kernel>(kernel: K, clock: taut_sys::Clock, regions: &Regions<'m>) -> Pair<'m, K> {
    let config =
        TouchConfig { orders_per_second: 2_000, lots: Lots(2), rest: Nanos::from_millis(3) };
    let client = FusedClient::new(TouchStrategy::new(config, START));
    let flow = synthetic_flow(7, EVENTS_HZ);
    let weather = Conditions::default();
    Lockstep::open_on((kernel, clock), &venue_config(), flow, weather, regions, client)
}

pub fn run(words: &[&str]) -> Outcome {
    let count = count(words.first())?;
    let beside = words.get(1).map(|_| one_of(words.get(1), &["journal", "record"])).transpose()?;
    let segment = Segment::create("tick-cost", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let kernel = EpollKernel::new(16).expect("a kernel");
    let counters = if beside == Some("record") {
        let mut pair = open(TapedKernel::live(kernel), clock().taped(), &regions);
        record(&mut pair, count / EVENTS_PER_STEP)?;
        pair.gateway.counters()
    } else {
        let mut pair = open(kernel, clock(), &regions);
        let folder = tempfile::tempdir().expect("a folder");
        if beside.is_some() {
            let settings = Settings { durability: Durability::None, ..Settings::default() };
            let Journal { writer, recovered, .. } =
                Journal::open(folder.path(), settings).expect("a journal");
            pair.gateway.resume(writer, &recovered.state).expect("a new journal");
        }
        (0..count / EVENTS_PER_STEP).for_each(|_| pair.step());
        pair.gateway.counters()
    };
    println!("{count} events: {} ticks, {} orders", counters.ticks, counters.orders);
    Ok(())
}

/// Steps whose turns are written down, those that do something.
fn record<K: Kernel>(pair: &mut Pair<'_, K>, steps: u64) -> Outcome {
    let folder = tempfile::tempdir()?;
    let settings = Settings { segment_bytes: 32 << 20, ..Settings::of_recording() };
    let Journal { mut writer, .. } = Journal::begin(&folder.path().join("run"), settings, None)?;
    let mut bytes = 0;
    for _ in 0..steps {
        let now = pair.now();
        pair.step_watching(|round, _| match round {
            Round::Before => tape::begin_writing(false),
            Round::After => tape::end_writing(|heard, has_effect| {
                if has_effect {
                    bytes += heard.len();
                    writer.record(TURN, now, heard).expect("room");
                }
            }),
        });
    }
    println!("{} turns of {bytes} bytes", writer.next_sequence() - 1);
    Ok(())
}
