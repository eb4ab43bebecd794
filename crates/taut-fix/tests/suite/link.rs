//! Links: any split of the input, back pressure, held messages, hooks, no allocation.

use allocation_counter::measure;
use proptest::prelude::*;
use taut_fix::{
    Delivery, DisconnectReason, Event, FieldIndex, Hooks, Link, LinkConfig, LogonContext,
    MESSAGE_BYTES_MAX, MemoryStore, OrderFlow, Role, Session, SessionConfig, Store, Writer,
};

use crate::support::{at, config, order, report};

/// Room for a few messages, and none to spare.
const TIGHT: LinkConfig = LinkConfig::fixed(4 * 1024, 2 * 512, 512);
const WIDE: LinkConfig = LinkConfig::fixed(72 * 1024, 32 * 1024, 1024);

fn link(role: Role, sizes: &LinkConfig) -> Link<MemoryStore> {
    Link::new(session(role, |_| {}), sizes)
}

fn session(role: Role, change: impl Fn(&mut SessionConfig)) -> Session<MemoryStore> {
    let mut config = config(role);
    change(&mut config);
    Session::new(config, MemoryStore::new(1024, 256 << 10))
}

fn index() -> FieldIndex {
    FieldIndex::with_capacity(64)
}

/// What an end has seen: numbers of the application's messages, and other events.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    messages: Vec<u64>,
    events: Vec<Event>,
}

/// Gives bytes to a link, which answers every order with a report when it may.
fn give<H: Hooks>(link: &mut Link<MemoryStore, H>, mut bytes: &[u8], seen: &mut Seen) {
    let now = at(0.0);
    let mut index = index();
    while let Some(delivery) = link.handle_bytes(now, &mut bytes, &mut index) {
        let Delivery { event, message, mut outbox } = delivery;
        match event {
            Event::Application { sequence, .. } => {
                seen.messages.push(sequence);
                if let Ok(OrderFlow::NewOrderSingle(order)) = message.order_flow() {
                    outbox.send_message(&report(&order, now)).expect("room for an answer");
                }
            }
            event => seen.events.push(event),
        }
    }
}

/// Takes up to so many bytes of what a link wants to send.
fn take<H: Hooks>(link: &mut Link<MemoryStore, H>, bytes_max: usize) -> Vec<u8> {
    let waiting = link.poll_transmit(at(0.0));
    let bytes = waiting[..waiting.len().min(bytes_max)].to_vec();
    link.transmitted(bytes.len());
    bytes
}

/// A buyer and a venue that have logged on.
fn logged_on(sizes: &LinkConfig) -> (Link<MemoryStore>, Link<MemoryStore>) {
    let (mut buyer, mut venue) = (link(Role::Initiator, &WIDE), link(Role::Acceptor, sizes));
    buyer.connect(at(0.0));
    venue.connect(at(0.0));
    give(&mut venue, &take(&mut buyer, usize::MAX), &mut Seen::default());
    give(&mut buyer, &take(&mut venue, usize::MAX), &mut Seen::default());
    assert!(buyer.session().is_active() && venue.session().is_active());
    (buyer, venue)
}

/// The bytes of orders with these ids.
fn orders(buyer: &mut Link<MemoryStore>, count: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for id in 1..=count {
        buyer.outbox(at(0.0)).send_message(&order(id, at(0.0))).expect("room");
        bytes.extend(take(buyer, usize::MAX));
    }
    bytes
}

proptest! {
    #[test]
    fn any_split_gives_the_same_messages_and_answers(
        cuts in prop::collection::vec(1usize..400, 1..40),
        noise in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let (mut buyer, mut whole) = logged_on(&WIDE);
        let (_, mut split) = logged_on(&WIDE);
        let mut stream = orders(&mut buyer, 10);
        stream.extend(noise);
        stream.extend(orders(&mut buyer, 10));
        let (mut of_whole, mut of_split) = (Seen::default(), Seen::default());
        give(&mut whole, &stream, &mut of_whole);
        let (mut rest, mut cuts) = (&stream[..], cuts.iter().cycle());
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
            give(&mut split, piece, &mut of_split);
            rest = behind;
        }
        prop_assert_eq!(of_whole, of_split);
        prop_assert_eq!(take(&mut whole, usize::MAX), take(&mut split, usize::MAX));
    }

    #[test]
    fn a_transport_that_takes_little_loses_nothing(
        pieces in prop::collection::vec((1usize..600, 1usize..600), 1..40),
    ) {
        let (mut buyer, mut venue) = logged_on(&TIGHT);
        let stream = orders(&mut buyer, 60);
        let (mut of_venue, mut of_buyer) = (Seen::default(), Seen::default());
        let (mut rest, mut pieces) = (&stream[..], pieces.iter().cycle());
        while of_buyer.messages.len() < 60 {
            let (to_venue, to_buyer) = *pieces.next().unwrap();
            // A driver stops receiving where the inbox may not hold it.
            let (piece, behind) = rest.split_at(rest.len().min(to_venue).min(venue.inbox_free()));
            give(&mut venue, piece, &mut of_venue);
            rest = behind;
            give(&mut buyer, &take(&mut venue, to_buyer), &mut of_buyer);
        }
        prop_assert_eq!(of_venue.messages, (2..=61).collect::<Vec<_>>());
        prop_assert_eq!(of_buyer.messages, (2..=61).collect::<Vec<_>>());
        prop_assert!(of_venue.events.is_empty() && of_buyer.events.is_empty());
    }
}

