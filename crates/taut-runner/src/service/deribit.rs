//! `[deribit]` of a gateway's file.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use taut_gateway::DeribitOrderSettings;
use taut_market_data::deribit::BookChannel;

/// What orders go over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeribitOrders {
    /// JSON-RPC over WebSocket.
    #[default]
    Json,
    /// FIX 4.4.
    Fix,
}

/// What market data come over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeribitMarketData {
    /// JSON-RPC over WebSocket.
    #[default]
    WebSocket,
    /// FIX 4.4, in a session of its own.
    Fix,
}

/// How often changes of a book are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeribitInterval {
    /// Each by itself, to those who have a key.
    #[serde(rename = "raw")]
    Raw,
    /// Those of a tenth of a second together.
    #[default]
    #[serde(rename = "100ms")]
    Every100Ms,
    /// Those of a second together.
    #[serde(rename = "agg2")]
    Aggregated,
}

impl DeribitInterval {
    /// As it stands in the name of a channel.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Every100Ms => "100ms",
            Self::Aggregated => "agg2",
        }
    }
}

/// What books are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeribitBook {
    /// A snapshot, and then each change.
    #[default]
    Changes,
    /// The best levels, all of them each time.
    Grouped,
    /// The best price of each side.
    Quote,
}

impl DeribitBook {
    /// As the file has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Changes => "changes",
            Self::Grouped => "grouped",
            Self::Quote => "quote",
        }
    }

    /// The channel that brings them.
    #[must_use]
    pub const fn channel(self) -> BookChannel {
        match self {
            Self::Changes => BookChannel::Changes,
            Self::Grouped => BookChannel::Grouped,
            Self::Quote => BookChannel::Quote,
        }
    }
}

/// `[deribit]`: where Deribit is and how it is used. Who trades there is `[session.credentials]`
/// of kind `deribit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DeribitKeys {
    /// Its WebSocket.
    pub url: String,
    /// The address of that, in the place of those that its name has.
    pub address: Option<SocketAddrV4>,
    /// Roots that its certificate is checked by, PEM; the system's where none are named.
    pub ca: Option<PathBuf>,
    /// What market data come over: over FIX each change by itself, without states and figures.
    pub market_data: DeribitMarketData,
    /// How often changes of a book are told.
    pub interval: DeribitInterval,
    /// What books are made of.
    pub book: DeribitBook,
    /// The price step of a grouped book's levels, a whole number, or `none`: the instrument's.
    pub group: String,
    /// The levels of a side of a grouped book: 1, 10 or 20.
    pub depth: u8,
    /// What orders go over.
    pub orders: DeribitOrders,
    /// `host:port` of its FIX interface.
    pub fix: String,
    /// Whether that is TLS.
    pub fix_tls: bool,
    /// Our name there: SenderCompID (49).
    pub fix_sender_comp_id: String,
    /// The venue cancels what is open when the connection ends.
    pub cancel_on_disconnect: bool,
    /// No other program has orders in the account: many cancels in an instrument leave as one
    /// request that ends all of the account's orders there.
    pub owns_account: bool,
    /// The interval of heartbeats on the order session, in seconds.
    pub heartbeat_seconds: u32,
    /// The market data's connection is given up when it brings no data for so long, in
    /// milliseconds.
    pub silence_ms: u32,
    /// A book whose channel brings nothing for so long while others do is stale, and its channel
    /// subscribed to anew, in milliseconds; 0 for never.
    pub channel_silence_ms: u32,
    /// Orders, edits and cancels that the account may send a second, and at once.
    pub orders_per_second: u32,
    /// See `orders_per_second`.
    pub orders_burst: u32,
    /// Of `orders_burst`, what cancels alone may use.
    pub kept_for_cancels: u32,
    /// All other requests a second, and at once.
    pub questions_per_second: u32,
    /// See `questions_per_second`.
    pub questions_burst: u32,
}

impl Default for DeribitKeys {
    fn default() -> Self {
        let json = DeribitOrderSettings::default();
        Self {
            url: "wss://test.deribit.com/ws/api/v2".to_owned(),
            address: None,
            ca: None,
            market_data: DeribitMarketData::default(),
            interval: DeribitInterval::default(),
            book: DeribitBook::default(),
            group: "none".to_owned(),
            depth: 20,
            orders: DeribitOrders::default(),
            fix: "test.deribit.com:9883".to_owned(),
            fix_tls: true,
            fix_sender_comp_id: "TAUT".to_owned(),
            cancel_on_disconnect: json.cancels_on_disconnect,
            owns_account: json.owns_account,
            heartbeat_seconds: 30,
            silence_ms: 30_000,
            channel_silence_ms: 0,
            orders_per_second: json.orders.per_second,
            orders_burst: json.orders.burst,
            kept_for_cancels: json.kept_for_cancels,
            questions_per_second: json.questions.per_second,
            questions_burst: json.questions.burst,
        }
    }
}
