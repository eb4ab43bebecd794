//! The floor: how fast a matcher can be that does nothing else. `bare FILE [ROUNDS]` runs it and
//! the engine turn by turn over an order flow of `bookgen` and prints what part of the floor's
//! speed the engine has.
//!
//! The floor knows limit and IOC orders with dense ids below 2^21, prices below 16,384 ticks and
//! quantities of 32 bits; it checks nothing and tells only a running hash of its trades.

#[path = "../workload/records.rs"]
mod records;

mod matcher;

use std::hint::black_box;

use matcher::Bare;
use records::{Workload, run};
use taut_engine::{Command, Engine, EngineConfig, Event};
use taut_sys::monotonic;
use taut_types::Side;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("usage: bare FILE [ROUNDS]");
    let rounds: u32 = args.next().map_or(21, |text| text.parse().expect("a number of rounds"));
    let file = std::fs::read(&path).expect("a readable file");
    let workload = Workload::parse(&file).expect("a file written by bookgen");
    let messages: Vec<matcher::Message> =
        file[12..].chunks_exact(24).map(matcher::Message::read).collect();

    let config = EngineConfig { order_capacity: 65_536, level_capacity: 4_096 };
    let (trade_count, hash) = run(&mut Engine::new(config), &workload.messages);
    let mut bare = Bare::new();
    messages.iter().for_each(|message| bare.apply(*message));
    assert_eq!(bare.trade_count, trade_count, "the floor is a matcher");
    println!("{trade_count} trades, trade hash {hash:016x}");

    let count = (messages.len() - workload.prefill) as f64;
    let mut engine = Engine::new(config);
    let (mut bare_ns, mut engine_ns) = (Vec::new(), Vec::new());
    for _ in 0..=rounds {
        let mut bare = Bare::new();
        bare_ns.push(time_bare(&mut bare, &messages, workload.prefill) / count);
        engine_ns.push(time_engine(&mut engine, &workload) / count);
    }
    let [bare, engine] = [bare_ns, engine_ns].map(|mut all| {
        all.remove(0);
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    });
    println!(
        "median of {rounds}: bare {bare:.1} ns ({:.1} M/s), engine {engine:.1} ns ({:.1} M/s), \
         ratio {:.2}",
        1e3 / bare,
        1e3 / engine,
        bare / engine
    );
}

fn time_bare(bare: &mut Bare, messages: &[matcher::Message], prefill: usize) -> f64 {
    let (before, operations) = messages.split_at(prefill);
    before.iter().for_each(|message| bare.apply(*message));
    let start = monotonic();
    operations.iter().for_each(|message| bare.apply(*message));
    let elapsed = monotonic().since(start);
    black_box(&bare);
    elapsed.0 as f64
}

fn time_engine(engine: &mut Engine, workload: &Workload) -> f64 {
    let (before, operations) = workload.messages.split_at(workload.prefill);
    let mut sink = |event: Event| {
        black_box(&event);
    };
    before.iter().for_each(|message| engine.execute(message.command(), &mut sink));
    let start = monotonic();
    operations.iter().for_each(|message| engine.execute(message.command(), &mut sink));
    let elapsed = monotonic().since(start);
    for side in Side::BOTH {
        while let Some(order) = engine.book().best_order(side) {
            engine.execute(Command::Cancel { order_id: order.id }, &mut |_| {});
        }
    }
    elapsed.0 as f64
}
