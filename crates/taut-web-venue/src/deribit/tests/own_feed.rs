//! taut's own handlers keep the engine's book: by the channels that bring it whole, and over FIX.

use std::collections::BTreeMap;

use serde_json::json;
use taut_engine::{Command, Engine, NewOrder};
use taut_market_data::deribit::{BookChannel, DeribitFeed, DeribitFixFeed};
use taut_market_data::{
    ChainConfig, Context, Event, EventKind, FeedHandler, FeedRequest, NamedInstrument, Soundness,
    Source, Staleness,
};
use taut_types::{
    HalfTicks, Instrument, InstrumentError, InstrumentId, Lots, Nanos, OrderId, Price, Qty, Side,
    Symbol,
};

use super::fix::log_on;
use super::rig::{PERPETUAL, Rig, settings};
use crate::deribit::Deribit;
use crate::faults::{Faults, Faulty};
use crate::front::{Front, HttpRequest};

const ID: InstrumentId = InstrumentId(0);
const DOLLAR: i64 = Price::SCALE;

/// The levels of a side, by their prices.
type Levels = BTreeMap<i64, i64>;

/// A handler, and what a strategy makes of the events that it tells.
struct Own<F> {
    feed: F,
    told: [Levels; 2],
    levels_told: usize,
    trades_told: usize,
}

impl<F: FeedHandler> Own<F> {
    fn new(build: impl FnOnce(&ChainConfig<'_>) -> Result<F, InstrumentError>) -> Self {
        let (tick, lot) = (Price(DOLLAR / 2), Qty { mantissa: 10, decimals: 0 });
        let symbol = Symbol::new(PERPETUAL.as_bytes()).expect("a symbol");
        let instrument = Instrument::new(ID, symbol, tick, lot).expect("an instrument");
        let listed = [NamedInstrument { name: PERPETUAL.as_bytes(), instrument }];
        let config = ChainConfig { silence: Nanos::MAX, ..ChainConfig::new(&listed) };
        let feed = build(&config).expect("a handler");
        let told = [Levels::new(), Levels::new()];
        Self { feed, told, levels_told: 0, trades_told: 0 }
    }

    fn take(&mut self, now: Nanos, frame: &[u8]) {
        let Self { feed, told, levels_told, trades_told } = self;
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
            EventKind::Trade(_) => *trades_told += 1,
            EventKind::Book(soundness) => is_whole = soundness == Soundness::Sound,
            _ => {}
        };
        if let Some(frame) = feed.decode(now, Source::LINE_A, frame) {
            feed.apply(frame, &mut sink);
        }
        feed.recover(now, &mut sink);
        if is_whole {
            *told = Side::BOTH.map(|side| own_levels(feed, side));
        }
    }
}

