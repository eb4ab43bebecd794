//! A byte buffer of four areas, in the order in which bytes pass through it from the right to the
//! left:
//!
//! ```text
//! [ saved | readable | written | free ]
//! ```
//!
//! Bytes are **written**, become **readable** when they are committed, and leave by being consumed,
//! or are **saved**: kept for later, while what follows them is read. That is what a protocol with
//! parts needs (a message in fragments, a handshake that is hashed again at its end).

use alloc::boxed::Box;
use core::fmt;

/// Where a run of saved bytes is. It stays right until those bytes are discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Counted over everything that was ever saved.
    start: u64,
    length: usize,
}

/// A buffer with a saved, a readable and a written area. All memory is taken when it is built;
/// bytes move only when the free area is too short, or behind a gap that consuming left.
pub struct ByteBuffer {
    bytes: Box<[u8]>,
    saved: usize,
    /// Bytes that were saved and discarded so far.
    discarded: u64,
    /// Where the readable area starts: at the end of the saved one, or behind a gap.
    read: usize,
    written: usize,
    end: usize,
}

impl ByteBuffer {
    /// A buffer of this many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let bytes = alloc::vec![0; bytes].into_boxed_slice();
        Self { bytes, saved: 0, discarded: 0, read: 0, written: 0, end: 0 }
    }

    /// Its size.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes that could be written before something is consumed or discarded.
    #[must_use]
    pub const fn free(&self) -> usize {
        self.bytes.len() - self.saved - (self.end - self.read)
    }

    /// The whole free area, to write into before [`ByteBuffer::wrote`]. Moves what is in the way.
    pub fn spare(&mut self) -> &mut [u8] {
        if self.read > self.saved {
            self.bytes.copy_within(self.read..self.end, self.saved);
            let gap = self.read - self.saved;
            (self.read, self.written, self.end) = (self.saved, self.written - gap, self.end - gap);
        }
        &mut self.bytes[self.end..]
    }

    /// The first `bytes` of the spare area are written now; more than there are counts as all.
    pub fn wrote(&mut self, bytes: usize) {
        self.end += bytes.min(self.bytes.len() - self.end);
    }

    /// Appends to the written area: all of it, or nothing and false when there is no room.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        if self.free() < bytes.len() {
            return false;
        }
        if self.bytes.len() - self.end < bytes.len() {
            self.spare();
        }
        self.bytes[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
        true
    }

    /// Bytes written and not committed.
    #[must_use]
    pub fn written(&self) -> &[u8] {
        &self.bytes[self.written..self.end]
    }

    /// The first `bytes` of the written area become readable; more than there are counts as all.
    pub fn commit(&mut self, bytes: usize) {
        self.written += bytes.min(self.end - self.written);
    }

    /// Everything that was written becomes readable.
    pub const fn commit_all(&mut self) {
        self.written = self.end;
    }

    /// Takes back what was written and not committed.
    pub const fn roll_back(&mut self) {
        self.end = self.written;
    }

    /// The readable area.
    #[must_use]
    pub fn readable(&self) -> &[u8] {
        &self.bytes[self.read..self.written]
    }

    /// The first `bytes` of the readable area are done with; more than there are counts as all.
    pub fn consume(&mut self, bytes: usize) {
        self.read += bytes.min(self.written - self.read);
        if self.read == self.end {
            (self.read, self.written, self.end) = (self.saved, self.saved, self.saved);
        }
    }

    /// Moves the first `bytes` of the readable area to the saved one; more than there are counts as
    /// all.
    pub fn save(&mut self, bytes: usize) -> Saved {
        let length = bytes.min(self.written - self.read);
        let start = self.discarded + self.saved as u64;
        if self.read > self.saved {
            self.bytes.copy_within(self.read..self.read + length, self.saved);
        }
        self.saved += length;
        self.consume(length);
        Saved { start, length }
    }

    /// The whole saved area.
    #[must_use]
    pub fn saved(&self) -> &[u8] {
        &self.bytes[..self.saved]
    }

    /// The bytes of one save; `None` when they are discarded.
    #[must_use]
    pub fn saved_at(&self, at: Saved) -> Option<&[u8]> {
        let start = usize::try_from(at.start.checked_sub(self.discarded)?).ok()?;
        self.saved().get(start..start.checked_add(at.length)?)
    }

    /// Discards everything that was saved up to the end of `at`.
    pub fn discard_to(&mut self, at: Saved) {
        let end = (at.start + at.length as u64).saturating_sub(self.discarded);
        let bytes = usize::try_from(end).unwrap_or(self.saved).min(self.saved);
        self.bytes.copy_within(bytes..self.saved, 0);
        self.saved -= bytes;
        self.discarded += bytes as u64;
        if self.read == self.end {
            (self.read, self.written, self.end) = (self.saved, self.saved, self.saved);
        }
    }

    /// Discards everything that was saved.
    pub fn discard_all(&mut self) {
        let all = Saved { start: self.discarded, length: self.saved };
        self.discard_to(all);
    }
}

