//! How streams end: closed, taken back, refused, left.

use taut_aeron::frame::{ErrorFrame, Nak, Status, control_flags};
use taut_aeron::{
    ImageEnd, OfferError, Publication, PublicationConfig, PublicationEvent, PublicationState,
    SubscriptionConfig, SubscriptionEvent,
};
use taut_types::Nanos;

use crate::pair::{Pair, here, there};

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

/// A stock receiver at the stream's beginning, which says where it is only when it has come a
/// quarter of its window further.
fn stock_status(publication: &Publication, flags: u8) -> Status {
    let config = publication.config();
    Status {
        flags,
        session_id: config.session_id,
        stream_id: config.stream_id,
        term_id: config.term_id,
        term_offset: 0,
        window: 128 * 1024,
        receiver_id: 3,
        group_tag: None,
    }
}

/// A publication whose stock receiver has said nothing since it has ten messages.
fn with_stock_receiver() -> Publication {
    let mut publication = Publication::new(PublicationConfig::default()).expect("a publication");
    let status = stock_status(&publication, 0);
    publication.handle_bytes(Nanos(1), there(), status.frame().as_bytes());
    for _ in 0..10 {
        publication.offer(&[1; 70]).expect("room");
    }
    while let Some(run) = publication.next_run(Nanos(1)) {
        publication.run_sent(Nanos(1), &run);
    }
    publication
}

#[test]
fn what_a_stock_receiver_has_is_known_though_it_repeats_itself() {
    let mut publication = with_stock_receiver();
    let status = stock_status(&publication, 0);
    for millis in [200, 400, 600] {
        assert_eq!(publication.unacknowledged_bytes(), publication.tail());
        publication.handle_bytes(Nanos::from_millis(millis), there(), status.frame().as_bytes());
    }
    publication.handle_bytes(Nanos::from_millis(800), there(), status.frame().as_bytes());
    assert_eq!(publication.unacknowledged_bytes(), 0);
    // It lacks something after all.
    let nak = Nak {
        session_id: status.session_id,
        stream_id: status.stream_id,
        term_id: status.term_id,
        term_offset: 128,
        length: 128,
    };
    publication.handle_bytes(Nanos::from_millis(900), there(), nak.frame().as_bytes());
    assert_eq!(publication.unacknowledged_bytes(), publication.tail());
}

#[test]
fn a_stock_receiver_that_has_the_end_has_everything() {
    let mut publication = with_stock_receiver();
    let now = Nanos::from_millis(10);
    publication.close(now);
    let status = stock_status(&publication, control_flags::STATUS_END_OF_STREAM);
    publication.handle_bytes(now, there(), status.frame().as_bytes());
    assert_eq!(publication.state(), PublicationState::Done);
    assert_eq!(publication.unacknowledged_bytes(), 0);
}

#[test]
fn a_closed_publication_does_not_wait_for_an_endpoint_where_nobody_listens() {
    let mut publication = with_stock_receiver();
    let now = Nanos::from_millis(10);
    publication.handle_unreachable(now);
    assert!(publication.is_connected(), "it may come back while the stream goes on");
    publication.close(now);
    publication.handle_unreachable(now);
    assert_eq!(publication.state(), PublicationState::Done);
    assert_eq!(publication.unacknowledged_bytes(), publication.tail(), "and has nothing");
}

#[test]
fn a_receiver_that_left_is_not_counted_though_what_it_said_before_comes_late() {
    let mut publication = with_stock_receiver();
    let status = stock_status(&publication, 0);
    let end = stock_status(&publication, control_flags::STATUS_END_OF_STREAM);
    publication.handle_bytes(Nanos::from_millis(5), there(), end.frame().as_bytes());
    publication.handle_bytes(Nanos::from_millis(6), there(), status.frame().as_bytes());
    assert_eq!((publication.receiver_count(), publication.is_connected()), (0, false));
    // It comes back.
    publication.handle_bytes(Nanos::from_millis(300), there(), status.frame().as_bytes());
    assert_eq!((publication.receiver_count(), publication.is_connected()), (1, true));
}

#[test]
fn an_error_that_is_not_the_receivers_removes_nobody() {
    let mut publication = with_stock_receiver();
    let status = stock_status(&publication, 0);
    let error = ErrorFrame {
        session_id: status.session_id,
        stream_id: status.stream_id,
        receiver_id: status.receiver_id,
        group_tag: None,
        code: 7,
        text: b"not for you",
    };
    let mut say = |from, error: ErrorFrame<'_>| {
        let mut bytes = [0; 64];
        let length = error.write(&mut bytes);
        publication.handle_bytes(Nanos(2), from, &bytes[..length]);
        (publication.receiver_count(), publication.counters().invalid)
    };
    assert_eq!(say(there(), ErrorFrame { session_id: 2, ..error }), (1, 0), "another session's");
    assert_eq!(say(there(), ErrorFrame { stream_id: 2, ..error }), (1, 0), "another stream's");
    assert_eq!(say(there(), ErrorFrame { receiver_id: 4, ..error }), (1, 1), "nobody's");
    assert_eq!(say(here(), error), (1, 2), "from elsewhere");
    assert_eq!(say(there(), error), (0, 2), "its own");
}
