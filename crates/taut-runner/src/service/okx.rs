//! `[okx]` of a gateway's file.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use taut_gateway::{OkxOrderSettings, OkxSelfTrade, OkxTradeMode};

use super::secret::SecretSource;

/// What orders are paid with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OkxMode {
    /// What the account has.
    #[default]
    Cash,
    /// Margin that all positions share.
    Cross,
    /// Margin of the position alone.
    Isolated,
}

impl From<OkxMode> for OkxTradeMode {
    fn from(mode: OkxMode) -> Self {
        match mode {
            OkxMode::Cash => Self::Cash,
            OkxMode::Cross => Self::Cross,
            OkxMode::Isolated => Self::Isolated,
        }
    }
}

/// What happens where an order would trade with another one of the account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OkxSelfTradeRule {
    /// The resting order ends.
    #[default]
    CancelMaker,
    /// What is left of the incoming order ends.
    CancelTaker,
    /// Both end.
    CancelBoth,
}

impl From<OkxSelfTradeRule> for OkxSelfTrade {
    fn from(rule: OkxSelfTradeRule) -> Self {
        match rule {
            OkxSelfTradeRule::CancelMaker => Self::CancelMaker,
            OkxSelfTradeRule::CancelTaker => Self::CancelTaker,
            OkxSelfTradeRule::CancelBoth => Self::CancelBoth,
        }
    }
}

/// `[okx]`: where OKX is, how it is used, and who trades there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct OkxKeys {
    /// Its public WebSocket: books and trades.
    pub public: String,
    /// Its private WebSocket: orders.
    pub private: String,
    /// Its HTTP interface, on which is asked where orders stand: `https://HOST`, or `http://` of a
    /// rehearsal.
    pub api: String,
    /// The address of all three, in the place of those that their names have.
    pub address: Option<SocketAddrV4>,
    /// Roots that its certificates are checked by, PEM; the system's where none are named.
    pub ca: Option<PathBuf>,
    /// What the venue calls the key.
    pub api_key: String,
    /// Where the key's secret is.
    pub secret: Option<SecretSource>,
    /// Where the key's passphrase is.
    pub passphrase: Option<SecretSource>,
    /// Whether the key is one of the demonstration account.
    pub demo: bool,
    /// The channel of books.
    pub books: String,
    /// What orders are paid with.
    pub mode: OkxMode,
    /// What happens where an order would trade with another one of the account.
    pub self_trade: OkxSelfTradeRule,
    /// A ping goes out when nothing was heard for so long on the order session, which is given up
    /// after three times as long.
    pub heartbeat_seconds: u32,
    /// The market data's connection is given up when it brings no data for so long, in
    /// milliseconds.
    pub silence_ms: u32,
    /// A book whose channel brings nothing for so long while others do is stale, and its channel
    /// subscribed to anew, in milliseconds; 0 for never.
    pub channel_silence_ms: u32,
    /// Orders and amendments a second, and at once; cancels have as many of their own.
    pub orders_per_second: u32,
    /// See `orders_per_second`.
    pub orders_burst: u32,
    /// Questions a second, and at once.
    pub questions_per_second: u32,
    /// See `questions_per_second`.
    pub questions_burst: u32,
}

impl Default for OkxKeys {
    fn default() -> Self {
        let orders = OkxOrderSettings::default();
        Self {
            public: "wss://ws.okx.com:8443/ws/v5/public".to_owned(),
            private: "wss://ws.okx.com:8443/ws/v5/private".to_owned(),
            api: "https://www.okx.com".to_owned(),
            address: None,
            ca: None,
            api_key: String::new(),
            secret: None,
            passphrase: None,
            demo: false,
            books: "books".to_owned(),
            mode: OkxMode::default(),
            self_trade: OkxSelfTradeRule::default(),
            heartbeat_seconds: 20,
            silence_ms: 30_000,
            channel_silence_ms: 0,
            orders_per_second: orders.orders.per_second,
            orders_burst: orders.orders.burst,
            questions_per_second: orders.questions.per_second,
            questions_burst: orders.questions.burst,
        }
    }
}
