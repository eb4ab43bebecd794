//! `[binance]` of a gateway's file.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use taut_gateway::{BinanceOrderSettings, BinanceSelfTrade, SnapshotLimits};

/// How often changes of a book are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BinanceInterval {
    /// Those of a tenth of a second together.
    #[default]
    #[serde(rename = "100ms")]
    Every100Ms,
    /// Those of a second together.
    #[serde(rename = "1000ms")]
    EverySecond,
}

/// What happens where an order would trade with another one of the account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelfTradeRule {
    /// What the symbol's own rule is.
    #[default]
    Default,
    /// They trade.
    None,
    /// What is left of the incoming order ends.
    ExpireTaker,
    /// The resting order ends.
    ExpireMaker,
    /// Both end.
    ExpireBoth,
    /// Both become smaller by what would have traded.
    Decrement,
}

impl From<SelfTradeRule> for BinanceSelfTrade {
    fn from(rule: SelfTradeRule) -> Self {
        match rule {
            SelfTradeRule::Default => Self::Default,
            SelfTradeRule::None => Self::None,
            SelfTradeRule::ExpireTaker => Self::ExpireTaker,
            SelfTradeRule::ExpireMaker => Self::ExpireMaker,
            SelfTradeRule::ExpireBoth => Self::ExpireBoth,
            SelfTradeRule::Decrement => Self::Decrement,
        }
    }
}

/// What orders go over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BinanceOrders {
    /// The WebSocket API.
    #[default]
    Json,
    /// FIX 4.4; questions about them over the WebSocket API.
    Fix,
}

/// `[binance]`: where Binance's spot market is and how it is used. Who trades there is
/// `[session.credentials]` of kind `binance`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct BinanceKeys {
    /// Its streams: `wss://HOST:PORT`, without a path.
    pub streams: String,
    /// Its WebSocket API: orders, questions about them, and snapshots of books.
    pub api: String,
    /// What orders go over.
    pub orders: BinanceOrders,
    /// `host:port` of its FIX interface.
    pub fix: String,
    /// Whether that is TLS.
    pub fix_tls: bool,
    /// Our name there: SenderCompID (49), one to eight letters, digits, `-` and `_`. Each session
    /// of an account has its own.
    pub fix_sender_comp_id: String,
    /// The address of the first two, in the place of those that their names have.
    pub address: Option<SocketAddrV4>,
    /// Roots that its certificate is checked by, PEM; the system's where none are named.
    pub ca: Option<PathBuf>,
    /// How often changes of a book are told.
    pub interval: BinanceInterval,
    /// Levels a side that a snapshot is asked for: 1,000 cost 50 of the 6,000 that an address may
    /// spend in a minute, 5,000 cost 250. Beyond the last one of them the book is not known.
    pub snapshot_levels: u32,
    /// A stream that brings nothing for so long is silent, in milliseconds.
    pub silence_ms: u32,
    /// The order session asks the venue's time so often, and is given up after three times without
    /// a word.
    pub heartbeat_seconds: u32,
    /// How late the venue may take a request, in milliseconds: `recvWindow`, RecvWindow
    /// (25000).
    pub window_ms: u32,
    /// What happens where an order would trade with another one of the account.
    pub self_trade: SelfTradeRule,
    /// Orders that the account may send a second, and at once: the venue counts those of ten
    /// seconds, in which ten times the one and once the other fit.
    pub orders_per_second: u32,
    /// See `orders_per_second`.
    pub orders_burst: u32,
    /// Orders that the account may send in a day of UTC.
    pub orders_per_day: u32,
    /// Weight of requests a second, and at once: the venue counts that of a minute, and of all that
    /// comes from the same address.
    pub weight_per_second: u32,
    /// See `weight_per_second`.
    pub weight_burst: u32,
    /// Of `weight_burst`, what is kept for cancels and questions.
    pub kept_for_cancels: u32,
    /// Weight that snapshots of books may cost a second, and at once.
    pub snapshot_weight_per_second: u32,
    /// See `snapshot_weight_per_second`.
    pub snapshot_weight_burst: u32,
}

impl Default for BinanceKeys {
    fn default() -> Self {
        let orders = BinanceOrderSettings::default();
        let snapshots = SnapshotLimits::of_levels(1_000);
        Self {
            streams: "wss://stream.binance.com:9443".to_owned(),
            api: "wss://ws-api.binance.com:443/ws-api/v3".to_owned(),
            orders: BinanceOrders::default(),
            fix: "fix-oe.binance.com:9000".to_owned(),
            fix_tls: true,
            fix_sender_comp_id: "TAUT".to_owned(),
            address: None,
            ca: None,
            interval: BinanceInterval::default(),
            snapshot_levels: 1_000,
            silence_ms: 10_000,
            heartbeat_seconds: 30,
            window_ms: orders.window_ms as u32,
            self_trade: SelfTradeRule::default(),
            orders_per_second: orders.orders.per_second,
            orders_burst: orders.orders.burst,
            orders_per_day: orders.orders_a_day,
            weight_per_second: orders.weight.per_second,
            weight_burst: orders.weight.burst,
            kept_for_cancels: orders.kept_for_cancels,
            snapshot_weight_per_second: snapshots.rate.per_second,
            snapshot_weight_burst: snapshots.rate.burst,
        }
    }
}
