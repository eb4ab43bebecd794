//! A channel: named shared memory with streams in it.

use std::path::{Path, PathBuf};

use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{
    Access, MemoryFile, MemoryOptions, ProcessState, accept_remote_barriers, process_id,
    process_started, process_state, utc,
};

use crate::error::IpcError;
use crate::header::{self, Descriptor};
use crate::place::{LockFile, Permissions, Place, reader_byte, writer_byte};
use crate::segment::Segment;
use crate::stream::{Stream, control_of};

/// How a channel is created and entered.
#[derive(Clone, Debug)]
pub struct ChannelOptions {
    /// A directory of a memory file system.
    pub directory: PathBuf,
    /// Permission bits of the files; the world never gets any.
    pub mode: u32,
    /// The group that the files are given to; the one of this process when it is not given.
    pub group: Option<u32>,
    /// A user, besides this one and root, whose files are trusted.
    pub owner: Option<u32>,
    /// What is asked of the mapping; [`Channel::granted`] says what was got.
    pub memory: MemoryOptions,
    /// The channel stays when the last process leaves it in good order, for who comes later.
    pub keep: bool,
}

impl Default for ChannelOptions {
    fn default() -> Self {
        let memory = MemoryOptions { huge_pages: false, prefault: true, lock: false };
        let directory = PathBuf::from("/dev/shm");
        Self { directory, mode: 0o600, group: None, owner: None, memory, keep: false }
    }
}

impl ChannelOptions {
    const fn permissions(&self) -> Permissions {
        Permissions { mode: self.mode & 0o770, group: self.group, owner: self.owner }
    }
}

/// A channel that this process uses.
#[derive(Debug)]
pub struct Channel {
    segment: Segment,
    place: Place,
    /// How it was entered; a read-only user leaves no trace, and has none.
    lock: Option<LockFile>,
    options: ChannelOptions,
    granted: MemoryOptions,
}

/// Who writes a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Nobody has yet.
    None,
    /// A process takes the stream over: the stream has no epoch of its yet.
    Starting {
        /// Its number, as it sees itself.
        process: u32,
    },
    /// A process that runs.
    Alive {
        /// Its number, as it sees itself.
        process: u32,
    },
    /// A process that is stopped (SIGSTOP): it may go on at any instruction.
    Stalled {
        /// Its number.
        process: u32,
    },
    /// The last one is gone; the next one goes on in its place.
    Gone {
        /// Its number.
        process: u32,
    },
}

impl Channel {
    /// Enters the channel `name`, and creates it with these streams when there is none. Safe
    /// against others who do the same. What a killed process left behind is used again, or replaced
    /// when it has other streams.
    ///
    /// # Errors
    /// [`IpcError::NoRoom`] when the file system is too small, [`IpcError::OtherStreams`] when the
    /// channel is in use with other streams.
    pub fn open_or_create(
        name: &str,
        streams: &[Stream<'_>],
        options: &ChannelOptions,
    ) -> Result<Self, IpcError> {
        let mut wanted = streams.iter().map(Stream::descriptor).collect::<Result<Vec<_>, _>>()?;
        let twice =
            (1..wanted.len()).any(|at| wanted[..at].iter().any(|d| d.name == wanted[at].name));
        let words = header::lay_out(&mut wanted)?;
        if twice {
            return Err(IpcError::Misuse);
        }
        let place = Place::new(&options.directory, name)?;
        let lock = place.enter(options.permissions())?;
        loop {
            if let Some(file) = place.open_data(Access::Write, options.owner)? {
                match attach(file, Access::Write) {
                    Ok(segment) if segment.descriptors() == wanted => {
                        return Ok(Self::entered(segment, place, Some(lock), options));
                    }
                    // Nobody else is here: it is a dead one's, of another layout or version.
                    _ if Place::claim_alone(&lock)? => {
                        place.remove_data()?;
                        Place::share(&lock)?;
                    }
                    Ok(_) => return Err(IpcError::OtherStreams),
                    Err(error) => return Err(error),
                }
            }
            let created = create(&place, words, &wanted, options.permissions());
            // A channel that could not be created leaves no lock file either.
            if created.is_err() {
                place.remove_if_unused(&lock)?;
            }
            created?;
        }
    }

    /// Enters an existing channel to read and write, or to read only: then this process can change
    /// nothing in it, cannot register as a reader and must poll.
    ///
    /// # Errors
    /// [`IpcError::NotFound`] when there is none; what is wrong with the header.
    pub fn open(name: &str, access: Access, options: &ChannelOptions) -> Result<Self, IpcError> {
        let place = Place::new(&options.directory, name)?;
        let found = |access| -> Result<MemoryFile, IpcError> {
            place.open_data(access, options.owner)?.ok_or(IpcError::NotFound)
        };
        drop(found(access)?);
        let lock = match access {
            Access::Write => Some(place.enter(options.permissions())?),
            Access::Read => None,
        };
        let segment = found(access).and_then(|file| attach(file, access));
        if let (Err(_), Some(lock)) = (&segment, &lock) {
            // It went away while we entered: we may be the one who must tidy up behind ourselves.
            if place.open_data(Access::Read, options.owner)?.is_none() {
                place.remove_if_unused(lock)?;
            }
        }
        Ok(Self::entered(segment?, place, lock, options))
    }

    fn entered(
        segment: Segment,
        place: Place,
        lock: Option<LockFile>,
        options: &ChannelOptions,
    ) -> Self {
        let granted = segment.mapping().tune(options.memory);
        // Without it sleepers look again after a millisecond.
        let _ = accept_remote_barriers();
        Self { segment, place, lock, options: options.clone(), granted }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.place.name()
    }

    /// What was granted of the memory options.
    #[must_use]
    pub const fn granted(&self) -> MemoryOptions {
        self.granted
    }

    /// Its size in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.segment.bytes()
    }

