//! What a message costs without a socket: `cargo run --release --example index_cost`.
//!
//! Index, index with the dictionary's checks, and encoding through a session with a store, for an
//! order of 16 fields and a report of 22 (MsgType to before CheckSum). Nanoseconds per message, the
//! best of many rounds over 4,096 different messages: wall time on one core, so read it as an order
//! of magnitude on a shared machine. With an argument (`index`, `check` or `encode`) it runs only
//! that; with a count behind it, that many rounds and no clock, for callgrind: the difference of
//! two counts, divided by 4,096, is what one message of each kind costs in instructions. A third
//! argument (`order` or `report`) leaves out the other kind.

use std::hint::black_box;
use std::sync::Arc;

use taut_fix::{
    BeginString, CompId, Dictionaries, Extras, FieldIndex, Framed, MESSAGE_BYTES_MAX, MemoryStore,
    Now, Role, Rules, SIMD_LEVEL, Session, SessionConfig, Writer, fix44, frame,
};
use taut_sys::monotonic;
use taut_types::{Nanos, Price};

const DISTINCT: u64 = 4096;
const ROUNDS: usize = 200;
const UTC: Nanos = Nanos(1_789_000_000_123_000_000);

#[derive(Clone, Copy)]
struct Order {
    id: u64,
    qty: u64,
    price: Price,
    utc: Nanos,
    side: u8,
}

impl Order {
    fn numbered(number: u64) -> Self {
        Self {
            id: 1_000_000_000 + number * 7919,
            qty: 100 + number * 37 % 900,
            price: Price(100_010_000_000 + (number as i64 * 131 % 9_973) * 10_000_000),
            utc: UTC + Nanos(number as i64 % 1000 * 1_000_000),
            side: b'1' + (number % 2) as u8,
        }
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.text::<1>(b"ACCT01");
        writer.number::<11>(self.id);
        writer.byte::<63>(b'0');
        writer.byte::<21>(b'1');
        writer.number::<38>(self.qty);
        writer.byte::<40>(b'2');
        writer.price::<44>(self.price);
        writer.byte::<54>(self.side);
        writer.text::<55>(b"BTC-USD");
        writer.byte::<59>(b'0');
        writer.timestamp::<60>(self.utc);
    }

    fn write_report(&self, writer: &mut Writer<'_>) {
        writer.price::<6>(self.price);
        writer.number::<11>(self.id);
        writer.number::<14>(self.qty);
        writer.number::<17>(self.id + 7);
        writer.price::<31>(self.price);
        writer.number::<32>(self.qty);
        writer.number::<37>(self.id + 3);
        writer.number::<38>(self.qty);
        writer.byte::<39>(b'2');
        writer.byte::<40>(b'2');
        writer.price::<44>(self.price);
        writer.byte::<54>(self.side);
        writer.text::<55>(b"BTC-USD");
        writer.byte::<59>(b'0');
        writer.timestamp::<60>(self.utc);
        writer.byte::<150>(b'F');
        writer.number::<151>(0);
    }
}

fn best(rounds: usize, is_timed: bool, mut round: impl FnMut()) -> f64 {
    if !is_timed {
        (0..rounds).for_each(|_| round());
        return 0.0;
    }
    let mut best = Nanos::MAX;
    for _ in 0..rounds {
        let start = monotonic();
        round();
        best = best.min(monotonic().since(start));
    }
    best.0 as f64 / DISTINCT as f64
}

/// A session that is logged on, with full validation and room for every message.
fn session(dictionary: &Arc<taut_fix::Dictionary>) -> Session<MemoryStore> {
    let name = |text: &[u8]| CompId::new(text).expect("a name");
    let made = |role, us: &[u8], them: &[u8]| {
        let mut config = SessionConfig::new(role, BeginString::Fix44, name(us), name(them));
        config.dictionaries = Some(Dictionaries::one(Arc::clone(dictionary)));
        Session::new(config, MemoryStore::new(4096, 4096 * 256))
    };
    let mut near = made(Role::Initiator, b"CLIENT", b"VENUE");
    let mut far = made(Role::Acceptor, b"VENUE", b"CLIENT");
    let now = Now { mono: Nanos(1), utc: UTC };
    let (mut out, mut index) = ([0; 1024], FieldIndex::with_capacity(64));
    far.connect(now);
    near.connect(now);
    let range = near.poll_transmit(now, &mut out).expect("a Logon");
    far.handle_bytes(now, &out[range], &mut index);
    let range = far.poll_transmit(now, &mut out).expect("a Logon");
    near.handle_bytes(now, &out[range], &mut index);
    near
}

fn main() {
    let wanted = std::env::args().nth(1);
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    let count = std::env::args().nth(2).map(|count| count.parse().expect("a count of rounds"));
    let kind = std::env::args().nth(3);
    let (rounds, is_timed) = (count.unwrap_or(ROUNDS), count.is_none());
    let dictionary = Arc::new(fix44().expect("the built-in dictionary"));
    let mut index = FieldIndex::with_capacity(64);
    let now = Now { mono: Nanos(1), utc: UTC };
    let orders: Vec<_> = (0..DISTINCT).map(Order::numbered).collect();
    println!("{SIMD_LEVEL}");
    for (name, is_report) in [("order", false), ("report", true)] {
        if kind.as_deref().is_some_and(|kind| kind != name) {
            continue;
        }
        let mut session = session(&dictionary);
        let mut out = [0; 1024];
        let mut encode = |order: &Order| {
            let range = if is_report {
                session.send(now, b"8", Extras::default(), &mut out, |w| order.write_report(w))
            } else {
                session.send(now, b"D", Extras::default(), &mut out, |w| order.write(w))
            };
            let range = range.expect("room");
            black_box(&out);
            out[range].to_vec()
        };
        let messages: Vec<_> = orders.iter().map(&mut encode).collect();
        let mut fields = 0;
        let mut run = |validate: bool| {
            best(rounds, is_timed, || {
                for message in &messages {
                    let framed = frame(black_box(message), MESSAGE_BYTES_MAX);
                    let Ok(Framed::Message(found)) = framed else { panic!("{framed:?}") };
                    index.fill(&found).expect("fields");
                    fields = index.slots().len();
                    if validate {
                        let checked = dictionary.check(found.bytes(), index.slots(), Rules::ALL);
                        checked.expect("a valid message");
                    }
                    black_box(index.slots());
                }
            })
        };
        let index_ns = if is_wanted("index") { run(false) } else { 0.0 };
        let check_ns = if is_wanted("check") { run(true) } else { 0.0 };
        let mut encode = |order: &Order| {
            let made = if is_report {
                session.send(now, b"8", Extras::default(), &mut out, |w| order.write_report(w))
            } else {
                session.send(now, b"D", Extras::default(), &mut out, |w| order.write(w))
            };
            made.expect("room");
            black_box(&out);
        };
        let encode_ns = if is_wanted("encode") {
            best(rounds, is_timed, || orders.iter().for_each(|order| encode(black_box(order))))
        } else {
            0.0
        };
        println!(
            "{name} of {} bytes and {fields} fields: index {index_ns:.1}, with validation \
             {check_ns:.1}, encode {encode_ns:.1} ns",
            messages[7].len()
        );
    }
}
