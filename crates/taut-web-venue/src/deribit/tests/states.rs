//! Instruments that stop trading and go on, as the venue says it and as taut's own handler of its
//! feed hears it.

use serde_json::{Value, json};
use taut_engine::Phase;
use taut_market_data::deribit::DeribitFeed;
use taut_market_data::{
    ChainConfig, Context, Event, EventKind, FeedHandler, NamedInstrument, Source, TradingStatus,
};
use taut_types::{Instrument, InstrumentId, Price, Qty, Symbol};

use super::rig::{OPTION, PERPETUAL, Rig, settings};
use crate::deribit::Deribit;
use crate::faults::{Faults, Faulty};
use crate::front::{Front, HttpRequest, Output};

const STATES: &str = "instrument.state.any.any";

fn limit(rig: &mut Rig) -> Value {
    let order = json!({"instrument_name": PERPETUAL, "amount": 10, "price": 59_000.0});
    rig.call(1, "private/buy", order)
}

#[test]
fn a_halt_is_told_and_refuses_orders_until_it_is_over() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    let channels =
        json!({"channels": [STATES, "instrument.state.option.any", "ticker.BTC-PERPETUAL.100ms"]});
    rig.result(1, "public/subscribe", channels);
    let placed = limit(&mut rig)["result"]["order"]["order_id"].clone();
    rig.set_phase(0, Phase::Halted);
    let told = rig.data(1, STATES);
    let expected = json!({"instrument_name": PERPETUAL, "state": "deactivated",
                          "timestamp": rig.now.utc.0 / 1_000_000});
    assert_eq!(told, [expected]);
    rig.pass(100);
    assert_eq!(rig.data(1, "ticker.BTC-PERPETUAL.100ms").last().expect("one")["state"], "closed");
    let asked = json!({"instrument_name": PERPETUAL});
    let description = rig.result(1, "public/get_instrument", asked.clone());
    assert_eq!(
        (&description["state"], &description["is_active"]),
        (&json!("halted"), &json!(false))
    );
    assert_eq!(limit(&mut rig)["error"]["code"], 10012);
    let cancelled = rig.result(1, "private/cancel", json!({"order_id": placed}));
    assert_eq!(cancelled["order_state"], "cancelled", "an order can be taken back");
    // The same once more is no news.
    rig.set_phase(0, Phase::Halted);
    assert_eq!(rig.data(1, STATES), [Value::Null; 0]);
    rig.set_phase(0, Phase::Continuous);
    assert_eq!(rig.data(1, STATES)[0]["state"], "started");
    assert_eq!(rig.result(1, "public/ticker", asked)["state"], "open");
    assert_eq!(limit(&mut rig)["result"]["order"]["order_state"], "open");
    assert_eq!(rig.data(1, "instrument.state.option.any"), [Value::Null; 0]);
}

#[test]
fn a_maintenance_stops_what_was_open_and_its_end_has_it_trade_again() {
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    rig.result(1, "public/subscribe", json!({"channels": ["platform_state", STATES]}));
    rig.data(1, "platform_state");
    rig.set_phase(0, Phase::Halted);
    rig.data(1, STATES);
    let told = |rig: &mut Rig, is_on| {
        rig.front.on_maintenance(is_on);
        rig.pump();
        let platform = rig.data(1, "platform_state");
        assert_eq!(platform, [json!({ "maintenance": is_on })]);
        let states = rig.data(1, STATES);
        let said = |it: &Value| (it["instrument_name"].clone(), it["state"].clone());
        states.iter().map(said).collect::<Vec<_>>()
    };
    let others = |state: &str| [OPTION, "BTC_USDC"].map(|it| (json!(it), json!(state)));
    assert_eq!(told(&mut rig, true), others("deactivated"));
    assert_eq!(told(&mut rig, false), others("started"));
    rig.set_phase(0, Phase::Continuous);
    assert_eq!(rig.data(1, STATES)[0]["state"], "started");
}

