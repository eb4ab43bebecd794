//! The venues' settings, and the gateways'.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use taut::fix::CompId;
use taut::fix_engine::Credentials;
use taut::gateway::{
    BinanceOrderSettings, BinanceWs, DeribitJson, DeribitOrderSettings, DeribitStream,
    DeribitStreamSettings, FeedInput, FeedSession, FeedStreams, GatewayConfig, SessionSettings,
    SnapshotLimits, StreamAddress, Transport,
};
use taut::market_data::binance::{BinanceConfig, BinanceFeeds};
use taut::market_data::deribit::DeribitFeed;
use taut::market_data::{ChainConfig, NamedInstrument};
use taut::oms::{Rate, UniformLimits};
use taut::types::{Instrument, InstrumentId, Lots, Nanos, Price, Qty, Symbol};
use taut_order_entry::sign::Ed25519Key;
use taut_web_venue::binance::BinanceSettings;
use taut_web_venue::deribit::DeribitSettings;
use taut_web_venue::{
    AccountSettings, ApiKeySettings, BinanceAccountSettings, KeySettings, Kind, MarketSettings,
    SymbolMarket, SymbolSettings,
};

/// Where a venue's interface is on its network.
pub const AT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8_080);
/// What is traded at Deribit and at Binance: a thousandth of a bitcoin is a lot.
pub const SYMBOLS: [&str; 2] = ["BTC_USDC-PERP", "BTCUSDT"];
pub const NAMES: [&str; 2] = ["BTC_USDC-PERPETUAL", "BTCUSDT"];
/// Half a dollar.
pub const TICK: Price = Price(500_000_000);
/// The account's key at Binance.
const SEED: [u8; 32] = [3; 32];
const QUICKLY: (Nanos, Nanos) = (Nanos::from_millis(5), Nanos::from_millis(200));

pub fn instrument(venue: usize) -> Instrument {
    let symbol = Symbol::new(SYMBOLS[venue].as_bytes()).expect("short");
    let lot = Qty { mantissa: 1, decimals: 3 };
    Instrument::new(InstrumentId(0), symbol, TICK, lot).expect("an instrument")
}

pub fn deribit() -> DeribitSettings {
    let market = MarketSettings {
        name: NAMES[0].to_owned(),
        kind: Kind::Future,
        base: "BTC".to_owned(),
        quote: "USDC".to_owned(),
        settlement: "USDC".to_owned(),
        tick: "0.5".to_owned(),
        tick_steps: Vec::new(),
        min_trade_amount: "0.001".to_owned(),
        contract_size: "0.001".to_owned(),
        maker_commission: "0".to_owned(),
        taker_commission: "0".to_owned(),
        expiration_ms: None,
        strike: None,
        option_type: None,
        start_price: "43000".to_owned(),
        weight: 1,
    };
    let key = KeySettings { id: "one".to_owned(), secret: "secret".to_owned(), read_only: false };
    let account = AccountSettings {
        name: "one".to_owned(),
        keys: vec![key],
        balances: [("USDC".to_owned(), "1000000".to_owned())].into(),
        self_trading: "reject_taker".to_owned(),
        matching_rate: 1_000,
        matching_burst: 2_000,
    };
    DeribitSettings { instruments: vec![market], accounts: vec![account] }
}

/// What the account has of each asset at Binance in the beginning.
pub const BALANCE: i64 = 1_000_000;

pub fn binance() -> BinanceSettings {
    let market = SymbolSettings {
        name: NAMES[1].to_owned(),
        market: SymbolMarket::SpotMarket,
        base: "BTC".to_owned(),
        quote: "USDT".to_owned(),
        tick: "0.5".to_owned(),
        max_price: "1000000".to_owned(),
        step: "0.001".to_owned(),
        max_quantity: "9000".to_owned(),
        min_notional: "5".to_owned(),
        max_orders: 200,
        start_price: "43000".to_owned(),
        weight: 1,
    };
    // RFC 8410: an Ed25519 key's twelve bytes, and the key.
    let mut public = vec![0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    public.extend(Ed25519Key::new(&SEED).public());
    let key = ApiKeySettings {
        id: "one".to_owned(),
        secret: None,
        public_key: Some(base64(&public)),
        read_only: false,
    };
    let account = BinanceAccountSettings {
        name: "one".to_owned(),
        keys: vec![key],
        balances: ["BTC", "USDT"].map(|asset| (asset.to_owned(), BALANCE.to_string())).into(),
        maker_commission: "0".to_owned(),
        taker_commission: "0".to_owned(),
        orders_per_10s: 1_000,
        orders_per_day: 1_000_000,
    };
    BinanceSettings { instruments: vec![market], accounts: vec![account] }
}

/// RFC 4648, section 4, of a number of bytes that needs no filling.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (pieces, rest) = bytes.as_chunks::<3>();
    let mut text = String::new();
    for [a, b, c] in pieces {
        let bits = u32::from(*a) << 16 | u32::from(*b) << 8 | u32::from(*c);
        text.extend((0..4).rev().map(|at| char::from(LETTERS[(bits >> (6 * at)) as usize & 63])));
    }
    match rest {
        [] => {}
        [a, b] => {
            let bits = u32::from(*a) << 16 | u32::from(*b) << 8;
            let letter = |at: u32| char::from(LETTERS[(bits >> (6 * at)) as usize & 63]);
            text.extend([letter(3), letter(2), letter(1), '=']);
        }
        _ => panic!("a key of another length"),
    }
    text
}

