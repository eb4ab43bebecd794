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
use taut_io::EpollKernel;
use taut_market_data::binance::{BinanceConfig, BinanceFeeds, Encoding};
use taut_oms::Rate;
use taut_order_entry::binance::rest_signature;
use taut_order_entry::sign::{Ed25519Key, HmacKey};
use taut_sys::{Anchoring, Clock, utc};
use taut_testkit::for_each_seed;
use taut_tests::setup::{VenueAddresses, base64, gateway_config};
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Side, Symbol};
use taut_web_venue::binance::{Binance, BinanceSettings};
use taut_web_venue::{
    ApiKeySettings, BinanceAccountSettings, Faults, SymbolMarket, SymbolSettings,
};

use crate::hands::{Hands, Obedient, Running};
use crate::members::{
    FAR, Language, Ports, an_instrument_that_is_added_is_followed_and_traded,
    an_order_rests_trades_in_parts_is_changed_and_cancelled, copies_say_what_the_session_said,
    risk_for, tops_come_before_the_books_change_and_best_levels_beside_it,
    under_faults_all_agree_in_the_end,
};

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
fn stir(symbols: usize) -> String {
    let far = place(NAME, "BUY", (FAR.0 / 1_000_000_000) as u32);
    let market = [place(SECOND, "BUY", 42_000), place(SECOND, "SELL", 44_000)].concat();
    if symbols > 1 { far + &market } else { far }
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
        balances: [("BTC", "1000"), ("USDT", "100000000")]
            .map(|(asset, amount)| (asset.to_owned(), amount.to_owned()))
            .into(),
        maker_commission: "0.001".to_owned(),
        taker_commission: "0.001".to_owned(),
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

/// An order of the maker's.
fn place(name: &str, side: &str, dollars: u32) -> String {
    let terms = format!(
        "symbol={name}&side={side}&type=LIMIT&timeInForce=GTC&quantity=0.001&price={dollars}\
         &timestamp={}",
        utc().0 / 1_000_000
    );
    let signed = rest_signature(&HmacKey::new(b"secret-of-maker"), terms.as_bytes(), b"");
    let signed = String::from_utf8_lossy(&signed);
    let target = format!("/api/v3/order?{terms}&signature={signed}");
    let headers = "X-MBX-APIKEY: maker\r\nContent-Length: 0";
    format!("POST {target} HTTP/1.1\r\n{headers}\r\n\r\n")
}

/// A lot is a thousandth.
fn bitcoin() -> Instrument {
    let (symbol, tick) = (Symbol::new(NAME.as_bytes()).expect("short"), Price(500_000_000));
    let lot = Qty { mantissa: 1, decimals: 3 };
    Instrument::new(InstrumentId(0), symbol, tick, lot).expect("an instrument")
}

fn maker_order(side: Side, dollars: u32) -> (String, &'static str) {
    let side = if side == Side::Buy { "BUY" } else { "SELL" };
    (place(NAME, side, dollars), "\"status\":\"NEW\"")
}

/// A book begins with a change.
const STIRRED: Nanos = Nanos::from_millis(20);

fn url(path: &str) -> String {
    format!("ws://localhost/{path}")
}

/// The settings of a member's gateway, whose orders go over the WebSocket API.
fn config(at: Ports, member: usize) -> GatewayConfig {
    let (api_key, seed) = (["one", "two"][member].to_owned(), SEEDS[member]);
    GatewayConfig {
        instruments: vec![bitcoin()],
        hot: false,
        heartbeat_interval: Nanos::from_secs(30),
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

fn gateway<'m, H: OrderHandler>(
    at: Ports,
    (encoding, beside): (Encoding, &str),
    (config, orders): (&GatewayConfig, H),
    hands: &Rc<RefCell<Hands>>,
    regions: &Regions<'m>,
) -> Running<'m, BinanceFeeds, H> {
    let clock = Clock::new(Anchoring::start().mapping());
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
    let kernel = EpollKernel::new(16).expect("a kernel");
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

    fn maker_order(side: Side, dollars: u32) -> (String, &'static str) {
        maker_order(side, dollars)
    }

    fn stir() -> String {
        stir(SYMBOLS)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m>(
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, BinanceFeeds, BinanceWs> {
        let config = GatewayConfig { risk: risk_for(SYMBOLS), ..config(at, member) };
        let orders = BinanceWs::new(&config, order_settings()).expect("a key");
        gateway(at, (Encoding::Json, ""), (&config, orders), hands, regions)
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

    fn maker_order(side: Side, dollars: u32) -> (String, &'static str) {
        maker_order(side, dollars)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m>(
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, BinanceFeeds, BinanceWs> {
        let config = config(at, member);
        let orders = BinanceWs::new(&config, order_settings()).expect("a key");
        gateway(at, (Encoding::Sbe, ""), (&config, orders), hands, regions)
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

    fn maker_order(side: Side, dollars: u32) -> (String, &'static str) {
        maker_order(side, dollars)
    }

    fn stir() -> String {
        stir(SYMBOLS)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m>(
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, BinanceFeeds, BinanceFix> {
        let config = GatewayConfig { risk: risk_for(SYMBOLS), ..over_fix(at, member) };
        let orders = BinanceFix::new(&config, order_settings()).expect("a key");
        gateway(at, (Encoding::Json, ""), (&config, orders), hands, regions)
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

    fn maker_order(side: Side, dollars: u32) -> (String, &'static str) {
        maker_order(side, dollars)
    }

    const STIRRED: Nanos = STIRRED;

    fn gateway<'m>(
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, BinanceFeeds, BinanceWs> {
        let config = config(at, member);
        let orders = BinanceWs::new(&config, order_settings()).expect("a key");
        let streams = match IS_SBE {
            true => (Encoding::Sbe, "/btcusdt@bestBidAsk/btcusdt@depth20"),
            false => (Encoding::Json, "/btcusdt@bookTicker/btcusdt@depth5@100ms"),
        };
        gateway(at, streams, (&config, orders), hands, regions)
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

const BAD_DAY: Faults = Faults {
    seed: 0,
    disconnect: 10,
    drop: 10,
    duplicate: 100,
    reorder: 0,
    mute: 0,
    sequence: 20,
    delay: 5,
    reject: 60,
    rate_limit: 0,
    unknown: 30,
    expire: 5,
    stall: 0,
    strange: 30,
    skew: 0,
    maintenance: false,
};

#[test]
fn under_faults_both_members_and_binance_agree_in_the_end() {
    for_each_seed(0..2, |seed, random| {
        let faults = Faults { seed, ..BAD_DAY };
        under_faults_all_agree_in_the_end::<WebSocketApi>(faults, random);
    });
}

#[test]
fn under_faults_in_sbe_both_members_and_binance_agree_in_the_end() {
    for_each_seed(0..2, |seed, random| {
        let faults = Faults { seed, ..BAD_DAY };
        under_faults_all_agree_in_the_end::<InSbe>(faults, random);
    });
}

#[test]
fn under_faults_over_fix_both_members_and_binance_agree_in_the_end() {
    for_each_seed(0..2, |seed, random| {
        // What a session sends at once is one message here, so that fewer meet with a fault.
        let faults = Faults { seed, reject: 120, ..BAD_DAY };
        under_faults_all_agree_in_the_end::<Fix>(faults, random);
    });
}
