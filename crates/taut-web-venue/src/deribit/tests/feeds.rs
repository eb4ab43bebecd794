//! Books as clients keep them equal the engine's.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use taut_types::Side;

use super::rig::{PERPETUAL, Rig};

/// A client's book: raw or folded, by the rules of the interface.
#[derive(Default)]
struct Book {
    last: Option<u64>,
    sides: [BTreeMap<String, f64>; 2],
    changes: usize,
}

impl Book {
    fn take(&mut self, data: &Value) {
        let is_snapshot = data["type"] == "snapshot";
        assert_eq!(is_snapshot, self.last.is_none());
        if !is_snapshot {
            assert_eq!(data["prev_change_id"].as_u64(), self.last, "the chain holds");
            self.changes += 1;
        }
        self.last = data["change_id"].as_u64();
        for (side, name) in self.sides.iter_mut().zip(["bids", "asks"]) {
            for level in data[name].as_array().expect("levels") {
                let (price, amount) = (level[1].to_string(), level[2].as_f64().expect("an amount"));
                let was = match level[0].as_str() {
                    Some("delete") => side.remove(&price).is_some(),
                    _ => side.insert(price, amount).is_some(),
                };
                assert_eq!(was, level[0] != "new", "{level}");
            }
        }
    }
}

#[test]
fn raw_folded_and_asked_books_equal_the_engines() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    rig.log_on(2, "two");
    rig.log_on(3, "two");
    rig.limit(1, "private/buy", 100, 59_000.0);
    let channels = ["book.BTC-PERPETUAL.raw", "book.BTC-PERPETUAL.100ms"];
    let taken = rig.result(3, "public/subscribe", json!({"channels": channels}));
    assert_eq!(taken, json!(channels));
    let mut books = [Book::default(), Book::default()];
    let mut random: u64 = 7;
    for _ in 0..300 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (dice, connection) = ((random >> 33) as i64, 1 + (random >> 63));
        rig.pass(60 + dice % 80);
        let price = 59_000.0 + 0.5 * (dice % 9) as f64;
        match dice % 4 {
            0 => _ = rig.call(connection, "private/cancel_all", json!({})),
            1 => _ = rig.limit(connection, "private/sell", 10 * (1 + dice % 7), price),
            _ => _ = rig.limit(connection, "private/buy", 10 * (1 + dice % 5), price),
        }
        rig.pass(140);
        for (book, channel) in books.iter_mut().zip(channels) {
            rig.data(3, channel).iter().for_each(|data| book.take(data));
        }
        let engine = rig.engines[0].book();
        for (book, nth) in books.iter().zip(0..) {
            for (side, levels) in [Side::Buy, Side::Sell].iter().zip(&book.sides) {
                let truth: BTreeMap<String, f64> = engine
                    .levels(*side)
                    .map(|it| ((it.price.0 as f64 / 4.0), 10.0 * it.lots.0 as f64))
                    .map(|(price, amount)| (json!(price).to_string(), amount))
                    .collect();
                assert_eq!(*levels, truth, "book {nth}");
            }
        }
        let asked = rig.result(3, "public/get_order_book", json!({"instrument_name": PERPETUAL}));
        assert_eq!(asked["change_id"].as_u64(), books[0].last);
        assert_eq!(asked["change_id"].as_u64(), books[1].last);
    }
    assert!(books[0].changes > 100 && books[1].changes > 100);
}

#[test]
fn channels_that_are_not_for_everybody_are_left_out() {
    let mut rig = Rig::new();
    rig.open(1);
    let channels =
        json!({"channels": ["nonsense", "quote.BTC-PERPETUAL", "user.orders.any.any.raw"]});
    assert_eq!(rig.result(1, "public/subscribe", channels), json!(["quote.BTC-PERPETUAL"]));
    assert_eq!(
        rig.code(1, "public/subscribe", json!({"channels": ["book.BTC-PERPETUAL.raw"]})),
        13778
    );
    assert_eq!(rig.result(1, "public/unsubscribe_all", json!({})), json!("ok"));
}

#[test]
fn a_ticker_is_the_books_top() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    let channels =
        ["ticker.BTC-PERPETUAL.raw", "quote.BTC-PERPETUAL", "book.BTC-PERPETUAL.none.1.100ms"];
    rig.result(1, "public/subscribe", json!({"channels": channels}));
    rig.limit(1, "private/buy", 100, 59_000.0);
    rig.pass(100);
    let ticker = rig.data(1, channels[0]).pop().expect("a ticker");
    assert_eq!(
        (&ticker["best_bid_price"], &ticker["best_bid_amount"]),
        (&json!(59_000.0), &json!(100.0))
    );
    assert_eq!(ticker["best_ask_price"], json!(0.0), "an empty side");
    assert_eq!(rig.data(1, channels[1]).pop().expect("a quote")["best_bid_amount"], json!(100.0));
    let grouped = rig.data(1, channels[2]).pop().expect("a book");
    assert_eq!((&grouped["bids"], &grouped["asks"]), (&json!([[59_000.0, 100.0]]), &json!([])));
}