fn own_levels(feed: &impl FeedHandler, side: Side) -> Levels {
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
        let now = rig.now.mono;
        let mut own = Own::new(|config| DeribitFeed::following(channel, config, now));
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
                own.take(rig.now.mono, text.as_bytes());
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

const PAIR: &str = "BTC_USDC";

/// Asks about channels, as a client that has lost one does.
fn ask<F: Front>(rig: &mut crate::rig::Rig<F>, method: &str, names: &[&str]) {
    let channels: Vec<String> = names.iter().map(|name| format!("book.{name}.100ms")).collect();
    let params = json!({"channels": channels});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    rig.front.text(rig.now, 3, &request.to_string());
    rig.pump();
}

/// The crowd bids in the market of this place.
fn bid<F: Front>(rig: &mut crate::rig::Rig<F>, place: usize) {
    rig.next_id += 1;
    let (id, price) = (rig.next_id, HalfTicks(200_000 + 2 * (rig.next_id % 20).cast_signed()));
    let order = NewOrder::limit(OrderId(id), 1, Side::Buy, price, Lots(1));
    let mut events = Vec::new();
    rig.engines[place].execute(Command::New(order), &mut |event| events.push(event));
    rig.front.on_events(rig.now, place, &events);
}

/// A perpetual and a pair, of which the first one's channel is lost; who looks for such channels
/// notices, and who does not has a book that is not the market's.
#[test]
fn a_channel_that_falls_silent_alone_is_subscribed_to_anew_where_that_is_looked_for() {
    const LONGEST: Nanos = Nanos::from_secs(3);
    for channel_silence in [None, Some(LONGEST)] {
        let settings = settings();
        let front = Faulty::new(Deribit::new(&settings).expect("settings"), Faults::default());
        let mut rig = crate::rig::Rig::of(front, settings.instruments.len());
        let listed = [(0, PERPETUAL, "0.5", 10, 0), (1, PAIR, "1", 1, 4)];
        let listed = listed.map(|(id, name, tick, mantissa, decimals)| {
            let symbol = Symbol::new(name.as_bytes()).expect("a symbol");
            let (tick, lot) =
                (Price::parse(tick.as_bytes()).expect("a tick"), Qty { mantissa, decimals });
            let instrument = Instrument::new(InstrumentId(id), symbol, tick, lot);
            NamedInstrument { name: name.as_bytes(), instrument: instrument.expect("steps") }
        });
        let snapshot_interval = Nanos::from_secs(1);
        let config =
            ChainConfig { channel_silence, snapshot_interval, ..ChainConfig::new(&listed) };
        let mut feed = DeribitFeed::new(&config, rig.now.mono).expect("a handler");
        let request = HttpRequest { path: "/ws/api/v2".to_owned(), ..HttpRequest::default() };
        assert_eq!(rig.front.open(rig.now, 3, &request), Ok(()));
        ask(&mut rig, "public/subscribe", &[PERPETUAL, PAIR]);
        // Time passes in which the pair moves, and the perpetual, too, or not; how often the
        // perpetual's book was asked for.
        let pass =
            |rig: &mut crate::rig::Rig<_>, feed: &mut DeribitFeed, millis: i64, both: bool| {
                let mut asked = 0;
                for _ in 0..millis / 100 {
                    bid(rig, 2);
                    if both {
                        bid(rig, 0);
                    }
                    rig.pass(100);
                    for text in rig.texts.remove(&3).unwrap_or_default() {
                        let mut sink = |_: &Context<'_>, _: &Event| {};
                        if let Some(frame) =
                            feed.decode(rig.now.mono, Source::LINE_A, text.as_bytes())
                        {
                            feed.apply(frame, &mut sink);
                        }
                    }
                    feed.handle_timeout(rig.now.mono);
                    feed.recover(rig.now.mono, &mut |_: &Context<'_>, _: &Event| {});
                    assert_eq!(feed.soundness(InstrumentId(1)), Soundness::Sound);
                    while let Some(request) = feed.poll_request() {
                        assert_eq!(request, FeedRequest::Snapshot(ID));
                        assert_eq!(feed.soundness(ID), Soundness::Stale(Staleness::Silent));
                        ask(rig, "public/unsubscribe", &[PERPETUAL]);
                        ask(rig, "public/subscribe", &[PERPETUAL]);
                        asked += 1;
                    }
                }
                asked
            };
        let is_the_engines = |rig: &crate::rig::Rig<_>, feed: &DeribitFeed| {
            let levels = feed.book(ID).expect("its book").iter(Side::Buy).map(|it| it.lots);
            levels.eq(rig.engines[0].book().levels(Side::Buy).map(|it| it.lots))
        };
        assert_eq!(pass(&mut rig, &mut feed, 1_000, true), 0);
        assert!(feed.is_whole() && is_the_engines(&rig, &feed));
        rig.front.set_faults(Faults { mute: 1_000, ..Faults::default() });
        bid(&mut rig, 0);
        rig.pass(100);
        rig.front.set_faults(Faults::default());
        assert_eq!(rig.front.injected, 1);
        let is_looked_for = channel_silence.is_some();
        assert_eq!(pass(&mut rig, &mut feed, 4_000, true), usize::from(is_looked_for));
        assert_eq!(is_the_engines(&rig, &feed), is_looked_for);
        assert_eq!(feed.soundness(ID), Soundness::Sound);
        assert_eq!(feed.counters().channels_silent, u64::from(is_looked_for));
        // A market that is quiet looks the same.
        assert_eq!(pass(&mut rig, &mut feed, 4_000, false), usize::from(is_looked_for));
        assert_eq!(feed.soundness(ID), Soundness::Sound);
        assert_eq!(feed.counters().silences, 0);
    }
}

fn order(dice: i64, price: f64) -> serde_json::Value {
    json!({"instrument_name": PERPETUAL, "amount": 10 * (1 + dice % 7), "price": price})
}

#[test]
fn over_fix_whole_books_changes_and_trades_make_the_engines_book() {
    let mut rig = Rig::new();
    ["one", "two"].iter().zip(1..).for_each(|(name, at)| drop(rig.log_on(at, name)));
    // More than four thousand bytes of levels.
    for at in 0..120 {
        rig.pass(200);
        rig.call(1, "private/buy", order(at, 57_000.0 + 0.5 * at as f64));
        rig.pass(200);
        rig.call(1, "private/sell", order(at, 61_000.0 + 0.5 * at as f64));
    }
    let mut client = log_on(&mut rig, 7, "one", "");
    let now = rig.now.mono;
    let mut own = Own::new(|config| DeribitFixFeed::new(config, now));
    let take = |rig: &Rig, own: &mut Own<DeribitFixFeed>, messages: Vec<String>| {
        for message in messages {
            // As it came, but for the lead, which the client takes away.
            let message = format!("8=FIX.4.4{}", message.replace('|', "\u{1}"));
            own.take(rig.now.mono, message.as_bytes());
        }
    };
    let entries = "264=0|265=1|267=3|269=0|269=1|269=2|";
    let request = format!("262=0.1|263=1|{entries}146=1|55={PERPETUAL}|");
    let whole = client.say(&mut rig, "V", &request);
    assert!(whole.concat().len() > 4_096);
    take(&rig, &mut own, whole);
    let equal = |rig: &Rig, own: &Own<DeribitFixFeed>| {
        assert_eq!(own.feed.soundness(ID), Soundness::Sound);
        for side in Side::BOTH {
            let truth = truth(&rig.engines[0], side, DOLLAR / 2, usize::MAX);
            assert_eq!(own_levels(&own.feed, side), truth);
            assert_eq!(own.told[side.index()], truth, "as it was told");
        }
    };
    equal(&rig, &own);
    assert_eq!(own.feed.book(ID).expect("its book").level_count(Side::Buy), 120);
    let mut random: u64 = 13;
    for _ in 0..300 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (dice, connection) = ((random >> 33) as i64, 1 + (random >> 63));
        rig.pass(200);
        let price = 59_000.0 + 0.5 * (dice % 12) as f64;
        match dice % 9 {
            0 => _ = rig.call(connection, "private/cancel_all", json!({})),
            1..5 => _ = rig.call(connection, "private/sell", order(dice, price)),
            _ => _ = rig.call(connection, "private/buy", order(dice, price)),
        }
        let messages = client.take(&mut rig);
        take(&rig, &mut own, messages);
        equal(&rig, &own);
    }
    assert!(own.levels_told > 100 && own.trades_told > 50, "{} trades", own.trades_told);
    // Another book than the one that is followed is asked for as a new one.
    client.say(&mut rig, "V", "262=0.1|263=2|");
    let again = client.say(&mut rig, "V", &request.replace("0.1", "0.2"));
    take(&rig, &mut own, again);
    equal(&rig, &own);
    let counters = own.feed.counters();
    assert_eq!((counters.gaps, counters.malformed, counters.snapshots), (0, 0, 2));
}
