//! What strangers can do: little, and it is counted.

use std::net::SocketAddr;

use taut_aeron::frame::{Nak, RoundTripFrame, Setup, Status, control_flags};
use taut_aeron::{
    DestinationMode, Publication, PublicationConfig, Subscription, SubscriptionConfig,
};
use taut_types::Nanos;

use crate::pair::{Pair, here, there};

const STREAM: i32 = 1001;

fn setup(session_id: i32) -> Setup {
    Setup {
        flags: 0,
        term_offset: 0,
        session_id,
        stream_id: STREAM,
        initial_term_id: 0,
        active_term_id: 0,
        term_length: 1 << 20,
        mtu: 1408,
        ttl: 0,
    }
}

fn status(config: &PublicationConfig) -> Status {
    Status {
        flags: 0,
        session_id: config.session_id,
        stream_id: config.stream_id,
        term_id: config.term_id,
        term_offset: 0,
        window: 4096,
        receiver_id: 3,
        group_tag: None,
    }
}

#[test]
fn no_memory_is_taken_before_the_source_has_echoed_what_it_was_sent() {
    let mut subscription = Subscription::new(SubscriptionConfig::default()).expect("one");
    let (mut out, now) = ([0; 2048], Nanos(1));
    let taken = allocation_counter::measure(|| {
        for session in 1..5000 {
            subscription.handle_bytes(now, here(), setup(session).frame().as_bytes());
            while subscription.poll_transmit(now, &mut out).is_some() {}
        }
    });
    assert_eq!((taken.count_total, subscription.image_count()), (0, 0));
    let now = Nanos::from_secs(5);
    subscription.handle_bytes(now, here(), setup(9).frame().as_bytes());
    let sent = subscription.poll_transmit(now, &mut out).expect("a question");
    let asked = RoundTripFrame::read(&out[..sent.bytes]).expect("about the round trip");
    let stranger: SocketAddr = "10.9.9.9:1".parse().expect("an address");
    let echo = RoundTripFrame { flags: 0, ..asked };
    let wrong = RoundTripFrame { echo: asked.echo ^ 1, ..echo };
    for (from, frame) in [(here(), wrong), (stranger, echo)] {
        subscription.handle_bytes(now, from, frame.frame().as_bytes());
        assert_eq!(subscription.image_count(), 0);
    }
    assert_eq!(subscription.counters().invalid, 2);
    subscription.handle_bytes(now, here(), echo.frame().as_bytes());
    assert_eq!(subscription.image_count(), 1);
}

#[test]
fn a_source_that_is_named_is_joined_at_its_first_setup() {
    let config = SubscriptionConfig { validates: false, ..SubscriptionConfig::default() };
    let mut subscription = Subscription::new(config).expect("one");
    subscription.handle_bytes(Nanos(1), here(), setup(9).frame().as_bytes());
    assert_eq!(subscription.image_count(), 1);
}

#[test]
fn images_are_bounded() {
    let config = SubscriptionConfig {
        validates: false,
        images_max: 4,
        images_per_host_max: 4,
        ..SubscriptionConfig::default()
    };
    let mut subscription = Subscription::new(config).expect("one");
    for session in 1..100 {
        subscription.handle_bytes(Nanos(1), here(), setup(session).frame().as_bytes());
    }
    assert_eq!((subscription.image_count(), subscription.counters().images_refused), (4, 95));
}

#[test]
fn an_address_becomes_a_destination_by_the_session_and_a_valid_term_and_by_nothing_else() {
    let config = PublicationConfig {
        session_id: 0x1234_5678,
        initial_term_id: 40,
        term_id: 42,
        destinations: DestinationMode::Dynamic,
        is_group: true,
        ..PublicationConfig::default()
    };
    let mut publication = Publication::new(config).expect("a publication");
    let right = status(&config);
    let wrong = [
        Status { session_id: 0x1234_5679, ..right },
        Status { stream_id: STREAM + 1, ..right },
        Status { term_id: 39, ..right },
        Status { term_offset: 7, ..right },
        Status { window: -1, ..right },
        Status { flags: control_flags::SEND_SETUP, ..right },
    ];
    let nak = Nak {
        session_id: config.session_id,
        stream_id: STREAM,
        term_id: 42,
        term_offset: 0,
        length: 1408,
    };
    for frame in wrong.map(|status| status.frame()).into_iter().chain([nak.frame()]) {
        publication.handle_bytes(Nanos(1), there(), frame.as_bytes());
        assert!(publication.destinations().is_empty() && !publication.is_connected());
    }
    publication.handle_bytes(Nanos(1), there(), right.frame().as_bytes());
    assert_eq!(publication.destinations(), [there()]);
    assert!(publication.is_connected());
}

#[test]
fn what_is_malformed_or_forged_is_counted_on_either_side() {
    let (publication, subscription) = (PublicationConfig::default(), SubscriptionConfig::default());
    let mut pair = Pair::connected(publication, subscription);
    let now = pair.now;
    let mut data = [0u8; 64];
    (data[0], data[6]) = (64, 1);
    data[12..16].copy_from_slice(&publication.session_id.to_le_bytes());
    data[16..20].copy_from_slice(&STREAM.to_le_bytes());
    let beyond = {
        let mut data = data;
        data[8..12].copy_from_slice(&(publication.term_length + 32).to_le_bytes());
        data
    };
    let version = {
        let mut data = data;
        data[4] = 1;
        data
    };
    let stranger: SocketAddr = "10.9.9.9:1".parse().expect("an address");
    let forged: [(SocketAddr, &[u8]); 6] = [
        (here(), &[]),
        (here(), &[1, 2, 3]),
        (here(), &data[..40]),
        (here(), &version),
        (here(), &beyond),
        (stranger, &data),
    ];
    for (count, (from, bytes)) in (1..).zip(forged) {
        pair.subscription.handle_bytes(now, from, bytes);
        assert_eq!(pair.subscription.counters().invalid, count, "{bytes:?}");
    }
    let before = pair.publication.counters().invalid;
    let right = status(&publication);
    let nak = Nak {
        session_id: right.session_id,
        stream_id: STREAM,
        term_id: 0,
        term_offset: 0,
        length: publication.term_length + 32,
    };
    let echo = RoundTripFrame {
        flags: 0,
        session_id: right.session_id,
        stream_id: STREAM,
        echo: 42,
        reception_delta: i64::MIN,
        receiver_id: 1,
    };
    let forged = [
        Status { window: -1, ..right }.frame(),
        Status { term_id: -1, ..right }.frame(),
        Status { term_id: 30_000, ..right }.frame(),
        nak.frame(),
    ];
    for (count, frame) in (1..).zip(forged) {
        pair.publication.handle_bytes(now, there(), frame.as_bytes());
        assert_eq!(pair.publication.counters().invalid - before, count, "{frame:?}");
    }
    let measured = pair.publication.round_trip_time();
    pair.publication.handle_bytes(now, there(), echo.frame().as_bytes());
    assert_eq!(pair.publication.round_trip_time(), measured, "an echo of nothing");
    pair.publication.offer(&[1; 70]).expect("the stream lives");
    pair.run_for(Nanos::from_millis(1));
    assert_eq!(pair.got.len(), 1);
}
