//! The hot side: entries into the mapping.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use taut_types::Nanos;

use crate::entry::Entry;
use crate::error::JournalError;
use crate::fault::Fault;
use crate::record;
use crate::segment::Segment;
use crate::settings::{Durability, OnFailure, Settings};

/// Appends entries. There is one for a journal.
#[derive(Debug)]
pub struct Writer {
    pub(crate) segment: Arc<Segment>,
    /// The word where the next record goes.
    pub(crate) at: usize,
    /// The number of the next record.
    pub(crate) sequence: u64,
    /// Segments that housekeeping has prepared: one at a time.
    pub(crate) prepared: Receiver<Arc<Segment>>,
    pub(crate) fault: Arc<Fault>,
    pub(crate) durability: Durability,
    pub(crate) on_failure: OnFailure,
    /// A segment before this one with entries that are not safe.
    pub(crate) uncommitted_before: Option<Arc<Segment>>,
    pub(crate) is_uncommitted: bool,
    pub(crate) unjournalled: u64,
}

impl Writer {
    pub(crate) fn new(
        segment: Arc<Segment>,
        sequence: u64,
        prepared: Receiver<Arc<Segment>>,
        fault: Arc<Fault>,
        settings: &Settings,
    ) -> Self {
        Self {
            at: segment.records_at,
            segment,
            sequence,
            prepared,
            fault,
            durability: settings.durability,
            on_failure: settings.on_failure,
            uncommitted_before: None,
            is_uncommitted: false,
            unjournalled: 0,
        }
    }

    /// Appends an entry; `now` is UTC. When it returns, the entry survives `kill -9`. Returns its
    /// sequence number.
    ///
    /// Cost: a copy and a checksum of some 100 bytes; no system call, no allocation. Every some
    /// hundred thousand entries, a look into a channel for the next segment.
    ///
    /// # Errors
    /// The segment is full and no other one is ready (this may pass), or something that was
    /// appended before could not be made safe (this stays). The entry is not journalled then.
    #[inline]
    pub fn append(&mut self, now: Nanos, entry: &Entry) -> Result<u64, JournalError> {
        if self.fault.is_set() {
            return Err(self.fault.poisoned(self.segment.number));
        }
        let (mut words, mut len) = record::write(self.segment.salt, self.sequence, now, entry);
        if !self.segment.has_room(self.at, len) {
            self.roll()?;
            (words, len) = record::write(self.segment.salt, self.sequence, now, entry);
        }
        self.at = self.segment.store(self.at, &words, len);
        self.is_uncommitted = true;
        self.sequence += 1;
        Ok(self.sequence - 1)
    }

    /// Makes everything that was appended safe from a power cut, where [`Durability::Sync`] asks
    /// for it: before the bytes of a batch of requests are written. Else it does nothing.
    ///
    /// # Errors
    /// The disk refused; the journal takes nothing more until it is opened again.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        if self.durability != Durability::Sync || !self.is_uncommitted {
            return Ok(());
        }
        if self.fault.is_set() {
            return Err(self.fault.poisoned(self.segment.number));
        }
        for segment in [self.uncommitted_before.as_ref(), Some(&self.segment)].into_iter().flatten()
        {
            segment.sync().map_err(|error| self.fault.set(segment.number, error))?;
        }
        self.uncommitted_before = None;
        self.is_uncommitted = false;
        Ok(())
    }

    /// What a request that is about to leave calls: [`append`](Self::append),
    /// [`commit`](Self::commit) and, should they fail, the policy. It may leave when this returns
    /// without an error.
    ///
    /// # Errors
    /// It must not leave: it is not journalled, and [`OnFailure`] lets only others through.
    #[inline]
    pub fn admit(&mut self, now: Nanos, request: &Entry) -> Result<(), JournalError> {
        let done = self.append(now, request).and_then(|_| self.commit());
        match done {
            Ok(()) => Ok(()),
            Err(error) => self.fail(request, error),
        }
    }

    /// How many requests left without being journalled, as [`OnFailure`] lets them.
    #[must_use]
    pub const fn unjournalled(&self) -> u64 {
        self.unjournalled
    }

    /// The number that the next entry gets.
    #[must_use]
    pub const fn next_sequence(&self) -> u64 {
        self.sequence
    }

    #[cold]
    fn fail(&mut self, request: &Entry, error: JournalError) -> Result<(), JournalError> {
        if self.on_failure == OnFailure::StopOrders && request.is_new_exposure() {
            return Err(error);
        }
        self.unjournalled += 1;
        Ok(())
    }

    /// Goes on in the segment that housekeeping has prepared.
    #[cold]
    fn roll(&mut self) -> Result<(), JournalError> {
        let Ok(next) = self.prepared.try_recv() else {
            return Err(self.fault.full(self.segment.number.saturating_add(1)));
        };
        self.at = next.records_at;
        let before = std::mem::replace(&mut self.segment, next);
        if self.durability == Durability::Sync && self.is_uncommitted {
            // Two rolls without a commit between them are rare: a segment outlasts a batch.
            if let Some(earlier) = self.uncommitted_before.replace(before) {
                earlier.sync().map_err(|error| self.fault.set(earlier.number, error))?;
            }
        }
        Ok(())
    }
}
