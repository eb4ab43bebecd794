//! The slow side: segments made ahead, checkpoints, synchronisation, removal.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use taut_sync::atomic::Ordering;
use taut_sys::{SysError, monotonic, unlink, utc};

use crate::entry::Entry;
use crate::error::{JournalError, segment_name};
use crate::fault::Shared;
use crate::header::{HEADER_WORDS, Header};
use crate::kind::{END, SAFE, is_recorded};
use crate::mapped;
use crate::pack::{PAYLOAD_WORDS_MAX, Payload};
use crate::record::{self, First, HEAD_WORDS};
use crate::segment::Segment;
use crate::settings::{Durability, Settings};
use crate::state::State;
use crate::times::{Place, TimesFile};

/// The longest entry about orders that is looked into: room for the kinds of later builds.
const ENTRY_WORDS_MAX: usize = 64;

/// Words of a page.
const PAGE_WORDS: usize = 4_096 / size_of::<u64>();
/// After so many turns in which entries came, a page that is not full is written to the disk, too.
const PAGE_TURNS_MAX: u32 = 50;

/// What a turn found and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Entries that were read since the last turn.
    pub entries: u64,
    /// The number of the last entry that is safe from a power cut, as far as housekeeping knows.
    pub durable: u64,
    /// Segments that were made.
    pub prepared: u32,
    /// Segments that were removed.
    pub removed: u32,
}

/// Everything that is too slow for the hot path, on a thread of its own or, where nobody minds its
/// milliseconds, on the writer's.
///
/// It reads what the writer appends out of the same mapping, so that the writer does nothing for
/// it, and folds it into a [`State`]: the checkpoint of the next segment.
#[derive(Debug)]
pub struct Housekeeper {
    folder: PathBuf,
    settings: Settings,
    shared: Arc<Shared>,
    to_writer: SyncSender<Arc<Segment>>,
    /// The segment that is read, as far as this word.
    current: Arc<Segment>,
    at: usize,
    /// The word from which on it may not be safe.
    durable_at: usize,
    /// A word up to which entries were read, with the number of the last one: safe when the pages
    /// before it are. And how many turns ago that was.
    mark: (usize, u64),
    mark_turns: u32,
    /// The one that the writer has or will have next.
    prepared: Option<Arc<Segment>>,
    /// What the entries about orders come to, where there are any, and the number of the last.
    state: State,
    has_orders: bool,
    durable: u64,
    /// The oldest segment that is there.
    oldest: u32,
    /// Rows of the time table.
    noted: Receiver<Place>,
    times: TimesFile,
}

/// Where housekeeping begins.
pub struct Begun {
    pub segment: Arc<Segment>,
    /// What all entries before came to, where there are some about orders.
    pub state: Option<State>,
    /// The oldest segment that is there.
    pub oldest: u32,
}

impl Housekeeper {
    pub(crate) fn new(
        folder: &Path,
        settings: Settings,
        shared: Arc<Shared>,
        (to_writer, noted): (SyncSender<Arc<Segment>>, Receiver<Place>),
        Begun { segment: current, state, oldest }: Begun,
    ) -> Self {
        let (has_orders, state) = (state.is_some(), state.unwrap_or_default());
        Self {
            folder: folder.to_owned(),
            settings,
            shared,
            to_writer,
            at: current.records_at,
            durable_at: current.records_at,
            mark: (current.records_at, state.as_of),
            mark_turns: 0,
            current,
            prepared: None,
            durable: state.as_of,
            state,
            has_orders,
            oldest,
            noted,
            times: TimesFile::Due(folder.to_owned()),
        }
    }

