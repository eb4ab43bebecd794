//! What goes wrong.

use core::fmt;

use taut_sys::SysError;

/// Why the journal refuses. A segment is named by its number: its file is
/// [`segment_name`](crate::segment_name).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalError {
    /// The folder cannot be used.
    Folder(SysError),
    /// Another process writes this journal.
    Locked {
        /// Which one, as far as it has said so; 0 when it has not.
        process: u32,
    },
    /// A file cannot be read, made or written.
    File {
        /// Of which segment.
        segment: u32,
        /// Why.
        error: SysError,
    },
    /// What is in a file cannot be believed.
    Damaged(Damage),
    /// The segment is full and the next one is not ready: the disk is full, or housekeeping is
    /// late.
    Full {
        /// The next segment.
        segment: u32,
        /// Why it could not be made, as far as housekeeping has tried.
        error: Option<SysError>,
    },
    /// Something of this segment could not be made safe before: the kernel may have dropped it, so
    /// nothing is trusted until the journal is opened again.
    Poisoned {
        /// Which one.
        segment: u32,
        /// Why.
        error: SysError,
    },
    /// Open orders, positions and executions do not fit half a segment: the segments are too small.
    CheckpointTooLarge {
        /// Bytes that the checkpoint needs.
        bytes: u64,
    },
    /// The recording in which the orders of this journal stand is not there.
    OrdersGone,
    /// A setting is out of its range.
    Settings(&'static str),
}

/// What is wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// In which segment.
    pub segment: u32,
    /// At which byte of the file.
    pub offset: u64,
    /// What.
    pub what: What,
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// It is of another version of the format.
    Version(u32),
    /// It has no header of a segment, or a damaged one.
    Header,
    /// It ends before it should.
    Cut,
    /// It is longer than its header says.
    Long,
    /// It says that it is another segment.
    Number(u32),
    /// The segment is not there, and later ones are.
    Missing,
    /// The checkpoint is damaged.
    Checkpoint,
    /// A record fails its check or was never finished, and right records follow it.
    Record,
    /// A record has another sequence number than the one that is due.
    Sequence {
        /// The number that is due.
        due: u64,
        /// The number that stands there.
        found: u64,
    },
    /// The checkpoint counts entries that are not there.
    Lost {
        /// The last one that it counts.
        as_of: u64,
        /// The last one that is there.
        last: u64,
    },
    /// The words of a record with a right check are no entry of this kind.
    Payload(u16),
    /// The journal does not reach back to where its first checkpoint begins.
    Base,
    /// It is a recording in which no orders are kept.
    NoOrders,
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |segment: u32| SegmentName(segment);
        match *self {
            Self::Folder(error) => write!(f, "{error}"),
            Self::Locked { process: 0 } => {
                f.write_str("another process writes this journal: one gateway, one journal")
            }
            Self::Locked { process } => {
                write!(f, "process {process} writes this journal: one gateway, one journal")
            }
            Self::File { segment, error } => write!(f, "{}: {error}", name(segment)),
            Self::Damaged(damage) => write!(f, "{damage}"),
            Self::Full { segment, error: Some(error) } => {
                write!(f, "{}: the journal is full: {error}", name(segment))
            }
            Self::Full { segment, error: None } => {
                let name = name(segment);
                write!(f, "{name}: not ready yet: housekeeping is late, or segments are too small")
            }
            Self::Poisoned { segment, error } => {
                write!(f, "{}: not safe since: {error}; open the journal again", name(segment))
            }
            Self::CheckpointTooLarge { bytes } => {
                write!(
                    f,
                    "a checkpoint takes {bytes} bytes: raise segment_bytes above {}",
                    2 * bytes
                )
            }
            Self::OrdersGone => f.write_str(
                "its orders stand in the recording that its file `orders` names, which is not \
                 there: put it back, or remove the file to begin without orders",
            ),
            Self::Settings(what) => f.write_str(what),
        }
    }
}

impl core::error::Error for JournalError {}

impl From<Damage> for JournalError {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", SegmentName(self.segment), self.offset, self.what)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Version(version) => write!(f, "format {version}, which this build does not read"),
            Self::Header => f.write_str("no header of a segment, or a damaged one"),
            Self::Cut => f.write_str("the file is cut here"),
            Self::Long => f.write_str("the file is longer than its header says"),
            Self::Number(number) => write!(f, "it says that it is segment {number}"),
            Self::Missing => f.write_str("the file is missing, and later ones are there"),
            Self::Checkpoint => f.write_str("the checkpoint is damaged"),
            Self::Record => f.write_str("a damaged record, with right records behind it"),
            Self::Sequence { due, found } => write!(f, "record {found} where {due} is due"),
            Self::Lost { as_of, last } => {
                write!(f, "the checkpoint counts {as_of} records, and there are {last}")
            }
            Self::Payload(kind) => write!(f, "a record of kind {kind} that says nothing"),
            Self::Base => f.write_str("older segments are missing, which the checkpoint needs"),
            Self::NoOrders => f.write_str(
                "no orders are kept in this recording: `taut record info` and `check` read it",
            ),
        }
    }
}

/// A segment's file.
struct SegmentName(u32);

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010}.journal", self.0)
    }
}

/// The name of a segment's file in the journal's folder.
#[must_use]
pub fn segment_name(segment: u32) -> String {
    SegmentName(segment).to_string()
}
