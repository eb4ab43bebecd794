//! Each parameter does what it says: on the wire, against the other end by hand.

use taut_aeron::frame::{FrameKind, Nak, data_flags};
use taut_channel::{Closing, Event, OfferError, Publication, Subscription};
use taut_sys::monotonic;
use taut_testkit::{own_address, own_group};
use taut_types::Nanos;

use super::ends::{PATIENCE, opening, uri};
use super::raw::{BEGIN, RawReceiver, RawSender, STREAM};

const MS: fn(i64) -> Nanos = Nanos::from_millis;

#[test]
fn the_setup_says_what_the_uri_says_and_otherwise_the_defaults() {
    let mut receiver = RawReceiver::new(1);
    let mut publication = receiver.publication(
        "|term-length=128k|mtu=512|init-term-id=-3|term-id=4|term-offset=96|session-id=-77|ttl=5",
    );
    let setup = receiver.setup(&mut publication, BEGIN);
    assert_eq!((setup.term_length, setup.mtu, setup.ttl), (128 * 1024, 512, 5));
    assert_eq!((setup.session_id, setup.stream_id), (-77, STREAM));
    assert_eq!((setup.initial_term_id, setup.active_term_id, setup.term_offset), (-3, 4, 96));

    let mut sessions = [1, 2].map(|id| {
        let mut receiver = RawReceiver::new(id);
        let mut publication = receiver.publication("");
        let setup = receiver.setup(&mut publication, BEGIN);
        assert_eq!((setup.term_length, setup.mtu, setup.ttl), (256 * 1024, 1408, 0));
        assert_eq!((setup.active_term_id, setup.term_offset), (setup.initial_term_id, 0));
        setup.session_id
    });
    sessions.sort_unstable();
    assert_ne!(sessions[0], sessions[1], "random");
}

#[test]
fn no_datagram_is_longer_than_the_mtu() {
    for mtu in [256, 1408] {
        let mut receiver = RawReceiver::new(1);
        let mut publication = receiver.publication(&format!("|mtu={mtu}"));
        let setup = receiver.setup(&mut publication, BEGIN);
        receiver.say(&mut publication, BEGIN, &setup, (65_536, None));
        publication.offer(BEGIN, &[1; 4000]).expect("room");
        let (mut longest, mut end) = (0, 0);
        while end < 4000 / (mtu - 32) {
            let data = receiver.data(&mut publication, BEGIN, |header| header.frame_length > 0);
            (longest, end) = (longest.max(data.1), end + 1);
        }
        assert_eq!(longest, mtu);
    }
}

#[test]
fn linger_is_how_long_a_closed_publication_waits_for_who_has_not_everything() {
    for (more, millis) in [("|linger=1s", 1000), ("|linger=0", 0), ("", 5000)] {
        let mut receiver = RawReceiver::new(1);
        let mut publication = receiver.publication(more);
        let setup = receiver.setup(&mut publication, BEGIN);
        receiver.say(&mut publication, BEGIN, &setup, (65_536, None));
        publication.offer(BEGIN, b"never acknowledged").expect("room");
        publication.close(BEGIN);
        publication.work(BEGIN);
        let drained = BEGIN + MS(1);
        publication.work(drained);
        publication.work(drained + MS(millis - 10));
        let is_closed = publication.closing() == Closing::Closed;
        assert_eq!(is_closed, millis == 0, "{more}");
        publication.work(drained + MS(millis + 10));
        assert_eq!(publication.closing(), Closing::Closed, "{more}");
        assert!(publication.unacknowledged_bytes() > 0);
    }
}

#[test]
fn eos_says_on_the_wire_that_the_stream_has_ended_or_does_not() {
    for (more, is_said) in [("", true), ("|eos=true", true), ("|eos=false", false)] {
        let mut receiver = RawReceiver::new(1);
        let mut publication = receiver.publication(more);
        let setup = receiver.setup(&mut publication, BEGIN);
        receiver.say(&mut publication, BEGIN, &setup, (65_536, None));
        receiver.data(&mut publication, BEGIN + MS(100), |header| header.frame_length == 0);
        publication.close(BEGIN + MS(150));
        let mut heard = Vec::new();
        for millis in [200, 400, 600] {
            let now = BEGIN + MS(millis);
            let beat = receiver.data(&mut publication, now, |header| header.frame_length == 0);
            heard.push(beat.0.flags & data_flags::END_OF_STREAM != 0);
        }
        assert_eq!(heard.contains(&true), is_said, "{more}: {heard:?}");
    }
}

