//! The SBE streams: who may have them, and what they say.

use serde_json::json;
use taut_market_data::binance::{FrameKind, decode_stream};
use taut_market_data::{Batch, BestPrices, Context, Event, EventKind, InstrumentKey, Instruments};
use taut_types::{InstrumentId, Lots, Nanos, Price, Side, Symbol};

use super::rig::{Rig, SYMBOL};

const HOST: &str = "stream-sbe.binance.com";
const ALL: &str = "btcusdt@trade/btcusdt@bestBidAsk/btcusdt@depth/btcusdt@depth20";

/// What a message says, with the last of its numbers.
fn read(message: &[u8]) -> (FrameKind, u64, Vec<EventKind>) {
    let symbol = Symbol::new(SYMBOL.as_bytes()).expect("a symbol");
    let instruments = Instruments::new(&[(symbol, InstrumentId(3))]);
    let (mut last, mut told) = (0, Vec::new());
    let mut sink = |context: &Context<'_>, event: &Event| {
        assert_eq!(context.instrument, InstrumentKey::Symbol(SYMBOL.as_bytes()));
        assert!(event.exchange_time >= Nanos::from_secs(1_790_000_000), "{event:?}");
        last = context.sequence.last;
        told.push(event.kind);
    };
    let kind = decode_stream(Nanos(1), message, 5, &instruments, &mut sink).expect("a message");
    (kind, last, told)
}

fn price(dollars: i64) -> Price {
    Price(dollars * Price::SCALE)
}

#[test]
fn they_are_for_who_shows_an_ed25519_key() {
    let mut rig = Rig::new();
    for (host, target) in [
        (HOST, "/ws/btcusdt@trade"),
        (HOST, "/stream?streams=btcusdt@trade"),
        ("stream-sbe.testnet.binance.vision", "/ws"),
        ("127.0.0.1", "/sbe/ws/btcusdt@trade"),
        ("127.0.0.1", "/sbe/stream?streams=btcusdt@trade"),
    ] {
        assert_eq!(rig.open_as(1, (host, target), "ed"), Ok(()), "{host}{target}");
        for (key, code) in [("", -2014), ("nobody", -2015), ("one", -2015)] {
            let denied = rig.open_as(2, (host, target), key).expect_err("denied");
            let body: serde_json::Value = serde_json::from_str(&denied.body).expect("JSON");
            assert_eq!((denied.status, &body["code"]), (401, &json!(code)), "{host}{target} {key}");
        }
    }
    for (host, target) in [(HOST, "/ws-api/v3"), (HOST, "/other"), ("", "/sbe"), ("", "/sbews")] {
        let denied = rig.open_as(1, (host, target), "ed").expect_err("denied");
        assert_eq!(denied.status, 404, "{host}{target}");
    }
    assert_eq!(rig.open_as(1, ("stream.binance.com", "/ws/btcusdt@trade"), ""), Ok(()));
}

#[test]
fn trades_best_prices_and_books_are_told() {
    let mut rig = Rig::new();
    rig.limit("one", "BUY", "0.001", "59990.00");
    assert_eq!(rig.open_as(1, (HOST, &format!("/stream?streams={ALL}")), "ed"), Ok(()));
    rig.pass(100);
    // What was before is not told.
    rig.messages.clear();
    rig.limit("one", "SELL", "0.00100", "60000.00");
    rig.limit("one", "SELL", "0.00200", "60001.00");
    rig.limit("two", "BUY", "0.00250", "60001.00");
    rig.pass(50);
    let all: Vec<_> =
        rig.messages.remove(&1).expect("messages").iter().map(|it| read(it)).collect();
    let of = |kind: FrameKind| all.iter().filter(move |it| it.0 == kind).collect::<Vec<_>>();

    // Two trades of one order are one message.
    let [(_, _, traded)] = of(FrameKind::Trade)[..] else { panic!("{all:?}") };
    let trade = |kind: &EventKind| match kind {
        EventKind::Trade(trade) => (trade.price, trade.lots, trade.aggressor),
        other => panic!("{other:?}"),
    };
    let buy = Some(Side::Buy);
    let traded: Vec<_> = traded.iter().map(trade).collect();
    assert_eq!(traded, [(price(60_000), Lots(100), buy), (price(60_001), Lots(150), buy)]);

    let tops = of(FrameKind::BookTicker);
    let top =
        BestPrices { bid: Some((price(59_990), Lots(100))), ask: Some((price(60_001), Lots(50))) };
    assert_eq!(tops.last().expect("a top").2, [EventKind::Top(top)]);

    // The change of the book and the book itself, at the same number.
    let [(_, last, changes)] = of(FrameKind::Depth)[..] else { panic!("{all:?}") };
    let [(_, same, book)] = of(FrameKind::BestLevels)[..] else { panic!("{all:?}") };
    assert_eq!((last, *last), (same, rig.front.markets[0].update_id));
    let levels = |told: &[EventKind]| -> Vec<_> {
        let level = |kind: &EventKind| match kind {
            EventKind::Level(level) => Some((level.side, level.price, level.lots.0)),
            _ => None,
        };
        told.iter().filter_map(level).collect()
    };
    assert_eq!(changes[0], EventKind::Begin(Batch::Update));
    let (gone, left) = ((Side::Sell, price(60_000), 0), (Side::Sell, price(60_001), 50));
    assert_eq!(levels(changes), [gone, left]);
    assert_eq!(book[0], EventKind::Begin(Batch::BestLevels));
    assert_eq!(levels(book), [(Side::Buy, price(59_990), 100), left]);
    assert_eq!(rig.texts.get(&1), None);
}

#[test]
fn requests_and_their_answers_are_json() {
    let mut rig = Rig::new();
    assert_eq!(rig.open_as(1, (HOST, "/ws"), "ed"), Ok(()));
    rig.say(1, r#"{"method":"SUBSCRIBE","params":["btcusdt@trade","btcusdt@depth@100ms"],"id":4}"#);
    assert_eq!(rig.take(1), [json!({"result": null, "id": 4})]);
    rig.say(1, r#"{"method":"LIST_SUBSCRIPTIONS","id":5}"#);
    assert_eq!(rig.take(1)[0]["result"], json!(["btcusdt@trade", "btcusdt@depth@100ms"]));
    rig.limit("one", "BUY", "0.001", "59990.00");
    rig.limit("two", "SELL", "0.001", "59990.00");
    rig.pass(1_000);
    // A name of the JSON streams is none here: it stays silent.
    let kinds: Vec<_> =
        rig.messages.remove(&1).expect("messages").iter().map(|it| read(it).0).collect();
    assert_eq!(kinds, [FrameKind::Trade]);
}