#[test]
fn a_bad_day_with_maintenance_begins_and_ends_it() {
    let front = Deribit::new(&settings()).expect("settings");
    let mut front = Faulty::new(front, Faults::default());
    let mut rig = Rig::new();
    let request = HttpRequest { path: "/ws/api/v2".to_owned(), ..HttpRequest::default() };
    assert_eq!(front.open(rig.now, 1, &request), Ok(()));
    let subscribe = json!({"jsonrpc": "2.0", "id": 1, "method": "public/subscribe",
        "params": {"channels": ["platform_state"]}});
    front.text(rig.now, 1, &subscribe.to_string());
    let mut said = |front: &mut Faulty<Deribit>| {
        assert_eq!(front.next_command(rig.now), None);
        rig.pass(1);
        front.on_time(rig.now);
        let outputs = std::iter::from_fn(|| front.poll_output());
        let maintenance = |output| match output {
            Output::Text { text, .. } => {
                let message: Value = serde_json::from_str(&text).expect("JSON");
                message["params"]["data"]["maintenance"].as_bool()
            }
            _ => None,
        };
        outputs.filter_map(maintenance).collect::<Vec<_>>()
    };
    assert_eq!(said(&mut front), [true; 0]);
    let maintenance = Faults { maintenance: true, ..Faults::default() };
    front.set_faults(maintenance);
    front.set_faults(Faults { seed: 3, ..maintenance });
    assert_eq!(said(&mut front), [true]);
    front.set_faults(Faults::default());
    assert_eq!(said(&mut front), [false]);
}

#[test]
fn tauts_own_handler_hears_when_an_instrument_stops_and_goes_on() {
    use TradingStatus::{Closed, Halted, Trading};
    let mut rig = Rig::new();
    rig.log_on(1, "one");
    let (tick, lot) = (Price::parse(b"0.5").expect("a tick"), Qty { mantissa: 10, decimals: 0 });
    let symbol = Symbol::new(PERPETUAL.as_bytes()).expect("a symbol");
    let instrument = Instrument::new(InstrumentId(0), symbol, tick, lot).expect("an instrument");
    let listed = [NamedInstrument { name: PERPETUAL.as_bytes(), instrument }];
    let mut feed = DeribitFeed::new(&ChainConfig::new(&listed), rig.now.mono).expect("a handler");
    let channels = [
        "book.BTC-PERPETUAL.raw",
        "ticker.BTC-PERPETUAL.raw",
        "instrument.state.any.any",
        "platform_state",
    ];
    limit(&mut rig);
    rig.result(1, "public/subscribe", json!({ "channels": channels }));
    let mut heard = |rig: &mut Rig| {
        let mut statuses = Vec::new();
        let mut sink = |_: &Context<'_>, event: &Event| {
            if let EventKind::Status(status) = event.kind {
                statuses.push(status);
            }
        };
        for text in rig.texts.remove(&1).unwrap_or_default() {
            if let Some(frame) = feed.decode(rig.now.mono, Source::LINE_A, text.as_bytes()) {
                feed.apply(frame, &mut sink);
            }
            feed.recover(rig.now.mono, &mut sink);
        }
        assert_eq!((feed.counters().malformed, feed.counters().unknown), (0, 0));
        statuses
    };
    assert_eq!(heard(&mut rig), [Trading]);
    rig.set_phase(0, Phase::Halted);
    assert_eq!(heard(&mut rig), [Closed]);
    // The book goes on, and its tickers say no other state.
    rig.result(1, "private/cancel_all", json!({}));
    assert_eq!(heard(&mut rig), []);
    rig.set_phase(0, Phase::Continuous);
    assert_eq!(heard(&mut rig), [Trading]);
    // Another instrument's state is another's.
    rig.set_phase(1, Phase::Halted);
    assert_eq!(heard(&mut rig), []);
    rig.front.on_maintenance(true);
    rig.pump();
    assert_eq!(heard(&mut rig), [Halted, Closed]);
    rig.front.on_maintenance(false);
    rig.pump();
    assert_eq!(heard(&mut rig), [Trading]);
}
