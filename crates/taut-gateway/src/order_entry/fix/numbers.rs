//! Where the session's numbers are kept: in memory, or in a mapped file that survives the process.

use std::path::Path;

use taut_fix::{Store, StoreError};
use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::tape::{self, Get, Heard, Put};
use taut_sys::{Access, Mapping, MemoryFile, SysError};

use crate::error::GatewayError;

const MAGIC: u64 = u64::from_le_bytes(*b"tautFIX\x01");
const FILE_BYTES: u64 = 4_096;
const MODE: u32 = 0o600;
/// `EAGAIN` and `EINVAL`.
const TAKEN: i32 = 11;
const NO_NUMBERS: i32 = 22;

/// The numbers of a session, and no message: what was sent is never sent again by itself. A venue
/// that asks for it gets a gap fill, and whatever became of an order is settled by asking where it
/// stands.
///
/// A file is mapped: to write a number is one store, which survives `kill -9`. After a power cut
/// the numbers may be old, which the venue notices at the logon, and they start again.
#[derive(Debug)]
pub struct Numbers {
    outgoing: u64,
    incoming: u64,
    file: Option<NumbersFile>,
}

/// Words: the magic, and both numbers, each with its check in the same word.
#[derive(Debug)]
struct NumbersFile {
    mapping: Mapping,
    /// Locked for as long as it is open.
    _file: MemoryFile,
}

impl Numbers {
    /// In this file, or in memory.
    pub fn open(path: Option<&Path>) -> Result<Self, GatewayError> {
        let Some(path) = path else { return Ok(Self { outgoing: 1, incoming: 1, file: None }) };
        if tape::is_reading() {
            let get = |from: &mut Get<'_>| Some((from.number()?, from.number()?));
            let (outgoing, incoming) = tape::hear(Heard::Kept, || (1, 1), |_, _| (), get);
            return Ok(Self { outgoing, incoming, file: None });
        }
        let file = NumbersFile::open(path).map_err(|error| GatewayError::Store(error.errno()))?;
        let read = |at| file.word(at).and_then(|word| unsealed(word.load(Ordering::Relaxed)));
        // What rotted is not believed: both start again.
        let (outgoing, incoming) = read(1).zip(read(2)).unwrap_or((1, 1));
        let put = |(): &(), on: &mut Put<'_>| {
            on.number(outgoing);
            on.number(incoming);
        };
        tape::hear(Heard::Kept, || (), put, |_| Some(()));
        Ok(Self { outgoing, incoming, file: Some(file) })
    }

    /// Whether an earlier process left its numbers.
    pub const fn remembers(&self) -> bool {
        self.outgoing > 1 || self.incoming > 1
    }

    #[inline]
    fn write(&self, at: usize, number: u64) {
        if let Some(word) = self.file.as_ref().and_then(|file| file.word(at)) {
            word.store(sealed(number), Ordering::Relaxed);
        }
    }
}

impl NumbersFile {
    fn open(path: &Path) -> Result<Self, SysError> {
        let file = match MemoryFile::open(path, Access::Write)? {
            Some(file) => file,
            None => Self::make(path)?,
        };
        if !file.lock(0, false)? {
            return Err(SysError::from_errno("lock", TAKEN));
        }
        let status = file.status()?;
        let no_numbers = SysError::from_errno("read the numbers", NO_NUMBERS);
        if !status.regular || status.bytes != FILE_BYTES {
            return Err(no_numbers);
        }
        let opened = Self { mapping: file.map(Access::Write, true)?, _file: file };
        let magic = opened.word(0).map(|word| word.load(Ordering::Relaxed));
        if magic == Some(MAGIC) { Ok(opened) } else { Err(no_numbers) }
    }

    /// A file that appears whole.
    fn make(path: &Path) -> Result<MemoryFile, SysError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = MemoryFile::unnamed(folder.unwrap_or(Path::new(".")), FILE_BYTES, MODE)?;
        let mapping = file.map(Access::Write, true)?;
        for (word, value) in mapping.words().iter().zip([MAGIC, sealed(1), sealed(1)]) {
            word.store(value, Ordering::Relaxed);
        }
        if file.link(path)? {
            return Ok(file);
        }
        // Somebody was faster.
        MemoryFile::open(path, Access::Write)?.ok_or(SysError::from_errno("open", NO_NUMBERS))
    }

    #[inline]
    fn word(&self, at: usize) -> Option<&AtomicU64> {
        self.mapping.words().get(at)
    }
}

/// A number with its check in the lowest 16 bits, so that one store writes both.
const fn sealed(number: u64) -> u64 {
    number << 16 | !(number ^ number >> 16 ^ number >> 32) & 0xffff
}

fn unsealed(word: u64) -> Option<u64> {
    let number = word >> 16;
    (number > 0 && sealed(number) == word).then_some(number)
}

impl Store for Numbers {
    #[inline]
    fn next_outgoing(&self) -> u64 {
        self.outgoing
    }

    #[inline]
    fn next_incoming(&self) -> u64 {
        self.incoming
    }

    #[inline]
    fn keep(&mut self, sequence: u64, _message: &[u8]) -> Result<(), StoreError> {
        self.set_next_outgoing(sequence.saturating_add(1))
    }

    #[inline]
    fn set_next_outgoing(&mut self, next: u64) -> Result<(), StoreError> {
        self.outgoing = next;
        self.write(1, next);
        Ok(())
    }

    #[inline]
    fn set_next_incoming(&mut self, next: u64) -> Result<(), StoreError> {
        self.incoming = next;
        self.write(2, next);
        Ok(())
    }

    fn read(&mut self, _sequence: u64) -> Option<&[u8]> {
        None
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        self.set_next_outgoing(1)?;
        self.set_next_incoming(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_their_process_and_have_one_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session");
        let mut numbers = Numbers::open(Some(&path)).unwrap();
        assert!(!numbers.remembers());
        numbers.keep(41, b"").unwrap();
        numbers.set_next_incoming(7).unwrap();
        assert!(Numbers::open(Some(&path)).is_err(), "two processes of one session");
        drop(numbers);
        let numbers = Numbers::open(Some(&path)).unwrap();
        assert_eq!((numbers.next_outgoing(), numbers.next_incoming()), (42, 7));
        drop(numbers);
        // A flipped bit is not believed, and another kind of file is left alone.
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[17] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(!Numbers::open(Some(&path)).unwrap().remembers());
        std::fs::write(&path, b"something else").unwrap();
        assert!(Numbers::open(Some(&path)).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"something else");
    }

    /// An upgrade keeps state: these bytes are what a file of this format has, whatever this
    /// version would write.
    #[test]
    fn a_file_of_the_first_format_is_taken_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session");
        let words: [u64; 3] = [0x0158_4946_7475_6174, 0x0007_fff8, 0x000c_fff3];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(4_096, 0);
        std::fs::write(&path, &bytes).unwrap();
        let mut numbers = Numbers::open(Some(&path)).unwrap();
        assert_eq!((numbers.next_outgoing(), numbers.next_incoming()), (7, 12));
        // It goes on in the same format.
        numbers.set_next_outgoing(7).unwrap();
        drop(numbers);
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}
