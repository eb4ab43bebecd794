//! What ends a gateway.

use std::fmt;

use taut_fix::{DisconnectReason, FixError};
use taut_io::{IoError, Limit};
use taut_ring::RingError;
use taut_sys::SysError;

/// Why a gateway cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GatewayError {
    /// A system call failed.
    System(SysError),
    /// The loop could not do what it was asked to.
    Loop(IoError),
    /// The venue could not be reached.
    Unreachable(IoError),
    /// A shared region cannot hold its ring or its histogram.
    Region(RingError),
    /// A region is too small for its histograms.
    Histograms,
    /// The venue ended the order session.
    SessionEnded(DisconnectReason),
    /// The venue closed the connection or logged us out.
    VenueGone,
    /// A message of ours could not be encoded.
    Encode(FixError),
    /// What we sent was not taken by the kernel in whole, and the venue does not read.
    VenueStalled,
    /// The venue reported something that cannot happen to the order.
    Contradiction,
}

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(f, "{error}"),
            Self::Loop(error) => write!(f, "the gateway's loop: {error}"),
            Self::Unreachable(error) => write!(f, "the venue cannot be reached: {error}"),
            Self::Region(error) => write!(f, "shared memory region: {error}"),
            Self::Histograms => f.write_str("shared memory region: too small for its histograms"),
            Self::SessionEnded(reason) => write!(f, "order session ended: {}", reason.as_str()),
            Self::VenueGone => f.write_str("the venue closed the order session"),
            Self::Encode(error) => write!(f, "a message could not be encoded: {error}"),
            Self::VenueStalled => f.write_str("the venue does not read what we send"),
            Self::Contradiction => {
                f.write_str("the venue reported what cannot happen to one of our orders")
            }
        }
    }
}

impl std::error::Error for GatewayError {}

impl From<SysError> for GatewayError {
    fn from(error: SysError) -> Self {
        Self::System(error)
    }
}

impl From<IoError> for GatewayError {
    fn from(error: IoError) -> Self {
        match error {
            IoError::System(error) => Self::System(error),
            // What we write goes to the venue alone.
            IoError::Limit(Limit::WriteBytes | Limit::Writes) => Self::VenueStalled,
            other => Self::Loop(other),
        }
    }
}

impl From<RingError> for GatewayError {
    fn from(error: RingError) -> Self {
        Self::Region(error)
    }
}
