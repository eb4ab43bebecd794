//! Binance's depth updates, spot and futures.

use serde::Deserialize;
use taut_book::{BookError, LevelBook, TopOfBook};
use taut_market_data::binance::{BinanceConfig, BinanceFeed};
use taut_market_data::{Context, Event, FeedHandler, Source};
use taut_types::{Instrument, InstrumentId, Lots, Nanos, Price, Qty, Side, Symbol};

use crate::follow::{BookAlone, Case, Follower, Frame, ReadLevel, compare};
use crate::frames::{of_capture, of_http, of_socket};
use crate::peers::{Number, Reader, SerdeJson, SimdJson, Sonic};

const SIZE_DECIMALS: u8 = 8;
const LEVELS: usize = 1 << 14;
/// Updates of a capture.
const UPDATES: usize = 2_000;

/// Four symbols of a market, thirty seconds.
pub fn recorded(folder: &str) {
    for market in ["spot", "usdm"] {
        let frames = of_socket(folder, &format!("binance-{market}.ws.txt"));
        let snapshots = of_http(folder, &format!("binance-{market}.depth.txt"));
        let symbols = snapshots.iter().map(|(url, body)| {
            let (_, rest) = url.split_once("symbol=").expect("a symbol");
            (rest.split('&').next().expect("a symbol").to_owned(), body.clone())
        });
        let what = format!("Binance {market}, recorded depth updates, 4 symbols");
        case_of(&what, &symbols.collect::<Vec<_>>(), &frames, usize::MAX);
    }
}

/// Larger updates of a market that moves.
pub fn captured(folder: &str) {
    for market in ["spot", "usdm"] {
        let frames = of_capture(folder, &format!("{market}_btcusdt_20240808.gz"));
        let snapshot = frames.iter().find(|frame| frame.starts_with("{\"lastUpdateId\""));
        let symbols = [("BTCUSDT".to_owned(), snapshot.expect("a snapshot").clone())];
        let what = format!("Binance {market}, captured depth updates of BTCUSDT");
        case_of(&what, &symbols, &frames, UPDATES);
    }
}

