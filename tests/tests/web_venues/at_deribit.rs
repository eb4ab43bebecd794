//! Two gateways that trade with each other at taut's own venue, which speaks as Deribit does.

use std::cell::RefCell;
use std::rc::Rc;

use taut_fix::CompId;
use taut_gateway::{
    DeribitFix, DeribitJson, DeribitOrderSettings, GatewayConfig, Regions, Transport,
};
use taut_io::Kernel;
use taut_market_data::deribit::{DeribitFeed, DeribitFixFeed};
use taut_oms::Rate;
use taut_sys::Clock;
use taut_testkit::for_each_seed;
use taut_types::{Instrument, InstrumentId, Nanos, Side, Symbol};
use taut_web_venue::deribit::{Deribit, DeribitSettings};
use taut_web_venue::{AccountSettings, HttpRequest, KeySettings, Kind, MarketSettings};

use crate::gateway::{NAME, config, gateway_with, gateway_with_fix, perpetual};
use crate::hands::{Hands, Running};
use crate::members::*;

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
fn stir(listed: usize) -> Vec<HttpRequest> {
    let far = order_in(NAME, Side::Buy, (FAR.0 / 1_000_000_000) as u32);
    let market = [(Side::Buy, 42_000), (Side::Sell, 44_000)];
    let market = market.map(|(side, dollars)| order_in(SECOND, side, dollars));
    std::iter::once(far).chain(market).take(if listed > 1 { 3 } else { 1 }).collect()
}