fn config(venue: usize, url: &str, credentials: Credentials) -> GatewayConfig {
    let name = |text: &[u8]| CompId::new(text).expect("a name");
    GatewayConfig {
        instruments: vec![instrument(venue)],
        order_address: AT,
        sender_comp_id: name(b"ONE"),
        target_comp_id: name(b"VENUE"),
        heartbeat_interval: Nanos::from_secs(10),
        session: SessionSettings {
            transport: Transport::WebSocket { url: url.to_owned(), tls: None },
            credentials: Some(credentials),
            waits_for_venue: true,
            reconnect: QUICKLY,
            ..SessionSettings::default()
        },
        order_capacity: 256,
        risk: UniformLimits {
            collar_ppm: 50_000,
            lots_max: Lots(10_000),
            position_lots_max: Lots(100_000),
            orders: Rate { per_second: 1_000, burst: 1_000 },
            open_orders_max: 100,
        }
        .into(),
        hot: false,
        keeps_warm: false,
    }
}

fn at(url: &str) -> StreamAddress {
    StreamAddress::new(SocketAddr::V4(AT), url.to_owned())
}

pub type Parts<F, H> = (GatewayConfig, FeedInput, F, H);

pub fn deribit_gateway(now: Nanos) -> Parts<DeribitFeed, DeribitJson> {
    let url = "ws://localhost/ws/api/v2";
    let (client_id, secret) = ("one".to_owned(), "secret".to_owned());
    let config = config(0, url, Credentials::Deribit { client_id, secret });
    let session = DeribitStream::new(&DeribitStreamSettings::new(vec![NAMES[0].to_owned()]));
    let input = FeedInput::Session(FeedSession {
        stream: at(url),
        tls: None,
        session: Box::new(session),
        reconnect: QUICKLY,
    });
    let named = [NamedInstrument { name: NAMES[0].as_bytes(), instrument: instrument(0) }];
    let chain =
        ChainConfig { snapshot_interval: Nanos::from_millis(50), ..ChainConfig::new(&named) };
    let feed = DeribitFeed::new(&chain, now).expect("a feed");
    let orders = DeribitOrderSettings {
        names: vec![NAMES[0].to_owned()],
        orders: Rate { per_second: 500, burst: 1_000 },
        ..DeribitOrderSettings::default()
    };
    let orders = DeribitJson::new(&config, orders).expect("a key");
    (config, input, feed, orders)
}

pub fn binance_gateway(now: Nanos) -> Parts<BinanceFeeds, BinanceWs> {
    let credentials = Credentials::Binance { api_key: "one".to_owned(), seed: SEED };
    let config = config(1, "ws://localhost/ws-api/v3", credentials);
    let depth = format!(
        "{{\"id\":0,\"method\":\"depth\",\"params\":{{\"symbol\":\"{}\",\"limit\":100}}}}",
        NAMES[1]
    );
    let input = FeedInput::Streams(FeedStreams {
        stream: at("ws://localhost/stream?streams=btcusdt@depth@100ms/btcusdt@trade"),
        snapshot: at("ws://localhost/ws-api/v3"),
        figures: None,
        snapshot_requests: vec![depth],
        books: Vec::new(),
        snapshot_limits: SnapshotLimits::of_levels(100),
        symbols: None,
        silence: Nanos::from_secs(10),
        renewed_after: FeedStreams::RENEWED_AFTER,
        tls: None,
    });
    let book = BinanceConfig { snapshot_limit: Some(100), ..BinanceConfig::new(instrument(1)) };
    let feed = BinanceFeeds::new(&[(NAMES[1], book)], now).expect("a feed");
    let orders = BinanceOrderSettings {
        orders: Rate { per_second: 50, burst: 400 },
        ..BinanceOrderSettings::default()
    };
    let orders = BinanceWs::new(&config, orders).expect("a key");
    (config, input, feed, orders)
}
