//! The store: one append-only file for each session.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use taut_fix::{Store, StoreError};
use taut_types::Nanos;

use crate::record::{self, HEAD_BYTES, Kind, MAGIC};

/// When what was written is safe from a power cut. From `kill -9` it is safe at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// After every message: the slowest, one device write each.
    EachMessage,
    /// When [`FileStore::commit`] is called: before a batch is handed to the network.
    #[default]
    EachBatch,
    /// When the kernel likes.
    Never,
}

/// How much of the file is read at once when it is opened.
const READ_BYTES: usize = 4 << 20;

/// A store in a file, locked against a second process.
///
/// A failed write or synchronisation poisons it: the kernel may have dropped what it could not
/// write, so nothing is trusted until the file is opened again. Cost of a write: one system call,
/// and the synchronisation.
#[derive(Debug)]
pub struct FileStore {
    file: File,
    sync: Sync,
    next_outgoing: u64,
    next_incoming: u64,
    period: Option<Nanos>,
    /// Where the next record goes.
    end: u64,
    /// Place and length of each message, by its number from `first`.
    places: Vec<(u64, u32)>,
    first: u64,
    /// A record on its way to the file.
    record: Vec<u8>,
    /// A message on its way back.
    message: Vec<u8>,
    poison: Option<StoreError>,
    cut_bytes: u64,
}

impl FileStore {
    /// Opens or makes the file, and recovers what is in it: everything up to the first record that
    /// is not whole and right; what is behind it is cut off.
    ///
    /// # Errors
    /// The file cannot be opened, read, or locked, or it is another kind of file.
    pub fn open(path: &Path, sync: Sync) -> io::Result<Self> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.try_lock().map_err(io::Error::from)?;
        let mut store = Self {
            file,
            sync,
            next_outgoing: 1,
            next_incoming: 1,
            period: None,
            end: MAGIC.len() as u64,
            places: Vec::with_capacity(4096),
            first: 1,
            record: Vec::with_capacity(4096),
            message: Vec::with_capacity(4096),
            poison: None,
            cut_bytes: 0,
        };
        store.recover()?;
        if sync != Sync::Never {
            store.file.sync_all()?;
            // The name of a new file is in its folder.
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                File::open(folder)?.sync_all()?;
            }
        }
        Ok(store)
    }

    /// Makes everything that was written safe from a power cut.
    ///
    /// # Errors
    /// The device refused: the store is poisoned.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        if self.sync == Sync::Never {
            return self.poison.map_or(Ok(()), Err);
        }
        self.run(|store| store.file.sync_data())
    }

    /// When the trading session began that the numbers belong to, if it was said.
    #[must_use]
    pub const fn period(&self) -> Option<Nanos> {
        self.period
    }

    /// The numbers belong to the trading session that began then (UTC). A reset keeps it.
    ///
    /// # Errors
    /// The medium refused.
    pub fn set_period(&mut self, start: Nanos) -> Result<(), StoreError> {
        self.append(Kind::Period, start.0.cast_unsigned(), &[])?;
        self.period = Some(start);
        Ok(())
    }

    /// How many bytes of a torn tail were cut off when it was opened.
    #[must_use]
    pub const fn cut_bytes(&self) -> u64 {
        self.cut_bytes
    }
}

impl Store for FileStore {
    fn next_outgoing(&self) -> u64 {
        self.next_outgoing
    }

    fn next_incoming(&self) -> u64 {
        self.next_incoming
    }

    fn keep(&mut self, sequence: u64, message: &[u8]) -> Result<(), StoreError> {
        let place = self.end + HEAD_BYTES as u64;
        self.append(Kind::Message, sequence, message)?;
        self.next_outgoing = sequence.saturating_add(1);
        self.note(sequence, place, message.len());
        Ok(())
    }

    fn set_next_outgoing(&mut self, next: u64) -> Result<(), StoreError> {
        self.append(Kind::NextOutgoing, next, &[])?;
        self.next_outgoing = next;
        Ok(())
    }

    fn set_next_incoming(&mut self, next: u64) -> Result<(), StoreError> {
        self.append(Kind::NextIncoming, next, &[])?;
        self.next_incoming = next;
        Ok(())
    }

    fn read(&mut self, sequence: u64) -> Option<&[u8]> {
        let index = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
        let (place, len) = *self.places.get(index)?;
        if len == 0 {
            return None;
        }
        self.message.resize(len as usize, 0);
        self.file.read_exact_at(&mut self.message, place).ok()?;
        Some(&self.message)
    }

    /// The file starts anew. A crash on the way leaves an empty file, which means the same.
    fn reset(&mut self) -> Result<(), StoreError> {
        self.run(|store| {
            store.file.set_len(0)?;
            store.start()?;
            if store.sync == Sync::Never { Ok(()) } else { store.file.sync_data() }
        })?;
        self.period.map_or(Ok(()), |start| self.set_period(start))
    }
}

