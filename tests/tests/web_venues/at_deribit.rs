//! Two gateways that trade with each other at taut's own venue, which speaks as Deribit does.

use std::cell::RefCell;
use std::rc::Rc;

use taut_fix::CompId;
use taut_gateway::{
    DeribitFix, DeribitJson, DeribitOrderSettings, GatewayConfig, Regions, Transport,
};
use taut_market_data::deribit::{DeribitFeed, DeribitFixFeed};
use taut_oms::Rate;
use taut_testkit::for_each_seed;
use taut_types::{Instrument, InstrumentId, Nanos, Side, Symbol};
use taut_web_venue::deribit::{Deribit, DeribitSettings};
use taut_web_venue::{AccountSettings, Faults, KeySettings, Kind, MarketSettings};

use crate::gateway::{NAME, config, gateway_with, gateway_with_fix, perpetual};
use crate::hands::{Hands, Running};
use crate::members::{
    FAR, Language, Ports, a_trade_by_hand_is_found_by_comparing_positions,
    an_instrument_that_is_added_is_followed_and_traded,
    an_order_rests_trades_in_parts_is_changed_and_cancelled,
    one_request_ends_all_orders_of_an_account_and_of_no_other, risk_for,
    under_faults_all_agree_in_the_end,
};

/// Deribit's FIX; orders end with the connection, or stay. Where so many instruments are listed,
/// two at the most, there is room for the second.
struct Fix<const CANCELS_ON_DISCONNECT: bool, const LISTED: usize = 1>;

/// The same with market data over another session of FIX.
struct FixAlone;

/// Deribit's JSON-RPC, as [`Fix`].
struct JsonRpc<const CANCELS_ON_DISCONNECT: bool, const LISTED: usize = 1>;

/// What is listed beside the perpetual of bitcoin.
const SECOND: &str = "ETH-PERPETUAL";

fn second() -> Instrument {
    let first = perpetual();
    let symbol = Symbol::new(SECOND.as_bytes()).expect("short");
    Instrument::new(InstrumentId(1), symbol, first.tick(), first.lot()).expect("an instrument")
}

/// So many of the instruments.
fn instruments(listed: usize) -> Vec<Instrument> {
    [perpetual(), second()].into_iter().take(listed).collect()
}

fn front(listed: usize) -> Deribit {
    let mut settings = settings();
    if listed > 1 {
        let second = MarketSettings {
            name: SECOND.to_owned(),
            base: "ETH".to_owned(),
            settlement: "ETH".to_owned(),
            ..settings.instruments[0].clone()
        };
        settings.instruments.push(second);
        for account in &mut settings.accounts {
            account.balances.insert("ETH".to_owned(), "1000".to_owned());
        }
    }
    Deribit::new(&settings).expect("settings")
}

/// Changes the first book far from its prices, and makes a market in the second, if there is one.
fn stir(listed: usize) -> String {
    let far = order_in(NAME, Side::Buy, (FAR.0 / 1_000_000_000) as u32);
    let market = [(Side::Buy, 42_000), (Side::Sell, 44_000)];
    let market = market.map(|(side, dollars)| order_in(SECOND, side, dollars)).concat();
    if listed > 1 { far + &market } else { far }
}

fn settings() -> DeribitSettings {
    let market = MarketSettings {
        name: NAME.to_owned(),
        kind: Kind::Future,
        base: "BTC".to_owned(),
        quote: "USD".to_owned(),
        settlement: "BTC".to_owned(),
        tick: "0.5".to_owned(),
        tick_steps: Vec::new(),
        min_trade_amount: "10".to_owned(),
        contract_size: "10".to_owned(),
        maker_commission: "0".to_owned(),
        taker_commission: "0.0005".to_owned(),
        expiration_ms: None,
        strike: None,
        option_type: None,
        start_price: "43000".to_owned(),
        weight: 0,
    };
    let account = |name: &str| AccountSettings {
        name: name.to_owned(),
        keys: vec![KeySettings {
            id: name.to_owned(),
            secret: format!("secret-of-{name}"),
            read_only: false,
        }],
        balances: [("BTC".to_owned(), "10".to_owned())].into(),
        self_trading: "reject_taker".to_owned(),
        matching_rate: 200,
        matching_burst: 400,
    };
    let accounts = ["one", "two", "maker"].map(account).into();
    DeribitSettings { instruments: vec![market], accounts }
}

