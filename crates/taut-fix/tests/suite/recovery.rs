//! Sessions that lose messages: without allocation, at every split, resends, chunks.

use std::path::Path;
use std::sync::Arc;

use allocation_counter::measure;
use taut_fix::{
    BeginString, CompId, Dictionaries, Event, Extras, FieldIndex, Framed, MemoryStore, Now, Role,
    Session, SessionConfig, Store, fix44, frame,
};
use taut_types::Nanos;

const DEFINITIONS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fix/at/definitions");

const NOW: Now = Now { mono: Nanos::from_secs(5), utc: Nanos(1_789_000_000_123_000_000) };

fn session(role: Role, change: impl Fn(&mut SessionConfig)) -> Session<MemoryStore> {
    let name = |text: &str| CompId::new(text.as_bytes()).unwrap();
    let (us, them) = if role == Role::Initiator { ("US", "THEM") } else { ("THEM", "US") };
    let mut config = SessionConfig::new(role, BeginString::Fix44, name(us), name(them));
    config.dictionaries = Some(Dictionaries::one(Arc::new(fix44().unwrap())));
    change(&mut config);
    Session::new(config, MemoryStore::new(64, 16 * 1024))
}

/// Two sessions and the bytes between them, which a test may lose.
struct Pair {
    near: Session<MemoryStore>,
    far: Session<MemoryStore>,
    index: FieldIndex,
    /// Sequence numbers and ids of the orders that `far` was given.
    delivered: Vec<(u64, bool)>,
}

impl Pair {
    fn new(change: impl Fn(&mut SessionConfig)) -> Self {
        let near = session(Role::Initiator, &change);
        let far = session(Role::Acceptor, &change);
        let index = FieldIndex::with_capacity(64);
        let mut pair = Self { near, far, index, delivered: Vec::new() };
        pair.connect();
        pair
    }

    fn connect(&mut self) {
        self.far.connect(NOW);
        self.near.connect(NOW);
        self.settle();
        assert!(self.near.is_active() && self.far.is_active());
    }

    /// Passes messages of the session layer to and fro until both are silent.
    fn settle(&mut self) {
        let mut out = [0; 1024];
        loop {
            if let Some(range) = self.near.poll_transmit(NOW, &mut out) {
                self.give_far(&out[range]);
            } else if let Some(range) = self.far.poll_transmit(NOW, &mut out) {
                let made = self.near.handle_bytes(NOW, &out[range], &mut self.index);
                assert!(made.consumed > 0);
            } else {
                return;
            }
        }
    }

    fn give_far(&mut self, bytes: &[u8]) {
        let mut held = [0; 1024];
        let mut made = self.far.handle_bytes(NOW, bytes, &mut self.index);
        loop {
            if let Some(Event::Application { sequence, poss_dup, .. }) = made.event {
                self.delivered.push((sequence, poss_dup));
            }
            let Some(len) = self.far.take_held(&mut held) else { return };
            made = self.far.handle_bytes(NOW, &held[..len], &mut self.index);
        }
    }

    fn order(&mut self, id: u64, out: &mut [u8]) -> std::ops::Range<usize> {
        self.near
            .send(NOW, b"D", Extras::default(), out, |writer| {
                writer.number::<11>(id);
                writer.number::<38>(7);
                writer.byte::<40>(b'1');
                writer.byte::<54>(b'1');
                writer.text::<55>(b"BTC-USD");
                writer.timestamp::<60>(NOW.utc);
            })
            .unwrap()
    }

    fn send(&mut self, id: u64, is_lost: bool) {
        let mut out = [0; 1024];
        let range = self.order(id, &mut out);
        if !is_lost {
            self.give_far(&out[range]);
        }
        self.settle();
    }
}

