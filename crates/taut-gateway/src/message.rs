//! What a strategy and its gateway tell each other, and how it is packed into the slots of a ring.
//!
//! A message is one or two slots of seven words. Words that a peer made up decode to
//! nothing; they can never panic. Market data is packed by
//! [`taut_market_data::Event::to_words`].

mod instrument;
mod open_order;
mod reply;
mod reply_stamp;
mod request;
mod slots;
mod status;
mod update;

use taut_lat::{Stage, StageOffsets};
use taut_types::Nanos;

pub use open_order::OpenOrder;
pub(crate) use open_order::asked_of;
pub use reply::{GatewayEvent, Position};
pub(crate) use reply::{Reply, ReplyReader, at_position, tell_instrument};
pub(crate) use reply_stamp::ReplyStamp;
pub(crate) use request::RequestReader;
pub use request::{Request, RequestKind};
pub use status::{GatewayStatus, KilledScopes, SessionPhase};
pub use taut_oms::{OrderFilter, VenueReject};
pub use update::{OrderUpdate, Refusal, UpdateKind};

/// Accounts whose positions are told.
pub(crate) const ACCOUNTS: u8 = 8;

/// When the packet behind an event was received, and where its first stages ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickStamps {
    /// When the receive call returned, on the monotonic clock; 0 when nothing is to be measured.
    pub origin: Nanos,
    /// Ends of `decode`, `book` and `publish`, in ns after the origin.
    pub ends: [u32; 3],
}

impl TickStamps {
    /// Stamps of something that no packet caused.
    pub const NONE: Self = Self { origin: Nanos::ZERO, ends: [0; 3] };

    /// Whether an order that follows from it is measured.
    #[must_use]
    pub const fn is_measured(&self) -> bool {
        self.origin.0 != 0
    }

    /// The same as the beginning of an order's stage offsets.
    #[must_use]
    pub fn offsets(&self) -> StageOffsets {
        self.complete(StageOffsets::ZERO)
    }

    /// Offsets of later stages with these before them.
    #[must_use]
    pub fn complete(&self, mut offsets: StageOffsets) -> StageOffsets {
        let [decode, book, publish] = self.ends;
        offsets.set_end(Stage::Decode, decode.into());
        offsets.set_end(Stage::Book, book.into());
        offsets.set_end(Stage::Publish, publish.into());
        offsets
    }
}
