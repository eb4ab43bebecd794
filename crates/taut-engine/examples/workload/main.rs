//! How long an engine takes for an order flow of `bookgen`: `workload FILE [ROUNDS]`.
//!
//! One warm engine; each round fills the book, times the operations as a whole (no clock inside)
//! and empties the book again. The first line is the correctness pass on a fresh engine.

mod records;

use std::hint::black_box;

use records::{Workload, run};
use taut_engine::{Command, Engine, EngineConfig, Event};
use taut_sys::monotonic;
use taut_types::Side;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("usage: workload FILE [ROUNDS]");
    let rounds: u32 = args.next().map_or(7, |text| text.parse().expect("a number of rounds"));
    let file = std::fs::read(&path).expect("a readable file");
    let workload = Workload::parse(&file).expect("a file written by bookgen");
    let config = EngineConfig { order_capacity: 65_536, level_capacity: 4_096 };
    let (trade_count, hash) = run(&mut Engine::new(config), &workload.messages);
    println!("{trade_count} trades, trade hash {hash:016x}");

    let (prefill, operations) = workload.messages.split_at(workload.prefill);
    let mut engine = Engine::new(config);
    for round in 1..=rounds {
        let mut event_count = 0u64;
        let mut sink = |event: Event| {
            event_count += 1;
            black_box(&event);
        };
        for message in prefill {
            engine.execute(message.command(), &mut sink);
        }
        let start = monotonic();
        for message in operations {
            engine.execute(message.command(), &mut sink);
        }
        let elapsed_ns = monotonic().since(start).0;
        let per_operation_ns = elapsed_ns as f64 / operations.len() as f64;
        println!("round {round}: {per_operation_ns:.1} ns an operation, {event_count} events");
        wipe(&mut engine);
    }
}

fn wipe(engine: &mut Engine) {
    for side in Side::BOTH {
        while let Some(order) = engine.book().best_order(side) {
            engine.execute(Command::Cancel { order_id: order.id }, &mut |_| {});
        }
    }
}
