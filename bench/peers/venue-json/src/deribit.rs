//! Deribit's books: changes and snapshots.

use std::marker::PhantomData;

use serde::Deserialize;
use taut_book::{BookError, LevelBook, TopOfBook};
use taut_market_data::deribit::DeribitFeed;
use taut_market_data::{ChainConfig, Context, Event, FeedHandler, NamedInstrument, Source};
use taut_types::{Instrument, InstrumentId, Lots, Nanos, Price, Qty, Side, Symbol};

use crate::follow::{BookAlone, Case, Follower, Frame, ReadLevel, compare};
use crate::frames::of_socket;
use crate::peers::{Float, Lazy, Number, Numbers, Raw, Reader, SerdeJson, SimdJson, Sonic};

const LEVELS: usize = 1 << 10;
/// Amounts are counted in tenths.
const AMOUNT_DECIMALS: u8 = 1;

/// Ten option books.
pub fn recorded(folder: &str) {
    let all = of_socket(folder, "deribit.ws.txt");
    let of = |kind: &str| {
        let is_of = |frame: &&String| frame.contains("\"channel\":\"book.") && frame.contains(kind);
        all.iter().filter(is_of).map(frame).collect::<Vec<_>>()
    };
    let (snapshots, changes) = (of("\"type\":\"snapshot\""), of("\"type\":\"change\""));
    let mut names: Vec<String> = snapshots.iter().map(name).collect();
    names.sort();
    let case = Case { load: snapshots.clone(), timed: changes };
    case_of("Deribit, recorded raw changes, a level each", &names, &case);
    let case = Case { load: Vec::new(), timed: snapshots };
    case_of("Deribit, recorded snapshots, 11 levels in the mean", &names, &case);
}

/// A perpetual's book with changes of so many levels a side.
pub fn generated() {
    for levels in [1, 5, 20] {
        let frames: Vec<Frame> = (0..512).map(|number| frame(&change(number, levels))).collect();
        let (load, timed) = frames.split_at(1);
        let case = Case { load: load.to_vec(), timed: timed.to_vec() };
        let what = format!("Deribit, generated changes, {levels} levels a side");
        case_of(&what, &["BTC-PERPETUAL".to_owned()], &case);
    }
}

fn case_of(what: &str, names: &[String], case: &Case) {
    let followers: &mut [(&'static str, Box<dyn Follower>)] = &mut [
        ("book", book_alone(names, case)),
        ("taut", Box::new(Taut::new(names))),
        ("serde_json", Typed::<SerdeJson, Float>::boxed(names)),
        ("sonic-rs", Typed::<Sonic, Float>::boxed(names)),
        ("simd-json", Typed::<SimdJson, Float>::boxed(names)),
        ("serde_json, exact", Typed::<SerdeJson, Raw>::boxed(names)),
        ("sonic-rs, exact", Typed::<Sonic, Lazy>::boxed(names)),
    ];
    compare(what, case, followers);
}

/// The levels of all frames of a case, for the book alone.
fn book_alone(names: &[String], case: &Case) -> Box<dyn Follower> {
    let read = |frame: &Frame| {
        let read: Notification<'_, f64> = serde_json::from_slice(&frame.bytes).expect("a frame");
        let data = read.params.data;
        let place = names.iter().position(|name| name == data.instrument_name);
        let mut levels = Vec::new();
        for (side, of_side) in [(Side::Buy, &data.bids), (Side::Sell, &data.asks)] {
            levels.extend(of_side.iter().map(|level| read_level(side, level)));
        }
        (place.expect("an instrument"), data.kind == Kind::Snapshot, levels)
    };
    let frames = case.load.iter().chain(&case.timed).map(read).collect();
    BookAlone::new(names.len(), LEVELS, frames)
}

#[inline]
fn read_level<N: Number>(side: Side, (action, price, amount): &(Action, N, N)) -> ReadLevel {
    let amount = if *action == Action::Delete { 0 } else { amount.fixed(AMOUNT_DECIMALS) };
    ReadLevel { side, price: Price(price.fixed(Price::DECIMALS)), lots: Lots(amount) }
}

fn frame(text: &String) -> Frame {
    let is_snapshot = text.contains("\"type\":\"snapshot\"");
    Frame { book: 0, is_snapshot, bytes: text.as_bytes().to_vec() }
}

/// The instrument that a frame names.
fn name(frame: &Frame) -> String {
    let json: serde_json::Value = serde_json::from_slice(&frame.bytes).expect("a frame");
    json["params"]["data"]["instrument_name"].as_str().expect("a name").to_owned()
}

/// A change that sets these levels anew; a snapshot when its number is 0.
fn change(number: u64, levels: u64) -> String {
    let (kind, action) = if number == 0 { ("snapshot", "new") } else { ("change", "change") };
    let side = |below: bool| {
        let price = |at: u64| if below { 61_837 - at } else { 61_838 + at };
        let amount = |at: u64| 1 + (number * 7 + at) % 900;
        let one = |at: u64| format!("[\"{action}\",{}.5,{}0.0]", price(at), amount(at));
        (0..levels).map(one).collect::<Vec<_>>().join(",")
    };
    let id = 33_195_894_355 + number;
    let previous =
        if number == 0 { String::new() } else { format!("\"prev_change_id\":{},", id - 1) };
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"subscription\",\"params\":{{\"channel\":\
         \"book.BTC-PERPETUAL.100ms\",\"data\":{{\"type\":\"{kind}\",\
         \"timestamp\":1626993724318,{previous}\"instrument_name\":\"BTC-PERPETUAL\",\
         \"change_id\":{id},\"bids\":[{}],\"asks\":[{}]}}}}}}",
        side(true),
        side(false)
    )
}