/// The contracts that a member holds.
fn held(front: &Deribit, member: usize) -> i64 {
    let amount = front.position_of(KEYS[member].0, NAME).expect("an account");
    i64::try_from(amount / 10_000_000_000).expect("few")
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

    fn maker_order(_: Nanos, side: Side, dollars: u32) -> HttpRequest {
        order_in(NAME, side, dollars)
    }

    fn held(front: &Deribit, member: usize) -> i64 {
        held(front, member)
    }

    fn stir(_: Nanos) -> Vec<HttpRequest> {
        stir(LISTED)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m, K: Kernel>(
        on: (K, Clock),
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, K, DeribitFeed, DeribitJson> {
        let mut config = config(at.web, KEYS[member]);
        config.risk = risk_for(LISTED);
        let orders = DeribitJson::new(&config, order_settings(CANCELS_ON_DISCONNECT));
        gateway_with(on, at.web, (&config, orders.expect("a key")), hands, regions)
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

    fn maker_order(_: Nanos, side: Side, dollars: u32) -> HttpRequest {
        order_in(NAME, side, dollars)
    }

    fn held(front: &Deribit, member: usize) -> i64 {
        held(front, member)
    }

    fn stir(_: Nanos) -> Vec<HttpRequest> {
        stir(LISTED)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m, K: Kernel>(
        on: (K, Clock),
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, K, DeribitFeed, DeribitFix> {
        let mut config = over_fix(at, member);
        config.risk = risk_for(LISTED);
        let orders = DeribitFix::new(&config, &order_settings(CANCELS_ON_DISCONNECT));
        let orders = orders.expect("a key");
        gateway_with(on, at.web, (&config, orders), hands, regions)
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

    fn maker_order(_: Nanos, side: Side, dollars: u32) -> HttpRequest {
        order_in(NAME, side, dollars)
    }

    fn held(front: &Deribit, member: usize) -> i64 {
        held(front, member)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m, K: Kernel>(
        on: (K, Clock),
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, K, DeribitFixFeed, DeribitFix> {
        let config = over_fix(at, member);
        let orders = DeribitFix::new(&config, &order_settings(true)).expect("a key");
        gateway_with_fix(on, at.fix, KEYS[member], (&config, orders), hands, regions)
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

/// An order of the maker's.
fn order_in(name: &str, side: Side, dollars: u32) -> HttpRequest {
    let method = if side == Side::Buy { "buy" } else { "sell" };
    let terms = format!("instrument_name={name}&amount=10&type=limit&price={dollars}");
    // maker:secret-of-maker
    private(method, terms, "Basic bWFrZXI6c2VjcmV0LW9mLW1ha2Vy")
}

/// A request of whom this header names.
fn private(method: &str, query: String, authorization: &str) -> HttpRequest {
    HttpRequest {
        method: "GET".to_owned(),
        path: format!("/api/v2/private/{method}"),
        query,
        authorization: authorization.to_owned(),
        ..HttpRequest::default()
    }
}

#[test]
fn over_fix_at_deribit_an_order_rests_trades_in_parts_is_changed_and_cancelled() {
    an_order_rests_trades_in_parts_is_changed_and_cancelled::<Fix<true>>();
}

#[test]
fn over_fix_alone_at_deribit_an_order_rests_trades_in_parts_is_changed_and_cancelled() {
    an_order_rests_trades_in_parts_is_changed_and_cancelled::<FixAlone>();
}

/// Plays so many seeds, every second one where orders end with their connection.
fn agree<A: Language, B: Language>(seeds: u64) {
    let mut all = Outcome::default();
    for_each_seed(0..seeds, |seed, random| {
        all.add(match seed % 2 {
            0 => under_faults_all_agree_at_every_rest::<A>(random),
            _ => under_faults_all_agree_at_every_rest::<B>(random),
        });
    });
    all.is_something();
}

#[test]
fn under_faults_over_fix_alone_both_members_and_deribit_agree_in_the_end() {
    agree::<FixAlone, FixAlone>(2);
}

#[test]
fn under_faults_over_fix_both_members_and_deribit_agree_in_the_end() {
    agree::<Fix<true>, Fix<false>>(3);
}

#[test]
fn under_faults_both_members_and_deribit_agree_in_the_end() {
    agree::<JsonRpc<true>, JsonRpc<false>>(3);
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
    let terms = format!("instrument_name={NAME}&amount=10&type=market");
    // one:secret-of-one
    let request = private("buy", terms, "Basic b25lOnNlY3JldC1vZi1vbmU=");
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
fn at_deribit_a_stall_is_noticed_with_orders_under_way() {
    a_stall_is_noticed_with_orders_under_way::<JsonRpc<true>>();
}

#[test]
fn at_deribit_half_a_message_ends_its_connection_and_tells_nothing() {
    half_a_message_ends_its_connection_and_tells_nothing::<JsonRpc<false>>();
}

#[test]
fn over_fix_at_deribit_half_a_message_ends_its_connection_and_tells_nothing() {
    half_a_message_ends_its_connection_and_tells_nothing::<Fix<true>>();
}

#[test]
fn at_deribit_a_book_that_the_feed_crosses_is_told_anew() {
    a_book_that_the_feed_crosses_is_told_anew::<JsonRpc<true>>();
}

#[test]
fn at_deribit_ids_that_begin_again_are_others() {
    ids_that_begin_again_are_others::<JsonRpc<true>>();
}

#[test]
fn over_fix_at_deribit_ids_that_begin_again_are_others() {
    ids_that_begin_again_are_others::<Fix<true>>();
}

#[test]
fn at_deribit_a_delisted_instrument_has_no_orders() {
    a_delisted_instrument_has_no_orders::<JsonRpc<true>>();
}

#[test]
fn over_fix_at_deribit_a_delisted_instrument_has_no_orders() {
    a_delisted_instrument_has_no_orders::<Fix<true>>();
}

#[test]
fn at_deribit_a_larger_price_step_ends_trading_here() {
    a_larger_price_step_ends_trading_here::<JsonRpc<true>>();
}

#[test]
fn at_deribit_who_reads_too_slowly_is_cut_off_and_comes_back() {
    who_reads_too_slowly_is_cut_off_and_comes_back::<JsonRpc<true>>();
}
