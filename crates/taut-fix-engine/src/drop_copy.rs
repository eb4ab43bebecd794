//! Drop copies: what happens to orders, told to readers that do not trade.
//!
//! The thread on which it happens notes it ([`DropCopyNotes`]) and hands over what it noted when it
//! has the time: no system call and no waiting before that. The other end of the queue is a
//! [`DropCopyServer`] on a thread of its own, which makes messages of it, stores and sends them. A
//! gateway copies what it hears of its orders, a venue what it does with those of its members.

mod notes;
mod server;
mod source;
mod tell;

pub use notes::DropCopyNotes;
pub use server::{DropCopyServer, DropCopySettings};
pub use source::DropCopySource;
pub use tell::Tell;

#[cfg(test)]
mod tests;
