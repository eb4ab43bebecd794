//! Recordings in an engine: their books, what clients take of them, their ends.

mod made;
mod recorded;

use std::collections::BTreeMap;

use taut_engine::{Command, Engine, EngineConfig, Event, NewOrder};
use taut_recording::FileError;
use taut_recording::capture::Capture;
use taut_types::{
    HalfTicks, Instrument, InstrumentId, Lots, Nanos, OrderId, Price, Qty, Side, Symbol,
    TimeInForce,
};

use self::made::{Format, Made};
use super::format::ReplayFormat;
use super::head::ReplayHead;
use super::{ReplayFlow, TapeChange};
use crate::flow::{FlowStep, SplitMix64};

const CLIENT: u32 = 9;
const FIRST_CLIENT_ORDER: u64 = 1 << 62;

/// Prices and lots of both sides, from the lowest price up.
type Book = [Vec<(HalfTicks, Lots)>; 2];

fn instrument(tick: &str, lot: &str) -> Instrument {
    let symbol = Symbol::new(b"I0").expect("a symbol");
    let tick = Price::parse(tick.as_bytes()).expect("a tick");
    let lot = Qty::parse(lot.as_bytes()).expect("a lot");
    Instrument::new(InstrumentId(0), symbol, tick, lot).expect("an instrument")
}

/// An engine that a recording is played in.
struct Played {
    flow: ReplayFlow,
    engine: Engine,
    position: usize,
    next_order: u64,
}

impl Played {
    fn new(flow: ReplayFlow) -> Self {
        let sizes = EngineConfig { order_capacity: 1 << 14, level_capacity: 1 << 13 };
        let engine = Engine::new(sizes);
        let orders = flow.initial_orders().to_vec();
        let mut played = Self { flow, engine, position: 0, next_order: FIRST_CLIENT_ORDER };
        for order in orders {
            assert_eq!(played.execute(Command::New(order)), []);
        }
        played
    }

    /// The trades: price, lots.
    fn execute(&mut self, command: Command) -> Vec<(HalfTicks, Lots)> {
        let (mut trades, mut fills) = (Vec::new(), Vec::new());
        self.engine.execute(command, &mut |event| match event {
            Event::Trade {
                maker, taker, maker_remaining, taker_remaining, price, lots, ..
            } => {
                trades.push((price, lots));
                fills.extend([(maker, maker_remaining), (taker, taker_remaining)]);
            }
            Event::Rejected { .. } | Event::CancelRejected { .. } => panic!("{event:?}"),
            _ => {}
        });
        for (order_id, remaining) in fills {
            self.flow.on_fill(order_id, remaining);
        }
        trades
    }

    fn take(&mut self, step: &FlowStep) {
        if let FlowStep::Command(command) = *step {
            self.execute(command);
        }
    }

    /// What clients have taken is put back.
    fn catch_up(&mut self) {
        while self.flow.is_behind() {
            let step = self.flow.catch_up();
            self.take(&step);
        }
    }

    /// The next step; the number of the update that the book then has, if it has a whole one.
    fn step(&mut self) -> Option<u64> {
        self.catch_up();
        let (_, nth) = self.flow.round(self.position);
        let step = self.flow.step(self.position);
        self.position += 1;
        self.take(&step);
        self.catch_up();
        match self.flow.steps.get(nth.checked_sub(1)?)?.change {
            TapeChange::Whole(id) => Some(id),
            _ => None,
        }
    }

    /// As many steps as a round has.
    fn round(&mut self) {
        for _ in 0..self.flow.steps.len() + 2 {
            self.step();
        }
    }

    /// The levels, clients' orders left out.
    fn book(&self) -> Book {
        Side::BOTH.map(|side| {
            let mut levels = BTreeMap::<HalfTicks, Lots>::new();
            for order in self.engine.book().orders(side).filter(|order| order.owner != CLIENT) {
                levels.entry(order.price).or_default().0 += order.lots.0;
            }
            levels.into_iter().collect()
        })
    }

