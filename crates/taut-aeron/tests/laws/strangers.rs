//! What strangers cost: no place of anybody else's, and no more bytes than they send.

use std::net::{Ipv4Addr, SocketAddr};

use taut_aeron::frame::{DataHeader, data_flags};
use taut_aeron::frame::{RoundTripFrame, Setup, Status, control_flags, write_heartbeat};
use taut_aeron::{
    DestinationMode, Publication, PublicationConfig, Subscription, SubscriptionConfig, Target,
};
use taut_types::Nanos;

use crate::pair::{here, there};

const STREAM: i32 = 1001;

/// An address of another host.
fn host(number: u32) -> SocketAddr {
    SocketAddr::new(Ipv4Addr::from(0x0B00_0000 + number).into(), 4000)
}

fn dynamic() -> PublicationConfig {
    PublicationConfig {
        session_id: 0x1234_5678,
        initial_term_id: 40,
        term_id: 40,
        destinations: DestinationMode::Dynamic,
        is_group: true,
        ..PublicationConfig::default()
    }
}

/// Asks for SETUPs, as a receiver does that knows no session yet.
fn question(group_tag: Option<i64>) -> Status {
    Status {
        flags: control_flags::SEND_SETUP,
        session_id: 0,
        stream_id: 0,
        term_id: 0,
        term_offset: 0,
        window: 0,
        receiver_id: 9,
        group_tag,
    }
}

/// The SETUPs that go out now, by where they go.
fn setups(publication: &mut Publication, now: Nanos) -> Vec<(SocketAddr, Setup)> {
    let mut frame = [0; 2048];
    let mut sent = Vec::new();
    while let Some(transmit) = publication.poll_transmit(now, &mut frame) {
        if let (Target::One(to), Some(setup)) = (transmit.to, Setup::read(&frame)) {
            sent.push((to, setup));
        }
    }
    sent
}

#[test]
fn strangers_that_ask_for_setups_do_not_shut_a_publication_to_others() {
    let mut publication = Publication::new(dynamic()).expect("a publication");
    // Seventy of them, who ask twice a second and never name the session.
    let mut joined = None;
    for turn in 0..1000_i64 {
        let now = Nanos::from_millis(5 * turn);
        let (of, nth) = (turn as u32 % 100, turn as u32 % 70);
        if of < 70 {
            publication.handle_bytes(now, host(nth), question(None).frame().as_bytes());
        }
        if turn % 20 == 0 && turn > 400 && joined.is_none() {
            publication.handle_bytes(now, there(), question(None).frame().as_bytes());
        }
        publication.handle_timeout(now);
        for (to, setup) in setups(&mut publication, now) {
            if to == there() {
                let status = Status {
                    flags: 0,
                    session_id: setup.session_id,
                    stream_id: setup.stream_id,
                    term_id: setup.active_term_id,
                    term_offset: setup.term_offset,
                    window: 4096,
                    ..question(None)
                };
                publication.handle_bytes(now, there(), status.frame().as_bytes());
                joined.get_or_insert(turn);
            }
        }
    }
    assert!(joined.is_some_and(|turn| turn <= 440), "asked from turn 420 on: {joined:?}");
    assert!(publication.counters().statuses > 0 && publication.counters().strangers_displaced > 0);
}

/// An address is proved by naming the session and a term that is not far ahead: anybody else is
/// sent no data, and no repair of it.
#[test]
fn who_names_no_session_or_a_term_far_ahead_is_sent_nothing() {
    // Of random ids, half have 0 far ahead of them.
    let (session_id, term_id) = (0x1234_5678, -774_886_496);
    let config = PublicationConfig { session_id, initial_term_id: term_id, term_id, ..dynamic() };
    let mut publication = Publication::new(config).expect("a publication");
    let nobodys = Status { flags: 0, ..question(None) };
    let ours = Status { session_id, stream_id: STREAM, ..nobodys };
    let strangers =
        [nobodys, Status { term_id, ..nobodys }, ours, Status { term_id: term_id + 2, ..ours }];
    for (number, status) in (0..).zip(strangers) {
        publication.handle_bytes(Nanos(1), host(number), status.frame().as_bytes());
        assert!(publication.destinations().is_empty(), "{status:?}");
    }
    let joins = Status { term_id, window: 4096, ..ours };
    publication.handle_bytes(Nanos(1), there(), joins.frame().as_bytes());
    assert_eq!(publication.destinations(), [there()]);
}

