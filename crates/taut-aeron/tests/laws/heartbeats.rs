//! Heartbeats and round trips.

use taut_aeron::{PublicationConfig, SubscriptionConfig};
use taut_types::Nanos;

use crate::pair::{NAK, Pair, ROUND_TRIP};

const DATA: u8 = 1;
const DELAY: Nanos = Nanos::from_micros(500);

fn pair() -> Pair {
    let (publication, subscription) = (PublicationConfig::default(), SubscriptionConfig::default());
    let mut pair = Pair::connected_over(DELAY, publication, subscription);
    pair.step = Nanos::from_micros(10);
    pair.run_for(Nanos::from_millis(100));
    pair
}

#[test]
fn a_lost_tail_shows_within_two_round_trips() {
    let mut pair = pair();
    pair.feedback.clear();
    pair.publication.offer(&[1; 70]).expect("room");
    pair.turn_losing(|_| true);
    let lost = pair.now;
    pair.run_for(Nanos::from_millis(4));
    let nak = pair.feedback.iter().find(|(_, kind)| *kind == NAK).expect("it showed").0;
    assert!(nak - lost <= Nanos::from_micros(2020), "{}", nak - lost);
    assert_eq!(pair.got.len(), 1);
}

#[test]
fn a_heartbeat_follows_data_after_a_round_trip_and_then_ever_more_slowly_up_to_100_ms() {
    let mut pair = pair();
    pair.control.clear();
    pair.publication.offer(&[1; 70]).expect("room");
    pair.turn();
    let sent = pair.now;
    pair.run_for(Nanos::from_secs(1));
    let mut before = sent;
    let mut spans = Vec::new();
    for (at, _) in pair.control.iter().filter(|(_, kind)| *kind == DATA) {
        spans.push((*at - before).0 / 10_000);
        before = *at;
    }
    assert!((98..=110).contains(&spans[0]), "a round trip of 1 ms: {spans:?}");
    for two in spans.windows(2) {
        let wanted = (two[0] * 2).min(10_000);
        assert!((two[1] - wanted).abs() <= 3, "{spans:?}");
    }
    assert_eq!(spans.last(), Some(&10_000));
}

#[test]
fn either_side_measures_round_trips() {
    let mut pair = pair();
    let measured = pair.publication.round_trip_time().expect("measured");
    assert!((1_000_000..1_100_000).contains(&measured.0), "{measured}");
    (pair.control, pair.feedback) = (Vec::new(), Vec::new());
    pair.run_for(Nanos::from_secs(1));
    // Ten questions of its own, ten echoes of the other's.
    for frames in [&pair.control, &pair.feedback] {
        let count = Pair::count(frames, ROUND_TRIP);
        assert!((18..=22).contains(&count), "{count}");
    }
}
