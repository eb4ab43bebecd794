//! Books whose changes name what they follow, many of them on one connection.
//!
//! A subscription to such a book begins with a snapshot, and whoever has lost a change subscribes
//! anew. [`ChainedFeed`] is the handler of all of a venue's books; what is the venue's own is its
//! [`ChainedDecoder`].

mod book;
mod books;
mod chain;
mod feed;
mod instruments;
mod levels;
mod quiet;
mod work;

pub(crate) use book::{Action, FrameLevel};
pub(crate) use books::BookFrame;
pub use books::{ChainCounters, ChainedBooks};
pub(crate) use chain::Link;
pub use feed::{ChainedDecoder, ChainedFeed, ChainedFrame};
pub(crate) use instruments::InstrumentTable;
pub use instruments::{ChainConfig, NamedInstrument};
pub(crate) use levels::FrameLevels;
