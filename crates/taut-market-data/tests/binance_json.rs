//! The JSON decoder beside serde_json, on recorded frames and on frames that something happened to.

mod support;

use support::{capture, decode, oracle};
use taut_market_data::binance::{BinanceConfig, BinanceFeeds, BinanceJson, DepthBook, FrameKind};
use taut_market_data::{Context, Event, EventKind, FeedHandler, Soundness, Source, Staleness};
use taut_testkit::{Random, mutate_json};
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Symbol};

const CAPTURES: [&str; 2] = ["spot_btcusdt_20240808.gz", "usdm_btcusdt_20240808.gz"];

#[test]
fn every_recorded_frame_says_what_serde_json_reads_in_it() {
    for name in CAPTURES {
        let Some(frames) = capture(name) else { continue };
        let mut decoder = BinanceJson::default();
        for (_, frame) in &frames {
            let told = decode(&mut decoder, frame).unwrap();
            let text = String::from_utf8_lossy(frame);
            assert_eq!(Some(told), oracle(frame), "{text}");
        }
        println!("{name}: {} frames", frames.len());
    }
}

/// A million frames in the optimised run, some in the ordinary one.
#[test]
fn changed_frames_are_read_as_serde_json_reads_them_or_refused_and_never_panic() {
    let count = if cfg!(debug_assertions) { 30_000 } else { 1_000_000 };
    let (mut agreed, mut refused, mut lenient) = (0u32, 0u32, 0u32);
    let mut random = Random::with_seed(1);
    for name in CAPTURES {
        let Some(mut frames) = capture(name) else { continue };
        frames.retain(|(_, frame)| frame.len() < 1_000);
        let mut decoder = BinanceJson::default();
        for index in 0..count / 2 {
            let mut frame = frames[index * 7 % frames.len()].1.clone();
            for _ in 0..=index % 3 {
                mutate_json(&mut frame, &mut random);
            }
            match (decode(&mut decoder, &frame), oracle(&frame)) {
                // A trade or a ticker that lost its field is another stream's frame to the decoder.
                (Ok(told), Some(read)) if !told.is_empty() && !read.is_empty() => {
                    assert_eq!(told, read, "seed 1, frame {}", String::from_utf8_lossy(&frame));
                    agreed += 1;
                }
                // It need not be what serde_json is told to read there, but JSON it is.
                (Ok(_), _) => {
                    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&frame).is_ok()
                        && std::str::from_utf8(&frame).is_ok();
                    assert!(is_json, "seed 1, frame {}", String::from_utf8_lossy(&frame));
                    lenient += 1;
                }
                (Err(_), _) => refused += 1,
            }
        }
    }
    println!("{agreed} read alike, {refused} refused, {lenient} that only one reads");
}

/// White space before a frame has it read field by field.
#[test]
fn changed_frames_say_the_same_in_the_usual_order_and_field_by_field() {
    let count = if cfg!(debug_assertions) { 30_000 } else { 1_000_000 };
    let mut random = Random::with_seed(2);
    for name in CAPTURES {
        let Some(mut frames) = capture(name) else { continue };
        frames.retain(|(_, frame)| frame.len() < 1_000);
        let (mut usual, mut any) = (BinanceJson::default(), BinanceJson::default());
        for index in 0..count / 2 {
            let mut frame = frames[index * 7 % frames.len()].1.clone();
            mutate_json(&mut frame, &mut random);
            let spaced = [b" ", frame.as_slice()].concat();
            let (told, read) = (decode(&mut usual, &frame), decode(&mut any, &spaced));
            assert_eq!(told.ok(), read.ok(), "seed 2, frame {}", String::from_utf8_lossy(&frame));
        }
    }
}

/// A text as JSON, with white space, the keys of an object in another order, and characters as
/// escapes, wherever it may have them.
fn disguise(value: &serde_json::Value, random: &mut Random, text: &mut String) {
    use serde_json::Value;
    fn string(plain: &str, random: &mut Random, text: &mut String) {
        text.push('"');
        for c in plain.chars() {
            match random.usize(..4) {
                0 => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                    text.push_str(&format!("\\u{unit:04x}"));
                }),
                _ => text.push(c),
            }
        }
        text.push('"');
    }
    let space = |random: &mut Random| [" ", "", "\n\t", "\r"][random.usize(..4)];
    text.push_str(space(random));
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            for at in (1..fields.len()).rev() {
                fields.swap(at, random.usize(..=at));
            }
            text.push('{');
            for (at, (key, value)) in fields.into_iter().enumerate() {
                text.push_str(if at > 0 { "," } else { "" });
                text.push_str(space(random));
                string(key, random, text);
                text.push_str(space(random));
                text.push(':');
                disguise(value, random, text);
            }
            text.push('}');
        }
        Value::Array(values) => {
            text.push('[');
            for (at, value) in values.iter().enumerate() {
                text.push_str(if at > 0 { "," } else { "" });
                disguise(value, random, text);
            }
            text.push(']');
        }
        Value::String(plain) => string(plain, random, text),
        other => text.push_str(&other.to_string()),
    }
    text.push_str(space(random));
}

