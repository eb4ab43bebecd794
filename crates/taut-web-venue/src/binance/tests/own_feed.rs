//! taut's own handler of the venue's streams keeps the engine's book here, too.

use taut_engine::{Command, Engine, NewOrder};
use taut_market_data::binance::{BinanceConfig, BinanceFeed, BinanceFeeds, Encoding};
use taut_market_data::{Context, Event, FeedHandler, FeedRequest, Soundness, Source, Staleness};
use taut_types::{
    HalfTicks, Instrument, InstrumentId, Lots, Nanos, OrderId, Price, Qty, Side, Symbol,
};

use super::rig::{FUTURES, Rig, SYMBOL, handshake, settings, with_futures};
use crate::binance::Binance;
use crate::faults::{Faults, Faulty};
use crate::front::{Front, HttpRequest};

const ID: InstrumentId = InstrumentId(7);

fn config(encoding: Encoding) -> BinanceConfig {
    let symbol = Symbol::new(SYMBOL.as_bytes()).expect("a symbol");
    let (tick, lot) = (Price::parse(b"0.01").expect("a tick"), Qty { mantissa: 1, decimals: 5 });
    let instrument = Instrument::new(ID, symbol, tick, lot).expect("an instrument");
    BinanceConfig {
        encoding,
        level_capacity: 256,
        snapshot_limit: Some(5_000),
        ..BinanceConfig::new(instrument)
    }
}

fn feed(now: Nanos, encoding: Encoding) -> BinanceFeed {
    BinanceFeed::new(&config(encoding), now).expect("a handler")
}

fn take(now: Nanos, feed: &mut BinanceFeed, source: Source, frame: &[u8]) {
    let mut sink = |_: &Context<'_>, _: &Event| {};
    if let Some(frame) = feed.decode(now, source, frame) {
        feed.apply(frame, &mut sink);
    }
    if !feed.is_settled() {
        feed.recover(now, &mut sink);
    }
}

/// What came on a connection in this encoding.
fn frames<F: Front>(rig: &mut crate::rig::Rig<F>, encoding: Encoding) -> Vec<Vec<u8>> {
    let texts = rig.texts.remove(&1).unwrap_or_default();
    let messages = rig.messages.remove(&1).unwrap_or_default();
    let (frames, others) = match encoding {
        Encoding::Json => (texts.into_iter().map(String::into_bytes).collect(), messages.len()),
        Encoding::Sbe => (messages, texts.len()),
    };
    assert_eq!(others, 0, "of the other encoding");
    frames
}

fn assert_equal(feed: &BinanceFeed, engine: &Engine) {
    let book = feed.book(ID).expect("its book");
    for side in [Side::Buy, Side::Sell] {
        let truth: Vec<_> = engine.book().levels(side).collect();
        let own: Vec<_> = book.iter(side).collect();
        let prices: Vec<i64> = truth.iter().map(|it| it.price.0 / 2 * 10_000_000).collect();
        assert_eq!(own.iter().map(|it| it.price.0).collect::<Vec<_>>(), prices);
        assert!(own.iter().map(|it| it.lots).eq(truth.iter().map(|it| it.lots)));
    }
}

#[test]
fn tauts_own_handler_keeps_the_engines_book() {
    let streams = "btcusdt@depth@100ms/btcusdt@bookTicker/btcusdt@trade";
    keeps_the_engines_book(Encoding::Json, &format!("/stream?streams={streams}"));
}

#[test]
fn in_sbe_tauts_own_handler_keeps_the_engines_book() {
    let streams = "btcusdt@depth/btcusdt@bestBidAsk/btcusdt@trade/btcusdt@depth20";
    keeps_the_engines_book(Encoding::Sbe, &format!("/sbe/stream?streams={streams}"));
}

fn keeps_the_engines_book(encoding: Encoding, target: &str) {
    let mut rig = Rig::new();
    let mut feed = feed(rig.now.mono, encoding);
    rig.limit("one", "BUY", "0.001", "59990.00");
    assert_eq!(rig.open_as(1, ("", target), "ed"), Ok(()));
    let (mut random, mut compared, mut snapshots): (u64, usize, usize) = (3, 0, 0);
    for _ in 0..300 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (dice, key) = ((random >> 33) as i64, ["one", "two"][(random >> 63) as usize]);
        let side = if dice % 3 == 0 { "SELL" } else { "BUY" };
        let order = format!(
            "symbol={SYMBOL}&side={side}&type=LIMIT&timeInForce=GTC&quantity=0.{:05}\
             &price=59999.{:02}",
            100 * (1 + dice % 7),
            dice % 9
        );
        match dice % 5 {
            0 => {
                let symbol = format!("symbol={SYMBOL}");
                rig.signed("DELETE", "/api/v3/openOrders", &symbol, key);
            }
            _ => _ = rig.signed("POST", "/api/v3/order", &order, key),
        }
        rig.pass(150);
        for frame in frames(&mut rig, encoding) {
            take(rig.now.mono, &mut feed, Source::LINE_A, &frame);
        }
        feed.handle_timeout(rig.now.mono);
        if let Some(request) = feed.poll_request() {
            assert_eq!(request, FeedRequest::Snapshot(ID));
            let target = format!("/api/v3/depth?symbol={SYMBOL}&limit=5000");
            let snapshot = rig.rest("GET", &target, "").body.to_string();
            take(rig.now.mono, &mut feed, Source::SNAPSHOT, snapshot.as_bytes());
            snapshots += 1;
        }
        // What has changed since the last folded event is told with the next one.
        if !feed.is_whole() {
            continue;
        }
        assert_equal(&feed, &rig.engines[0]);
        compared += 1;
    }
    assert!(compared > 250, "{compared}");
    assert_eq!(snapshots, 1, "the chain never broke");
    assert_eq!(feed.counters().malformed, 0);
}