impl<const CANCELS_ON_DISCONNECT: bool, const LISTED: usize> Language
    for JsonRpc<CANCELS_ON_DISCONNECT, LISTED>
{
    type Front = Deribit;
    type Feed = DeribitFeed;
    type Orders = DeribitJson;

    fn instrument() -> Instrument {
        perpetual()
    }

    fn instruments() -> Vec<Instrument> {
        instruments(LISTED)
    }

    fn front() -> Deribit {
        front(LISTED)
    }

    fn maker_order(side: Side, dollars: u32) -> (String, &'static str) {
        maker_order(side, dollars)
    }

    fn stir() -> String {
        stir(LISTED)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m>(
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, DeribitFeed, DeribitJson> {
        let mut config = config(at.web, KEYS[member]);
        config.risk = risk_for(LISTED);
        let orders = DeribitJson::new(&config, order_settings(CANCELS_ON_DISCONNECT));
        gateway_with(at.web, (&config, orders.expect("a key")), hands, regions)
    }
}

impl<const CANCELS_ON_DISCONNECT: bool, const LISTED: usize> Language
    for Fix<CANCELS_ON_DISCONNECT, LISTED>
{
    type Front = Deribit;
    type Feed = DeribitFeed;
    type Orders = DeribitFix;

    fn instrument() -> Instrument {
        perpetual()
    }

    fn instruments() -> Vec<Instrument> {
        instruments(LISTED)
    }

    fn front() -> Deribit {
        front(LISTED)
    }

    fn maker_order(side: Side, dollars: u32) -> (String, &'static str) {
        maker_order(side, dollars)
    }

    fn stir() -> String {
        stir(LISTED)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m>(
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, DeribitFeed, DeribitFix> {
        let mut config = over_fix(at, member);
        config.risk = risk_for(LISTED);
        let orders = DeribitFix::new(&config, &order_settings(CANCELS_ON_DISCONNECT));
        let orders = orders.expect("a key");
        gateway_with(at.web, (&config, orders), hands, regions)
    }
}

impl Language for FixAlone {
    type Front = Deribit;
    type Feed = DeribitFixFeed;
    type Orders = DeribitFix;

    fn instrument() -> Instrument {
        perpetual()
    }

    fn front() -> Deribit {
        front(1)
    }

    fn maker_order(side: Side, dollars: u32) -> (String, &'static str) {
        maker_order(side, dollars)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m>(
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, DeribitFixFeed, DeribitFix> {
        let config = over_fix(at, member);
        let orders = DeribitFix::new(&config, &order_settings(true)).expect("a key");
        gateway_with_fix(at.fix, KEYS[member], (&config, orders), hands, regions)
    }
}

/// The settings of a member's gateway whose orders go over FIX.
fn over_fix(at: Ports, member: usize) -> GatewayConfig {
    let mut config = config(at.fix, KEYS[member]);
    config.session.transport = Transport::Plain;
    config.sender_comp_id = CompId::new(b"MEMBER").expect("a name");
    config.target_comp_id = CompId::new(b"DERIBITSERVER").expect("a name");
    config
}

fn order_settings(cancels_on_disconnect: bool) -> DeribitOrderSettings {
    DeribitOrderSettings {
        cancels_on_disconnect,
        // Each member has one of its own.
        owns_account: true,
        orders: Rate { per_second: 150, burst: 300 },
        ..DeribitOrderSettings::default()
    }
}

const KEYS: [(&str, &str); 2] = [("one", "secret-of-one"), ("two", "secret-of-two")];

/// A feed is silent when nothing happens for long, and given up in the end.
const STIRRED: Nanos = Nanos::from_secs(2);

fn maker_order(side: Side, dollars: u32) -> (String, &'static str) {
    (order_in(NAME, side, dollars), "\"order_state\":\"open\"")
}

/// An order of the maker's.
fn order_in(name: &str, side: Side, dollars: u32) -> String {
    let method = if side == Side::Buy { "buy" } else { "sell" };
    let terms = format!("instrument_name={name}&amount=10&type=limit&price={dollars}");
    // maker:secret-of-maker
    let key = "Authorization: Basic bWFrZXI6c2VjcmV0LW9mLW1ha2Vy";
    format!("GET /api/v2/private/{method}?{terms} HTTP/1.1\r\n{key}\r\n\r\n")
}

#[test]
fn over_fix_at_deribit_an_order_rests_trades_in_parts_is_changed_and_cancelled() {
    an_order_rests_trades_in_parts_is_changed_and_cancelled::<Fix<true>>();
}

#[test]
fn over_fix_alone_at_deribit_an_order_rests_trades_in_parts_is_changed_and_cancelled() {
    an_order_rests_trades_in_parts_is_changed_and_cancelled::<FixAlone>();
}

#[test]
fn under_faults_over_fix_alone_both_members_and_deribit_agree_in_the_end() {
    for_each_seed(0..1, |seed, random| {
        let faults = Faults { seed, disconnect: 15, sequence: 10, delay: 5, ..Faults::default() };
        under_faults_all_agree_in_the_end::<FixAlone>(faults, random);
    });
}

#[test]
fn under_faults_over_fix_both_members_and_deribit_agree_in_the_end() {
    for_each_seed(0..2, |seed, random| {
        // What a session sends at once is one message here, so that fewer meet with a fault.
        let faults = Faults {
            seed,
            disconnect: 30,
            sequence: 20,
            delay: 5,
            reject: 200,
            ..Faults::default()
        };
        match seed % 2 {
            0 => under_faults_all_agree_in_the_end::<Fix<true>>(faults, random),
            _ => under_faults_all_agree_in_the_end::<Fix<false>>(faults, random),
        }
    });
}

#[test]
fn at_deribit_an_order_rests_trades_in_parts_is_changed_and_cancelled() {
    an_order_rests_trades_in_parts_is_changed_and_cancelled::<JsonRpc<true>>();
}

#[test]
fn at_deribit_an_instrument_that_is_added_is_followed_and_traded() {
    an_instrument_that_is_added_is_followed_and_traded::<JsonRpc<true, 2>>();
}

#[test]
fn over_fix_at_deribit_an_instrument_that_is_added_is_followed_and_traded() {
    an_instrument_that_is_added_is_followed_and_traded::<Fix<true, 2>>();
}

#[test]
fn at_deribit_a_trade_by_hand_is_found_by_comparing_positions() {
    // one:secret-of-one
    let key = "Authorization: Basic b25lOnNlY3JldC1vZi1vbmU=";
    let terms = format!("instrument_name={NAME}&amount=10&type=market");
    let request = format!("GET /api/v2/private/buy?{terms} HTTP/1.1\r\n{key}\r\n\r\n");
    a_trade_by_hand_is_found_by_comparing_positions::<JsonRpc<true>>(&request);
}

#[test]
fn at_deribit_one_request_ends_all_orders_of_an_account_and_of_no_other() {
    one_request_ends_all_orders_of_an_account_and_of_no_other::<JsonRpc<true>>();
}

#[test]
fn over_fix_at_deribit_one_request_ends_all_orders_of_an_account_and_of_no_other() {
    one_request_ends_all_orders_of_an_account_and_of_no_other::<Fix<true>>();
}

#[test]
fn under_faults_both_members_and_deribit_agree_in_the_end() {
    for_each_seed(0..2, |seed, random| {
        let faults = Faults {
            seed,
            disconnect: 40,
            drop: 5,
            sequence: 10,
            duplicate: 150,
            delay: 5,
            reject: 60,
            rate_limit: 15,
            unknown: 30,
            expire: 5,
            strange: 30,
            ..Faults::default()
        };
        match seed % 2 {
            0 => under_faults_all_agree_in_the_end::<JsonRpc<true>>(faults, random),
            _ => under_faults_all_agree_in_the_end::<JsonRpc<false>>(faults, random),
        }
    });
}
