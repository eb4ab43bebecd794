//! Binance: JSON streams, and a local book by Binance's rules.

mod book;
mod fields;
mod json;
mod sync;

pub use book::{Applied, DepthBook, DepthCounters};
pub use json::{BinanceJson, FrameKind};
pub use sync::{DepthSync, Joined, Placement};
