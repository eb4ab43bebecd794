//! What every channel in memory does: one suite over `ipc:` and `inproc:`.

use taut_channel::{
    Action, ChannelError, ChannelUri, Closing, Decoder, EndReason, Event, Loss, MessageLimit,
    OfferError, Opening, Publication, Subscription,
};
use taut_market_data::native::{
    Message, PACKET_BYTES_MAX, PacketHeader, PacketReader, PacketWriter,
};
use taut_market_data::{EventKind, LevelPlace, LevelUpdate};
use taut_types::{InstrumentId, Lots, Nanos, Price, Side};

/// Time that a test advances by hand.
struct Clock(Nanos);

impl Clock {
    fn new() -> Self {
        Self(Nanos::from_secs(1))
    }

    /// A little later: beyond every look that a driver takes now and then.
    fn later(&mut self) -> Nanos {
        self.0 = self.0 + Nanos::from_millis(60);
        self.0
    }
}

fn uris(name: &str) -> Vec<ChannelUri> {
    let process = taut_sys::process_id();
    ["ipc", "inproc"]
        .map(|scheme| format!("{scheme}:test.{name}.{process}?capacity=64k"))
        .iter()
        .map(|text| text.parse().expect(text))
        .collect()
}

fn pair(uri: &ChannelUri, clock: &Clock) -> (Publication, Subscription) {
    let opening = Opening { now: clock.0, ..Opening::default() };
    let subscription = Subscription::open(uri, &opening).expect("subscription");
    (Publication::open(uri, &opening).expect("publication"), subscription)
}

fn take(subscription: &mut Subscription, now: Nanos) -> Vec<Vec<u8>> {
    let mut taken = Vec::new();
    subscription.poll(now, usize::MAX, |message| taken.push(message.payload.to_vec()));
    taken
}

fn events(mut next: impl FnMut() -> Option<Event>) -> Vec<Event> {
    std::iter::from_fn(&mut next).collect()
}

#[test]
fn messages_arrive_in_order_whole_and_once_whichever_way_they_were_offered() {
    for uri in uris("order") {
        let mut clock = Clock::new();
        let (mut publication, mut subscription) = pair(&uri, &clock);
        let now = clock.later();
        let first = publication.offer(now, b"one").expect("room");
        publication.offer_vectored(now, &[b"t", b"w", b"", b"o"]).expect("room");
        let mut claim = publication.try_claim(now, 5).expect("room");
        claim.copy_from_slice(b"three");
        let third = claim.commit().expect("room");
        publication.try_claim(now, 9).expect("room").abort();
        assert_eq!(publication.offer(now, b"").map(|at| at > third), Ok(true));
        assert!(third > first);
        let expected: [&[u8]; 4] = [b"one", b"two", b"three", b""];
        assert_eq!(take(&mut subscription, now), expected, "{uri}");
        assert!(take(&mut subscription, now).is_empty());
        let counters = (publication.counters(), subscription.counters());
        assert_eq!((counters.0.sent, counters.0.sent_bytes), (4, 11));
        assert_eq!((counters.1.received, counters.1.received_bytes), (4, 11));
    }
}

#[test]
fn an_offer_without_a_subscriber_is_not_connected_and_either_side_may_start_first() {
    for uri in uris("first") {
        let mut clock = Clock::new();
        let opening = Opening { now: clock.0, ..Opening::default() };
        let mut publication = Publication::open(&uri, &opening).expect("publication");
        assert_eq!(publication.offer(clock.later(), b"x"), Err(OfferError::NotConnected));
        let mut subscription = Subscription::open(&uri, &opening).expect("subscription");
        let now = clock.later();
        publication.offer(now, b"x").expect("connected");
        assert!(publication.is_connected());
        assert_eq!(take(&mut subscription, now), [b"x"]);
        let come = events(|| publication.poll_event());
        assert!(matches!(come[..], [Event::Connected { .. }]), "{come:?}");
        drop(subscription);
        assert_eq!(publication.offer(clock.later(), b"x"), Err(OfferError::NotConnected));
        let gone = events(|| publication.poll_event());
        assert!(matches!(gone[..], [Event::Disconnected { .. }]), "{gone:?}");
    }
}

