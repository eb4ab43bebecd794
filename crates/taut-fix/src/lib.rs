//! FIX 4.0 to 4.4 and FIXT 1.1: a codec, dictionaries, the messages of order flow and the session
//! layer, for both roles.
//!
//! The crate is pure: bytes and time go in, events and bytes come out. It does no I/O, reads no
//! clock and allocates nothing once it is built. Five layers, each usable without those above it:
//!
//! - **codec**: [`frame`] finds one message in a byte stream, [`FieldIndex`] its fields in one
//!   pass, [`Writer`] builds one in a caller's buffer (BodyLength and CheckSum included).
//! - **dictionary**: [`Dictionary`] holds an indexed message against a version or a dialect.
//! - **messages**: typed, `Copy`, checked: [`OrderFlow`] reads [`NewOrderSingle`],
//!   [`OrderCancelRequest`], [`ExecutionReport`], [`OrderCancelReject`] out of an index.
//! - **session**: [`Session`], a table of states and inputs around sequence numbers, heartbeats,
//!   gap detection, resends, logon and logout, over a [`Store`].
//! - **link**: [`Link`] joins a session to its bytes: what was received in part, messages that came
//!   before their turn, what the transport has not taken yet.
//!
//! A driver hands over received bytes, acts on what the link delivers, and sends what waits:
//!
//! ```
//! # use taut_fix::{Delivery, Event, FieldIndex, Link, MemoryStore, Now, OrderFlow};
//! # fn send(bytes: &[u8]) -> usize { bytes.len() }
//! # fn driver(link: &mut Link<MemoryStore>, index: &mut FieldIndex, now: Now, received: &[u8]) {
//! let mut bytes = received;
//! while let Some(delivery) = link.handle_bytes(now, &mut bytes, index) {
//!     let Delivery { event, message, mut outbox } = delivery;
//!     if let Event::Application { sequence, .. } = event {
//!         match message.order_flow() {
//!             Ok(OrderFlow::NewOrderSingle(_order)) => { /* trade, and answer by the outbox */ }
//!             Ok(_) => outbox.refuse_type(sequence, message.msg_type()),
//!             Err(error) => outbox.refuse_content(sequence, message.msg_type(), error),
//!         }
//!     }
//! }
//! let taken = send(link.poll_transmit(now));
//! link.transmitted(taken);
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
pub use codec::text::{CompId, InlineText, LongText, ShortText, TestReqId};
pub use codec::timestamp::{Precision, StampCache, TIMESTAMP_BYTES_MAX, parse_timestamp};
pub use codec::writer::{BEGIN_STRING, PriceText, Writer};
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
pub use messages::charges::{Charges, CommType, Currency, Liquidity};
pub use messages::execution::{ExecutionReport, MassStatus, OrderCancelReject};
pub use messages::order::{NewOrderSingle, OrderCancelReplaceRequest, OrderCancelRequest};
pub use messages::order_flow::{OrderFlow, TypedMessage, msg_type};
pub use messages::position::{
    NO_POSITIONS, PositionReport, RequestForPositions, RequestForPositionsAck,
};
pub use messages::reject::{BusinessMessageReject, BusinessRejectReason, Reject};
pub use messages::status::{
    OrderMassCancelReport, OrderMassCancelRequest, OrderMassStatusRequest, OrderStatusRequest,
};
pub use messages::values::{
    CancelRejectReason, ExecTransType, ExecType, MassCancelType, MassStatusType, OrdStatus,
    ResponseTo,
};
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
