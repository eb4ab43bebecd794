//! What a connection tells its driver.

use crate::close_frame::CloseFrame;
use crate::connection::outbox::Outbox;
use crate::error::{HandshakeFault, Violation};
use crate::request::Request;
use crate::response::{Refused, Response};

/// What happened. Bytes borrow from what was handled, or from the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A client asks: answer with `Outbox::accept` or `Outbox::refuse`, now or later. (Servers.)
    Requested(Request<'a>),
    /// The server has accepted: messages pass. (Clients.)
    Opened(Response<'a>),
    /// A text message.
    Text(&'a str),
    /// A binary message.
    Binary(&'a [u8]),
    /// A ping; it is answered already.
    Ping(&'a [u8]),
    /// A pong, to one of our pings or to none.
    Pong(&'a [u8]),
    /// The connection is over, and this is the last event. Send what is polled, then end the
    /// transport.
    Closed(Closed<'a>),
}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Closed<'a> {
    /// Close frames went both ways: this is the peer's.
    Agreed(CloseFrame<'a>),
    /// The peer broke a rule, and was told so.
    Violation(Violation),
    /// The opening handshake failed.
    Handshake(HandshakeFault),
    /// The server does not accept us. (Clients.)
    Refused(Refused<'a>),
    /// We do not accept the client. (Servers.)
    RefusedByUs {
        /// With this status.
        status: u16,
    },
    /// The opening handshake was not over in time.
    HandshakeTimeout,
    /// The peer did not answer our close frame in time.
    CloseTimeout,
    /// Nothing came for the keep-alive's timeout.
    Silence,
    /// The transport ended without a close frame (1006 in other libraries).
    Cut,
}

/// What `handle_bytes` made of the bytes.
#[derive(Debug)]
pub struct Handled<'a> {
    /// How many bytes are done with. Hand the rest over again, until all are. None are only while
    /// a client's request waits for its answer.
    pub consumed: usize,
    /// What happened, if it concerns the driver.
    pub event: Option<Event<'a>>,
    /// To answer it.
    pub outbox: &'a mut Outbox,
}
