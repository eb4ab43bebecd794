//! Why shared memory cannot be made or used.

use std::fmt;

use taut_ring::RingError;
use taut_sys::SysError;

/// Why a segment or a channel cannot be made or used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IpcError {
    /// A system call failed.
    System(SysError),
    /// Too many regions, two with one name, or a stream whose sizes are no powers of two.
    Misuse,
    /// A channel name is 1 to 64 letters, digits, dots, dashes or underscores, does not begin with
    /// a dot and does not end with `.lock`; a stream name is at most 31 bytes.
    Name,
    /// There is no channel of this name.
    NotFound,
    /// The memory is no segment.
    NotASegment,
    /// The segment was made by a machine of the other byte order.
    ByteOrder,
    /// The segment has another version of the layout.
    Version {
        /// The version found.
        found: u64,
    },
    /// The header contradicts its checksum, itself or the memory's size.
    Corrupt,
    /// There is no such region, or it has another version or length.
    Region {
        /// The region asked for.
        id: u32,
    },
    /// There is no such stream in the channel, or it is of another kind.
    Stream,
    /// What the stream carries is laid out otherwise.
    OtherLayout {
        /// The layout hash asked for.
        expected: u64,
        /// The layout hash of the stream.
        found: u64,
    },
    /// The channel exists, is in use, and has other streams or sizes.
    OtherStreams,
    /// The file system has too little room.
    NoRoom {
        /// Bytes needed.
        need: u64,
        /// Bytes that are free.
        have: u64,
    },
    /// The file belongs to another user, or is no regular file.
    NotOurs {
        /// The user it belongs to.
        owner: u32,
    },
    /// The stream has a writer.
    WriterExists {
        /// Its process, as it sees itself.
        process: u32,
    },
    /// The stream has a writer, which is stopped (SIGSTOP) and may go on: nothing is taken from it.
    WriterStalled {
        /// Its process.
        process: u32,
    },
    /// All places for registered readers are taken.
    ReadersFull {
        /// How many there are.
        reader_count: usize,
    },
    /// The mapping is read-only.
    ReadOnly,
    /// The memory does not hold the ring that the header promises.
    Ring(RingError),
}

impl fmt::Display for IpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(f, "shared memory: {error}"),
            Self::Misuse => f.write_str("shared memory: too many regions, one twice, or bad sizes"),
            Self::Name => f.write_str(
                "channel name: 1 to 64 of letters, digits, '.', '-', '_', not beginning with '.' \
                 and not ending with '.lock'",
            ),
            Self::NotFound => f.write_str("there is no channel of this name"),
            Self::NotASegment => f.write_str("shared memory: not a taut segment"),
            Self::ByteOrder => f.write_str("shared memory: of the other byte order"),
            Self::Version { found } => write!(f, "shared memory: layout version {found}, not ours"),
            Self::Corrupt => f.write_str("shared memory: the header is corrupt"),
            Self::Region { id } => {
                write!(f, "shared memory: region {id} is absent or of another layout")
            }
            Self::Stream => f.write_str("the channel has no such stream of this kind"),
            Self::OtherLayout { expected, found } => {
                write!(f, "the stream's layout is {found:016x}, expected {expected:016x}")
            }
            Self::OtherStreams => f.write_str("the channel is in use with other streams or sizes"),
            Self::NoRoom { need, have } => write!(
                f,
                "shared memory: need {need} bytes, have {have}; enlarge /dev/shm or ask for less"
            ),
            Self::NotOurs { owner } => {
                write!(f, "shared memory: belongs to user {owner}, or is no regular file")
            }
            Self::WriterExists { process } => {
                write!(f, "the stream has a writer already: process {process}")
            }
            Self::WriterStalled { process } => {
                write!(f, "the stream's writer, process {process}, is stopped; continue or end it")
            }
            Self::ReadersFull { reader_count } => {
                write!(f, "all {reader_count} places for registered readers are taken")
            }
            Self::ReadOnly => f.write_str("shared memory: mapped read-only"),
            Self::Ring(error) => write!(f, "shared memory: {error}"),
        }
    }
}

impl std::error::Error for IpcError {}

impl From<SysError> for IpcError {
    fn from(error: SysError) -> Self {
        Self::System(error)
    }
}

impl From<RingError> for IpcError {
    fn from(error: RingError) -> Self {
        Self::Ring(error)
    }
}
