//! What a ZMTP channel promises beyond carrying messages: what happens at the high-water mark, late
//! joiners, few system calls, and peers that are not ours.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

use taut_channel::{ChannelUri, Event, OfferError, Opening, Publication, Subscription};
use taut_sys::monotonic;
use taut_types::Nanos;

fn opening(now: Nanos) -> Opening {
    Opening { now, ..Opening::default() }
}

fn publication(text: &str) -> Publication {
    let uri: ChannelUri = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    Publication::open(&uri, &opening(monotonic())).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn subscription(text: &str) -> Subscription {
    let uri: ChannelUri = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    Subscription::open(&uri, &opening(monotonic()))
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn at(publication: &Publication, parameters: &str) -> String {
    format!("tcp://{}{parameters}", publication.local_address().expect("an address"))
}

fn until(what: &str, mut step: impl FnMut(Nanos) -> bool) {
    let deadline = monotonic() + Nanos::from_secs(10);
    while !step(monotonic()) {
        assert!(monotonic() < deadline, "{what}: not within 10 s");
    }
}

fn connect(publication: &mut Publication, subscription: &mut Subscription) {
    until("connect", |now| {
        publication.work(now);
        subscription.poll(now, 1, |_| {});
        publication.subscriber_count() == 1
    });
}

/// A message of its number.
fn message(number: u32) -> [u8; 70] {
    let mut message = [0; 70];
    message[..4].copy_from_slice(&number.to_be_bytes());
    message
}

/// Offers numbered messages to a subscriber that does not read, then lets it read what there is.
/// Returns the numbers that came, and how many offers were refused.
fn overrun(policy: &str, count: u32) -> (Vec<u32>, u64, Publication) {
    let bound = format!("tcp://127.0.0.1:0?hwm=100&so-sndbuf=4k&on-full={policy}");
    let mut publisher = publication(bound.trim_end_matches("&on-full="));
    let mut subscriber = subscription(&at(&publisher, "?so-rcvbuf=4k"));
    connect(&mut publisher, &mut subscriber);
    let mut refused = 0;
    for number in 0..count {
        let now = monotonic();
        match publisher.offer(now, &message(number)) {
            Ok(_) => {}
            Err(OfferError::BackPressured) => refused += 1,
            Err(error) => panic!("{policy}: {error}"),
        }
        publisher.work(now);
    }
    let mut came = Vec::new();
    until(policy, |now| {
        publisher.work(now);
        subscriber.poll(now, 100, |message| {
            came.push(u32::from_be_bytes(*message.payload.first_chunk().expect("a number")));
        });
        came.len() as u64 + publisher.counters().dropped + refused == u64::from(count)
    });
    assert!(came.is_sorted_by(|a, b| a < b), "{policy}: in order, none twice");
    (came, refused, publisher)
}

#[test]
fn every_policy_at_the_high_water_mark_does_what_it_says_and_counts_its_drops_for_the_subscriber() {
    const COUNT: u32 = 20_000;
    const LAST: u32 = COUNT - 1;
    // No policy given is drop-newest.
    for policy in ["block", "drop-newest", "", "drop-oldest", "conflate"] {
        let (came, refused, publisher) = overrun(policy, COUNT);
        let of_it = publisher.subscribers();
        assert_eq!(of_it.len(), 1);
        assert_eq!(of_it[0].dropped, publisher.counters().dropped, "{policy}");
        assert_eq!(of_it[0].sent, came.len() as u64, "{policy}");
        assert_eq!((of_it[0].waiting, of_it[0].waiting_bytes), (0, 0), "{policy}");
        assert_eq!(publisher.counters().back_pressured, refused, "{policy}");
        let newest = came.iter().rev().take(100);
        match policy {
            "block" => assert!(refused > 10_000 && of_it[0].dropped == 0, "{refused}"),
            "drop-oldest" => {
                assert!(newest.zip((0..COUNT).rev()).all(|(came, last)| *came == last));
            }
            "conflate" => assert_eq!(came.last(), Some(&LAST), "the newest one always comes"),
            _ => {
                assert!(of_it[0].dropped > 10_000 && refused == 0);
                let first = came.iter().zip(0..100);
                assert!(first.clone().all(|(came, first)| *came == first), "{policy}");
                assert_ne!(came.last(), Some(&LAST), "{policy}");
            }
        }
    }
}

#[test]
fn who_joins_late_gets_the_last_value_of_each_topic_that_it_wants() {
    let mut publisher = publication("tcp://127.0.0.1:0?cache=10");
    for (topic, price) in [("EURUSD", "1.08"), ("USDJPY", "157"), ("EURUSD", "1.09")] {
        publisher.offer_topic(monotonic(), topic.as_bytes(), price.as_bytes()).expect("kept");
    }
    let mut late = subscription(&at(&publisher, "?subscribe=EUR"));
    let mut got = Vec::new();
    let mut poll = |publisher: &mut Publication, now| {
        publisher.work(now);
        late.poll(now, 9, |message| {
            got.push((message.topic.to_vec(), message.payload.to_vec()));
        });
        got.len()
    };
    until("the last value", |now| poll(&mut publisher, now) == 1);
    publisher.offer_topic(monotonic(), b"EURUSD", b"1.10").expect("sent");
    until("the next value", |now| poll(&mut publisher, now) == 2);
    let expected = [(b"EURUSD".to_vec(), b"1.09".to_vec()), (b"EURUSD".to_vec(), b"1.10".to_vec())];
    assert_eq!(got, expected);
}

#[test]
fn behind_the_barrier_of_the_subscriber_count_nothing_is_missed() {
    for _ in 0..20 {
        let mut publisher = publication("tcp://127.0.0.1:0?on-full=block");
        let mut subscribers = [0; 3].map(|_| subscription(&at(&publisher, "")));
        assert_eq!(publisher.offer(monotonic(), b"early"), Err(OfferError::NotConnected));
        until("the barrier", |now| {
            publisher.work(now);
            for one in &mut subscribers {
                one.poll(now, 1, |_| {});
            }
            publisher.subscriber_count() == 3
        });
        publisher.offer(monotonic(), b"first").expect("sent");
        let mut got = [0; 3];
        until("the first message", |now| {
            publisher.work(now);
            for (one, got) in subscribers.iter_mut().zip(&mut got) {
                one.poll(now, 9, |message| {
                    assert_eq!(message.payload, b"first");
                    *got += 1;
                });
            }
            got == [1; 3]
        });
    }
}

#[test]
fn many_messages_leave_with_one_write_and_come_with_one_read() {
    const COUNT: u64 = 100_000;
    let mut publisher = publication("tcp://127.0.0.1:0?on-full=block");
    let mut subscriber = subscription(&at(&publisher, ""));
    connect(&mut publisher, &mut subscriber);
    let before = (publisher.counters().transfers, subscriber.counters().transfers);
    let (mut offered, mut received) = (0, 0);
    until("everything", |now| {
        while offered < COUNT && publisher.offer(now, &[7; 70]).is_ok() {
            offered += 1;
        }
        publisher.work(now);
        subscriber.poll(now, 10_000, |_| received += 1);
        received == COUNT
    });
    let writes = publisher.counters().transfers - before.0;
    let reads = subscriber.counters().transfers - before.1;
    println!("{COUNT} messages: {writes} writes, {reads} reads");
    assert!(writes * 100 < COUNT && reads * 100 < COUNT, "{writes} writes, {reads} reads");
}

/// What a PUB socket of ZMTP 3.1 says at first.
const GREETING: [u8; 12] = *b"\xFF\0\0\0\0\0\0\0\0\x7F\x03\x01";

fn greeting() -> [u8; 64] {
    let mut greeting = [0; 64];
    greeting[..12].copy_from_slice(&GREETING);
    greeting[12..16].copy_from_slice(b"NULL");
    greeting
}

fn ready(socket_type: &str) -> Vec<u8> {
    let mut ready = b"\x04\x19\x05READY\x0BSocket-Type\0\0\0\x03".to_vec();
    ready.extend_from_slice(socket_type.as_bytes());
    ready
}

/// A peer that is no library: bytes over TCP.
struct Stranger {
    stream: TcpStream,
    heard: Vec<u8>,
}

impl Stranger {
    fn new(stream: TcpStream) -> Self {
        stream.set_nonblocking(true).expect("non-blocking");
        Self { stream, heard: Vec::new() }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("room in the kernel");
    }

    /// Reads what there is; whether the stream has ended.
    fn listen(&mut self) -> bool {
        let mut buffer = [0; 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => true,
            Ok(count) => {
                self.heard.extend_from_slice(&buffer[..count]);
                false
            }
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    fn has_heard(&self, bytes: &[u8]) -> bool {
        self.heard.windows(bytes.len()).any(|window| window == bytes)
    }
}

/// A subscription and the publisher at its other end, who has said hello. Takes a little of time.
fn stranger_who_publishes(now: &mut Nanos) -> (Subscription, Stranger) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listener");
    let at = listener.local_addr().expect("address");
    let uri: ChannelUri = format!("tcp://{at}").parse().expect("uri");
    let mut subscriber = Subscription::open(&uri, &opening(*now)).expect("subscription");
    listener.set_nonblocking(true).expect("non-blocking");
    let mut stream = None;
    until("a call", |_| {
        *now = *now + Nanos::from_micros(100);
        subscriber.poll(*now, 1, |_| {});
        stream = listener.accept().ok();
        stream.is_some()
    });
    let mut stranger = Stranger::new(stream.expect("a connection").0);
    stranger.say(&greeting());
    stranger.say(&ready("PUB"));
    until("its subscription", |_| {
        *now = *now + Nanos::from_micros(100);
        subscriber.poll(*now, 1, |_| {});
        stranger.listen();
        subscriber.image_count() == 1 && stranger.has_heard(b"SUBSCRIBE")
    });
    (subscriber, stranger)
}

#[test]
fn a_message_of_many_parts_is_its_first_one_as_topic_and_the_others_as_payload() {
    let (mut subscriber, mut stranger) = stranger_who_publishes(&mut monotonic());
    stranger.say(b"\x01\x03EUR\x01\x031.0\x01\x00\x00\x0284\x00\x04lone\x01\x01a\x00\x01b");
    let mut got = Vec::new();
    until("three messages", |now| {
        subscriber.poll(now, 9, |message| {
            got.push((message.topic.to_vec(), message.payload.to_vec()));
        });
        got.len() == 3
    });
    let expected = [("EUR", "1.084"), ("", "lone"), ("a", "b")];
    assert_eq!(got, expected.map(|(topic, payload)| (topic.into(), payload.into())));
    assert_eq!(subscriber.counters().received, 3);
}

#[test]
fn a_message_that_never_ends_costs_its_sender_the_connection() {
    // Empty parts, and parts of 64 KiB: neither their number nor their sum goes on for ever.
    let empty = b"\x01\0".repeat(512);
    let large = [&b"\x03\0\0\0\0\0\x01\0\0"[..], &[7; 1 << 16]].concat();
    for (frames, rounds_max) in [(empty, 4), (large, 1_000)] {
        let (mut subscriber, mut stranger) = stranger_who_publishes(&mut monotonic());
        let (mut rounds, mut at) = (0, 0);
        until("the end of its connection", |now| {
            match stranger.stream.write(&frames[at..]) {
                Ok(written) => at += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => {}
            }
            if at == frames.len() {
                (rounds, at) = (rounds + 1, 0);
            }
            subscriber.poll(now, 9, |_| panic!("no part of it is a message"));
            subscriber.image_count() == 0
        });
        assert!(rounds <= rounds_max, "{rounds} rounds of {} bytes", frames.len());
        let counters = subscriber.counters();
        assert_eq!((counters.malformed, counters.received), (1, 0));
    }
}

#[test]
fn a_publication_full_of_strangers_serves_who_means_it() {
    // More than there are slots, one after the other and all silent: the listener keeps none of
    // them against a subscriber, and says what became of them.
    const STRANGERS: usize = 1_200;
    let mut publisher = publication("tcp://127.0.0.1:0");
    let to = publisher.local_address().and_then(|at| at.inet()).expect("address");
    let mut strangers = Vec::new();
    for _ in 0..STRANGERS {
        strangers.push(TcpStream::connect(to).expect("connect"));
        publisher.work(monotonic());
    }
    let mut subscriber = subscription(&at(&publisher, ""));
    connect(&mut publisher, &mut subscriber);
    publisher.offer(monotonic(), b"served").expect("room");
    let mut got = false;
    until("the message", |now| {
        publisher.work(now);
        subscriber.poll(now, 1, |message| got = message.payload == b"served");
        got
    });
    assert!(publisher.counters().refused > 600, "{}", publisher.counters().refused);
    drop(strangers);
}

#[test]
fn heartbeats_are_on_unless_turned_off_and_a_peer_that_is_silent_is_given_up() {
    let mut now = Nanos::from_secs(100);
    let (mut subscriber, mut stranger) = stranger_who_publishes(&mut now);
    stranger.heard.clear();
    let begun = now;
    while subscriber.image_count() == 1 {
        now = now + Nanos::from_millis(10);
        subscriber.poll(now, 1, |_| {});
        assert!(now - begun < Nanos::from_secs(10), "it is given up");
    }
    let silence = now - begun;
    assert!((Nanos::from_secs(2)..Nanos::from_secs(5)).contains(&silence), "{silence:?}");
    let events: Vec<Event> = std::iter::from_fn(|| subscriber.poll_event()).collect();
    assert!(matches!(events[..], [Event::ImageAvailable { .. }, Event::ImageUnavailable { .. }]));
    until("a ping, and the end", |_| stranger.listen());
    assert!(stranger.has_heard(b"\x04PING"), "it was asked before");

    // The publisher's end, with and without.
    for (parameter, is_kept) in [("", false), ("?heartbeat=0", true)] {
        let mut now = monotonic();
        let mut publisher = publication(&format!("tcp://127.0.0.1:0{parameter}"));
        let to = publisher.local_address().and_then(|at| at.inet()).expect("address");
        let mut stranger = Stranger::new(TcpStream::connect(to).expect("connect"));
        stranger.say(&greeting());
        stranger.say(&ready("SUB"));
        stranger.say(b"\x04\x0A\x09SUBSCRIBE");
        until("its subscription", |at| {
            now = at;
            publisher.work(now);
            publisher.is_connected()
        });
        for _ in 0..500 {
            now = now + Nanos::from_millis(10);
            publisher.work(now);
        }
        assert_eq!(publisher.is_connected(), is_kept, "{parameter}");
    }
}

#[test]
fn a_peer_that_hangs_up_is_called_again_ever_more_rarely() {
    let name = format!("taut-hang-up-{}", taut_sys::process_id());
    let path = std::env::temp_dir().join(name);
    let unix = std::os::unix::net::UnixListener::bind(&path).expect("listener");
    let tcp = TcpListener::bind("127.0.0.1:0").expect("listener");
    unix.set_nonblocking(true).expect("non-blocking");
    tcp.set_nonblocking(true).expect("non-blocking");
    let uris = [
        format!("tcp://{}", tcp.local_addr().expect("address")),
        format!("ipc://{}", path.display()),
    ];
    for uri in uris {
        let is_tcp = uri.starts_with("tcp");
        let uri: ChannelUri = uri.parse().expect("uri");
        let mut now = Nanos::from_secs(100);
        let mut subscriber = Subscription::open(&uri, &opening(now)).expect("subscription");
        let mut calls = Vec::new();
        let begun = now;
        while now - begun < Nanos::from_secs(60) {
            // A refusal travels on real time, however quick: the channel's time stands meanwhile.
            for _ in 0..20 {
                subscriber.poll(now, 1, |_| {});
                let called = if is_tcp {
                    tcp.accept().map(drop).is_ok()
                } else {
                    unix.accept().map(drop).is_ok()
                };
                calls.extend(called.then_some(now));
            }
            now = now + Nanos::from_millis(5);
        }
        // 20 ms doubling to 2 s, half of it random: 30 to 60 in the steady state, and 7 before.
        assert!((20..80).contains(&calls.len()), "{uri}: {} calls in a minute", calls.len());
        let spans: Vec<Nanos> = calls.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let early = spans[..3].iter().max().copied().expect("spans");
        let late = spans[spans.len() - 3..].iter().min().copied().expect("spans");
        assert!(early < Nanos::from_millis(400) && late > Nanos::from_millis(900), "{spans:?}");
    }
    let _ = std::fs::remove_file(path);
}

#[test]
fn a_subscriber_that_was_stopped_reads_what_waits_before_it_gives_anybody_up() {
    let mut now = Nanos::from_secs(1_000);
    let (mut subscriber, mut stranger) = stranger_who_publishes(&mut now);
    stranger.say(b"\0\x02hi");
    // Far beyond the heartbeats' timeout: a stopped process, a debugger, a long garbage collection.
    now = now + Nanos::from_secs(60);
    let mut got = 0;
    until("the message", |_| {
        got += subscriber.poll(now, 1, |message| assert_eq!(message.payload, b"hi"));
        got > 0 || subscriber.image_count() == 0
    });
    assert_eq!((got, subscriber.image_count()), (1, 1));
    // From here on the silence is the stranger's.
    subscriber.poll(now, 1, |_| {});
    now = now + Nanos::from_secs(60);
    subscriber.poll(now, 1, |_| {});
    assert_eq!(subscriber.image_count(), 0);
}

#[test]
fn a_frame_that_is_not_whole_keeps_nobody_awake() {
    let mut now = Nanos::from_secs(1_000);
    let (mut subscriber, mut stranger) = stranger_who_publishes(&mut now);
    stranger.say(b"\0\x02hi\0\x09half");
    let mut got = 0;
    until("the whole message", |_| {
        got += subscriber.poll(now, 9, |_| {});
        got > 0
    });
    // What came in is read: the rest of it is what there is to wait for. Edges that were seen
    // already cost a round or two.
    let before = monotonic();
    for _ in 0..8 {
        subscriber.poll(now, 9, |_| {});
        subscriber.block(Nanos::from_millis(20));
    }
    assert!(monotonic() - before >= Nanos::from_millis(80), "{}", monotonic() - before);
    // But messages that were left for the next poll do.
    stranger.say(b"-half\0\x01a\0\x01b");
    until("the first of three", |_| subscriber.poll(now, 1, |_| {}) == 1);
    let before = monotonic();
    subscriber.block(Nanos::from_secs(5));
    assert!(monotonic() - before < Nanos::from_secs(4));
    assert_eq!(subscriber.poll(now, 9, |_| {}), 2);
}

/// Says what a SUB socket says, and then PINGs as fast as they are taken, until it is told to stop.
fn chatter(at: String, stop: std::sync::Arc<taut_sync::atomic::AtomicBool>) {
    let mut stream = TcpStream::connect(at).expect("a connection");
    stream.write_all(&greeting()).expect("greeting");
    stream.write_all(&ready("SUB")).expect("ready");
    let pings = b"\x04\x07\x04PING\0\x00".repeat(100_000);
    while !stop.load(taut_sync::atomic::Ordering::Relaxed) && stream.write_all(&pings).is_ok() {}
}

#[test]
fn a_peer_that_never_stops_talking_does_not_stop_its_publisher() {
    let mut publisher = publication("tcp://127.0.0.1:0?bind");
    let mut subscriber = subscription(&at(&publisher, ""));
    connect(&mut publisher, &mut subscriber);
    let stop = std::sync::Arc::new(taut_sync::atomic::AtomicBool::new(false));
    let others: Vec<_> = (0..4)
        .map(|_| {
            let (to, stop) = (at(&publisher, ""), stop.clone());
            let to = to.trim_start_matches("tcp://").to_owned();
            std::thread::spawn(move || chatter(to, stop))
        })
        .collect();
    let (mut longest, start) = (Nanos::ZERO, monotonic());
    while monotonic() - start < Nanos::from_millis(700) {
        let before = taut_sys::thread_usage().cpu;
        publisher.work(monotonic());
        longest = longest.max(taut_sys::thread_usage().cpu - before);
        let _ = publisher.offer(monotonic(), b"tick");
        subscriber.poll(monotonic(), 100, |_| {});
    }
    stop.store(true, taut_sync::atomic::Ordering::Relaxed);
    drop((publisher, subscriber));
    others.into_iter().for_each(|other| other.join().expect("a chatterer"));
    assert!(longest < Nanos::from_millis(300), "one turn of work took {longest}");
}