#[test]
fn a_slow_subscriber_holds_the_publisher_up_and_loses_nothing() {
    for uri in uris("slow") {
        let mut clock = Clock::new();
        let (mut publication, mut subscription) = pair(&uri, &clock);
        let now = clock.later();
        let mut sent = 0_u32;
        let refused = loop {
            match publication.offer(now, &[sent.to_le_bytes(); 64].concat()) {
                Ok(_) => sent += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(refused, OfferError::BackPressured);
        assert_eq!(publication.try_claim(now, 256).map(drop), Err(OfferError::BackPressured));
        assert_eq!(publication.counters().back_pressured, 2);
        assert!(publication.unacknowledged_bytes() > 0);
        let mut expected = 0_u32;
        while take(&mut subscription, now).iter().all(|message| {
            expected += 1;
            message[..4] == (expected - 1).to_le_bytes()
        }) && expected < sent
        {}
        assert_eq!(expected, sent, "{uri}");
        // What was read shows when the subscription finds nothing.
        assert!(take(&mut subscription, now).is_empty());
        publication.offer(clock.later(), b"again").expect("room");
    }
}

#[test]
fn a_message_that_is_too_long_is_named_with_the_remedy() {
    for uri in uris("long") {
        let mut clock = Clock::new();
        let (mut publication, _subscription) = pair(&uri, &clock);
        let error = publication.offer(clock.later(), &[0; 9000]).expect_err("too long");
        let OfferError::TooLong { bytes: 9000, bytes_max, limit: MessageLimit::Capacity } = error
        else {
            panic!("{error:?}");
        };
        assert!(error.to_string().contains("raise capacity"), "{error}");
        publication.offer(clock.0, &vec![1; bytes_max]).expect("the longest one fits");
    }
}

#[test]
fn a_controlled_poll_ends_where_it_is_told_and_shows_an_aborted_message_again() {
    for uri in uris("controlled") {
        let mut clock = Clock::new();
        let (mut publication, mut subscription) = pair(&uri, &clock);
        let now = clock.later();
        for message in [b"a", b"b", b"c"] {
            publication.offer(now, message).expect("room");
        }
        let mut seen = Vec::new();
        let mut poll = |action: Action, limit| {
            subscription.poll_controlled(now, limit, |message| {
                seen.push(message.payload[0]);
                action
            })
        };
        assert_eq!(poll(Action::Abort, 9), 0);
        assert_eq!(poll(Action::Break, 9), 1);
        assert_eq!(poll(Action::Abort, 9), 0);
        assert_eq!(poll(Action::Continue, 1), 1);
        assert_eq!(poll(Action::Continue, 9), 1);
        assert_eq!(seen, b"aabbc");
        assert_eq!(subscription.counters().received, 3);
    }
}

/// Two bytes of a price.
struct Quotes;

impl Decoder for Quotes {
    type Message<'a> = u16;

    fn decode(&self, bytes: &[u8]) -> Option<u16> {
        bytes.first_chunk().filter(|_| bytes.len() == 2).map(|bytes| u16::from_le_bytes(*bytes))
    }
}

#[test]
fn a_typed_poll_hands_over_what_it_can_read_and_counts_the_rest() {
    for uri in uris("typed") {
        let mut clock = Clock::new();
        let (mut publication, mut subscription) = pair(&uri, &clock);
        let now = clock.later();
        for message in [&[1, 2][..], &[9], &[3, 4]] {
            publication.offer(now, message).expect("room");
        }
        let mut seen = Vec::new();
        let count = subscription.poll_typed(now, 9, &Quotes, |quote, _| seen.push(quote));
        assert_eq!((count, seen), (3, vec![0x0201, 0x0403]));
        assert_eq!(subscription.counters().malformed, 1);
    }
}

/// The level updates of a packet, read by the decoder that was generated from the schema.
struct Levels;

impl Decoder for Levels {
    type Message<'a> = PacketReader<'a>;

    fn decode<'a>(&self, bytes: &'a [u8]) -> Option<PacketReader<'a>> {
        PacketReader::new(bytes).ok().filter(|packet| packet.messages().all(|one| one.is_ok()))
    }
}

#[test]
fn a_typed_poll_reads_messages_with_a_generated_sbe_decoder() {
    for uri in uris("typed.sbe") {
        let mut clock = Clock::new();
        let (mut publication, mut subscription) = pair(&uri, &clock);
        let update = |price, side| {
            let (price, lots, place) = (Price(price), Lots(7), LevelPlace::ByPrice);
            LevelUpdate { side, price, lots, order_count: 3, place }
        };
        let sent = [update(585_330_000_000, Side::Buy), update(585_340_000_000, Side::Sell)];
        let mut writer = PacketWriter::new([0; PACKET_BYTES_MAX]);
        writer.begin(PacketHeader::EMPTY).expect("a packet");
        for level in sent {
            writer.push(&Message::Event(InstrumentId(1), EventKind::Level(level))).expect("room");
        }
        let packet = writer.finish();
        for bytes in [packet, &packet[..packet.len() - 1], packet] {
            publication.offer(clock.later(), bytes).expect("room");
        }
        let mut seen = Vec::new();
        let count = subscription.poll_typed(clock.later(), 9, &Levels, |read, message| {
            assert_eq!(message.payload, packet);
            seen.extend(read.messages().flatten().filter_map(|message| match message {
                Message::Event(_, EventKind::Level(level)) => Some(level),
                _ => None,
            }));
        });
        assert_eq!((count, seen), (3, [sent, sent].concat()));
        assert_eq!(subscription.counters().malformed, 1, "the one that was cut short");
    }
}

