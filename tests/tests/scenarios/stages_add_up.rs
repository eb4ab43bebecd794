//! The nine stages of every order add up to its tick-to-trade time, through the real gateway.

use taut_gateway::{FlightRead, FlightReader, GatewayCounters, Regions};
use taut_ipc::Segment;
use taut_lat::{Snapshot, Stage};
use taut_tests::live::{Outcome, fused, split};

const ORDERS: u64 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };

fn enough(counters: &GatewayCounters) -> bool {
    counters.orders >= ORDERS
}

/// Orders that the flight recorder has for certain.
const RECORDED: u64 = 3_000;

/// What holds in both modes; prints the stages.
fn check(mode: &str, outcome: &Outcome, regions: &Regions<'_>) {
    let path = &outcome.path;
    for stage in Stage::ALL {
        let summary = path.stages[stage.index()].summary();
        println!("{mode} {stage:<12} {summary:?}");
    }
    println!("{mode} tick to trade {:?}", path.tick_to_trade.summary());
    println!("{mode} round trip    {:?}", outcome.round_trip);

    let sum: u64 = path.stages.iter().map(Snapshot::sum).sum();
    assert_eq!(sum, path.tick_to_trade.sum());
    assert_eq!(sum - path.stages[Stage::Send.index()].sum(), path.tick_to_send.sum());
    let count = path.tick_to_trade.count();
    assert!(path.stages.iter().all(|stage| stage.count() == count));
    assert_eq!(path.tick_to_send.count(), count);
    assert!(path.stages.iter().all(|stage| stage.max() <= path.tick_to_trade.max()));
    assert!(path.stages.iter().all(|stage| stage.clamped() == 0));

    let GatewayCounters { orders, acks, order_rejects, .. } = outcome.gateway;
    assert!(orders >= ORDERS);
    // An order that no packet caused, or one that a snapshot brought, is not measured.
    assert!(count <= orders && count >= orders * 9 / 10, "{count} of {orders} are measured");
    assert_eq!(outcome.round_trip.count, acks + order_rejects);

    // Each of them is in the flight recorder, with the same times.
    let mut flight = FlightReader::new(regions).expect("a flight recorder");
    let records = std::iter::from_fn(|| match flight.poll() {
        FlightRead::Order(record) => Some(record.stamps.offsets),
        other => {
            assert_eq!(other, FlightRead::Nothing);
            None
        }
    });
    let totals: Vec<u64> = records.map(|offsets| offsets.total()).collect();
    if count <= RECORDED {
        assert_eq!(totals.len() as u64, count);
        assert_eq!(totals.iter().sum::<u64>(), path.tick_to_trade.sum());
    }
}

#[test]
fn the_stages_of_a_fused_gateway_add_up() {
    let segment = Segment::create("stages-fused", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let outcome = fused(&regions, 21, enough);
    check("fused", &outcome, &regions);
    // There is nothing to publish in one thread, and no way to go.
    for stage in [Stage::Publish, Stage::ToStrategy] {
        assert_eq!(outcome.path.stages[stage.index()].max(), 0, "{stage}");
    }
    let takes_time = |stage: &Stage| outcome.path.stages[stage.index()].sum() > 0;
    let rest = [Stage::Decode, Stage::Book, Stage::Strategy, Stage::ToGateway];
    assert!(rest.iter().chain(&[Stage::Risk, Stage::Encode, Stage::Send]).all(takes_time));
}

#[test]
fn the_stages_of_a_split_gateway_add_up() {
    let segment = Segment::create("stages-split", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let outcome = split(&regions, 22, enough);
    check("split", &outcome, &regions);
    for stage in Stage::ALL {
        assert!(outcome.path.stages[stage.index()].sum() > 0, "{stage}");
    }
}
