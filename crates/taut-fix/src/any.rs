//! A session of any version and dialect: dictionary, store, resends, routing.
//!
//! It follows the same state table as [`crate::Session`], which is the fixed FIX 4.4 fast path.

pub mod config;
pub mod event;
mod gap;
mod head;
mod held;
mod logon;
pub mod machine;
mod message;
mod note;
mod outgoing;
pub mod peek;
mod receive;
mod resend;
pub mod route;
mod sequence;
pub mod transmit;
mod typed;