#[test]
fn close_drains_until_every_subscriber_has_everything_and_the_image_ends() {
    for uri in uris("close") {
        let mut clock = Clock::new();
        let (mut publication, mut subscription) = pair(&uri, &clock);
        publication.offer(clock.later(), b"last").expect("room");
        publication.close(clock.0);
        assert_eq!(publication.offer(clock.0, b"late"), Err(OfferError::Closed));
        publication.work(clock.later());
        let draining = publication.closing();
        assert!(matches!(draining, Closing::Draining { unacknowledged_bytes: 1.. }), "{uri}");
        assert_eq!(take(&mut subscription, clock.0), [b"last"]);
        take(&mut subscription, clock.later());
        publication.work(clock.later());
        assert_eq!(publication.closing(), Closing::Closed);
        drop(publication);
        take(&mut subscription, clock.later());
        let seen = events(|| subscription.poll_event());
        let [Event::ImageAvailable { .. }, Event::ImageUnavailable { reason, .. }] = seen[..]
        else {
            panic!("{uri}: {seen:?}");
        };
        assert_eq!((reason, subscription.image_count()), (EndReason::Closed, 0));
    }
}

#[test]
fn the_next_publication_goes_on_as_a_new_image() {
    for uri in uris("again") {
        let mut clock = Clock::new();
        let (mut publication, mut subscription) = pair(&uri, &clock);
        publication.offer(clock.later(), b"one").expect("room");
        assert_eq!(take(&mut subscription, clock.later()), [b"one"]);
        drop(publication);
        take(&mut subscription, clock.later());
        let opening = Opening { now: clock.0, ..Opening::default() };
        let mut publication = Publication::open(&uri, &opening).expect("again");
        publication.offer(clock.later(), b"two").expect("room");
        assert_eq!(take(&mut subscription, clock.later()), [b"two"]);
        let sessions: Vec<u64> = events(|| subscription.poll_event())
            .into_iter()
            .filter_map(|event| match event {
                Event::ImageAvailable { session, .. } => Some(session),
                _ => None,
            })
            .collect();
        assert_eq!(sessions.len(), 2, "{uri}");
        assert_ne!(sessions[0], sessions[1]);
    }
}

#[test]
fn a_spy_sees_what_was_taken_and_is_overtaken_without_holding_anybody_up() {
    for uri in uris("spy") {
        let mut clock = Clock::new();
        let (mut publication, mut subscription) = pair(&uri, &clock);
        let mut spy = publication.spy().expect("spy");
        let now = clock.later();
        publication.offer_vectored(now, &[b"a", b"b"]).expect("room");
        assert_eq!(take(&mut spy, now), [b"ab"]);
        for _ in 0..5_000 {
            let now = clock.later();
            publication.offer(now, &[7; 1000]).expect("the spy is not waited for");
            subscription.poll(now, 9, |_| {});
        }
        subscription.poll(clock.later(), 9, |_| {});
        let seen = take(&mut spy, clock.0).len();
        assert!(seen < 5_000 && spy.counters().lost > 0, "{uri}: {seen}");
        assert!(events(|| spy.poll_event()).iter().any(|e| matches!(e, Event::Gap { .. })));
    }
}

#[test]
fn refuses_a_second_publication_another_capacity_topics_and_injected_loss() {
    for uri in uris("refuse") {
        let mut clock = Clock::new();
        let (mut publication, _subscription) = pair(&uri, &clock);
        let opening = Opening { now: clock.0, ..Opening::default() };
        Publication::open(&uri, &opening).expect_err("a second publication");
        let other = format!("{uri}?capacity=128k").parse().expect("uri");
        let error = Subscription::open(&other, &opening).expect_err("another capacity");
        assert!(matches!(error, ChannelError::OtherCapacity { found: 65_536, .. }), "{error}");
        let any = uri.to_string().parse().expect("uri");
        Subscription::open(&any, &opening).expect("any capacity");
        let topic = publication.offer_topic(clock.later(), b"EUR", b"1");
        assert_eq!(topic, Err(OfferError::NoTopics));
        let lossy = Opening { loss: Loss::new(0.1, 1), ..opening };
        let error = Subscription::open(&uri, &lossy).expect_err("no datagrams");
        assert!(error.to_string().contains("channel over UDP"), "{error}");
    }
}

#[test]
fn the_longest_time_between_two_polls_is_counted() {
    for uri in uris("gap") {
        let clock = Clock::new();
        let (_publication, mut subscription) = pair(&uri, &clock);
        for at in [5, 7, 17, 18] {
            subscription.poll(Nanos(at), 1, |_| {});
        }
        assert_eq!(subscription.counters().poll_gap_ns_max, 10);
    }
}

#[test]
fn nothing_allocates_once_it_is_open() {
    for uri in uris("allocation") {
        let mut clock = Clock::new();
        let (mut publication, mut subscription) = pair(&uri, &clock);
        publication.try_claim(clock.later(), 64).map(drop).expect("room");
        let info = allocation_counter::measure(|| {
            for _ in 0..1000 {
                let now = clock.later();
                publication.offer(now, &[1; 70]).expect("room");
                publication.offer_vectored(now, &[&[1; 30], &[2; 40]]).expect("room");
                let claim = publication.try_claim(now, 64).expect("room");
                claim.commit().expect("room");
                publication.work(now);
                // Between the looks at the writer's process, which ask the kernel in text.
                subscription.poll(Nanos(0), 9, |_| {});
            }
        });
        assert_eq!(info.count_total, 0, "{uri}");
    }
}
