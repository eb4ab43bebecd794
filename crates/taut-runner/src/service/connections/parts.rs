//! What a gateway is built of, whichever its venue.

use std::net::SocketAddrV4;

use taut_fix::CompId;
use taut_gateway::{
    AnyOrders, FeedInput, FeedSockets, GatewayConfig, GatewayError, OrderHandler, SessionSettings,
    Through, Transport,
};
use taut_market_data::AnyFeed;
use taut_sys::Wait;
use taut_types::Nanos;

use super::tap::Tap;
use crate::error::RunnerError;
use crate::mistakes::Mistake;
use crate::service::file::GatewayFile;
use crate::service::journal::JournalKeys;

/// A venue's market data.
pub struct MarketData<F> {
    pub input: FeedInput,
    /// Reads it.
    pub handler: F,
    /// Where the same arrives, too, and when it is taken from there.
    pub backup: Option<(FeedSockets, Nanos)>,
}

impl<F: Into<AnyFeed>> MarketData<F> {
    /// As that of any venue: gateways are compiled once for all of them.
    pub fn of_any(self) -> MarketData<AnyFeed> {
        let Self { input, handler, backup } = self;
        MarketData { input, handler: handler.into(), backup }
    }
}

/// What a gateway at some venue is built of.
pub struct Connections<F, H> {
    pub config: GatewayConfig,
    pub market_data: MarketData<F>,
    /// Sends orders.
    pub orders: H,
    /// Where a venue on paper hears of the market.
    pub tap: Option<Tap>,
}

impl<F, H: OrderHandler + Send + 'static> Connections<F, H> {
    /// With orders as those of any venue.
    pub fn of_any(self) -> Connections<F, AnyOrders> {
        let Self { config, market_data, orders, tap } = self;
        Connections { config, market_data, orders: Box::new(orders), tap }
    }
}

/// Where and how a gateway's orders go.
pub struct OrderRoute {
    pub address: SocketAddrV4,
    /// Tried after it, before those of the file.
    pub others: Vec<SocketAddrV4>,
    pub transport: Transport,
    pub through: Option<Through>,
    pub sender: CompId,
    pub target: CompId,
    pub heartbeat_interval: Nanos,
}

/// A gateway's settings with this route.
pub fn config(file: &GatewayFile, route: OrderRoute) -> Result<GatewayConfig, RunnerError> {
    let session = file.session.settings()?;
    let beside_journal = || file.journal.as_ref().map(JournalKeys::session_store);
    let backups = route.others.into_iter().chain(session.backups).collect();
    let session = SessionSettings {
        store: session.store.or_else(beside_journal),
        transport: route.transport,
        through: route.through,
        backups,
        ..session
    };
    Ok(GatewayConfig {
        instruments: file.instruments()?,
        order_address: route.address,
        sender_comp_id: route.sender,
        target_comp_id: route.target,
        heartbeat_interval: route.heartbeat_interval,
        session,
        order_capacity: file.gateway.orders,
        risk: file.rules()?.config(file),
        hot: file.waits() != Wait::Block,
        keeps_warm: file.gateway.keep_warm,
    })
}

/// An order handler that cannot be built.
pub fn refused(config: &GatewayConfig, error: GatewayError) -> RunnerError {
    RunnerError::Settings(match (error, &config.session.store) {
        (GatewayError::Store(errno), Some(path)) => {
            let why = std::io::Error::from_raw_os_error(errno);
            format!("the session's numbers, {}: {why}", path.display())
        }
        (error, _) => error.to_string(),
    })
}

/// How long a book's channel may be quiet while others are not; nothing where that is not looked
/// for.
pub(super) fn channel_silence(ms: u32) -> Option<Nanos> {
    (ms > 0).then(|| Nanos::from_millis(ms.into()))
}

pub(super) fn channel_silence_mistake(key: &str, ms: u32) -> Option<Mistake> {
    let remedy = "0, which is never, or at least 1000: a market may be quiet";
    (1..1_000).contains(&ms).then(|| Mistake::new(key, ms, remedy))
}
