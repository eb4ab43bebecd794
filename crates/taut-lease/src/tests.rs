//! Both ends over a link in virtual time.

mod simulation;
mod twin;

use core::net::SocketAddr;
use std::vec::Vec;

use super::*;
use taut_testkit::Random;
use taut_types::Nanos;

const SECOND: Nanos = Nanos::from_secs(1);

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

fn terms(session: u64, key: Option<Key>) -> LeaseTerms {
    let (lease, secret) = (Nanos::from_secs(60), Key::new([7; 16]));
    LeaseTerms {
        lease,
        mtu_bytes: 1452,
        subscribers_max: 4,
        subscribers_per_host_max: 4,
        session,
        secret,
        key,
    }
}

fn subscriber(now: Nanos, nonce: u64, key: Option<Key>) -> LeaseSubscriber {
    LeaseSubscriber::new(now, SubscriberTerms { nonce, key, drops_late: false })
}

/// A publisher and a subscriber, and the datagrams between them.
struct Pair {
    now: Nanos,
    publisher: LeasePublisher,
    subscriber: LeaseSubscriber,
    at: SocketAddr,
    received: Vec<u64>,
}

impl Pair {
    fn new(key: Option<Key>) -> Self {
        let now = Nanos::from_secs(100);
        let publisher = LeasePublisher::new(now, terms(1, key));
        let subscriber = subscriber(now, 99, key);
        Self { now, publisher, subscriber, at: address(5000), received: Vec::new() }
    }

    /// Lets time pass and everything arrive.
    fn pass(&mut self, span: Nanos) {
        self.now = self.now + span;
        let mut datagram = [0; 2048];
        for _ in 0..4 {
            self.subscriber.handle_timeout(self.now);
            self.publisher.handle_timeout(self.now);
            while let Some(length) = self.subscriber.poll_transmit(self.now, &mut datagram) {
                self.publisher.handle_datagram(self.now, self.at, &datagram[..length]);
            }
            while let Some((length, to)) = self.publisher.poll_transmit(self.now, &mut datagram) {
                if to.is_none_or(|to| to == self.at) {
                    self.deliver(&datagram[..length]);
                }
            }
        }
    }

    fn deliver(&mut self, datagram: &[u8]) {
        if let Some(incoming) = self.subscriber.handle_datagram(self.now, datagram) {
            assert_eq!(incoming.payload, incoming.header.sequence.to_le_bytes());
            self.received.push(incoming.header.sequence);
        }
    }

    /// The next message as a datagram, not yet delivered.
    fn message(&mut self) -> Vec<u8> {
        let mut datagram = [0; 2048];
        let payload = self.publisher.position().to_le_bytes();
        let length = self.publisher.write_message(self.now, 3, &[&payload], &mut datagram);
        self.publisher.sent(self.now);
        datagram[..length.expect("it fits")].to_vec()
    }

    fn events(&mut self) -> Vec<SubscriberEvent> {
        core::iter::from_fn(|| self.subscriber.poll_event()).collect()
    }
}

#[test]
fn a_lease_is_given_after_the_cookie_was_shown_and_messages_come_until_the_end() {
    for key in [None, Some(Key::new([9; 16]))] {
        let mut pair = Pair::new(key);
        pair.pass(Nanos(0));
        assert!(pair.subscriber.has_image());
        assert_eq!(pair.publisher.poll_event(), Some(PublisherEvent::Subscribed(pair.at)));
        assert_eq!(pair.publisher.tally().challenged, 1);
        for _ in 0..3 {
            let datagram = pair.message();
            pair.deliver(&datagram);
        }
        assert_eq!(pair.received, [0, 1, 2]);
        pair.publisher.close(pair.now);
        pair.pass(Nanos(0));
        let ended = SubscriberEvent::Ended { session: 1, sequence: 3 };
        assert_eq!(pair.events(), [SubscriberEvent::Begun { session: 1, sequence: 0 }, ended]);
        assert!(pair.publisher.is_closed(), "it said good-bye");
    }
}

