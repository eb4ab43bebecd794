//! Who writes the inputs down.

use std::path::PathBuf;

use taut_fix::{Event, Now, Received};
use taut_journal::{Durability, FolderLock, Housekeeper, JournalError, Writer};
use taut_sys::{monotonic, yield_cpu};
use taut_types::Nanos;

use super::bytes::Put;
use super::input::{Input, Told};
use super::replication::Replication;
use crate::error::VenueError;
use crate::identity::ClientId;

/// How long a full segment waits for the next one before the venue ends.
const PATIENCE: Nanos = Nanos::from_secs(2);

/// Writes inputs down, on the venue's thread.
#[derive(Debug)]
pub struct Sequencer {
    writer: Writer,
    durability: Durability,
    /// Where answers wait for a copy on another machine.
    replication: Option<Replication>,
    entry: Put,
    /// The first report of this input to each client.
    told: Vec<Told>,
    /// The message that is in work, and its number.
    pub message: Vec<u8>,
    pub sequence: u64,
}

impl Sequencer {
    pub fn new(writer: Writer, durability: Durability, replication: Option<Replication>) -> Self {
        Self {
            writer,
            durability,
            replication,
            entry: Put(Vec::with_capacity(4_096)),
            told: Vec::with_capacity(128),
            message: Vec::with_capacity(4_096),
            sequence: 0,
        }
    }

    /// A message arrives.
    #[inline]
    pub fn hears(&mut self, event: &Event, message: Received<'_>) {
        if let Event::Application { sequence, .. } = event {
            self.sequence = *sequence;
            self.message.clear();
            self.message.extend_from_slice(message.bytes);
        }
    }

    /// This input has a report for a client, with this number.
    #[inline]
    pub fn tells(&mut self, client: ClientId, number: u64) {
        if self.told.iter().all(|(other, _)| *other != client) {
            self.told.push((client, number));
        }
    }

    /// Writes an input down with the numbers of its reports. When it returns, the input survives
    /// `kill -9`.
    ///
    /// # Errors
    /// [`VenueError::Journal`] when no segment is ready for two seconds: the disk is full or
    /// broken.
    pub fn append(&mut self, now: Now, input: &Input) -> Result<(), VenueError> {
        self.entry.0.clear();
        let message: &[u8] =
            if matches!(input, Input::Message { .. }) { &self.message } else { &[] };
        let kind = input.encode(&mut self.entry, now.utc, &self.told, message);
        self.told.clear();
        match self.writer.record(kind, now.mono, &self.entry.0) {
            Ok(_) => Ok(()),
            Err(JournalError::Full { .. }) => self.append_late(kind, now.mono),
            Err(error) => Err(VenueError::Journal(error)),
        }
    }

    /// Whether answers wait for the disk or for a copy: then those of a turn wait together.
    pub const fn waits(&self) -> bool {
        matches!(self.durability, Durability::Sync) || self.replication.is_some()
    }

    /// Whether answers to all that was appended may leave.
    pub fn may_tell(&self) -> bool {
        match &self.replication {
            Some(replication) => replication.may_tell(self.writer.next_sequence() - 1),
            None => self.durability != Durability::Sync || self.writer.is_committed(),
        }
    }

    /// How many entries the journal has.
    #[cfg(test)]
    pub const fn appended(&self) -> u64 {
        self.writer.next_sequence() - 1
    }

    /// Where answers wait for the disk: makes what was appended safe from a power cut. Where they
    /// wait for a copy: waits until it has all that was appended.
    ///
    /// # Errors
    /// [`VenueError::Journal`]: the disk refused; [`VenueError::NotReplicated`].
    pub fn commit(&mut self) -> Result<(), VenueError> {
        self.writer.commit().map_err(VenueError::Journal)?;
        match &self.replication {
            Some(replication) if !replication.wait_for(self.writer.next_sequence() - 1) => {
                Err(VenueError::NotReplicated)
            }
            _ => Ok(()),
        }
    }

    /// The segment is full, and the next one is not ready.
    #[cold]
    fn append_late(&mut self, kind: u16, at: Nanos) -> Result<(), VenueError> {
        let due = monotonic() + PATIENCE;
        loop {
            match self.writer.record(kind, at, &self.entry.0) {
                Err(JournalError::Full { .. }) if monotonic() < due => yield_cpu(),
                appended => return appended.map(drop).map_err(VenueError::Journal),
            }
        }
    }
}

/// Makes the journal's segments ahead, on another thread than the venue's.
#[derive(Debug)]
pub struct JournalKeeper {
    pub(super) keeper: Housekeeper,
    /// Journals of earlier starts, which nobody needs any more.
    pub(super) old: Vec<PathBuf>,
    /// They stay until this entry, the end of this start's image, is safe from a power cut; nothing
    /// where it is.
    pub(super) safe_behind: Option<u64>,
    /// Nobody else takes this journal up while it is written.
    #[expect(dead_code, reason = "held")]
    pub(super) lock: FolderLock,
}

impl JournalKeeper {
    /// Up to which entry the journal is safe from a power cut, behind a turn.
    #[cfg(test)]
    pub(crate) fn turn_and_tell(&mut self) -> u64 {
        self.keeper.turn().expect("a turn").durable
    }

    /// Makes what is needed next: every few milliseconds. Once this start's image is safe, a turn
    /// removes what earlier starts have left.
    ///
    /// # Errors
    /// The disk is full or broken; the next turn tries again.
    pub fn turn(&mut self) -> Result<(), JournalError> {
        let turn = self.keeper.turn()?;
        if self.safe_behind.is_none_or(|image_end| turn.durable >= image_end) {
            for folder in self.old.drain(..) {
                // One that stays is found at the next start.
                let _ = std::fs::remove_dir_all(folder);
            }
        }
        Ok(())
    }
}
