//! What a stream has yet to send: a ring of bytes and the writes that they belong to, in order.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::error::{IoError, Limit};

/// A write: where its bytes end, counted over the stream, and whom to tell.
#[derive(Clone, Copy, Debug)]
struct Write {
    end: u64,
    token: Option<u64>,
}

/// The queue of one stream. It takes its memory when something waits for the first time, and gives
/// it back when the stream is closed: a stranger costs none.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    ring: Box<[u8]>,
    bytes_max: usize,
    writes_max: usize,
    /// Bytes taken from the writer so far, and of those, sent.
    accepted: u64,
    sent: u64,
    writes: VecDeque<Write>,
}

impl Outgoing {
    /// Makes it ready for a new stream.
    pub fn reset(&mut self, bytes_max: usize, writes_max: usize) {
        *self = Self { bytes_max, writes_max, ..Self::default() };
    }

    /// Takes its memory now.
    #[cold]
    pub fn reserve(&mut self) {
        self.ring = alloc::vec![0; self.bytes_max].into_boxed_slice();
        self.writes.reserve_exact(self.writes_max);
    }

    /// Its stream is closed.
    pub fn give_back(&mut self) {
        *self = Self::default();
    }

    /// Whether nothing waits to be sent.
    pub const fn is_empty(&self) -> bool {
        self.accepted == self.sent
    }

    /// Bytes that wait.
    pub const fn waiting(&self) -> usize {
        (self.accepted - self.sent) as usize
    }

    /// Whether a write of this many bytes has room.
    pub fn has_room(&self, bytes: usize, writes_max: usize) -> Result<(), IoError> {
        if self.bytes_max - self.waiting() < bytes {
            return Err(IoError::Limit(Limit::WriteBytes));
        }
        if self.writes.len() >= writes_max {
            return Err(IoError::Limit(Limit::Writes));
        }
        Ok(())
    }

    /// Appends a write of which the kernel took the first `sent` bytes. There is room.
    pub fn push(&mut self, parts: &[&[u8]], sent: usize, token: Option<u64>) {
        let mut skip = sent;
        for part in parts {
            let passed = skip.min(part.len());
            skip -= passed;
            let rest = &part[passed..];
            if rest.is_empty() {
                continue;
            }
            if self.ring.is_empty() {
                self.reserve();
            }
            let capacity = self.ring.len();
            let at = (self.accepted % capacity.max(1) as u64) as usize;
            let before_end = rest.len().min(capacity - at);
            let (first, second) = rest.split_at(before_end);
            self.ring[at..at + first.len()].copy_from_slice(first);
            self.ring[..second.len()].copy_from_slice(second);
            self.accepted += rest.len() as u64;
        }
        if token.is_some() || !self.is_empty() {
            self.writes.push_back(Write { end: self.accepted, token });
        }
    }

    /// What waits, in two parts.
    pub fn parts(&self) -> [&[u8]; 2] {
        let capacity = self.ring.len().max(1) as u64;
        let start = (self.sent % capacity) as usize;
        let end = start + self.waiting();
        match self.ring.get(start..end) {
            Some(whole) => [whole, &[]],
            None => [&self.ring[start..], &self.ring[..end - self.ring.len()]],
        }
    }

    /// The kernel took this many of them.
    pub fn advance(&mut self, bytes: usize) {
        self.sent += (bytes as u64).min(self.accepted - self.sent);
    }

    /// Takes the first write if it is sent: whom to tell.
    pub fn pop_sent(&mut self) -> Option<Option<u64>> {
        let first = self.writes.front()?;
        (first.end <= self.sent).then(|| self.writes.pop_front().and_then(|write| write.token))
    }

    /// Takes the first write, sent or not.
    pub fn pop(&mut self) -> Option<Option<u64>> {
        self.writes.pop_front().map(|write| write.token)
    }

    /// Whether a write is sent that nobody took.
    pub fn has_sent(&self) -> bool {
        self.writes.front().is_some_and(|first| first.end <= self.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn bytes_leave_in_order_and_writes_complete_when_their_last_byte_has_left(
            steps in proptest::collection::vec((0usize..40, 0usize..50), 0..200),
        ) {
            let mut out = Outgoing::default();
            out.reset(64, 8);
            let (mut written, mut sent) = (Vec::new(), Vec::<u8>::new());
            let mut ends = VecDeque::new();
            for (length, taken) in steps {
                let bytes: Vec<u8> = (0..length).map(|n| (written.len() + n) as u8).collect();
                if out.has_room(length, 8).is_ok() {
                    let (first, second) = bytes.split_at(length / 3);
                    out.push(&[first, second], 0, Some(written.len() as u64));
                    written.extend(&bytes);
                    ends.push_back((written.len(), (written.len() - length) as u64));
                }
                let waiting: Vec<u8> = out.parts().concat();
                let taken = taken.min(waiting.len());
                sent.extend(&waiting[..taken]);
                out.advance(taken);
                while let Some(token) = out.pop_sent() {
                    let (end, expected) = ends.pop_front().unwrap();
                    prop_assert!(end <= sent.len());
                    prop_assert_eq!(token, Some(expected));
                }
                prop_assert!(ends.front().is_none_or(|(end, _)| *end > sent.len()));
                prop_assert_eq!(&sent[..], &written[..sent.len()]);
            }
        }
    }
}