    /// Does what is due: every 1 to 10 ms, so that a segment outlasts it. Cost: a system call
    /// without work; with [`Durability::Async`] a write to the disk; every some hundred thousand
    /// entries a new file, some 100 ms.
    ///
    /// # Errors
    /// The disk is full or broken, with the file. A segment that could not be made is tried again
    /// at the next turn, and the writer goes on while it has room. What could not be made safe
    /// poisons the journal.
    pub fn turn(&mut self) -> Result<Turn, JournalError> {
        let mut turn = Turn::default();
        self.times.append(self.noted.try_iter());
        self.read(&mut turn)?;
        if self.settings.durability == Durability::Async && self.durable < self.state.as_of {
            self.sync_soon(turn.entries > 0)?;
        }
        match self.settings.durability {
            // The writer says so.
            Durability::Sync => self.durable = self.shared.safe.load(Ordering::Relaxed),
            _ => self.shared.safe.store(self.durable, Ordering::Relaxed),
        }
        turn.durable = self.durable;
        let current = self.current.number;
        let file = |error| JournalError::File { segment: current, error };
        self.current.populate(self.at).map_err(file)?;
        if self.prepared.is_none() {
            turn.prepared = 1;
            let prepared = self.prepare();
            let error = match prepared {
                Err(JournalError::File { error, .. }) => Some(error),
                _ => None,
            };
            self.shared.fault.note_unprepared(error);
            prepared?;
        }
        turn.removed = self.remove_old()?;
        Ok(turn)
    }

    /// What the entries about orders come to, as far as they were read.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// The folder has another name from now on.
    pub fn moved_to(&mut self, folder: &Path) {
        folder.clone_into(&mut self.folder);
        self.times.moved_to(folder);
    }

