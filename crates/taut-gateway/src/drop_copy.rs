//! Drop copies: every execution of the gateway's orders, for readers that do not trade.
//!
//! The trading thread notes a copy beside what it tells an order's owner, and hands what it noted
//! over in its housekeeping, about once a millisecond. The other end of the queue is a
//! [`DropCopyServer`] of taut-fix-engine.
//!
//! The other way round a [`CopyReader`] reads what the venue says of our orders to whoever reads
//! its drop copies: what the order session did not say is taken from there.

mod execution;
mod notes;
mod reader;
mod taped;

pub(crate) use execution::Origin;
pub use notes::{DropCopies, DropCopyNews, DropCopyServer, Executions};
pub use reader::{CopiedVenue, CopyReader, CopyReaderSettings, VenueCopies};

#[cfg(test)]
mod tests;