/// The updates that are timed are those behind the one that joins the snapshot.
fn case_of(what: &str, symbols: &[(String, String)], frames: &[String], updates: usize) {
    let (mut load, mut timed) = (Vec::new(), Vec::new());
    for (book, (symbol, snapshot)) in symbols.iter().enumerate() {
        let id = serde_json::from_str::<Snapshot<'_>>(snapshot).expect("a snapshot").last_id;
        let frame = |text: &String, is_snapshot| Frame {
            book,
            is_snapshot,
            bytes: text.as_bytes().to_vec(),
        };
        let stream = format!("\"stream\":\"{}@depth", symbol.to_lowercase());
        let mut joined = false;
        let mut waiting = Vec::new();
        for text in frames.iter().filter(|text| text.contains(&stream)).take(updates) {
            let update: Envelope<'_> = serde_json::from_str(text).expect("an update");
            if joined {
                timed.push(frame(text, false));
                continue;
            }
            joined = update.data.last > id;
            if update.data.last >= id {
                waiting.push(frame(text, false));
            }
        }
        // The handler asks for a snapshot when it has something to join to it.
        let first = waiting.remove(0);
        load.push(first);
        load.push(frame(snapshot, true));
        load.extend(waiting);
    }
    let names: Vec<&str> = symbols.iter().map(|(symbol, _)| symbol.as_str()).collect();
    let case = Case { load, timed };
    let followers: &mut [(&'static str, Box<dyn Follower>)] = &mut [
        ("book", book_alone(names.len(), &case)),
        ("taut", Box::new(Taut::new(&names))),
        ("serde_json", Typed::<SerdeJson>::boxed(&names)),
        ("sonic-rs", Typed::<Sonic>::boxed(&names)),
        ("simd-json", Typed::<SimdJson>::boxed(&names)),
    ];
    compare(what, &case, followers);
}

/// The levels of all frames of a case, for the book alone: the update that waits for its snapshot
/// is set behind it.
fn book_alone(books: usize, case: &Case) -> Box<dyn Follower> {
    let mut waiting: Vec<Vec<ReadLevel>> = vec![Vec::new(); books];
    let mut frames = Vec::new();
    for (at, frame) in case.load.iter().chain(&case.timed).enumerate() {
        if frame.is_snapshot {
            let read: Snapshot<'_> = serde_json::from_slice(&frame.bytes).expect("a snapshot");
            let mut levels = read_levels(&read.bids, &read.asks);
            levels.append(&mut waiting[frame.book]);
            frames.push((frame.book, true, levels));
            continue;
        }
        let read: Envelope<'_> = serde_json::from_slice(&frame.bytes).expect("an update");
        let levels = read_levels(&read.data.bids, &read.data.asks);
        // It stands before its snapshot.
        let waits = case.load.get(at + 1).is_some_and(|next| next.is_snapshot);
        let now = if waits { Vec::new() } else { levels.clone() };
        if waits {
            waiting[frame.book] = levels;
        }
        frames.push((frame.book, false, now));
    }
    BookAlone::new(books, LEVELS, frames)
}

fn read_levels(bids: &Pairs<'_>, asks: &Pairs<'_>) -> Vec<ReadLevel> {
    let side = |side, levels: &Pairs<'_>| {
        let level = |(price, size): &(&str, &str)| ReadLevel {
            side,
            price: Price(price.fixed(Price::DECIMALS)),
            lots: Lots(size.fixed(SIZE_DECIMALS)),
        };
        levels.iter().map(level).collect::<Vec<_>>()
    };
    [side(Side::Buy, bids), side(Side::Sell, asks)].concat()
}

/// taut's handlers, one for each symbol: updates joined and chained, levels and tops told.
struct Taut {
    feeds: Vec<BinanceFeed>,
    events: u64,
}

impl Taut {
    fn new(names: &[&str]) -> Self {
        let feed = |name: &&str| {
            let lot = Qty { mantissa: 1, decimals: SIZE_DECIMALS };
            let symbol = Symbol::new(name.as_bytes()).expect("a symbol");
            let instrument = Instrument::new(InstrumentId(0), symbol, Price(2), lot);
            let config = BinanceConfig {
                level_capacity: LEVELS,
                ..BinanceConfig::new(instrument.expect("a lot"))
            };
            BinanceFeed::new(&config, Nanos(0)).expect("an instrument")
        };
        Self { feeds: names.iter().map(feed).collect(), events: 0 }
    }
}

impl Follower for Taut {
    fn begin(&mut self) {
        let mut sink = |_: &Context<'_>, _: &Event| {};
        for feed in &mut self.feeds {
            feed.handle_disconnect(Nanos(1), Source::LINE_A);
            feed.recover(Nanos(1), &mut sink);
        }
    }

    fn take(&mut self, frame: &mut Frame) {
        let Self { feeds, events } = self;
        let feed = &mut feeds[frame.book];
        let mut sink = |_: &Context<'_>, _: &Event| *events += 1;
        let source = if frame.is_snapshot { Source::SNAPSHOT } else { Source::LINE_A };
        let read = feed.decode(Nanos(1), source, &frame.bytes).expect("a frame");
        feed.apply(read, &mut sink);
        if !feed.is_settled() {
            feed.recover(Nanos(1), &mut sink);
        }
    }

    fn books(&self) -> Vec<&LevelBook> {
        let is_well = |feed: &BinanceFeed| feed.is_whole() && feed.counters().malformed == 0;
        assert!(self.feeds.iter().all(is_well) && self.events > 0);
        self.feeds.iter().map(|feed| feed.depth().book()).collect()
    }
}

type Pairs<'a> = Vec<(&'a str, &'a str)>;

