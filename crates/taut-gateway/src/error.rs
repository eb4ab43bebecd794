//! What ends a gateway.

use std::fmt;

use taut_io::IoError;
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
    /// The venue could not be reached when the gateway started.
    Unreachable(IoError),
    /// The venue's order entry wants messages and the settings a stream, or the other way round.
    Transport,
    /// The venue's order entry takes shorter names of requests than a gateway gives.
    RequestNames,
    /// The venue's order entry needs other credentials than there are.
    Credentials,
    /// The venue's name of an instrument is longer than a message can say.
    InstrumentName,
    /// A shared region cannot hold its ring or its histogram.
    Region(RingError),
    /// A region is too small for its histograms.
    Histograms,
    /// The file of the session's numbers cannot be used: the error number of `errno(3)`.
    Store(i32),
    /// What the order journal recovered cannot be taken up.
    Journal(&'static str),
}

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(f, "{error}"),
            Self::Loop(error) => write!(f, "the gateway's loop: {error}"),
            Self::Unreachable(error) => write!(f, "the venue cannot be reached: {error}"),
            Self::Transport => f.write_str(
                "session.transport: the venue's orders go over a WebSocket, or over none",
            ),
            Self::RequestNames => write!(
                f,
                "the venue's order entry takes names of requests that are shorter than the {} \
                 letters of ours: its handler must name them",
                taut_types::RequestId::TEXT_BYTES
            ),
            Self::Credentials => f.write_str(
                "session.credentials: not those that the venue's order entry is signed with",
            ),
            Self::InstrumentName => {
                f.write_str("an instrument's name at the venue has more letters than a message can")
            }
            Self::Region(error) => write!(f, "shared memory region: {error}"),
            Self::Histograms => f.write_str("shared memory region: too small for its histograms"),
            Self::Store(errno) => {
                write!(f, "the file of the order session's numbers: error {errno}")
            }
            Self::Journal(what) => write!(f, "the order journal: {what}"),
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
            other => Self::Loop(other),
        }
    }
}

impl From<RingError> for GatewayError {
    fn from(error: RingError) -> Self {
        Self::Region(error)
    }
}
