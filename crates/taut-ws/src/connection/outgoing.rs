//! Bytes that wait to be sent: contiguous, in memory of a fixed size.

use alloc::boxed::Box;

#[derive(Debug)]
pub struct Outgoing {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Outgoing {
    pub fn new(capacity: usize) -> Self {
        Self { bytes: alloc::vec![0; capacity].into_boxed_slice(), start: 0, end: 0 }
    }

    /// What waits.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or(&[])
    }

    /// How many more bytes have room.
    #[inline]
    pub const fn free(&self) -> usize {
        self.bytes.len() - (self.end - self.start)
    }

    /// The next `count` bytes, to be filled; they wait from now on. `None` when there is no room.
    #[inline]
    pub fn claim(&mut self, count: usize) -> Option<&mut [u8]> {
        if self.bytes.len() - self.end < count {
            self.make_room();
        }
        let at = self.end;
        let place = self.bytes.get_mut(at..at.checked_add(count)?)?;
        self.end += count;
        Some(place)
    }

    /// The first `count` are sent.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        self.start += count.min(self.end - self.start);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Moves what waits to the front.
    fn make_room(&mut self) {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
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
