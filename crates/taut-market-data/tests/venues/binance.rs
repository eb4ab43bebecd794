//! Depth, best prices and snapshots of spot and of USD-margined futures.

use std::collections::BTreeMap;

use taut_book::TopOfBook;
use taut_market_data::binance::{Applied, BinanceJson, DepthBook, FrameKind};
use taut_market_data::{BestPrices, Context, Event, EventKind, InstrumentKey, SequenceRange};
use taut_types::Nanos;

use crate::frames::{Answer, Frame, of_http, of_socket};

/// What was counted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    frames: usize,
    /// Depth events that do not follow the one before.
    unchained: u32,
    /// Depth events that the rules drop, as the snapshots have them, and all others.
    before: u64,
    applied: u64,
    /// Those of the others that end with their snapshot, and change nothing: futures alone.
    without_effect: u64,
    /// Books whose first event covers the snapshot.
    covered: usize,
    /// Best prices with the id of a book, and those of them that are the book's.
    tickers: u32,
    agree: u32,
    /// Frames that nothing reads, and those of them that are klines.
    others: u32,
    klines: u32,
}

/// A book and what is known of its stream.
struct Followed {
    book: DepthBook,
    snapshot_id: u64,
    first: Option<SequenceRange>,
    last_id: Option<u64>,
    tops: BTreeMap<u64, TopOfBook>,
}

/// The frames and the snapshots of a market.
pub fn recorded(market: &str) -> Option<(Vec<Frame>, Vec<Answer>)> {
    let frames = of_socket(&format!("binance-{market}.ws.txt"))?;
    Some((frames, of_http(&format!("binance-{market}.depth.txt"))?))
}

fn symbol(url: &str) -> String {
    let (_, rest) = url.split_once("symbol=").unwrap();
    rest.split('&').next().unwrap().to_owned()
}

fn count(market: &str) -> Option<Counted> {
    let (frames, snapshots) = recorded(market)?;
    let mut decoder = BinanceJson::default();
    let mut books = BTreeMap::new();
    for (url, body) in &snapshots {
        let mut book = DepthBook::new(1 << 12, 1 << 8);
        let mut sink = |context: &Context<'_>, event: &Event| {
            book.on_event(context, event, &mut |_: &Applied| {});
        };
        assert_eq!(decoder.decode(Nanos(0), body, &mut sink), Ok(FrameKind::Snapshot));
        let snapshot_id = book.last_id().unwrap();
        let (first, last_id, tops) = (None, None, BTreeMap::new());
        books.insert(symbol(url), Followed { book, snapshot_id, first, last_id, tops });
    }
    let mut counted = Counted { frames: frames.len(), ..Counted::default() };
    let mut tickers: Vec<(String, u64, BestPrices)> = Vec::new();
    for (time, frame) in &frames {
        let mut sink = |context: &Context<'_>, event: &Event| {
            let InstrumentKey::Symbol(name) = context.instrument else { panic!("{context:?}") };
            let name = String::from_utf8(name.to_ascii_uppercase()).unwrap();
            if let EventKind::Top(top) = event.kind {
                tickers.push((name.clone(), context.sequence.last, top));
            }
            let Some(followed) = books.get_mut(&name) else { return };
            if let EventKind::Begin(_) = event.kind {
                let SequenceRange { first, last, previous } = context.sequence;
                let follows = followed.last_id.is_none_or(|id| match previous {
                    Some(previous) => previous == id,
                    None => first == id + 1,
                });
                counted.unchained += u32::from(!follows);
                followed.last_id = Some(last);
                // Futures may begin with an update that ends with the snapshot.
                let ends_with_it = previous.is_some() && last == followed.snapshot_id;
                let is_new = last > followed.snapshot_id || ends_with_it;
                if is_new && followed.first.is_none() {
                    followed.first = Some(context.sequence);
                }
                counted.before += u64::from(!is_new);
                counted.applied += u64::from(is_new);
                counted.without_effect += u64::from(ends_with_it);
            }
            let tops = &mut followed.tops;
            followed.book.on_event(context, event, &mut |applied: &Applied| {
                tops.insert(applied.sequence.last, applied.top);
            });
        };
        let kind = decoder.decode(*time, frame, &mut sink).unwrap();
        if kind == FrameKind::Other {
            counted.others += 1;
            counted.klines += u32::from(String::from_utf8_lossy(frame).contains("@kline_1m"));
        }
    }
    let (mut outdated, mut applied) = (0, 0);
    for followed in books.values() {
        assert!(!followed.book.is_stale() && followed.book.counters().gaps == 0);
        outdated += followed.book.counters().outdated;
        applied += followed.book.counters().applied;
        let covers = |first: SequenceRange| {
            let next = followed.snapshot_id + u64::from(first.previous.is_none());
            first.first <= next && next <= first.last
        };
        counted.covered += usize::from(followed.first.is_some_and(covers));
    }
    assert_eq!(outdated, counted.before + counted.without_effect);
    assert_eq!(applied, counted.applied - counted.without_effect);
    for (name, id, told) in tickers {
        let Some(top) = books.get(&name).and_then(|followed| followed.tops.get(&id)) else {
            continue;
        };
        let [bid, ask] =
            [top.bid, top.ask].map(|level| level.map(|level| (level.price, level.lots)));
        counted.tickers += 1;
        counted.agree += u32::from(told == BestPrices { bid, ask });
    }
    println!("{market}: {counted:?}");
    Some(counted)
}

#[test]
fn spot_books_join_their_snapshots_and_have_the_best_prices_of_the_ticker() {
    let Some(counted) = count("spot") else { return };
    assert_eq!((counted.frames, counted.unchained, counted.covered), (265, 0, 4));
    assert_eq!((counted.before, counted.applied), (5, 172));
    assert_eq!((counted.agree, counted.tickers), (26, 26));
    assert_eq!(counted.others, counted.klines);
}

#[test]
fn futures_books_follow_by_the_id_of_the_update_before() {
    let Some(counted) = count("usdm") else { return };
    assert_eq!((counted.frames, counted.unchained, counted.covered), (1_535, 0, 4));
    assert_eq!((counted.before, counted.applied), (12, 752));
    assert_eq!((counted.agree, counted.tickers), (50, 50));
    assert_eq!(counted.others, counted.klines);
}
