//! The store: one append-only file for each session.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use taut_fix::{Store, StoreError};
use taut_types::Nanos;

use crate::owner_only::OWNER_ONLY;
use crate::store::places::{Place, Places};
use crate::store::record::{self, HEAD_BYTES, Kind, MAGIC, Numbers};
use crate::store::recovery::{Found, recover};

/// When what was written is safe from a power cut. From `kill -9` it is safe at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// After every message: the slowest, one device write each.
    EachMessage,
    /// When [`FileStore::commit`] is called: before a batch is handed to the network.
    #[default]
    EachBatch,
    /// When the kernel likes. After a power cut both numbers may be old ones, and nothing in the
    /// file tells: only for sessions that reset at Logon, and for tests.
    Never,
}

/// How much a store keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// So many of the newest messages can always be sent again; of older ones the peer may get a
    /// gap fill.
    pub messages: u64,
    /// A file that is larger, and to more than half of no use, is written anew.
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { messages: 1_000_000, bytes: 64 << 20 }
    }
}

/// A store in a file, locked against a second process.
///
/// A failed write or synchronisation poisons it: the kernel may have dropped what it could not
/// write, so nothing is trusted until the file is opened again. Cost of a write: one system call,
/// and the synchronisation.
#[derive(Debug)]
pub struct FileStore {
    file: File,
    path: PathBuf,
    sync: Sync,
    retention: Retention,
    numbers: Numbers,
    period: Option<Nanos>,
    /// Where the next record goes.
    end: u64,
    places: Places,
    /// A record on its way to the file, or back.
    record: Vec<u8>,
    /// Something was written since the last synchronisation.
    is_uncommitted: bool,
    poison: Option<StoreError>,
    torn_bytes: u64,
    damaged_bytes: u64,
}

impl FileStore {
    /// Opens or makes the file, and recovers what is in it by itself:
    ///
    /// - Damage in the middle costs the messages that it hits: the peer gets a gap fill for them.
    /// - A torn tail is cut. What stood there may have been sent, so the next number is raised by
    ///   as many messages as can have stood there: a gap fill again, where a number that was used
    ///   twice would end the session.
    ///
    /// # Errors
    /// The file cannot be opened, read, or locked, or it is another kind of file.
    pub fn open(path: &Path, sync: Sync) -> io::Result<Self> {
        let file = open_locked(path)?;
        let found = recover(&file)?.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "the file is no FIX session store")
        })?;
        let Found { numbers, period, places, end, torn_bytes, damaged_bytes, is_nameless } = found;
        let mut store = Self {
            file,
            path: path.to_owned(),
            sync,
            retention: Retention::default(),
            numbers,
            period,
            end,
            places,
            record: Vec::with_capacity(4096),
            is_uncommitted: false,
            poison: None,
            torn_bytes,
            damaged_bytes,
        };
        if is_nameless {
            store.file.write_all_at(MAGIC, 0)?;
        }
        if torn_bytes > 0 {
            store.file.set_len(end)?;
            let records_max = torn_bytes.div_ceil(HEAD_BYTES as u64);
            let next = store.numbers.outgoing.saturating_add(records_max);
            store.set_next_outgoing(next).map_err(errno)?;
        }
        if sync != Sync::Never {
            store.file.sync_all()?;
            sync_folder(path)?;
            store.is_uncommitted = false;
        }
        Ok(store)
    }

    /// How much is kept; [`Retention::default`] without it.
    pub const fn set_retention(&mut self, retention: Retention) {
        self.retention = retention;
    }

    /// Makes everything that was written safe from a power cut. Cost: nothing when nothing was
    /// written since the last time.
    ///
    /// # Errors
    /// The device refused: the store is poisoned.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        if self.sync == Sync::Never || !self.is_uncommitted {
            return self.poison.map_or(Ok(()), Err);
        }
        self.run(|store| {
            store.file.sync_data()?;
            store.is_uncommitted = false;
            Ok(())
        })
    }

    /// Whether something was written that a power cut may still take.
    #[must_use]
    pub const fn has_uncommitted(&self) -> bool {
        self.is_uncommitted
    }

    /// When the trading session began that the numbers belong to, if it was said.
    #[must_use]
    pub const fn period(&self) -> Option<Nanos> {
        self.period
    }

    /// A trading session begins that the numbers belong to from now on (UTC); both start again at
    /// 1, and the messages are forgotten. A later reset keeps it. After a crash there is all of
    /// this or nothing.
    ///
    /// # Errors
    /// The medium refused.
    pub fn begin_period(&mut self, start: Nanos) -> Result<(), StoreError> {
        let before = self.period.replace(start);
        self.reset().inspect_err(|_| self.period = before)
    }

    /// Writes the file anew without what [`Retention`] lets go, when it is due; returns whether it
    /// was. Cost: a copy of what stays, and two synchronisations: for a moment without traffic.
    ///
    /// # Errors
    /// The medium refused.
    pub fn compact_if_due(&mut self) -> Result<bool, StoreError> {
        if self.end <= self.retention.bytes {
            return Ok(false);
        }
        let lowest = self.numbers.outgoing.saturating_sub(self.retention.messages);
        let kept = self.places.from(lowest).map(|(_, place)| record::size(place.message_bytes));
        if kept.sum::<usize>() as u64 > self.end / 2 {
            return Ok(false);
        }
        self.run(|store| store.rewrite(lowest, store.numbers, true)).map(|()| true)
    }

    /// Bytes of the file.
    #[must_use]
    pub const fn file_bytes(&self) -> u64 {
        self.end
    }

    /// How many bytes of a torn tail were cut off when it was opened.
    #[must_use]
    pub const fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// How many bytes in the middle were no records when it was opened.
    #[must_use]
    pub const fn damaged_bytes(&self) -> u64 {
        self.damaged_bytes
    }
}