#[test]
fn a_validated_order_costs_no_allocation_on_either_side() {
    let mut pair = Pair::new(|_| {});
    pair.delivered.reserve(2000);
    let mut out = [0; 1024];
    let counted = measure(|| {
        for id in 0..1000 {
            let range = pair.order(id, &mut out);
            let made = pair.far.handle_bytes(NOW, &out[range], &mut pair.index);
            assert!(matches!(made.event, Some(Event::Application { .. })));
        }
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn lost_orders_come_again_in_their_place() {
    for chunk in [0, 1, 2, 3] {
        let mut pair = Pair::new(|config| config.resend_chunk = chunk);
        for id in 1..=8 {
            pair.send(id, (2..=6).contains(&id));
        }
        let sequences: Vec<_> = pair.delivered.iter().map(|(sequence, _)| *sequence).collect();
        assert_eq!(sequences, [2, 3, 4, 5, 6, 7, 8, 9], "chunk {chunk}");
        assert!(pair.delivered[1..6].iter().all(|(_, poss_dup)| *poss_dup));
        assert_eq!(pair.far.counters().gaps, [1, 3, 3, 2][chunk as usize], "chunk {chunk}");
    }
}

/// A peer that goes on sending while it answers, more than there is room to hold.
#[test]
fn what_was_dropped_behind_a_gap_is_asked_for_again() {
    for chunk in [0, 5] {
        let mut pair = Pair::new(|config| config.resend_chunk = chunk);
        let mut out = [0; 1024];
        let _lost = pair.order(1, &mut out);
        let range = pair.order(2, &mut out);
        pair.give_far(&out[range]);
        let request = pair.far.poll_transmit(NOW, &mut out).expect("a resend request");
        let made = pair.near.handle_bytes(NOW, &out[request], &mut pair.index);
        assert!(made.consumed > 0);
        // Its answer is due, and waits behind these.
        for id in 3..=600 {
            let range = pair.order(id, &mut out);
            pair.give_far(&out[range]);
        }
        pair.settle();
        pair.send(601, false);
        let next = pair.near.store().next_outgoing();
        assert_eq!(pair.far.store().next_incoming(), next, "chunk {chunk}");
        assert!(pair.far.counters().gaps > 1);
        assert!(pair.delivered.is_sorted_by(|(one, _), (next, _)| one < next), "each once");
    }
}

#[test]
fn a_message_whose_header_holds_data_comes_again() {
    let mut pair = Pair::new(|config| config.dictionaries = None);
    let mut out = [0; 1024];
    pair.send(1, true);
    let lost = pair.near.send(NOW, b"n", Extras::default(), &mut out, |writer| {
        writer.data::<212, 213>(b"<a\x01b/>");
        writer.text::<58>(b"text");
    });
    assert!(lost.is_ok());
    pair.send(3, false);
    // The last one was held until its turn.
    assert_eq!(pair.delivered, [(2, true), (3, true), (4, false)]);
}

#[test]
fn a_kept_message_that_cannot_be_read_is_filled_and_the_rest_comes() {
    let mut pair = Pair::new(|_| {});
    let mut store = MemoryStore::new(64, 16 * 1024);
    store.keep(1, b"8=FIX.4.4\x01no message").unwrap();
    pair.near = Session::new(pair.near.config().clone(), store);
    pair.far = session(Role::Acceptor, |_| {});
    // The Logon has number 2: the far side asks for the first.
    pair.connect();
    pair.send(1, false);
    assert_eq!(pair.delivered, [(3, false)]);
    assert_eq!(pair.far.counters().gaps, 1);
}

#[test]
fn with_789_a_gap_at_logon_is_filled_unasked() {
    let mut pair = Pair::new(|config| config.next_expected = true);
    pair.send(1, false);
    pair.send(2, true);
    pair.near.transport_closed(NOW);
    pair.far.transport_closed(NOW);
    pair.connect();
    let sequences: Vec<_> = pair.delivered.iter().map(|(sequence, _)| *sequence).collect();
    assert_eq!((sequences, pair.far.counters().gaps), (vec![2, 3], 0));
    pair.send(3, false);
    assert_eq!(pair.delivered.len(), 3);
}

#[test]
fn every_split_of_every_acceptance_message_gives_the_same() {
    let mut messages = Vec::new();
    for version in ["fix42", "fix44"] {
        let Ok(folder) = std::fs::read_dir(Path::new(DEFINITIONS).join(version)) else {
            println!("skipped: {DEFINITIONS}/{version} is not there");
            return;
        };
        for entry in folder {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let lines = bytes.split(|byte| *byte == b'\n');
            let lines =
                lines.filter_map(|line| line.strip_prefix(b"I").or(line.strip_prefix(b"E")));
            messages.extend(lines.filter(|line| line.starts_with(b"8=FIX")).map(<[u8]>::to_vec));
        }
    }
    assert!(messages.len() > 500, "{}", messages.len());
    for line in messages {
        let whole = completed(&line);
        let expected = frame(&whole, 8192);
        for cut in 0..whole.len() {
            let part = frame(&whole[..cut], 8192);
            match (part, expected) {
                (Ok(Framed::NeedMore), _) => {}
                // A garbled start may show before the end; what it skips is never beyond it.
                (Ok(Framed::Garbled { skip }), Ok(Framed::Garbled { .. })) => assert!(skip <= cut),
                other => panic!("{other:?} at {cut} of {}", String::from_utf8_lossy(&whole)),
            }
        }
    }
}

/// With length and checksum, as the runner adds them when they are absent.
fn completed(line: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(line).replace("<TIME>", "20260910-01:06:40");
    let (begin, rest) = text.split_once('\x01').unwrap();
    let (body, trailer) = match rest.rfind("\x0110=") {
        Some(at) => (&rest[..=at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let length =
        if body.starts_with("9=") { String::new() } else { format!("9={}\x01", body.len()) };
    let mut whole = format!("{begin}\x01{length}{body}");
    let sum = whole.bytes().fold(0u8, u8::wrapping_add);
    whole += &trailer.map_or_else(|| format!("10={sum:03}\x01"), str::to_owned);
    whole.into_bytes()
}
