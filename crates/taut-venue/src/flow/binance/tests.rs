use std::collections::BTreeMap;
use std::path::Path;

use taut_engine::{Engine, EngineConfig, Event, NewOrder};
use taut_market_data::binance::{BinanceJson, DepthBook};
use taut_recording::capture::Capture;
use taut_types::{HalfTicks, Instrument, InstrumentId, Lots, OrderId, Price, Qty, Side, Symbol};

use super::BinanceFlow;
use crate::flow::{FlowStep, SplitMix64};

const CLIENT: u32 = 9;
const FIRST_CLIENT_ORDER: u64 = 1 << 63;

pub fn bitcoin() -> Instrument {
    let symbol = Symbol::new(b"BTCUSDT").expect("a symbol");
    let tick = Price::parse(b"0.01").expect("a price");
    Instrument::new(InstrumentId(1), symbol, tick, Qty { mantissa: 1, decimals: 8 }).expect("valid")
}

/// The engine's book and the flow, and what clients of theirs do.
struct Market {
    flow: BinanceFlow,
    engine: Engine,
    fills: u64,
}

impl Market {
    fn new(flow: BinanceFlow) -> Self {
        let sizes = EngineConfig { order_capacity: 1 << 14, level_capacity: 1 << 13 };
        let mut market = Self { engine: Engine::new(sizes), flow, fills: 0 };
        for order in market.flow.initial_orders().to_vec() {
            market.execute(taut_engine::Command::New(order));
        }
        market
    }

    fn execute(&mut self, command: taut_engine::Command) {
        let mut trades = Vec::new();
        self.engine.execute(command, &mut |event| match event {
            Event::Trade { maker, taker, maker_remaining, taker_remaining, .. } => {
                trades.push([(maker, maker_remaining), (taker, taker_remaining)]);
            }
            Event::Rejected { .. } | Event::CancelRejected { .. } => panic!("{event:?}"),
            _ => {}
        });
        for (order_id, remaining) in trades.into_iter().flatten() {
            self.fills += u64::from(order_id.0 >= FIRST_CLIENT_ORDER);
            self.flow.on_fill(order_id, remaining);
        }
    }

    fn take(&mut self, step: &FlowStep) {
        if let FlowStep::Command(command) = *step {
            self.execute(command);
        }
    }

    /// The levels of the engine's book, a client's orders left out.
    fn levels(&self, side: Side) -> Vec<(Price, Lots)> {
        let mut levels = BTreeMap::<HalfTicks, i64>::new();
        for order in self.engine.book().orders(side).filter(|order| order.owner != CLIENT) {
            *levels.entry(order.price).or_default() += order.lots.0;
        }
        let price = |price| bitcoin().price(price).expect("a price");
        levels.into_iter().map(|(at, lots)| (price(at), Lots(lots))).collect()
    }
}

fn recorded(book: &DepthBook, side: Side) -> Vec<(Price, Lots)> {
    let mut levels: Vec<_> =
        book.book().iter(side).map(|level| (level.price, level.lots)).collect();
    levels.sort_unstable();
    levels
}

/// Runs a recording to its end, with clients that buy, sell and rest at random when `trades`; the
/// frames, and how many of its books were compared.
fn run(capture: &Capture, every: usize, trades: bool) -> (u64, u64) {
    let flow = BinanceFlow::of(capture, bitcoin()).unwrap_or_else(|error| panic!("{error}"));
    let mut market = Market::new(flow);
    let mut decoder = BinanceJson::new(BinanceJson::LEVELS_MAX, 8);
    let mut truth = DepthBook::new(1 << 13, 1 << 12);
    let mut follow = |frame: &[u8], truth: &mut DepthBook| {
        let mut nobody = |_: &taut_market_data::binance::Applied| {};
        let mut sink = |context: &taut_market_data::Context<'_>,
                        event: &taut_market_data::Event| {
            truth.on_event(context, event, &mut nobody);
        };
        decoder.decode(taut_types::Nanos(0), frame, &mut sink).expect("a frame");
    };
    // As a client does that asks for the book first.
    follow(market.flow.snapshot("", "").as_bytes(), &mut truth);
    let mut random = SplitMix64::new(7);
    let (mut compared, mut frames, mut client_order) = (0, 0_usize, FIRST_CLIENT_ORDER);
    for position in 0..market.flow.step_count() {
        while market.flow.is_behind() {
            let step = market.flow.catch_up();
            market.take(&step);
        }
        let step = market.flow.step(position);
        market.take(&step);
        let FlowStep::Frame(at) = step else { continue };
        frames += 1;
        follow(market.flow.frame(at).as_bytes(), &mut truth);
        if frames.is_multiple_of(every) || position + 1 == market.flow.step_count() {
            while market.flow.is_behind() {
                let step = market.flow.catch_up();
                market.take(&step);
            }
            assert!(!truth.is_stale());
            for side in Side::BOTH {
                assert_eq!(market.levels(side), recorded(&truth, side), "after frame {frames}");
            }
            compared += 1;
        }
        if trades && random.chance(100) {
            let side = if random.chance(500) { Side::Buy } else { Side::Sell };
            let best = market.engine.book().best_price(side).expect("a price");
            client_order += 1;
            // At the best price of the other side, or beside that of one's own.
            let aggressive = market.engine.book().best_price(side.opposite()).expect("a price");
            let price = if random.chance(500) { aggressive } else { best };
            let order =
                NewOrder::limit(OrderId(client_order), CLIENT, side, price, Lots(50_000_000));
            market.execute(taut_engine::Command::New(order));
        }
    }
    (market.fills, compared)
}

