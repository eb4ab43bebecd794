//! What a strategy and its gateway tell each other, and how it is packed into the slots of a ring.
//!
//! A message is one or two [`Payload`]s of seven words. Words that a peer made up decode to
//! nothing; they can never panic. Market data is packed by
//! [`taut_market_data::Event::to_words`].

mod reply;
mod request;
mod update;

use taut_lat::{Stage, StageOffsets};
use taut_ring::Payload;
use taut_types::Nanos;

pub use reply::{GatewayEvent, OpenOrder, Position};
pub(crate) use reply::{Reply, ReplyReader, at_position};
pub(crate) use request::RequestReader;
pub use request::{OrderFilter, Request, RequestKind};
pub use update::{OrderUpdate, Refusal, UpdateKind};

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

/// One or two slots of a ring: the second has what the first has no room for, and goes before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    slots: [Payload; 2],
    count: usize,
}

impl Slots {
    const fn one(slot: Payload) -> Self {
        Self { slots: [slot, [0; 7]], count: 1 }
    }

    const fn two(before: Payload, slot: Payload) -> Self {
        Self { slots: [before, slot], count: 2 }
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[Payload] {
        self.slots.get(..self.count).unwrap_or(&[])
    }
}

/// Kinds of slots: requests, order updates, and what goes before one of them. Those of events stay
/// below [`FIRST_KIND`].
mod kind {
    pub const CREATE: u8 = 32;
    pub const MODIFY: u8 = 33;
    pub const CANCEL: u8 = 34;
    pub const CANCEL_ALL: u8 = 35;
    pub const TELL_BOOKS: u8 = 36;
    pub const UPDATE: u8 = 40;
    pub const OPEN_ORDER: u8 = 41;
    pub const INSTRUMENT: u8 = 42;
    pub const POSITION: u8 = 43;
    pub const STATE: u8 = 44;
    pub const AT: u8 = 254;
    pub const BEFORE: u8 = 255;
}

/// The kinds of [`taut_market_data::Event::to_words`] are below this.
pub(crate) const FIRST_KIND: u8 = 32;

/// The kind of a slot.
pub(crate) const fn kind_of(payload: &Payload) -> u8 {
    byte(payload[0], 0)
}

const fn word(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

const fn low(word: u64) -> u32 {
    word as u32
}

const fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

const fn byte(word: u64, index: u32) -> u8 {
    (word >> (8 * index)) as u8
}

/// Four bytes and a number of 32 bits.
const fn head(bytes: [u8; 4], high: u32) -> u64 {
    word(u32::from_le_bytes(bytes), high)
}
