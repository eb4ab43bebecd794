//! Why a channel cannot be opened.

use std::fmt;

use taut_aeron::Error as AeronError;
use taut_io::IoError;
use taut_ipc::IpcError;
use taut_ring::RingError;
use taut_sys::SysError;
use taut_zmtp::ZmtpError;

use crate::uri::UriError;

/// Why a channel cannot be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChannelError {
    /// Shared memory says no.
    Ipc(IpcError),
    /// A parameter of reliable UDP is outside its limits.
    Aeron(AeronError),
    /// The ring's memory is not what it should be.
    Ring(RingError),
    /// A socket's settings are none.
    Zmtp(ZmtpError),
    /// A socket's place is none.
    Place(UriError),
    /// A system call failed.
    System(SysError),
    /// The loop has no room for it.
    Loop(IoError),
    /// A name could not be resolved, or a file not read.
    Io {
        /// The name or the file.
        what: String,
        /// Why.
        error: std::io::Error,
    },
    /// Another publication of this process writes the ring.
    WriterExists {
        /// The ring's name.
        name: String,
    },
    /// All places for subscribers are taken.
    SubscribersFull {
        /// How many there are.
        count: usize,
    },
    /// The channel exists with another capacity.
    OtherCapacity {
        /// The capacity asked for.
        wanted: usize,
        /// The capacity it has.
        found: usize,
    },
    /// The URI is right, but what it asks for is not there.
    Unsupported {
        /// What, such as a scheme or a parameter.
        what: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// A datagram of the size asked for does not go to the group in one piece.
    PathMtu {
        /// Bytes of UDP payload that were asked for.
        wanted: usize,
        /// Bytes that the path carries.
        carried: usize,
    },
    /// A file with a secret that others may read.
    Exposed {
        /// The file.
        file: String,
    },
    /// A file does not hold what it should.
    File {
        /// The file.
        file: String,
        /// What it should hold.
        wanted: &'static str,
    },
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ipc(error) => error.fmt(f),
            Self::Aeron(AeronError::Misuse(parameter)) => {
                write!(f, "aeron:udp: {parameter:?} is outside its limits")
            }
            Self::Aeron(error) => write!(f, "aeron:udp: {error}"),
            Self::Ring(error) => write!(f, "ring: {error}"),
            Self::Zmtp(error) => error.fmt(f),
            Self::Place(error) => error.fmt(f),
            Self::System(error) => error.fmt(f),
            Self::Loop(error) => write!(f, "the loop: {error}"),
            Self::Io { what, error } => write!(f, "{what}: {error}"),
            Self::WriterExists { name } => {
                write!(f, "inproc:{name} has a publication already; close it first")
            }
            Self::SubscribersFull { count } => {
                write!(f, "all {count} places for subscriptions are taken; close one first")
            }
            Self::OtherCapacity { wanted, found } => write!(
                f,
                "the channel exists with a capacity of {found} bytes, not {wanted}; \
                 leave capacity out, or end its users"
            ),
            Self::Unsupported { what, remedy } => write!(f, "{what} is not supported; {remedy}"),
            Self::PathMtu { wanted, carried } => write!(
                f,
                "mtu={wanted}: the path to the group carries {carried} bytes in one piece; \
                 lower mtu, or raise the MTU of the interface"
            ),
            Self::Exposed { file } => {
                write!(f, "{file}: others may read this secret; chmod 600 it")
            }
            Self::File { file, wanted } => write!(f, "{file}: must hold {wanted}"),
        }
    }
}

impl std::error::Error for ChannelError {}

impl From<IpcError> for ChannelError {
    fn from(error: IpcError) -> Self {
        Self::Ipc(error)
    }
}

impl From<RingError> for ChannelError {
    fn from(error: RingError) -> Self {
        Self::Ring(error)
    }
}

impl From<SysError> for ChannelError {
    fn from(error: SysError) -> Self {
        Self::System(error)
    }
}

impl From<IoError> for ChannelError {
    fn from(error: IoError) -> Self {
        match error {
            IoError::System(error) => Self::System(error),
            error => Self::Loop(error),
        }
    }
}
