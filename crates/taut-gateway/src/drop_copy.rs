//! Drop copies: every execution of the gateway's orders, for readers that do not trade.
//!
//! The trading thread notes a copy beside what it tells an order's owner, and hands what it noted
//! over in its housekeeping, about once a millisecond. The other end of the queue is a
//! [`DropCopyServer`] of taut-fix-engine.

mod execution;
mod notes;

pub(crate) use execution::Origin;
pub use notes::{DropCopies, DropCopyServer, Executions};

#[cfg(test)]
mod tests;
