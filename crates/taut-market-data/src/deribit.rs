//! Deribit: JSON-RPC notifications over WebSocket, and market data over FIX.
//!
//! Source: docs.deribit.com, "Subscriptions" and "Notifications" (API 2.1.1), and recorded frames.

mod channel;
mod fields;
mod fix;
mod json;
mod levels;
mod message;
#[cfg(test)]
mod tests;
mod usual;

use taut_types::{InstrumentError, Nanos};

use crate::chained::{ChainConfig, ChainedFeed};

pub use channel::{BookChannel, Channel, channel};
pub use fix::{DeribitFix, DeribitFixFeed, FixBody};
pub use json::{DeribitJson, FrameKind};
pub use message::{Message, read_message};

/// Books that follow Deribit's subscriptions: `book.{instrument}.raw`, `.100ms` or `.agg2`, each
/// change chained to the one before by its `change_id`, or those of another [`BookChannel`]. What
/// other channels say of books is left out; tickers tell the trading status and figures.
pub type DeribitFeed = ChainedFeed<DeribitJson>;

impl DeribitFeed {
    /// A handler that has heard nothing. Allocates all its memory.
    ///
    /// # Errors
    /// [`InstrumentError::BadIncrement`] when amounts cannot be counted in an instrument's lot,
    /// [`InstrumentError::OutOfRange`] when an instrument's number is 2^20 or more.
    pub fn new(config: &ChainConfig<'_>, now: Nanos) -> Result<Self, InstrumentError> {
        Self::following(BookChannel::Changes, config, now)
    }

    /// The same with books of this channel.
    ///
    /// # Errors
    /// As [`DeribitFeed::new`].
    pub fn following(
        books: BookChannel,
        config: &ChainConfig<'_>,
        now: Nanos,
    ) -> Result<Self, InstrumentError> {
        let levels_max = config.level_capacity.saturating_mul(2).min(DeribitJson::LEVELS_MAX);
        let decoder = DeribitJson::new(levels_max, config.instruments)?.following(books);
        Self::with_decoder(decoder, config, now)
    }
}