#[test]
fn a_frame_says_the_same_with_its_fields_in_any_order_and_its_texts_in_escapes() {
    let count = if cfg!(debug_assertions) { 5_000 } else { 100_000 };
    let mut random = Random::with_seed(3);
    for name in CAPTURES {
        let Some(mut frames) = capture(name) else { continue };
        frames.retain(|(_, frame)| frame.len() < 1_000);
        let mut decoder = BinanceJson::default();
        for index in 0..count {
            let (_, frame) = &frames[index * 7 % frames.len()];
            let value = serde_json::from_slice(frame).expect("JSON");
            let mut text = String::new();
            disguise(&value, &mut random, &mut text);
            let plain = decode(&mut decoder, frame).unwrap();
            let told = decode(&mut decoder, text.as_bytes());
            assert_eq!(told, Ok(plain), "seed 3, frame {text}");
        }
    }
}

#[test]
fn what_is_skipped_is_json_or_the_frame_is_refused() {
    let frame = |skipped: &str| {
        let frame = format!(r#"{{"e":"trade","t":1,"p":"1","q":"1","x":{skipped},"T":1}}"#);
        decode(&mut BinanceJson::default(), frame.as_bytes())
    };
    for skipped in ["null", "-1.5e3", "[{},[]]", r#"{"a":["\u00e9",true]}"#, "\"\u{e9}\""] {
        assert_eq!(frame(skipped).map(|told| told.len()), Ok(1), "{skipped}");
    }
    for skipped in ["[}", "{]", "nul", "1.", "01", "[1 2]", "{1:2}", r#"{"a"}"#, r#""\x""#, "[,]"] {
        assert!(frame(skipped).is_err(), "{skipped}");
    }
}

#[test]
fn no_frame_allocates_once_the_decoder_and_the_book_are_built() {
    for name in CAPTURES {
        let Some(frames) = capture(name) else { continue };
        let mut decoder = BinanceJson::default();
        let mut book = DepthBook::new(1 << 16, 1 << 10);
        let mut events = 0u64;
        let info = allocation_counter::measure(|| {
            for (time, frame) in &frames {
                let mut sink = |context: &Context<'_>, event: &Event| {
                    events += 1;
                    book.on_event(context, event, &mut |_| {});
                };
                decoder.decode(*time, frame, &mut sink).unwrap();
            }
        });
        assert_eq!(info.count_total, 0, "{name}");
        assert!(!book.is_stale() && events > frames.len() as u64, "{name}");
        println!("{name}: {events} events of {} frames, no allocation", frames.len());
    }
}

#[test]
fn the_order_of_fields_and_white_space_do_not_matter() {
    let frame =
        br#" { "data" : { "a":[ ["11","1"] ], "b" : [["10.5", "2", []],["9","0"]] , "s":"X",
        "u": 12, "x":{"y":["\"}"]}, "U":10 , "T":1723161256298, "e":"depthUpdate" },
        "stream":"x@depth" } "#;
    let told = decode(&mut BinanceJson::default(), frame).unwrap();
    assert_eq!(told.len(), 5);
    assert_eq!((told[0].sequence.first, told[0].sequence.last), (10, 12));
    assert_eq!(told[0].exchange_time, Nanos::from_millis(1_723_161_256_298));
    assert_eq!(told[0].symbol, b"X");
}

