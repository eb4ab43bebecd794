//! Recordings of real markets.

use std::path::PathBuf;

use taut_book::LevelBook;
use taut_market_data::binance::{Applied, BinanceJson, DepthBook};
use taut_market_data::deribit::DeribitFeed;
use taut_market_data::{ChainConfig, Context, EventKind, FeedHandler, NamedInstrument, Source};
use taut_recording::lobster::{FlowEvent, LobsterFlow};
use taut_types::InstrumentId;

use super::*;

fn shared(name: &str) -> Option<(PathBuf, Capture)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let path = PathBuf::from(folder).join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    let capture = Capture::read(&path).expect("a capture");
    Some((path, capture))
}

fn levels(book: &LevelBook, instrument: Instrument) -> Book {
    Side::BOTH.map(|side| {
        let half_ticks = |price| instrument.half_ticks(price).expect("a price");
        let levels = book.iter(side).map(|level| (half_ticks(level.price), level.lots));
        let mut levels: Vec<_> = levels.collect();
        levels.sort_unstable();
        levels
    })
}

/// Plays a recording and compares it with the book of each update that is known; how many.
fn compare(flow: ReplayFlow, books: &BTreeMap<u64, Book>) -> usize {
    let (mut played, mut compared) = (Played::new(flow), 0);
    for _ in 0..played.flow.steps.len() + 2 {
        let Some(truth) = played.step().and_then(|id| books.get(&id)) else { continue };
        assert_eq!(played.book(), *truth, "after {}", played.flow.market.last_id);
        compared += 1;
    }
    compared
}

#[test]
fn a_capture_of_binance_has_the_books_of_a_plain_replay() {
    for (name, tick, lot, least) in [
        ("binance/spot_btcusdt_20240808.gz", "0.01", "0.00000001", 6),
        ("binance/usdm_btcusdt_20240808.gz", "0.1", "0.001", 12),
    ] {
        let Some((path, capture)) = shared(name) else { return };
        let instrument = instrument(tick, lot);
        let mut decoder = BinanceJson::new(BinanceJson::LEVELS_MAX, instrument.lot().decimals);
        let mut truth = DepthBook::new(1 << 13, 1 << 12);
        let (mut books, mut updates) = (BTreeMap::new(), 0_u64);
        for frame in capture.frames() {
            let frame = frame.expect("a frame");
            let mut applied = None;
            let mut sink = |context: &Context<'_>, event: &taut_market_data::Event| {
                let mut visit = |update: &Applied| applied = Some(update.sequence.last);
                truth.on_event(context, event, &mut visit);
            };
            decoder.decode(frame.received, frame.bytes, &mut sink).expect("a frame");
            let Some(id) = applied else { continue };
            updates += 1;
            if updates.is_multiple_of(500) {
                books.insert(id, levels(truth.book(), instrument));
            }
        }
        let flow = ReplayFlow::read(&path, "BTCUSDT", instrument);
        let compared = compare(flow.unwrap_or_else(|error| panic!("{error}")), &books);
        println!("{name}: {updates} updates, {compared} books");
        assert!(compared == books.len() && compared >= least, "{compared} of {}", books.len());
        let other = ReplayFlow::read(&path, "ETHUSDT", instrument).expect_err("another symbol");
        assert!(other.to_string().contains("is of BTCUSDT"), "{other}");
    }
}

#[test]
fn frames_of_deribit_have_the_book_of_each_of_ten_options() {
    let Some((path, capture)) = shared("venues/frames/deribit.ws.txt") else { return };
    let instrument = instrument("0.0005", "0.1");
    let (mut all, mut begun) = (0, 0);
    for name in [
        "BTC-24SEP21-8000-P",
        "BTC-30JUL21-24000-P",
        "ETH-30JUL21-2800-C",
        "BTC-31DEC21-34000-P",
        "BTC-24SEP21-34000-P",
        "BTC-24JUN22-15000-C",
        "BTC-31DEC21-300000-C",
        "ETH-27AUG21-4000-P",
        "BTC-25MAR22-30000-C",
        "ETH-23JUL21-2300-C",
    ] {
        let named = [NamedInstrument { name: name.as_bytes(), instrument }];
        let mut feed = DeribitFeed::new(&ChainConfig::new(&named), Nanos::ZERO).expect("a feed");
        let mut books = BTreeMap::new();
        for frame in capture.frames() {
            let frame = frame.expect("a frame");
            let mut id = None;
            let mut sink = |context: &Context<'_>, event: &taut_market_data::Event| {
                if matches!(event.kind, EventKind::Level(_) | EventKind::Book(_)) {
                    id = Some(context.sequence.last);
                }
            };
            if let Some(decoded) = feed.decode(frame.received, Source::LINE_A, frame.bytes) {
                feed.apply(decoded, &mut sink);
            }
            if !feed.is_settled() {
                feed.recover(frame.received, &mut sink);
            }
            if let Some(id) = id {
                let book = feed.book(InstrumentId(0)).expect("a book");
                books.insert(id, levels(book, instrument));
            }
        }
        let flow = ReplayFlow::read(&path, name, instrument);
        let flow = flow.unwrap_or_else(|error| panic!("{name}: {error}"));
        let first = Played::new(flow.clone()).book();
        assert_eq!(books.get(&flow.first_id), Some(&first), "{name}");
        begun += 1;
        all += compare(flow, &books);
    }
    // As many as the recording has snapshots and changes.
    assert_eq!((begun, all), (10, 36));
    let other = ReplayFlow::read(&path, "BTC-PERPETUAL", instrument).expect_err("no such book");
    let told = other.to_string();
    assert!(told.contains("deribit.ws.txt:14: no book is of BTC-PERPETUAL"), "{told}");
}

#[test]
fn a_lobster_file_has_the_levels_of_its_orders() {
    let name = "lobster/AAPL_2012-06-21_34200000_37800000_message_50.csv";
    let Some((path, _)) = shared(name) else { return };
    let instrument = instrument("0.01", "1");
    let plain = LobsterFlow::read(&path).expect("a flow");
    let sizes = EngineConfig { order_capacity: 1 << 17, level_capacity: 1 << 14 };
    let mut engine = Engine::new(sizes);
    let mut nobody = |_: Event| {};
    for order in plain.initial_orders() {
        engine.execute(Command::New(*order), &mut nobody);
    }
    let (mut books, events) = (BTreeMap::new(), plain.events());
    for (nth, event) in events.iter().enumerate() {
        if let FlowEvent::Command(command) = event.event {
            engine.execute(command, &mut nobody);
        }
        let is_row_over = events.get(nth + 1).is_none_or(|next| next.line != event.line);
        if is_row_over && event.line.is_multiple_of(5_000) {
            let book: Book = Side::BOTH.map(|side| {
                let levels = engine.book().levels(side).map(|level| (level.price, level.lots));
                let mut levels: Vec<_> = levels.collect();
                levels.sort_unstable();
                levels
            });
            books.insert(event.line as u64, book);
        }
    }
    let flow = ReplayFlow::read(&path, "AAPL", instrument).expect("a flow");
    assert_eq!((compare(flow, &books), books.len()), (18, 18));
}