    /// Ends a recording whose writer is gone: its last segment says so and is cut where its entries
    /// end, and what was made ahead is removed. With a writer that is still there nothing is done.
    ///
    /// # Errors
    /// What the system says; the recording is right all the same.
    pub fn finish(mut self) -> Result<(), JournalError> {
        self.times.append(self.noted.try_iter());
        self.read(&mut Turn::default())?;
        // Behind the end of a file nobody may write.
        let segments = [Some(&self.current), self.prepared.as_ref()];
        if segments.into_iter().flatten().any(|segment| Arc::strong_count(segment) > 1) {
            return Ok(());
        }
        match self.prepared.take() {
            Some(next) if !self.current.has_room(self.at, HEAD_WORDS) => {
                (self.at, self.durable_at) = (next.records_at, next.records_at);
                self.current = next;
            }
            unused => unused.map_or(Ok(()), |unused| self.remove(unused.number))?,
        }
        if !self.current.has_room(self.at, HEAD_WORDS) {
            return Ok(());
        }
        let segment = self.current.number;
        let stamp = (self.state.as_of.saturating_add(1), monotonic());
        self.at = self.current.append_bytes(self.at, stamp, END, &[]);
        if self.settings.durability == Durability::Async {
            self.sync()?;
        }
        let bytes = (self.at * mapped::WORD_BYTES) as u64;
        let path = self.folder.join(segment_name(segment));
        let cut = OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(bytes));
        cut.map_err(|error| {
            let error = SysError::from_errno("cut", error.raw_os_error().unwrap_or(0));
            JournalError::File { segment, error }
        })
    }

    fn remove(&self, segment: u32) -> Result<(), JournalError> {
        let removed = unlink(&self.folder.join(segment_name(segment)));
        removed.map_err(|error| JournalError::File { segment, error })
    }

    /// Reads all that the writer has appended, over the ends of segments.
    fn read(&mut self, turn: &mut Turn) -> Result<(), JournalError> {
        loop {
            // A record in the next segment: the writer has left this one for good.
            let next = self.prepared.take_if(|next| next.has_record(next.records_at));
            turn.entries += self.read_segment()?;
            let Some(next) = next else { return Ok(()) };
            if self.settings.durability == Durability::Async {
                self.sync()?;
            }
            (self.at, self.durable_at) = (next.records_at, next.records_at);
            self.mark = (self.at, self.state.as_of);
            self.current = next;
        }
    }

    fn read_segment(&mut self) -> Result<u64, JournalError> {
        let before = self.state.as_of;
        while let Some((first, number)) = self.current.first(self.at) {
            let is_due = number == self.state.as_of + 1;
            let is_other = !self.has_orders || is_recorded(first.kind);
            if !is_due || !(is_other || self.take(first, number)) {
                // Memory that does not hold what was written is none to write orders into.
                let error = SysError::from_errno("read what was written", 0);
                return Err(self.shared.fault.set(self.current.number, error));
            }
            if first.kind != SAFE {
                self.state.as_of = number;
            }
            self.at += first.words;
        }
        Ok(self.state.as_of - before)
    }

    /// Takes an entry about orders; whether it is right.
    fn take(&mut self, first: First, number: u64) -> bool {
        if first.words > ENTRY_WORDS_MAX {
            self.state.unknown += 1;
            return true;
        }
        let mut words = [[0; 8]; ENTRY_WORDS_MAX];
        let words = self.current.load(self.at, first.words, &mut words);
        let Some(record) = record::read(words, self.current.salt, number..=number) else {
            return false;
        };
        match record.entry() {
            Some(entry) => self.state.apply(&entry, self.settings.executions_max),
            None => self.state.unknown += 1,
        }
        true
    }

    /// Makes entries safe without the writer in the way: who stores into a page while it is written
    /// to the disk waits until that is done. The page in work is left out while entries come; it
    /// waits for a turn without any, or for its last turn.
    fn sync_soon(&mut self, is_busy: bool) -> Result<(), JournalError> {
        self.mark_turns += 1;
        if !is_busy || self.mark_turns >= PAGE_TURNS_MAX {
            return self.sync();
        }
        let whole = self.at - self.at % PAGE_WORDS;
        if whole > self.durable_at {
            let done = self.current.sync(self.durable_at..whole);
            done.map_err(|error| self.shared.fault.set(self.current.number, error))?;
            self.durable_at = whole;
        }
        if whole >= self.mark.0 {
            self.durable = self.mark.1;
            (self.mark, self.mark_turns) = ((self.at, self.state.as_of), 0);
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        let done = self.current.sync(self.durable_at..self.at);
        done.map_err(|error| self.shared.fault.set(self.current.number, error))?;
        (self.durable, self.durable_at) = (self.state.as_of, self.at);
        (self.mark, self.mark_turns) = ((self.at, self.state.as_of), 0);
        Ok(())
    }

    /// Makes the segment after this one.
    fn prepare(&mut self) -> Result<(), JournalError> {
        let number = self.current.number.saturating_add(1);
        let state = self.has_orders.then_some(&self.state);
        let segment = make(&self.folder, number, state, &self.settings)?;
        let segment = Arc::new(segment);
        // The writer takes one before the next is made, so there is room; without a writer nobody
        // needs it.
        let _ = self.to_writer.try_send(Arc::clone(&segment));
        self.prepared = Some(segment);
        Ok(())
    }

    fn remove_old(&mut self) -> Result<u32, JournalError> {
        let keep_from = self.current.number.saturating_sub(self.settings.segments_kept);
        let mut removed = 0;
        while self.oldest < keep_from {
            let path = self.folder.join(segment_name(self.oldest));
            match unlink(&path) {
                Err(error) if path.exists() => {
                    return Err(JournalError::File { segment: self.oldest, error });
                }
                _ => removed += 1,
            }
            self.oldest += 1;
        }
        Ok(removed)
    }
}

/// Makes a segment that begins with a checkpoint of the state, where there is one.
pub fn make(
    folder: &Path,
    number: u32,
    state: Option<&State>,
    settings: &Settings,
) -> Result<Segment, JournalError> {
    let checkpoint = || state.into_iter().flat_map(State::checkpoint);
    let mut payload: Payload = [0; PAYLOAD_WORDS_MAX];
    let words = |entry: Entry| HEAD_WORDS + entry.pack(&mut payload).1;
    let records_at = HEADER_WORDS + checkpoint().map(words).sum::<usize>();
    let file_words = settings.segment_bytes / size_of::<u64>();
    if records_at > file_words / 2 {
        return Err(JournalError::CheckpointTooLarge { bytes: 8 * records_at as u64 });
    }
    let file = |error| JournalError::File { segment: number, error };
    let header = Header {
        records_at,
        is_own_schema: true,
        has_marks: settings.marks,
        words: file_words,
        number,
        salt: mapped::salt().map_err(file)?,
        made_at: utc(),
    };
    Segment::make(folder, header, checkpoint(), settings.durability).map_err(file)
}