    /// A client's order, and what it traded.
    fn order(&mut self, order: NewOrder) -> Vec<(HalfTicks, Lots)> {
        let order_id = OrderId(self.next_order);
        self.next_order += 1;
        self.execute(Command::New(NewOrder { order_id, owner: CLIENT, ..order }))
    }
}

fn limit(side: Side, price: HalfTicks, lots: Lots) -> NewOrder {
    NewOrder::limit(OrderId(0), CLIENT, side, price, lots)
}

/// Plays a recording to its end and compares its book with the truth after every update, and what
/// clients do to it meanwhile; how many books were compared.
fn compare(made: &Made, flow: ReplayFlow) -> usize {
    let (mut played, mut random, mut compared) = (Played::new(flow), SplitMix64::new(3), 0);
    assert_eq!(played.book(), made.first);
    for _ in 0..played.flow.steps.len() + 2 {
        let Some(id) = played.step() else { continue };
        let truth = &made.books[&id];
        assert_eq!(played.book(), *truth, "after {id}");
        assert_eq!(played.flow.market.last_id, id);
        compared += 1;
        let side = if random.chance(500) { Side::Buy } else { Side::Sell };
        let [bids, asks] = truth;
        let best = if side == Side::Buy { asks.first() } else { bids.last() };
        let Some(&(price, there)) = best else { continue };
        // Sometimes more than there is: what is not there does not trade.
        let wanted = Lots(1 + random.below(2 * there.0.unsigned_abs()) as i64);
        let order = limit(side, price, wanted).force(TimeInForce::ImmediateOrCancel);
        assert_eq!(played.order(order), [(price, wanted.min(there))]);
        played.catch_up();
        assert_eq!(played.book(), *truth, "it is put back after {id}");
    }
    compared
}

#[test]
fn the_book_is_the_recorded_one_at_every_update_and_clients_trade_at_its_prices() {
    for format in Format::ALL {
        for seed in 0..20 {
            let made = Made::new(format, seed);
            let flow = ReplayFlow::of(&made.capture(), format.name(), format.instrument());
            let flow = flow.unwrap_or_else(|error| panic!("{format:?} {seed}: {error}"));
            assert_eq!(compare(&made, flow), made.books.len(), "{format:?} {seed}");
        }
    }
}

#[test]
fn orders_that_rest_trade_when_a_level_of_the_other_side_comes_to_them() {
    let made = Made::new(Format::Deribit, 1);
    let flow = ReplayFlow::of(&made.capture(), Format::Deribit.name(), made.instrument);
    let (mut played, mut filled) = (Played::new(flow.expect("a flow")), Lots(0));
    let [bids, asks] = &made.first;
    // Between the best prices, where the market has moved through before the end.
    let price = HalfTicks(bids.last().expect("a bid").0.0 + 2);
    assert!(price < asks.first().expect("an offer").0);
    assert_eq!(played.order(limit(Side::Buy, price, Lots(1))), []);
    assert_eq!(played.order(limit(Side::Sell, HalfTicks(price.0 + 2), Lots(1))), []);
    while played.position < played.flow.steps.len() + 2 {
        let before = played.engine.trade_count();
        if let Some(id) = played.step() {
            assert_eq!(played.book(), made.books[&id], "after {id}");
        }
        filled.0 += (played.engine.trade_count() - before) as i64;
    }
    assert!(filled > Lots(0), "the market came to nobody");
}

#[test]
fn a_recording_that_is_played_once_leaves_its_last_book_and_puts_back_what_is_taken() {
    let made = Made::new(Format::BinanceSpot, 4);
    let flow = ReplayFlow::of(&made.capture(), "BTCUSDT", made.instrument).expect("a flow");
    let steps = flow.steps.len() + 2;
    assert_eq!((flow.offset(steps - 1), flow.offset(steps)), (Some(flow.span()), None));
    let mut played = Played::new(flow);
    played.round();
    let last = made.books.values().last().expect("a book");
    assert_eq!((played.flow.ends(), &played.book()), (1, last));
    let &(price, lots) = last[1].first().expect("an offer");
    assert_eq!(played.order(limit(Side::Buy, price, lots)), [(price, lots)]);
    assert_ne!(&played.book(), last);
    played.catch_up();
    assert_eq!(&played.book(), last);
}

