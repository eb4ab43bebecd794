//! The frame log: each message is encoded once, into a ring, for all who want it.

use alloc::boxed::Box;

/// A ring of bytes with positions that only rise. A message is contiguous: it does not go around
/// the end.
#[derive(Debug)]
pub struct FrameLog {
    bytes: Box<[u8]>,
    head: u64,
    tail: u64,
}

impl FrameLog {
    /// Of `bytes`, a power of two.
    pub fn new(bytes: usize) -> Self {
        Self { bytes: alloc::vec![0; bytes].into_boxed_slice(), head: 0, tail: 0 }
    }

    /// The largest message: two of them fit wherever the end of the ring falls.
    pub fn message_bytes_max(&self) -> usize {
        self.bytes.len() / 2
    }

    /// Where the next message of this size starts; `None` while what waits is in the way.
    #[inline]
    pub fn reserve(&self, bytes: usize) -> Option<u64> {
        let capacity = self.bytes.len() as u64;
        let to_end = capacity - (self.head & (capacity - 1));
        let start = if bytes as u64 <= to_end { self.head } else { self.head + to_end };
        (start + bytes as u64 - self.tail <= capacity).then_some(start)
    }

    /// The place of a message.
    #[inline]
    pub fn place(&mut self, start: u64, bytes: usize) -> &mut [u8] {
        let at = self.offset(start);
        self.bytes.get_mut(at..at + bytes).unwrap_or(&mut [])
    }

    /// What stands between two positions that do not go around the end.
    #[inline]
    pub fn slice(&self, start: u64, end: u64) -> &[u8] {
        let at = self.offset(start);
        self.bytes.get(at..at + (end - start) as usize).unwrap_or(&[])
    }

    /// Whether the ring begins anew at this position.
    #[inline]
    pub fn is_start(&self, position: u64) -> bool {
        self.offset(position) == 0
    }

    /// A message ends here, and the next begins.
    #[inline]
    pub fn advance(&mut self, end: u64) {
        self.head = end;
    }

    /// Where the next message begins, or behind it.
    #[inline]
    pub fn head(&self) -> u64 {
        self.head
    }

    /// What lies before is not needed any more.
    pub fn release(&mut self, tail: u64) {
        self.tail = tail;
    }

    /// Nothing waits: start from the beginning, whose memory is near.
    #[inline]
    pub fn rewind(&mut self) {
        self.head = self.head.next_multiple_of(self.bytes.len() as u64);
        self.tail = self.head;
    }

    #[inline]
    fn offset(&self, position: u64) -> usize {
        position as usize & (self.bytes.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::FrameLog;

    #[test]
    fn a_message_is_contiguous_and_never_overwrites_what_waits() {
        let mut log = FrameLog::new(64);
        let first = log.reserve(30).unwrap();
        log.place(first, 30).fill(1);
        log.advance(first + 30);
        let second = log.reserve(30).unwrap();
        assert_eq!(second, 30);
        log.advance(60);
        assert_eq!(log.reserve(30), None, "it would begin again at 0, where the first waits");
        assert_eq!(log.reserve(4), Some(60));
        log.release(30);
        assert_eq!(log.reserve(30), Some(64));
        assert_eq!(log.slice(0, 30), [1; 30]);
        log.rewind();
        assert_eq!((log.head(), log.reserve(32)), (64, Some(64)));
    }
}
