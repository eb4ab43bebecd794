//! Bytes that wait, oldest first, in one piece.

use alloc::boxed::Box;
use alloc::vec;
use core::fmt;
use core::ops::Range;

/// A queue of bytes. Bytes move only when there is too little room behind them, and more memory is
/// taken only when that is not enough: never, where it is built as large as it may become.
pub struct Buffer {
    bytes: Box<[u8]>,
    bytes_max: usize,
    start: usize,
    end: usize,
}

impl Buffer {
    pub fn new(bytes: usize, bytes_max: usize) -> Self {
        let bytes = vec![0; bytes].into_boxed_slice();
        Self { bytes_max: bytes_max.max(bytes.len()), bytes, start: 0, end: 0 }
    }

    pub const fn len(&self) -> usize {
        self.end - self.start
    }

    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub const fn free(&self) -> usize {
        self.bytes_max - self.len()
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

    /// So much room behind what waits, or what there is when it may not grow so far.
    #[inline]
    pub fn room(&mut self, wanted: usize) -> &mut [u8] {
        let end = self.end + wanted;
        if end > self.bytes.len() {
            return self.make_room(wanted);
        }
        self.bytes.get_mut(self.end..end).unwrap_or_default()
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, wanted: usize) -> &mut [u8] {
        let needed = self.len() + wanted;
        if needed > self.bytes.len() && self.bytes.len() < self.bytes_max {
            let size = needed.max(2 * self.bytes.len()).min(self.bytes_max);
            let mut bytes = vec![0; size].into_boxed_slice();
            if let Some(room) = bytes.get_mut(..self.len()) {
                room.copy_from_slice(self.filled());
            }
            self.bytes = bytes;
        } else if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
        }
        (self.start, self.end) = (0, self.len());
        let end = self.bytes.len().min(self.end + wanted);
        self.bytes.get_mut(self.end..end).unwrap_or_default()
    }

    /// What was written to this part of the room belongs to what waits; returns it.
    #[inline]
    pub fn fill(&mut self, written: Range<usize>) -> &[u8] {
        let (from, to) = (self.end + written.start, self.end + written.end);
        if self.is_empty() {
            (self.start, self.end) = (from, to);
            return self.filled();
        }
        self.close_gap(from..to)
    }

    /// Moves what stands behind the end to it.
    #[inline(never)]
    fn close_gap(&mut self, written: Range<usize>) -> &[u8] {
        let at = self.end;
        if written.end <= self.bytes.len() {
            self.end += written.len();
            self.bytes.copy_within(written, at);
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
        write!(f, "Buffer({} of {})", self.len(), self.bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::Buffer;

    #[test]
    fn keeps_bytes_in_order_and_moves_them_for_room() {
        let mut buffer = Buffer::new(8, 8);
        assert!(buffer.push(b"abcdef") && !buffer.push(b"ghi"));
        buffer.consume(4);
        assert_eq!((buffer.taken(4), buffer.filled()), (Some(&b"abcd"[..]), &b"ef"[..]));
        assert!(buffer.push(b"ghijkl") && !buffer.push(b"m"));
        assert_eq!((buffer.filled(), buffer.free()), (&b"efghijkl"[..], 0));
        buffer.consume(99);
        assert!(buffer.is_empty() && buffer.push(b"12345678"));
    }

    #[test]
    fn grows_as_far_as_it_may() {
        let mut buffer = Buffer::new(2, 8);
        assert!(buffer.push(b"ab") && buffer.push(b"c") && buffer.push(b"de"));
        buffer.consume(1);
        assert!(buffer.push(b"fghi") && !buffer.push(b"j"));
        assert_eq!((buffer.filled(), buffer.free()), (&b"bcdefghi"[..], 0));
        assert_eq!(buffer.room(3).len(), 0);
    }

    #[test]
    fn what_is_written_into_the_room_closes_up() {
        let mut buffer = Buffer::new(12, 12);
        buffer.room(5)[2..5].copy_from_slice(b"abc");
        assert_eq!(buffer.fill(2..5), b"abc");
        buffer.room(5)[2..5].copy_from_slice(b"def");
        assert_eq!(buffer.fill(2..5), b"def");
        assert_eq!(buffer.room(7).len(), 6);
        assert_eq!(buffer.filled(), b"abcdef");
        buffer.consume(3);
        assert_eq!(buffer.room(9).len(), 9);
        assert_eq!(buffer.filled(), b"def");
    }
}
