//! Thirty seconds of ten option books.

use std::collections::BTreeMap;

use serde_json::Value;
use taut_market_data::deribit::{DeribitFeed, DeribitJson, FrameKind};
use taut_market_data::{
    BestPrices, ChainConfig, Context, Event, EventKind, FeedHandler, InstrumentKey, LevelUpdate,
    Source, Statistic,
};
use taut_types::{InstrumentId, Lots, Nanos, Price, Side};

use crate::frames::{Frame, of_socket};
use crate::replay::{Told, listed};

pub fn recorded() -> Option<Vec<Frame>> {
    of_socket("deribit.ws.txt")
}

/// The instruments whose books are in the frames.
pub fn names(frames: &[Frame]) -> Vec<String> {
    let channel = |(_, frame): &Frame| {
        let json: Value = serde_json::from_slice(frame).unwrap();
        let channel = json["params"]["channel"].as_str()?.strip_prefix("book.")?;
        Some(channel.strip_suffix(".raw").unwrap().to_owned())
    };
    let names: std::collections::BTreeSet<String> = frames.iter().filter_map(channel).collect();
    names.into_iter().collect()
}

/// At a tenth of a coin.
fn lots(amount: &Value) -> Lots {
    Lots((amount.as_f64().unwrap() * 10.0).round() as i64)
}

fn price(price: &Value) -> Price {
    Price((price.as_f64().unwrap() * 1e9).round() as i64)
}

#[test]
fn every_frame_is_known_and_says_what_serde_json_reads_in_it() {
    let Some(frames) = recorded() else { return };
    let names = names(&frames);
    let mut decoder = DeribitJson::new(1_024, &listed(&names, 1)).unwrap();
    let mut kinds = BTreeMap::new();
    let mut actions = BTreeMap::new();
    for (time, frame) in &frames {
        let (mut levels, mut tops, mut figures) = (Vec::new(), Vec::new(), Vec::new());
        let mut sink = |context: &Context<'_>, event: &Event| {
            let InstrumentKey::Symbol(name) = context.instrument else { panic!("{context:?}") };
            assert_eq!(name, names[event.instrument.0 as usize].as_bytes());
            match event.kind {
                EventKind::Level(level) => levels.push(level),
                EventKind::Top(top) => tops.push(top),
                EventKind::Statistic(figure) => figures.push(figure),
                _ => {}
            }
        };
        let kind = decoder.decode(*time, frame, &mut sink).unwrap();
        *kinds.entry(format!("{kind:?}")).or_insert(0) += 1;
        let json: Value = serde_json::from_slice(frame).unwrap();
        let data = &json["params"]["data"];
        match kind {
            FrameKind::Book => {
                let mut read = Vec::new();
                for (side, key) in [(Side::Buy, "bids"), (Side::Sell, "asks")] {
                    for level in data[key].as_array().unwrap() {
                        *actions.entry(level[0].as_str().unwrap().to_owned()).or_insert(0) += 1;
                        read.push((side, price(&level[1]), lots(&level[2])));
                    }
                }
                let say = |level: LevelUpdate| (level.side, level.price, level.lots);
                assert_eq!(levels.into_iter().map(say).collect::<Vec<_>>(), read);
            }
            FrameKind::Ticker => {
                assert_eq!(tops, [top_of(data)]);
                // What comes before them depends on the instrument.
                let options = options_figures(data);
                assert_eq!(figures[figures.len() - options.len()..], options);
            }
            _ => assert!(levels.is_empty() && tops.is_empty() && figures.is_empty()),
        }
    }
    println!("{kinds:?} {actions:?}");
    let count = |kind: &str| kinds.get(kind).copied().unwrap_or(0);
    assert_eq!((frames.len(), count("Unknown"), count("Book"), count("Answer")), (136, 0, 46, 1));
    let actions: Vec<_> = actions.iter().map(|(action, count)| (action.as_str(), *count)).collect();
    assert_eq!(actions, [("change", 5), ("delete", 19), ("new", 125)]);
}

