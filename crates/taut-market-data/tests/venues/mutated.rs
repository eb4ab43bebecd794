//! Frames that something happened to: nothing panics, and no book that is told to be sound is
//! crossed.

use serde_json::Value;
use taut_book::LevelBook;
use taut_market_data::binance::{BinanceConfig, BinanceFeed};
use taut_market_data::deribit::{DeribitFeed, DeribitJson, FrameKind};
use taut_market_data::okx::OkxFeed;
use taut_market_data::{ChainConfig, Context, Event, EventKind, FeedHandler, Soundness, Source};
use taut_testkit::{Random, mutate_json};
use taut_types::{InstrumentId, Nanos, Side};

use crate::frames::Frame;
use crate::replay::{Told, listed};
use crate::{binance, deribit, okx};

/// How many frames of each venue.
fn executions() -> usize {
    let asked = std::env::var("TAUT_EXECUTIONS").ok().and_then(|text| text.parse().ok());
    asked.map_or(60_000, |all: usize| all / 4)
}

/// Frames, some of them changed, repeated, dropped or cut off with their connection. Requests for a
/// snapshot are answered with this one.
fn survive(
    venue: &str,
    feed: &mut impl FeedHandler,
    mut frames: Vec<Frame>,
    snapshot: &[u8],
    instruments: u32,
) {
    frames.retain(|(_, frame)| frame.len() < 4_000);
    let mut random = Random::with_seed(16);
    let (mut told, mut now) = (Told::default(), frames[0].0);
    let mut crossed = 0;
    for index in 0..executions() {
        now = now + Nanos::from_millis(random.usize(..40) as i64);
        let mut frame = frames[index % frames.len()].1.clone();
        // Whole runs are left as they are, so that there is a sound book to be wrong about.
        if !(index / frames.len()).is_multiple_of(3) && random.usize(..4) == 0 {
            for _ in 0..=random.usize(..3) {
                mutate_json(&mut frame, &mut random);
            }
        }
        match random.usize(..2_000) {
            _ if index % frames.len() == 0 => feed.handle_disconnect(now, Source::LINE_A),
            0 => feed.handle_disconnect(now, Source::LINE_A),
            1 => now = now + Nanos::from_secs(11),
            2 => told.take(feed, now, Source::LINE_A, &frame),
            _ => {}
        }
        feed.handle_timeout(now);
        told.take(feed, now, Source::LINE_A, &frame);
        while feed.poll_request().is_some() {
            let mut answer = snapshot.to_vec();
            if random.usize(..8) == 0 {
                mutate_json(&mut answer, &mut random);
            }
            if let Some(answer) = feed.decode(now, Source::SNAPSHOT, &answer) {
                feed.apply(answer, &mut |_: &Context<'_>, _: &Event| {});
            }
        }
        for id in (0..instruments).map(InstrumentId) {
            let is_crossed =
                feed.soundness(id) == Soundness::Sound && feed.book(id).is_some_and(is_crossed);
            crossed += u64::from(is_crossed);
        }
    }
    println!("{venue}: {} frames, {told:?}, {:?}", executions(), feed.counters());
    assert!(told.sound > 0 && told.stale > 0 && told.levels > 0);
    assert_eq!(crossed, 0);
}

fn is_crossed(book: &LevelBook) -> bool {
    let [bid, ask] = Side::BOTH.map(|side| book.best(side));
    bid.zip(ask).is_some_and(|(bid, ask)| bid.price >= ask.price)
}

#[test]
fn mutated_deribit_frames_do_not_panic() {
    let Some(frames) = deribit::recorded() else { return };
    let names = deribit::names(&frames);
    let instruments = listed(&names, 1);
    let mut feed = DeribitFeed::new(&ChainConfig::new(&instruments), frames[0].0).unwrap();
    survive("deribit", &mut feed, frames, b"", names.len() as u32);
}

#[test]
fn mutated_okx_frames_do_not_panic() {
    let Some(frames) = okx::recorded() else { return };
    let names = okx::names();
    let instruments = listed(&names, 8);
    let mut feed = OkxFeed::new(&ChainConfig::new(&instruments), frames[0].0).unwrap();
    survive("okx", &mut feed, frames, b"", names.len() as u32);
}

#[test]
fn mutated_binance_frames_do_not_panic() {
    for (market, symbol) in [("spot", "NKNUSDT"), ("usdm", "SUSHIUSDT")] {
        let Some((frames, snapshots)) = binance::recorded(market) else { continue };
        let names = [symbol.to_owned()];
        let mut instrument = listed(&names, 8)[0].instrument;
        let name = taut_types::Symbol::new(symbol.as_bytes()).unwrap();
        instrument =
            taut_types::Instrument::new(instrument.id(), name, instrument.tick(), instrument.lot())
                .unwrap();
        let mut feed = BinanceFeed::new(&BinanceConfig::new(instrument), frames[0].0).unwrap();
        let (_, snapshot) =
            snapshots.iter().find(|(url, _)| url.contains(&format!("symbol={symbol}&"))).unwrap();
        survive(&format!("binance-{market}"), &mut feed, frames, snapshot, 1);
    }
}

/// What a frame of a book says to serde_json: its prices, as far as it is one.
fn prices(frame: &[u8]) -> Option<Vec<i64>> {
    let json: Value = serde_json::from_slice(frame).ok()?;
    let data = &json["params"]["data"];
    let mut prices = Vec::new();
    for side in ["bids", "asks"] {
        for level in data[side].as_array()? {
            // Grouped books name no action.
            let price = level.get(usize::from(level.get(0)?.is_string()))?;
            prices.push((price.as_f64()? * 1e9).round() as i64);
        }
    }
    Some(prices)
}

#[test]
fn mutated_books_are_read_as_serde_json_reads_them_or_refused() {
    let Some(frames) = deribit::recorded() else { return };
    let is_book = |frame: &[u8]| frame.windows(7).any(|part| part == b"\"book.B");
    let frames: Vec<_> = frames.into_iter().filter(|(_, frame)| is_book(frame)).collect();
    let mut decoder = DeribitJson::default();
    let mut random = Random::with_seed(17);
    let (mut agreed, mut refused, mut lenient, mut unknown) = (0, 0, 0, 0);
    for index in 0..executions() {
        let mut frame = frames[index % frames.len()].1.clone();
        mutate_json(&mut frame, &mut random);
        let mut told = Vec::new();
        let mut sink = |_: &Context<'_>, event: &Event| {
            if let EventKind::Level(level) = event.kind {
                told.push(level.price.0);
            }
        };
        match (decoder.decode(Nanos(0), &frame, &mut sink), prices(&frame)) {
            (Ok(FrameKind::Book), Some(read)) => {
                assert_eq!(told, read, "seed 17: {}", String::from_utf8_lossy(&frame));
                agreed += 1;
            }
            (Err(_), _) => refused += 1,
            (Ok(FrameKind::Book), None) => {
                // `2.` and `02` are read as 2; nothing else is let through.
                let error = serde_json::from_slice::<Value>(&frame).map(drop).unwrap_err();
                let is_number = error.to_string().starts_with("invalid number");
                assert!(is_number, "seed 17: {error}: {}", String::from_utf8_lossy(&frame));
                lenient += 1;
            }
            // Its method or its channel is another one.
            (Ok(FrameKind::Unknown | FrameKind::Answer | FrameKind::BestLevels), _) => unknown += 1,
            (Ok(kind), _) => panic!("seed 17: {kind:?}: {}", String::from_utf8_lossy(&frame)),
        }
    }
    println!(
        "{agreed} read alike, {refused} refused, {unknown} unknown, {lenient} with `2.` or `02`"
    );
    assert!(agreed > executions() / 10 && lenient < executions() / 50);
}
