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
    /// As `Decrement`; between accounts of the same owner it is transferred, where both orders ask
    /// for it.
    Transfer,
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
            SelfTradeRule::Transfer => Self::Transfer,
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

/// Which of the venue's markets it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BinanceMarket {
    /// The spot market.
    #[default]
    #[serde(rename = "spot")]
    SpotMarket,
    /// USD-margined futures: market data alone, for trading on paper.
    UsdM,
}

/// How market data are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BinanceEncoding {
    /// In JSON.
    #[default]
    Json,
    /// In SBE: shorter, more often, and for who shows a key.
    Sbe,
}

/// Where the best prices come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BinanceBest {
    /// The book alone.
    #[default]
    Book,
    /// The stream of best prices, too, which is ahead of the book: `bookTicker`, in SBE
    /// `bestBidAsk`.
    Stream,
}

/// `[binance]`: where Binance is and how it is used. Who trades there is
/// `[session.credentials]` of kind `binance`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct BinanceKeys {
    /// Which market it is.
    pub market: BinanceMarket,
    /// How its streams are written. Those in SBE want the API key of `[session.credentials]`, also
    /// on paper.
    pub encoding: BinanceEncoding,
    /// Its streams, `wss://HOST:PORT`, to which `/stream` is added; without it where the venue has
    /// those of this market in this encoding.
    pub streams: Option<String>,
    /// Its WebSocket API, for orders, questions about them, and snapshots of books; without it
    /// where the venue has that of this market.
    pub api: Option<String>,
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
    /// How often changes of a book are told; in SBE it is each 50 ms.
    pub interval: BinanceInterval,
    /// Where the best prices come from. Strategies are told each of them once, in the order of the
    /// venue's updates, whichever stream says it first.
    pub best: BinanceBest,
    /// Levels a side of partial depth that strategies are told as they come, beside the book: 5, 10
    /// or 20, in SBE 20, or none, 0.
    pub best_levels: u32,
    /// Levels a side that a snapshot is asked for: 1,000 cost 50 of the 6,000 that an address may
    /// spend in a minute, 5,000 cost 250; of futures 1,000, the most, cost 20 of 2,400. Beyond the
    /// last one of them the book is not known.
    pub snapshot_levels: u32,
    /// A stream that brings nothing for so long is silent, in milliseconds.
    pub silence_ms: u32,
    /// A book whose channel brings nothing for so long while others do is stale, and its channel
    /// subscribed to anew, in milliseconds; 0 for never.
    pub channel_silence_ms: u32,
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
            market: BinanceMarket::default(),
            encoding: BinanceEncoding::default(),
            streams: None,
            api: None,
            orders: BinanceOrders::default(),
            fix: "fix-oe.binance.com:9000".to_owned(),
            fix_tls: true,
            fix_sender_comp_id: "TAUT".to_owned(),
            address: None,
            ca: None,
            interval: BinanceInterval::default(),
            best: BinanceBest::default(),
            best_levels: 0,
            snapshot_levels: 1_000,
            silence_ms: 10_000,
            channel_silence_ms: 0,
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

impl BinanceKeys {
    /// Where its streams are.
    pub(super) fn streams(&self) -> &str {
        self.streams.as_deref().unwrap_or(match (self.market, self.encoding) {
            (BinanceMarket::SpotMarket, BinanceEncoding::Json) => "wss://stream.binance.com:9443",
            (BinanceMarket::SpotMarket, BinanceEncoding::Sbe) => {
                "wss://stream-sbe.binance.com:9443"
            }
            (BinanceMarket::UsdM, _) => "wss://fstream.binance.com",
        })
    }

    /// Where its WebSocket API is.
    pub(super) fn api(&self) -> &str {
        self.api.as_deref().unwrap_or(match self.market {
            BinanceMarket::SpotMarket => "wss://ws-api.binance.com:443/ws-api/v3",
            BinanceMarket::UsdM => "wss://ws-fapi.binance.com/ws-fapi/v1",
        })
    }
}