impl Store for FileStore {
    fn next_outgoing(&self) -> u64 {
        self.numbers.outgoing
    }

    fn next_incoming(&self) -> u64 {
        self.numbers.incoming
    }

    fn keep(&mut self, sequence: u64, message: &[u8]) -> Result<(), StoreError> {
        let place = Place { position: self.end, message_bytes: message.len() };
        let numbers = Numbers { outgoing: sequence.saturating_add(1), ..self.numbers };
        self.append(Kind::Message, numbers, message)?;
        self.places.note(sequence, place);
        Ok(())
    }

    fn set_next_outgoing(&mut self, next: u64) -> Result<(), StoreError> {
        self.append(Kind::Numbers, Numbers { outgoing: next, ..self.numbers }, &[])
    }

    fn set_next_incoming(&mut self, next: u64) -> Result<(), StoreError> {
        self.append(Kind::Numbers, Numbers { incoming: next, ..self.numbers }, &[])
    }

    /// A message that rotted since it was written is none.
    fn read(&mut self, sequence: u64) -> Option<&[u8]> {
        let place = self.places.get(sequence)?;
        self.record.resize(record::size(place.message_bytes), 0);
        self.file.read_exact_at(&mut self.record, place.position).ok()?;
        let found = record::read(&self.record, place.position)?;
        record::message(&self.record, &found)
    }

    /// A new file takes the place of the old one: after a crash there is the one or the other.
    fn reset(&mut self) -> Result<(), StoreError> {
        let is_synced = self.sync != Sync::Never;
        self.run(|store| store.rewrite(u64::MAX, Numbers::FIRST, is_synced))
    }
}

impl FileStore {
    fn append(&mut self, kind: Kind, numbers: Numbers, message: &[u8]) -> Result<(), StoreError> {
        self.run(|store| {
            store.record.clear();
            record::write(&mut store.record, store.end, kind, numbers, message);
            store.file.write_all_at(&store.record, store.end)?;
            store.is_uncommitted = true;
            if store.sync == Sync::EachMessage {
                store.file.sync_data()?;
                store.is_uncommitted = false;
            }
            store.end += store.record.len() as u64;
            store.numbers = numbers;
            Ok(())
        })
    }

    /// Writes the messages from `lowest` on, the period and the numbers into a new file, and puts
    /// that in the place of the old one.
    fn rewrite(&mut self, lowest: u64, numbers: Numbers, is_synced: bool) -> io::Result<()> {
        let beside = beside(&self.path);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(OWNER_ONLY)
            .open(&beside)?;
        lock(&file)?;
        let (mut out, mut places) = (MAGIC.to_vec(), Places::new());
        let kept: Vec<_> = self.places.from(lowest).map(|(sequence, _)| sequence).collect();
        let mut written = 0;
        for sequence in kept {
            let Some(message) = self.read(sequence).map(<[u8]>::to_vec) else { continue };
            let position = written + out.len() as u64;
            places.note(sequence, Place { position, message_bytes: message.len() });
            let then = Numbers { outgoing: sequence.saturating_add(1), ..numbers };
            record::write(&mut out, position, Kind::Message, then, &message);
            if out.len() > 1 << 20 {
                file.write_all_at(&out, written)?;
                written += out.len() as u64;
                out.clear();
            }
        }
        let position = written + out.len() as u64;
        match self.period {
            Some(start) => {
                record::write(&mut out, position, Kind::Period, numbers, &start.0.to_le_bytes());
            }
            None => record::write(&mut out, position, Kind::Numbers, numbers, &[]),
        }
        file.write_all_at(&out, written)?;
        if is_synced {
            file.sync_all()?;
        }
        fs::rename(&beside, &self.path)?;
        if is_synced {
            sync_folder(&self.path)?;
        }
        (self.file, self.end) = (file, written + out.len() as u64);
        self.is_uncommitted = !is_synced;
        (self.places, self.numbers) = (places, numbers);
        Ok(())
    }

    /// Runs an operation unless one failed before.
    fn run(
        &mut self,
        operation: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        if let Some(error) = self.poison {
            return Err(error);
        }
        operation(self).map_err(|error| {
            let error = StoreError { errno: error.raw_os_error().unwrap_or(0) };
            self.poison = Some(error);
            error
        })
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        // Closing alone would leave the lock with every copy of the descriptor: a child that
        // another thread has forked has one until it executes its program.
        let _ = self.file.unlock();
    }
}