#[test]
fn a_renewed_lease_lives_and_one_that_is_not_expires_after_its_time() {
    let mut pair = Pair::new(None);
    (0..600).for_each(|_| pair.pass(SECOND));
    assert!(pair.subscriber.has_image() && pair.publisher.subscriber_count() == 1);
    assert_eq!(pair.publisher.tally().expired, 0);
    // Now the subscriber is gone without a word, just after a renewal or up to 20 s later.
    let gone = pair.now;
    while pair.publisher.subscriber_count() == 1 {
        pair.now = pair.now + SECOND;
        pair.publisher.handle_timeout(pair.now);
    }
    let lived = pair.now - gone;
    assert!((Nanos::from_secs(39)..=Nanos::from_secs(61)).contains(&lived), "{lived:?}");
    assert_eq!(pair.publisher.tally().expired, 1);
}

#[test]
fn a_cookie_that_grew_old_is_renewed_without_a_break() {
    let mut pair = Pair::new(None);
    (0..4000).for_each(|_| pair.pass(SECOND));
    assert!(pair.subscriber.has_image());
    assert_eq!(pair.events().len(), 1);
    assert!(pair.publisher.tally().challenged >= 3);
}

#[test]
fn a_lost_tail_shows_with_the_heartbeat_soon_after() {
    let mut pair = Pair::new(None);
    pair.pass(Nanos(0));
    let first = pair.message();
    pair.deliver(&first);
    pair.message();
    pair.message();
    pair.pass(Nanos::from_millis(10));
    let gap = SubscriberEvent::Gap { session: 1, sequence: 1, count: 2 };
    assert_eq!(pair.events().last(), Some(&gap));
    assert_eq!((pair.subscriber.tally().received, pair.subscriber.tally().missing), (1, 2));
}

#[test]
fn a_restarted_publisher_is_another_image_and_a_silent_one_is_lost() {
    let mut pair = Pair::new(None);
    pair.pass(Nanos(0));
    pair.publisher = LeasePublisher::new(pair.now, terms(2, None));
    (0..25).for_each(|_| pair.pass(SECOND));
    let begun = |session| SubscriberEvent::Begun { session, sequence: 0 };
    let replaced = SubscriberEvent::Replaced { session: 1, sequence: 0 };
    assert_eq!(pair.events(), [begun(1), replaced, begun(2)]);
    let mut silent = Pair::new(None);
    silent.pass(Nanos(0));
    silent.now = silent.now + Nanos::from_secs(4);
    silent.subscriber.handle_timeout(silent.now);
    assert!(!silent.subscriber.has_image());
}

#[test]
fn no_address_gets_more_bytes_than_it_sent_before_it_showed_its_cookie() {
    for key in [None, Some(Key::new([9; 16]))] {
        let mut publisher = LeasePublisher::new(SECOND, terms(1, key));
        let mut datagram = [0; 2048];
        let (mut asked, mut answered) = (0, 0);
        for port in 1..2000 {
            // Forged: whoever is at the address never sees the cookie.
            let mut forger = subscriber(SECOND, u64::from(port), key);
            let length = forger.poll_transmit(SECOND, &mut datagram).expect("a question");
            asked += length;
            publisher.handle_datagram(SECOND, address(port), &datagram[..length]);
            while let Some((length, to)) = publisher.poll_transmit(SECOND, &mut datagram) {
                assert_eq!(to, Some(address(port)));
                answered += length;
            }
        }
        assert!(answered <= asked, "{answered} for {asked}");
        assert_eq!(publisher.subscriber_count(), 0);
    }
}

#[test]
fn a_forged_good_bye_cuts_nobody_off() {
    let mut pair = Pair::new(None);
    pair.pass(Nanos(0));
    let mut datagram = [0; 2048];
    let mut forger = subscriber(pair.now, 1, None);
    let length = forger.poll_transmit(pair.now, &mut datagram).expect("a question");
    datagram[5] = Kind::Leave as u8;
    pair.publisher.handle_datagram(pair.now, pair.at, &datagram[..length]);
    assert_eq!((pair.publisher.subscriber_count(), pair.publisher.tally().unproved), (1, 1));
}