/// Volatilities, which are in percent, what the option is valued with, and the greeks.
fn options_figures(data: &Value) -> [Statistic; 10] {
    let billionths = |figure: &Value| price(figure).0;
    let volatility = |side: &str| billionths(&data[format!("{side}_iv")]) / 100;
    let greek = |name: &str| billionths(&data["greeks"][name]);
    [
        Statistic::MarkVolatility(volatility("mark")),
        Statistic::BidVolatility(volatility("bid")),
        Statistic::AskVolatility(volatility("ask")),
        Statistic::Underlying(price(&data["underlying_price"])),
        Statistic::InterestRate(billionths(&data["interest_rate"])),
        Statistic::Delta(greek("delta")),
        Statistic::Gamma(greek("gamma")),
        Statistic::Theta(greek("theta")),
        Statistic::Vega(greek("vega")),
        Statistic::Rho(greek("rho")),
    ]
}

fn top_of(data: &Value) -> BestPrices {
    let quote = |side: &str| {
        let [price_of, amount] =
            ["price", "amount"].map(|what| &data[format!("best_{side}_{what}")]);
        (price(price_of), lots(amount))
    };
    BestPrices::quoted(quote("bid"), quote("ask"))
}

#[test]
fn the_last_ticker_of_each_instrument_is_the_top_of_its_book() {
    let Some(frames) = recorded() else { return };
    let names = names(&frames);
    let instruments = listed(&names, 1);
    let mut feed = DeribitFeed::new(&ChainConfig::new(&instruments), frames[0].0).unwrap();
    let mut told = Told::default();
    let mut tickers = BTreeMap::new();
    for (time, frame) in &frames {
        told.take(&mut feed, *time, Source::LINE_A, frame);
        let json: Value = serde_json::from_slice(frame).unwrap();
        let params = &json["params"];
        if params["channel"].as_str().is_some_and(|channel| channel.starts_with("ticker.")) {
            let name = params["data"]["instrument_name"].as_str().unwrap().to_owned();
            tickers.insert(name, top_of(&params["data"]));
        }
    }
    let counters = feed.counters();
    assert_eq!((counters.snapshots, counters.applied, counters.gaps), (10, 36, 0));
    assert_eq!((counters.malformed, counters.recovered), (0, 0));
    assert_eq!(*feed.counted(), taut_market_data::ChainCounters::default());
    assert!(feed.is_whole() && feed.poll_request().is_none());
    let agree = (0..).zip(&names).filter(|(id, name)| {
        let best = feed.best(InstrumentId(*id));
        assert_eq!(best, BestPrices::of(feed.book(InstrumentId(*id)).unwrap()));
        tickers.get(*name) == Some(&best)
    });
    assert_eq!((agree.count(), names.len()), (10, 10));
    assert_eq!((told.sound, told.stale, told.statuses), (10, 0, 10));
    // Mark, index, open interest, volatilities and greeks of all, and what some say besides.
    assert!(told.statistics >= (3 + 10) * 10);
    println!("{told:?}");
}

#[test]
fn no_frame_allocates_once_the_feed_is_built() {
    let Some(frames) = recorded() else { return };
    let names = names(&frames);
    let instruments = listed(&names, 1);
    let mut feed = DeribitFeed::new(&ChainConfig::new(&instruments), frames[0].0).unwrap();
    let mut told = Told::default();
    let info = allocation_counter::measure(|| {
        for (time, frame) in &frames {
            told.take(&mut feed, *time, Source::LINE_A, frame);
        }
        feed.handle_disconnect(Nanos(0), Source::LINE_A);
        feed.handle_timeout(Nanos(i64::MAX));
        while feed.poll_request().is_some() {}
    });
    assert_eq!(info.count_total, 0);
    assert!(told.levels > 0);
}
