//! `[binance]` of a gateway's file.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

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

/// `[binance]`: where the market data of Binance's spot market is. Orders do not go there yet: a
/// gateway with this table trades on paper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct BinanceKeys {
    /// Its streams: `wss://HOST:PORT`, without a path.
    pub streams: String,
    /// Its WebSocket API, which snapshots of books are asked of.
    pub api: String,
    /// The address of both, in the place of those that their names have.
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
}

impl Default for BinanceKeys {
    fn default() -> Self {
        Self {
            streams: "wss://stream.binance.com:9443".to_owned(),
            api: "wss://ws-api.binance.com:443/ws-api/v3".to_owned(),
            address: None,
            ca: None,
            interval: BinanceInterval::default(),
            snapshot_levels: 1_000,
            silence_ms: 10_000,
        }
    }
}
