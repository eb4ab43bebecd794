//! Subscriptions of two instruments, and what becomes of their books.

mod added;

use std::format;
use std::string::String;
use std::vec::Vec;

use taut_types::{
    Instrument, InstrumentError, InstrumentId, Lots, Nanos, Price, Qty, Side, Symbol,
};

use super::{BookChannel, DeribitFeed};
use crate::chained::{ChainConfig, NamedInstrument};
use crate::event::{
    BestPrices, Context, Event, EventKind, LevelPlace, LevelUpdate, Soundness, Staleness,
    Statistic, TradingStatus,
};
use crate::handler::{FeedHandler, FeedRequest, Source};

const T0: Nanos = Nanos::from_secs(100);
/// The perpetual: lots of ten dollars.
const PERPETUAL: InstrumentId = InstrumentId(0);
/// An option: lots of a tenth of a coin.
const OPTION: InstrumentId = InstrumentId(5);
const NAMES: [&str; 2] = ["BTC-PERPETUAL", "BTC-25DEC26-100000-C"];
const BOOK: fn(Soundness) -> EventKind = EventKind::Book;
const GAP: Soundness = Soundness::Stale(Staleness::Gap);
const SILENT: Soundness = Soundness::Stale(Staleness::Silent);

fn instruments() -> [NamedInstrument<'static>; 2] {
    let listed = |name: &'static str, alias: &str, id, mantissa, decimals| {
        let symbol = Symbol::new(alias.as_bytes()).unwrap();
        let tick = Price(Price::SCALE / 10_000);
        let instrument = Instrument::new(id, symbol, tick, Qty { mantissa, decimals }).unwrap();
        NamedInstrument { name: name.as_bytes(), instrument }
    };
    [listed(NAMES[0], "BTC-P", PERPETUAL, 10, 0), listed(NAMES[1], "BTC-C", OPTION, 1, 1)]
}

struct Rig {
    feed: DeribitFeed,
    now: Nanos,
    told: Vec<Event>,
}

impl Rig {
    fn new() -> Self {
        Self::following(BookChannel::Changes)
    }

    fn following(books: BookChannel) -> Self {
        let instruments = instruments();
        let level_capacity = if books == BookChannel::Changes { 4 } else { 64 };
        let config = ChainConfig { level_capacity, ..ChainConfig::new(&instruments) };
        let feed = DeribitFeed::following(books, &config, T0).unwrap();
        Self { feed, now: T0, told: Vec::new() }
    }

    /// As whoever drives a handler does it, a gateway among them: what `recover` tells comes behind
    /// what `apply` told. What was told.
    fn take(&mut self, source: Source, frame: &str) -> Vec<EventKind> {
        self.now = self.now + Nanos::from_millis(100);
        let (now, told) = (self.now, &mut self.told);
        told.clear();
        let mut sink = |_: &Context<'_>, event: &Event| told.push(*event);
        if let Some(frame) = self.feed.decode(now, source, frame.as_bytes()) {
            self.feed.apply(frame, &mut sink);
        }
        if !self.feed.is_settled() {
            self.feed.recover(now, &mut sink);
        }
        assert!(told.iter().all(|event| event.receive_time == now));
        told.iter().map(|event| event.kind).collect()
    }

    /// A frame of the perpetual's book; a snapshot when nothing comes before it.
    fn book(&mut self, previous: Option<u64>, id: u64, bids: &str, asks: &str) -> Vec<EventKind> {
        self.take(Source::LINE_A, &book(NAMES[0], previous, id, bids, asks))
    }