/// Opens or makes the file, and locks it. Between the two its owner may have put a new one in its
/// place: then the new one is opened.
fn open_locked(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(OWNER_ONLY)
            .open(path)?;
        lock(&file)?;
        let (ours, named) = (file.metadata()?, fs::metadata(path)?);
        if (ours.dev(), ours.ino()) == (named.dev(), named.ino()) {
            return Ok(file);
        }
    }
}

fn lock(file: &File) -> io::Result<()> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => {
            let words = "another process has this store open: one session, one process";
            io::Error::new(io::ErrorKind::WouldBlock, words)
        }
        TryLockError::Error(error) => error,
    })
}

/// The name of a file until it is whole.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

/// The name of a new file is in its folder.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

fn errno(error: StoreError) -> io::Error {
    io::Error::from_raw_os_error(error.errno)
}

#[cfg(test)]
mod tests {
    use super::{FileStore, Sync};
    use std::fs;
    use std::io::ErrorKind;
    use std::path::Path;
    use taut_fix::Store;
    use taut_types::Nanos;

    fn open(path: &Path) -> FileStore {
        FileStore::open(path, Sync::Never).expect("the store")
    }

    /// Numbers and messages as they are seen from outside.
    fn seen(store: &mut FileStore) -> (u64, u64, Vec<Option<Vec<u8>>>) {
        let messages = (1..10).map(|sequence| store.read(sequence).map(<[u8]>::to_vec)).collect();
        (store.next_outgoing(), store.next_incoming(), messages)
    }

    fn fill(store: &mut FileStore) {
        store.set_next_outgoing(2).expect("room");
        store.keep(2, b"two").expect("room");
        store.set_next_incoming(5).expect("room");
        store.keep(3, &[3; 100]).expect("room");
    }

    #[test]
    fn nobody_else_reads_it() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session");
        fill(&mut open(&path));
        let mode = fs::metadata(&path).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn everything_is_there_after_opening_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session");
        for sync in [Sync::EachMessage, Sync::EachBatch, Sync::Never] {
            let mut store = FileStore::open(&path, sync).expect("the store");
            store.reset().expect("room");
            fill(&mut store);
            store.commit().expect("a device");
            let before = seen(&mut store);
            assert_eq!((before.0, before.1), (4, 5));
            assert_eq!(before.2.get(1), Some(&Some(b"two".to_vec())));
            drop(store);
            assert_eq!(seen(&mut open(&path)), before);
        }
    }

    #[test]
    fn the_trading_session_outlives_a_reset_and_the_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session");
        let mut store = open(&path);
        assert_eq!(store.period(), None);
        store.begin_period(Nanos(-7)).expect("room");
        fill(&mut store);
        store.reset().expect("room");
        drop(store);
        let store = open(&path);
        assert_eq!((store.period(), store.next_outgoing()), (Some(Nanos(-7)), 1));
    }

    #[test]
    fn a_second_opener_is_refused_and_so_is_another_kind_of_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session");
        let store = open(&path);
        let refusal = FileStore::open(&path, Sync::Never).expect_err("it is open");
        assert_eq!(refusal.kind(), ErrorKind::WouldBlock);
        assert!(refusal.to_string().contains("another process"), "{refusal}");
        // As a forked child has one.
        let _copy = store.file.try_clone().expect("a descriptor");
        drop(store);
        drop(open(&path));
        fs::write(&path, b"something else").expect("room");
        assert!(FileStore::open(&path, Sync::Never).is_err());
    }

    #[test]
    fn a_file_that_ends_anywhere_opens_with_the_whole_records_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session");
        let mut store = open(&path);
        fill(&mut store);
        drop(store);
        let whole = fs::read(&path).expect("the file");
        let ends = [8, 40, 80, 112, 248];
        assert_eq!(ends.last(), Some(&whole.len()));
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).expect("room");
            let mut store = open(&path);
            let records = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1);
            let torn = if cut < 8 { 0 } else { cut - ends[records] };
            assert_eq!(store.torn_bytes(), torn as u64);
            // What was cut may have been sent.
            let raised = torn.div_ceil(32) as u64;
            assert_eq!(store.next_outgoing(), [1, 2, 3, 3, 4][records] + raised, "{cut}");
            // It goes on where it was cut.
            store.keep(9, b"nine").expect("room");
            drop(store);
            assert_eq!(open(&path).read(9), Some(&b"nine"[..]), "{cut}");
        }
    }

    #[test]
    fn a_full_device_poisons_the_store() {
        let Ok(mut store) = FileStore::open(Path::new("/dev/full"), Sync::Never) else {
            println!("skipped: /dev/full cannot be opened here");
            return;
        };
        assert!(store.keep(1, b"one").is_err());
        assert!(store.set_next_incoming(2).is_err());
        assert_eq!((store.next_outgoing(), store.next_incoming()), (1, 1));
    }
}
