//! Bytes that wait to be sent, contiguous.

use alloc::vec::Vec;

/// A queue of bytes. Its memory is kept; it grows only beyond the most that ever waited.
#[derive(Debug, Default)]
pub struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outgoing {
    /// With room for this many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), sent: 0 }
    }

    /// What waits.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.bytes.get(self.sent..).unwrap_or(&[])
    }

    /// The first `bytes` are sent.
    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.sent >= self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
        }
    }

    /// Takes `bytes` out, from `at` on, counted from the first that waits.
    pub fn remove(&mut self, at: usize, bytes: usize) {
        let start = (self.sent + at).min(self.bytes.len());
        let end = (start + bytes).min(self.bytes.len());
        self.bytes.drain(start..end);
    }

    /// The end, to append to. What was sent is dropped first when that is most of the memory.
    pub fn end(&mut self) -> &mut Vec<u8> {
        if self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Outgoing;

    #[test]
    fn keeps_the_order_and_its_memory() {
        let mut out = Outgoing::with_capacity(64);
        let memory = out.end().as_ptr();
        let (mut next, mut expected) = (0u8, 0u8);
        for round in 0..1_000usize {
            for _ in 0..round % 7 {
                out.end().push(next);
                next = next.wrapping_add(1);
            }
            let take = out.pending().len().min(round % 5);
            for byte in &out.pending()[..take] {
                assert_eq!(*byte, expected);
                expected = expected.wrapping_add(1);
            }
            out.consume(take);
            if out.pending().len() > 20 {
                let all = out.pending().len();
                expected = expected.wrapping_add(all as u8);
                out.consume(all);
            }
        }
        assert_eq!(out.end().as_ptr(), memory);
    }
}