#[test]
fn a_repeated_recording_begins_again_from_an_empty_book() {
    let made = Made::new(Format::BinanceFutures, 5);
    let flow = ReplayFlow::of(&made.capture(), "BTCUSDT", made.instrument).expect("a flow");
    let (steps, span) = (flow.steps.len() + 2, flow.span());
    assert!(span > Nanos::ZERO);
    let mut played = Played::new(flow.repeated());
    for round in 1..4_u64 {
        let begins = Nanos(span.0 * (round as i64 - 1));
        assert_eq!(played.flow.offset(played.position), Some(begins));
        assert_eq!(played.flow.offset(played.position + steps - 1), Some(begins + span));
        // To before the end, to the end, and to the beginning.
        for _ in 0..steps - 1 {
            played.step();
        }
        assert_eq!(Some(&played.book()), made.books.values().last());
        played.step();
        assert_eq!((played.flow.ends(), played.book()), (round, [vec![], vec![]]));
        let first = played.flow.first_id;
        played.step();
        assert_eq!((played.book(), played.flow.market.last_id), (made.first.clone(), first));
        played.position -= 1;
    }
    // Without a step there is nothing to repeat.
    let still = made.text.lines().next().expect("a snapshot").to_owned();
    let flow = ReplayFlow::of(&Capture::of("f", still), "BTCUSDT", made.instrument);
    let flow = flow.expect("a flow").repeated();
    assert_eq!((flow.offset(1), flow.offset(2)), (Some(Nanos::ZERO), None));
}

#[test]
fn what_is_wrong_with_a_recording_is_named_with_its_line_and_value() {
    let wrong = |format: Format, from: &str, to: &str, expected: &str| {
        let made = Made::tiny(format);
        let text = made.text.replace(from, to);
        assert_ne!(text, made.text, "{format:?}: {from}");
        let flow = ReplayFlow::of(&Capture::of("f", text), format.name(), format.instrument());
        let told = flow.expect_err("wrong").to_string();
        assert!(told.starts_with(expected) && !told.contains('\n'), "{told}");
        told
    };
    let told = wrong(Format::BinanceSpot, "\"0.07\"", "\"0.075\"", "f:2: a size of zero or more");
    assert!(told.contains("0.075"), "{told}");
    for (from, to, expected) in [
        (
            "\"100.5\"",
            "\"100.53\"",
            "f:2: the price 100.53 is no multiple of the instrument's tick",
        ),
        ("BTCUSDT", "ETHUSDT", "f:2: the frame is of ETHUSDT; a recording of BTCUSDT is expected"),
        ("\"101.0\"", "\"100.0\"", "f:1: the book is crossed: bid 100, offered 100"),
        ("lastUpdateId", "last", "f: there is no depth snapshot to start from"),
    ] {
        wrong(Format::BinanceSpot, from, to, expected);
    }
    for (from, to, expected) in [
        ("100.5", "100.7", "f:2: the price 100.7 is no multiple of the instrument's tick, 0.5"),
        ("70.0", "75.0", "f:2: the size 75 is no multiple of the instrument's lot, 10"),
        (
            "prev_change_id\":9",
            "prev_change_id\":8",
            "f:2: changes are missing: 11 follows 8, the last was 9",
        ),
        ("BTC-PERPETUAL", "ETH-PERPETUAL", "f:1: no book is of BTC-PERPETUAL: this one and others"),
        ("101.0", "100.0", "f:1: the book is crossed: bid 100, offered 100"),
        ("snapshot", "change", "f:1: "),
    ] {
        wrong(Format::Deribit, from, to, expected);
    }
    let rows = "34200.0,1,1,18,1005000,1\n34200.1,1,2,18,1005300,-1\n";
    let flow = ReplayFlow::of(&Capture::of("f", rows), "AAPL", instrument("0.05", "1"));
    let told = flow.expect_err("wrong").to_string();
    assert!(told.starts_with("f:2: the price 100.53 is no multiple"), "{told}");
    let flow = ReplayFlow::of(&Capture::of("f", rows), "AAPL", instrument("0.01", "10"));
    let told = flow.expect_err("wrong").to_string();
    assert!(told.starts_with("f:1: the size 18 is no multiple"), "{told}");
}

