//! What the loop tells its handler.

use taut_ring::Payload;
use taut_sys::{Address, DatagramInfo};
use taut_types::Nanos;

use crate::error::IoError;
use crate::handle::{Handle, TimerId};

/// An operation on a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Waiting for connections.
    Accept,
    /// Reaching a peer.
    Connect,
    /// Receiving, until it is stopped.
    Receive,
    /// One write.
    Write,
}

/// An operation came to its end, or went on by one step (accepting and receiving).
///
/// Every operation that was started completes: with its result, or as [`Completion::Failed`].
/// [`Completion::Closed`] is the last that a handle is heard of.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Completion<'b> {
    /// A listener has a new stream.
    Accepted {
        /// Who accepted.
        listener: Handle,
        /// The new stream; receiving has not started.
        stream: Handle,
        /// Its peer.
        peer: Address,
    },
    /// A stream stands.
    Connected {
        /// Which one.
        stream: Handle,
    },
    /// Bytes arrived. They are borrowed from the loop's buffers: use or copy them now.
    Received {
        /// On which stream.
        stream: Handle,
        /// At least one byte.
        bytes: &'b [u8],
    },
    /// A datagram arrived.
    Datagram {
        /// On which socket.
        socket: Handle,
        /// Its payload, possibly empty.
        bytes: &'b [u8],
        /// What the kernel knows of it.
        info: &'b DatagramInfo,
    },
    /// The peer sends no more. Receiving is over; writing goes on.
    Ended {
        /// Which stream.
        stream: Handle,
    },
    /// A write that asked for it was taken by the kernel, in order.
    Written {
        /// On which stream.
        stream: Handle,
        /// The token that the write was given.
        token: u64,
    },
    /// An operation failed, timed out or was cancelled.
    Failed {
        /// Of which source.
        source: Handle,
        /// Which one.
        operation: Operation,
        /// The token of a write.
        token: Option<u64>,
        /// Why.
        error: IoError,
    },
    /// The source is gone and its handle stale. `reason` is [`IoError::Cancelled`] when `close` was
    /// called, `None` after a graceful end.
    Closed {
        /// Which source.
        source: Handle,
        /// Why, unless it ended as it should.
        reason: Option<IoError>,
    },
    /// A source that is [watched](crate::Io::watch) can be read, or takes bytes again. It comes in
    /// every turn until a read has found nothing more.
    Ready {
        /// Which source.
        source: Handle,
        /// There is something to read, or the end.
        readable: bool,
        /// The kernel takes bytes again after a send that it took in part or not at all.
        writable: bool,
    },
    /// A timer went off.
    Timer {
        /// Which one.
        timer: TimerId,
        /// The token that it was given.
        token: u64,
        /// When it was due.
        deadline: Nanos,
        /// Further periods that passed unseen: a repeating timer stays on its grid.
        missed: u64,
    },
    /// A message was posted.
    Posted {
        /// The message.
        payload: Payload,
    },
}
