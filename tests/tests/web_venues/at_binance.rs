//! Two gateways that trade with each other at taut's own venue, which speaks as Binance does.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use taut_fix::CompId;
use taut_fix_engine::{Credentials, Tell};
use taut_gateway::{
    BinanceFix, BinanceOrderSettings, BinanceWs, CopiedVenue, CopyReaderSettings, FeedInput,
    FeedStreams, FusedClient, Gateway, GatewayConfig, OrderHandler, Regions, SecondConnection,
    SessionSettings, SnapshotLimits, StreamAddress, SymbolStreams, Transport,
};
use taut_io::Kernel;
use taut_market_data::binance::{BinanceConfig, BinanceFeeds, Encoding};
use taut_oms::Rate;
use taut_order_entry::binance::rest_signature;
use taut_order_entry::sign::{Ed25519Key, HmacKey};
use taut_sys::Clock;
use taut_testkit::for_each_seed;
use taut_tests::setup::{VenueAddresses, base64, gateway_config};
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Side, Symbol};
use taut_web_venue::binance::{Binance, BinanceSettings};
use taut_web_venue::{
    ApiKeySettings, BinanceAccountSettings, HttpRequest, SymbolMarket, SymbolSettings,
};

use crate::hands::{Hands, Obedient, Running};
use crate::members::*;

const NAME: &str = "BTCUSDT";
/// Members' private keys.
const SEEDS: [[u8; 32]; 2] = [[1; 32], [2; 32]];

/// Binance's streams and its WebSocket API; where so many symbols are listed, two at the most,
/// there is room for the second.
struct WebSocketApi<const SYMBOLS: usize = 1>;

/// The same with streams in SBE.
struct InSbe;

/// Binance's streams and its FIX interface, with the WebSocket API beside it.
struct Fix<const SYMBOLS: usize = 1>;

/// What is listed beside bitcoin.
const SECOND: &str = "ETHUSDT";

fn second() -> Instrument {
    let first = bitcoin();
    let symbol = Symbol::new(SECOND.as_bytes()).expect("short");
    Instrument::new(InstrumentId(1), symbol, first.tick(), first.lot()).expect("an instrument")
}

/// So many of the instruments.
fn listed(symbols: usize) -> Vec<Instrument> {
    [bitcoin(), second()].into_iter().take(symbols).collect()
}

fn front(symbols: usize) -> Binance {
    let mut settings = settings();
    if symbols > 1 {
        let first = settings.instruments[0].clone();
        let second = SymbolSettings { name: SECOND.to_owned(), base: "ETH".to_owned(), ..first };
        settings.instruments.push(second);
        for account in &mut settings.accounts {
            account.balances.insert("ETH".to_owned(), "1000".to_owned());
        }
    }
    Binance::new(&settings).expect("settings")
}

/// Changes the first book far from its prices, and makes a market in the second, if there is one.
fn stir(utc: Nanos, symbols: usize) -> Vec<HttpRequest> {
    let far = place(utc, NAME, "BUY", (FAR.0 / 1_000_000_000) as u32);
    let market = [("BUY", 42_000), ("SELL", 44_000)];
    let market = market.map(|(side, dollars)| place(utc, SECOND, side, dollars));
    std::iter::once(far).chain(market).take(if symbols > 1 { 3 } else { 1 }).collect()
}

