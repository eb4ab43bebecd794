//! Leased UDP over real sockets on loopback; first of all the eleven faults of the program that
//! showed how useful it is and how it must not be done.

use std::net::{SocketAddr, UdpSocket};

use taut_channel::{
    Action, ChannelUri, Closing, Decoder, EndReason, Event, Loss, MessageLimit, OfferError,
    Opening, Publication, Subscription, WaitStrategy, Waiter,
};
use taut_testkit::{own_address, own_group};
use taut_types::Nanos;

/// Rounds within which what should happen happens: a datagram on loopback is there at once, but
/// on a busy machine not always.
const ROUNDS: usize = 5_000;

fn uri(at: SocketAddr, more: &str) -> ChannelUri {
    format!("lease:udp?endpoint={at}{more}").parse().expect("uri")
}

/// Both ends and a time that the test advances.
struct Rig {
    publication: Publication,
    subscription: Subscription,
    now: Nanos,
}

impl Rig {
    fn new(more: &str) -> Self {
        let uri = uri(own_address(), more);
        let now = Nanos::from_secs(1);
        let opening = Opening { now, ..Opening::default() };
        let publication = Publication::open(&uri, &opening).expect("publication");
        let subscription = Subscription::open(&uri, &opening).expect("subscription");
        let mut rig = Self { publication, subscription, now };
        rig.until(|rig| rig.publication.is_connected() && rig.subscription.image_count() == 1);
        rig
    }

    fn tick(&mut self) -> Nanos {
        self.now = self.now + Nanos::from_millis(1);
        self.now
    }

    /// Runs both ends until something holds; returns what was received.
    fn until(&mut self, mut holds: impl FnMut(&mut Self) -> bool) -> Vec<Vec<u8>> {
        let mut received = Vec::new();
        for _ in 0..ROUNDS {
            if holds(self) {
                return received;
            }
            let now = self.tick();
            self.publication.work(now);
            self.subscription.poll(now, 64, |message| received.push(message.payload.to_vec()));
        }
        panic!("it never happens: {:?} {:?}", self.publication, self.subscription);
    }

    fn send(&mut self, message: &[u8]) -> Result<u64, OfferError> {
        let now = self.tick();
        self.publication.offer(now, message)
    }

    fn send_numbers(&mut self, numbers: std::ops::Range<u8>) {
        for number in numbers {
            self.send(&[number]).expect("sent");
        }
    }

    fn received(&self) -> u64 {
        self.subscription.counters().received
    }
}

#[test]
fn fault_1_it_builds_from_its_lock_file() {
    // That this runs is the test; that the lock file holds is checked whenever it is built in CI.
    Rig::new("");
}

#[test]
fn fault_2_a_subscriber_before_its_publisher_waits_and_asks_again() {
    let uri = uri(own_address(), "");
    let mut now = Nanos::from_secs(1);
    let opening = Opening { now, ..Opening::default() };
    let mut subscription = Subscription::open(&uri, &opening).expect("subscription");
    for _ in 0..3_000 {
        now = now + Nanos::from_millis(1);
        assert_eq!(subscription.poll(now, 9, |_| {}), 0);
    }
    assert!(subscription.counters().transfers > 5, "asked again and again");
    let publication = Publication::open(&uri, &Opening { now, ..opening }).expect("publication");
    let mut rig = Rig { publication, subscription, now };
    rig.until(|rig| rig.subscription.image_count() == 1);
    let event = rig.subscription.poll_event();
    assert!(matches!(event, Some(Event::ImageAvailable { position: 0, .. })), "{event:?}");
}

#[test]
fn fault_3_a_malformed_datagram_to_the_subscriber_is_dropped_and_counted() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("socket");
    socket.set_nonblocking(true).expect("non-blocking");
    let at = socket.local_addr().expect("address");
    let mut now = Nanos::from_secs(1);
    let opening = Opening { now, ..Opening::default() };
    let mut subscription = Subscription::open(&uri(at, ""), &opening).expect("subscription");
    let mut from = None;
    while from.is_none() {
        now = now + Nanos::from_millis(1);
        subscription.poll(now, 9, |_| {});
        from = socket.recv_from(&mut [0; 128]).ok().map(|(_, from)| from);
    }
    let from: SocketAddr = from.expect("a question");
    for datagram in [&[0][..], &[], b"taul", &[0xFF; 1472]] {
        socket.send_to(datagram, from).expect("send");
    }
    for _ in 0..ROUNDS {
        subscription.poll(now, 9, |_| unreachable!("nothing was sent"));
        if subscription.counters().malformed == 4 {
            return;
        }
    }
    panic!("{:?}", subscription.counters());
}

