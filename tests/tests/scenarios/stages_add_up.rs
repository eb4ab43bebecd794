//! The nine stages of every order add up to its tick-to-trade time, through the real gateway.

use taut_gateway::{GatewayCounters, Regions};
use taut_ipc::Segment;
use taut_lat::{Snapshot, Stage};
use taut_tests::live::{Outcome, fused, split};

const ORDERS: u64 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };

fn enough(counters: &GatewayCounters) -> bool {
    counters.orders >= ORDERS
}

/// What holds in both modes; prints the stages.
fn check(mode: &str, outcome: &Outcome) {
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
}

#[test]
fn the_stages_of_a_fused_gateway_add_up() {
    let segment = Segment::create("stages-fused", &Regions::LAYOUT).expect("a segment");
    let outcome = fused(&Regions::of(&segment).expect("regions"), 21, enough);
    check("fused", &outcome);
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
    let outcome = split(&Regions::of(&segment).expect("regions"), 22, enough);
    check("split", &outcome);
    for stage in Stage::ALL {
        assert!(outcome.path.stages[stage.index()].sum() > 0, "{stage}");
    }
}