fn settings() -> BinanceSettings {
    let market = SymbolSettings {
        name: NAME.to_owned(),
        market: SymbolMarket::SpotMarket,
        base: "BTC".to_owned(),
        quote: "USDT".to_owned(),
        tick: "0.5".to_owned(),
        max_price: "100000".to_owned(),
        step: "0.001".to_owned(),
        max_quantity: "100".to_owned(),
        min_notional: "5".to_owned(),
        max_orders: 1_000_000,
        start_price: "43000".to_owned(),
        weight: 0,
    };
    let account = |name: &str, key: ApiKeySettings| BinanceAccountSettings {
        name: name.to_owned(),
        keys: vec![ApiKeySettings { id: name.to_owned(), ..key }],
        balances: BALANCES.map(|(asset, amount)| (asset.to_owned(), amount.to_string())).into(),
        maker_commission: "0".to_owned(),
        taker_commission: "0".to_owned(),
        orders_per_10s: 1_000_000,
        orders_per_day: 1_000_000,
    };
    let none =
        ApiKeySettings { id: String::new(), secret: None, public_key: None, read_only: false };
    let member = |name: &str, seed: &[u8; 32]| {
        let public_key = Some(base64(&Ed25519Key::new(seed).public()));
        account(name, ApiKeySettings { public_key, ..none.clone() })
    };
    let secret = Some("secret-of-maker".to_owned());
    let maker = account("maker", ApiKeySettings { secret, ..none.clone() });
    let accounts = vec![member("one", &SEEDS[0]), member("two", &SEEDS[1]), maker];
    BinanceSettings { instruments: vec![market], accounts }
}

/// An order of the maker's, made at this time of the venue's.
fn place(utc: Nanos, name: &str, side: &str, dollars: u32) -> HttpRequest {
    let terms = format!(
        "symbol={name}&side={side}&type=LIMIT&timeInForce=GTC&quantity=0.001&price={dollars}\
         &timestamp={}",
        utc.0 / 1_000_000
    );
    let signed = rest_signature(&HmacKey::new(b"secret-of-maker"), terms.as_bytes(), b"");
    HttpRequest {
        method: "POST".to_owned(),
        path: "/api/v3/order".to_owned(),
        query: format!("{terms}&signature={}", String::from_utf8_lossy(&signed)),
        headers: vec![("x-mbx-apikey".to_owned(), "maker".to_owned())],
        ..HttpRequest::default()
    }
}

/// What an account has of each asset in the beginning.
const BALANCES: [(&str, i64); 2] = [("BTC", 1_000), ("USDT", 100_000_000)];

/// The lots that a member has bought: its balance says so, as nothing is paid for a trade.
fn held(front: &Binance, member: usize) -> i64 {
    let balance = front.balance_of(["one", "two"][member], BALANCES[0].0).expect("an account");
    let lots = balance / 1_000_000;
    i64::try_from(lots).expect("few") - BALANCES[0].1 * 1_000
}

/// A lot is a thousandth.
fn bitcoin() -> Instrument {
    let (symbol, tick) = (Symbol::new(NAME.as_bytes()).expect("short"), Price(500_000_000));
    let lot = Qty { mantissa: 1, decimals: 3 };
    Instrument::new(InstrumentId(0), symbol, tick, lot).expect("an instrument")
}

fn maker_order(utc: Nanos, side: Side, dollars: u32) -> HttpRequest {
    place(utc, NAME, if side == Side::Buy { "BUY" } else { "SELL" }, dollars)
}

/// A book begins with a change.
const STIRRED: Nanos = Nanos::from_millis(100);

fn url(path: &str) -> String {
    format!("ws://localhost/{path}")
}

/// The settings of a member's gateway, whose orders go over the WebSocket API.
fn config(at: Ports, member: usize) -> GatewayConfig {
    let (api_key, seed) = (["one", "two"][member].to_owned(), SEEDS[member]);
    GatewayConfig {
        instruments: vec![bitcoin()],
        hot: false,
        heartbeat_interval: Nanos::from_secs(10),
        session: SessionSettings {
            transport: Transport::WebSocket { url: url("ws-api/v3"), tls: None },
            credentials: Some(Credentials::Binance { api_key, seed }),
            waits_for_venue: true,
            reconnect: (Nanos::from_millis(1), Nanos::from_millis(10)),
            // Messages are lost: an answer that does not come is waited for no longer.
            request_timeout: Nanos::from_millis(500),
            ..SessionSettings::default()
        },
        ..gateway_config(VenueAddresses { orders: at.web })
    }
}