    /// Whose it is: the user, and the permission bits of the file.
    ///
    /// # Errors
    /// When the file cannot be looked at.
    pub fn owner(&self) -> Result<(u32, u32), IpcError> {
        self.segment.owner()
    }

    /// When it was created, nanoseconds of UTC.
    #[must_use]
    pub const fn created_ns(&self) -> u64 {
        self.segment.created_ns()
    }

    /// Its streams.
    pub fn streams(&self) -> impl Iterator<Item = Stream<'_>> {
        self.segment.descriptors().iter().filter_map(Descriptor::stream)
    }

    /// Whether this process may write to it.
    #[must_use]
    pub const fn is_writable(&self) -> bool {
        self.lock.is_some()
    }

    /// Number, description and words of a stream.
    pub(crate) fn stream(&self, name: &str) -> Result<(usize, Descriptor, &[AtomicU64]), IpcError> {
        let mut streams = self.segment.descriptors().iter().enumerate();
        let named = |(_, descriptor): &(usize, &Descriptor)| {
            descriptor.name() == name.as_bytes() && descriptor.stream().is_some()
        };
        let (number, descriptor) = streams.find(named).ok_or(IpcError::Stream)?;
        Ok((number, *descriptor, self.segment.words_at(descriptor)))
    }

    /// Refuses a stream that carries something else; 0 accepts everything.
    pub(crate) fn check_layout(descriptor: &Descriptor, expected: u64) -> Result<(), IpcError> {
        let found = descriptor.layout;
        if expected == 0 || expected == found {
            return Ok(());
        }
        Err(IpcError::OtherLayout { expected, found })
    }

    /// A lock of its own for a writer or a reader.
    pub(crate) fn open_lock(&self) -> Result<LockFile, IpcError> {
        if self.lock.is_none() {
            return Err(IpcError::ReadOnly);
        }
        self.place.open_lock(self.options.owner)
    }

    /// Who writes a stream.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn writer(&self, stream: &str) -> Result<Writer, IpcError> {
        let (number, descriptor, words) = self.stream(stream)?;
        let owner = Owner::of_writer(control_of(words, &descriptor)?.sleep_words());
        let (process, state) = owner.state();
        // Behind it: a writer that was seen while it started may have its epoch by now, never the
        // other way round.
        let is_starting = owner.is_starting();
        if process == 0 {
            return Ok(Writer::None);
        }
        Ok(match (self.place.is_locked(writer_byte(number)), state) {
            (Some(false), _) | (None, ProcessState::Gone) => Writer::Gone { process },
            _ if is_starting => Writer::Starting { process },
            (_, ProcessState::Stopped) => Writer::Stalled { process },
            _ => Writer::Alive { process },
        })
    }

    /// The process at a reader's place, if it lives.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn reader_process(&self, stream: &str, place: usize) -> Result<Option<u32>, IpcError> {
        let (number, descriptor, words) = self.stream(stream)?;
        let control = control_of(words, &descriptor)?;
        let Some(words) = control.reader_words(place) else { return Ok(None) };
        let locked = self.place.is_locked(reader_byte(number, place)).unwrap_or(false);
        Ok(locked.then(|| Owner::of_reader(words).state().0))
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.as_ref().filter(|_| !self.options.keep) {
            // The last one out removes it; what goes wrong here, `prune` puts right.
            let _ = self.place.remove_if_unused(lock);
        }
    }
}

