//! Decodes Deribit's and OKX's frames, and moves books with them.

use std::hint::black_box;

use taut_market_data::deribit::{DeribitFeed, DeribitJson};
use taut_market_data::okx::OkxFeed;
use taut_market_data::{ChainConfig, Context, Event, FeedHandler, NamedInstrument, Source};
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Symbol};

use crate::{Outcome, count, one_of};

const NAME: &str = "BTC-PERPETUAL";
/// Levels of each side that a frame changes.
const LEVELS: u64 = 10;
/// The frames come again after so many.
const DISTINCT: u64 = 64;

/// What a notification begins with.
fn notification(channel: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"subscription\",\
         \"params\":{{\"channel\":\"{channel}.{NAME}.raw\",\"data\":"
    )
}

/// A frame of a book; a snapshot when its number is 0. All of them set the same levels.
fn book(number: u64) -> String {
    let action = if number == 0 { "new" } else { "change" };
    let level = |price: String, at: u64| {
        format!("[\"{action}\",{price},{}0.0]", 1 + (number * 7 + at) % 900)
    };
    let side = |below: bool| {
        let price = |at: u64| if below { 61_837 - at } else { 61_838 + at };
        let one = |at: u64| level(format!("{}.5", price(at)), at);
        (0..LEVELS).map(one).collect::<Vec<_>>().join(",")
    };
    // The fields in the order in which the venue writes them.
    let (kind, previous) = match number {
        0 => ("snapshot", String::new()),
        _ => ("change", format!("\"prev_change_id\":{},", 33_195_894_355 + number - 1)),
    };
    let head = notification("book");
    format!(
        "{head}{{\"type\":\"{kind}\",\"timestamp\":1626993724318,{previous}\
         \"instrument_name\":\"{NAME}\",\"change_id\":{},\"bids\":[{}],\"asks\":[{}]}}}}}}",
        33_195_894_355 + number,
        side(true),
        side(false)
    )
}

fn ticker(number: u64) -> String {
    let head = notification("ticker");
    format!(
        "{head}{{\"timestamp\":1626993724318,\"stats\":{{\"volume\":10.1,\"price_change\":0.0,\
         \"low\":0.001,\"high\":0.001}},\"state\":\"open\",\"settlement_price\":61000.5,\
         \"open_interest\":729.2,\"min_price\":60000.5,\"max_price\":63000.5,\
         \"mark_price\":61837.85,\
         \"last_price\":61837.5,\"instrument_name\":\"{NAME}\",\"index_price\":61836.13,\
         \"funding_8h\":2.288e-5,\"current_funding\":0.0,\"best_bid_price\":61837.5,\
         \"best_bid_amount\":{}0.0,\"best_ask_price\":61838.0,\"best_ask_amount\":20.0}}}}}}",
        1 + number % 90
    )
}

/// A book of OKX without a checksum: what its text and CRC cost is not asked here.
fn okx(number: u64) -> String {
    let action = if number == 0 { "snapshot" } else { "update" };
    let side = |below: bool| {
        let price = |at: u64| if below { 61_837 - at } else { 61_838 + at };
        let one = |at: u64| format!("[\"{}.5\",\"{}0\",\"0\",\"4\"]", price(at), 1 + number % 900);
        (0..LEVELS).map(one).collect::<Vec<_>>().join(",")
    };
    format!(
        "{{\"arg\":{{\"channel\":\"books\",\"instId\":\"{NAME}\"}},\"action\":\"{action}\",\
         \"data\":[{{\"asks\":[{}],\"bids\":[{}],\"ts\":\"1652459236094\"}}]}}",
        side(false),
        side(true)
    )
}

fn instrument() -> NamedInstrument<'static> {
    let symbol = Symbol::new(NAME.as_bytes()).expect("a symbol");
    let (tick, lot) = (Price(Price::SCALE / 2), Qty::whole(10));
    let instrument = Instrument::new(InstrumentId(0), symbol, tick, lot).expect("an instrument");
    NamedInstrument { name: NAME.as_bytes(), instrument }
}

/// Moves a book by a snapshot and then by changes; before they come again the connection breaks.
fn drive(
    feed: &mut impl FeedHandler,
    frames: &[String],
    count: u64,
    sink: &mut impl FnMut(&Context<'_>, &Event),
) {
    for (number, frame) in (0..count).zip(frames.iter().cycle()) {
        if number % DISTINCT == 0 {
            feed.handle_disconnect(Nanos(1), Source::LINE_A);
        }
        let frame = feed.decode(Nanos(1), Source::LINE_A, black_box(frame.as_bytes()));
        feed.apply(frame.expect("a frame"), sink);
        if !feed.is_settled() {
            feed.recover(Nanos(1), sink);
        }
    }
    assert_eq!(feed.counters().gaps + feed.counters().malformed, 0);
}

pub fn run(words: &[&str]) -> Outcome {
    let kind = one_of(words.first(), &["decode", "book", "ticker", "okx"])?;
    let count = count(words.get(1))?;
    let write = match kind {
        "ticker" => ticker,
        "okx" => okx,
        _ => book,
    };
    let frames: Vec<String> = (0..DISTINCT).map(write).collect();
    let listed = [instrument()];
    let config = ChainConfig::new(&listed);
    let mut events = 0_u64;
    let mut sink = |_: &Context<'_>, event: &Event| {
        black_box(event);
        events += 1;
    };
    match kind {
        "okx" => {
            let mut feed = OkxFeed::new(&config, Nanos(0)).expect("a feed");
            drive(&mut feed, &frames, count, &mut sink);
        }
        "decode" => {
            let mut decoder = DeribitJson::new(1_024, &listed).expect("a decoder");
            for frame in frames.iter().cycle().zip(0..count).map(|(frame, _)| frame) {
                decoder.decode(Nanos(1), black_box(frame.as_bytes()), &mut sink).expect("a frame");
            }
        }
        _ => {
            let mut feed = DeribitFeed::new(&config, Nanos(0)).expect("a feed");
            drive(&mut feed, &frames, count, &mut sink);
        }
    }
    println!("{count} frames, {events} events");
    Ok(())
}