#[test]
fn a_full_outbox_pauses_and_a_full_inbox_ends_the_link() {
    let (mut buyer, mut venue) = logged_on(&TIGHT);
    let stream = orders(&mut buyer, 60);
    let mut seen = Seen::default();
    give(&mut venue, &stream[..2_000], &mut seen);
    assert!(venue.is_paused() && !venue.has_room() && !venue.is_closed());
    let handled = seen.messages.len();
    assert!((1..10).contains(&handled), "{handled}");
    // The transport takes everything: it goes on without new bytes.
    take(&mut venue, usize::MAX);
    assert!(venue.is_paused() && venue.has_room());
    give(&mut venue, &[], &mut seen);
    assert!(seen.messages.len() > handled && seen.events.is_empty());
    // It takes nothing more, and the peer goes on.
    for piece in stream[2_000..].chunks(500) {
        give(&mut venue, piece, &mut seen);
    }
    assert_eq!(seen.events, [Event::Disconnect(DisconnectReason::InboxFull)]);
    assert!(venue.is_closed());
}

#[test]
fn a_resend_goes_out_as_the_transport_takes_it() {
    let (mut buyer, mut venue) = logged_on(&TIGHT);
    let (mut seen, mut lost) = (Seen::default(), Seen::default());
    // Forty reports are lost, and the next one shows it.
    for _ in 0..41 {
        let order = orders(&mut buyer, 1);
        give(&mut venue, &order, &mut lost);
        let report = take(&mut venue, usize::MAX);
        if lost.messages.len() == 41 {
            give(&mut buyer, &report, &mut seen);
        }
    }
    assert!(seen.messages.is_empty());
    give(&mut venue, &take(&mut buyer, usize::MAX), &mut lost);
    assert!(venue.is_paused(), "forty reports fit nowhere");
    while seen.messages.len() < 41 {
        let piece = take(&mut venue, 100);
        assert!(!piece.is_empty(), "{:?}", seen.messages);
        give(&mut buyer, &piece, &mut seen);
    }
    // The last one waited for its turn.
    assert_eq!(seen.messages, (2..=42).collect::<Vec<_>>());
    assert_eq!(buyer.session().store().next_incoming(), 43);
}

#[test]
fn what_comes_after_the_end_is_dropped() {
    let (mut buyer, mut venue) = logged_on(&WIDE);
    let order = orders(&mut buyer, 1);
    buyer.outbox(at(0.0)).log_out("");
    let mut seen = Seen::default();
    give(&mut venue, &take(&mut buyer, usize::MAX), &mut seen);
    assert_eq!(seen.events, [Event::LoggedOut]);
    give(&mut venue, &order, &mut seen);
    give(&mut venue, &order[..10], &mut seen);
    assert_eq!((seen.messages.len(), venue.inbox_len()), (0, 0));
    assert!(!venue.poll_transmit(at(0.0)).is_empty() && venue.is_closed());
}

#[test]
fn a_new_connection_starts_with_empty_buffers() {
    let (mut buyer, mut venue) = logged_on(&WIDE);
    let order = orders(&mut buyer, 1);
    give(&mut venue, &order[..order.len() - 1], &mut Seen::default());
    buyer.outbox(at(0.0)).send_message(&order_of(2)).expect("room");
    for link in [&mut buyer, &mut venue] {
        link.transport_closed(at(1.0));
        link.connect(at(1.0));
        assert_eq!((link.unsent().len(), link.inbox_len()), (0, 0));
    }
    let mut seen = Seen::default();
    give(&mut venue, &take(&mut buyer, usize::MAX), &mut seen);
    assert_eq!(seen.events, [Event::LoggedOn]);
}

fn order_of(id: u64) -> taut_fix::NewOrderSingle {
    order(id, at(0.0))
}

/// Counts messages, and signs Logons.
#[derive(Debug, Default)]
struct Counting {
    received: Vec<u8>,
    sent: Vec<u8>,
}

impl Hooks for Counting {
    fn write_logon(&mut self, context: &LogonContext, writer: &mut Writer<'_>) {
        assert_eq!(context.sequence, 1);
        writer.text::<553>(b"me");
    }

