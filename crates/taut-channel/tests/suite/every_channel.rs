//! What holds on every channel: one suite over all of them, on real sockets and in real time.

use taut_channel::{
    Action, ChannelUri, Closing, Counters, Decoder, EndReason, Event, MessageLimit, OfferError,
    Opening, Publication, Subscription,
};
use taut_market_data::native::{
    Message, PACKET_BYTES_MAX, PacketHeader, PacketReader, PacketWriter,
};
use taut_market_data::{EventKind, LevelPlace, LevelUpdate};
use taut_sys::{Address, monotonic};
use taut_types::{InstrumentId, Lots, Nanos, Price, Side};

const SCHEMES: [&str; 6] = ["inproc", "ipc", "aeron", "lease", "tcp", "unix"];

fn opening() -> Opening {
    Opening { now: monotonic(), ..Opening::default() }
}

fn uri(text: &str) -> ChannelUri {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn publication(text: &str) -> Publication {
    Publication::open(&uri(text), &opening()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn subscription(text: &str) -> Subscription {
    Subscription::open(&uri(text), &opening()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn port(bound: Option<Address>) -> u16 {
    bound.expect("a bound end").port()
}

/// Ten seconds are for a machine that is busy elsewhere.
fn until(what: &str, mut step: impl FnMut(Nanos) -> bool) {
    let deadline = monotonic() + Nanos::from_secs(10);
    while !step(monotonic()) {
        assert!(monotonic() < deadline, "{what}: not within 10 s");
    }
}

/// Both ends of a channel.
struct Ends {
    scheme: &'static str,
    publication: Publication,
    subscription: Subscription,
}

impl Ends {
    /// Both ends, who may not have found each other yet. What they hold is small, and what is full
    /// blocks where that can be had.
    fn of(scheme: &'static str, name: &str) -> Self {
        let name = format!("test.every.{name}.{}", taut_sys::process_id());
        let memory = |scheme| format!("{scheme}:{name}?capacity=64k");
        let (publication, subscription) = match scheme {
            "aeron" => {
                let more = "stream-id=7|term-length=64k";
                let listening = subscription(&format!("aeron:udp?endpoint=127.0.0.1:0|{more}"));
                let at = port(listening.local_address());
                (publication(&format!("aeron:udp?endpoint=127.0.0.1:{at}|{more}")), listening)
            }
            "lease" => {
                let bound = publication("lease:udp?endpoint=127.0.0.1:0");
                let at = port(bound.local_address());
                (bound, subscription(&format!("lease:udp?endpoint=127.0.0.1:{at}")))
            }
            "tcp" => {
                let bound = publication("tcp://127.0.0.1:0?on-full=block&hwm=50&so-sndbuf=4k");
                let at = port(bound.local_address());
                (bound, subscription(&format!("tcp://127.0.0.1:{at}?so-rcvbuf=4k")))
            }
            "unix" => {
                let path = std::env::temp_dir().join(name);
                let bound = format!("ipc://{}?on-full=block&hwm=50", path.display());
                (publication(&bound), subscription(&format!("ipc://{}", path.display())))
            }
            _ => {
                let subscription = subscription(&memory(scheme));
                (publication(&memory(scheme)), subscription)
            }
        };
        Self { scheme, publication, subscription }
    }

    /// Both ends, who have found each other.
    fn connected(scheme: &'static str, name: &str) -> Self {
        let mut ends = Self::of(scheme, name);
        until(scheme, |now| {
            ends.work(now);
            ends.publication.is_connected() && ends.subscription.image_count() == 1
        });
        ends
    }

    fn every(name: &str) -> impl Iterator<Item = Self> {
        SCHEMES.into_iter().map(move |scheme| Self::connected(scheme, name))
    }

    fn work(&mut self, now: Nanos) {
        self.publication.work(now);
        self.subscription.poll(now, 1, |_| unreachable!("no message is wanted"));
    }

    /// Everything up to a number of messages.
    fn take(&mut self, count: usize) -> Vec<Vec<u8>> {
        let mut taken = Vec::new();
        until(self.scheme, |now| {
            self.publication.work(now);
            let left = count - taken.len();
            self.subscription.poll(now, left, |message| taken.push(message.payload.to_vec()));
            taken.len() == count
        });
        taken
    }

    fn send(&mut self, message: &[u8]) {
        self.publication.offer(monotonic(), message).expect(self.scheme);
    }

    fn events(&mut self) -> [Vec<Event>; 2] {
        let Self { publication, subscription, .. } = self;
        [
            std::iter::from_fn(|| publication.poll_event()).collect(),
            std::iter::from_fn(|| subscription.poll_event()).collect(),
        ]
    }
}

#[test]
fn a_message_is_whole_whichever_way_it_was_offered_and_an_aborted_claim_is_none() {
    for mut ends in Ends::every("ways") {
        let now = monotonic();
        let to = &mut ends.publication;
        let first = to.offer(now, b"one").expect("offer");
        let second = to.offer_vectored(now, &[b"t", b"", b"wo"]).expect("vectored");
        let mut claim = to.try_claim(now, 5).expect("claim");
        claim.copy_from_slice(b"three");
        let third = claim.commit().expect("commit");
        to.try_claim(now, 9).expect("claim").abort();
        drop(to.try_claim(now, 9).expect("claim"));
        assert!(first < second && second < third, "{}: positions rise", ends.scheme);
        ends.send(b"four");
        let expected: [&[u8]; 4] = [b"one", b"two", b"three", b"four"];
        assert_eq!(ends.take(4), expected, "{}", ends.scheme);
    }
}

#[test]
fn an_offer_says_why_it_was_not_taken() {
    for scheme in SCHEMES {
        let mut ends = Ends::of(scheme, "early");
        // Whoever was quick enough to be found gets the message: no reason either.
        let early = ends.publication.offer(monotonic(), b"early");
        assert!(matches!(early, Ok(_) | Err(OfferError::NotConnected)), "{scheme}: {early:?}");
        drop(ends.subscription);
        until(scheme, |now| {
            ends.publication.work(now);
            ends.publication.offer(now, b"nobody") == Err(OfferError::NotConnected)
        });

        let mut ends = Ends::connected(scheme, "why");
        let huge = vec![0; 40 << 20];
        let error = ends.publication.offer(monotonic(), &huge).expect_err("too long");
        let OfferError::TooLong { bytes, bytes_max, limit } = error else {
            panic!("{scheme}: {error}");
        };
        let expected = match scheme {
            "inproc" | "ipc" => MessageLimit::Capacity,
            "aeron" => MessageLimit::TermLength,
            "lease" => MessageLimit::Mtu,
            _ => MessageLimit::Frame,
        };
        assert_eq!((bytes, limit), (huge.len(), expected), "{scheme}");
        assert!(ends.publication.try_claim(monotonic(), bytes_max + 1).is_err(), "{scheme}");
        ends.send(&vec![7; bytes_max]);
        assert_eq!(ends.take(1)[0].len(), bytes_max, "{scheme}: the longest one goes");

        if scheme != "lease" {
            let (mut refused, mut taken) = (None, 0);
            until(scheme, |now| {
                refused = ends.publication.offer(now, &[1; 1000]).err();
                taken += usize::from(refused.is_none());
                ends.publication.work(now);
                refused.is_some()
            });
            assert_eq!(refused, Some(OfferError::BackPressured), "{scheme}");
            assert!(ends.publication.counters().back_pressured > 0, "{scheme}");
            assert_eq!(ends.take(taken).len(), taken, "{scheme}: what was taken arrives");
        }
        ends.publication.close(monotonic());
        assert_eq!(ends.publication.offer(monotonic(), b"x"), Err(OfferError::Closed), "{scheme}");
    }
}

#[test]
fn a_controlled_poll_ends_where_it_is_told_and_shows_an_aborted_message_again() {
    for mut ends in Ends::every("controlled") {
        for message in [b"a", b"b", b"c"] {
            ends.send(message);
        }
        let (mut seen, mut calls) = (Vec::new(), 0);
        until(ends.scheme, |now| {
            ends.publication.work(now);
            ends.subscription.poll_controlled(now, 9, |message| {
                seen.push(message.payload[0]);
                calls += 1;
                match calls {
                    1 | 3 => Action::Abort,
                    2 => Action::Break,
                    _ => Action::Continue,
                }
            });
            seen.len() == 5
        });
        assert_eq!((seen, ends.subscription.counters().received), (b"aabbc".to_vec(), 3));
    }
}

/// The packets that the decoder generated from the schema can read as a whole.
struct Packets;

impl Decoder for Packets {
    type Message<'a> = PacketReader<'a>;

    fn decode<'a>(&self, bytes: &'a [u8]) -> Option<PacketReader<'a>> {
        PacketReader::new(bytes).ok().filter(|packet| packet.messages().all(|one| one.is_ok()))
    }
}

#[test]
fn a_typed_poll_reads_messages_with_a_generated_sbe_decoder_and_counts_the_rest() {
    let (lots, order_count) = (Lots(7), 3);
    let (price, side, place) = (Price(585_330_000_000), Side::Buy, LevelPlace::ByPrice);
    let level = LevelUpdate { side, price, lots, order_count, place };
    let mut writer = PacketWriter::new([0; PACKET_BYTES_MAX]);
    writer.begin(PacketHeader::EMPTY).expect("a packet");
    writer.push(&Message::Event(InstrumentId(1), EventKind::Level(level))).expect("room");
    let packet = writer.finish();
    for mut ends in Ends::every("typed") {
        for bytes in [packet, &packet[..packet.len() - 1], packet] {
            ends.send(bytes);
        }
        let (mut seen, mut count) = (Vec::new(), 0);
        until(ends.scheme, |now| {
            ends.publication.work(now);
            count += ends.subscription.poll_typed(now, 9, &Packets, |read, _| {
                seen.extend(read.messages().flatten().filter_map(|message| match message {
                    Message::Event(_, EventKind::Level(level)) => Some(level),
                    _ => None,
                }));
            });
            count == 3
        });
        assert_eq!(seen, [level; 2], "{}", ends.scheme);
        assert_eq!(ends.subscription.counters().malformed, 1, "{}", ends.scheme);
    }
}

#[test]
fn a_spy_sees_what_a_publication_takes_beside_its_subscribers() {
    for mut ends in Ends::every("spy") {
        ends.send(b"before");
        let mut spy = ends.publication.spy().expect("a spy");
        ends.send(b"one");
        ends.publication.offer_vectored(monotonic(), &[b"t", b"wo"]).expect("vectored");
        let mut seen = Vec::new();
        spy.poll(monotonic(), 9, |message| seen.push(message.payload.to_vec()));
        assert_eq!(seen, [&b"one"[..], b"two"], "{}", ends.scheme);
        assert_eq!(ends.take(3), [&b"before"[..], b"one", b"two"], "{}", ends.scheme);
    }
}

#[test]
fn both_ends_are_told_when_the_other_one_comes_and_goes() {
    for mut ends in Ends::every("events") {
        let scheme = ends.scheme;
        ends.send(b"x");
        ends.take(1);
        let [of_publication, of_subscription] = ends.events();
        assert!(matches!(of_publication[..], [Event::Connected { .. }]), "{scheme}");
        assert!(matches!(of_subscription[..], [Event::ImageAvailable { .. }]), "{scheme}");
        ends.publication.close(monotonic());
        until(scheme, |now| {
            ends.work(now);
            ends.publication.closing() == Closing::Closed && ends.subscription.image_count() == 0
        });
        let [_, ended] = ends.events();
        let [Event::ImageUnavailable { reason: EndReason::Closed, .. }] = ended[..] else {
            panic!("{scheme}: {ended:?}");
        };
    }
    for mut ends in Ends::every("leaving") {
        let scheme = ends.scheme;
        ends.events();
        ends.subscription.close(monotonic());
        until(scheme, |now| {
            ends.work(now);
            ends.subscription.is_closed() && !ends.publication.is_connected()
        });
        let [of_publication, _] = ends.events();
        assert!(matches!(of_publication[..], [Event::Disconnected { .. }]), "{scheme}");
    }
}

#[test]
fn close_drains_to_the_end_and_who_abandons_is_told_what_is_at_stake() {
    for mut ends in Ends::every("close") {
        let scheme = ends.scheme;
        (0..20).for_each(|_| ends.send(&[1; 1000]));
        let at_stake = ends.publication.unacknowledged_bytes();
        assert_eq!(at_stake > 0, scheme != "lease", "{scheme}: {at_stake}");
        ends.publication.close(monotonic());
        // Nobody has read: the stream of a socket may be in the kernel, acknowledged by nobody.
        assert_ne!(ends.publication.closing(), Closing::Open, "{scheme}");
        assert_eq!(ends.take(20).len(), 20, "{scheme}");
        until(scheme, |now| {
            ends.work(now);
            ends.publication.closing() == Closing::Closed
        });
        assert_eq!(ends.publication.abandon(), 0, "{scheme}: everything arrived");

        let mut ends = Ends::connected(scheme, "abandon");
        (0..20).for_each(|_| ends.send(&[1; 1000]));
        let at_stake = ends.publication.unacknowledged_bytes();
        assert_eq!(ends.publication.abandon(), at_stake, "{scheme}");
    }
}

#[test]
fn both_ends_count_what_they_did_and_the_publisher_for_each_subscriber() {
    for mut ends in Ends::every("counters") {
        let scheme = ends.scheme;
        (0..10).for_each(|_| ends.send(&[1; 100]));
        ends.take(10);
        let begun = monotonic();
        until("a pause", |now| now - begun > Nanos::from_millis(5));
        until("everything is acknowledged", |now| {
            ends.work(now);
            ends.publication.unacknowledged_bytes() == 0
        });
        let (sent, received) = (ends.publication.counters(), ends.subscription.counters());
        assert_eq!((sent.sent, sent.sent_bytes), (10, 1000), "{scheme}");
        assert_eq!((received.received, received.received_bytes), (10, 1000), "{scheme}");
        for counters in [sent, received] {
            let Counters { lost, repaired, dropped, duplicated, reordered, .. } = counters;
            assert_eq!([lost, repaired, dropped, duplicated, reordered], [0; 5], "{scheme}");
            assert!(counters.poll_gap_ns_max > 5_000_000, "{scheme}: {counters:?}");
            let is_memory = matches!(scheme, "ipc" | "inproc");
            assert_eq!(counters.transfers > 0, !is_memory, "{scheme}: {counters:?}");
        }
        let counts = |ends: &Ends| {
            let all = ends.publication.subscribers().into_iter();
            all.map(|one| (one.is_connected, one.sent, one.dropped, one.waiting_bytes))
                .collect::<Vec<_>>()
        };
        assert_eq!(counts(&ends), [(true, 10, 0, 0)], "{scheme}");
        ends.subscription.close(monotonic());
        until(scheme, |now| {
            ends.work(now);
            !ends.publication.is_connected()
        });
        // Aeron's receivers are those that there are.
        let departed = [(false, 10, 0, 0)];
        let expected = if scheme == "aeron" { &departed[..0] } else { &departed[..] };
        assert_eq!(counts(&ends), expected, "{scheme}: its count outlives it");
    }
}

#[test]
fn messages_allocate_nothing_on_any_channel() {
    for mut ends in Ends::every("allocations") {
        let mut got = 0_u64;
        let mut exchange = |rounds: u64| {
            let goal = got + 3 * rounds;
            for _ in 0..rounds {
                let now = monotonic();
                ends.publication.offer(now, &[1; 70]).expect("room");
                ends.publication.offer_vectored(now, &[&[1; 30], &[2; 40]]).expect("room");
                ends.publication.try_claim(now, 70).expect("room").commit().expect("room");
                let before = got;
                until("three more", |now| {
                    ends.publication.work(now);
                    // Looks at the writer's process, which ask the kernel in text, are not due.
                    ends.subscription.poll(
                        if ends.scheme == "ipc" { Nanos(0) } else { now },
                        9,
                        |_| {
                            got += 1;
                        },
                    );
                    got == before + 3
                });
            }
            assert_eq!(got, goal);
        };
        exchange(200);
        let info = allocation_counter::measure(|| exchange(500));
        assert_eq!(info.count_total, 0, "{}", ends.scheme);
    }
}
