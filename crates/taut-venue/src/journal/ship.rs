//! A journal on its way to another machine.
//!
//! Messages over a stream of bytes, little-endian. The copy asks, with 24 bytes: `TAUTSHIP`, the
//! version (32), the start that it has (32; 0 for none), and the number of the entry that it needs
//! next (64). The venue says whose entries come, with 24 bytes of the same layout: the start, and
//! the number of the first. Then come entries: the length of the content (32), the kind (16), 16
//! bits of zeros, the number (64), the time (64), the content. An entry of kind 0 is none: the
//! venue lives, and where its number is 1, no answer leaves it without this copy. The copy answers
//! with numbers (64): it has all entries up to there.

use std::path::{Path, PathBuf};

use taut_journal::{FolderLock, Follower, JournalError};
use taut_types::Nanos;

use super::recovery::{JournalSettings, MadeAhead, epoch_folder, epochs};

const MAGIC: u64 = u64::from_le_bytes(*b"TAUTSHIP");
const VERSION: u32 = 1;
/// Bytes of what both sides say first.
pub const GREETING_BYTES: usize = 24;
/// Bytes of an acknowledgement.
pub const ACK_BYTES: usize = 8;
const HEAD_BYTES: usize = 24;
/// A segment has at most so many bytes, and so has an entry.
const ENTRY_BYTES_MAX: usize = 16 << 20;

/// The kind of what is sent while there are no entries.
const ALIVE: u32 = 0;

/// A start of a venue, and the number of an entry of its journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// Which start; 0 for none.
    pub epoch: u32,
    /// The number of the entry that comes next.
    pub next: u64,
}

impl Whereabouts {
    /// As it is sent.
    #[must_use]
    pub fn to_bytes(self) -> [u8; GREETING_BYTES] {
        let mut bytes = [0; GREETING_BYTES];
        let (magic, rest) = bytes.split_at_mut(8);
        magic.copy_from_slice(&MAGIC.to_le_bytes());
        let words = u64::from(VERSION) | u64::from(self.epoch) << 32;
        let (first, second) = rest.split_at_mut(8);
        first.copy_from_slice(&words.to_le_bytes());
        second.copy_from_slice(&self.next.to_le_bytes());
        bytes
    }

    /// What was said; nothing where that was something else, or of another version.
    #[must_use]
    pub fn read(bytes: &[u8; GREETING_BYTES]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        let [magic, first, next] = words else { return None };
        let first = u64::from_le_bytes(*first);
        let is_it = u64::from_le_bytes(*magic) == MAGIC && first as u32 == VERSION;
        is_it.then(|| Self { epoch: (first >> 32) as u32, next: u64::from_le_bytes(*next) })
    }
}

/// The venue's side: the entries of its journal, from where a copy needs them.
#[derive(Debug)]
pub struct Shipment {
    follower: Follower,
    from: Whereabouts,
}

impl Shipment {
    /// The newest start in this folder, from the entry that is asked for, or from its first one
    /// where another start was asked about; nothing while there is none. Cost: all entries before.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn open(folder: &Path, asked: Whereabouts) -> Result<Option<Self>, JournalError> {
        let Some(epoch) = epochs(folder)?.into_iter().max() else { return Ok(None) };
        let Some(mut follower) = Follower::open(&epoch_folder(folder, epoch))? else {
            return Ok(None);
        };
        let next = if asked.epoch == epoch { asked.next.max(1) } else { 1 };
        while follower.due() < next {
            if follower.next_frame()?.is_none() {
                // The copy has more than this journal: it is of another one with the same number.
                return Ok(Follower::open(&epoch_folder(folder, epoch))?
                    .map(|follower| Self { follower, from: Whereabouts { epoch, next: 1 } }));
            }
        }
        Ok(Some(Self { follower, from: Whereabouts { epoch, next } }))
    }

    /// Whose entries come, and from which on.
    #[must_use]
    pub const fn from(&self) -> Whereabouts {
        self.from
    }

    /// Appends entries to what is to be sent, up to about so many bytes; the number of the last one
    /// that was appended so far, 0 for none.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn fill(&mut self, out: &mut Vec<u8>, bytes_max: usize) -> Result<u64, JournalError> {
        while out.len() < bytes_max {
            let Some(frame) = self.follower.next_frame()? else { break };
            let length = u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(&u32::from(frame.kind).to_le_bytes());
            out.extend_from_slice(&frame.sequence.to_le_bytes());
            out.extend_from_slice(&frame.time.0.to_le_bytes());
            out.extend_from_slice(frame.bytes);
        }
        Ok(self.follower.due() - 1)
    }

    /// Appends that the venue lives, and whether no answer leaves it without this copy, which has
    /// acknowledged every entry that the venue has acknowledged so far.
    pub fn alive(out: &mut Vec<u8>, waits_for_copy: bool) {
        out.extend_from_slice(&0_u32.to_le_bytes());
        out.extend_from_slice(&ALIVE.to_le_bytes());
        out.extend_from_slice(&u64::from(waits_for_copy).to_le_bytes());
        out.extend_from_slice(&0_u64.to_le_bytes());
    }
}

