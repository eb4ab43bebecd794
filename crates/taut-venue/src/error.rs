//! What ends a venue.

use std::fmt;

use taut_fix::FixError;
use taut_io::IoError;
use taut_journal::JournalError;
use taut_sys::SysError;
use taut_types::OrderId;

/// Why a venue cannot start or cannot go on. What a client does wrong is answered, not raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VenueError {
    /// A setting that no venue can have.
    Config {
        /// The name of the field.
        setting: &'static str,
        /// What it must be.
        remedy: &'static str,
    },
    /// An order of the flow's initial book does not fit the engine.
    InitialOrder {
        /// Which.
        order_id: OrderId,
        /// Why.
        reason: taut_engine::RejectReason,
    },
    /// The loop could not do what it was asked to.
    Loop(IoError),
    /// The tables of FIX 4.4 cannot be built.
    Dictionary(FixError),
    /// A socket failed.
    Socket {
        /// Which one.
        thing: &'static str,
        /// The system call and its error.
        error: SysError,
    },
    /// The journal cannot be begun, read or written.
    Journal(JournalError),
    /// No copy of the journal on another machine had an input within ten seconds, or one has become
    /// the venue, or [`Replication::while_waiting`](crate::Replication::while_waiting) ended the
    /// wait: nobody may hear of what was executed.
    NotReplicated,
    /// What the journal holds is no venue of this configuration.
    NotTaken {
        /// Where: a frame of the journal.
        frame: u64,
        /// Why.
        why: NotTaken,
    },
    /// The kernel took no datagram for so long that the feed cannot be kept whole.
    FeedBlocked {
        /// Which channel.
        thing: &'static str,
    },
}

/// Why an image is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// It is none, or one of another version.
    Malformed,
    /// Its instruments are not the first ones of the configuration.
    Instruments,
    /// A book of it does not fit: it is larger than the configuration has room for.
    Engine,
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "what stands there means nothing to this version of the venue",
            Self::Instruments => {
                "its instruments are others: those of the journal come first, in their order, with \
                 their ticks and lots; new ones come behind them"
            }
            Self::Engine => "a book of it does not fit: raise order_capacity and level_capacity",
        })
    }
}

impl fmt::Display for VenueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config { setting, remedy } => {
                write!(f, "venue configuration: `{setting}` must be {remedy}")
            }
            Self::InitialOrder { order_id, reason } => write!(
                f,
                "initial order {}: refused ({reason:?}): raise order_capacity and level_capacity, \
                 or correct its price and size",
                order_id.0
            ),
            Self::Loop(error) => write!(f, "the venue's loop: {error}"),
            Self::Dictionary(error) => write!(f, "the tables of FIX 4.4: {error}"),
            Self::Socket { thing, error } => {
                write!(f, "{thing}: {error}: check the address, the interface and the limits")
            }
            Self::Journal(error) => write!(f, "the journal: {error}"),
            Self::NotReplicated => f.write_str(
                "the journal: no standby has copied the last inputs within ten seconds, or it has \
                 become the venue: start one, or choose another `acknowledge`",
            ),
            Self::NotTaken { frame, why } => write!(f, "the journal, frame {frame}: {why}"),
            Self::FeedBlocked { thing } => write!(
                f,
                "{thing}: the kernel takes no datagram: check the interface and its send buffer"
            ),
        }
    }
}

impl std::error::Error for VenueError {}

impl From<IoError> for VenueError {
    fn from(error: IoError) -> Self {
        Self::Loop(error)
    }
}

/// Names the socket of a failed system call.
pub(crate) trait During<T> {
    fn during(self, thing: &'static str) -> Result<T, VenueError>;
}

impl<T> During<T> for Result<T, SysError> {
    fn during(self, thing: &'static str) -> Result<T, VenueError> {
        self.map_err(|error| VenueError::Socket { thing, error })
    }
}
