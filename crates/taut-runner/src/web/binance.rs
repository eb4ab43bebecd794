//! A run at Binance's spot market: streams, and orders over the WebSocket API or over FIX.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use taut_types::HalfTicks;
use taut_web_venue::{
    ApiKeySettings, BinanceAccountSettings, Faults, SymbolMarket, SymbolSettings,
};

use super::doors::Found;
use super::parts::{CLIENT, CONNECTIONS_MAX, crowd, traded};
use crate::error::RunnerError;
use crate::service::{BinanceKeys, BinanceOrders, BinanceVenueFile, CredentialKind};
use crate::settings::{InstrumentSettings, Settings, Simulator, SimulatorOrders};

/// How its session is logged on.
pub const CREDENTIALS: CredentialKind = CredentialKind::Binance;

/// The private key of the example in the venue's documents, and its public key.
pub const SECRET: &str = "-----BEGIN PRIVATE KEY-----\n\
     MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u\n\
     -----END PRIVATE KEY-----\n";
const PUBLIC: &str = "MCowBQYDK2VwAyEAGUIKv9dSpWXBViXp2m6vAIb8QMFJYBgyFEQsFJlqgA0=";

/// More orders than any run sends. The weight of requests is the venue's own, 6,000 a minute.
const ORDERS_MAX: u32 = 100_000_000;
const ORDERS_PER_SECOND: u32 = 1_000_000;
/// Where the crowd's market begins, in ticks.
const START_TICKS: i64 = 120_000;
/// What the account has of each asset.
const BALANCE: &str = "100000000";
/// The smallest order is worth nothing in particular.
const NOTIONAL_MIN: &str = "0.01";
/// Open orders of the account in a symbol.
const OPEN_ORDERS_MAX: u32 = 10_000;

/// The venue of a gateway: books each tenth of a second, orders over the WebSocket API or over FIX.
pub fn keys(venue: &Found) -> BinanceKeys {
    BinanceKeys {
        streams: Some(venue.url("")),
        api: Some(venue.url("/ws-api/v3")),
        ca: venue.ca.clone(),
        orders: match venue.over {
            SimulatorOrders::Json => BinanceOrders::Json,
            SimulatorOrders::Fix => BinanceOrders::Fix,
        },
        fix: venue.orders(),
        fix_tls: venue.ca.is_some(),
        orders_per_second: ORDERS_PER_SECOND,
        orders_burst: ORDERS_PER_SECOND,
        orders_per_day: ORDERS_MAX,
        ..BinanceKeys::default()
    }
}

/// The venue.
pub fn venue_file(
    settings: &Settings,
    simulator: &Simulator,
) -> Result<BinanceVenueFile, RunnerError> {
    let instruments: Result<Vec<_>, _> = traded(settings).iter().map(symbol).collect();
    let instruments = instruments?;
    let assets = instruments.iter().flat_map(|it| [it.base.clone(), it.quote.clone()]);
    let commission = |fee: fn(&InstrumentSettings) -> &Option<String>| {
        traded(settings).iter().find_map(|it| fee(it).clone()).unwrap_or_else(|| "0".to_owned())
    };
    let key = ApiKeySettings {
        id: CLIENT.to_owned(),
        secret: None,
        public_key: Some(PUBLIC.to_owned()),
        read_only: false,
    };
    let account = BinanceAccountSettings {
        name: CLIENT.to_owned(),
        keys: vec![key],
        balances: assets.map(|asset| (asset, BALANCE.to_owned())).collect::<BTreeMap<_, _>>(),
        maker_commission: commission(|it| &it.maker_fee),
        taker_commission: commission(|it| &it.taker_fee),
        orders_per_10s: ORDERS_MAX,
        orders_per_day: ORDERS_MAX,
    };
    Ok(BinanceVenueFile {
        name: None,
        listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, simulator.port))],
        tls: None,
        venue_fix: Vec::new(),
        fix: None,
        connections_max: CONNECTIONS_MAX,
        instruments,
        accounts: vec![account],
        flow: crowd(simulator),
        recordings: Vec::new(),
        faults: Faults::default(),
    })
}

/// A currency pair of these terms: what its name has before its currency is what is traded.
fn symbol(traded: &InstrumentSettings) -> Result<SymbolSettings, RunnerError> {
    let instrument = traded.build()?;
    let name = traded.venue_name();
    let quote = traded.currency.clone().unwrap_or_else(|| "USDT".to_owned());
    let base = name.strip_suffix(quote.as_str()).filter(|base| !base.is_empty());
    let base = base.ok_or_else(|| {
        RunnerError::setting("instrument.name", name, format!("one that ends in {quote}"))
    })?;
    let start = instrument.price(HalfTicks(2 * START_TICKS)).map_err(|_| {
        RunnerError::setting("instrument.tick", &traded.tick, "less: a price is many of them")
    })?;
    Ok(SymbolSettings {
        name: name.to_owned(),
        market: SymbolMarket::SpotMarket,
        base: base.to_owned(),
        quote,
        tick: traded.tick.clone(),
        max_price: "1000000".to_owned(),
        step: instrument.lot().to_string(),
        max_quantity: "9000".to_owned(),
        min_notional: NOTIONAL_MIN.to_owned(),
        max_orders: OPEN_ORDERS_MAX,
        start_price: start.to_string(),
        weight: traded.weight,
    })
}