#[test]
fn there_is_room_for_so_many_and_the_next_one_is_told() {
    let mut pair = Pair::new(None);
    for port in 1..=4 {
        pair.at = address(port);
        pair.subscriber = subscriber(pair.now, u64::from(port), None);
        pair.pass(Nanos(0));
        assert!(pair.subscriber.has_image());
    }
    pair.at = address(5);
    pair.subscriber = subscriber(pair.now, 5, None);
    pair.pass(Nanos(0));
    assert_eq!(pair.events(), [SubscriberEvent::Refused]);
    assert_eq!((pair.publisher.subscriber_count(), pair.publisher.tally().refused), (4, 1));
}

#[test]
fn one_host_takes_its_share_of_the_leases_and_another_one_has_room() {
    let mut pair = Pair::new(None);
    let terms = LeaseTerms { subscribers_max: 8, subscribers_per_host_max: 2, ..terms(1, None) };
    pair.publisher = LeasePublisher::new(pair.now, terms);
    let other: SocketAddr = "10.0.0.9:1".parse().expect("an address");
    // An IPv6 network of 64 bits is one host.
    let of = |text: &str| text.parse().expect("an address");
    let network = ["[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::ffff:3]:1"].map(of);
    let addresses = [address(1), address(2), address(3), other];
    for (at, has_lease) in
        addresses.into_iter().chain(network).zip([true, true, false, true, true, true, false])
    {
        pair.at = at;
        pair.subscriber = subscriber(pair.now, 7, None);
        pair.pass(Nanos(0));
        assert_eq!(pair.subscriber.has_image(), has_lease, "{at}");
    }
    assert_eq!((pair.publisher.subscriber_count(), pair.publisher.tally().refused), (5, 2));
}

#[test]
fn every_restart_of_a_publisher_is_heard_before_the_next_one() {
    // Killed twice in three seconds: with messages until then, or quiet.
    for every in [Nanos::from_millis(5), Nanos::from_millis(400), SECOND] {
        let mut pair = Pair::new(None);
        let mut heard = 0;
        for life in 0..150 {
            pair.publisher = LeasePublisher::new(pair.now, terms(life + 1, None));
            let (begin, mut next) = (pair.now, pair.now);
            while pair.now - begin < Nanos::from_millis(1500) {
                pair.pass(Nanos::from_millis(5));
                if pair.now >= next {
                    next = pair.now + every;
                    if pair.publisher.subscriber_count() > 0 {
                        let message = pair.message();
                        pair.deliver(&message);
                    }
                }
            }
            heard += pair
                .events()
                .iter()
                .filter(|event| {
                    matches!(event,
                SubscriberEvent::Begun { session, .. } if *session == life + 1)
                })
                .count();
        }
        assert_eq!(heard, 150, "messages every {every:?}");
    }
}

#[test]
fn a_publisher_that_is_there_is_seldom_asked() {
    for every in [1, 30, 700, 5000] {
        let mut pair = Pair::new(None);
        pair.pass(Nanos(0));
        for at in 0..60_000 {
            pair.pass(Nanos::from_millis(1));
            if at % every == 0 {
                let message = pair.message();
                pair.deliver(&message);
            }
        }
        // Renewed every 20 seconds.
        let granted = pair.publisher.tally().granted;
        assert!(granted <= 8, "{granted} with a message every {every} ms");
        assert!(pair.subscriber.has_image());
    }
}

#[test]
fn ends_with_different_keys_or_one_without_do_not_hear_each_other() {
    let (one, other) = (Some(Key::new([1; 16])), Some(Key::new([2; 16])));
    for (ours, theirs) in [(one, other), (one, None), (None, one)] {
        let mut pair = Pair::new(ours);
        pair.subscriber = subscriber(pair.now, 9, theirs);
        (0..10).for_each(|_| pair.pass(SECOND));
        // Who has no key reads through to the header and is challenged, but cannot read that.
        assert!(!pair.subscriber.has_image() && pair.publisher.subscriber_count() == 0);
    }
}

#[test]
fn a_forged_message_without_the_session_is_not_taken() {
    let mut pair = Pair::new(None);
    pair.pass(Nanos(0));
    let mut datagram = pair.message();
    datagram[8] ^= 1;
    pair.deliver(&datagram);
    assert!(pair.received.is_empty());
    assert_eq!(pair.subscriber.tally().unproved, 1);
}