#[test]
fn fault_4_malformed_and_forged_datagrams_harm_neither_publisher_nor_subscribers_nor_others() {
    let mut rig = Rig::new("");
    let address = rig.publication.local_address().and_then(|at| at.inet()).expect("address");
    let forger = UdpSocket::bind("127.0.0.1:0").expect("socket");
    forger.set_nonblocking(true).expect("non-blocking");
    // Malformed ones, and good-byes and questions of one who cannot show a cookie.
    let mut question = [0_u8; 48];
    question[..5].copy_from_slice(b"taul\x01");
    let (mut asked, mut answered) = (0, 0);
    for round in 0..200_u8 {
        question[5] = 1 + round % 8;
        for datagram in [&[round][..], &question] {
            asked += forger.send_to(datagram, address).expect("send");
        }
        let now = rig.tick();
        rig.publication.work(now);
        while let Ok((length, _)) = forger.recv_from(&mut [0; 2048]) {
            answered += length;
        }
    }
    assert!(answered > 0 && answered <= asked, "{answered} for {asked}");
    assert_eq!(rig.publication.subscriber_count(), 1);
    rig.send(b"still here").expect("sent");
    let received = rig.until(|rig| rig.received() == 1);
    assert_eq!(received, [b"still here"]);
    let counters = rig.publication.counters();
    assert!(counters.malformed >= 200 && counters.refused >= 25, "{counters:?}");
}

#[test]
fn fault_5_close_ends_while_subscribers_go_on_renewing() {
    let mut rig = Rig::new("|lease=100ms");
    rig.publication.close(rig.now);
    rig.until(|rig| rig.publication.closing() == Closing::Closed);
    let events: Vec<Event> = std::iter::from_fn(|| rig.subscription.poll_event()).collect();
    let [.., Event::ImageUnavailable { reason: EndReason::Closed, .. }] = events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(rig.send(b"late"), Err(OfferError::Closed));
}

#[test]
fn fault_6_what_is_missing_twice_or_late_is_told_and_dropped_only_when_asked() {
    for (more, expected) in [("", &[1, 0, 3, 2][..]), ("|late=drop", &[1, 3])] {
        assert_eq!(through_a_swapping_proxy(more), expected, "{more}");
    }
    let uri = uri(own_address(), "");
    let now = Nanos::from_secs(1);
    let lossy = Opening { now, loss: Loss::new(0.2, 7), ..Opening::default() };
    let publication = Publication::open(&uri, &Opening { loss: None, ..lossy }).expect("pub");
    let subscription = Subscription::open(&uri, &lossy).expect("subscription");
    let mut rig = Rig { publication, subscription, now };
    rig.until(|rig| rig.subscription.image_count() == 1);
    rig.send_numbers(0..100);
    rig.until(|rig| rig.received() + rig.subscription.counters().lost == 100);
    let counters = rig.subscription.counters();
    assert!(counters.lost > 5, "{counters:?}");
    let gaps: u64 = std::iter::from_fn(|| rig.subscription.poll_event())
        .filter_map(|event| match event {
            Event::Gap { length, .. } => Some(length),
            _ => None,
        })
        .sum();
    assert_eq!(gaps, counters.lost);
}

/// Sends 0, 1, 2, 3 through a proxy that swaps messages in pairs; returns what is received.
fn through_a_swapping_proxy(more: &str) -> Vec<u8> {
    let proxy = UdpSocket::bind("127.0.0.1:0").expect("socket");
    proxy.set_nonblocking(true).expect("non-blocking");
    let now = Nanos::from_secs(1);
    let opening = Opening { now, ..Opening::default() };
    let publication = Publication::open(&uri(own_address(), more), &opening).expect("publication");
    let publisher = publication.local_address().and_then(|at| at.inet()).expect("address");
    let at = proxy.local_addr().expect("address");
    let subscription = Subscription::open(&uri(at, more), &opening).expect("subscription");
    let mut rig = Rig { publication, subscription, now };
    let (mut subscriber, mut held) = (None, None);
    let mut forward = move || {
        let mut datagram = [0; 128];
        while let Ok((length, from)) = proxy.recv_from(&mut datagram) {
            let bytes = datagram[..length].to_vec();
            let send = |bytes: &[u8], to| proxy.send_to(bytes, to).map(drop).expect("send");
            match subscriber {
                _ if from != publisher => {
                    subscriber = Some(from);
                    send(&bytes, publisher);
                }
                Some(to) if bytes[5] == 4 => match held.take() {
                    None => held = Some(bytes),
                    Some(first) => {
                        send(&bytes, to);
                        send(&first, to);
                    }
                },
                Some(to) => send(&bytes, to),
                None => {}
            }
        }
    };
    rig.until(|rig| {
        forward();
        rig.subscription.image_count() == 1
    });
    rig.send_numbers(0..4);
    let received = rig.until(|rig| {
        forward();
        rig.subscription.counters().reordered == 2
    });
    received.into_iter().flatten().collect()
}

