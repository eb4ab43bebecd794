//! What encoding and decoding cost on this machine: `cargo run --release --example codec_cost`.
//!
//! Prints nanoseconds per message over whole runs of a million messages, the best of ten runs,
//! and a hash of the work. Wall time: read it as an order of magnitude on a shared
//! machine.
//!
//! With a kind (`encode-order`, `encode-report`, `handle-order` or `handle-report`) and a count it
//! does that many messages once and reads no clock, for callgrind: the difference of two counts is
//! what so many messages more cost in instructions.

use std::hint::black_box;

use taut_fix::{
    BeginString, CompId, ExecType, ExecutionReport, FieldIndex, LongText, MemoryStore,
    NewOrderSingle, Now, OrdStatus, OrderFlow, Role, Session, SessionConfig, ShortText,
};
use taut_sys::monotonic;
use taut_types::{Nanos, OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

const MESSAGES: u64 = 1_000_000;
const RUNS: usize = 10;
const START: Now = Now { mono: Nanos(0), utc: Nanos(1_789_000_000_000_000_000) };

fn main() {
    let kind = std::env::args().nth(1);
    let count = std::env::args().nth(2).map(|count| count.parse().expect("a count of messages"));
    let messages = count.unwrap_or(MESSAGES);
    let is_timed = count.is_none();
    let mut hash = 0u64;
    for (name, decodes, buys) in [
        ("encode-order", false, true),
        ("encode-report", false, false),
        ("handle-order", true, true),
        ("handle-report", true, false),
    ] {
        if kind.as_deref().is_some_and(|kind| kind != name) {
            continue;
        }
        let nanos = if decodes {
            // Decoding needs consecutive numbers: encoded before the clock starts.
            let mut stream = Vec::new();
            encode(messages, buys, &mut |message| stream.extend_from_slice(message));
            best(messages, is_timed, || hash = hash.wrapping_add(handle(&stream, buys)))
        } else {
            best(messages, is_timed, || {
                encode(messages, buys, &mut |message| {
                    hash =
                        hash.wrapping_mul(31).wrapping_add(u64::from(message[message.len() - 3]));
                });
            })
        };
        println!("{name:14} {nanos:6.1} ns");
    }
    println!("hash of the work {hash:016x}");
}

/// Encodes so many orders of the buyer, or reports of the seller.
fn encode(messages: u64, buys: bool, take: &mut impl FnMut(&[u8])) {
    let (mut buyer, mut seller) = (session(true), session(false));
    let now = START;
    log_on(&mut buyer, &mut seller, now);
    let mut out = [0u8; 1024];
    for id in 0..messages {
        let at = later(now, id);
        let range = if buys {
            buyer.send_message(at, black_box(&order(id, at)), &mut out).unwrap()
        } else {
            seller.send_message(at, black_box(&report(id, at)), &mut out).unwrap()
        };
        take(&out[range]);
    }
}

/// Frame, checksum, index, sequence, typed. Returns how many there were.
fn handle(stream: &[u8], buys: bool) -> u64 {
    let (mut buyer, mut seller) = (session(true), session(false));
    log_on(&mut buyer, &mut seller, START);
    let mut index = FieldIndex::with_capacity(64);
    let receiver = if buys { &mut seller } else { &mut buyer };
    let (mut at, mut count) = (0, 0);
    while at < stream.len() {
        let bytes = black_box(&stream[at..]);
        let made = receiver.handle_bytes(START, bytes, &mut index);
        let flow = black_box(OrderFlow::decode(&bytes[..made.consumed], &index).unwrap());
        at += made.consumed;
        count += u64::from(!matches!(flow, OrderFlow::Other));
    }
    count
}

fn best(messages: u64, is_timed: bool, mut run: impl FnMut()) -> f64 {
    if !is_timed {
        run();
        return 0.0;
    }
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let start = monotonic();
        run();
        let span = monotonic().since(start);
        best = best.min(span.0 as f64 / messages as f64);
    }
    best
}

fn text(text: &str) -> ShortText {
    ShortText::new(text.as_bytes()).unwrap()
}

fn session(buys: bool) -> Session<MemoryStore> {
    let name = |name: &str| CompId::new(name.as_bytes()).unwrap();
    let (role, us, them) =
        if buys { (Role::Initiator, "BUYER", "VENUE") } else { (Role::Acceptor, "VENUE", "BUYER") };
    let mut config = SessionConfig::new(role, BeginString::Fix44, name(us), name(them));
    config.sending_time_tolerance = Nanos::ZERO;
    config.reset_on_logon = true;
    Session::new(config, MemoryStore::new(1024, 256 * 1024))
}

fn log_on(buyer: &mut Session<MemoryStore>, seller: &mut Session<MemoryStore>, now: Now) {
    let mut index = FieldIndex::with_capacity(64);
    let mut out = [0u8; 512];
    buyer.connect(now);
    seller.connect(now);
    let range = buyer.poll_transmit(now, &mut out).unwrap();
    seller.handle_bytes(now, &out[range], &mut index);
    let range = seller.poll_transmit(now, &mut out).unwrap();
    buyer.handle_bytes(now, &out[range], &mut index);
    assert!(buyer.is_active() && seller.is_active());
}

/// Ten microseconds a message: the second changes every 100,000 messages.
fn later(now: Now, id: u64) -> Now {
    let passed = Nanos((id * 10_000) as i64);
    Now { mono: now.mono + passed, utc: now.utc + passed }
}

fn order(id: u64, now: Now) -> NewOrderSingle {
    NewOrderSingle {
        cl_ord_id: ShortText::from_u64(1_000_000 + id),
        symbol: text("AAPL"),
        side: if id.is_multiple_of(2) { Side::Buy } else { Side::Sell },
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        price: Some(Price(585_330_000_000 + (id % 1000) as i64 * 10_000_000)),
        qty: Qty::whole(100 + (id % 100) as i64),
        transact_time: now.utc,
        account: None,
        flags: OrderFlags::NONE,
        stop_price: None,
        max_floor: None,
    }
}

fn report(id: u64, now: Now) -> ExecutionReport<'static> {
    ExecutionReport {
        order_id: LongText::from_u64(5_000_000 + id),
        exec_id: LongText::from_u64(9_000_000 + id),
        cl_ord_id: Some(LongText::from_u64(1_000_000 + id)),
        exec_ref_id: None,
        exec_trans_type: None,
        account: None,
        price: None,
        mass_status: None,
        charges: taut_fix::Charges::NONE,
        orig_cl_ord_id: None,
        exec_type: ExecType::Trade,
        ord_status: OrdStatus::PartiallyFilled,
        symbol: Some(text("AAPL").into()),
        side: Side::Buy,
        order_qty: Some(Qty::whole(200)),
        last_qty: Qty::whole(100),
        last_price: Some(Price(585_330_000_000)),
        leaves_qty: Qty::whole(100),
        cum_qty: Qty::whole(100),
        avg_price: Some(Price(585_330_000_000)),
        ord_rej_reason: None,
        text: b"",
        transact_time: Some(now.utc),
    }
}
