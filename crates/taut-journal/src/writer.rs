//! The hot side: entries into the mapping.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use taut_sync::atomic::Ordering;
use taut_types::Nanos;

use crate::entry::Entry;
use crate::error::JournalError;
use crate::fault::Shared;
use crate::kind::{SAFE, is_recorded};
use crate::record::{self, HEAD_WORDS, Written};
use crate::segment::Segment;
use crate::settings::{Durability, OnFailure, Settings};
use crate::times::{Place, STEP};

/// Words of a mark.
const MARK_WORDS: usize = HEAD_WORDS + 1;

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
    pub(crate) shared: Arc<Shared>,
    pub(crate) durability: Durability,
    pub(crate) on_failure: OnFailure,
    /// The word where the entries of this segment begin that are not safe.
    pub(crate) committed_at: usize,
    /// A segment before this one, with the words of it that are not safe.
    pub(crate) uncommitted_before: Option<(Arc<Segment>, Range<usize>)>,
    pub(crate) unjournalled: u64,
    /// The number in the last mark; the highest where none are made.
    marked: u64,
    /// Where rows of the time table go, and when the next one does.
    to_table: SyncSender<Place>,
    next_row: Nanos,
}

impl Writer {
    pub(crate) fn new(
        segment: Arc<Segment>,
        sequence: u64,
        prepared: Receiver<Arc<Segment>>,
        to_table: SyncSender<Place>,
        shared: Arc<Shared>,
        settings: &Settings,
    ) -> Self {
        Self {
            at: segment.records_at,
            committed_at: segment.records_at,
            segment,
            sequence,
            prepared,
            shared,
            durability: settings.durability,
            on_failure: settings.on_failure,
            uncommitted_before: None,
            unjournalled: 0,
            marked: if settings.marks { 0 } else { u64::MAX },
            to_table,
            next_row: Nanos(i64::MIN),
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
        if self.shared.fault.is_set() {
            return Err(self.shared.fault.poisoned(self.segment.number));
        }
        let mut words: Written = [0; _];
        let stamp = (self.sequence, now);
        let mut len = record::write(&mut words, self.segment.salt, stamp, entry);
        if !self.segment.has_room(self.at, len) {
            self.roll()?;
            len = record::write(&mut words, self.segment.salt, stamp, entry);
        }
        self.at = self.segment.store(self.at, &words, len);
        self.sequence += 1;
        Ok(self.sequence - 1)
    }

    /// Appends an entry of a recording, of a kind such as [`TURN`](crate::TURN); `time` is
    /// CLOCK_MONOTONIC. When it returns, the entry survives `kill -9`. Returns its sequence number.
    ///
    /// Cost: a checksum and a copy; no system call, no allocation.
    ///
    /// # Errors
    /// As [`append`](Self::append); when the entry is longer than a segment. It is not in the
    /// journal then, and a recording with a hole is none: whoever goes on without it says so.
    #[inline]
    pub fn record(&mut self, kind: u16, time: Nanos, bytes: &[u8]) -> Result<u64, JournalError> {
        if self.shared.fault.is_set() {
            return Err(self.shared.fault.poisoned(self.segment.number));
        }
        let words = record::words_for(bytes.len());
        if !self.segment.has_room(self.at, words) {
            self.make_room(words)?;
        }
        let safe = self.shared.safe.load(Ordering::Relaxed);
        // One for which there is no room comes with the next entry.
        if safe > self.marked && self.segment.has_room(self.at, MARK_WORDS + words) {
            self.mark(time, safe);
        }
        if time >= self.next_row && is_recorded(kind) {
            self.note_place(time);
        }
        self.at = self.segment.append_bytes(self.at, (self.sequence, time), kind, bytes);
        self.sequence += 1;
        Ok(self.sequence - 1)
    }

    /// The next entry begins a segment, if one is ready: a day's, say. Whether it does.
    pub fn begin_segment(&mut self) -> bool {
        self.at == self.segment.records_at || self.make_room(HEAD_WORDS).is_ok()
    }

    /// Makes everything that was appended safe from a power cut, where [`Durability::Sync`] asks
    /// for it: before the bytes of a batch of requests are written. Else it does nothing.
    ///
    /// # Errors
    /// The disk refused; the journal takes nothing more until it is opened again.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        if self.durability != Durability::Sync || self.is_committed() {
            return Ok(());
        }
        if self.shared.fault.is_set() {
            return Err(self.shared.fault.poisoned(self.segment.number));
        }
        let now = (Arc::clone(&self.segment), self.committed_at..self.at);
        for part in self.uncommitted_before.take().into_iter().chain([now]) {
            self.sync(&part)?;
        }
        self.committed_at = self.at;
        self.shared.safe.store(self.sequence - 1, Ordering::Relaxed);
        Ok(())
    }

    /// Whether nothing was appended since the last [`commit`](Self::commit) that worked; without
    /// [`Durability::Sync`] there is none.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        self.committed_at == self.at && self.uncommitted_before.is_none()
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

    /// As [`admit`](Self::admit), of a request that leaves with others:
    /// [`commit`](Self::commit) once before their bytes are written.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    #[inline]
    pub fn admit_uncommitted(&mut self, now: Nanos, request: &Entry) -> Result<(), JournalError> {
        match self.append(now, request) {
            Ok(_) => Ok(()),
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

    /// Says that entries up to this number are on the disk, for which there is room.
    #[cold]
    fn mark(&mut self, time: Nanos, safe: u64) {
        let stamp = (self.sequence, time);
        self.at = self.segment.append_bytes(self.at, stamp, SAFE, &safe.to_le_bytes());
        self.marked = safe;
    }

    /// The entry that is appended now gets a row of the time table, where there is room for one.
    #[cold]
    fn note_place(&mut self, time: Nanos) {
        self.next_row = time + STEP;
        let (sequence, segment) = (self.sequence, self.segment.number);
        let offset = (self.at * size_of::<u64>()) as u64;
        let _ = self.to_table.try_send(Place { sequence, time, segment, offset });
    }

    /// Goes on in the next segment, for a record of so many words.
    #[cold]
    fn make_room(&mut self, words: usize) -> Result<(), JournalError> {
        let too_long =
            Err(JournalError::Settings("segment_bytes: an entry is longer than a segment"));
        if !self.segment.could_hold(words) {
            return too_long;
        }
        self.roll()?;
        // A longer checkpoint may stand there.
        if self.segment.has_room(self.at, words) { Ok(()) } else { too_long }
    }

    /// Goes on in the segment that housekeeping has prepared.
    #[cold]
    fn roll(&mut self) -> Result<(), JournalError> {
        let Ok(next) = self.prepared.try_recv() else {
            return Err(self.shared.fault.full(self.segment.number.saturating_add(1)));
        };
        let uncommitted = self.committed_at..self.at;
        (self.at, self.committed_at) = (next.records_at, next.records_at);
        let before = std::mem::replace(&mut self.segment, next);
        if self.durability == Durability::Sync && !uncommitted.is_empty() {
            // Two rolls without a commit between them are rare: a segment outlasts a batch.
            if let Some(earlier) = self.uncommitted_before.replace((before, uncommitted)) {
                self.sync(&earlier)?;
            }
        }
        Ok(())
    }

    fn sync(&self, (segment, words): &(Arc<Segment>, Range<usize>)) -> Result<(), JournalError> {
        segment.sync(words.clone()).map_err(|error| self.shared.fault.set(segment.number, error))
    }
}