impl fmt::Debug for ByteBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (readable, written) = (self.written - self.read, self.end - self.written);
        write!(f, "ByteBuffer({} saved, {readable} readable, {written} written)", self.saved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::vec::Vec;

    #[test]
    fn a_message_in_fragments_is_saved_and_discarded() {
        let mut buffer = ByteBuffer::new(16);
        assert!(buffer.write(b"one|two|rest") && !buffer.write(b"12345"));
        assert_eq!((buffer.readable(), buffer.written()), (&b""[..], &b"one|two|rest"[..]));
        buffer.commit(8);
        let one = buffer.save(3);
        buffer.consume(1);
        let two = buffer.save(3);
        buffer.consume(1);
        assert_eq!(buffer.saved(), b"onetwo");
        assert_eq!(
            (buffer.saved_at(one), buffer.saved_at(two)),
            (Some(&b"one"[..]), Some(&b"two"[..]))
        );
        buffer.commit_all();
        assert_eq!(buffer.readable(), b"rest");
        assert!(buffer.write(b"+") && buffer.written() == b"+");
        buffer.roll_back();
        buffer.discard_to(one);
        assert_eq!((buffer.saved_at(one), buffer.saved_at(two)), (None, Some(&b"two"[..])));
        assert_eq!(buffer.free(), 16 - 3 - 4);
        buffer.spare()[..9].copy_from_slice(b"and more.");
        buffer.wrote(100);
        assert_eq!((buffer.readable(), buffer.written()), (&b"rest"[..], &b"and more."[..]));
        buffer.discard_all();
        assert_eq!((buffer.saved(), buffer.saved_at(two), buffer.free()), (&b""[..], None, 3));
    }

    proptest! {
        #[test]
        fn behaves_like_three_queues(
            steps in proptest::collection::vec((0u8..7, 0usize..30), 0..400),
        ) {
            let mut buffer = ByteBuffer::new(64);
            let (mut saved, mut readable, mut written) =
                (VecDeque::new(), VecDeque::new(), VecDeque::new());
            let mut next = 0u8;
            for (step, bytes) in steps {
                match step {
                    0 | 1 => {
                        let text: Vec<u8> =
                            (0..bytes).map(|n| next.wrapping_add(n as u8)).collect();
                        let room = saved.len() + readable.len() + written.len() + bytes <= 64;
                        if step == 0 {
                            prop_assert_eq!(buffer.write(&text), room);
                        } else if room {
                            buffer.spare()[..bytes].copy_from_slice(&text);
                            buffer.wrote(bytes);
                        }
                        if room {
                            written.extend(text);
                            next = next.wrapping_add(bytes as u8);
                        }
                    }
                    2 => {
                        buffer.commit(bytes);
                        readable.extend(written.drain(..bytes.min(written.len())));
                    }
                    3 => {
                        buffer.consume(bytes);
                        readable.drain(..bytes.min(readable.len()));
                    }
                    4 => {
                        let at = buffer.save(bytes);
                        let from = saved.len();
                        saved.extend(readable.drain(..bytes.min(readable.len())));
                        let expected: Vec<u8> = saved.range(from..).copied().collect();
                        prop_assert_eq!(buffer.saved_at(at), Some(&expected[..]));
                    }
                    5 if bytes < 6 => {
                        buffer.discard_all();
                        saved.clear();
                    }
                    6 => {
                        buffer.roll_back();
                        written.clear();
                    }
                    _ => {}
                }
                prop_assert!(buffer.saved().iter().eq(&saved));
                prop_assert!(buffer.readable().iter().eq(&readable));
                prop_assert!(buffer.written().iter().eq(&written));
                prop_assert_eq!(
                    buffer.free(), 64 - saved.len() - readable.len() - written.len());
            }
        }
    }
}
