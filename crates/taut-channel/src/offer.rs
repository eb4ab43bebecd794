//! What becomes of an offered message when it is not taken.

use std::fmt;

use taut_sys::SysError;

/// Why a message was not taken. The message is still the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OfferError {
    /// There is no room until a subscriber or the network has taken more: call `work` and try
    /// again.
    BackPressured,
    /// There is no subscriber yet, or none any more: call `work` and try again.
    NotConnected,
    /// The publication is closed, or closing.
    Closed,
    /// The message is longer than this channel takes.
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest message.
        bytes_max: usize,
        /// What makes it larger.
        limit: MessageLimit,
    },
    /// The channel has no topics.
    NoTopics,
    /// The channel has no messages of several parts.
    NoParts,
    /// A system call failed, and will fail again.
    System(SysError),
}

/// What limits the length of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageLimit {
    /// The capacity of shared memory or of a ring.
    Capacity,
    /// A message is one datagram.
    Mtu,
    /// A message is one datagram, which the path to the subscriber must carry in one piece.
    PathMtu,
    /// Aeron's term.
    TermLength,
    /// The peer's or our own bound on a frame.
    Frame,
    /// The log of spies that are waited for.
    Spies,
}

impl MessageLimit {
    const fn remedy(self) -> &'static str {
        match self {
            Self::Capacity => "raise capacity, of which a message has at most an eighth",
            Self::Mtu => "split it, or raise mtu where the path carries it",
            Self::PathMtu => "split it, or raise the MTU of the interfaces on the path",
            Self::TermLength => "raise term-length",
            Self::Frame => "split it",
            Self::Spies => "split it, or use spies that may be overtaken",
        }
    }
}

impl fmt::Display for OfferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BackPressured => f.write_str("back-pressured: a subscriber is slow; try again"),
            Self::NotConnected => f.write_str("not connected: there is no subscriber; try again"),
            Self::Closed => f.write_str("the publication is closed; open another one"),
            Self::TooLong { bytes, bytes_max, limit } => {
                let remedy = limit.remedy();
                write!(f, "message of {bytes} bytes is too long, at most {bytes_max}; {remedy}")
            }
            Self::NoTopics => {
                f.write_str("this channel has no topics; use tcp:// or ipc://, or leave them out")
            }
            Self::NoParts => f.write_str(
                "this channel has no messages of several parts; use tcp:// or ipc:// at both ends",
            ),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OfferError {}
