//! What can go wrong, and whose fault it is.

use core::fmt;

/// A frame or a parameter that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The peer's bytes are no frame of this protocol from this byte on.
    Malformed {
        /// Where in the datagram.
        offset: usize,
    },
    /// A parameter of ours is outside its limits.
    Misuse(Parameter),
}

/// A parameter, by Aeron's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parameter {
    /// `term-length`: a power of two from 64 KiB to 1 GiB.
    TermLength,
    /// `mtu`: a multiple of 32 from 64 to 65,504.
    Mtu,
    /// `term-offset`: a multiple of 32 below the term's length.
    TermOffset,
    /// `term-id`: at or after `init-term-id`.
    TermId,
    /// `rcv-wnd`: at least one mtu and at most half of 1 GiB.
    ReceiverWindow,
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OfferError {
    /// The log is full up to what the receivers allow: try again after a turn.
    BackPressured,
    /// No receiver is there.
    NotConnected,
    /// The publication was closed.
    Closed,
    /// Longer than a message of this term length may be: raise `term-length`.
    TooLong {
        /// The longest that fits.
        bytes_max: usize,
    },
    /// The stream has used up all its positions: start a new one.
    MaxPositionExceeded,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { offset } => write!(f, "no frame at byte {offset} of the datagram"),
            Self::Misuse(parameter) => write!(f, "out of its limits: {parameter}"),
        }
    }
}

impl core::error::Error for Error {}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TermLength => "term-length, a power of two from 64 KiB to 1 GiB",
            Self::Mtu => "mtu, a multiple of 32 from 64 to 65504",
            Self::TermOffset => "term-offset, a multiple of 32 below term-length",
            Self::TermId => "term-id, at or after init-term-id",
            Self::ReceiverWindow => "rcv-wnd, from one mtu to 512 MiB",
        })
    }
}

impl fmt::Display for OfferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BackPressured => f.write_str("back-pressured: try again after a turn"),
            Self::NotConnected => f.write_str("no receiver is there"),
            Self::Closed => f.write_str("the publication is closed"),
            Self::TooLong { bytes_max } => {
                write!(f, "a message has at most {bytes_max} bytes: raise term-length")
            }
            Self::MaxPositionExceeded => f.write_str("all positions are used up: start a new one"),
        }
    }
}

impl core::error::Error for OfferError {}
