//! Both sides of writing: frames into a mapping, segments ahead of them.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};

use taut_sys::{SysError, unlink};
use taut_types::Nanos;

use super::frame;
use super::frame::HEAD_WORDS;
use super::header::HEADER_WORDS;
use super::segment::Segment;
use super::times::{InputPlace, STEP, TimesFile, WAITING};
use crate::error::{JournalError, segment_name};
use crate::fault::{Fault, Shared};
use crate::lock::FolderLock;

/// How a journal of inputs is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputSettings {
    /// The size of a segment: at least 64 KiB. Two are in memory.
    pub segment_bytes: usize,
}

impl Default for InputSettings {
    fn default() -> Self {
        Self { segment_bytes: 64 << 20 }
    }
}

/// A journal of inputs that is written.
#[derive(Debug)]
pub struct Inputs {
    /// For the thread whose inputs they are.
    pub writer: InputWriter,
    /// For another one.
    pub keeper: InputKeeper,
}

impl Inputs {
    /// Begins a journal in a folder that is empty, or is not there yet.
    ///
    /// # Errors
    /// The folder has something in it (`ENOTEMPTY`) or cannot be made; what making a segment says.
    pub fn create(folder: &Path, settings: InputSettings) -> Result<Self, JournalError> {
        const NOT_EMPTY: i32 = 39;
        if settings.segment_bytes < 1 << 16 {
            return Err(JournalError::Settings("segment_bytes: at least 65536"));
        }
        let refused =
            |operation, errno| Err(JournalError::Folder(SysError::from_errno(operation, errno)));
        match std::fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
            Ok(true) => {}
            Ok(false) => return refused("begin a journal in a folder", NOT_EMPTY),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return refused("read the folder", error.raw_os_error().unwrap_or(0)),
        }
        let shared = Shared { fault: Fault::default(), _lock: FolderLock::take(folder)? };
        let shared = Arc::new(shared);
        let words = settings.segment_bytes / size_of::<u64>();
        let file = |error| JournalError::File { segment: 1, error };
        let segment = Arc::new(Segment::make(folder, 1, words).map_err(file)?);
        let (to_writer, prepared) = sync_channel(1);
        let (to_table, noted) = sync_channel(WAITING);
        let times = TimesFile::create(folder);
        let frame = Vec::with_capacity(words);
        let writer = InputWriter {
            segment,
            at: HEADER_WORDS,
            sequence: 1,
            frame,
            prepared,
            to_table,
            next_row: Nanos(i64::MIN),
            shared: Arc::clone(&shared),
        };
        let folder = folder.to_owned();
        let waiting = None;
        let keeper =
            InputKeeper { folder, words, next: 2, waiting, to_writer, noted, times, shared };
        Ok(Self { writer, keeper })
    }
}

/// Appends frames.
#[derive(Debug)]
pub struct InputWriter {
    segment: Arc<Segment>,
    /// The word where the next frame goes.
    at: usize,
    /// The number of the next frame.
    sequence: u64,
    /// The frame on its way, behind the salt.
    frame: Vec<u64>,
    prepared: Receiver<Arc<Segment>>,
    /// Where rows of the time table go, and when the next one does.
    to_table: SyncSender<InputPlace>,
    next_row: Nanos,
    shared: Arc<Shared>,
}

impl InputWriter {
    /// Appends a frame; when it returns, the frame survives `kill -9`. Returns its number.
    ///
    /// Cost: two copies and a checksum; no system call, no allocation.
    ///
    /// # Errors
    /// The segment is full and no other one is ready, or the frame is longer than a segment. It is
    /// not in the journal then, and a journal with a hole is none: whoever goes on without it says
    /// that the journal ends here.
    pub fn append(&mut self, kind: u16, time: Nanos, bytes: &[u8]) -> Result<u64, JournalError> {
        let words = frame::words_for(bytes.len());
        if !self.segment.has_room(self.at, words) {
            self.roll(words)?;
        }
        if time >= self.next_row {
            self.note_place(time);
        }
        let stamp = (self.sequence, time);
        frame::write(&mut self.frame, self.segment.salt, stamp, kind, bytes);
        self.at = self.segment.store(self.at, self.frame.get(1..).unwrap_or(&[]));
        self.sequence += 1;
        Ok(self.sequence - 1)
    }

