//! taut's own feed: one venue's format among the others.
//!
//! A datagram is a [`PacketHeader`] (24 bytes) and then messages, each behind a 4-byte frame (its
//! size, a reserved word) and an SBE message header. The messages are encoded by Simple Binary
//! Encoding 1.0 in little endian, as `schema/taut-market-data.xml` says. Their codec is generated
//! from that file by the build script. Orders, levels and trades are [events](crate::EventKind);
//! what only this feed has (snapshots in parts, definitions) has types of its own, one per template
//! in [`Message`].
//!
//! [`PacketWriter`] packs messages into a buffer that it is given ([`TransactionWriter`] and
//! [`SnapshotWriter`] those of a whole feed); [`PacketReader`] reads a
//! datagram back message by message; on the hot path [`Places`] checks it and then reads only its
//! level updates and trades. Templates of a newer schema are skipped by their size, blocks
//! that a newer version made longer are read up to what is known, and nothing that a peer sends can
//! panic: what does not fit is [`SbeError::Malformed`] with its place in the datagram.
//!
//! ```
//! use taut_market_data::native::{Message, PacketHeader, PacketReader, PacketWriter};
//! use taut_market_data::{EventKind, LevelPlace, LevelUpdate};
//! use taut_types::{InstrumentId, Lots, Price, SequenceNumber, Side};
//!
//! let level = LevelUpdate {
//!     side: Side::Buy,
//!     price: Price(585_330_000_000),
//!     lots: Lots(18),
//!     order_count: 1,
//!     place: LevelPlace::ByPrice,
//! };
//! let level = Message::Event(InstrumentId(1), EventKind::Level(level));
//! let mut writer = PacketWriter::new([0; taut_market_data::native::PACKET_BYTES_MAX]);
//! writer.begin(PacketHeader { sequence: SequenceNumber(1), ..PacketHeader::default() })?;
//! writer.push(&level)?;
//!
//! let reader = PacketReader::new(writer.finish())?;
//! assert_eq!(reader.header().sequence, SequenceNumber(1));
//! assert_eq!(reader.messages().next(), Some(Ok(level)));
//! # Ok::<(), taut_market_data::native::SbeError>(())
//! ```

mod block;
mod book;
mod codec;
mod error;
mod event;
mod followed;
mod frame;
mod group;
mod handler;
mod loading;
mod message;
mod packet;
mod places;
mod queues;
mod reader;
mod snapshot;
#[cfg(test)]
mod tests;
mod transaction;
mod value;
mod writer;

/// The schema of these messages.
pub const SCHEMA: &str = include_str!("../schema/taut-market-data.xml");

pub use block::{InstrumentDefinition, SnapshotBegin, SnapshotEnd, SnapshotPart};
pub use book::Book;
pub use error::{NativeConfigError, SbeError};
pub use frame::{SCHEMA_ID, SCHEMA_VERSION};
pub use group::{LevelEntries, Levels, OrderEntries, Orders};
pub use handler::{NativeConfig, NativeFeed, NativeFrame};
pub use message::{Message, SnapshotLevels, SnapshotOrders};
pub use packet::{
    LEVELS_PER_PACKET_MAX, ORDERS_PER_PACKET_MAX, PACKET_BYTES_MAX, PACKET_HEADER_BYTES,
    PacketFlags, PacketHeader,
};
pub use places::Places;
pub use reader::{Messages, PacketReader};
pub use snapshot::SnapshotWriter;
pub use transaction::TransactionWriter;
pub use writer::PacketWriter;