/// A publication to two receivers, added by hand, that both have heard it.
fn to_two(more: &str) -> (Publication, [RawReceiver; 2], taut_aeron::frame::Setup) {
    let mut receivers = [RawReceiver::new(1), RawReceiver::new(2)];
    let [one, two] = receivers.each_ref().map(RawReceiver::endpoint);
    let send =
        format!("aeron:udp?endpoint={one},{two}|control-mode=manual|stream-id={STREAM}{more}");
    let mut publication = Publication::open(&uri(&send), &opening(0.0, 0)).expect("send");
    let setup = receivers[0].setup(&mut publication, BEGIN);
    receivers[1].setup(&mut publication, BEGIN);
    (publication, receivers, setup)
}

#[test]
fn fc_says_how_many_and_which_receivers_connect_a_publication() {
    for (more, tags, connected) in [
        ("", [None, None], [true, true]),
        ("|fc=max", [None, None], [true, true]),
        ("|fc=min", [None, None], [true, true]),
        ("|fc=min,g:/2", [None, None], [false, true]),
        ("|fc=tagged,g:7", [None, Some(7)], [false, true]),
        ("|fc=tagged,g:7", [Some(8), Some(9)], [false, false]),
        ("|fc=tagged,g:7/2", [Some(7), Some(7)], [false, true]),
    ] {
        let (mut publication, receivers, setup) = to_two(more);
        for ((receiver, tag), is_connected) in receivers.iter().zip(tags).zip(connected) {
            receiver.say(&mut publication, BEGIN, &setup, (65_536, tag));
            assert_eq!(publication.is_connected(), is_connected, "{more} {tag:?}");
        }
    }
}

#[test]
fn fc_says_who_holds_the_sender_back_and_its_timeout_for_how_long_after_he_fell_silent() {
    for (more, flows, flows_later) in [
        ("|fc=max", true, true),
        ("|fc=min", false, false),
        ("|fc=min,t:1s", false, true),
        ("|fc=tagged,g:7", true, true),
    ] {
        let (mut publication, mut receivers, setup) = to_two(more);
        // One has no room, the other one has; none joins that is behind when there is one.
        receivers[1].say(&mut publication, BEGIN, &setup, (0, Some(8)));
        receivers[0].say(&mut publication, BEGIN, &setup, (65_536, Some(7)));
        publication.offer(BEGIN, b"a message").expect("room in the log");
        for (millis, flows) in [(700, flows), (1100, flows_later && !flows)] {
            let now = BEGIN + MS(millis);
            receivers[0].say(&mut publication, now, &setup, (65_536, Some(7)));
            publication.work(now + MS(1));
            if flows {
                receivers[0].data(&mut publication, now + MS(1), |data| data.frame_length > 0);
            }
            let mut rest = std::iter::from_fn(|| receivers[0].next());
            assert!(!rest.any(|frame| frame.len() > 40 && frame[6] == 1), "{more} {millis}");
        }
    }
}

#[test]
fn status_messages_say_the_window_of_rcv_wnd_and_cc_and_the_tag_of_gtag() {
    for (more, window, tag) in [
        ("", 128 * 1024, None),
        ("|rcv-wnd=64k|gtag=-9", 64 * 1024, Some(-9)),
        ("|rcv-wnd=64k|cc=static", 64 * 1024, None),
        ("|rcv-wnd=64k|cc=cubic", 10 * 1408, None),
    ] {
        let (sender, mut subscription) = RawSender::open(more);
        let status = sender.join(&mut subscription, BEGIN);
        assert_eq!((status.window, status.group_tag), (window, tag), "{more}");
    }
}

#[test]
fn a_source_is_asked_to_prove_itself_before_the_image_unless_validate_is_off() {
    let (sender, mut subscription) = RawSender::open("");
    sender.send_setup();
    sender.until(&mut subscription, BEGIN, FrameKind::RoundTrip);
    subscription.poll(BEGIN + MS(1), 64, |_| {});
    assert_eq!(subscription.image_count(), 0);

    let (sender, mut subscription) = RawSender::open("|validate=off");
    sender.send_setup();
    sender.until(&mut subscription, BEGIN, FrameKind::Status);
    assert_eq!(subscription.image_count(), 1);
}

#[test]
fn a_subscription_with_a_session_id_hears_no_other() {
    let (mut sender, mut subscription) = RawSender::open("|session-id=6");
    sender.send_setup();
    sender.setup.session_id = 6;
    let status = sender.join(&mut subscription, BEGIN);
    assert_eq!((status.session_id, subscription.image_count()), (6, 1));
    let session = match subscription.poll_event() {
        Some(Event::ImageAvailable { session, .. }) => session,
        other => panic!("{other:?}"),
    };
    assert_eq!((session, subscription.poll_event()), (6, None));
}

