//! A run at Deribit: market data in JSON over WebSocket, orders too or over FIX.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use taut_types::HalfTicks;
use taut_web_venue::{AccountSettings, Faults, KeySettings, Kind, MarketSettings};

use super::doors::Found;
use super::parts::{CLIENT, CONNECTIONS_MAX, SECRET, crowd, traded};
use crate::error::RunnerError;
use crate::service::{
    CredentialKind, DeribitInterval, DeribitKeys, DeribitOrders, DeribitVenueFile,
};
use crate::settings::{Contract, InstrumentSettings, Settings, Simulator, SimulatorOrders};

/// How its Logon is signed.
pub const CREDENTIALS: CredentialKind = CredentialKind::Deribit;

/// More requests than any run makes: the gateway's own limits are what holds.
const REQUESTS_PER_SECOND: u32 = 1_000_000;
/// Where the crowd's market begins, in ticks.
const START_TICKS: i64 = 120_000;
/// What the account has of each currency.
const BALANCE: &str = "1000000";

/// The venue of a gateway: books change by change, orders over the same interface or over FIX.
pub fn keys(venue: &Found) -> DeribitKeys {
    DeribitKeys {
        url: venue.url("/ws/api/v2"),
        ca: venue.ca.clone(),
        interval: DeribitInterval::Raw,
        orders: match venue.over {
            SimulatorOrders::Json => DeribitOrders::Json,
            SimulatorOrders::Fix => DeribitOrders::Fix,
        },
        fix: venue.orders(),
        fix_tls: venue.ca.is_some(),
        orders_per_second: REQUESTS_PER_SECOND,
        orders_burst: REQUESTS_PER_SECOND,
        ..DeribitKeys::default()
    }
}

/// The venue.
pub fn venue_file(
    settings: &Settings,
    simulator: &Simulator,
) -> Result<DeribitVenueFile, RunnerError> {
    let markets: Result<Vec<_>, _> = traded(settings).iter().map(market).collect();
    let instruments = markets?;
    let balances = instruments.iter().map(|it| (it.settlement.clone(), BALANCE.to_owned()));
    let key = KeySettings { id: CLIENT.to_owned(), secret: SECRET.to_owned(), read_only: false };
    let account = AccountSettings {
        name: CLIENT.to_owned(),
        keys: vec![key],
        balances: balances.collect::<BTreeMap<_, _>>(),
        self_trading: "cancel_maker".to_owned(),
        matching_rate: REQUESTS_PER_SECOND,
        matching_burst: REQUESTS_PER_SECOND,
    };
    Ok(DeribitVenueFile {
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

/// A perpetual of these terms: an inverse one is settled in its currency, a linear one in dollars.
fn market(traded: &InstrumentSettings) -> Result<MarketSettings, RunnerError> {
    let instrument = traded.build()?;
    let name = traded.venue_name();
    let base = name.split(['-', '_']).next().unwrap_or(name).to_owned();
    let (base, quote) = match (traded.contract, &traded.currency) {
        (Contract::Inverse, currency) => (currency.clone().unwrap_or(base), "USD".to_owned()),
        (Contract::Linear, currency) => (base, currency.clone().unwrap_or("USDC".to_owned())),
    };
    let settlement = match traded.contract {
        Contract::Inverse => base.clone(),
        Contract::Linear => quote.clone(),
    };
    let start = instrument.price(HalfTicks(2 * START_TICKS)).map_err(|_| {
        RunnerError::setting("instrument.tick", &traded.tick, "less: a price is many of them")
    })?;
    let fee = |fee: &Option<String>| fee.clone().unwrap_or_else(|| "0".to_owned());
    let lot = instrument.lot().to_string();
    Ok(MarketSettings {
        name: name.to_owned(),
        kind: Kind::Future,
        base,
        quote,
        settlement,
        tick: traded.tick.clone(),
        tick_steps: Vec::new(),
        min_trade_amount: lot.clone(),
        contract_size: lot,
        maker_commission: fee(&traded.maker_fee),
        taker_commission: fee(&traded.taker_fee),
        expiration_ms: None,
        strike: None,
        option_type: None,
        start_price: start.to_string(),
        weight: traded.weight,
    })
}
