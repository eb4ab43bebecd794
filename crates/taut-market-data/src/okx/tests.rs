//! Books that prove themselves, or say nothing of it.

use std::format;
use std::string::String;

use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Symbol};

use super::OkxFeed;
use crate::chained::{ChainConfig, NamedInstrument};
use crate::event::{Context, Event, Soundness, Staleness};
use crate::handler::{FeedHandler, Source};

const ID: InstrumentId = InstrumentId(0);

fn book(action: &str, [previous, id]: [i64; 2], bid: &str, checksum: i64) -> String {
    let levels = format!(r#""asks":[["11","1","0","1"]],"bids":[["{bid}","2","0","1"]]"#);
    let ids = format!(r#""checksum":{checksum},"prevSeqId":{previous},"seqId":{id}"#);
    let arg = r#""arg":{"channel":"books","instId":"BTC-USDT"}"#;
    format!(r#"{{{arg},"action":"{action}","data":[{{{levels},"ts":"1597026383085",{ids}}}]}}"#)
}

#[test]
fn a_checksum_of_zero_proves_nothing_and_the_ids_tell_the_gap() {
    let (symbol, lot) = (Symbol::new(b"BTC").unwrap(), Qty { mantissa: 1, decimals: 0 });
    let instrument = Instrument::new(ID, symbol, Price(2), lot).unwrap();
    let instruments = [NamedInstrument { name: b"BTC-USDT", instrument }];
    let config = ChainConfig { level_capacity: 8, ..ChainConfig::new(&instruments) };
    let mut feed = OkxFeed::new(&config, Nanos(1)).unwrap();
    let mut take = |frame: String| {
        let mut sink = |_: &Context<'_>, _: &Event| {};
        let frame = feed.decode(Nanos(2), Source::LINE_A, frame.as_bytes()).unwrap();
        feed.apply(frame, &mut sink);
        feed.recover(Nanos(2), &mut sink);
        (feed.soundness(ID), feed.counted().checksums_failed)
    };
    let gap = Soundness::Stale(Staleness::Gap);
    assert_eq!(take(book("snapshot", [-1, 5], "9", 0)), (Soundness::Sound, 0));
    assert_eq!(take(book("update", [5, 7], "8", 0)), (Soundness::Sound, 0));
    assert_eq!(take(book("update", [8, 9], "7", 0)), (gap, 0));
    assert_eq!(take(book("snapshot", [-1, 9], "9", 0)), (Soundness::Sound, 0));
    // Where there is one, it counts.
    assert_eq!(take(book("update", [9, 10], "8", 1)), (gap, 1));
}