impl FileStore {
    /// An empty file with its magic word.
    fn start(&mut self) -> io::Result<()> {
        self.file.write_all_at(MAGIC, 0)?;
        self.end = MAGIC.len() as u64;
        self.next_outgoing = 1;
        self.next_incoming = 1;
        self.places.clear();
        self.first = 1;
        Ok(())
    }

    fn recover(&mut self) -> io::Result<()> {
        let size = self.file.metadata()?.len();
        let mut magic = [0; MAGIC.len()];
        let known = usize::try_from(size).unwrap_or(usize::MAX).min(magic.len());
        let start = magic.get_mut(..known).unwrap_or_default();
        self.file.read_exact_at(start, 0)?;
        if MAGIC.get(..known) != Some(&*start) {
            let what = "the file is no FIX session store";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        if known < MAGIC.len() {
            return self.start();
        }
        let mut buffer = Vec::new();
        while self.recover_part(size, &mut buffer)? {}
        self.cut_bytes = size - self.end;
        if self.cut_bytes > 0 {
            self.file.set_len(self.end)?;
        }
        Ok(())
    }

    /// Reads some records on from the end; `false` when no whole and right one follows.
    fn recover_part(&mut self, size: u64, buffer: &mut Vec<u8>) -> io::Result<bool> {
        let start = self.end;
        let rest = usize::try_from(size - start).unwrap_or(usize::MAX);
        // Room for the longest record, so that a cut one is a torn one.
        let wanted = rest.min(READ_BYTES + record::MESSAGE_BYTES_MAX + HEAD_BYTES);
        buffer.resize(wanted, 0);
        self.file.read_exact_at(buffer, start)?;
        let mut at = 0;
        while let Some(found) = record::read(buffer.get(at..).unwrap_or_default(), self.end) {
            match found.kind {
                Kind::Message => {
                    let place = self.end + HEAD_BYTES as u64;
                    self.next_outgoing = found.sequence.saturating_add(1);
                    self.note(found.sequence, place, found.message_bytes);
                }
                Kind::NextOutgoing => self.next_outgoing = found.sequence,
                Kind::NextIncoming => self.next_incoming = found.sequence,
                Kind::Period => self.period = Some(Nanos(found.sequence.cast_signed())),
            }
            at += found.bytes;
            self.end += found.bytes as u64;
            if at > READ_BYTES {
                break;
            }
        }
        Ok(at > 0)
    }

    /// Remembers where a message stands. Numbers that go back, or far ahead, start anew.
    fn note(&mut self, sequence: u64, place: u64, len: usize) {
        const AHEAD_MAX: u64 = 1 << 20;
        let after = self.first + self.places.len() as u64;
        if sequence < self.first || sequence > after + AHEAD_MAX {
            self.places.clear();
            self.first = sequence;
        }
        let index = usize::try_from(sequence - self.first).unwrap_or(usize::MAX);
        if index >= self.places.len() {
            self.places.resize(index + 1, (0, 0));
        }
        if let Some(entry) = self.places.get_mut(index) {
            *entry = (place, u32::try_from(len).unwrap_or(0));
        }
    }

    fn append(&mut self, kind: Kind, sequence: u64, message: &[u8]) -> Result<(), StoreError> {
        self.run(|store| {
            store.record.clear();
            record::write(&mut store.record, store.end, kind, sequence, message);
            store.file.write_all_at(&store.record, store.end)?;
            if store.sync == Sync::EachMessage {
                store.file.sync_data()?;
            }
            store.end += store.record.len() as u64;
            Ok(())
        })
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

#[cfg(test)]
mod tests {
    use super::{FileStore, Sync};
    use crate::record::{self, Kind};
    use proptest::prelude::*;
    use std::fs;
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
        store.set_period(Nanos(-7)).expect("room");
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
        assert!(FileStore::open(&path, Sync::Never).is_err());
        drop(store);
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
        let ends = [8, 32, 64, 88, 216];
        assert_eq!(ends.last(), Some(&whole.len()));
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).expect("room");
            let mut store = open(&path);
            let records = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1);
            assert_eq!(store.next_outgoing(), [1, 2, 3, 3, 4][records], "{cut}");
            // It goes on where it was cut.
            store.keep(9, b"nine").expect("room");
            drop(store);
            assert_eq!(open(&path).read(9), Some(&b"nine"[..]), "{cut}");
        }
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let mut whole = Vec::new();
        record::write(&mut whole, 8, Kind::Message, 7, b"8=FIX.4.4|9=5|35=0|10=161|");
        assert!(record::read(&whole, 8).is_some());
        assert!(record::read(&whole, 16).is_none());
        for bit in 0..whole.len() * 8 {
            whole[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(record::read(&whole, 8), None, "{bit}");
            whole[bit / 8] ^= 1 << (bit % 8);
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

    proptest! {
        #[test]
        fn bytes_of_any_kind_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = record::read(&bytes, 8);
        }
    }
}
