//! What a session must remember: its two sequence numbers and the messages it may have to send
//! again.

use alloc::boxed::Box;
use alloc::vec;
use core::fmt;

/// A store failed: its medium refused a write. The session that sees it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreError {
    /// The error number of `errno(3)`, 0 when there is none.
    pub errno: i32,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store could not write (errno {})", self.errno)
    }
}

impl core::error::Error for StoreError {}

/// Keeps a session's numbers and its outgoing application messages.
///
/// The session writes to it before a message is handed out, so that what a peer may have seen is
/// never forgotten. How durable a write is, is the store's business.
pub trait Store {
    /// The number of the next message that is sent; 1 at first.
    fn next_outgoing(&self) -> u64;

    /// The number of the next message that is expected; 1 at first.
    fn next_incoming(&self) -> u64;

    /// Keeps an application message under its number; the next one is one higher.
    ///
    /// # Errors
    /// The medium refused.
    fn keep(&mut self, sequence: u64, message: &[u8]) -> Result<(), StoreError>;

    /// Goes on sending at this number; those below it that were not kept are administrative.
    ///
    /// # Errors
    /// The medium refused.
    fn set_next_outgoing(&mut self, next: u64) -> Result<(), StoreError>;

    /// Goes on expecting at this number.
    ///
    /// # Errors
    /// The medium refused.
    fn set_next_incoming(&mut self, next: u64) -> Result<(), StoreError>;

    /// The message that was kept under this number, if it is still there.
    fn read(&mut self, sequence: u64) -> Option<&[u8]>;

    /// Forgets the messages; both numbers start again at 1.
    ///
    /// # Errors
    /// The medium refused.
    fn reset(&mut self) -> Result<(), StoreError>;
}

/// A store in memory: the newest messages, as many as fit. Nothing survives the process.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    next_outgoing: u64,
    next_incoming: u64,
    /// Written round and round; a message is never split.
    bytes: Box<[u8]>,
    /// How many bytes were ever written, skipped ones included.
    written: u64,
    /// Where the next one goes: `written` modulo the length, kept so that nothing is divided.
    offset: usize,
    /// Where messages stand, by their number modulo the length, a power of two.
    places: Box<[Place]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    sequence: u64,
    /// Counted as `written` is.
    start: u64,
    /// Where it stands.
    offset: usize,
    len: usize,
}

impl MemoryStore {
    /// Room for this many messages (up to the next power of two) of this many bytes altogether,
    /// allocated now.
    #[must_use]
    pub fn new(message_count: usize, bytes: usize) -> Self {
        Self {
            next_outgoing: 1,
            next_incoming: 1,
            bytes: vec![0; bytes.max(1)].into_boxed_slice(),
            written: 0,
            offset: 0,
            places: vec![Place::default(); message_count.max(1).next_power_of_two()]
                .into_boxed_slice(),
        }
    }

    const fn place_of(&self, sequence: u64) -> usize {
        sequence as usize & (self.places.len() - 1)
    }
}

impl Store for MemoryStore {
    fn next_outgoing(&self) -> u64 {
        self.next_outgoing
    }

    fn next_incoming(&self) -> u64 {
        self.next_incoming
    }

    #[inline]
    fn keep(&mut self, sequence: u64, message: &[u8]) -> Result<(), StoreError> {
        self.next_outgoing = sequence.saturating_add(1);
        let len = message.len();
        if len > self.bytes.len() - self.offset {
            // One that is larger than the whole store is not kept: it becomes part of a gap fill.
            if len > self.bytes.len() {
                return Ok(());
            }
            self.written += (self.bytes.len() - self.offset) as u64;
            self.offset = 0;
        }
        if let Some(room) = self.bytes.get_mut(self.offset..self.offset + len) {
            room.copy_from_slice(message);
            let place = Place { sequence, start: self.written, offset: self.offset, len };
            self.written += len as u64;
            self.offset += len;
            let at = self.place_of(sequence);
            if let Some(entry) = self.places.get_mut(at) {
                *entry = place;
            }
        }
        Ok(())
    }

    #[inline]
    fn set_next_outgoing(&mut self, next: u64) -> Result<(), StoreError> {
        self.next_outgoing = next;
        Ok(())
    }

    #[inline]
    fn set_next_incoming(&mut self, next: u64) -> Result<(), StoreError> {
        self.next_incoming = next;
        Ok(())
    }

    fn read(&mut self, sequence: u64) -> Option<&[u8]> {
        let place = *self.places.get(self.place_of(sequence))?;
        let overwritten = self.written - place.start > self.bytes.len() as u64;
        if place.sequence != sequence || place.len == 0 || overwritten {
            return None;
        }
        self.bytes.get(place.offset..place.offset + place.len)
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        self.next_outgoing = 1;
        self.next_incoming = 1;
        self.places.fill(Place::default());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{MemoryStore, Store};
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn keeps_the_newest_and_forgets_on_reset() {
        let mut store = MemoryStore::new(4, 100);
        for sequence in 1..=6 {
            store.keep(sequence, &[sequence as u8; 10]).unwrap();
        }
        assert_eq!(store.next_outgoing(), 7);
        for sequence in 1..=2 {
            assert_eq!(store.read(sequence), None);
        }
        for sequence in 3..=6 {
            assert_eq!(store.read(sequence), Some(&[sequence as u8; 10][..]));
        }
        store.reset().unwrap();
        assert_eq!((store.next_outgoing(), store.next_incoming()), (1, 1));
        assert_eq!(store.read(6), None);
        store.keep(1, &[8; 60]).unwrap();
        store.keep(2, &[9; 101]).unwrap();
        assert_eq!(store.read(2), None);
        assert_eq!(store.next_outgoing(), 3);
        // It took no room from the others.
        store.keep(3, &[7; 40]).unwrap();
        assert_eq!(store.read(1), Some(&[8; 60][..]));
    }

    proptest! {
        /// The slow twin keeps every message: what the store returns is one of them, and the
        /// newest is always there.
        #[test]
        fn returns_only_what_was_kept(lengths in proptest::collection::vec(1usize..60, 1..200)) {
            let mut store = MemoryStore::new(16, 256);
            let mut all: Vec<Vec<u8>> = vec![vec![]];
            for (index, len) in lengths.iter().enumerate() {
                all.push(vec![index as u8; *len]);
                store.keep(index as u64 + 1, &all[index + 1]).unwrap();
                prop_assert_eq!(store.read(index as u64 + 1), Some(&all[index + 1][..]));
                for (sequence, kept) in all.iter().enumerate().skip(1) {
                    if let Some(message) = store.read(sequence as u64) {
                        prop_assert_eq!(message, &kept[..]);
                    }
                }
            }
        }
    }
}
