//! Bytes that wait, oldest first, in one piece.

use alloc::boxed::Box;
use alloc::vec;
use core::fmt;
use core::ops::Range;

/// A queue of bytes. Its memory is taken when it is built; bytes move only when there is too little
/// room behind them.
pub struct Buffer {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Buffer {
    pub fn new(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes].into_boxed_slice(), start: 0, end: 0 }
    }

    pub const fn len(&self) -> usize {
        self.end - self.start
    }

    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub const fn free(&self) -> usize {
        self.bytes.len() - self.len()
    }

    pub const fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// All that waits.
    #[inline]
    pub fn filled(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or(&[])
    }

    pub fn filled_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.start..self.end).unwrap_or_default()
    }

    /// Adds all of these, or none when there is no room for them.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let Some(room) = self.room(bytes.len()).get_mut(..bytes.len()) else { return false };
        room.copy_from_slice(bytes);
        self.end += bytes.len();
        true
    }

    /// The room behind what waits, which is moved to the front when it is less than `wanted`.
    #[inline]
    pub fn room(&mut self, wanted: usize) -> &mut [u8] {
        if self.start == self.end {
            self.clear();
        } else if self.bytes.len() - self.end < wanted {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// What was written to this part of the room belongs to what waits; returns it.
    #[inline]
    pub fn fill(&mut self, written: Range<usize>) -> &[u8] {
        let (from, to) = (self.end + written.start, self.end + written.end);
        if self.is_empty() {
            (self.start, self.end) = (from, to.min(self.bytes.len()));
            return self.filled();
        }
        let at = self.end;
        if to <= self.bytes.len() {
            self.bytes.copy_within(from..to, at);
            self.end += written.len();
        }
        self.bytes.get(at..self.end).unwrap_or(&[])
    }

    /// The oldest bytes are done with; more than there are counts as all.
    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        self.start += bytes.min(self.len());
    }

    /// The bytes that were consumed last, until something is added.
    #[inline]
    pub fn taken(&self, bytes: usize) -> Option<&[u8]> {
        self.bytes.get(self.start.checked_sub(bytes)?..self.start)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} of {})", self.len(), self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::Buffer;

    #[test]
    fn keeps_bytes_in_order_and_moves_them_for_room() {
        let mut buffer = Buffer::new(8);
        assert!(buffer.push(b"abcdef") && !buffer.push(b"ghi"));
        buffer.consume(4);
        assert_eq!((buffer.taken(4), buffer.filled()), (Some(&b"abcd"[..]), &b"ef"[..]));
        assert!(buffer.push(b"ghijkl") && !buffer.push(b"m"));
        assert_eq!((buffer.filled(), buffer.free()), (&b"efghijkl"[..], 0));
        buffer.consume(99);
        assert!(buffer.is_empty() && buffer.push(b"12345678"));
    }

    #[test]
    fn what_is_written_into_the_room_closes_up() {
        let mut buffer = Buffer::new(12);
        buffer.room(5)[2..5].copy_from_slice(b"abc");
        assert_eq!(buffer.fill(2..5), b"abc");
        buffer.room(5)[2..5].copy_from_slice(b"def");
        assert_eq!(buffer.fill(2..5), b"def");
        assert_eq!(buffer.filled(), b"abcdef");
        buffer.consume(3);
        assert_eq!(buffer.room(9).len(), 9);
        assert_eq!(buffer.filled(), b"def");
    }
}
