//! Outages and restarts: an image ends with its last position, the next says where it joins.

use taut_aeron::{ImageEnd, Publication, PublicationConfig, SubscriptionConfig, SubscriptionEvent};
use taut_types::Nanos;

use crate::pair::Pair;

/// Where images began, and where and why they ended.
fn images(pair: &Pair) -> (Vec<i64>, Vec<(i64, ImageEnd)>) {
    let (mut begun, mut ended) = (Vec::new(), Vec::new());
    for event in &pair.events {
        match event {
            SubscriptionEvent::ImageAvailable { join_position, .. } => begun.push(*join_position),
            SubscriptionEvent::ImageUnavailable { position, end, .. } => {
                ended.push((*position, *end));
            }
            _ => {}
        }
    }
    (begun, ended)
}

fn offer(pair: &mut Pair, count: usize) {
    for _ in 0..count {
        pair.publication.offer(&[1; 32]).expect("room");
        pair.turn();
    }
}

#[test]
fn after_an_outage_beyond_the_liveness_time_what_was_received_and_the_gap_are_what_was_sent() {
    let (publication, subscription) = (PublicationConfig::default(), SubscriptionConfig::default());
    let mut pair = Pair::connected(publication, subscription);
    offer(&mut pair, 50);
    pair.set_cut(true);
    offer(&mut pair, 30);
    pair.step = Nanos::from_millis(1);
    pair.run_for(Nanos::from_secs(11));
    assert!(!pair.publication.is_connected() && pair.subscription.image_count() == 0);
    pair.set_cut(false);
    while !pair.publication.is_connected() {
        pair.turn();
    }
    offer(&mut pair, 20);
    pair.run_for(Nanos::from_millis(100));
    let (begun, ended) = images(&pair);
    assert_eq!(ended, [(50 * 64, ImageEnd::Silent)]);
    assert_eq!(begun, [0, 80 * 64]);
    let gap = begun[1] - ended[0].0;
    assert_eq!(pair.got.len() as i64 * 64 + gap, pair.publication.position());
}

#[test]
fn a_shorter_outage_loses_nothing() {
    let (publication, subscription) = (PublicationConfig::default(), SubscriptionConfig::default());
    let mut pair = Pair::connected(publication, subscription);
    offer(&mut pair, 50);
    pair.set_cut(true);
    offer(&mut pair, 30);
    pair.step = Nanos::from_millis(1);
    pair.run_for(Nanos::from_secs(4));
    pair.set_cut(false);
    offer(&mut pair, 20);
    pair.run_for(Nanos::from_secs(1));
    assert_eq!((pair.got.len(), images(&pair)), (100, (vec![0], vec![])));
}

#[test]
fn a_publisher_that_starts_anew_under_its_old_session_ends_the_image_and_begins_the_next() {
    let (config, subscription) = (PublicationConfig::default(), SubscriptionConfig::default());
    let mut pair = Pair::connected(config, subscription);
    offer(&mut pair, 50);
    let config = PublicationConfig { initial_term_id: 900, term_id: 901, ..config };
    pair.publication = Publication::new(config).expect("a publication");
    pair.step = Nanos::from_millis(1);
    pair.run_for(Nanos::from_secs(3));
    offer(&mut pair, 20);
    pair.run_for(Nanos::from_millis(100));
    let (begun, ended) = images(&pair);
    assert_eq!(ended, [(50 * 64, ImageEnd::Restarted)]);
    assert_eq!((begun, pair.got.len()), (vec![0, 256 * 1024], 70));
}

#[test]
fn a_session_that_ended_comes_back_or_with_rejoin_false_does_not() {
    for rejoins in [true, false] {
        let subscription = SubscriptionConfig { rejoins, ..SubscriptionConfig::default() };
        let mut pair = Pair::connected(PublicationConfig::default(), subscription);
        pair.step = Nanos::from_millis(1);
        pair.set_cut(true);
        pair.run_for(Nanos::from_secs(11));
        pair.set_cut(false);
        pair.run_for(Nanos::from_secs(3));
        assert_eq!(pair.subscription.image_count(), usize::from(rejoins));
    }
}