#[test]
fn fault_7_a_message_longer_than_a_datagram_is_refused_with_the_limit() {
    for (more, bytes_max) in [("", 1420), ("|mtu=8192", 8160)] {
        let mut rig = Rig::new(more);
        let error = rig.send(&vec![0; bytes_max + 1]).expect_err("too long");
        let limit = MessageLimit::Mtu;
        assert_eq!(error, OfferError::TooLong { bytes: bytes_max + 1, bytes_max, limit });
        assert!(error.to_string().contains("raise mtu"), "{error}");
        rig.send(&vec![1; bytes_max]).expect("the longest one goes");
        assert_eq!(rig.until(|rig| rig.received() == 1)[0].len(), bytes_max);
    }
}

#[test]
fn fault_8_a_burst_is_taken_in_one_poll_without_waiting_in_between() {
    let mut rig = Rig::new("");
    rig.send_numbers(0..50);
    let now = rig.tick();
    let mut taken = 0;
    for _ in 0..ROUNDS {
        taken = taken.max(rig.subscription.poll(now, 100, |_| {}));
        if rig.received() == 50 {
            break;
        }
    }
    assert!(taken > 1 && rig.received() == 50, "{taken}");
}

#[test]
fn fault_9_every_wait_strategy_is_there_in_one_binary() {
    for strategy in WaitStrategy::ALL {
        let mut rig = Rig::new("");
        let mut waiter = Waiter::new(strategy);
        rig.send(b"tick").expect("sent");
        while rig.received() == 0 {
            let now = rig.tick();
            if rig.subscription.poll(now, 9, |_| {}) == 0 {
                let subscription = &mut rig.subscription;
                waiter.idle(now, None, |span| subscription.block(span));
            }
        }
    }
}

/// Exactly two numbers.
struct Two;

impl Decoder for Two {
    type Message<'a> = (u64, u64);

    fn decode(&self, bytes: &[u8]) -> Option<(u64, u64)> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let [one, two] = words else { return None };
        Some((u64::from_le_bytes(*one), u64::from_le_bytes(*two)))
    }
}

#[test]
fn fault_10_a_message_of_another_length_is_not_taken_for_one_of_ours() {
    let mut rig = Rig::new("");
    for words in [[1, 2, 3].as_slice(), &[1, 2], &[1]] {
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        rig.send(&bytes).expect("sent");
    }
    let mut seen = Vec::new();
    for _ in 0..ROUNDS {
        let now = rig.tick();
        rig.subscription.poll_typed(now, 9, &Two, |two, _| seen.push(two));
        if rig.received() == 3 {
            break;
        }
    }
    assert_eq!((seen, rig.subscription.counters().malformed), (vec![(1, 2)], 2));
}

#[test]
fn fault_11_multicast_is_a_mode_one_datagram_for_any_number_of_subscribers() {
    let at = own_address();
    let group = format!("|group={}:{}|interface=127.0.0.1", own_group(), at.port());
    let uri = uri(at, &group);
    let now = Nanos::from_secs(1);
    let opening = Opening { now, ..Opening::default() };
    let publication = Publication::open(&uri, &opening).expect("publication");
    let Ok(subscription) = Subscription::open(&uri, &opening) else {
        println!("skipped: no multicast on the loopback interface");
        return;
    };
    let mut other = Subscription::open(&uri, &opening).expect("another one");
    let mut rig = Rig { publication, subscription, now };
    rig.until(|rig| {
        other.poll(rig.now, 9, |_| {});
        rig.publication.subscriber_count() == 2 && rig.subscription.image_count() == 1
    });
    let before = rig.publication.counters().transfers;
    rig.send(b"to all").expect("sent");
    assert_eq!(rig.publication.counters().transfers, before + 1);
    rig.until(|rig| {
        other.poll(rig.now, 9, |message| assert_eq!(message.payload, b"to all"));
        rig.received() == 1 && other.counters().received == 1
    });
    let each = rig.publication.subscribers().into_iter();
    assert_eq!(each.map(|one| (one.sent, one.dropped)).collect::<Vec<_>>(), [(1, 0); 2]);
}