fn order_settings() -> BinanceOrderSettings {
    BinanceOrderSettings {
        window_ms: 200,
        orders: Rate { per_second: 150, burst: 300 },
        weight: Rate { per_second: 10_000, burst: 100_000 },
        ..BinanceOrderSettings::default()
    }
}

fn gateway<'m, K: Kernel, H: OrderHandler>(
    (kernel, clock): (K, Clock),
    at: Ports,
    (encoding, beside): (Encoding, &str),
    (config, orders): (&GatewayConfig, H),
    hands: &Rc<RefCell<Hands>>,
    regions: &Regions<'m>,
) -> Running<'m, K, BinanceFeeds, H> {
    let at = |url: String| StreamAddress::new(SocketAddr::V4(at.web), url);
    let depth = "{\"id\":0,\"method\":\"depth\",\
                 \"params\":{\"symbol\":\"BTCUSDT\",\"limit\":100}}";
    let streams = match encoding {
        Encoding::Json => "stream?streams=btcusdt@depth@100ms/btcusdt@trade",
        Encoding::Sbe => "sbe/stream?streams=btcusdt@depth/btcusdt@trade",
    };
    let mut stream = at(url(&format!("{streams}{beside}")));
    if encoding == Encoding::Sbe {
        stream.headers.push(("X-MBX-APIKEY".to_owned(), "one".to_owned()));
    }
    let input = FeedInput::Streams(FeedStreams {
        stream,
        snapshot: at(url("ws-api/v3")),
        figures: None,
        snapshot_requests: vec![depth.to_owned()],
        books: Vec::new(),
        snapshot_limits: SnapshotLimits::of_levels(100),
        symbols: Some(SymbolStreams {
            streams: vec!["{name}@depth@100ms".to_owned(), "{name}@trade".to_owned()],
            snapshot_request: depth.replace("\"id\":0", "\"id\":{id}").replace(NAME, "{name}"),
        }),
        silence: Nanos::from_secs(10),
        renewed_after: FeedStreams::RENEWED_AFTER,
        tls: None,
    });
    let book =
        BinanceConfig { encoding, snapshot_limit: Some(100), ..BinanceConfig::new(bitcoin()) };
    let mut feed = BinanceFeeds::new(&[(NAME, book)], clock.now()).expect("a feed");
    feed.reserve_instruments(1);
    let client = FusedClient::new(Obedient(Rc::clone(hands)));
    Gateway::with_handlers(kernel, config, clock, input, (feed, orders), client, regions)
        .expect("a gateway")
}

impl<const SYMBOLS: usize> Language for WebSocketApi<SYMBOLS> {
    type Front = Binance;
    type Feed = BinanceFeeds;
    type Orders = BinanceWs;

    fn instrument() -> Instrument {
        bitcoin()
    }

    fn instruments() -> Vec<Instrument> {
        listed(SYMBOLS)
    }

    fn front() -> Binance {
        front(SYMBOLS)
    }

    fn maker_order(utc: Nanos, side: Side, dollars: u32) -> HttpRequest {
        maker_order(utc, side, dollars)
    }

    fn held(front: &Binance, member: usize) -> i64 {
        held(front, member)
    }