#[test]
fn a_refused_order_leaves_its_level_empty_until_the_recording_changes_it() {
    let made = Made::tiny(Format::BinanceSpot);
    let mut flow = ReplayFlow::of(&made.capture(), "BTCUSDT", made.instrument).expect("a flow");
    let FlowStep::Command(Command::New(order)) = flow.step(1) else { panic!("an order") };
    flow.on_refusal(order.order_id);
    assert!(!flow.is_behind());
    let step = flow.market.set((order.side, order.price), Lots(1));
    let Some(Command::New(again)) = step else { panic!("{step:?}") };
    assert_eq!((again.price, again.lots), (order.price, Lots(1)));
}

#[test]
fn a_look_at_the_first_lines_says_what_they_are_and_what_is_wrong_with_them() {
    let snapshot = r#"7 {"lastUpdateId":9,"bids":[["10","1"]],"asks":[["11","1"]]}"#;
    let update = |number: u64, bid: &str| {
        let levels = format!(r#""b":[["{bid}","1"]],"a":[]"#);
        format!(r#"8 {{"e":"depthUpdate","E":1,"s":"BTCUSDT","U":{number},"u":{number},{levels}}}"#)
    };
    let [lower, odd] = [update(10, "9"), update(11, "9.005")];
    let it = instrument("0.01", "1");
    let look = |lines: &[&str], is_all, name: &str| {
        ReplayFlow::look_at(&Capture::of("day", lines.join("\n")), is_all, name, it)
    };
    let said = |looked: Result<ReplayHead, FileError>| looked.expect_err("wrong").to_string();
    let format = ReplayFormat::Binance;
    let head = ReplayHead { format, first: Nanos(7), lines: 2, is_all: false, has_book: true };
    assert_eq!(look(&[snapshot, &lower], false, "BTCUSDT"), Ok(head));
    let told = said(look(&[snapshot, &lower, &odd], false, "BTCUSDT"));
    assert!(told.contains("day:3: the price 9.005 is no multiple"), "{told}");
    let told = said(look(&[snapshot, &lower], false, "ETHUSDT"));
    assert!(told.contains("day:2: the frame is of BTCUSDT"), "{told}");
    assert!(said(look(&[], false, "BTCUSDT")).starts_with("day: its first line is none"));
    // Its book may come later, but not behind the end.
    let head = look(&[&lower], false, "BTCUSDT").expect("a head");
    assert_eq!((head.has_book, head.lines, head.first), (false, 1, Nanos(8)));
    let told = said(look(&[&lower], true, "BTCUSDT"));
    assert!(told.contains("there is no depth snapshot"), "{told}");
    let rpc = r#"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"#;
    let ticker = format!(r#"9 {rpc}"ticker.A.raw","data":{{"instrument_name":"A"}}}}}}"#);
    let head = look(&[&ticker], false, "A").expect("a head");
    assert_eq!((head.format, head.has_book), (ReplayFormat::Deribit, false));
    let rows = ["34200.5,1,1,18,5853500,1", "34201.0,1,2,18,5854000,-1"];
    let head = look(&rows, false, "AAPL").expect("rows");
    assert_eq!((head.format, head.lines, head.is_all), (ReplayFormat::Lobster, 2, false));
    assert_eq!(head.first, Nanos(34_200_500_000_000));
}