#[test]
fn one_host_with_many_sessions_leaves_room_for_others() {
    let config = SubscriptionConfig { validates: false, ..SubscriptionConfig::default() };
    let mut subscription = Subscription::new(config).expect("one");
    let setup = |session_id| Setup {
        flags: 0,
        term_offset: 0,
        session_id,
        stream_id: STREAM,
        initial_term_id: 0,
        active_term_id: 0,
        term_length: 1 << 20,
        mtu: 1408,
        ttl: 0,
    };
    for session in 1..100 {
        subscription.handle_bytes(Nanos(1), here(), setup(session).frame().as_bytes());
    }
    assert_eq!((subscription.image_count(), subscription.counters().images_refused), (16, 83));
    subscription.handle_bytes(Nanos(1), host(1), setup(100).frame().as_bytes());
    assert_eq!(subscription.image_count(), 17);
}

#[test]
fn a_publication_sends_strangers_no_more_than_came_from_them() {
    for group_tag in [None, Some(7)] {
        let config = dynamic();
        let mut publication = Publication::new(config).expect("a publication");
        let mut frame = [0; 2048];
        let (mut came, mut went) = (0, 0);
        for number in 0..5000 {
            let now = Nanos::from_micros(i64::from(number) * 700);
            let asks = question(group_tag);
            let round_trip = RoundTripFrame {
                flags: control_flags::REPLY,
                session_id: config.session_id,
                stream_id: STREAM,
                echo: 5,
                reception_delta: 0,
                receiver_id: 9,
            };
            let frames = [asks.frame(), round_trip.frame()];
            for asked in frames.iter().take(1 + number as usize % 2) {
                came += asked.as_bytes().len();
                publication.handle_bytes(now, host(number), asked.as_bytes());
            }
            publication.handle_timeout(now);
            while let Some(sent) = publication.poll_transmit(now, &mut frame) {
                went += if matches!(sent.to, Target::One(_)) { sent.bytes } else { 0 };
                assert!(went <= came, "{went} for {came}");
            }
        }
        assert!(went > came / 2, "most of them are answered: {went} for {came}");
    }
}

#[test]
fn of_destinations_by_hand_only_the_one_that_asks_is_answered() {
    let config = PublicationConfig { destinations: DestinationMode::Manual, ..dynamic() };
    let mut publication = Publication::new(config).expect("a publication");
    assert!((1..=16).all(|number| publication.add_destination(host(number))));
    let asks = RoundTripFrame {
        flags: control_flags::REPLY,
        session_id: config.session_id,
        stream_id: STREAM,
        echo: 5,
        reception_delta: 0,
        receiver_id: 9,
    };
    let mut frame = [0; 2048];
    let mut echoes = |from| {
        publication.handle_bytes(Nanos(1), from, asks.frame().as_bytes());
        let mut went = Vec::new();
        while let Some(sent) = publication.poll_transmit(Nanos(1), &mut frame) {
            let echo = RoundTripFrame::read(&frame).filter(|echo| echo.echo == asks.echo);
            went.extend(echo.map(|_| sent.to));
        }
        (went, publication.counters().unanswered)
    };
    assert_eq!(echoes(host(99)), (vec![], 1));
    assert_eq!(echoes(host(7)), (vec![Target::One(host(7))], 1));
}

#[test]
fn a_subscription_sends_strangers_no_more_than_came_from_them() {
    for group_tag in [None, Some(7)] {
        let config = SubscriptionConfig { group_tag, ..SubscriptionConfig::default() };
        let mut subscription = Subscription::new(config).expect("a subscription");
        let (mut out, mut heartbeat) = ([0; 2048], [0; 64]);
        let (mut came, mut went) = (0, 0);
        for session_id in 1..5000 {
            let now = Nanos::from_micros(i64::from(session_id) * 700);
            let header = DataHeader {
                frame_length: 0,
                flags: data_flags::UNFRAGMENTED,
                is_padding: false,
                term_offset: 0,
                session_id,
                stream_id: STREAM,
                term_id: 0,
                reserved_value: 0,
            };
            let bytes = write_heartbeat(&header, &mut heartbeat);
            came += bytes;
            subscription.handle_bytes(now, host(session_id.cast_unsigned()), &heartbeat[..bytes]);
            while let Some(sent) = subscription.poll_transmit(now, &mut out) {
                went += sent.bytes;
                assert!(went <= came, "{went} for {came}");
            }
        }
        assert!(went > came / 2, "most of them are answered: {went} for {came}");
        assert!(subscription.counters().unanswered > 0);
    }
}