#[test]
fn keys_may_be_written_with_escapes() {
    let plain = r#"{"stream":"x@depth","data":{"e":"depthUpdate","s":"X","U":10,"u":12,
        "b":[["10.5","2"]],"a":[]}}"#;
    let told = decode(&mut BinanceJson::default(), plain.as_bytes()).unwrap();
    assert_eq!(told.len(), 3);
    for (key, escaped) in [
        ("\"stream\"", r#""str\u0065am""#),
        ("\"data\"", r#""d\u0061ta""#),
        ("\"u\"", r#""\u0075""#),
        ("\"b\"", r#""\u0062""#),
    ] {
        let frame = plain.replacen(key, escaped, 1);
        assert_ne!(frame, plain);
        assert_eq!(decode(&mut BinanceJson::default(), frame.as_bytes()).unwrap(), told, "{frame}");
    }
    let snapshot = br#"{"l\u0061stUpdateId":1,"bids":[],"\u0061sks":[]}"#;
    let mut sink = |_: &Context<'_>, _: &Event| {};
    let read = BinanceJson::default().decode(Nanos(0), snapshot, &mut sink);
    assert_eq!(read, Ok(FrameKind::Snapshot));
}

#[test]
fn tells_the_kinds_of_frames_apart() {
    use FrameKind::{BestLevels, BookTicker, Figures, Other, Snapshot, Status, Trade};
    for (frame, kind) in [
        (r#"{"result":null,"id":1}"#, Other),
        (r#"{"e":"kline","E":1,"s":"X","k":{"t":1,"a":[1]}}"#, Other),
        (r#"{"u":1,"s":"X","b":"1","B":"1","a":"2","A":"1"}"#, BookTicker),
        (r#"{"lastUpdateId":1,"bids":[],"asks":[]}"#, Snapshot),
        (r#"{"id":1,"status":200,"result":{"lastUpdateId":1,"bids":[],"asks":[]}}"#, Snapshot),
        (r#"{"stream":"x@depth5","data":{"lastUpdateId":1,"bids":[],"asks":[]}}"#, BestLevels),
        (
            r#"{"stream":"x@depth5@0ms","data":{"e":"depthUpdate","U":1,"u":1,"b":[],"a":[]}}"#,
            BestLevels,
        ),
        (r#"{"e":"aggTrade","a":5,"p":"1","q":"2","f":1,"l":2,"T":3,"m":true}"#, Trade),
        (r#"{"e":"contractInfo","s":"X","cs":"CLOSE"}"#, Status),
        (r#"{"e":"markPriceUpdate","E":1,"s":"X","p":"1","i":"2","r":"-0.1","T":3}"#, Figures),
    ] {
        let mut sink = |_: &Context<'_>, _: &Event| {};
        let read = BinanceJson::default().decode(Nanos(0), frame.as_bytes(), &mut sink);
        assert_eq!(read, Ok(kind), "{frame}");
    }
}

#[test]
fn times_are_milliseconds_or_microseconds() {
    for (time, nanos) in [
        ("1723161256298", 1_723_161_256_298_000_000),
        ("1723161256298001", 1_723_161_256_298_001_000),
    ] {
        let frame = format!(r#"{{"e":"trade","t":1,"p":"1","q":"1","T":{time}}}"#);
        let told = decode(&mut BinanceJson::default(), frame.as_bytes()).unwrap();
        assert_eq!(told[0].exchange_time, Nanos(nanos));
    }
}

/// As a gateway follows it: what the combined stream brought, and the snapshot as an answer.
#[test]
fn the_recorded_book_of_futures_is_followed_without_a_gap() {
    let Some(frames) = capture(CAPTURES[1]) else { return };
    let symbol = Symbol::new(b"BTCUSDT").unwrap();
    let (tick, lot) = (Price(100_000_000), Qty { mantissa: 1, decimals: 3 });
    let instrument = Instrument::new(InstrumentId(0), symbol, tick, lot).unwrap();
    let config = BinanceConfig { snapshot_limit: Some(1_000), ..BinanceConfig::new(instrument) };
    let mut feeds = BinanceFeeds::new(&[("BTCUSDT", config)], frames[0].0).unwrap();
    let (mut trades, mut sound) = (0, 0);
    let mut sink = |_: &Context<'_>, event: &Event| {
        trades += u64::from(matches!(event.kind, EventKind::Trade(_)));
    };
    for (now, frame) in &frames {
        let is_update = frame.starts_with(b"{\"stream\"");
        let answer = [b"{\"id\":0,\"status\":200,\"result\":", frame.as_slice(), b"}"].concat();
        let (source, frame) =
            if is_update { (Source::LINE_A, frame) } else { (Source::SNAPSHOT, &answer) };
        if let Some(frame) = feeds.decode(*now, source, frame) {
            feeds.apply(frame, &mut sink);
        }
        feeds.recover(*now, &mut sink);
        let soundness = feeds.soundness(InstrumentId(0));
        sound += u64::from(soundness == Soundness::Sound);
        let is_expected = matches!(
            soundness,
            Soundness::Sound | Soundness::Stale(Staleness::Joining | Staleness::BeyondSnapshot)
        );
        assert!(is_expected, "{soundness:?}");
    }
    let counters = feeds.counters();
    assert_eq!((counters.gaps, counters.malformed, counters.snapshots), (0, 0, 1), "{counters:?}");
    println!(
        "{} frames, {} updates, {trades} trades, {sound} sound",
        frames.len(),
        counters.applied
    );
    assert!(counters.applied > 6_000 && trades > 1_000 && sound > 50_000);
}
