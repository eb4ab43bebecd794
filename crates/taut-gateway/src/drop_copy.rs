//! Drop copies: every execution of the gateway's orders, for readers that do not trade.
//!
//! The trading thread notes a copy beside what it tells an order's owner, and hands what it noted
//! over in its housekeeping, about once a millisecond: no system call and no waiting before that.
//! The other end of the queue is a [`DropCopyServer`] on a thread of its own, which numbers,
//! stores and sends.

mod execution;
mod notes;
mod server;

pub(crate) use execution::Origin;
pub use notes::DropCopies;
pub use server::{DropCopyServer, DropCopySettings};

#[cfg(test)]
mod tests;