#[test]
fn what_comes_late_is_marked_or_dropped_as_it_was_asked() {
    for drops_late in [false, true] {
        let mut pair = Pair::new(None);
        let terms = SubscriberTerms { nonce: 9, key: None, drops_late };
        pair.subscriber = LeaseSubscriber::new(pair.now, terms);
        pair.pass(Nanos(0));
        let (zero, one, two) = (pair.message(), pair.message(), pair.message());
        for datagram in [&zero, &two, &one, &one, &two] {
            pair.deliver(datagram);
        }
        let expected: &[u64] = if drops_late { &[0, 2] } else { &[0, 2, 1] };
        assert_eq!(pair.received, expected);
        let tally = pair.subscriber.tally();
        assert_eq!((tally.late, tally.duplicated), (1, 2));
        assert_eq!(tally.received + tally.missing, 3);
    }
}

#[test]
fn a_grant_does_not_hold_up_a_good_bye() {
    let mut pair = Pair::new(None);
    let mut datagram = [0; 2048];
    let mut grant = None;
    for _ in 0..2 {
        let length = pair.subscriber.poll_transmit(pair.now, &mut datagram).expect("a question");
        pair.publisher.handle_datagram(pair.now, pair.at, &datagram[..length]);
        let (length, _) = pair.publisher.poll_transmit(pair.now, &mut datagram).expect("an answer");
        pair.deliver(&datagram[..length]);
        grant = Some(datagram[..length].to_vec());
    }
    pair.subscriber.close(pair.now);
    pair.deliver(&grant.expect("a grant"));
    (0..4).for_each(|_| pair.pass(Nanos::from_millis(5)));
    assert!(pair.subscriber.is_closed());
    assert_eq!(pair.publisher.subscriber_count(), 0);
}

/// A trade of a fixed layout: 16 bytes.
#[derive(Debug, PartialEq, Eq)]
struct Trade {
    price: i64,
    lots: i64,
}

impl TypedMessage for Trade {
    const TYPE: u16 = 9;
    const BYTES: usize = 16;

    fn write(&self, bytes: &mut [u8]) {
        let (words, _) = bytes.as_chunks_mut::<8>();
        let values = [self.price.to_le_bytes(), self.lots.to_le_bytes()];
        words.iter_mut().zip(values).for_each(|(word, value)| *word = value);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        let [price, lots] = *words else { return None };
        let lots = Some(i64::from_le_bytes(lots)).filter(|lots| *lots > 0)?;
        Some(Self { price: i64::from_le_bytes(price), lots })
    }
}

/// As long as a trade, and none.
struct Quote;

impl TypedMessage for Quote {
    const TYPE: u16 = 10;
    const BYTES: usize = 16;

    fn write(&self, bytes: &mut [u8]) {
        bytes.fill(1);
    }

    fn read(_bytes: &[u8]) -> Option<Self> {
        Some(Self)
    }
}

/// Longer than any datagram here.
struct Page;

impl TypedMessage for Page {
    const TYPE: u16 = 11;
    const BYTES: usize = 4_000;

    fn write(&self, _bytes: &mut [u8]) {}

    fn read(_bytes: &[u8]) -> Option<Self> {
        Some(Self)
    }
}

#[test]
fn a_typed_message_is_read_as_its_type_alone_and_one_that_does_not_fit_is_refused() {
    for key in [None, Some(Key::new([9; 16]))] {
        let mut pair = Pair::new(key);
        pair.pass(Nanos(0));
        let (mut datagram, trade) = ([0; 2048], Trade { price: 585_330_000_000, lots: 7 });
        assert!(pair.publisher.fits::<Trade>() && !pair.publisher.fits::<Page>());
        assert_eq!(pair.publisher.write_typed(pair.now, &Page, &mut datagram), None);
        let none = Trade { price: 1, lots: 0 };
        let read = |pair: &mut Pair, length: Option<usize>, datagram: &[u8]| {
            pair.publisher.sent(pair.now);
            let bytes = &datagram[..length.expect("it fits")];
            let incoming = pair.subscriber.handle_datagram(pair.now, bytes).expect("a message");
            (incoming.typed::<Trade>(), incoming.typed::<Quote>().is_some())
        };
        let length = pair.publisher.write_typed(pair.now, &trade, &mut datagram);
        assert_eq!(read(&mut pair, length, &datagram), (Some(trade), false));
        let length = pair.publisher.write_typed(pair.now, &Quote, &mut datagram);
        assert_eq!(read(&mut pair, length, &datagram), (None, true));
        let length = pair.publisher.write_typed(pair.now, &none, &mut datagram);
        assert_eq!(read(&mut pair, length, &datagram), (None, false), "its own check");
        let length = pair.publisher.write_message(pair.now, 9, &[&[1; 24]], &mut datagram);
        assert_eq!(read(&mut pair, length, &datagram), (None, false), "of another length");
        let sent = pair.now;
        let length = pair.publisher.write_typed(sent, &Quote, &mut datagram).expect("it fits");
        let (header, _) = Header::read(&datagram[..length]).expect("a header");
        let expected = (Kind::Message, 10, 1, 4, sent);
        let Header { kind, message_type, session, sequence, sent } = header;
        assert_eq!((kind, message_type, session, sequence, sent), expected);
    }
}