#[test]
fn a_lease_that_is_not_renewed_runs_out_after_60_seconds_or_after_those_asked_for() {
    for (more, seconds) in [("", 60), ("|lease=5s", 5)] {
        let mut rig = Rig::new(more);
        let granted = rig.now;
        rig.publication.poll_event();
        // It says nothing more, as one that was killed.
        while rig.publication.is_connected() {
            let now = rig.tick();
            rig.publication.work(now);
        }
        let lived = rig.now - granted;
        let expected = Nanos::from_secs(seconds - 1)..=Nanos::from_secs(seconds) + Nanos(1 << 22);
        assert!(expected.contains(&lived), "{more}: {lived:?}");
        let event = rig.publication.poll_event();
        let lost = matches!(event, Some(Event::Disconnected { reason: EndReason::Lost, .. }));
        assert!(lost, "{more}: {event:?}");
        let gone = rig.publication.subscribers();
        assert!(matches!(gone[..], [one] if !one.is_connected && one.sent == 0), "{gone:?}");
    }
}

#[test]
fn a_closed_subscription_is_unsubscribed_at_once() {
    let mut rig = Rig::new("");
    while rig.publication.poll_event().is_some() {}
    rig.subscription.close(rig.now);
    rig.until(|rig| rig.publication.subscriber_count() == 0 && rig.subscription.is_closed());
    let event = rig.publication.poll_event();
    let left = matches!(event, Some(Event::Disconnected { reason: EndReason::Closed, .. }));
    assert!(left, "{event:?}");
    assert_eq!(rig.send(b"to nobody"), Err(OfferError::NotConnected));
}

#[test]
fn every_subscriber_gets_everything_with_a_socket_of_its_own_or_without() {
    let mut rig = Rig::new("");
    let at = rig.publication.local_address().and_then(|at| at.inet()).expect("address");
    let opening = Opening { now: rig.now, ..Opening::default() };
    let mut others: Vec<Subscription> = (0..11)
        .map(|_| Subscription::open(&uri(at, ""), &opening).expect("subscription"))
        .collect();
    rig.until(|rig| {
        for other in &mut others {
            other.poll(rig.now, 9, |_| {});
        }
        rig.publication.subscriber_count() == 12
    });
    // One leaves without a word: that it is gone does not harm the others.
    others.remove(0);
    rig.send_numbers(0..50);
    rig.until(|rig| {
        for other in &mut others {
            other.poll(rig.now, 9, |_| {});
        }
        rig.received() == 50 && others.iter().all(|other| other.counters().received == 50)
    });
    assert!(others.iter().all(|other| other.counters().lost == 0));
}

#[test]
fn an_aborted_message_comes_again() {
    let mut rig = Rig::new("");
    rig.send(b"one").expect("sent");
    rig.send(b"two").expect("sent");
    let mut seen = Vec::new();
    let mut turn = 0;
    while seen.len() < 3 {
        let now = rig.tick();
        rig.subscription.poll_controlled(now, 1, |message| {
            seen.push(message.payload.to_vec());
            turn += 1;
            if turn == 1 { Action::Abort } else { Action::Continue }
        });
    }
    assert_eq!(seen, [b"one", b"one", b"two"]);
}

#[test]
fn a_key_is_a_file_that_nobody_else_may_read_and_both_ends_need_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().expect("directory");
    let write = |name: &str, text: &str, mode| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("write");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("mode");
        format!("|key={}", path.display())
    };
    let good = write("good", "00112233445566778899aabbccddeeff\n", 0o600);
    let mut rig = Rig::new(&good);
    rig.send(b"secret").expect("sent");
    assert_eq!(rig.until(|rig| rig.received() == 1), [b"secret"]);
    let opening = Opening { now: rig.now, ..Opening::default() };
    for (more, expected) in [
        (write("open", "00112233445566778899aabbccddeeff", 0o644), "chmod 600"),
        (write("short", "0011", 0o600), "32 hexadecimal digits"),
        (write("sign", "+0112233445566778899aabbccddeeff", 0o600), "32 hexadecimal digits"),
        ("|key=/nowhere/key".to_owned(), "/nowhere/key"),
    ] {
        let error = Subscription::open(&uri(own_address(), &more), &opening).expect_err("refused");
        assert!(error.to_string().contains(expected), "{error}");
    }
    // One who has no key hears nothing.
    let address = rig.publication.local_address().and_then(|at| at.inet()).expect("address");
    let mut deaf = Subscription::open(&uri(address, ""), &opening).expect("subscription");
    for _ in 0..1000 {
        let now = rig.tick();
        rig.publication.work(now);
        deaf.poll(now, 9, |_| unreachable!("it has no key"));
    }
    assert_eq!((rig.publication.subscriber_count(), deaf.image_count()), (1, 0));
}

#[test]
fn nothing_allocates_once_it_is_open() {
    let mut rig = Rig::new("");
    let info = allocation_counter::measure(|| {
        for _ in 0..500 {
            rig.send(&[1; 70]).expect("sent");
            let now = rig.tick();
            rig.publication.work(now);
            rig.subscription.poll(now, 9, |_| {});
        }
    });
    assert_eq!(info.count_total, 0);
    assert!(rig.received() > 0);
}