#[derive(Deserialize)]
struct Snapshot<'a> {
    #[serde(rename = "lastUpdateId")]
    last_id: u64,
    #[serde(borrow)]
    bids: Pairs<'a>,
    #[serde(borrow)]
    asks: Pairs<'a>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    data: Depth<'a>,
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Depth<'a> {
    #[serde(rename = "s")]
    symbol: &'a str,
    #[serde(rename = "E")]
    event_time: u64,
    #[serde(rename = "T")]
    time: Option<u64>,
    #[serde(rename = "U")]
    first: u64,
    #[serde(rename = "u")]
    last: u64,
    #[serde(rename = "pu")]
    previous: Option<u64>,
    #[serde(borrow, rename = "b")]
    bids: Pairs<'a>,
    #[serde(borrow, rename = "a")]
    asks: Pairs<'a>,
}

/// A book of a peer, where its updates stand and which top was told.
struct Followed {
    name: String,
    book: LevelBook,
    last: u64,
    is_joined: bool,
    top: TopOfBook,
}

/// A typed struct, its updates joined and chained, its levels set. What is told is the top alone.
struct Typed<R> {
    reader: R,
    books: Vec<Followed>,
    events: u64,
    /// What came before its snapshot.
    kept: Vec<Option<Frame>>,
}

impl<R: Reader + Default + 'static> Typed<R> {
    fn boxed(names: &[&str]) -> Box<dyn Follower> {
        let followed = |name: &&str| {
            let book = LevelBook::with_capacity(LEVELS);
            let (name, top) = ((*name).to_owned(), book.top());
            Followed { name, top, book, last: 0, is_joined: false }
        };
        let books: Vec<Followed> = names.iter().map(followed).collect();
        let kept = vec![None; books.len()];
        Box::new(Self { reader: R::default(), books, events: 0, kept })
    }
}

impl<R: Reader> Follower for Typed<R> {
    fn begin(&mut self) {
        for followed in &mut self.books {
            followed.book.clear();
            (followed.last, followed.is_joined) = (0, false);
        }
    }

    fn take(&mut self, frame: &mut Frame) {
        let followed = &mut self.books[frame.book];
        if frame.is_snapshot {
            let read: Snapshot<'_> = self.reader.read(&mut frame.bytes);
            followed.last = read.last_id;
            set(&mut followed.book, &read.bids, &read.asks);
            if let Some(mut kept) = self.kept[frame.book].take() {
                self.take(&mut kept);
            }
            return;
        }
        if followed.last == 0 {
            self.kept[frame.book] = Some(frame.clone());
            return;
        }
        let read: Envelope<'_> = self.reader.read(&mut frame.bytes);
        let data = read.data;
        assert_eq!(data.symbol, followed.name);
        let is_next = match (followed.is_joined, data.previous) {
            (true, Some(previous)) => previous == followed.last,
            (true, None) => data.first == followed.last + 1,
            (false, _) => data.first <= followed.last + 1,
        };
        assert!(is_next, "a gap");
        (followed.last, followed.is_joined) = (data.last, true);
        set(&mut followed.book, &data.bids, &data.asks);
        let top = followed.book.top();
        if top != followed.top {
            (followed.top, self.events) = (top, self.events + 1);
        }
    }

    fn books(&self) -> Vec<&LevelBook> {
        self.books.iter().map(|followed| &followed.book).collect()
    }
}

#[inline]
fn set(book: &mut LevelBook, bids: &Pairs<'_>, asks: &Pairs<'_>) {
    for (side, levels) in [(Side::Buy, bids), (Side::Sell, asks)] {
        for (price, size) in levels {
            let (price, lots) = (price.fixed(Price::DECIMALS), size.fixed(SIZE_DECIMALS));
            match book.apply(side, Price(price), Lots(lots), 0) {
                Ok(_) | Err(BookError::UnknownLevel) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}