    fn stir(utc: Nanos) -> Vec<HttpRequest> {
        stir(utc, SYMBOLS)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m, K: Kernel>(
        on: (K, Clock),
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, K, BinanceFeeds, BinanceWs> {
        let config = GatewayConfig { risk: risk_for(SYMBOLS), ..config(at, member) };
        let orders = BinanceWs::new(&config, order_settings()).expect("a key");
        gateway(on, at, (Encoding::Json, ""), (&config, orders), hands, regions)
    }
}

impl Language for InSbe {
    type Front = Binance;
    type Feed = BinanceFeeds;
    type Orders = BinanceWs;

    fn instrument() -> Instrument {
        bitcoin()
    }

    fn front() -> Binance {
        front(1)
    }

    fn maker_order(utc: Nanos, side: Side, dollars: u32) -> HttpRequest {
        maker_order(utc, side, dollars)
    }

    fn held(front: &Binance, member: usize) -> i64 {
        held(front, member)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m, K: Kernel>(
        on: (K, Clock),
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, K, BinanceFeeds, BinanceWs> {
        let config = config(at, member);
        let orders = BinanceWs::new(&config, order_settings()).expect("a key");
        gateway(on, at, (Encoding::Sbe, ""), (&config, orders), hands, regions)
    }
}

impl<const SYMBOLS: usize> Language for Fix<SYMBOLS> {
    type Front = Binance;
    type Feed = BinanceFeeds;
    type Orders = BinanceFix;

    fn instrument() -> Instrument {
        bitcoin()
    }

    fn instruments() -> Vec<Instrument> {
        listed(SYMBOLS)
    }

    fn front() -> Binance {
        front(SYMBOLS)
    }

    fn maker_order(utc: Nanos, side: Side, dollars: u32) -> HttpRequest {
        maker_order(utc, side, dollars)
    }

    fn held(front: &Binance, member: usize) -> i64 {
        held(front, member)
    }

    fn stir(utc: Nanos) -> Vec<HttpRequest> {
        stir(utc, SYMBOLS)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m, K: Kernel>(
        on: (K, Clock),
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, K, BinanceFeeds, BinanceFix> {
        let config = GatewayConfig { risk: risk_for(SYMBOLS), ..over_fix(at, member) };
        let orders = BinanceFix::new(&config, order_settings()).expect("a key");
        gateway(on, at, (Encoding::Json, ""), (&config, orders), hands, regions)
    }
}

/// Best prices and partial depth beside the books, in SBE or not.
struct Ahead<const IS_SBE: bool>;

impl<const IS_SBE: bool> Language for Ahead<IS_SBE> {
    type Front = Binance;
    type Feed = BinanceFeeds;
    type Orders = BinanceWs;

    fn instrument() -> Instrument {
        bitcoin()
    }

    fn front() -> Binance {
        front(1)
    }

    fn maker_order(utc: Nanos, side: Side, dollars: u32) -> HttpRequest {
        maker_order(utc, side, dollars)
    }

    fn held(front: &Binance, member: usize) -> i64 {
        held(front, member)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m, K: Kernel>(
        on: (K, Clock),
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, K, BinanceFeeds, BinanceWs> {
        let config = config(at, member);
        let orders = BinanceWs::new(&config, order_settings()).expect("a key");
        let streams = match IS_SBE {
            true => (Encoding::Sbe, "/btcusdt@bestBidAsk/btcusdt@depth20"),
            false => (Encoding::Json, "/btcusdt@bookTicker/btcusdt@depth5@100ms"),
        };
        gateway(on, at, streams, (&config, orders), hands, regions)
    }
}

/// The settings of a member's gateway whose orders go over FIX.
fn over_fix(at: Ports, member: usize) -> GatewayConfig {
    let mut config = config(at, member);
    let api = std::mem::take(&mut config.session.transport);
    config.session.beside = Some(SecondConnection::new(at.web, api));
    config.order_address = at.fix;
    config.sender_comp_id = CompId::new(b"MEMBER").expect("a name");
    config.target_comp_id = CompId::new(b"SPOT").expect("a name");
    config
}

#[test]
fn at_binance_an_order_rests_trades_in_parts_is_changed_and_cancelled() {
    an_order_rests_trades_in_parts_is_changed_and_cancelled::<WebSocketApi>();
}

#[test]
fn in_sbe_at_binance_an_order_rests_trades_in_parts_is_changed_and_cancelled() {
    an_order_rests_trades_in_parts_is_changed_and_cancelled::<InSbe>();
}

#[test]
fn over_fix_at_binance_an_order_rests_trades_in_parts_is_changed_and_cancelled() {
    an_order_rests_trades_in_parts_is_changed_and_cancelled::<Fix>();
}

#[test]
fn at_binance_tops_come_before_the_books_change_and_best_levels_beside_it() {
    tops_come_before_the_books_change_and_best_levels_beside_it::<Ahead<false>>();
}

#[test]
fn in_sbe_at_binance_tops_come_before_the_books_change_and_best_levels_beside_it() {
    tops_come_before_the_books_change_and_best_levels_beside_it::<Ahead<true>>();
}

/// Over a session of the first member's that only listens.
#[test]
fn at_binance_drop_copies_say_what_the_session_said() {
    copies_say_what_the_session_said::<WebSocketApi>(|at, tell| {
        let (api_key, seed) = ("one".to_owned(), SEEDS[0]);
        CopyReaderSettings {
            addresses: vec![at.fix.to_string()],
            sender_comp_id: CompId::new(b"COPIES").expect("a name"),
            target_comp_id: CompId::new(b"SPOT").expect("a name"),
            heartbeat_interval: Nanos::from_secs(30),
            venue: CopiedVenue::Binance {
                credentials: Credentials::Binance { api_key, seed },
                tls: None,
            },
            grace: Nanos::from_millis(100),
            tell: Tell::new(tell),
        }
    });
}

#[test]
fn at_binance_an_instrument_that_is_added_is_followed_and_traded() {
    an_instrument_that_is_added_is_followed_and_traded::<WebSocketApi<2>>();
}

#[test]
fn over_fix_at_binance_an_instrument_that_is_added_is_followed_and_traded() {
    an_instrument_that_is_added_is_followed_and_traded::<Fix<2>>();
}

/// Plays so many seeds.
fn agree<L: Language>(seeds: u64) {
    let mut all = Outcome::default();
    for_each_seed(0..seeds, |_, random| all.add(under_faults_all_agree_at_every_rest::<L>(random)));
    all.is_something();
}

#[test]
fn under_faults_both_members_and_binance_agree_in_the_end() {
    agree::<WebSocketApi>(3);
}

#[test]
fn under_faults_in_sbe_both_members_and_binance_agree_in_the_end() {
    agree::<InSbe>(2);
}

#[test]
fn under_faults_over_fix_both_members_and_binance_agree_in_the_end() {
    agree::<Fix>(3);
}

#[test]
fn at_binance_a_stall_is_noticed_with_orders_under_way() {
    a_stall_is_noticed_with_orders_under_way::<WebSocketApi>();
}

#[test]
fn at_binance_half_a_message_ends_its_connection_and_tells_nothing() {
    half_a_message_ends_its_connection_and_tells_nothing::<WebSocketApi>();
}

#[test]
fn over_fix_at_binance_half_a_message_ends_its_connection_and_tells_nothing() {
    half_a_message_ends_its_connection_and_tells_nothing::<Fix>();
}

#[test]
fn at_binance_a_book_that_the_feed_crosses_is_told_anew() {
    a_book_that_the_feed_crosses_is_told_anew::<WebSocketApi>();
}

#[test]
fn at_binance_an_old_snapshot_joins_nothing_and_is_asked_for_again_within_the_budget() {
    an_old_snapshot_joins_nothing_and_is_asked_for_again_within_the_budget::<WebSocketApi>();
}

#[test]
fn at_binance_ids_that_begin_again_are_others() {
    ids_that_begin_again_are_others::<WebSocketApi>();
}

#[test]
fn over_fix_at_binance_ids_that_begin_again_are_others() {
    ids_that_begin_again_are_others::<Fix>();
}

#[test]
fn at_binance_a_delisted_instrument_has_no_orders() {
    a_delisted_instrument_has_no_orders::<WebSocketApi>();
}

#[test]
fn at_binance_a_larger_price_step_ends_trading_here() {
    a_larger_price_step_ends_trading_here::<WebSocketApi>();
}

#[test]
fn at_binance_who_reads_too_slowly_is_cut_off_and_comes_back() {
    who_reads_too_slowly_is_cut_off_and_comes_back::<WebSocketApi>();
}