/// taut's handler: chains checked, levels and tops told.
struct Taut {
    feed: DeribitFeed,
    count: usize,
    events: u64,
}

impl Taut {
    fn new(names: &[String]) -> Self {
        let lot = Qty { mantissa: 1, decimals: AMOUNT_DECIMALS };
        let listed = |(id, name): (u32, &'static str)| {
            let symbol = Symbol::new(format!("I{id}").as_bytes()).expect("a symbol");
            let instrument = Instrument::new(InstrumentId(id), symbol, Price(2), lot);
            NamedInstrument { name: name.as_bytes(), instrument: instrument.expect("a lot") }
        };
        let names = names.iter().map(|name| &*name.clone().leak());
        let instruments: Vec<_> = (0..).zip(names).map(listed).collect();
        let config = ChainConfig { level_capacity: LEVELS, ..ChainConfig::new(&instruments) };
        let feed = DeribitFeed::new(&config, Nanos(0)).expect("instruments");
        Self { feed, count: instruments.len(), events: 0 }
    }
}

impl Follower for Taut {
    fn begin(&mut self) {
        self.feed.handle_disconnect(Nanos(1), Source::LINE_A);
        self.feed.recover(Nanos(1), &mut |_: &Context<'_>, _: &Event| {});
    }

    fn take(&mut self, frame: &mut Frame) {
        let Self { feed, events, .. } = self;
        let mut sink = |_: &Context<'_>, _: &Event| *events += 1;
        let read = feed.decode(Nanos(1), Source::LINE_A, &frame.bytes).expect("a frame");
        feed.apply(read, &mut sink);
        if !feed.is_settled() {
            feed.recover(Nanos(1), &mut sink);
        }
    }

    fn books(&self) -> Vec<&LevelBook> {
        assert!(self.feed.is_whole() && self.feed.counters().malformed == 0 && self.events > 0);
        let ids = (0..self.count as u32).map(InstrumentId);
        ids.map(|id| self.feed.book(id).expect("a book")).collect()
    }
}

#[derive(Deserialize)]
struct Notification<'a, N> {
    #[serde(borrow)]
    params: Parameters<'a, N>,
}

#[derive(Deserialize)]
struct Parameters<'a, N> {
    #[serde(borrow)]
    data: Book<'a, N>,
}

#[derive(Deserialize)]
struct Book<'a, N> {
    #[serde(rename = "type")]
    kind: Kind,
    #[allow(dead_code)]
    timestamp: u64,
    prev_change_id: Option<u64>,
    instrument_name: &'a str,
    change_id: u64,
    bids: Vec<(Action, N, N)>,
    asks: Vec<(Action, N, N)>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Snapshot,
    Change,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Action {
    New,
    Change,
    Delete,
}

/// A book of a peer: what it is, where its chain stands and which top was told.
struct Followed {
    name: String,
    book: LevelBook,
    last: u64,
    top: TopOfBook,
}

/// A typed struct, its chain checked, its levels set. What is told of them is the top alone.
struct Typed<R, N> {
    reader: R,
    books: Vec<Followed>,
    events: u64,
    numbers: PhantomData<N>,
}

impl<R: Reader + Default + 'static, N: Numbers + 'static> Typed<R, N> {
    fn boxed(names: &[String]) -> Box<dyn Follower> {
        let followed = |name: &String| {
            let book = LevelBook::with_capacity(LEVELS);
            Followed { name: name.clone(), top: book.top(), book, last: 0 }
        };
        let (reader, books) = (R::default(), names.iter().map(followed).collect());
        Box::new(Self { reader, books, events: 0, numbers: PhantomData })
    }
}

impl<R: Reader, N: Numbers> Follower for Typed<R, N> {
    fn begin(&mut self) {}

    fn take(&mut self, frame: &mut Frame) {
        let read: Notification<'_, N::Of<'_>> = self.reader.read(&mut frame.bytes);
        let data = read.params.data;
        let named = |followed: &&mut Followed| followed.name == data.instrument_name;
        let followed = self.books.iter_mut().find(named).expect("a known instrument");
        match data.kind {
            Kind::Snapshot => followed.book.clear(),
            Kind::Change => assert_eq!(data.prev_change_id, Some(followed.last), "a gap"),
        }
        followed.last = data.change_id;
        for (side, levels) in [(Side::Buy, &data.bids), (Side::Sell, &data.asks)] {
            for level in levels {
                let ReadLevel { price, lots, .. } = read_level(side, level);
                match followed.book.apply(side, price, lots, 0) {
                    Ok(_) | Err(BookError::UnknownLevel) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
        let top = followed.book.top();
        if top != followed.top {
            (followed.top, self.events) = (top, self.events + 1);
        }
    }

    fn books(&self) -> Vec<&LevelBook> {
        self.books.iter().map(|followed| &followed.book).collect()
    }
}
