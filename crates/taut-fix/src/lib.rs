//! FIX 4.0 to 4.4 and FIXT 1.1: a codec, dictionaries, the messages of order flow and the session
//! layer, for both roles.
//!
//! The crate is pure: bytes and time go in, events and bytes come out. It does no I/O, reads no
//! clock and allocates nothing once it is built. Four layers, each usable without those above it:
//!
//! - **codec**: [`frame`] finds one message in a byte stream, [`FieldIndex`] its fields in one
//!   pass, [`Writer`] builds one in a caller's buffer (BodyLength and CheckSum included).
//! - **dictionary**: [`Dictionary`] holds an indexed message against a version or a dialect.
//! - **messages**: typed, `Copy`, checked: [`OrderFlow`] reads [`NewOrderSingle`],
//!   [`OrderCancelRequest`], [`ExecutionReport`], [`OrderCancelReject`] out of an index.
//! - **session**: [`Session`], a table of states and inputs around sequence numbers, heartbeats,
//!   gap detection, resends, logon and logout, over a [`Store`].
//!
//! A driver feeds received bytes, acts on the event, and drains what the session wants sent:
//!
//! ```
//! # use taut_fix::{Event, FieldIndex, MemoryStore, Now, OrderFlow, Session};
//! # fn driver(session: &mut Session<MemoryStore>, index: &mut FieldIndex, now: Now,
//! #           received: &[u8], out: &mut [u8]) -> usize {
//! let mut at = 0;
//! loop {
//!     let made = session.handle_bytes(now, &received[at..], index);
//!     if let Some(Event::Application { .. }) = made.event {
//!         let _typed = OrderFlow::decode(&received[at..at + made.consumed], index);
//!     }
//!     at += made.consumed;
//!     while let Some(range) = session.poll_transmit(now, out) {
//!         let _to_send = &out[range];
//!     }
//!     if made.consumed == 0 {
//!         break; // keep received[at..] until more arrives; close if session.is_closed()
//!     }
//! }
//! # at
//! # }
//! ```
//!
//! [`MemoryStore`] keeps the newest messages of a process; one that survives it is in
//! taut-fix-engine. Sources: FIX 4.4 with errata 20030618, volumes 1 (messages), 2 (session
//! protocol) and 6 (data dictionary).
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

mod codec;
mod dictionary;
mod error;
mod link;
mod messages;
mod session;
mod store;

pub use codec::begin::BeginString;
pub use codec::body::Body;
pub use codec::data_tags::DataTags;
pub use codec::fields::{Field, Fields};
pub use codec::frame::{Frame, Framed, MESSAGE_BYTES_MAX, frame, frame_at};
pub use codec::index::{FieldIndex, Slot};
pub use codec::lead::lead_with_msg_type;
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
pub use link::hooks::Hooks;
pub use link::outbox::Outbox;
pub use link::received::Received;
pub use link::{Delivery, Link, LinkConfig};
pub use messages::execution::{ExecutionReport, OrderCancelReject};
pub use messages::order::{NewOrderSingle, OrderCancelRequest};
pub use messages::order_flow::{OrderFlow, TypedMessage, msg_type};
pub use messages::reject::{BusinessMessageReject, BusinessRejectReason, Reject};
pub use messages::values::{CancelRejectReason, ExecType, OrdStatus, ResponseTo};
pub use session::config::{Dictionaries, SessionConfig};
pub use session::counters::Counters;
pub use session::disconnect::DisconnectReason;
pub use session::event::{Event, Progress};
pub use session::machine::Session;
pub use session::now::{Now, Role};
pub use session::peek::{Peek, peek};
pub use session::route::Route;
pub use session::table::State;
pub use session::transmit::{Extras, LogonContext};
pub use store::{MemoryStore, Store, StoreError};
pub use taut_simd::Level as SimdLevel;