    fn wait(&mut self, span: Nanos) -> Vec<EventKind> {
        self.now = self.now + span;
        self.told.clear();
        let told = &mut self.told;
        self.feed.handle_timeout(self.now);
        if !self.feed.is_settled() {
            self.feed.recover(self.now, &mut |_: &Context<'_>, event: &Event| told.push(*event));
        }
        self.told.iter().map(|event| event.kind).collect()
    }

    fn disconnect(&mut self, source: Source) -> Vec<EventKind> {
        self.feed.handle_disconnect(self.now, source);
        self.wait(Nanos::ZERO)
    }

    fn requests(&mut self) -> Vec<InstrumentId> {
        let asked = std::iter::from_fn(|| self.feed.poll_request());
        asked
            .map(|request| match request {
                FeedRequest::Snapshot(id) => id,
                FeedRequest::Packets(_) | FeedRequest::Channel(_) => panic!("{request:?}"),
            })
            .collect()
    }
}

fn notification(channel: &str, data: &str) -> String {
    let head = r#""jsonrpc":"2.0","method":"subscription""#;
    format!(r#"{{{head},"params":{{"channel":"{channel}","data":{data}}}}}"#)
}

fn book(name: &str, previous: Option<u64>, id: u64, bids: &str, asks: &str) -> String {
    let chain = match previous {
        Some(previous) => format!(r#""type":"change","prev_change_id":{previous}"#),
        None => String::from(r#""type":"snapshot""#),
    };
    let head = format!(r#""timestamp":1662714568585,"instrument_name":"{name}""#);
    let levels = format!(r#""bids":[{bids}],"asks":[{asks}]"#);
    let data = format!(r#"{{{chain},{head},"change_id":{id},{levels}}}"#);
    notification(&format!("book.{name}.raw"), &data)
}

fn trades(name: &str, sequence: u64, amount: &str) -> String {
    let ids = format!(r#""trade_seq":{sequence},"trade_id":"4{sequence}""#);
    let head = format!(r#""timestamp":1662714568585,"instrument_name":"{name}""#);
    let terms = format!(r#""price":10.5,"direction":"sell","amount":{amount}"#);
    notification(&format!("trades.{name}.raw"), &format!("[{{{ids},{head},{terms}}}]"))
}

fn quote(price: i64, lots: i64) -> Option<(Price, Lots)> {
    Some((Price(price * Price::SCALE / 100), Lots(lots)))
}

/// A rig whose perpetual has a book, as of change 10.
fn sound() -> Rig {
    let mut rig = Rig::new();
    let top = BestPrices { bid: quote(1_000, 3), ask: quote(1_100, 2) };
    let told = rig.book(None, 10, r#"["new",10.0,30.0]"#, r#"["new",11.0,20.0]"#);
    assert_eq!(told, [BOOK(Soundness::Sound), EventKind::Top(top)]);
    assert_eq!((rig.feed.soundness(PERPETUAL), rig.feed.best(PERPETUAL)), (Soundness::Sound, top));
    assert_eq!((rig.feed.stale_count(), rig.feed.is_whole()), (1, false));
    rig
}

fn level(side: Side, (price, lots): (Price, Lots), depth: u32) -> EventKind {
    let place = LevelPlace::Behind(depth);
    EventKind::Level(LevelUpdate { side, price, lots, order_count: 0, place })
}

#[test]
fn a_snapshot_makes_a_book_sound_and_each_instrument_has_its_own() {
    let mut rig = sound();
    assert_eq!(rig.feed.soundness(OPTION), Soundness::Stale(Staleness::Joining));
    let told = rig.take(Source::LINE_A, &book(NAMES[1], None, 3, "", r#"["new",0.0015,2.5]"#));
    let ask = Some((Price(1_500_000), Lots(25)));
    let top = BestPrices { bid: None, ask };
    assert_eq!(told, [BOOK(Soundness::Sound), EventKind::Top(top)]);
    assert_eq!(rig.told[0].instrument, OPTION);
    assert!(rig.feed.is_whole() && rig.requests().is_empty());
    assert_eq!(rig.feed.book(PERPETUAL).unwrap().level_count(Side::Sell), 1);
    assert!(rig.feed.book(InstrumentId(3)).is_none());
    assert!(rig.feed.book(InstrumentId(u32::MAX)).is_none());
}

#[test]
fn a_change_tells_its_levels_where_they_stand_and_then_the_top() {
    let mut rig = sound();
    let told = rig.book(
        Some(10),
        17,
        r#"["change",10.0,50.0],["new",10.25,1e1]"#,
        r#"["delete",11.0,0.0]"#,
    );
    assert_eq!(
        told,
        [
            level(Side::Buy, quote(1_000, 5).unwrap(), 0),
            level(Side::Buy, quote(1_025, 1).unwrap(), 0),
            level(Side::Sell, quote(1_100, 0).unwrap(), 0),
            EventKind::Top(BestPrices { bid: quote(1_025, 1), ask: None }),
        ]
    );
    assert_eq!(rig.told[0].exchange_time, Nanos::from_millis(1_662_714_568_585));
    assert_eq!(rig.told[0].instrument, PERPETUAL);
    assert_eq!(rig.feed.counters().applied, 1);
}

#[test]
fn a_rehearsal_goes_the_way_of_a_change_and_changes_nothing() {
    let (mut rig, mut other) = (sound(), sound());
    let change = |previous, id| {
        let bids = r#"["new",10.25,10.0],["delete",9.0,0.0]"#;
        book(NAMES[0], Some(previous), id, bids, r#"["change",11.0,70.0]"#)
    };
    let state = |feed: &DeribitFeed| {
        let book = feed.book(PERPETUAL).unwrap().state_hash();
        let (counters, best) = (feed.counters(), feed.best(PERPETUAL));
        format!("{book} {counters:?} {best:?} {:?} {:?}", feed.counted(), feed.poll_timeout())
    };
    let sample = change(10, 11);
    for id in 11..14 {
        let before = state(&rig.feed);
        let mut levels = 0;
        let mut sink = |_: &Context<'_>, event: &Event| {
            levels += usize::from(matches!(event.kind, EventKind::Level(_)));
        };
        assert!(rig.feed.set_rehearsing(true));
        let read = rig.feed.decode(rig.now, Source::LINE_A, sample.as_bytes()).unwrap();
        rig.feed.apply(read, &mut sink);
        assert!(!rig.feed.set_rehearsing(false));
        assert!(levels >= 2, "{levels} before {id}");
        assert_eq!(state(&rig.feed), before, "before {id}");
        let next = change(id - 1, id);
        assert_eq!(rig.take(Source::LINE_A, &next), other.take(Source::LINE_A, &next));
        assert_eq!(state(&rig.feed), state(&other.feed));
    }
    // Of another book, which is not sound, nothing is rehearsed.
    let unsound = book(NAMES[1], Some(1), 2, r#"["new",10.25,10.0]"#, "");
    assert!(rig.feed.set_rehearsing(true));
    let read = rig.feed.decode(rig.now, Source::LINE_A, unsound.as_bytes()).unwrap();
    let before = state(&rig.feed);
    rig.feed.apply(read, &mut |_: &Context<'_>, event: &Event| panic!("{event:?}"));
    assert_eq!(state(&rig.feed), before);
    rig.feed.set_rehearsing(false);
}

#[test]
fn a_broken_chain_makes_the_book_stale_and_asks_to_subscribe_anew() {
    let mut rig = sound();
    rig.wait(Nanos::from_secs(6));
    rig.requests();
    let told = rig.book(Some(12), 13, r#"["new",10.5,10.0]"#, "");
    assert_eq!(told[0], BOOK(GAP));
    assert_eq!((rig.feed.soundness(PERPETUAL), rig.requests()), (GAP, std::vec![PERPETUAL]));
    // What comes before the snapshot is left out, and nobody is asked again so soon.
    assert_eq!(rig.book(Some(13), 14, r#"["new",10.6,10.0]"#, ""), []);
    assert!(rig.requests().is_empty());
    assert_eq!(rig.book(None, 14, r#"["new",10.6,10.0]"#, "")[0], BOOK(Soundness::Sound));
    assert_eq!(rig.feed.book(PERPETUAL).unwrap().level_count(Side::Buy), 1);
    assert_eq!((rig.feed.counters().gaps, rig.feed.counted().early), (1, 1));
}

#[test]
fn a_snapshot_that_does_not_come_is_asked_for_again() {
    let mut rig = Rig::new();
    // The subscription that a connection begins with should bring both.
    assert_eq!(rig.feed.poll_timeout(), Some(T0 + Nanos::from_secs(5)));
    rig.wait(Nanos::from_secs(5));
    assert_eq!(rig.requests(), [PERPETUAL, OPTION]);
    rig.book(None, 1, "", "");
    assert_eq!(rig.requests(), []);
    rig.wait(Nanos::from_secs(4));
    assert_eq!(rig.requests(), []);
    rig.wait(Nanos::from_secs(1));
    assert_eq!(rig.requests(), [OPTION]);
}

#[test]
fn silence_is_about_data_and_the_books_live_through_it_by_their_chains() {
    let mut rig = sound();
    rig.take(Source::LINE_A, &book(NAMES[1], None, 3, "", ""));
    // The venue says that it is there, and nothing else.
    let beat = r#"{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"heartbeat"}}"#;
    rig.wait(Nanos::from_secs(9));
    assert_eq!(rig.take(Source::LINE_A, beat), []);
    let told = rig.wait(Nanos::from_secs(1));
    assert_eq!(told.iter().filter(|kind| **kind == BOOK(SILENT)).count(), 2);
    assert_eq!((rig.feed.counters().silences, rig.feed.is_whole()), (1, false));
    // The connection is the same: nothing is lost.
    let told = rig.book(Some(10), 11, r#"["new",10.5,10.0]"#, "");
    assert_eq!(told.iter().filter(|kind| **kind == BOOK(Soundness::Sound)).count(), 2);
    assert!(told.contains(&EventKind::Top(rig.feed.best(PERPETUAL))));
    assert!(rig.feed.is_whole() && rig.feed.best(PERPETUAL).bid == quote(1_050, 1));
}

#[test]
fn a_new_connection_has_no_book_until_its_snapshot() {
    let mut rig = sound();
    assert_eq!(rig.disconnect(Source::LINE_A)[0], BOOK(SILENT));
    assert_eq!(rig.book(Some(10), 11, r#"["new",10.5,10.0]"#, ""), []);
    let told = rig.book(None, 40, r#"["new",9.0,10.0]"#, "");
    let top = BestPrices { bid: quote(900, 1), ask: None };
    assert_eq!(told, [BOOK(Soundness::Sound), EventKind::Top(top)]);
    // Ids may begin again after a maintenance.
    rig.disconnect(Source::LINE_A);
    assert_eq!(rig.book(None, 1, "", "")[0], BOOK(Soundness::Sound));
}

#[test]
fn a_second_line_keeps_the_book_when_the_first_one_breaks() {
    let mut rig = sound();
    let line_b = |rig: &mut Rig, previous, id, bids| {
        rig.take(Source::LINE_B, &book(NAMES[0], previous, id, bids, ""))
    };
    assert_eq!(line_b(&mut rig, None, 10, r#"["new",10.0,30.0]"#), []);
    assert_eq!(rig.book(Some(10), 11, r#"["new",10.5,10.0]"#, "").len(), 2);
    assert_eq!(line_b(&mut rig, Some(10), 11, r#"["new",10.5,10.0]"#), []);
    assert_eq!(rig.disconnect(Source::LINE_A), []);
    assert_eq!(line_b(&mut rig, Some(11), 12, r#"["delete",10.5,0.0]"#).len(), 2);
    let [a, b] = rig.feed.counters().lines;
    assert_eq!((a.packets, a.first, b.packets, b.first), (2, 2, 3, 1));
    assert_eq!(rig.disconnect(Source::LINE_B)[0], BOOK(SILENT));
}

#[test]
fn a_line_that_is_dumb_while_the_other_one_speaks_is_given_up() {
    let mut rig = sound();
    let line_b = |rig: &mut Rig, previous, id| {
        rig.take(Source::LINE_B, &book(NAMES[0], previous, id, r#"["new",10.0,30.0]"#, ""))
    };
    line_b(&mut rig, None, 10);
    rig.wait(Nanos::from_secs(9));
    line_b(&mut rig, Some(10), 11);
    assert_eq!(rig.feed.counters().silences, 0);
    rig.wait(Nanos::from_secs(1));
    assert_eq!(
        (rig.feed.counters().silences, rig.feed.soundness(PERPETUAL)),
        (1, Soundness::Sound)
    );
    // The other one alone has the book now.
    assert_eq!(rig.disconnect(Source::LINE_B)[0], BOOK(SILENT));
}

#[test]
fn a_snapshot_that_nobody_waited_for_is_another_book() {
    let mut rig = sound();
    let told = rig.book(None, 20, r#"["new",9.0,10.0]"#, "");
    let stale = BOOK(Soundness::Stale(Staleness::Restarting));
    let top = BestPrices { bid: quote(900, 1), ask: None };
    assert_eq!(told, [stale, BOOK(Soundness::Sound), EventKind::Top(top)]);
    assert_eq!(rig.feed.best(PERPETUAL), top);
}

#[test]
fn a_book_that_crosses_or_has_no_room_or_is_changed_in_a_strange_way_is_stale() {
    let full = Soundness::Stale(Staleness::BookFull);
    let five = (1..=5).map(|price| format!(r#"["new",{price},10.0]"#)).collect::<Vec<_>>();
    for (bids, soundness) in [
        (r#"["new",11.0,10.0]"#, GAP),
        (five.join(",").as_str(), full),
        (r#"["merge",9.0,10.0]"#, GAP),
    ] {
        let mut rig = sound();
        rig.wait(Nanos::from_secs(6));
        rig.requests();
        let told = rig.book(Some(10), 11, bids, "");
        assert!(told.contains(&BOOK(soundness)), "{told:?}");
        assert_eq!(
            (rig.feed.soundness(PERPETUAL), rig.requests()),
            (soundness, std::vec![PERPETUAL])
        );
        let counted = rig.feed.counted();
        assert!(counted.crossed + counted.levels_refused + counted.unknown_actions > 0);
    }
}

#[test]
fn a_page_for_people_is_counted_and_changes_nothing() {
    let mut rig = sound();
    let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>\r\n";
    assert_eq!(rig.take(Source::LINE_A, page), []);
    assert_eq!(rig.feed.counters().malformed, 1);
    assert_eq!(rig.feed.soundness(PERPETUAL), Soundness::Sound);
}

#[test]
fn trades_are_told_once_each() {
    let mut rig = sound();
    let told = rig.take(Source::LINE_A, &trades(NAMES[0], 7, "20.0"));
    let [EventKind::Trade(trade)] = told[..] else { panic!("{told:?}") };
    assert_eq!((trade.trade_id, trade.lots, trade.aggressor), (47, Lots(2), Some(Side::Sell)));
    assert_eq!(rig.take(Source::LINE_B, &trades(NAMES[0], 7, "20.0")), []);
    assert_eq!(rig.take(Source::LINE_A, &trades(NAMES[0], 10, "20.0")).len(), 1);
    // Of a book that is not sound, and of an instrument that is not followed.
    assert_eq!(rig.take(Source::LINE_A, &trades(NAMES[1], 1, "2.0")), []);
    assert_eq!(rig.take(Source::LINE_A, &trades("ETH-PERPETUAL", 1, "2.0")), []);
    // Not a whole number of lots.
    assert_eq!(rig.take(Source::LINE_A, &trades(NAMES[0], 11, "25.0")), []);
    let counted = *rig.feed.counted();
    assert_eq!((counted.trades_repeated, counted.trades_missed), (1, 2));
    assert_eq!(rig.feed.counters().malformed, 1);
}

#[test]
fn a_grouped_book_is_replaced_by_each_notification_and_tells_what_differs() {
    let mut rig = Rig::following(BookChannel::Grouped);
    let grouped = |id: u64, bids: &str, asks: &str| {
        let head = format!(r#""timestamp":1662714568585,"instrument_name":"{}""#, NAMES[0]);
        let levels = format!(r#""bids":[{bids}],"asks":[{asks}]"#);
        let data = format!(r#"{{{head},"change_id":{id},{levels}}}"#);
        notification("book.BTC-PERPETUAL.none.10.100ms", &data)
    };
    let top = BestPrices { bid: quote(1_000, 3), ask: quote(1_100, 2) };
    let first = grouped(10, "[10.0,30.0],[9.0,10.0]", "[11.0,20.0]");
    assert_eq!(rig.take(Source::LINE_A, &first), [BOOK(Soundness::Sound), EventKind::Top(top)]);
    assert_eq!(rig.take(Source::LINE_A, &first), []);
    // Numbers jump, and nobody asks for what was in between.
    let told = rig.take(Source::LINE_A, &grouped(90, "[10.5,10.0],[10.0,50.0]", "[11.0,20.0]"));
    let top = BestPrices { bid: quote(1_050, 1), ..top };
    assert_eq!(
        told,
        [
            level(Side::Buy, quote(900, 0).unwrap(), 1),
            level(Side::Buy, quote(1_050, 1).unwrap(), 0),
            level(Side::Buy, quote(1_000, 5).unwrap(), 1),
            EventKind::Top(top),
        ]
    );
    assert_eq!(rig.take(Source::LINE_B, &grouped(89, "", "")), []);
    // What other channels say of the book is left out.
    assert_eq!(rig.book(None, 95, r#"["new",1.0,10.0]"#, ""), []);
    assert_eq!(rig.feed.best(PERPETUAL), top);
    let crowd = (1..=65).map(|at| format!("[{at},10.0]")).collect::<Vec<_>>().join(",");
    assert_eq!(rig.take(Source::LINE_A, &grouped(96, &crowd, "")), []);
    assert_eq!(rig.feed.counters().malformed, 1);
    // A new connection begins anew, with whatever number.
    rig.disconnect(Source::LINE_B);
    assert_eq!(rig.disconnect(Source::LINE_A)[0], BOOK(SILENT));
    let told = rig.take(Source::LINE_A, &grouped(1, "", "[12.0,10.0]"));
    let top = BestPrices { bid: None, ask: quote(1_200, 1) };
    assert_eq!(told, [BOOK(Soundness::Sound), EventKind::Top(top)]);
    assert_eq!((rig.feed.counters().gaps, rig.feed.counters().snapshots), (0, 2));
}

#[test]
fn quotes_make_a_book_of_the_best_prices() {
    let mut rig = Rig::following(BookChannel::Quote);
    let quoted = |ms: u64, bid: (&str, &str), ask: (&str, &str)| {
        let bid = format!(r#""best_bid_price":{},"best_bid_amount":{}"#, bid.0, bid.1);
        let ask = format!(r#""best_ask_price":{},"best_ask_amount":{}"#, ask.0, ask.1);
        let data = format!(r#"{{"timestamp":{ms},"instrument_name":"BTC-PERPETUAL",{bid},{ask}}}"#);
        notification("quote.BTC-PERPETUAL", &data)
    };
    let (bid, ask) = (("10.0", "30.0"), ("11.0", "20.0"));
    let top = BestPrices { bid: quote(1_000, 3), ask: quote(1_100, 2) };
    let told = rig.take(Source::LINE_A, &quoted(5, bid, ask));
    assert_eq!(told, [BOOK(Soundness::Sound), EventKind::Top(top)]);
    // Twice in a millisecond, and an empty side.
    let told = rig.take(Source::LINE_A, &quoted(5, ("10.5", "10.0"), ask));
    assert_eq!(
        told,
        [
            level(Side::Buy, quote(1_000, 0).unwrap(), 0),
            level(Side::Buy, quote(1_050, 1).unwrap(), 0),
            EventKind::Top(BestPrices { bid: quote(1_050, 1), ..top }),
        ]
    );
    let told = rig.take(Source::LINE_A, &quoted(6, ("10.5", "10.0"), ("0.0", "0.0")));
    let top = BestPrices { bid: quote(1_050, 1), ask: None };
    assert_eq!(told, [level(Side::Sell, quote(1_100, 0).unwrap(), 0), EventKind::Top(top)]);
    // One that is older than the book, of another instrument, and one that says half of it.
    assert_eq!(rig.take(Source::LINE_B, &quoted(4, bid, ask)), []);
    let other = quoted(7, bid, ask).replace("BTC-P", "ETH-P");
    assert_eq!(rig.take(Source::LINE_A, &other), []);
    let half = notification("quote.BTC-PERPETUAL", r#"{"timestamp":8,"best_bid_amount":0.0}"#);
    assert_eq!(rig.take(Source::LINE_A, &half), []);
    assert_eq!((rig.feed.best(PERPETUAL), rig.feed.counters().malformed), (top, 1));
    assert!(rig.requests().is_empty());
}

#[test]
fn tickers_states_and_the_platform_tell_the_trading_status_when_it_changes() {
    use TradingStatus::{Closed, Halted, Trading};
    let mut rig = sound();
    let ticker = |state: &str| {
        let data =
            format!(r#"{{"state":"{state}","best_bid_price":1.0,"timestamp":5,"stats":{{}}}}"#);
        notification("ticker.BTC-PERPETUAL.raw", &data)
    };
    let state = |state: &str| {
        let data =
            format!(r#"{{"timestamp":5,"state":"{state}","instrument_name":"{}"}}"#, NAMES[0]);
        notification("instrument.state.any.any", &data)
    };
    let platform = |data: &str| notification("platform_state", data);
    let status = |status: TradingStatus| std::vec![EventKind::Status(status)];
    for (frame, told) in [
        (ticker("open"), status(Trading)),
        (ticker("open"), Vec::new()),
        (state("closed"), status(Closed)),
        (ticker("open"), status(Trading)),
        (platform(r#"{"price_index":"btc_usdc","locked":true}"#), Vec::new()),
        (platform(r#"{"maintenance":true}"#), [status(Halted), status(Halted)].concat()),
        (platform(r#"{"maintenance":false}"#), Vec::new()),
        (ticker("open"), status(Trading)),
    ] {
        assert_eq!(rig.take(Source::LINE_A, &frame), told, "{frame}");
    }
    assert_eq!(rig.feed.counted().maintenances, 1);
    // It comes before what the end of a silence does to the books.
    rig.wait(Nanos::from_secs(10));
    let told = rig.take(Source::LINE_A, &state("closed"));
    assert_eq!(told[..2], [EventKind::Status(Closed), BOOK(Soundness::Sound)]);
    assert!(told.len() <= rig.feed.events_max());
}

#[test]
fn a_ticker_tells_the_figures_that_have_changed() {
    let mut rig = sound();
    let ticker = |mark: &str, funding: &str| {
        let figures = format!(r#""mark_price":{mark},"current_funding":{funding}"#);
        let data = format!(r#"{{"state":"open",{figures},"index_price":9.5,"timestamp":5}}"#);
        notification("ticker.BTC-PERPETUAL.100ms", &data)
    };
    let mark = |price| EventKind::Statistic(Statistic::Mark(Price(price)));
    let index = EventKind::Statistic(Statistic::Index(Price(9_500_000_000)));
    let funding = |rate| EventKind::Statistic(Statistic::Funding(rate));
    let told = rig.take(Source::LINE_A, &ticker("10.25", "0.0"));
    let status = EventKind::Status(TradingStatus::Trading);
    assert_eq!(told, [status, mark(10_250_000_000), index, funding(0)]);
    assert_eq!(rig.take(Source::LINE_A, &ticker("10.25", "0.0")), []);
    assert_eq!(rig.take(Source::LINE_B, &ticker("10.26", "0.0")), [mark(10_260_000_000)]);
    assert_eq!(rig.take(Source::LINE_A, &ticker("10.26", "1e-9")), [funding(1)]);
    // Of an instrument that is not followed.
    let other = ticker("1.0", "0.0").replace("BTC-P", "ETH-P");
    assert_eq!(rig.take(Source::LINE_A, &other), []);
}

#[test]
fn the_ticker_of_an_option_tells_volatilities_and_greeks_that_have_changed() {
    let mut rig = sound();
    let ticker = |mark_iv: &str, delta: &str| {
        let greeks = format!(r#""greeks":{{"delta":{delta},"rho":0.0}}"#);
        let data = format!(r#"{{"mark_iv":{mark_iv},"bid_iv":0.0,{greeks},"timestamp":5}}"#);
        notification("ticker.BTC-25DEC26-100000-C.100ms", &data)
    };
    let told = |rig: &mut Rig, mark_iv, delta| -> Vec<Statistic> {
        let told = rig.take(Source::LINE_A, &ticker(mark_iv, delta));
        assert!(rig.told.iter().all(|event| event.instrument == OPTION));
        let figure = |kind| match kind {
            EventKind::Statistic(figure) => figure,
            other => panic!("{other:?}"),
        };
        told.into_iter().map(figure).collect()
    };
    let [mark, delta] = [Statistic::MarkVolatility(805_000_000), Statistic::Delta(-425_000_000)];
    let zeros = [Statistic::BidVolatility(0), delta, Statistic::Rho(0)];
    assert_eq!(told(&mut rig, "80.5", "-0.425"), [&[mark][..], &zeros].concat());
    assert_eq!(told(&mut rig, "80.50", "-0.42500"), []);
    assert_eq!(told(&mut rig, "80.5", "-0.42501"), [Statistic::Delta(-425_010_000)]);
    let more = Statistic::MarkVolatility(805_100_000);
    assert_eq!(told(&mut rig, "80.51", "-0.42501"), [more]);
}

#[test]
fn what_is_malformed_or_unknown_is_counted_and_changes_nothing() {
    let mut rig = sound();
    let hash = rig.feed.book(PERPETUAL).unwrap().state_hash();
    let off_lot = book(NAMES[0], Some(10), 11, r#"["new",10.5,15.0]"#, "");
    for frame in ["", "{", &off_lot, &notification("book.BTC-PERPETUAL.raw", "[]")] {
        assert_eq!(rig.take(Source::LINE_A, frame), []);
    }
    let strange = [notification("weather.BTC", "{}"), String::from("{\"method\":\"sing\"}")];
    for frame in strange {
        assert_eq!(rig.take(Source::LINE_A, &frame), []);
    }
    assert_eq!((rig.feed.counters().malformed, rig.feed.counted().unknown), (4, 2));
    assert_eq!(rig.feed.book(PERPETUAL).unwrap().state_hash(), hash);
    // The change that was not read is missed by the one behind it.
    assert_eq!(rig.book(Some(11), 12, "", "")[0], BOOK(GAP));
}

#[test]
fn instruments_that_cannot_be_counted_or_numbered_are_refused() {
    let [mut first, second] = instruments();
    let refused = |first| DeribitFeed::new(&ChainConfig::new(&[first, second]), T0).err();
    assert_eq!(refused(first), None);
    first.instrument = first.instrument.with_id(InstrumentId(1 << 20));
    assert_eq!(refused(first), Some(InstrumentError::OutOfRange));
    let lot = Qty { mantissa: 1, decimals: 19 };
    let (symbol, tick) = (first.instrument.symbol(), first.instrument.tick());
    first.instrument = Instrument::new(PERPETUAL, symbol, tick, lot).unwrap();
    assert_eq!(refused(first), Some(InstrumentError::BadIncrement));
    let none = DeribitFeed::new(&ChainConfig::new(&[]), T0).unwrap();
    assert!(none.is_whole() && none.is_settled());
}
