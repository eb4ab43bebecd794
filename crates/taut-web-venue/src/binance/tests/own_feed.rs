//! taut's own handler of the venue's streams keeps the engine's book here, too.

use taut_market_data::binance::{BinanceConfig, BinanceFeed};
use taut_market_data::{Context, Event, FeedHandler, FeedRequest, Source};
use taut_types::{Instrument, InstrumentId, Price, Qty, Side, Symbol};

use super::rig::{Rig, SYMBOL};

const ID: InstrumentId = InstrumentId(7);

fn feed(rig: &Rig) -> BinanceFeed {
    let symbol = Symbol::new(SYMBOL.as_bytes()).expect("a symbol");
    let (tick, lot) = (Price::parse(b"0.01").expect("a tick"), Qty { mantissa: 1, decimals: 5 });
    let instrument = Instrument::new(ID, symbol, tick, lot).expect("an instrument");
    let config = BinanceConfig {
        level_capacity: 256,
        snapshot_limit: Some(5_000),
        ..BinanceConfig::new(instrument)
    };
    BinanceFeed::new(&config, rig.now.mono).expect("a handler")
}

fn take(rig: &Rig, feed: &mut BinanceFeed, source: Source, text: &str) {
    let (now, mut sink) = (rig.now.mono, |_: &Context<'_>, _: &Event| {});
    if let Some(frame) = feed.decode(now, source, text.as_bytes()) {
        feed.apply(frame, &mut sink);
    }
    if !feed.is_settled() {
        feed.recover(now, &mut sink);
    }
}

#[test]
fn tauts_own_handler_keeps_the_engines_book() {
    let mut rig = Rig::new();
    let mut feed = feed(&rig);
    rig.limit("one", "BUY", "0.001", "59990.00");
    rig.open(1, "/stream?streams=btcusdt@depth@100ms/btcusdt@bookTicker/btcusdt@trade");
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
        for text in rig.texts.remove(&1).unwrap_or_default() {
            take(&rig, &mut feed, Source::LINE_A, &text);
        }
        feed.handle_timeout(rig.now.mono);
        if let Some(request) = feed.poll_request() {
            assert_eq!(request, FeedRequest::Snapshot(ID));
            let target = format!("/api/v3/depth?symbol={SYMBOL}&limit=5000");
            let snapshot = rig.rest("GET", &target, "").body.to_string();
            take(&rig, &mut feed, Source::SNAPSHOT, &snapshot);
            snapshots += 1;
        }
        // What has changed since the last folded event is told with the next one.
        if !feed.is_whole() {
            continue;
        }
        let book = feed.book(ID).expect("its book");
        for side in [Side::Buy, Side::Sell] {
            let truth: Vec<_> = rig.engines[0].book().levels(side).collect();
            let own: Vec<_> = book.iter(side).collect();
            let prices: Vec<i64> = truth.iter().map(|it| it.price.0 / 2 * 10_000_000).collect();
            assert_eq!(own.iter().map(|it| it.price.0).collect::<Vec<_>>(), prices);
            assert!(own.iter().map(|it| it.lots).eq(truth.iter().map(|it| it.lots)));
        }
        compared += 1;
    }
    assert!(compared > 250, "{compared}");
    assert_eq!(snapshots, 1, "the chain never broke");
}
