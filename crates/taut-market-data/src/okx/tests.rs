//! Books that prove themselves, or say nothing of it.

use std::format;
use std::string::String;
use std::vec::Vec;

use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Symbol};

use super::OkxFeed;
use crate::chained::{ChainConfig, NamedInstrument};
use crate::event::{Context, Event, EventKind, Soundness, Staleness, Statistic};
use crate::handler::{FeedHandler, Source};

const ID: InstrumentId = InstrumentId(0);

fn book(action: &str, [previous, id]: [i64; 2], bid: &str, checksum: i64) -> String {
    let levels = format!(r#""asks":[["11","1","0","1"]],"bids":[["{bid}","2","0","1"]]"#);
    let ids = format!(r#""checksum":{checksum},"prevSeqId":{previous},"seqId":{id}"#);
    let arg = r#""arg":{"channel":"books","instId":"BTC-USDT"}"#;
    format!(r#"{{{arg},"action":"{action}","data":[{{{levels},"ts":"1597026383085",{ids}}}]}}"#)
}

/// A feed of one book.
fn feed(name: &[u8]) -> OkxFeed {
    let (symbol, lot) = (Symbol::new(b"BTC").unwrap(), Qty { mantissa: 1, decimals: 0 });
    let instrument = Instrument::new(ID, symbol, Price(2), lot).unwrap();
    let instruments = [NamedInstrument { name, instrument }];
    let config = ChainConfig { level_capacity: 8, ..ChainConfig::new(&instruments) };
    OkxFeed::new(&config, Nanos(1)).unwrap()
}

/// What the book is worth behind a frame.
fn take(feed: &mut OkxFeed, frame: &str) -> Soundness {
    let mut sink = |_: &Context<'_>, _: &Event| {};
    if let Some(frame) = feed.decode(Nanos(2), Source::LINE_A, frame.as_bytes()) {
        feed.apply(frame, &mut sink);
    }
    feed.recover(Nanos(2), &mut sink);
    feed.soundness(ID)
}

#[test]
fn a_book_ends_with_its_connection_and_one_that_crosses_is_stale() {
    let mut feed = feed(b"BTC-USDT");
    assert_eq!(take(&mut feed, &book("snapshot", [-1, 5], "9", 0)), Soundness::Sound);
    feed.handle_disconnect(Nanos(2), Source::LINE_A);
    // A change of a book that nobody has any more.
    assert_ne!(take(&mut feed, &book("update", [5, 7], "8", 0)), Soundness::Sound);
    assert_eq!(take(&mut feed, &book("snapshot", [-1, 9], "9", 0)), Soundness::Sound);
    // A bid at the price of the ask.
    let crossed = take(&mut feed, &book("update", [9, 10], "11", 0));
    assert_eq!((crossed, feed.counted().crossed), (Soundness::Stale(Staleness::Gap), 1));
}

#[test]
fn a_rehearsal_goes_the_way_of_a_change_and_changes_nothing() {
    let (mut feed, mut other) = (feed(b"BTC-USDT"), feed(b"BTC-USDT"));
    let state = |feed: &OkxFeed| {
        let book = feed.book(ID).unwrap().state_hash();
        let (counters, best) = (feed.counters(), feed.best(ID));
        format!("{book} {counters:?} {best:?} {:?} {:?}", feed.counted(), feed.poll_timeout())
    };
    let rehearsed = |feed: &mut OkxFeed, frame: &str| {
        let mut levels = 0;
        let mut sink = |_: &Context<'_>, event: &Event| {
            levels += usize::from(matches!(event.kind, EventKind::Level(_)));
        };
        assert!(feed.set_rehearsing(true));
        let read = feed.decode(Nanos(2), Source::LINE_A, frame.as_bytes()).unwrap();
        feed.apply(read, &mut sink);
        assert!(!feed.set_rehearsing(false));
        levels
    };
    let snapshot = book("snapshot", [-1, 5], "9", 0);
    assert_eq!([&mut feed, &mut other].map(|it| take(it, &snapshot)), [Soundness::Sound; 2]);
    // Neither of these checksums is the book's.
    for (id, checksum) in [(6, 0), (7, 12_345), (8, -1)] {
        let sample = book("update", [1, 2], "8", checksum);
        let before = state(&feed);
        assert!(rehearsed(&mut feed, &sample) >= 2, "before {id}");
        assert_eq!(state(&feed), before, "before {id}");
        let next = book("update", [id - 1, id], "8", 0);
        assert_eq!(take(&mut feed, &next), take(&mut other, &next));
        assert_eq!(state(&feed), state(&other));
    }
    // What is whole is not rehearsed.
    let before = state(&feed);
    assert_eq!(rehearsed(&mut feed, &snapshot), 0);
    assert_eq!(state(&feed), before);
}

#[test]
fn a_channel_that_says_nothing_while_others_do_is_subscribed_to_anew() {
    let (symbol, lot) = (Symbol::new(b"BTC").unwrap(), Qty { mantissa: 1, decimals: 0 });
    let instrument = Instrument::new(ID, symbol, Price(2), lot).unwrap();
    let instruments = [NamedInstrument { name: b"BTC-USDT", instrument }];
    let (level_capacity, longest) = (8, Nanos::from_secs(60));
    let (channel_silence, silence) = (Some(longest), Nanos::from_secs(100));
    let config = ChainConfig::new(&instruments);
    let config = ChainConfig { level_capacity, silence, channel_silence, ..config };
    let mut feed = OkxFeed::new(&config, Nanos::ZERO).unwrap();
    let mut told = |at: i64, frame: &str| {
        let (now, mut sink) = (Nanos::from_secs(at), |_: &Context<'_>, _: &Event| {});
        if let Some(frame) = feed.decode(now, Source::LINE_A, frame.as_bytes()) {
            feed.apply(frame, &mut sink);
        }
        feed.handle_timeout(now);
        feed.recover(now, &mut sink);
        (feed.soundness(ID), feed.poll_request().is_some(), feed.counters().channels_silent)
    };
    let arg = r#""arg":{"channel":"mark-price","instId":"BTC-USDT"}"#;
    let mark = format!(r#"{{{arg},"data":[{{"instId":"BTC-USDT","markPx":"9","ts":"1"}}]}}"#);
    let silent = Soundness::Stale(Staleness::Silent);
    assert_eq!(told(10, &book("snapshot", [-1, 5], "9", 0)), (Soundness::Sound, false, 0));
    // Where nothing comes, it is the connection's silence.
    assert_eq!(told(80, ""), (Soundness::Sound, false, 0));
    assert_eq!(told(81, &mark), (Soundness::Sound, false, 0), "it was looked at just now");
    assert_eq!(told(90, &mark), (silent, true, 1));
    assert_eq!(told(91, &book("snapshot", [-1, 9], "9", 0)), (Soundness::Sound, false, 1));
    // What the venue says when nothing changes is something.
    assert_eq!(told(140, &book("update", [9, 9], "9", 0)), (Soundness::Sound, false, 1));
    assert_eq!(told(190, &mark), (Soundness::Sound, false, 1));
}

#[test]
fn a_page_for_people_is_counted_and_changes_nothing() {
    let mut feed = feed(b"BTC-USDT");
    take(&mut feed, &book("snapshot", [-1, 5], "9", 0));
    let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>\r\n";
    assert_eq!((take(&mut feed, page), feed.counters().malformed), (Soundness::Sound, 1));
    assert_eq!(take(&mut feed, &book("update", [5, 7], "8", 0)), Soundness::Sound);
}

#[test]
fn mark_price_and_funding_are_told_when_they_have_changed() {
    let mut feed = feed(b"BTC-USDT-SWAP");
    let mut told = |channel: &str, instrument: &str, figure: &str| {
        let arg = format!(r#""arg":{{"channel":"{channel}","instId":"{instrument}"}}"#);
        let data = format!(r#"{{"instId":"{instrument}",{figure},"ts":"1597026383085"}}"#);
        let frame = format!(r#"{{{arg},"data":[{data}]}}"#);
        let mut told = Vec::new();
        let mut sink = |_: &Context<'_>, event: &Event| told.push(event.kind);
        if let Some(frame) = feed.decode(Nanos(2), Source::LINE_A, frame.as_bytes()) {
            feed.apply(frame, &mut sink);
        }
        told
    };
    let swap = "BTC-USDT-SWAP";
    let mark = EventKind::Statistic(Statistic::Mark(Price(42_310_600_000_000)));
    assert_eq!(told("mark-price", swap, r#""instType":"SWAP","markPx":"42310.6""#), [mark]);
    assert_eq!(told("mark-price", swap, r#""instType":"SWAP","markPx":"42310.60""#), []);
    let funding = EventKind::Statistic(Statistic::Funding(-18_751));
    let rate = r#""fundingRate":"-0.0000187515166305","nextFundingRate":"""#;
    assert_eq!(told("funding-rate", swap, rate), [funding]);
    assert_eq!(told("funding-rate", swap, rate), []);
    // Of an instrument that nobody follows; without a figure.
    assert_eq!(told("mark-price", "ETH-USDT-SWAP", r#""markPx":"1""#), []);
    assert_eq!(told("mark-price", swap, r#""markPx":"""#), []);
    assert_eq!(feed.counters().malformed, 1);
}

#[test]
fn a_checksum_of_zero_proves_nothing_and_the_ids_tell_the_gap() {
    let mut feed = feed(b"BTC-USDT");
    let mut take = |frame: String| (take(&mut feed, &frame), feed.counted().checksums_failed);
    let gap = Soundness::Stale(Staleness::Gap);
    assert_eq!(take(book("snapshot", [-1, 5], "9", 0)), (Soundness::Sound, 0));
    assert_eq!(take(book("update", [5, 7], "8", 0)), (Soundness::Sound, 0));
    assert_eq!(take(book("update", [8, 9], "7", 0)), (gap, 0));
    assert_eq!(take(book("snapshot", [-1, 9], "9", 0)), (Soundness::Sound, 0));
    // Where there is one, it counts.
    assert_eq!(take(book("update", [9, 10], "8", 1)), (gap, 1));
}
