//! The feed: whoever listens ends with the venue's book.

use taut_book::Fnv1a;
use taut_market_data::EventKind;
use taut_market_data::native::{Message, PacketFlags, PacketReader};
use taut_types::{Nanos, Side};

use crate::flow::SplitMix64;
use crate::tests::client::{cancel, limit};
use crate::tests::consumer::{level_consumer, level_hash, order_consumer, order_hash};
use crate::tests::rig::{Rig, config, drain, synthetic};
use crate::{Flow, VenueConfig};

/// One turn of the clock: 20 commands of the flow.
const TURN: Nanos = Nanos::from_millis(1);
const TURNS: u32 = 300;

#[test]
fn a_listener_from_the_start_ends_with_the_venues_book() {
    let mut rig = Rig::new(&config(), synthetic(1));
    let (mut levels, mut orders) = (level_consumer(), order_consumer());
    rig.venue.start_flow(rig.now.mono);
    for _ in 0..TURNS {
        rig.poll();
        rig.advance(TURN);
        drain(&rig.incremental, |datagram| {
            levels.on_increment(datagram);
            orders.on_increment(datagram);
        });
        drain(&rig.snapshot, |datagram| {
            levels.on_snapshot(datagram);
            orders.on_snapshot(datagram);
        });
    }
    let counters = rig.venue.counters();
    assert!(counters.flow_commands >= 5_900 && counters.trades > 100, "{counters:?}");
    assert_eq!((counters.flow_rejects, counters.send_failures), (0, 0));
    assert!(levels.is_live_after(counters.published) && orders.is_live_after(counters.published));
    assert_eq!(levels.book.state_hash(), level_hash(rig.venue.book()));
    assert_eq!(order_hash(&orders.book), order_hash(rig.venue.book()));
    assert_eq!(levels.symbol.map(|symbol| symbol.as_str().to_owned()).as_deref(), Some("AAPL"));
}

#[test]
fn a_late_listener_and_one_that_loses_packets_recover_from_snapshots() {
    let mut rig = Rig::new(&config(), synthetic(2));
    let (mut levels, mut orders) = (level_consumer(), order_consumer());
    let mut random = SplitMix64::new(7);
    rig.venue.start_flow(rig.now.mono);
    for turn in 0..3 * TURNS {
        rig.poll();
        rig.advance(TURN);
        // The first 100 ms are missed by all; then the levels' listener loses some for 300 ms.
        let is_lossy = (100..400).contains(&turn);
        drain(&rig.incremental, |datagram| {
            if turn >= 100 {
                orders.on_increment(datagram);
            }
            if turn >= 400 || is_lossy && !random.chance(10) {
                levels.on_increment(datagram);
            }
        });
        drain(&rig.snapshot, |datagram| {
            if turn >= 100 {
                orders.on_snapshot(datagram);
                levels.on_snapshot(datagram);
            }
        });
    }
    let published = rig.venue.counters().published;
    assert!(levels.is_live_after(published) && orders.is_live_after(published));
    assert_eq!(levels.book.state_hash(), level_hash(rig.venue.book()));
    assert_eq!(order_hash(&orders.book), order_hash(rig.venue.book()));
    let last = taut_types::SequenceNumber(published);
    assert_eq!((levels.feed.lost(last), orders.feed.lost(last)), (0, 0));
    let (whole, lossy) = (orders.feed.counters(), levels.feed.counters());
    assert!(whole.recovered >= 1_000 && lossy.snapshots_used > 1, "{whole:?} {lossy:?}");
}

/// A hash of every packet that a venue sends, without and with what clients do in between.
fn packet_hash(seed: u64) -> (u64, u64) {
    let mut rig = Rig::new(&config(), synthetic(seed));
    let mut client = rig.log_on("ALPHA");
    rig.venue.start_flow(rig.now.mono);
    let (mut hash, mut expected) = (Fnv1a::new(), 0);
    for turn in 0..TURNS {
        if turn % 50 == 0 {
            let answers = client.reports.len();
            let order = limit(u64::from(turn) + 1, Side::Buy, 100, "580.00");
            client.order(rig.now, &order);
            rig.until(&mut client, |client| client.reports.len() > answers);
        }
        rig.poll();
        rig.advance(TURN);
        drain(&rig.incremental, |datagram| {
            let reader = PacketReader::new(datagram).expect("a packet");
            let header = reader.header();
            if !header.flags.contains(PacketFlags::HEARTBEAT) {
                expected += 1;
                assert_eq!(header.sequence.0, expected, "numbers have no hole");
                assert!(reader.messages().count() > 0);
            }
            datagram.iter().for_each(|byte| hash.write_u64(u64::from(*byte)));
        });
    }
    (hash.finish(), expected)
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    let first = packet_hash(3);
    assert_eq!(packet_hash(3), first);
    assert_ne!(packet_hash(4).0, first.0);
}

