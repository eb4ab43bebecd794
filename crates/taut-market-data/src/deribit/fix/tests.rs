//! A session's messages, and what becomes of the books.

use std::format;
use std::string::String;
use std::vec::Vec;

use taut_types::{Instrument, InstrumentId, Lots, Nanos, Price, Qty, Side, Symbol};

use super::*;
use crate::event::{
    BestPrices, Context, Event, EventKind, LevelPlace, LevelUpdate, Soundness, Staleness,
};
use crate::handler::{FeedHandler, FeedRequest};

const NAMES: [&str; 2] = ["BTC-PERPETUAL", "BTC-25DEC26-100000-C"];
const T0: Nanos = Nanos::from_secs(100);
/// 2026-09-21, 14:13:20.
const TIME: Nanos = Nanos::from_secs(1_790_000_000);

struct Rig {
    feed: DeribitFixFeed,
    now: Nanos,
    /// MsgSeqNum (34) of the next message.
    next: u64,
    told: Vec<Event>,
}

/// The perpetual has lots of ten dollars and contracts of one; the option lots of a tenth.
fn instruments() -> [NamedInstrument<'static>; 2] {
    let listed = |id: u32, lot| {
        let symbol = Symbol::new(b"X").unwrap();
        let instrument = Instrument::new(InstrumentId(id), symbol, Price(2), lot).unwrap();
        NamedInstrument { name: NAMES[id as usize].as_bytes(), instrument }
    };
    [listed(0, Qty { mantissa: 10, decimals: 0 }), listed(1, Qty { mantissa: 1, decimals: 1 })]
}

/// The message with this number; `|` stands for SOH.
fn message(kind: &str, number: u64, fields: &str) -> Vec<u8> {
    let head = format!("8=FIX.4.4|9=1|35={kind}|34={number}|49=DERIBITSERVER|56=ME");
    let all = format!("{head}|52=20260921-14:13:20.000|{fields}10=000|");
    all.replace('|', "\u{1}").into_bytes()
}

impl Rig {
    fn new() -> Self {
        let listed = instruments();
        let config = ChainConfig { level_capacity: 4, ..ChainConfig::new(&listed) };
        Self { feed: DeribitFixFeed::new(&config, T0).unwrap(), now: T0, next: 1, told: Vec::new() }
    }

    fn take(&mut self, kind: &str, fields: &str) -> Vec<EventKind> {
        let message = message(kind, self.next, fields);
        self.next += 1;
        self.now = self.now + Nanos::from_millis(1);
        let (now, told) = (self.now, &mut self.told);
        told.clear();
        let mut sink = |_: &Context<'_>, event: &Event| told.push(*event);
        if let Some(frame) = self.feed.decode(now, Source::LINE_A, &message) {
            self.feed.apply(frame, &mut sink);
        }
        self.feed.recover(now, &mut sink);
        told.iter().map(|event| event.kind).collect()
    }

    /// A message of the perpetual.
    fn perpetual(&mut self, kind: &str, entries: &str) -> Vec<EventKind> {
        self.take(kind, &format!("55={}|262=0.1|231=1|100090=10|{entries}", NAMES[0]))
    }
}

fn quote(dollars: i64, lots: i64) -> Option<(Price, Lots)> {
    Some((Price(dollars * Price::SCALE), Lots(lots)))
}

fn level(side: Side, (price, lots): (Price, Lots), depth: u32) -> EventKind {
    let place = LevelPlace::Behind(depth);
    EventKind::Level(LevelUpdate { side, price, lots, order_count: 0, place })
}

/// A rig whose perpetual has a book: 10 to buy, 11 to sell.
fn sound() -> Rig {
    let mut rig = Rig::new();
    let trade = "269=2|270=9.5|271=10|272=20260921-14:13:19.000|100009=7|54=1|";
    let whole = format!("268=3|269=0|270=10|271=30|269=1|270=11.0|271=20|{trade}");
    let top = BestPrices { bid: quote(10, 3), ask: quote(11, 2) };
    // The trade is older than the book.
    let told = rig.perpetual("W", &whole);
    assert_eq!(told, [EventKind::Book(Soundness::Sound), EventKind::Top(top)]);
    rig
}

#[test]
fn a_whole_book_and_its_changes_are_told_with_the_trades_between_them() {
    let mut rig = sound();
    let trade = "279=0|269=2|270=11|271=20|272=20260921-14:13:20.500|100009=BTC-8|54=1|";
    let levels = "279=2|269=1|270=11|271=0|279=1|269=0|270=10|271=40|279=0|269=0|270=9|271=10|";
    let told = rig.perpetual("X", &format!("268=4|{levels}{trade}"));
    let [EventKind::Trade(trade), rest @ ..] = &told[..] else { panic!("{told:?}") };
    assert_eq!((trade.trade_id, trade.lots, trade.aggressor), (8, Lots(2), Some(Side::Buy)));
    assert_eq!(
        rest,
        [
            level(Side::Buy, quote(10, 4).unwrap(), 0),
            level(Side::Buy, quote(9, 1).unwrap(), 1),
            level(Side::Sell, quote(11, 0).unwrap(), 0),
            EventKind::Top(BestPrices { bid: quote(10, 4), ask: None }),
        ]
    );
    let times: Vec<Nanos> = rig.told.iter().map(|event| event.exchange_time).collect();
    assert_eq!(times[..2], [TIME + Nanos::from_millis(500), TIME]);
    // Once more the same trade, and nothing of the book.
    let again = "268=1|279=0|269=2|270=11|271=20|100009=8|54=1|";
    assert_eq!(rig.perpetual("X", again), []);
    assert_eq!(rig.feed.counters().malformed, 0);
}

