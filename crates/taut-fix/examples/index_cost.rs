//! What the index and the dictionary's checks cost: `cargo run --release --example index_cost`.
//!
//! Prints nanoseconds per message, the best of many rounds over 4,096 different messages. Wall
//! time on one core: read it as an order of magnitude on a shared machine.

use std::hint::black_box;

use taut_fix::{FieldIndex, Framed, MESSAGE_BYTES_MAX, Rules, SIMD_LEVEL, fix44, frame};
use taut_sys::monotonic;
use taut_types::Nanos;

const DISTINCT: u64 = 4096;
const ROUNDS: usize = 200;

fn message(body: &str) -> Vec<u8> {
    let body = body.replace('|', "\x01");
    let mut text = format!("8=FIX.4.4\x019={}\x01{body}", body.len());
    let sum = text.bytes().fold(0u8, u8::wrapping_add);
    text += &format!("10={sum:03}\x01");
    text.into_bytes()
}

fn order(number: u64) -> Vec<u8> {
    let (id, qty) = (1_000_000_000 + number * 7919, 100 + number * 37 % 900);
    let price = format!("{}.{:02}", 100 + number % 99, number % 90 + 10);
    message(&format!(
        "35=D|34={}|49=CLIENT|52=20260910-01:06:40.{:03}|56=VENUE|1=ACCT01|11={id}|\
         21=1|38={qty}|40=2|44={price}|54=1|55=BTC-USD|59=0|60=20260910-01:06:40.123|",
        number + 2,
        number % 1000
    ))
}

fn report(number: u64) -> Vec<u8> {
    let (id, qty) = (1_000_000_000 + number * 7919, 100 + number * 37 % 900);
    let price = format!("{}.{:02}", 100 + number % 99, number % 90 + 10);
    message(&format!(
        "35=8|34={}|49=VENUE|52=20260910-01:06:40.{:03}|56=CLIENT|6={price}|11={id}|14={qty}|\
         17={id}|31={price}|32={qty}|37={id}|38={qty}|39=2|40=2|44={price}|54=1|55=BTC-USD|\
         60=20260910-01:06:40.123|150=F|151=0|",
        number + 2,
        number % 1000
    ))
}

fn best(mut round: impl FnMut()) -> f64 {
    let mut best = Nanos::MAX;
    for _ in 0..ROUNDS {
        let start = monotonic();
        round();
        best = best.min(monotonic().since(start));
    }
    best.0 as f64 / DISTINCT as f64
}

fn main() {
    let dictionary = fix44().expect("the built-in dictionary");
    let mut index = FieldIndex::with_capacity(64);
    println!("{SIMD_LEVEL}");
    for (name, make) in [("order", order as fn(u64) -> Vec<u8>), ("report", report)] {
        let messages: Vec<_> = (0..DISTINCT).map(make).collect();
        let mut fields = 0;
        let mut run = |level: u8| {
            best(|| {
                for message in &messages {
                    let framed = frame(black_box(message), MESSAGE_BYTES_MAX);
                    let Ok(Framed::Message(found)) = framed else { panic!("{framed:?}") };
                    if level > 0 {
                        index.fill(&found).expect("fields");
                        fields = index.slots().len();
                    }
                    if level > 1 {
                        let checked = dictionary.check(found.bytes(), index.slots(), Rules::ALL);
                        checked.expect("a valid message");
                    }
                    black_box(index.slots());
                }
            })
        };
        let (frame_ns, index_ns, check_ns) = (run(0), run(1), run(2));
        println!(
            "{name} of {} bytes and {fields} fields: frame {frame_ns:.1}, index {index_ns:.1}, \
             with validation {check_ns:.1} ns",
            messages[7].len()
        );
    }
}
