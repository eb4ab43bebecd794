//! What a connection tells its driver.

use crate::error::CloseReason;
use crate::socket_type::SocketType;

/// What happened. Bytes borrow from what was handled, or from the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The handshake is over.
    Established(Peer),
    /// A part of a message.
    Message {
        /// Its content.
        part: &'a [u8],
        /// Whether further parts follow.
        more: bool,
    },
    /// The peer wants messages that start so.
    Subscribe(&'a [u8]),
    /// It does not want them any more.
    Cancel(&'a [u8]),
    /// The answer to a PING of ours with this context.
    Pong(&'a [u8]),
    /// The connection is over. Drain `poll_transmit` once, then close.
    Closed(CloseReason),
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// What it is.
    pub socket_type: SocketType,
    /// The minor version of ZMTP 3 in force, 0 or 1.
    pub minor: u8,
}

/// What `handle_bytes` made of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handled<'a> {
    /// How many bytes are done with; 0 when a whole frame is not there yet, or nothing is expected.
    pub consumed: usize,
    /// What happened, if it concerns the driver.
    pub event: Option<Event<'a>>,
}

impl Handled<'_> {
    /// More bytes are needed.
    pub const NOTHING: Self = Self { consumed: 0, event: None };
}

/// What a connection counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounters {
    /// Commands that we do not know, and skipped.
    pub unknown_commands: u64,
    /// Messages that a PUB socket got and has no use for.
    pub ignored_messages: u64,
    /// PINGs that were not answered because the peer does not read what we send.
    pub unanswered_pings: u64,
    /// PINGs sent.
    pub pings: u64,
}
