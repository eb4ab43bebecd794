//! A feed on two lines: what one loses the other has, what both lose is asked for, and where nobody
//! answers a snapshot covers it. The books are the same whenever the gateway says that it is live.

use taut_gateway::{
    FusedClient, Gateway, GatewayConfig, GatewayCounters, Regions, TouchConfig, TouchStrategy,
};
use taut_ipc::Segment;
use taut_market_data::feed::RetransmitConfig;
use taut_sys::Socket;
use taut_testkit::Faults;
use taut_tests::books::assert_same_levels;
use taut_tests::ledger::Ledger;
use taut_tests::lockstep::{Conditions, Lockstep, START, clock};
use taut_tests::lossy_link::faults;
use taut_tests::setup::{
    feed, gateway_config, instrument, link, native_feed, open_venue, synthetic_flow, venue_config,
    venue_config_for_losses,
};
use taut_types::{InstrumentId, Lots, SequenceNumber};
use taut_venue::{FeedLoss, VenueConfig, VenueCounters};

const STEPS: u32 = if cfg!(debug_assertions) { 1_500 } else { 10_000 };
const TICKS_HZ: u32 = 20_000;
const CLEAR: Faults = faults(0, 0, 0);
const ALL: Faults = faults(1_000, 0, 0);
const STORM: Faults = faults(50, 20, 30);

/// A run to its end; what both counted, and how many steps ended with a book that is not sound.
fn run(config: &VenueConfig, conditions: Conditions) -> (GatewayCounters, VenueCounters, u32) {
    let segment = Segment::create("two-lines", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let touch = TouchConfig { orders_per_second: 1_000, lots: Lots(1), ..TouchConfig::default() };
    let client = FusedClient::new(Ledger::new(TouchStrategy::new(touch, START)));
    let flow = synthetic_flow(conditions.seed, TICKS_HZ);
    let mut pair = Lockstep::open(config, flow, conditions, &regions, client);
    let mut blind = 0;
    for _ in 0..STEPS {
        pair.step();
        let published = SequenceNumber(pair.venue.counters().published);
        if pair.gateway.has_caught_up_with(published) {
            assert_same_levels(pair.venue.book(), pair.gateway.book(InstrumentId(0)));
        } else {
            blind += 1;
        }
    }
    pair.gateway.client_mut().stop();
    pair.step_until("the last answer", |pair| {
        pair.gateway.counters().unanswered == 0 && pair.gateway.client().is_at_rest()
    });
    pair.catch_up();
    assert_same_levels(pair.venue.book(), pair.gateway.book(InstrumentId(0)));
    let (gateway, venue) = (pair.gateway.counters(), pair.venue.counters());
    println!("{gateway:?}\n{venue:?}\n{blind} of {STEPS} steps blind");
    assert_eq!(gateway.ticks + gateway.recovered, venue.published);
    assert_eq!((gateway.malformed, gateway.live, gateway.risk_rejects), (0, 1, 0));
    assert!(gateway.orders > 100 && gateway.fills > 0);
    (gateway, venue, blind)
}

fn conditions(a: Faults, b: Faults, seed: u64) -> Conditions {
    let (line_b, retransmission) = (Some(b), true);
    Conditions { incremental: a, line_b, retransmission, seed, ..Conditions::default() }
}

#[test]
fn a_line_that_is_lost_wholly_is_not_missed() {
    for (a, b) in [(ALL, CLEAR), (CLEAR, ALL)] {
        let (gateway, _, blind) = run(&venue_config(), conditions(a, b, 51));
        assert_eq!((gateway.gaps, gateway.retransmit_requests, blind), (0, 0, 0));
        // The snapshot that it began with, and nothing else.
        assert_eq!(gateway.snapshots, 1);
        let news = [gateway.line_a_first, gateway.line_b_first];
        assert!(news.contains(&0) && news.contains(&gateway.ticks), "{news:?}");
    }
}

#[test]
fn what_one_of_two_clear_lines_brings_second_is_a_copy() {
    let (gateway, venue, blind) = run(&venue_config(), conditions(CLEAR, CLEAR, 52));
    assert_eq!((gateway.gaps, gateway.retransmit_requests, blind), (0, 0, 0));
    assert_eq!((gateway.line_a, gateway.line_b), (venue.published, venue.published));
    assert_eq!(gateway.line_a_first + gateway.line_b_first, venue.published);
}

#[test]
fn what_both_lines_lose_is_asked_for() {
    let (gateway, venue, blind) = run(&venue_config(), conditions(STORM, STORM, 53));
    assert!(gateway.retransmitted > 30 && gateway.retransmit_requests > 30);
    assert!(venue.retransmitted >= gateway.retransmitted);
    // A snapshot every 250 ms would leave most steps blind: nearly all gaps are healed before it.
    assert!(blind < STEPS / 2, "{blind}");
    assert!(gateway.line_a_first > 0 && gateway.line_b_first > 0);
}

#[test]
fn where_requests_are_refused_a_snapshot_covers_the_gap() {
    let refused =
        RetransmitConfig { burst_bytes: 0, bytes_per_second: 0, ..venue_config().retransmit };
    let config = VenueConfig { retransmit: refused, ..venue_config_for_losses() };
    let (gateway, venue, _) = run(&config, conditions(STORM, STORM, 54));
    assert!(gateway.retransmit_requests > 10 && venue.retransmit_refused > 10);
    assert_eq!((gateway.retransmitted, venue.retransmitted), (0, 0));
    assert!(gateway.snapshots > 2 && gateway.recovered > 100);
}

#[test]
fn losses_that_the_venue_makes_up_heal_too() {
    let loss = FeedLoss { a_per_mille: 1_000, b_per_mille: 20, seed: 55 };
    let config = VenueConfig { loss, ..venue_config() };
    let (gateway, venue, _) = run(&config, conditions(CLEAR, CLEAR, 55));
    assert_eq!(gateway.line_a, 0);
    assert_eq!(venue.lost_on_a, venue.published + venue.heartbeats);
    assert!(venue.lost_on_b > 20 && gateway.retransmitted > 20);
}

/// A socket whose next receive fails: what it sent was refused.
fn refused() -> Socket {
    let (sender, receiver) = link();
    drop(receiver);
    sender.send(b"to nobody").expect("sent");
    sender
}

#[test]
fn a_line_whose_socket_fails_is_silent_and_counted() {
    for hot in [true, false] {
        let segment = Segment::create("failing-line", &Regions::LAYOUT).expect("a segment");
        let regions = Regions::of(&segment).expect("regions");
        let (output, mut sockets) = feed();
        (sockets.incremental, sockets.incremental_b) = (refused().into(), Some(refused().into()));
        let (_venue, at) = open_venue(&venue_config(), synthetic_flow(56, TICKS_HZ), output);
        let config = GatewayConfig { hot, ..gateway_config(at) };
        let client = FusedClient::new(TouchStrategy::new(TouchConfig::default(), START));
        let (input, feed) = native_feed(instrument(), sockets, START);
        let mut gateway =
            Gateway::new(&config, clock(), input, feed, client, &regions).expect("a gateway");
        for _ in 0..100 {
            gateway.poll().expect("a gateway that goes on");
        }
        assert_eq!(gateway.counters().receive_errors, 2);
    }
}
