//! FIX 4.4: a codec, the order-flow messages and the session layer, for both roles.
//!
//! The crate is pure: bytes and time go in, events and bytes come out. It does no I/O, reads no
//! clock and allocates nothing. Three layers, each usable without the ones above it:
//!
//! - **codec**: [`frame`] finds one message in a byte stream, [`Fields`] walks its fields,
//!   [`Writer`] builds one in a caller's buffer (BodyLength and CheckSum included).
//! - **messages**: typed, `Copy`, validated: [`NewOrderSingle`], [`OrderCancelRequest`],
//!   [`ExecutionReport`], [`OrderCancelReject`] and the administrative ones.
//! - **session**: [`Session`], a table of states and inputs around sequence numbers, heartbeats,
//!   gap detection, logon and logout.
//!
//! A driver feeds received bytes, acts on the event, and drains what the session wants sent:
//!
//! ```
//! # use taut_fix::{Now, Session};
//! # fn driver(session: &mut Session, now: Now, received: &[u8], out: &mut [u8]) -> usize {
//! let mut at = 0;
//! loop {
//!     let handled = session.handle_bytes(now, &received[at..]);
//!     at += handled.consumed;
//!     // ... act on handled.event ...
//!     while let Some(range) = session.poll_transmit(now, out) {
//!         let _to_send = &out[range];
//!     }
//!     if handled.consumed == 0 {
//!         break; // keep received[at..] until more arrives; close if session.is_closed()
//!     }
//! }
//! # at
//! # }
//! ```
//!
//! This version keeps no store of sent messages: a ResendRequest is answered with one
//! SequenceReset-GapFill, so what a peer missed is not sent again. Sources: FIX 4.4 with errata
//! 20030618, volumes 1 (messages), 2 (session protocol) and 6 (data dictionary).
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod any;
mod codec;
mod dictionary;
mod error;
mod messages;
mod session;
mod store;

pub use any::config::{AnySessionConfig, Dictionaries};
pub use any::event::{AnyEvent, Progress};
pub use any::machine::AnySession;
pub use any::peek::{Peek, peek};
pub use any::route::Route;
pub use any::transmit::{Extras, LogonContext};
pub use codec::begin::BeginString;
pub use codec::fields::{Field, Fields};
pub use codec::frame::{Frame, Framed, MESSAGE_BYTES_MAX, frame};
pub use codec::index::{FieldIndex, Slot};
pub use codec::tag;
pub use codec::tag::is_header as is_header_tag;
pub use codec::text::{CompId, InlineText, ShortText, TestReqId};
pub use codec::timestamp::{Precision, StampCache, TIMESTAMP_BYTES_MAX, parse_timestamp};
pub use codec::writer::{BEGIN_STRING, Writer};
pub use dictionary::builder::{BlockId, DictionaryBuilder, ListedValue, MemberDefinition};
pub use dictionary::builtin::fix44;
pub use dictionary::format::Format;
pub use dictionary::rules::{Fault, Rules};
pub use dictionary::tables::Dictionary;
pub use error::{FixError, Limit, Misuse, RejectReason, Violation};
pub use messages::admin::{
    BusinessMessageReject, BusinessRejectReason, Logon, Logout, Reject, ResendRequest,
    SequenceReset, TestRequest,
};
pub use messages::execution::{ExecutionReport, OrderCancelReject};
pub use messages::header::Header;
pub use messages::msg_type::MsgType;
pub use messages::order::{NewOrderSingle, OrderCancelRequest};
pub use messages::values::{CancelRejectReason, ExecType, OrdStatus, ResponseTo};
pub use session::config::{Now, Role, SessionConfig};
pub use session::event::{DisconnectReason, Event, Handled, MessageInfo};
pub use session::machine::{Counters, Session};
pub use session::send::ADMIN_BYTES_MAX;
pub use session::table::State;
/// Which instructions find the fields: `avx2`, `sse2` or `portable`, chosen when built.
pub const SIMD_LEVEL: &str = taut_simd::LEVEL;

pub use store::{MemoryStore, Store, StoreError};