#[test]
fn no_datagram_is_a_panic_or_a_lease() {
    let mut pair = Pair::new(None);
    pair.pass(Nanos(0));
    let mut datagram = pair.message();
    datagram.extend_from_slice(&[0; 32]);
    let mut random = Random::with_seed(3);
    let count = if cfg!(debug_assertions) { 200_000 } else { 5_000_000 };
    for _ in 0..count {
        let mut changed = [0; 64];
        let length = random.usize(..=64);
        changed[..length].copy_from_slice(&datagram[..length]);
        for _ in 0..3 {
            changed[random.usize(..64)] ^= random.u8(..);
        }
        pair.publisher.handle_datagram(pair.now, address(1), &changed[..length]);
        pair.subscriber.handle_datagram(pair.now, &changed[..length]);
        let mut answer = [0; 2048];
        while pair.publisher.poll_transmit(pair.now, &mut answer).is_some() {}
    }
    assert!(!pair.publisher.subscribers().any(|at| at == address(1)));
}

/// A publisher that lies, again and again.
#[test]
fn sequences_without_reason_are_counted_and_nothing_overflows() {
    let now = Nanos::from_secs(100);
    let mut subscriber = subscriber(now, 99, None);
    let mut say = |kind, session, sequence, words: [u64; 2]| {
        let header = header::Header { kind, message_type: 0, session, sequence, sent: now };
        let mut datagram = header.to_bytes().to_vec();
        words.iter().for_each(|word| datagram.extend(word.to_le_bytes()));
        subscriber.handle_datagram(now, &datagram);
    };
    for session in 1..=3 {
        say(header::Kind::Challenge, session, 99, [0; 2]);
        say(header::Kind::Grant, session, 0, [99, u64::MAX]);
        say(header::Kind::Heartbeat, session, u64::MAX, [0; 2]);
        say(header::Kind::Message, session, u64::MAX, [0; 2]);
    }
    assert_eq!(subscriber.tally().missing, u64::MAX);
}

#[test]
fn nothing_allocates_once_it_is_built() {
    let mut pair = Pair::new(Some(Key::new([1; 16])));
    pair.pass(Nanos(0));
    let mut datagram = [0; 2048];
    let info = allocation_counter::measure(|| {
        for number in 0..1_000_u64 {
            pair.now = pair.now + Nanos::from_millis(70);
            let payload = number.to_le_bytes();
            let written = pair.publisher.write_message(pair.now, 1, &[&payload], &mut datagram);
            pair.publisher.sent(pair.now);
            let bytes = &datagram[..written.expect("room")];
            pair.subscriber.handle_datagram(pair.now, bytes).expect("a message");
            pair.subscriber.handle_timeout(pair.now);
            if let Some(length) = pair.subscriber.poll_transmit(pair.now, &mut datagram) {
                pair.publisher.handle_datagram(pair.now, pair.at, &datagram[..length]);
            }
            while let Some((length, _)) = pair.publisher.poll_transmit(pair.now, &mut datagram) {
                pair.subscriber.handle_datagram(pair.now, &datagram[..length]);
            }
        }
    });
    assert_eq!(info.count_total, 0);
    assert!(pair.subscriber.has_image());
}
