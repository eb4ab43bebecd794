//! A stream, its snapshots, and what becomes of the book.

use std::format;
use std::string::String;
use std::vec::Vec;

use taut_types::{Lots, Price, Qty, Side, Symbol};

use super::*;

const T0: Nanos = Nanos::from_secs(100);
const ID: InstrumentId = InstrumentId(7);
const BOOK: fn(Soundness) -> EventKind = EventKind::Book;
const GAP: Soundness = Soundness::Stale(Staleness::Gap);
const SILENT: Soundness = Soundness::Stale(Staleness::Silent);

fn instrument(lot: i64) -> Instrument {
    let lot = Qty { mantissa: lot, decimals: 3 };
    let symbol = Symbol::new(b"BTCUSDT").unwrap();
    Instrument::new(ID, symbol, Price(10_000_000), lot).unwrap()
}

struct Rig {
    feed: BinanceFeed,
    now: Nanos,
    told: Vec<Event>,
}

impl Rig {
    fn new() -> Self {
        let config = BinanceConfig {
            level_capacity: 4,
            updates_kept_max: 4,
            ..BinanceConfig::new(instrument(1))
        };
        Self { feed: BinanceFeed::new(&config, T0).unwrap(), now: T0, told: Vec::new() }
    }

    /// As whoever drives a handler does it; what was told.
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
        assert!(self.told.iter().all(|event| event.instrument == ID && event.receive_time == now));
        self.told.iter().map(|event| event.kind).collect()
    }

    fn update(&mut self, first: u64, last: u64, bids: &str, asks: &str) -> Vec<EventKind> {
        self.take(Source::LINE_A, &depth("BTCUSDT", first, last, bids, asks))
    }

    fn snapshot(&mut self, id: u64) -> Vec<EventKind> {
        let levels = r#""bids":[["10.00","1.5"]],"asks":[["11.00","2"]]"#;
        self.take(Source::SNAPSHOT, &format!(r#"{{"lastUpdateId":{id},{levels}}}"#))
    }

    fn asks_for_snapshot(&mut self) -> bool {
        let request = self.feed.poll_request();
        assert!(request.is_none_or(|request| request == FeedRequest::Snapshot(ID)));
        request.is_some()
    }
}

fn combined(data: &str) -> String {
    format!(r#"{{"stream":"btcusdt@depth@100ms","data":{data}}}"#)
}

#[test]
fn a_rehearsal_goes_the_way_of_an_update_and_changes_nothing() {
    let (mut rig, mut other) = (sound(), sound());
    let bids = r#"["10.25","4"],["9.00","0"]"#;
    let asks = r#"["11.00","0"],["12.00","1"],["13.00","1"]"#;
    let frame = combined(&depth("BTCUSDT", 13, 14, bids, asks));
    let state = |feed: &BinanceFeed| {
        let (counters, best) = (feed.counters(), feed.best(ID));
        format!("{:?} {counters:?} {best:?} {:?}", feed.depth(), feed.poll_timeout())
    };
    for round in 0..3 {
        let before = state(&rig.feed);
        let mut levels = 0;
        let mut sink = |_: &Context<'_>, event: &Event| {
            levels += usize::from(matches!(event.kind, EventKind::Level(_)));
        };
        assert!(rig.feed.set_rehearsing(true));
        let read = rig.feed.decode(rig.now, Source::LINE_A, frame.as_bytes()).unwrap();
        rig.feed.apply(read, &mut sink);
        assert!(!rig.feed.set_rehearsing(false));
        assert!(levels >= 3, "{levels} in round {round}");
        assert_eq!(state(&rig.feed), before, "round {round}");
        let next = |first| combined(&depth("BTCUSDT", first, first + 1, bids, asks));
        let next = next(13 + 2 * round);
        assert_eq!(rig.take(Source::LINE_A, &next), other.take(Source::LINE_A, &next));
        assert_eq!(state(&rig.feed), state(&other.feed));
    }
    // A book that is not sound rehearses nothing.
    rig.update(50, 51, "", "");
    assert!(!rig.feed.set_rehearsing(true));
}

fn depth(symbol: &str, first: u64, last: u64, bids: &str, asks: &str) -> String {
    let head = r#""e":"depthUpdate","E":1723161256298"#;
    let levels = format!(r#""b":[{bids}],"a":[{asks}]"#);
    format!(r#"{{{head},"s":"{symbol}","U":{first},"u":{last},{levels}}}"#)
}

#[test]
fn numbers_that_begin_again_make_the_book_stale_until_a_snapshot() {
    let mut rig = sound();
    let later = |frame: &str, ms: u32| frame.replace("256298", &format!("{}", 256_298 + ms));
    let update = |first, last, ms| later(&depth("BTCUSDT", first, last, "", ""), ms);
    assert_eq!(rig.take(Source::LINE_A, &update(13, 20, 100)), []);
    // A copy, and one that was overtaken, are older than what the book has.
    for (first, last, ms) in [(13, 20, 100), (13, 14, 50), (13, 14, 100)] {
        assert_eq!(rig.take(Source::LINE_A, &update(first, last, ms)), []);
    }
    assert_eq!((rig.feed.restarts(), rig.feed.soundness(ID)), (0, Soundness::Sound));
    let told = rig.take(Source::LINE_A, &update(1, 2, 200));
    assert_eq!(told[0], BOOK(GAP));
    assert_eq!(rig.feed.restarts(), 1);
    // A request a second.
    rig.now = rig.now + Nanos::from_secs(1);
    assert_eq!(rig.take(Source::LINE_A, &update(3, 3, 300)), []);
    assert!(rig.asks_for_snapshot());
    assert_eq!(rig.snapshot(1)[0], BOOK(Soundness::Sound));
    assert_eq!(rig.feed.depth().last_id(), Some(3));
    assert_eq!(rig.take(Source::LINE_A, &update(4, 4, 400)), []);
    assert_eq!((rig.feed.restarts(), rig.feed.soundness(ID)), (1, Soundness::Sound));
}

fn quote(price: i64, lots: i64) -> Option<(Price, Lots)> {
    Some((Price(price * Price::SCALE / 100), Lots(lots)))
}

/// A rig whose book is sound, as of update 12.
fn sound() -> Rig {
    let mut rig = Rig::new();
    assert_eq!(rig.update(11, 12, r#"["10.50","1"]"#, ""), []);
    assert!(rig.asks_for_snapshot() && !rig.asks_for_snapshot());
    let top = BestPrices { bid: quote(1_050, 1_000), ask: quote(1_100, 2_000) };
    assert_eq!(rig.snapshot(10), [BOOK(Soundness::Sound), EventKind::Top(top)]);
    assert_eq!((rig.feed.soundness(ID), rig.feed.best(ID)), (Soundness::Sound, top));
    rig
}

#[test]
fn a_snapshot_is_asked_for_when_updates_come_and_joins_them() {
    let mut rig = sound();
    assert_eq!(rig.feed.book(ID).unwrap().level_count(Side::Buy), 2);
    assert!(rig.feed.book(InstrumentId(8)).is_none());
    assert!(!rig.asks_for_snapshot());
}

#[test]
fn an_update_tells_its_levels_where_they_stand_and_then_the_top() {
    let mut rig = sound();
    let told = rig.update(13, 14, r#"["10.00","3"],["10.25","4"]"#, r#"["11.00","0"]"#);
    let level = |side, (price, lots): (Price, Lots), depth| {
        let place = crate::event::LevelPlace::Behind(depth);
        EventKind::Level(LevelUpdate { side, price, lots, order_count: 0, place })
    };
    assert_eq!(
        told,
        [
            level(Side::Buy, quote(1_000, 3_000).unwrap(), 1),
            level(Side::Buy, quote(1_025, 4_000).unwrap(), 1),
            level(Side::Sell, quote(1_100, 0).unwrap(), 0),
            EventKind::Top(BestPrices { bid: quote(1_050, 1_000), ask: None }),
        ]
    );
    assert_eq!(rig.told[0].exchange_time, Nanos::from_millis(1_723_161_256_298));
    // A level that is not there is no change, and neither is the top.
    assert_eq!(rig.update(15, 15, r#"["9.00","0"]"#, ""), []);
    // A second line says the same again, and nothing is told twice.
    let again = depth("BTCUSDT", 13, 14, r#"["10.00","9"]"#, "");
    assert_eq!(rig.take(Source::LINE_B, &again), []);
    let [a, b] = rig.feed.counters().lines;
    assert_eq!((a.packets, a.first, b.packets, b.first), (3, 2, 1, 0));
}

#[test]
fn trades_are_told_and_other_symbols_are_not() {
    let mut rig = sound();
    let trade = |symbol: &str| {
        let body = r#""t":5,"p":"10.5","q":"0.25","T":1,"m":true"#;
        format!(r#"{{"e":"trade","E":1,"s":"{symbol}",{body}}}"#)
    };
    let told = rig.take(Source::LINE_A, &trade("BTCUSDT"));
    let [EventKind::Trade(trade_told)] = told[..] else { panic!("{told:?}") };
    assert_eq!((trade_told.lots, trade_told.aggressor), (Lots(250), Some(Side::Sell)));
    assert_eq!(rig.take(Source::LINE_A, &trade("ETHUSDT")), []);
    assert_eq!(rig.take(Source::LINE_A, &depth("ETHUSDT", 13, 14, r#"["99.0","1"]"#, "")), []);
    assert_eq!(rig.feed.book(ID).unwrap().level_count(Side::Buy), 2);
}

fn ticker(number: u64, bid: &str, ask: &str) -> String {
    let best = format!(r#""b":"{bid}","B":"1.5","a":"{ask}","A":"2""#);
    format!(r#"{{"stream":"btcusdt@bookTicker","data":{{"u":{number},"s":"BTCUSDT",{best}}}}}"#)
}

#[test]
fn a_stream_of_tops_runs_ahead_of_the_book_and_no_top_is_told_behind_a_newer_one() {
    let mut rig = sound();
    let top =
        |bid, ask| EventKind::Top(BestPrices { bid: quote(bid, 1_500), ask: quote(ask, 2_000) });
    // As new as the book, and older; one that crosses.
    for (number, bid) in [(12, "10.40"), (11, "10.40"), (20, "11.00")] {
        assert_eq!(rig.take(Source::LINE_A, &ticker(number, bid, "11.00")), []);
    }
    assert_eq!(rig.take(Source::LINE_A, &ticker(20, "10.60", "11.00")), [top(1_060, 1_100)]);
    assert_eq!(rig.feed.best(ID).bid, quote(1_060, 1_500));
    assert_eq!(
        rig.feed.book(ID).unwrap().best(Side::Buy).map(|it| it.price),
        Some(Price(10_500_000_000))
    );
    // The same again, and one that another line brings late.
    for (number, bid) in [(21, "10.60"), (20, "10.30")] {
        assert_eq!(rig.take(Source::LINE_A, &ticker(number, bid, "11.00")), []);
    }
    // The book is behind: its levels are told, its top is not.
    let told = rig.update(13, 16, r#"["10.55","1"]"#, "");
    assert!(matches!(told[..], [EventKind::Level(_)]), "{told:?}");
    // It has come that far, and further.
    let told = rig.update(17, 21, r#"["10.60","1.5"]"#, "");
    assert!(matches!(told[..], [EventKind::Level(_)]), "the top is known: {told:?}");
    let told = rig.update(22, 23, r#"["10.60","0"]"#, "");
    let behind = BestPrices { bid: quote(1_055, 1_000), ask: quote(1_100, 2_000) };
    assert!(matches!(told[..], [EventKind::Level(_), EventKind::Top(top)] if top == behind));
    assert_eq!(rig.take(Source::LINE_A, &ticker(22, "10.60", "11.00")), []);
    assert!(!rig.asks_for_snapshot() && rig.feed.counters().malformed == 0);
}

#[test]
fn a_top_of_a_stream_is_not_told_while_the_book_is_stale_and_asks_for_no_snapshot() {
    let mut rig = Rig::new();
    assert_eq!(rig.take(Source::LINE_A, &ticker(20, "10.60", "11.00")), []);
    assert!(!rig.asks_for_snapshot());
    let mut rig = sound();
    rig.take(Source::LINE_A, &ticker(30, "10.60", "11.00"));
    rig.update(15, 16, "", "");
    assert_eq!(rig.feed.soundness(ID), GAP);
    let was = rig.feed.best(ID);
    assert_eq!(rig.take(Source::LINE_A, &ticker(31, "10.70", "11.00")), []);
    assert_eq!(rig.feed.best(ID), was);
    // What was told before says nothing of the tops behind the next snapshot.
    rig.now = rig.now + Nanos::from_secs(1);
    rig.update(17, 18, "", "");
    assert!(rig.asks_for_snapshot());
    assert_eq!(rig.snapshot(17)[0], BOOK(Soundness::Sound));
    assert_eq!(rig.take(Source::LINE_A, &ticker(19, "10.60", "11.00")).len(), 1);
}

#[test]
fn partial_depth_is_told_as_best_levels_and_the_book_takes_none_of_it() {
    let mut rig = sound();
    let partial = |number: u64| {
        let levels = r#""bids":[["10.70","1"],["10.50","3"]],"asks":[["10.90","4"]]"#;
        let data = format!(r#"{{"lastUpdateId":{number},{levels}}}"#);
        format!(r#"{{"stream":"btcusdt@depth5@100ms","data":{data}}}"#)
    };
    let told = rig.take(Source::LINE_A, &partial(14));
    let level = |side, price: i64, lots| {
        let (price, lots) = (Price(price * Price::SCALE / 100), Lots(lots));
        let place = crate::event::LevelPlace::ByPrice;
        EventKind::Level(LevelUpdate { side, price, lots, order_count: 0, place })
    };
    let expected = [
        EventKind::Begin(Batch::BestLevels),
        level(Side::Buy, 1_070, 1_000),
        level(Side::Buy, 1_050, 3_000),
        level(Side::Sell, 1_090, 4_000),
        EventKind::End { is_final: true },
    ];
    assert_eq!(told, expected);
    let book = rig.feed.book(ID).unwrap();
    assert_eq!(book.level_at(Side::Buy, Price(10_700_000_000)), None);
    assert_eq!(
        (rig.feed.depth().last_id(), rig.feed.best(ID).bid),
        (Some(12), quote(1_050, 1_000))
    );
    // Twice, and one that is older than the book.
    assert_eq!(rig.take(Source::LINE_A, &partial(14)), []);
    rig.update(13, 20, "", "");
    assert_eq!(rig.take(Source::LINE_A, &partial(19)), []);
    assert_eq!(rig.take(Source::LINE_A, &partial(20)).len(), 5);
    assert_eq!(rig.feed.counters().malformed, 0);
}

#[test]
fn figures_of_a_future_are_told_and_move_no_book() {
    use crate::event::Statistic::{Funding, Index, Mark};
    let mut rig = sound();
    let figures = |index: &str, rate: &str| {
        let (head, next) = (r#""e":"markPriceUpdate","E":1723161256298"#, 1_723_190_400_000_u64);
        let (symbol, mark) = (r#""s":"BTCUSDT""#, r#""p":"10.12345678","ap":"10","P":"11""#);
        format!(r#"{{{head},{symbol},{mark},"i":"{index}","r":"{rate}","T":{next}}}"#)
    };
    let mark = EventKind::Statistic(Mark(Price(10_123_456_780)));
    for (index, rate, more) in [
        ("10.5", "-0.00010000", &[Index(Price(10_500_000_000)), Funding(-100_000)][..]),
        ("10.5", "", &[Index(Price(10_500_000_000))]),
        ("", "", &[]),
    ] {
        let told = rig.take(Source::FIGURES, &figures(index, rate));
        let more = more.iter().map(|figure| EventKind::Statistic(*figure));
        assert!(told.into_iter().eq([mark].into_iter().chain(more)), "{index} {rate}");
        assert!(rig.told.iter().all(|it| it.exchange_time == Nanos(1_723_161_256_298_000_000)));
    }
    // Nobody waits for the connection that brings them.
    let (heard, lines) = (rig.feed.poll_timeout(), rig.feed.counters().lines);
    rig.feed.handle_disconnect(rig.now, Source::FIGURES);
    assert_eq!(rig.take(Source::FIGURES, &figures("x", "")), []);
    assert_eq!((rig.feed.poll_timeout(), rig.feed.counters().lines), (heard, lines));
    assert_eq!((rig.feed.soundness(ID), rig.feed.counters().malformed), (Soundness::Sound, 1));
    assert!(!rig.asks_for_snapshot());
}

#[test]
fn a_gap_makes_the_book_stale_until_a_newer_snapshot_and_asks_no_more_than_it_may() {
    let mut rig = sound();
    let told = rig.update(15, 16, r#"["10.60","1"]"#, "");
    assert_eq!(told.last(), Some(&EventKind::Top(rig.feed.best(ID))));
    assert!(told.contains(&BOOK(GAP)));
    assert_eq!(rig.feed.soundness(ID), GAP);
    // It has been less than a second since the last request.
    assert!(!rig.asks_for_snapshot());
    assert_eq!(rig.update(17, 17, "", r#"["11.5","1"]"#), []);
    rig.now = rig.now + Nanos::from_secs(1);
    rig.update(18, 18, "", "");
    assert!(rig.asks_for_snapshot());
    // One from before the gap does not help; one from behind it does.
    rig.snapshot(13);
    assert_eq!(rig.feed.soundness(ID), GAP);
    rig.update(19, 19, "", "");
    assert_eq!(rig.snapshot(17).first(), Some(&BOOK(Soundness::Sound)));
    assert!(rig.feed.counters().gaps >= 1 && rig.feed.lost(SequenceNumber(19)) == 0);
}

#[test]
fn silence_and_a_broken_connection_make_the_book_stale() {
    for breaks in [false, true] {
        let mut rig = sound();
        let due = rig.feed.poll_timeout().unwrap();
        let mut told = Vec::new();
        let mut sink = |_: &Context<'_>, event: &Event| told.push(event.kind);
        if breaks {
            rig.feed.handle_disconnect(rig.now, Source::LINE_A);
        } else {
            rig.feed.handle_timeout(Nanos(due.0 - 1));
            assert!(rig.feed.is_settled());
            rig.feed.handle_timeout(due);
        }
        rig.feed.recover(due, &mut sink);
        assert_eq!(told.first(), Some(&BOOK(SILENT)));
        assert_eq!(rig.feed.poll_timeout(), None);
        assert_eq!(rig.feed.counters().silences, u64::from(!breaks));
        // The stream is there again: its updates are kept, and a snapshot joins them.
        assert_eq!(rig.update(20, 21, "", ""), []);
        assert!(rig.asks_for_snapshot());
        assert_eq!(rig.snapshot(20).first(), Some(&BOOK(Soundness::Sound)));
    }
}

#[test]
fn a_line_that_ends_leaves_the_book_sound_while_another_one_brings_its_updates() {
    let mut rig = sound();
    let (now, next) = (rig.now, depth("BTCUSDT", 13, 13, r#"["10.40","1"]"#, ""));
    rig.feed.handle_disconnect(now, Source::SNAPSHOT);
    assert!(rig.feed.is_settled(), "who answers is no line");
    rig.take(Source::LINE_B, &next);
    rig.feed.handle_disconnect(now, Source::LINE_A);
    assert_eq!(rig.feed.soundness(ID), Soundness::Sound);
    rig.take(Source::LINE_B, &depth("BTCUSDT", 14, 14, r#"["10.30","1"]"#, ""));
    rig.feed.recover(now, &mut |_: &Context<'_>, _: &Event| {});
    assert_eq!((rig.feed.soundness(ID), rig.feed.counters().gaps), (Soundness::Sound, 0));
    rig.feed.handle_disconnect(now, Source::LINE_B);
    rig.feed.recover(now, &mut |_: &Context<'_>, _: &Event| {});
    assert_eq!(rig.feed.soundness(ID), SILENT, "it was the last one");
}

#[test]
fn the_interval_of_requests_begins_when_one_leaves() {
    let mut rig = Rig::new();
    rig.update(1, 2, "", "");
    // It had to wait for its turn.
    rig.now = rig.now + Nanos::from_secs(3);
    assert!(rig.asks_for_snapshot());
    rig.update(3, 3, "", "");
    assert!(!rig.asks_for_snapshot(), "its answer is on the way");
    rig.now = rig.now + Nanos::from_secs(1);
    rig.update(4, 4, "", "");
    assert!(rig.asks_for_snapshot());
}

#[test]
fn a_book_that_crosses_is_stale_until_a_snapshot_that_does_not() {
    let mut rig = sound();
    rig.now = rig.now + Nanos::from_secs(1);
    let told = rig.update(13, 13, r#"["11.00","1"]"#, "");
    assert!(told.contains(&BOOK(Soundness::Stale(Staleness::Gap))), "{told:?}");
    assert!(rig.feed.crossed() == 1 && rig.asks_for_snapshot());
    let crossed = r#"{"lastUpdateId":13,"bids":[["11","1"]],"asks":[["11","2"]]}"#;
    assert_eq!(rig.take(Source::SNAPSHOT, crossed), []);
    assert_eq!((rig.feed.soundness(ID), rig.feed.crossed()), (Soundness::Stale(Staleness::Gap), 2));
    assert_eq!(rig.update(14, 14, "", ""), []);
    assert_eq!(rig.snapshot(14)[0], BOOK(Soundness::Sound));
}

#[test]
fn a_book_with_more_levels_than_there_is_room_for_says_so() {
    let mut rig = sound();
    let told = rig.update(13, 13, r#"["9","1"],["8","1"],["7","1"]"#, "");
    assert!(told.contains(&BOOK(Soundness::Stale(Staleness::BookFull))), "{told:?}");
}

#[test]
fn a_best_price_behind_the_snapshot_is_told_as_unknown_and_a_new_snapshot_is_asked_for() {
    let config = BinanceConfig { level_capacity: 16, ..BinanceConfig::new(instrument(1)) };
    let mut rig = Rig::new();
    rig.feed = BinanceFeed::new(&config, T0).unwrap();
    rig.update(11, 11, "", "");
    assert!(rig.asks_for_snapshot());
    let bids = r#"["10","1"],["9","1"],["8","1"],["7","1"],["6","1"]"#;
    let snapshot = |id: u64, bids: &str| {
        format!(r#"{{"lastUpdateId":{id},"bids":[{bids}],"asks":[["11","2"]]}}"#)
    };
    rig.take(Source::SNAPSHOT, &snapshot(11, bids));
    assert_eq!(rig.feed.soundness(ID), Soundness::Sound);
    rig.now = rig.now + Nanos::from_secs(1);
    let told = rig.update(12, 12, &format!(r#"{},["5","3"]"#, bids.replace("\"1\"", "\"0\"")), "");
    let unknown = Soundness::Stale(Staleness::BeyondSnapshot);
    let top = EventKind::Top(BestPrices { bid: None, ask: quote(1_100, 2_000) });
    assert_eq!(told[told.len() - 2..], [BOOK(unknown), top]);
    assert_eq!(rig.feed.soundness(ID), unknown);
    assert!(rig.asks_for_snapshot() && rig.feed.counters().gaps == 0);
    assert_eq!(rig.update(13, 13, r#"["4","1"]"#, ""), []);
    let told = rig.take(Source::SNAPSHOT, &snapshot(12, r#"["5.5","1"],["5","3"]"#));
    let top = BestPrices { bid: quote(550, 1_000), ask: quote(1_100, 2_000) };
    assert_eq!(told, [BOOK(Soundness::Sound), EventKind::Top(top)]);
    assert_eq!(rig.feed.book(ID).unwrap().level_count(Side::Buy), 3);
}

#[test]
fn what_is_malformed_is_counted_and_changes_nothing() {
    let mut rig = sound();
    let hash = rig.feed.book(ID).unwrap().state_hash();
    // The last one is a page for people.
    let wrong = r#"{"e":"depthUpdate","s":"BTCUSDT","U":14,"u":13,"b":[],"a":[]}"#;
    for frame in ["", "{", wrong, "<html>\r\n<body>502 Bad Gateway</body>\r\n</html>\r\n"] {
        assert_eq!(rig.take(Source::LINE_A, frame), []);
    }
    assert_eq!(rig.feed.counters().malformed, 4);
    assert_eq!(rig.feed.book(ID).unwrap().state_hash(), hash);
}

#[test]
fn an_instrument_whose_lot_is_no_power_of_ten_is_refused() {
    let config = BinanceConfig::new(instrument(5));
    assert_eq!(BinanceFeed::new(&config, T0).err(), Some(InstrumentError::BadIncrement));
}