    fn received(&mut self, _: taut_fix::Now, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    fn sent(&mut self, _: taut_fix::Now, message: &[u8]) {
        self.sent.extend_from_slice(message);
    }
}

#[test]
fn hooks_see_every_byte_once_and_add_to_logons() {
    let session = session(Role::Initiator, |_| {});
    let mut near = Link::with_hooks(session, &WIDE, Counting::default());
    let mut far = link(Role::Acceptor, &WIDE);
    near.connect(at(0.0));
    far.connect(at(0.0));
    let mut sent = take(&mut near, usize::MAX);
    let logon = String::from_utf8(sent.clone()).expect("text");
    assert!(logon.contains("\x01553=me\x01"), "{logon}");
    give(&mut far, &sent, &mut Seen::default());
    let mut received = take(&mut far, usize::MAX);
    give(&mut near, &received, &mut Seen::default());
    near.outbox(at(0.0)).send_message(&order_of(1)).expect("room");
    let order = take(&mut near, usize::MAX);
    give(&mut far, &order, &mut Seen::default());
    sent.extend(order);
    let report = take(&mut far, usize::MAX);
    for piece in report.chunks(7) {
        give(&mut near, piece, &mut Seen::default());
    }
    received.extend(report);
    let counted = near.hooks_mut();
    assert_eq!((&counted.sent, &counted.received), (&sent, &received));
}

#[test]
fn msg_type_may_stand_anywhere_where_it_is_allowed() {
    let sizes = LinkConfig { msg_type_anywhere: true, ..WIDE };
    let (mut buyer, mut strict) = logged_on(&WIDE);
    let (_, mut lax) = logged_on(&sizes);
    let stream = orders(&mut buyer, 2);
    let text = String::from_utf8(stream).expect("text");
    // Behind the number instead of before it.
    let sorted = text
        .replace("35=D\x0134=2\x01", "34=2\x0135=D\x01")
        .replace("35=D\x0134=3\x01", "34=3\x0135=D\x01");
    let (mut of_strict, mut of_lax) = (Seen::default(), Seen::default());
    for piece in sorted.as_bytes().chunks(90) {
        give(&mut strict, piece, &mut of_strict);
        give(&mut lax, piece, &mut of_lax);
    }
    assert_eq!((of_strict.messages, of_lax.messages), (vec![], vec![2, 3]));
}

#[test]
fn an_inbox_is_only_as_large_as_it_may_become() {
    let growing = LinkConfig { inbox_bytes: 0, inbox_bytes_max: 600, ..WIDE };
    let (mut buyer, mut venue) = logged_on(&growing);
    let stream = orders(&mut buyer, 1);
    let mut seen = Seen::default();
    for byte in &stream {
        give(&mut venue, &[*byte], &mut seen);
    }
    assert_eq!(seen.messages, [2]);
    assert!(venue.receive(&[b'8'; 600]) && !venue.receive(b"8"));
}

#[test]
fn a_message_that_is_too_long_ends_the_session() {
    let (_, mut venue) = logged_on(&WIDE);
    let mut seen = Seen::default();
    let head = format!("8=FIX.4.4\x019={}\x0135=D\x01", MESSAGE_BYTES_MAX + 1);
    give(&mut venue, head.as_bytes(), &mut seen);
    assert_eq!(seen.events, [Event::Disconnect(DisconnectReason::MessageTooLarge)]);
    assert_eq!(venue.inbox_len(), 0);
}

#[test]
fn time_outs_are_told_without_a_message() {
    let mut venue = link(Role::Acceptor, &WIDE);
    venue.connect(at(0.0));
    let due = venue.poll_timeout().expect("a Logon is awaited");
    let late = taut_fix::Now { mono: due, ..at(20.0) };
    let delivery = venue.handle_timeout(late).expect("an event");
    assert_eq!(delivery.event, Event::Disconnect(DisconnectReason::LogonTimeout));
    assert!(delivery.message.bytes.is_empty() && delivery.message.msg_type().is_empty());
    assert!(venue.is_closed());
}

#[test]
fn a_link_with_fixed_buffers_allocates_nothing() {
    let (mut buyer, mut venue) = logged_on(&TIGHT);
    let (now, mut index) = (at(0.0), index());
    let mut pass = |from: &mut Link<MemoryStore>, to: &mut Link<MemoryStore>, cut: usize| {
        let mut count = 0;
        let bytes = from.poll_transmit(now);
        let len = bytes.len();
        for mut piece in [&bytes[..cut.min(len)], &bytes[cut.min(len)..]] {
            while let Some(delivery) = to.handle_bytes(now, &mut piece, &mut index) {
                count += 1;
                if let Ok(OrderFlow::NewOrderSingle(order)) = delivery.message.order_flow() {
                    let mut outbox = delivery.outbox;
                    outbox.send_message(&report(&order, now)).expect("room");
                }
            }
        }
        from.transmitted(len);
        count
    };
    let spent = measure(|| {
        for id in 0..200 {
            buyer.outbox(now).send_message(&order(id, now)).expect("room");
            assert_eq!(pass(&mut buyer, &mut venue, id as usize), 1);
            assert_eq!(pass(&mut venue, &mut buyer, id as usize), 1);
        }
    });
    assert_eq!(spent.count_total, 0);
}
