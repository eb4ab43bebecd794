//! Decodes Binance's JSON frames.

use std::hint::black_box;

use taut_market_data::binance::BinanceJson;
use taut_market_data::{Context, Event, EventKind};
use taut_types::Nanos;

use crate::{Outcome, count, one_of};

const DISTINCT: u64 = 64;

fn frame(kind: &str, number: u64) -> String {
    let price = |level: u64| format!("{}.{:02}000000", 61_837 - level, (number + level) % 100);
    match kind {
        "depth" => {
            let level = |level| format!("[\"{}\",\"{}.51200000\"]", price(level), number % 7);
            let side = |from| (from..from + 10).map(level).collect::<Vec<_>>().join(",");
            format!(
                "{{\"e\":\"depthUpdate\",\"E\":1700000000{number:03},\"s\":\"BTCUSDT\",\"U\":{},\
                 \"u\":{},\"b\":[{}],\"a\":[{}]}}",
                1_000 + number * 20,
                1_019 + number * 20,
                side(0),
                side(20)
            )
        }
        "top" => format!(
            "{{\"u\":{number},\"s\":\"BTCUSDT\",\"b\":\"{}\",\"B\":\"31.21000000\",\"a\":\"{}\",\
             \"A\":\"40.66000000\"}}",
            price(1),
            price(0)
        ),
        _ => format!(
            "{{\"e\":\"trade\",\"E\":1700000000{number:03},\"s\":\"BTCUSDT\",\"t\":{number},\
             \"p\":\"{}\",\"q\":\"0.01200000\",\"T\":1700000000{number:03},\"m\":true,\"M\":true}}",
            price(0)
        ),
    }
}

pub fn run(words: &[&str]) -> Outcome {
    let kind = one_of(words.first(), &["depth", "top", "trade"])?;
    let count = count(words.get(1))?;
    let frames: Vec<String> = (0..DISTINCT).map(|number| frame(kind, number)).collect();
    let mut decoder = BinanceJson::default();
    let (mut events, mut sum) = (0_u64, 0_i64);
    let mut sink = |_: &Context<'_>, event: &Event| {
        events += 1;
        if let EventKind::Trade(trade) = black_box(event).kind {
            sum += trade.price.0;
        }
    };
    for frame in frames.iter().cycle().zip(0..count).map(|(frame, _)| frame) {
        decoder.decode(Nanos(1), black_box(frame.as_bytes()), &mut sink).expect("a frame");
    }
    println!("{count} frames, {events} events, prices {sum}");
    Ok(())
}
