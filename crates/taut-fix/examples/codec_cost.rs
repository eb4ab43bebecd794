//! What encoding and decoding cost on this machine: `cargo run --release --example codec_cost`.
//!
//! Prints nanoseconds per message over whole runs of a million messages, the best of ten runs,
//! and a hash of the work. Wall time: read it as an order of magnitude on a shared
//! machine.

use std::hint::black_box;

use taut_fix::{
    BeginString, CompId, ExecType, ExecutionReport, FieldIndex, MemoryStore, NewOrderSingle, Now,
    OrdStatus, OrderFlow, Role, Session, SessionConfig, ShortText,
};
use taut_sys::monotonic;
use taut_types::{Nanos, OrderType, Price, Side, TimeInForce};

const MESSAGES: u64 = 1_000_000;
const RUNS: usize = 10;

fn main() {
    let (mut buyer, mut seller) = (session(true), session(false));
    let now = Now { mono: Nanos(0), utc: Nanos(1_789_000_000_000_000_000) };
    log_on(&mut buyer, &mut seller, now);
    let mut out = [0u8; 1024];
    let mut hash = 0u64;

    let encode_order = best(|| {
        for id in 0..MESSAGES {
            let at = later(now, id);
            let range = buyer.send_message(at, black_box(&order(id, at)), &mut out).unwrap();
            hash = hash.wrapping_mul(31).wrapping_add(u64::from(out[range.end - 3]));
        }
    });
    let encode_report = best(|| {
        for id in 0..MESSAGES {
            let at = later(now, id);
            let report = black_box(report(id, at));
            let range = seller.send_message(at, &report, &mut out).unwrap();
            hash = hash.wrapping_mul(31).wrapping_add(u64::from(out[range.end - 3]));
        }
    });
    // Decoding needs consecutive numbers: one buffer of messages, encoded before the clock starts.
    let (mut buyer, mut seller) = (session(true), session(false));
    log_on(&mut buyer, &mut seller, now);
    let mut stream = Vec::new();
    for id in 0..MESSAGES {
        let at = later(now, id);
        let range = buyer.send_message(at, &order(id, at), &mut out).unwrap();
        stream.extend_from_slice(&out[range]);
    }
    let mut index = FieldIndex::with_capacity(64);
    let handle_order = best(|| {
        let (mut buyer, mut seller) = (session(true), session(false));
        log_on(&mut buyer, &mut seller, now);
        let mut at = 0;
        while at < stream.len() {
            let bytes = black_box(&stream[at..]);
            let made = seller.handle_bytes(now, bytes, &mut index);
            let order = OrderFlow::decode(&bytes[..made.consumed], &index).unwrap();
            at += made.consumed;
            hash = hash.wrapping_add(u64::from(matches!(order, OrderFlow::NewOrderSingle(_))));
        }
    });
    println!(
        "encode NewOrderSingle    {encode_order:6.1} ns ({} bytes)",
        stream.len() as u64 / MESSAGES
    );
    println!("encode ExecutionReport   {encode_report:6.1} ns");
    println!(
        "handle NewOrderSingle    {handle_order:6.1} ns (frame, checksum, index, sequence, typed)"
    );
    println!("hash of the work         {hash:016x}");
}

fn best(mut run: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let start = monotonic();
        run();
        let span = monotonic().since(start);
        best = best.min(span.0 as f64 / MESSAGES as f64);
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
        qty: 100 + (id % 100) as i64,
        transact_time: now.utc,
    }
}

fn report(id: u64, now: Now) -> ExecutionReport<'static> {
    ExecutionReport {
        order_id: ShortText::from_u64(5_000_000 + id),
        exec_id: ShortText::from_u64(9_000_000 + id),
        cl_ord_id: ShortText::from_u64(1_000_000 + id),
        orig_cl_ord_id: None,
        exec_type: ExecType::Trade,
        ord_status: OrdStatus::PartiallyFilled,
        symbol: text("AAPL"),
        side: Side::Buy,
        order_qty: 200,
        last_qty: 100,
        last_price: Some(Price(585_330_000_000)),
        leaves_qty: 100,
        cum_qty: 100,
        avg_price: Price(585_330_000_000),
        ord_rej_reason: None,
        text: b"",
        transact_time: Some(now.utc),
    }
}
