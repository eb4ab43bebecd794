//! `ssc=true`: spies stand for receivers.

use taut_aeron::{
    OfferError, PublicationConfig, PublicationEvent, PublicationState, SubscriptionConfig,
};
use taut_types::Nanos;

use crate::pair::{Pair, SETUP};

#[test]
fn spies_alone_connect_a_publication_and_what_it_takes_counts_as_sent() {
    let mut pair = Pair::new(PublicationConfig::default(), SubscriptionConfig::default());
    pair.set_cut(true);
    assert_eq!(pair.publication.offer(&[1; 70]), Err(OfferError::NotConnected));
    pair.publication.simulate_connection(true);
    for _ in 0..10_000 {
        pair.publication.offer(&[1; 70]).expect("nobody holds it back");
        pair.turn();
        assert!(pair.publication.next_run(pair.now).is_none(), "nothing is sent to nobody");
    }
    let publication = &pair.publication;
    assert_eq!(publication.position(), publication.tail());
    assert_eq!((publication.unacknowledged_bytes(), publication.counters().sent_bytes), (0, 0));
    assert!(Pair::count(&pair.control, SETUP) >= 4, "it goes on to say that it is there");
    assert_eq!(pair.sent_events, [PublicationEvent::Connected]);
    pair.publication.simulate_connection(false);
    assert_eq!(pair.publication.offer(&[1; 70]), Err(OfferError::NotConnected));
}

#[test]
fn a_receiver_joins_where_the_spies_have_come_to_and_holds_the_stream_from_then_on() {
    let delay = Nanos::from_millis(2);
    let mut pair = Pair::new(PublicationConfig::default(), SubscriptionConfig::default());
    pair.set_delay(delay);
    pair.publication.simulate_connection(true);
    let mut joined = None;
    for count in 0..40_000u64 {
        // About 13 MB/s: while a receiver joins, more passes than the log holds.
        for _ in 0..5 {
            let _ = pair.publication.offer(&[count as u8; 100]);
        }
        pair.turn();
        if joined.is_none() && pair.publication.limit() > pair.publication.position() {
            joined = Some(pair.now);
            pair.got.clear();
        }
    }
    let joined = joined.expect("it joined");
    assert!(joined < Nanos::from_secs(1), "{joined}");
    assert!(pair.got.len() > 10_000, "{}", pair.got.len());
    pair.reads = 0;
    for _ in 0..1000 {
        while pair.publication.offer(&[1; 100]).is_ok() {}
        pair.turn();
    }
    let room = pair.publication.limit() - pair.publication.position();
    assert!((0..160).contains(&room), "the receiver holds it: {room}");
    assert!(pair.got.windows(2).all(|two| two[1].1 - two[0].1 >= 160), "in order");
}

#[test]
fn a_publication_that_nobody_but_spies_has_heard_does_not_linger_at_its_close() {
    for stays in [true, false] {
        let mut pair = Pair::new(PublicationConfig::default(), SubscriptionConfig::default());
        pair.set_cut(true);
        pair.publication.simulate_connection(true);
        pair.publication.offer(&[1; 70]).expect("nobody holds it back");
        pair.turn();
        pair.publication.offer(&[2; 70]).expect("nobody holds it back");
        pair.publication.simulate_connection(stays);
        pair.publication.close(pair.now);
        let is_done = pair.publication.state() == PublicationState::Done;
        assert_eq!(is_done, stays, "what spies that left did not pass may be asked for");
        if stays {
            assert_eq!(pair.publication.unacknowledged_bytes(), 0);
            assert_eq!(pair.publication.poll_timeout(), None);
        }
    }
}

#[test]
fn a_publication_of_spies_does_not_linger_for_a_receiver_that_has_left() {
    let mut pair = Pair::connected(PublicationConfig::default(), SubscriptionConfig::default());
    pair.publication.simulate_connection(true);
    pair.publication.offer(&[1; 70]).expect("room");
    pair.run_for(Nanos::from_millis(1));
    // It falls silent, and the spies go on alone.
    pair.set_cut(true);
    pair.step = Nanos::from_millis(1);
    pair.run_for(Nanos::from_secs(6));
    pair.publication.offer(&[2; 70]).expect("nobody holds it back");
    pair.publication.close(pair.now);
    assert_eq!(pair.publication.state(), PublicationState::Done);
}