fn shared(name: &str) -> Option<Capture> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/binance");
    let path = Path::new(folder).join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(Capture::read(&path).expect("a capture"))
}

#[test]
fn the_book_is_the_recorded_one_after_every_frame_whatever_clients_take() {
    let Some(capture) = shared("spot_btcusdt_20240808.gz") else { return };
    let (fills, compared) = run(&capture, 500, false);
    println!("{compared} books, {fills} fills");
    assert_eq!(fills, 0, "the recording trades with itself");
    let (fills, compared) = run(&capture, 500, true);
    println!("{compared} books, {fills} fills of clients");
    assert!(fills > 1_000 && compared > 80, "{fills} fills, {compared} books");
}

/// Two updates, a snapshot, an update and a trade.
fn frames() -> String {
    let depth = |time: u32, first: u32, last: u32, bids: &str, asks: &str| {
        format!(
            "{time} {{\"stream\":\"btcusdt@depth@100ms\",\"data\":{{\"e\":\"depthUpdate\",\
             \"E\":1723161255208,\"s\":\"BTCUSDT\",\"U\":{first},\"u\":{last},\
             \"b\":[{bids}],\"a\":[{asks}]}}}}\n"
        )
    };
    let snapshot = "3000 {\"lastUpdateId\":10,\"bids\":[[\"100.0\",\"1.0\"]],\
        \"asks\":[[\"101.0\",\"3.0\"],[\"102.0\",\"4.0\"]]}\n";
    let trade = "6000 {\"stream\":\"btcusdt@trade\",\"data\":{\"e\":\"trade\",\"E\":1723161255342,\
        \"s\":\"BTCUSDT\",\"t\":7,\"p\":\"102.0\",\"q\":\"0.02\",\"T\":1723161255342,\"m\":true,\
        \"M\":true}}\n";
    let crossing = "[\"102.0\",\"0.0\"],[\"103.0\",\"0.5\"]";
    [
        depth(1_000, 1, 8, "[\"100.0\",\"1.0\"]", ""),
        depth(2_000, 9, 11, "[\"99.0\",\"2.0\"]", "[\"101.0\",\"0.0\"]"),
        snapshot.to_owned(),
        depth(5_000, 12, 12, "[\"102.0\",\"5.0\"]", crossing),
        trade.to_owned(),
    ]
    .concat()
}

#[test]
fn the_snapshot_joins_the_updates_around_it() {
    let flow = BinanceFlow::of(&Capture::of("f", frames()), bitcoin()).expect("a flow");
    let orders: Vec<_> = flow
        .initial_orders()
        .iter()
        .map(|order| (order.side, order.price.0 / 200, order.lots.0 / 1_000))
        .collect();
    let (buy, sell) = (Side::Buy, Side::Sell);
    assert_eq!(orders, [(buy, 99, 200_000), (buy, 100, 100_000), (sell, 102, 400_000)]);
    let sides = r#""bids":[["100","1"],["99","2"]],"asks":[["102","4"]]"#;
    let snapshot = format!("<{{\"lastUpdateId\":11,{sides}}}>");
    assert_eq!(flow.snapshot("<", ">"), snapshot);
    assert_eq!(run(&Capture::of("f", frames()), 1, false), (0, 2));
}

#[test]
fn what_is_wrong_with_a_recording_is_named() {
    for (from, to, expected) in [
        ("\"U\":12,\"u\":12", "\"U\":13,\"u\":13", "f:4: updates are missing before this one"),
        ("\"103.0\"", "\"103.001\"", "f:4: the price 103.001 is no multiple of"),
        ("{\"lastUpdateId\":10,", "{\"last\":10,", "f: there is no depth snapshot to start from"),
        ("\"0.5\"", "\"x\"", "f:4: "),
        ("\"103.0\"", "\"101.5\"", "f:4: the book is crossed: bid 102, offered 101.5"),
    ] {
        let text = frames().replace(from, to);
        assert_ne!(text, frames());
        let told = BinanceFlow::of(&Capture::of("f", text), bitcoin()).expect_err("wrong");
        assert!(told.to_string().starts_with(expected), "{told}");
    }
}