/// Two symbols on a connection; of the first one the stream is lost.
#[test]
fn a_stream_that_falls_silent_alone_is_asked_for_anew_where_that_is_looked_for() {
    const NAMES: [&str; 2] = [SYMBOL, "ETHUSDT"];
    for channel_silence in [None, Some(Nanos::from_secs(3))] {
        let front = Faulty::new(Binance::new(&settings()).expect("settings"), Faults::default());
        let mut rig = crate::rig::Rig::of(front, NAMES.len());
        let configs = [(0, NAMES[0]), (1, NAMES[1])].map(|(id, name)| {
            let BinanceConfig { instrument, .. } = config(Encoding::Json);
            let instrument = instrument.with_id(InstrumentId(id));
            (name, BinanceConfig { instrument, channel_silence, ..config(Encoding::Json) })
        });
        let mut feed = BinanceFeeds::new(&configs, rig.now.mono).expect("handlers");
        let streams = "/stream?streams=btcusdt@depth@100ms/ethusdt@depth@100ms";
        assert_eq!(rig.front.open(rig.now, 1, &handshake("", streams, "")), Ok(()));
        let take = |now: Nanos, feed: &mut BinanceFeeds, source, frame: &[u8]| {
            let mut sink = |_: &Context<'_>, _: &Event| {};
            if let Some(frame) = feed.decode(now, source, frame) {
                feed.apply(frame, &mut sink);
            }
            feed.recover(now, &mut sink);
        };
        // Time passes in which the second symbol moves, and the first one, too, or not; how often
        // its stream was asked for.
        let pass = |rig: &mut crate::rig::Rig<Faulty<Binance>>,
                    feed: &mut BinanceFeeds,
                    both: bool| {
            let mut asked = 0;
            for _ in 0..40 {
                for place in 0..2 {
                    if place == 0 && !both {
                        continue;
                    }
                    rig.next_id += 1;
                    let price = HalfTicks(2 * (299_900 + (rig.next_id % 20).cast_signed()));
                    let id = OrderId(rig.next_id);
                    let order = NewOrder::limit(id, 1, Side::Buy, price, Lots(1));
                    let mut events = Vec::new();
                    rig.engines[place]
                        .execute(Command::New(order), &mut |event| events.push(event));
                    rig.front.on_events(rig.now, place, &events);
                }
                rig.pass(100);
                for text in rig.texts.remove(&1).unwrap_or_default() {
                    if text.starts_with("{\"stream\"") {
                        take(rig.now.mono, feed, Source::LINE_A, text.as_bytes());
                    }
                }
                feed.handle_timeout(rig.now.mono);
                feed.recover(rig.now.mono, &mut |_: &Context<'_>, _: &Event| {});
                while let Some(request) = feed.poll_request() {
                    match request {
                        FeedRequest::Channel(InstrumentId(0)) => {
                            let silent = Soundness::Stale(Staleness::Silent);
                            assert_eq!(feed.soundness(InstrumentId(0)), silent);
                            for method in ["UNSUBSCRIBE", "SUBSCRIBE"] {
                                let params = r#"["btcusdt@depth@100ms"]"#;
                                let text = format!(
                                    "{{\"method\":\"{method}\",\"params\":{params},\"id\":1}}"
                                );
                                rig.front.text(rig.now, 1, &text);
                            }
                            asked += 1;
                        }
                        FeedRequest::Snapshot(InstrumentId(id)) => {
                            let query = format!("symbol={}&limit=5000", NAMES[id as usize]);
                            let (method, path) = ("GET".to_owned(), "/api/v3/depth".to_owned());
                            let request =
                                HttpRequest { method, path, query, ..HttpRequest::default() };
                            rig.front.request(rig.now, 2, request);
                            rig.pump();
                            let book = rig.answers.pop().expect("an answer").body;
                            let text = format!("{{\"id\":{id},\"status\":200,\"result\":{book}}}");
                            take(rig.now.mono, feed, Source::SNAPSHOT, text.as_bytes());
                        }
                        other => panic!("{other:?}"),
                    }
                }
            }
            asked
        };
        let is_the_engines = |rig: &crate::rig::Rig<Faulty<Binance>>, feed: &BinanceFeeds| {
            let book = feed.book(InstrumentId(0)).expect("its book");
            let levels = book.iter(Side::Buy).map(|it| it.lots);
            levels.eq(rig.engines[0].book().levels(Side::Buy).map(|it| it.lots))
        };
        assert_eq!(pass(&mut rig, &mut feed, true), 0);
        assert!(feed.is_whole() && is_the_engines(&rig, &feed));
        rig.front.set_faults(Faults { mute: 1_000, ..Faults::default() });
        let mut events = Vec::new();
        let order = NewOrder::limit(OrderId(9_999), 1, Side::Buy, HalfTicks(599_000), Lots(1));
        rig.engines[0].execute(Command::New(order), &mut |event| events.push(event));
        rig.front.on_events(rig.now, 0, &events);
        rig.pass(100);
        rig.front.set_faults(Faults::default());
        assert_eq!(rig.front.injected, 1);
        let is_looked_for = channel_silence.is_some();
        assert_eq!(pass(&mut rig, &mut feed, true), usize::from(is_looked_for));
        assert_eq!(is_the_engines(&rig, &feed), is_looked_for);
        assert_eq!(feed.counters().channels_silent, u64::from(is_looked_for));
        // A market that is quiet looks the same, and its book is sound again without a change.
        assert_eq!(pass(&mut rig, &mut feed, false), usize::from(is_looked_for));
        assert_eq!(feed.soundness(InstrumentId(0)), Soundness::Sound);
        assert_eq!(is_the_engines(&rig, &feed), is_looked_for);
        assert_eq!((feed.counters().silences, feed.counters().malformed), (0, 0));
    }
}

/// A crowd's next order: its ids are used again, so that some of the old ones go.
fn crowd(dice: i64) -> Vec<Command> {
    let id = OrderId(1 + (dice % 24) as u64);
    let side = if dice % 2 == 0 { Side::Buy } else { Side::Sell };
    let price = HalfTicks(2 * (5_999_900 + dice / 64 % 20));
    let order = NewOrder::limit(id, 1, side, price, Lots(1 + dice % 9));
    vec![Command::Cancel { order_id: id }, Command::New(order)]
}

#[test]
fn under_faults_it_notices_what_is_missing_and_comes_back() {
    comes_back(Encoding::Json, "/ws/btcusdt@depth@100ms", SPOT);
}

#[test]
fn in_sbe_under_faults_it_notices_what_is_missing_and_comes_back() {
    comes_back(Encoding::Sbe, "/sbe/ws/btcusdt@depth", SPOT);
}

#[test]
fn of_futures_under_faults_it_notices_what_is_missing_and_comes_back() {
    let snapshot = ("/fapi/v1/depth", 1_000);
    comes_back(Encoding::Json, "/public/ws/btcusdt@depth@100ms", (FUTURES, snapshot));
}

/// The place of a market, and how its book is asked for: the path and how many levels.
type Asked = (usize, (&'static str, u32));

const SPOT: Asked = (0, ("/api/v3/depth", 5_000));

fn comes_back(encoding: Encoding, target: &str, (place, (path, limit)): Asked) {
    for seed in 1..=5 {
        let faults = Faults { seed, drop: 40, duplicate: 40, ..Faults::default() };
        let front = Faulty::new(Binance::new(&with_futures()).expect("settings"), faults);
        let mut rig = crate::rig::Rig::of(front, 3);
        let mut feed = feed(rig.now.mono, encoding);
        assert_eq!(rig.front.open(rig.now, 1, &handshake("", target, "ed")), Ok(()));
        let (mut random, mut compared, mut snapshots): (u64, usize, usize) = (seed, 0, 0);
        for _ in 0..1_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            for command in crowd((random >> 33) as i64) {
                let mut events = Vec::new();
                rig.engines[place].execute(command, &mut |event| events.push(event));
                rig.front.on_events(rig.now, place, &events);
            }
            rig.pass(110);
            for frame in frames(&mut rig, encoding) {
                take(rig.now.mono, &mut feed, Source::LINE_A, &frame);
            }
            feed.handle_timeout(rig.now.mono);
            if feed.poll_request().is_some() {
                let request = HttpRequest {
                    method: "GET".to_owned(),
                    path: path.to_owned(),
                    query: format!("symbol={SYMBOL}&limit={limit}"),
                    ..HttpRequest::default()
                };
                rig.front.request(rig.now, 2, request);
                rig.pump();
                let snapshot = rig.answers.pop().expect("an answer").body.to_string();
                take(rig.now.mono, &mut feed, Source::SNAPSHOT, snapshot.as_bytes());
                snapshots += 1;
            }
            // A frame that was lost is noticed with the next one.
            let is_last =
                feed.depth().last_id() == Some(rig.front.front().markets[place].update_id);
            if feed.is_whole() && is_last {
                assert_equal(&feed, &rig.engines[place]);
                compared += 1;
            }
        }
        assert!(rig.front.injected > 40, "seed {seed}: {}", rig.front.injected);
        assert!(compared > 500 && snapshots > 10, "seed {seed}: {compared} {snapshots}");
    }
}
