//! What a FIX message costs without a socket.
//!
//! Index, index with the dictionary's checks, and encoding through a session, for an order of 16
//! fields and a report of 22 (MsgType to before CheckSum). Nanoseconds per message, the best of
//! many rounds over 4,096 different messages: wall time on one core, so read it as an order of
//! magnitude on a shared machine. Encoding is measured twice: as such, over a store that keeps
//! nothing but the number, and with the copy that a store in memory makes.
//!
//! It runs one of them or `all`, so many rounds and no clock; with 0 rounds, many, and the clock.
//! The difference of two counts of rounds, divided by 4,096, is what one message of each kind costs
//! in instructions. `order` or `report` leaves out the other kind; `avx2`, `sse2` or `portable`
//! takes other instructions than the best.

use std::hint::black_box;
use std::sync::Arc;

use taut_fix::{
    BeginString, CompId, Dictionaries, Extras, FieldIndex, Framed, MESSAGE_BYTES_MAX, MemoryStore,
    Now, PriceText, Role, Rules, Session, SessionConfig, SimdLevel, Store, Writer, fix44, frame_at,
};
use taut_sys::monotonic;
use taut_types::{Nanos, Price};

use crate::{Outcome, count, one_of};

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
        let mut price = PriceText::new();
        writer.price_again::<6>(self.price, &mut price);
        writer.number::<11>(self.id);
        writer.number::<14>(self.qty);
        writer.number::<17>(self.id + 7);
        writer.price_again::<31>(self.price, &mut price);
        writer.number::<32>(self.qty);
        writer.number::<37>(self.id + 3);
        writer.number::<38>(self.qty);
        writer.byte::<39>(b'2');
        writer.byte::<40>(b'2');
        writer.price_again::<44>(self.price, &mut price);
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

/// A session that is logged on, with full validation.
fn session<S: Store + Clone>(
    dictionary: &Arc<taut_fix::Dictionary>,
    level: SimdLevel,
    store: &S,
) -> Session<S> {
    let name = |text: &[u8]| CompId::new(text).expect("a name");
    let made = |role, us: &[u8], them: &[u8]| {
        let mut config = SessionConfig::new(role, BeginString::Fix44, name(us), name(them));
        config.dictionaries = Some(Dictionaries::one(Arc::clone(dictionary)));
        config.simd = Some(level);
        Session::new(config, store.clone())
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

fn encode<S: Store>(
    session: &mut Session<S>,
    order: &Order,
    is_report: bool,
    out: &mut [u8],
) -> std::ops::Range<usize> {
    let now = Now { mono: Nanos(1), utc: UTC };
    let made = if is_report {
        session.send(now, b"8", Extras::default(), out, |writer| order.write_report(writer))
    } else {
        session.send(now, b"D", Extras::default(), out, |writer| order.write(writer))
    };
    made.expect("room")
}

fn encode_all<S: Store>(
    session: &mut Session<S>,
    orders: &[Order],
    is_report: bool,
    rounds: usize,
    is_timed: bool,
) -> f64 {
    let mut out = [0; 1024];
    best(rounds, is_timed, || {
        for order in orders {
            encode(session, black_box(order), is_report, &mut out);
            black_box(&out);
        }
    })
}

pub fn run(words: &[&str]) -> Outcome {
    let wanted = one_of(words.first(), &["index", "check", "encode", "keep", "all"])?;
    let is_wanted = |name| [name, "all"].contains(&wanted);
    let count = count(words.get(1))? as usize;
    let kind = match words.get(2) {
        None => None,
        some => Some(one_of(some, &["order", "report"])?),
    };
    let is_timed = count == 0;
    let rounds = if is_timed { ROUNDS } else { count };
    let dictionary = Arc::new(fix44().expect("the built-in dictionary"));
    let orders: Vec<_> = (0..DISTINCT).map(Order::numbered).collect();
    let level = match words.get(3) {
        Some(name) => SimdLevel::named(name).ok_or("no level of this processor")?,
        None => SimdLevel::best(),
    };
    println!("{}", level.name());
    let mut index = FieldIndex::with_level(64, level);
    for (name, is_report) in [("order", false), ("report", true)] {
        if kind.is_some_and(|kind| kind != name) {
            continue;
        }
        // Room for no message: what is left is the cost of encoding.
        let mut near = session(&dictionary, level, &MemoryStore::new(0, 0));
        let mut out = [0; 1024];
        let mut messages = Vec::new();
        for order in &orders {
            let range = encode(&mut near, order, is_report, &mut out);
            messages.push(out[range].to_vec());
        }
        let mut fields = 0;
        let mut run = |validate: bool| {
            best(rounds, is_timed, || {
                for message in &messages {
                    let framed = frame_at(black_box(message), MESSAGE_BYTES_MAX, level);
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
        let encode_ns = if is_wanted("encode") {
            encode_all(&mut near, &orders, is_report, rounds, is_timed)
        } else {
            0.0
        };
        let kept_ns = if is_wanted("keep") {
            let store = MemoryStore::new(4096, 4096 * 256);
            let mut near = session(&dictionary, level, &store);
            encode_all(&mut near, &orders, is_report, rounds, is_timed)
        } else {
            0.0
        };
        println!(
            "{name} of {} bytes and {fields} fields: index {index_ns:.1}, with validation \
             {check_ns:.1}, encode {encode_ns:.1}, and kept {kept_ns:.1} ns",
            messages[7].len()
        );
    }
    Ok(())
}
