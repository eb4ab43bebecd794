//! Bytes that wait to be sent: contiguous, in memory that grows with them up to a limit.

use alloc::vec::Vec;

/// What a connection begins with, and what is kept while nothing waits.
const FIRST_BYTES: usize = 1 << 10;
const KEPT_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub struct Outgoing {
    bytes: Vec<u8>,
    bytes_max: usize,
    start: usize,
    end: usize,
}

impl Outgoing {
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes: alloc::vec![0; bytes_max.min(FIRST_BYTES)], bytes_max, start: 0, end: 0 }
    }

    /// What waits.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or(&[])
    }

    /// How many more bytes have room.
    #[inline]
    pub const fn free(&self) -> usize {
        self.bytes_max - (self.end - self.start)
    }

    /// The memory that it has now.
    pub const fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// The next `count` bytes, to be filled; they wait from now on. `None` when there is no room.
    #[inline]
    pub fn claim(&mut self, count: usize) -> Option<&mut [u8]> {
        if self.bytes.len() - self.end < count {
            self.make_room(count)?;
        }
        let at = self.end;
        let place = self.bytes.get_mut(at..at.checked_add(count)?)?;
        self.end += count;
        Some(place)
    }

    /// The last `count` bytes that were claimed are not needed.
    pub fn unclaim(&mut self, count: usize) {
        self.end -= count.min(self.end - self.start);
    }

    /// The first `count` are sent.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        self.start += count.min(self.end - self.start);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Where nothing waits: gives back what a large message took.
    pub fn give_back(&mut self) {
        if self.end == 0 && self.bytes.len() > KEPT_BYTES {
            *self = Self::new(self.bytes_max);
        }
    }

    /// Moves what waits to the front, and takes more memory if that is not enough.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, count: usize) -> Option<()> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let needed = self.end.checked_add(count)?;
        if needed > self.bytes_max {
            return None;
        }
        if needed > self.bytes.len() {
            let bytes = needed.max(self.bytes.len().saturating_mul(2).min(self.bytes_max));
            self.bytes.reserve_exact(bytes - self.bytes.len());
            self.bytes.resize(bytes, 0);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_leave_in_order_and_never_more_wait_than_there_is_room_for() {
        let mut out = Outgoing::new(64);
        let (mut next, mut expected) = (0u8, 0u8);
        for round in 0..10_000usize {
            let count = round * 7 % 23;
            let free = out.free();
            match out.claim(count) {
                Some(place) => place.iter_mut().for_each(|byte| {
                    *byte = next;
                    next = next.wrapping_add(1);
                }),
                None => assert!(free < count),
            }
            let taken = out.pending().len().min(round * 5 % 19);
            for byte in &out.pending()[..taken] {
                assert_eq!(*byte, expected);
                expected = expected.wrapping_add(1);
            }
            out.consume(taken);
        }
    }
}