#[test]
fn contracts_are_worth_what_the_venue_says() {
    let mut rig = Rig::new();
    let option = |contract: &str, contracts: &str| {
        let bid = format!("268=1|269=0|270=0.0015|271={contracts}|");
        format!("55={}|262=1.1|{contract}{bid}", NAMES[1])
    };
    let best = |rig: &Rig| rig.feed.best(InstrumentId(1)).bid.map(|(_, lots)| lots.0);
    for (contract, contracts, lots) in
        [("231=1|", "2.5", 25), ("", "3", 30), ("231=0.1|", "7", 7), ("231=100|", "0.001", 1)]
    {
        rig.take("W", &option(contract, contracts));
        assert_eq!(best(&rig), Some(lots), "{contract} {contracts}");
    }
    for (contract, contracts) in [("231=1|", "0.05"), ("231=x|", "1"), ("", "-1"), ("", "1e3")] {
        assert_eq!(rig.take("W", &option(contract, contracts)), [], "{contract} {contracts}");
    }
    assert_eq!((best(&rig), rig.feed.counters().malformed), (Some(1), 4));
}

#[test]
fn a_book_without_its_whole_has_no_changes_and_another_whole_is_another_book() {
    let mut rig = Rig::new();
    let change = "268=1|279=0|269=0|270=10|271=10|";
    assert_eq!(rig.perpetual("X", change), []);
    assert_eq!(rig.feed.counted().early, 1);
    let mut rig = sound();
    let stale = EventKind::Book(Soundness::Stale(Staleness::Restarting));
    let top = BestPrices { bid: None, ask: None };
    let told = rig.perpetual("W", "268=0|");
    assert_eq!(told, [stale, EventKind::Book(Soundness::Sound), EventKind::Top(top)]);
    // The session begins again: numbers do, too.
    rig.feed.handle_disconnect(rig.now, Source::LINE_A);
    rig.next = 1;
    let silent = EventKind::Book(Soundness::Stale(Staleness::Silent));
    assert_eq!(rig.perpetual("X", change), [silent, EventKind::Top(top)]);
    rig.perpetual("W", "268=1|269=0|270=10|271=10|");
    assert_eq!(rig.feed.best(InstrumentId(0)).bid, quote(10, 1));
}

#[test]
fn what_cannot_be_read_is_counted_and_what_nobody_documented_makes_the_book_stale() {
    let mut rig = sound();
    for fields in [
        "268=1|269=0|271=10|",
        "268=1|269=0|270=10|",
        "268=1|269=0|270=x|271=10|",
        "268=1|269=0|270=10|271=1x|",
        "268=1|279=0|269=2|270=10|271=10|",
        "268=1|269=0|270=10|271=10|no|",
    ] {
        assert_eq!(rig.perpetual("X", fields), [], "{fields}");
    }
    let many: String = (1..=5).map(|at| format!("269=1|270={}|271=10|", 20 + at)).collect();
    assert_eq!(rig.perpetual("W", &format!("268=5|{many}")), []);
    assert_eq!(rig.feed.counters().malformed, 7);
    // Of others, and what is nothing of the market.
    assert_eq!(rig.take("X", "55=ETH-PERPETUAL|231=1|268=1|269=0|270=1|271=1|"), []);
    assert_eq!(rig.take("0", "112=hello|"), []);
    assert_eq!(rig.feed.counters().malformed, 7);
    rig.now = rig.now + Nanos::from_secs(6);
    let told = rig.perpetual("X", "268=1|279=7|269=0|270=10|271=10|");
    assert_eq!(told[0], EventKind::Book(Soundness::Stale(Staleness::Gap)));
    assert_eq!(rig.feed.poll_request(), Some(FeedRequest::Snapshot(InstrumentId(0))));
}

#[test]
fn broken_messages_never_panic_and_what_is_read_does_not_allocate() {
    let mut rig = sound();
    let fields = format!(
        "55={}|262=0.1|231=1|268=2|279=1|269=0|270=10|271=40|279=0|269=2|270=9|271=10|54=2|\
         272=20260921-14:13:20.000|100009=9|",
        NAMES[0]
    );
    let whole = message("X", 2, &fields);
    let info = allocation_counter::measure(|| {
        let mut sink = |_: &Context<'_>, _: &Event| {};
        let mut broken = [0; 512];
        let broken = &mut broken[..whole.len()];
        for at in 0..whole.len() {
            for byte in [0, 1, b'=', b'9', b'-', 0xff] {
                broken.copy_from_slice(&whole);
                broken[at] = byte;
                for message in [&broken[..], &whole[..at]] {
                    if let Some(frame) = rig.feed.decode(rig.now, Source::LINE_A, message) {
                        rig.feed.apply(frame, &mut sink);
                    }
                    rig.feed.recover(rig.now, &mut sink);
                }
            }
        }
    });
    assert_eq!(info.count_total, 0);
    assert!(rig.feed.counters().malformed > 0);
}