/// What is wrong with what a venue sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShipError {
    /// The own journal takes nothing more.
    Journal(JournalError),
    /// An entry is longer than any is, or has not the number that is due.
    Entry {
        /// The number that is due.
        due: u64,
    },
    /// The own journal is of a later start than the venue's: it has gone on without that venue.
    Ahead {
        /// The own start.
        own: u32,
        /// The venue's.
        theirs: u32,
    },
}

impl std::fmt::Display for ShipError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Journal(error) => error.fmt(f),
            Self::Entry { due } => write!(f, "entry {due} did not come as it should"),
            Self::Ahead { own, theirs } => write!(
                f,
                "the venue is in its start {theirs}, and this journal has start {own}: this one \
                 went on without it; have that one follow, or remove this folder"
            ),
        }
    }
}

impl std::error::Error for ShipError {}

impl From<JournalError> for ShipError {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

/// The other side: a copy of a venue's journal in a folder of its own, which nobody else writes.
#[derive(Debug)]
pub struct JournalCopy {
    folder: PathBuf,
    settings: JournalSettings,
    lock: FolderLock,
    /// The start that is copied: none before the venue has said which.
    copied: Option<(u32, MadeAhead)>,
    /// No answer leaves the venue without this copy.
    is_waited_for: bool,
}

impl JournalCopy {
    /// A copy in this folder, which is made if it is not there.
    ///
    /// # Errors
    /// Another process has it.
    pub fn open(folder: &Path, settings: JournalSettings) -> Result<Self, JournalError> {
        let lock = FolderLock::take(folder)?;
        let (folder, is_waited_for) = (folder.to_owned(), false);
        Ok(Self { folder, settings, lock, copied: None, is_waited_for })
    }

    /// What is needed next.
    #[must_use]
    pub fn needs(&self) -> Whereabouts {
        let none = Whereabouts { epoch: 0, next: 1 };
        self.copied.as_ref().map_or(none, |(epoch, journal)| Whereabouts {
            epoch: *epoch,
            next: journal.next_sequence(),
        })
    }

    /// The number of the last entry that is here.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.needs().next - 1
    }

    /// Whether no answer leaves the venue without this copy: all that it has acknowledged is here.
    #[must_use]
    pub const fn is_waited_for(&self) -> bool {
        self.is_waited_for
    }

    /// The venue says what comes: what was copied of another start, or of this one, goes where it
    /// begins anew.
    ///
    /// # Errors
    /// [`ShipError::Ahead`]; the own journal cannot be begun.
    pub fn begin(&mut self, from: Whereabouts) -> Result<(), ShipError> {
        if self.copied.is_some() && from == self.needs() {
            return Ok(());
        }
        let own = epochs(&self.folder).map_err(ShipError::Journal)?.into_iter().max();
        if let Some(own) = own.filter(|own| *own > from.epoch) {
            return Err(ShipError::Ahead { own, theirs: from.epoch });
        }
        if from.next != 1 {
            return Err(ShipError::Entry { due: 1 });
        }
        (self.copied, self.is_waited_for) = (None, false);
        let folder = epoch_folder(&self.folder, from.epoch);
        let _ = std::fs::remove_dir_all(&folder);
        let journal = MadeAhead::make(&folder, self.settings).map_err(ShipError::Journal)?;
        self.copied = Some((from.epoch, journal));
        Ok(())
    }

    /// Takes whole entries out of what came, writes them down, and returns how many bytes they had.
    /// Where this copy's `acknowledge` is the disk, they are on it then.
    ///
    /// # Errors
    /// An entry is none; the own journal takes nothing more.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, ShipError> {
        let due = self.needs().next;
        let Some((_, journal)) = &mut self.copied else { return Err(ShipError::Entry { due }) };
        let mut rest = bytes;
        while let Some((head, behind)) = rest.split_first_chunk::<HEAD_BYTES>() {
            let (words, _) = head.as_chunks::<8>();
            let [first, sequence, time] = words else { break };
            let first = u64::from_le_bytes(*first);
            let (length, kind) = (first as u32 as usize, (first >> 32) as u16);
            if kind == 0 {
                self.is_waited_for = u64::from_le_bytes(*sequence) == 1;
                rest = behind;
                continue;
            }
            let due = journal.next_sequence();
            if length > ENTRY_BYTES_MAX || u64::from_le_bytes(*sequence) != due {
                return Err(ShipError::Entry { due });
            }
            let Some(content) = behind.get(..length) else { break };
            let time = Nanos(i64::from_le_bytes(*time));
            journal.append(kind, time, content).map_err(ShipError::Journal)?;
            rest = behind.get(length..).unwrap_or(&[]);
        }
        journal.commit().map_err(ShipError::Journal)?;
        Ok(bytes.len() - rest.len())
    }

    /// Makes segments ahead, and gives what came to the disk: every few milliseconds.
    ///
    /// # Errors
    /// The disk is full or broken.
    pub fn turn(&mut self) -> Result<(), JournalError> {
        self.copied.as_mut().map_or(Ok(()), |(_, journal)| journal.turn())
    }

    /// Nothing more is taken: whoever has the lock may be the venue.
    #[must_use]
    pub fn end(self) -> FolderLock {
        self.lock
    }
}
