//! Three books that prove themselves with every frame.

use std::collections::BTreeMap;

use serde_json::Value;
use taut_market_data::okx::{OkxFeed, OkxJson};
use taut_market_data::{ChainConfig, Context, Event, FeedHandler, Source};

use crate::frames::{Frame, of_socket};
use crate::replay::{Told, listed};

pub fn recorded() -> Option<Vec<Frame>> {
    of_socket("okx.ws.txt")
}

pub const NAMES: [&str; 3] = ["BTC-USD-220527", "BTC-USDT", "UNI-USD-SWAP"];

pub fn names() -> Vec<String> {
    NAMES.map(str::to_owned).into()
}

#[test]
fn every_frame_is_known_and_every_book_has_its_checksum() {
    let Some(frames) = recorded() else { return };
    let names = names();
    let instruments = listed(&names, 8);
    let mut feed = OkxFeed::new(&ChainConfig::new(&instruments), frames[0].0).unwrap();
    let mut decoder = OkxJson::new(1_024, &instruments).unwrap();
    let (mut told, mut kinds) = (Told::default(), BTreeMap::new());
    let mut checksums = 0;
    for (time, frame) in &frames {
        told.take(&mut feed, *time, Source::LINE_A, frame);
        let kind = decoder.decode(*time, frame, &mut |_: &Context<'_>, _: &Event| {}).unwrap();
        *kinds.entry(format!("{kind:?}")).or_insert(0) += 1;
        let json: Value = serde_json::from_slice(frame).unwrap();
        checksums += u32::from(json["data"][0]["checksum"].is_i64());
        assert_eq!(feed.counted().checksums_failed, 0, "{json}");
    }
    let counters = feed.counters();
    assert_eq!((counters.snapshots, counters.applied, checksums), (3, 287, 290));
    assert_eq!((counters.malformed, counters.gaps), (0, 0));
    assert_eq!(*feed.counted(), taut_market_data::ChainCounters::default());
    assert!(feed.is_whole() && !kinds.contains_key("Unknown"));
    println!("{kinds:?} {told:?}");
}

#[test]
fn a_book_that_lost_a_level_is_found_out_by_the_next_checksum() {
    let Some(frames) = recorded() else { return };
    let names = names();
    let instruments = listed(&names, 8);
    let mut feed = OkxFeed::new(&ChainConfig::new(&instruments), frames[0].0).unwrap();
    let mut told = Told::default();
    let is_book = |frame: &[u8]| frame.windows(8).any(|part| part == b"\"action\"");
    let first = frames.iter().position(|(_, frame)| is_book(frame)).unwrap();
    let lost = frames.iter().rposition(|(_, frame)| is_book(frame)).unwrap();
    for (index, (time, frame)) in frames.iter().enumerate() {
        // Of one instrument the last frame but one is missing.
        let text = String::from_utf8_lossy(frame);
        let is_lost = index > first + 3 && index < lost && text.contains("BTC-USDT\"},\"action");
        if !(is_lost && told.stale == 0 && index % 2 == 0) {
            told.take(&mut feed, *time, Source::LINE_A, frame);
        }
    }
    assert!(feed.counted().checksums_failed > 0 && told.stale > 0 && !feed.is_whole());
    assert!(feed.poll_request().is_some());
}

#[test]
fn no_frame_allocates_once_the_feed_is_built() {
    let Some(frames) = recorded() else { return };
    let names = names();
    let instruments = listed(&names, 8);
    let mut feed = OkxFeed::new(&ChainConfig::new(&instruments), frames[0].0).unwrap();
    let mut told = Told::default();
    let info = allocation_counter::measure(|| {
        frames.iter().for_each(|(time, frame)| told.take(&mut feed, *time, Source::LINE_A, frame));
    });
    assert_eq!(info.count_total, 0);
}
