//! `engine-peers ENGINE FILE`: replays an order flow of bookgen through another engine and prints
//! one JSON object: engine, trades, trade_hash, ops_per_s. The protocol is that of `taut engine
//! replay`: see the README beside it.

mod flow;
mod matchcore_peer;
mod orderbook_rs_peer;

use std::time::{Duration, Instant};

use flow::{Flow, Operation, Totals, TradeHash, Trades};

/// An engine behind the harness.
trait Peer {
    /// Translates operations into the engine's own commands; not timed.
    fn decode(&mut self, operations: &[Operation]);
    /// Executes what was decoded.
    fn execute(&mut self, trades: &mut impl Trades);
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, engine, file] = &arguments[..] else { panic!("usage: engine-peers ENGINE FILE") };
    let flow = Flow::read(file);
    match engine.as_str() {
        "orderbook-rs" => measure(engine, &flow, orderbook_rs_peer::OrderbookRs::new),
        "matchcore" => measure(engine, &flow, matchcore_peer::Matchcore::new),
        other => panic!("{other}: known are orderbook-rs and matchcore"),
    }
}

fn measure<P: Peer>(name: &str, flow: &Flow, new: impl Fn() -> P) {
    // Correctness: a fresh book, every trade hashed, and which orders are left at the end.
    let mut hash = TradeHash::new(flow);
    let mut peer = new();
    peer.decode(&flow.operations);
    peer.execute(&mut hash);
    let left = hash.left();

    let (prefill, timed) = flow.operations.split_at(flow.prefill);
    let mut peer = new();
    let (mut elapsed, mut operations) = (Duration::ZERO, 0);
    let mut is_warm = false;
    while elapsed < Duration::from_secs(1) {
        peer.decode(prefill);
        peer.execute(&mut Totals::default());
        peer.decode(timed);
        let mut tally = Totals::default();
        let started = Instant::now();
        peer.execute(&mut tally);
        let took = started.elapsed();
        std::hint::black_box(&tally);
        peer.decode(&left);
        peer.execute(&mut Totals::default());
        if is_warm {
            elapsed += took;
            operations += timed.len();
        }
        is_warm = true;
    }
    println!(
        "{{\"engine\":\"{name}\",\"trades\":{},\"trade_hash\":\"{:016x}\",\"ops_per_s\":{:.0}}}",
        hash.count,
        hash.hash,
        operations as f64 / elapsed.as_secs_f64()
    );
}