#[test]
fn a_transaction_ends_with_a_flag_and_tells_trades_before_orders_before_levels() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    for id in 1..=40 {
        client.order(rig.now, &limit(id, Side::Sell, 1, &format!("{}.00", 100 + id)));
    }
    rig.until(&mut client, |client| client.reports.len() == 40);
    drain(&rig.incremental, |_| {});
    // One order sweeps 40 levels and rests: more than one packet holds.
    client.order(rig.now, &limit(100, Side::Buy, 41, "200.00"));
    rig.until(&mut client, |client| client.reports.len() == 40 + 1 + 40 + 40);
    let (mut flags, mut kinds) = (Vec::new(), Vec::new());
    drain(&rig.incremental, |datagram| {
        let reader = PacketReader::new(datagram).expect("a packet");
        flags.push(reader.header().flags.contains(PacketFlags::LAST));
        kinds.extend(reader.messages().map(|message| match message.expect("a message") {
            Message::Event(_, EventKind::Trade(_) | EventKind::OrderDelete { .. }) => 1,
            Message::Event(_, EventKind::OrderAdd(_)) => 2,
            Message::Event(_, EventKind::Level(_)) => 3,
            other => panic!("unexpected {other:?}"),
        }));
    });
    assert!(flags.len() > 1 && flags.iter().rev().skip(1).all(|last| !last));
    assert_eq!(flags.last(), Some(&true));
    assert!(kinds.is_sorted());
    assert_eq!(kinds.len(), 40 * 2 + 1 + 41);
}

#[test]
fn what_changes_nothing_is_not_published() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    let mut killed = limit(1, Side::Buy, 5, "100.00");
    killed.time_in_force = taut_types::TimeInForce::FillOrKill;
    client.order(rig.now, &killed);
    client.order(rig.now, &crate::tests::client::market(2, Side::Sell, 5));
    client.cancel(rig.now, &cancel(3, 1, Side::Buy));
    rig.until(&mut client, |client| client.reports.len() == 5);
    assert_eq!(rig.venue.counters().published, 0);
}

#[test]
fn an_idle_feed_beats_and_a_busy_one_does_not() {
    let mut rig = Rig::new(&config(), synthetic(5));
    rig.poll();
    assert_eq!(rig.venue.counters().heartbeats, 1, "the first one at once");
    for _ in 0..100 {
        rig.tick();
    }
    assert_eq!(rig.venue.counters().heartbeats, 3);
    rig.venue.start_flow(rig.now.mono);
    for _ in 0..100 {
        rig.tick();
    }
    assert_eq!(rig.venue.counters().heartbeats, 3);
    rig.venue.stop_flow();
    let commands = rig.venue.counters().flow_commands;
    for _ in 0..60 {
        rig.tick();
    }
    assert_eq!(rig.venue.counters().flow_commands, commands);
    assert_eq!(rig.venue.counters().heartbeats, 4);
    let mut consumer = level_consumer();
    drain(&rig.incremental, |datagram| consumer.on_increment(datagram));
    assert_eq!(consumer.feed.counters().highest_seen, rig.venue.counters().published);
}

#[test]
fn a_snapshot_is_of_one_moment_though_it_is_sent_in_bursts() {
    let busy = VenueConfig { snapshot_burst_packets: 1, ..config() };
    let mut rig = Rig::new(&busy, synthetic(6));
    let mut orders = order_consumer();
    rig.venue.start_flow(rig.now.mono);
    for _ in 0..TURNS {
        rig.poll();
        rig.advance(TURN);
        drain(&rig.incremental, |datagram| orders.on_increment(datagram));
        drain(&rig.snapshot, |datagram| orders.on_snapshot(datagram));
    }
    let counters = rig.venue.counters();
    assert!(counters.snapshots > 1 && counters.snapshot_packets > counters.snapshots * 10);
    assert!(orders.is_live_after(counters.published));
    assert_eq!(order_hash(&orders.book), order_hash(rig.venue.book()));
}

#[test]
fn a_late_poll_catches_up_in_bounded_steps() {
    let mut rig = Rig::new(&config(), synthetic(8));
    rig.venue.start_flow(rig.now.mono);
    rig.advance(Nanos::from_millis(10));
    for expected in [64, 128, 192, 201, 201] {
        rig.poll();
        assert_eq!(rig.venue.counters().flow_commands, expected);
    }
    assert_eq!(rig.venue.next_deadline() - rig.now.mono, Nanos::from_micros(50));
    assert!(!rig.venue.flow_finished());
    assert!(Rig::new(&config(), Flow::None).venue.flow_finished());
}

#[test]
fn a_unicast_peer_that_does_not_listen_costs_retries_and_no_number() {
    let Rig { mut venue, now, incremental, snapshot, .. } = Rig::new(&config(), synthetic(10));
    drop((incremental, snapshot));
    venue.start_flow(now.mono);
    for turn in 0..100 {
        let later = Nanos::from_millis(turn);
        let now = crate::Now { mono: now.mono + later, utc: now.utc + later };
        venue.poll(now).expect("the venue goes on");
    }
    let counters = venue.counters();
    assert!(counters.published > 1_900 && counters.send_failures == 0, "{counters:?}");
    assert!(counters.send_retries > 0);
}