#[test]
fn a_gap_is_asked_for_after_nak_delay_and_without_reliable_never() {
    for (more, millis) in [("", 0), ("|nak-delay=50ms", 50)] {
        let (sender, mut subscription) = RawSender::open(more);
        sender.join(&mut subscription, BEGIN);
        sender.send_data(0);
        sender.send_data(128);
        let begun = monotonic();
        let mut count = 0;
        while count < 1 {
            count += subscription.poll(BEGIN + MS(1), 64, |_| {});
            assert!(monotonic() - begun < PATIENCE, "the first message");
        }
        let naks = |subscription: &mut Subscription, now: Nanos| {
            let begun = monotonic();
            let mut naks = Vec::new();
            while monotonic() - begun < MS(20) {
                subscription.poll(now, 64, |_| {});
                while let Some((kind, frame)) = sender.next() {
                    naks.extend(Nak::read(&frame).filter(|_| kind == FrameKind::Nak));
                }
            }
            naks
        };
        let early = naks(&mut subscription, BEGIN + MS(1));
        let at_last = naks(&mut subscription, BEGIN + MS(52));
        assert_eq!(early.is_empty(), millis > 0, "{more}");
        let nak = early.iter().chain(&at_last).next().expect("asked for");
        assert_eq!((nak.term_offset, nak.length), (64, 64));
    }
    let (sender, mut subscription) = RawSender::open("|reliable=false");
    sender.join(&mut subscription, BEGIN);
    sender.send_data(0);
    sender.send_data(128);
    let (begun, mut count) = (monotonic(), 0);
    while count < 2 {
        count += subscription.poll(BEGIN + MS(1), 64, |_| {});
        assert!(monotonic() - begun < PATIENCE, "both messages");
    }
    let mut events = std::iter::from_fn(|| subscription.poll_event());
    let gap = Event::Gap { session: 5, position: 64, length: 64 };
    assert!(events.any(|event| event == gap));
    let mut frames = std::iter::from_fn(|| sender.next());
    assert!(frames.all(|(kind, _)| kind != FrameKind::Nak));
}

#[test]
fn an_image_that_fell_silent_comes_back_and_with_rejoin_false_does_not() {
    for (more, comes_back) in [("", true), ("|rejoin=true", true), ("|rejoin=false", false)] {
        let (sender, mut subscription) = RawSender::open(more);
        sender.join(&mut subscription, BEGIN);
        assert_eq!(subscription.image_count(), 1);
        let later = BEGIN + Nanos::from_secs(11);
        subscription.poll(later, 64, |_| {});
        assert_eq!(subscription.image_count(), 0);
        // The answers before may still lie there.
        while sender.next().is_some() {}
        let later = later + Nanos::from_secs(2);
        if comes_back {
            sender.join(&mut subscription, later);
        } else {
            sender.send_setup();
            let begun = monotonic();
            while subscription.counters().malformed == 0 {
                subscription.poll(later, 64, |_| {});
                assert!(monotonic() - begun < PATIENCE, "it is counted");
            }
        }
        assert_eq!(subscription.image_count(), usize::from(comes_back), "{more}");
    }
}

#[test]
fn with_source_a_group_is_heard_from_there_alone() {
    let group = std::net::SocketAddr::new(own_group().into(), own_address().port());
    let group = format!("endpoint={group}|interface=127.0.0.1|stream-id=7");
    let listen = |source: &str| {
        let listen = uri(&format!("aeron:udp?{group}|source={source}"));
        Subscription::open(&listen, &opening(0.0, 0)).expect("listen")
    };
    let (mut there, mut elsewhere) = (listen("127.0.0.1"), listen("127.0.0.9"));
    let send = uri(&format!("aeron:udp?{group}"));
    let mut publication = Publication::open(&send, &opening(0.0, 0)).expect("send");
    let begun = monotonic();
    let mut received = 0;
    while received < 100 {
        let _ = publication.offer(monotonic(), b"to the group");
        publication.work(monotonic());
        received += there.poll(monotonic(), 64, |_| {});
        assert_eq!(elsewhere.poll(monotonic(), 64, |_| {}), 0);
        assert!(monotonic() - begun < PATIENCE, "heard");
    }
    assert_eq!((there.image_count(), elsewhere.image_count()), (1, 0));
    assert_eq!(elsewhere.counters().transfers, 0);
}

#[test]
fn a_message_of_more_than_an_eighth_of_the_term_says_to_raise_term_length() {
    let mut receiver = RawReceiver::new(1);
    let mut publication = receiver.publication("|term-length=64k");
    let setup = receiver.setup(&mut publication, BEGIN);
    receiver.say(&mut publication, BEGIN, &setup, (32_768, None));
    publication.offer(BEGIN, &[1; 8192]).expect("the longest");
    let error = publication.offer(BEGIN, &[1; 8193]).expect_err("longer");
    assert!(matches!(error, OfferError::TooLong { bytes: 8193, bytes_max: 8192, .. }));
    assert!(error.to_string().contains("raise term-length"), "{error}");
}
