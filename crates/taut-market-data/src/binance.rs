//! Binance: JSON and SBE streams, and a local book by Binance's rules.

mod ahead;
mod book;
mod fields;
mod handler;
mod handlers;
mod horizon;
mod json;
mod stream;
mod stream_codec;
mod sync;
mod usual;

pub use book::{Applied, DepthBook, DepthCounters};
pub use handler::{BinanceConfig, BinanceFeed, BinanceFrame, Encoding};
pub use handlers::BinanceFeeds;
pub use json::{BinanceJson, FrameKind};
pub use stream::decode_stream;
pub use sync::{DepthSync, Joined, Placement};
