//! OKX: the public channels of its WebSocket, version 5.
//!
//! Source: recorded frames; okx.com/docs-v5, "Order book channel" and "Checksum".

mod checksum;
mod fields;
mod json;
mod levels;
#[cfg(test)]
mod tests;

use taut_types::{InstrumentError, Nanos};

use crate::chained::{ChainConfig, ChainedFeed};

pub use json::{OkxFrameKind, OkxJson};

/// Books that follow OKX's channels `books`, `books-l2-tbt` and `books50-l2-tbt`: each frame is
/// chained to the one before where it has ids. Where it has a checksum, that proves the book; the
/// venue sends 0 in its place today, which is none, and the ids alone tell a gap.
pub type OkxFeed = ChainedFeed<OkxJson>;

impl OkxFeed {
    /// A handler that has heard nothing. Allocates all its memory.
    ///
    /// # Errors
    /// [`InstrumentError::BadIncrement`] when amounts cannot be counted in an instrument's lot,
    /// [`InstrumentError::OutOfRange`] when an instrument's number is 2^20 or more.
    pub fn new(config: &ChainConfig<'_>, now: Nanos) -> Result<Self, InstrumentError> {
        let levels_max = config.level_capacity.saturating_mul(2).min(OkxJson::LEVELS_MAX);
        Self::with_decoder(OkxJson::new(levels_max, config.instruments)?, config, now)
    }
}
