//! taut's own handler keeps the engine's book by the channels that bring it whole.

use std::collections::BTreeMap;

use serde_json::json;
use taut_engine::Engine;
use taut_market_data::deribit::{BookChannel, DeribitFeed};
use taut_market_data::{
    ChainConfig, Context, Event, EventKind, FeedHandler, NamedInstrument, Soundness, Source,
};
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Side, Symbol};

use super::rig::{PERPETUAL, Rig};

const ID: InstrumentId = InstrumentId(0);
const DOLLAR: i64 = Price::SCALE;

/// The levels of a side, by their prices.
type Levels = BTreeMap<i64, i64>;

/// A handler, and what a strategy makes of the events that it tells.
struct Own {
    feed: DeribitFeed,
    told: [Levels; 2],
    levels_told: usize,
}

impl Own {
    fn new(channel: BookChannel, now: Nanos) -> Self {
        let (tick, lot) = (Price(DOLLAR / 2), Qty { mantissa: 10, decimals: 0 });
        let symbol = Symbol::new(PERPETUAL.as_bytes()).expect("a symbol");
        let instrument = Instrument::new(ID, symbol, tick, lot).expect("an instrument");
        let listed = [NamedInstrument { name: PERPETUAL.as_bytes(), instrument }];
        let config = ChainConfig { silence: Nanos::MAX, ..ChainConfig::new(&listed) };
        let feed = DeribitFeed::following(channel, &config, now).expect("a handler");
        Self { feed, told: [Levels::new(), Levels::new()], levels_told: 0 }
    }

    fn take(&mut self, now: Nanos, text: &str) {
        let Self { feed, told, levels_told } = self;
        let mut is_whole = false;
        let mut sink = |_: &Context<'_>, event: &Event| match event.kind {
            EventKind::Level(level) => {
                *levels_told += 1;
                let side = &mut told[level.side.index()];
                match level.lots.0 {
                    0 => drop(side.remove(&level.price.0)),
                    lots => drop(side.insert(level.price.0, lots)),
                }
            }
            EventKind::Book(soundness) => is_whole = soundness == Soundness::Sound,
            _ => {}
        };
        if let Some(frame) = feed.decode(now, Source::LINE_A, text.as_bytes()) {
            feed.apply(frame, &mut sink);
        }
        feed.recover(now, &mut sink);
        if is_whole {
            *told = Side::BOTH.map(|side| own_levels(feed, side));
        }
    }
}

fn own_levels(feed: &DeribitFeed, side: Side) -> Levels {
    let book = feed.book(ID).expect("its book");
    book.iter(side).map(|level| (level.price.0, level.lots.0)).collect()
}

/// The best levels of the engine's book in steps of so much: bids rounded down, offers up.
fn truth(engine: &Engine, side: Side, step: i64, depth: usize) -> Levels {
    let mut levels = Levels::new();
    for level in engine.book().levels(side) {
        let price = level.price.0 * DOLLAR / 4;
        let price = match side {
            Side::Buy => price / step * step,
            Side::Sell => (price + step - 1) / step * step,
        };
        if levels.len() == depth && !levels.contains_key(&price) {
            break;
        }
        *levels.entry(price).or_default() += level.lots.0;
    }
    levels
}

#[test]
fn grouped_books_and_quotes_make_the_engines_best_levels() {
    for (channel, name, step, depth) in [
        (BookChannel::Grouped, "book.BTC-PERPETUAL.none.10.100ms", DOLLAR / 2, 10),
        (BookChannel::Grouped, "book.BTC-PERPETUAL.5.10.100ms", 5 * DOLLAR, 10),
        (BookChannel::Grouped, "book.BTC-PERPETUAL.none.1.agg2", DOLLAR / 2, 1),
        (BookChannel::Quote, "quote.BTC-PERPETUAL", DOLLAR / 2, 1),
    ] {
        let mut rig = Rig::new();
        ["one", "two"].iter().zip(1..).for_each(|(name, at)| drop(rig.log_on(at, name)));
        rig.open(3);
        rig.limit(1, "private/buy", 100, 59_000.0);
        let mut own = Own::new(channel, rig.now.mono);
        rig.result(3, "public/subscribe", json!({"channels": [name]}));
        let mut random: u64 = 11;
        for _ in 0..200 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (dice, connection) = ((random >> 33) as i64, 1 + (random >> 63));
            rig.pass(60 + dice % 80);
            let price = 59_000.0 + 0.5 * (dice % 40) as f64;
            match dice % 9 {
                0 => _ = rig.call(connection, "private/cancel_all", json!({})),
                1..4 => _ = rig.call(connection, "private/sell", order(dice, price + 8.0)),
                _ => _ = rig.call(connection, "private/buy", order(dice, price)),
            }
            // The interval passes.
            rig.pass(1_000);
            for text in rig.texts.remove(&3).unwrap_or_default() {
                own.take(rig.now.mono, &text);
            }
            assert_eq!(own.feed.soundness(ID), Soundness::Sound, "{name}");
            for side in Side::BOTH {
                let truth = truth(&rig.engines[0], side, step, depth);
                assert_eq!(own_levels(&own.feed, side), truth, "{name}");
                assert_eq!(own.told[side.index()], truth, "{name}: as it was told");
            }
        }
        assert!(own.levels_told > 100, "{name}: {}", own.levels_told);
        let counters = own.feed.counters();
        assert_eq!((counters.gaps, counters.malformed, counters.crossed), (0, 0, 0), "{name}");
        assert_eq!(own.feed.poll_request(), None, "{name}");
    }
}

fn order(dice: i64, price: f64) -> serde_json::Value {
    json!({"instrument_name": PERPETUAL, "amount": 10 * (1 + dice % 7), "price": price})
}