/// Creates the data file, unless somebody is faster.
fn create(
    place: &Place,
    words: usize,
    regions: &[Descriptor],
    by: Permissions,
) -> Result<(), IpcError> {
    let file = place.reserve((words * size_of::<u64>()) as u64, by)?;
    let mapping = file.map(Access::Write, false)?;
    header::write(mapping.words(), regions, utc().0.unsigned_abs());
    file.link(&place.data())?;
    Ok(())
}

fn attach(file: MemoryFile, access: Access) -> Result<Segment, IpcError> {
    let bytes = file.status()?.bytes;
    if bytes < (header::HEADER_WORDS * size_of::<u64>()) as u64 {
        return Err(IpcError::NotASegment);
    }
    let mapping = file.map(access, false)?;
    Segment::of_file(file, mapping)
}

/// Where a process notes that it owns a stream or a place: its number and its start time. It
/// informs; what decides is the lock.
pub(crate) struct Owner<'m> {
    process: Option<&'m AtomicU64>,
    started: Option<&'m AtomicU64>,
}

impl<'m> Owner<'m> {
    pub(crate) fn of_writer(sleep_words: &'m [AtomicU64]) -> Self {
        Self { process: sleep_words.get(8), started: sleep_words.get(9) }
    }

    pub(crate) fn of_reader(reader_words: &'m [AtomicU64]) -> Self {
        Self { process: reader_words.first(), started: reader_words.get(1) }
    }

    /// Notes this process, which takes the place over.
    pub(crate) fn start(&self) {
        self.note(STARTING);
    }

    /// Notes this process, which has the place.
    pub(crate) fn sign(&self) {
        self.note(0);
    }

    fn note(&self, flag: u64) {
        let (process, started) = (process_id(), process_started(process_id()).unwrap_or(0));
        if let (Some(at), Some(since)) = (self.process, self.started) {
            // Relaxed: for people.
            since.store(started, Ordering::Relaxed);
            // Release: pairs with the acquire of `is_starting`. Who sees a signature sees the epoch
            // that was written before it.
            at.store(u64::from(process) | flag, Ordering::Release);
        }
    }

    /// Takes the note back.
    pub(crate) fn resign(&self) {
        if let Some(at) = self.process {
            // Relaxed: for people.
            at.store(0, Ordering::Relaxed);
        }
    }

    /// Whether the process that signed has not yet written its epoch.
    pub(crate) fn is_starting(&self) -> bool {
        // Acquire: pairs with the release of `note`.
        self.process.is_some_and(|word| word.load(Ordering::Acquire) & STARTING != 0)
    }

    /// Which process signed, and what it is doing.
    pub(crate) fn state(&self) -> (u32, ProcessState) {
        let load = |word: Option<&AtomicU64>| word.map_or(0, |word| word.load(Ordering::Relaxed));
        let process = load(self.process) as u32;
        (process, process_state(process, load(self.started)))
    }
}

/// Beside the number of a process that takes a place over.
const STARTING: u64 = 1 << 32;

/// The names of all channels in a directory.
///
/// # Errors
/// When the directory cannot be read.
pub fn channels(directory: &Path) -> Result<Vec<String>, IpcError> {
    Place::names(directory)
}

/// Whether any process uses a channel (those that only read do not count).
///
/// # Errors
/// When its lock cannot be looked at.
pub fn is_used(name: &str, options: &ChannelOptions) -> Result<bool, IpcError> {
    Place::new(&options.directory, name)?.is_used()
}

/// Removes a channel that no process uses; returns whether it did.
///
/// # Errors
/// When it belongs to somebody else.
pub fn prune(name: &str, options: &ChannelOptions) -> Result<bool, IpcError> {
    let place = Place::new(&options.directory, name)?;
    let lock = place.enter(options.permissions())?;
    place.remove_if_unused(&lock)
}
