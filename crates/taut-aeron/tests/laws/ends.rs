//! How streams end: closed, taken back, refused, left.

use taut_aeron::{
    ImageEnd, OfferError, PublicationConfig, PublicationEvent, PublicationState,
    SubscriptionConfig, SubscriptionEvent,
};
use taut_types::Nanos;

use crate::pair::{Pair, here};

fn pair() -> Pair {
    let (publication, subscription) = (PublicationConfig::default(), SubscriptionConfig::default());
    let mut pair = Pair::connected(publication, subscription);
    pair.publication.offer(&[1; 70]).expect("room");
    pair.turn();
    pair
}

/// Why the image ended, and where.
fn end(pair: &Pair) -> Option<(ImageEnd, i64)> {
    pair.events.iter().find_map(|event| match event {
        SubscriptionEvent::ImageUnavailable { end, position, .. } => Some((*end, *position)),
        _ => None,
    })
}

#[test]
fn a_closed_stream_ends_with_all_of_it_read_and_its_publication_is_done_at_once() {
    let mut pair = pair();
    pair.publication.offer(&[2; 5000]).expect("room");
    let closed = pair.now;
    pair.publication.close(closed);
    assert_eq!(pair.publication.offer(&[3; 70]), Err(OfferError::Closed));
    while pair.publication.state() != PublicationState::Done {
        pair.turn();
    }
    assert!(pair.now - closed < Nanos::from_millis(2), "it need not linger");
    assert_eq!(end(&pair), Some((ImageEnd::EndOfStream, pair.publication.tail())));
    assert_eq!(pair.got.len(), 2);
    let done = PublicationEvent::Done { unacknowledged_bytes: 0 };
    assert_eq!(pair.sent_events.last(), Some(&done));
}

#[test]
fn a_stream_that_is_taken_back_ends_where_it_was_read() {
    let mut pair = pair();
    let position = pair.publication.position();
    let now = pair.now;
    pair.publication.revoke(now);
    pair.run_for(Nanos::from_millis(10));
    assert_eq!(end(&pair), Some((ImageEnd::Revoked, position)));
}

#[test]
fn a_stream_that_is_refused_says_why_and_is_not_taken_again() {
    let mut pair = pair();
    let (now, session) = (pair.now, pair.publication.config().session_id);
    assert!(pair.subscription.refuse(now, session, 42, b"not today"));
    pair.run_for(Nanos::from_millis(10));
    let receiver_id = pair.subscription.config().receiver_id;
    let refused = PublicationEvent::Refused { receiver_id, code: 42 };
    assert_eq!(
        pair.sent_events,
        [PublicationEvent::Connected, refused, PublicationEvent::Disconnected,]
    );
    assert_eq!(end(&pair).map(|(end, _)| end), Some(ImageEnd::Refused));
    pair.step = Nanos::from_millis(1);
    pair.run_for(Nanos::from_secs(4));
    assert!(!pair.publication.is_connected() && pair.subscription.image_count() == 0);
}

#[test]
fn a_receiver_that_leaves_is_not_waited_for() {
    let mut pair = pair();
    let now = pair.now;
    pair.subscription.close(now);
    pair.run_for(Nanos::from_millis(10));
    assert!(!pair.publication.is_connected());
    assert_eq!(end(&pair).map(|(end, _)| end), Some(ImageEnd::Left));
}

/// Images that began, and that ended.
fn images(pair: &Pair) -> (usize, usize) {
    let count = |is_it: fn(&&SubscriptionEvent) -> bool| pair.events.iter().filter(is_it).count();
    (
        count(|event| matches!(event, SubscriptionEvent::ImageAvailable { .. })),
        count(|event| matches!(event, SubscriptionEvent::ImageUnavailable { .. })),
    )
}

/// As [`pair`]; its subscription takes a SETUP at its word.
fn trusting_pair() -> Pair {
    let subscription = SubscriptionConfig { validates: false, ..SubscriptionConfig::default() };
    let mut pair = Pair::connected(PublicationConfig::default(), subscription);
    pair.publication.offer(&[1; 70]).expect("room");
    pair.turn();
    pair
}

/// A SETUP that the network has held back.
fn late_setup(pair: &mut Pair) {
    let setup = pair.setup.clone().expect("the stream began with one");
    pair.subscription.handle_bytes(pair.now, here(), &setup);
    pair.run_for(Nanos::from_millis(10));
}

#[test]
fn a_late_setup_begins_no_second_image_while_the_first_one_is_read() {
    let mut pair = trusting_pair();
    pair.reads = 0;
    pair.publication.offer(&[2; 5000]).expect("room");
    pair.run_for(Nanos::from_millis(10));
    pair.set_cut(true);
    pair.step = Nanos::from_millis(1);
    pair.run_for(Nanos::from_secs(11));
    late_setup(&mut pair);
    assert_eq!(images(&pair), (1, 0), "what was left behind is not read yet");
    pair.reads = usize::MAX;
    pair.run_for(Nanos::from_millis(10));
    assert_eq!((images(&pair), pair.got.len()), ((1, 1), 2));
}

#[test]
fn a_late_setup_begins_no_image_below_where_the_last_one_ended() {
    let mut pair = trusting_pair();
    pair.publication.close(pair.now);
    pair.run_for(Nanos::from_millis(800));
    assert_eq!(images(&pair), (1, 1));
    late_setup(&mut pair);
    assert_eq!((images(&pair), pair.subscription.image_count()), ((1, 1), 0));
}