    /// The frame that is appended now gets a row of the time table, where there is room for one.
    #[cold]
    fn note_place(&mut self, time: Nanos) {
        self.next_row = time + STEP;
        let (sequence, segment) = (self.sequence, self.segment.number);
        let offset = (self.at * size_of::<u64>()) as u64;
        let _ = self.to_table.try_send(InputPlace { sequence, time, segment, offset });
    }

    /// The next frame begins a segment, if one is ready: a day's, say. Whether it does.
    pub fn begin_segment(&mut self) -> bool {
        self.at == HEADER_WORDS || self.roll(HEAD_WORDS).is_ok()
    }

    /// The number that the next frame gets.
    #[must_use]
    pub const fn next_sequence(&self) -> u64 {
        self.sequence
    }

    #[cold]
    fn roll(&mut self, words: usize) -> Result<(), JournalError> {
        if !self.segment.could_hold(words.max(HEAD_WORDS)) {
            return Err(JournalError::Settings("segment_bytes: a frame is longer than a segment"));
        }
        match self.prepared.try_recv() {
            Ok(next) => {
                (self.segment, self.at) = (next, HEADER_WORDS);
                Ok(())
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
                Err(self.shared.fault.full(self.segment.number.saturating_add(1)))
            }
        }
    }
}

/// Makes segments ahead of the writer.
#[derive(Debug)]
pub struct InputKeeper {
    folder: PathBuf,
    words: usize,
    /// The number of the next segment.
    next: u32,
    /// A segment that the writer has no room for yet.
    waiting: Option<Arc<Segment>>,
    to_writer: SyncSender<Arc<Segment>>,
    /// Rows of the time table.
    noted: Receiver<InputPlace>,
    times: TimesFile,
    shared: Arc<Shared>,
}

impl InputKeeper {
    /// Makes the next segment, if the writer has taken the last one: every few milliseconds. Cost:
    /// nothing, or some ten milliseconds.
    ///
    /// # Errors
    /// The disk is full or broken, with the file; it is tried again at the next turn.
    pub fn turn(&mut self) -> Result<(), JournalError> {
        self.times.append(self.noted.try_iter());
        if self.waiting.is_none() {
            let made = Segment::make(&self.folder, self.next, self.words);
            self.shared.fault.note_unprepared(made.as_ref().err().copied());
            let file = |error| JournalError::File { segment: self.next, error };
            self.waiting = Some(Arc::new(made.map_err(file)?));
            self.next += 1;
        }
        if let Some(segment) = self.waiting.take()
            && let Err(back) = self.to_writer.try_send(segment)
        {
            let (TrySendError::Full(segment) | TrySendError::Disconnected(segment)) = back;
            self.waiting = Some(segment);
        }
        Ok(())
    }

    /// Ends the journal: the last segment is cut where its frames end, and what was made ahead is
    /// removed.
    ///
    /// # Errors
    /// What the system says; the journal is right all the same.
    pub fn finish(mut self, writer: InputWriter) -> Result<(), JournalError> {
        self.times.append(self.noted.try_iter());
        let last = writer.segment.number;
        let bytes = (writer.at * size_of::<u64>()) as u64;
        drop(writer);
        for unused in last + 1..self.next {
            let path = self.folder.join(segment_name(unused));
            unlink(&path).map_err(|error| JournalError::File { segment: unused, error })?;
        }
        let path = self.folder.join(segment_name(last));
        let cut = OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(bytes));
        cut.map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(0);
            JournalError::File { segment: last, error: SysError::from_errno("cut", errno) }
        })
    }
}
