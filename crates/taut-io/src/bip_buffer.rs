//! A bip buffer (Simon Cooke, 2003): a ring for one thread in which whatever is claimed, and
//! whatever is committed, is contiguous. It keeps packets whole without a second mapping; the price
//! is that the end of the ring stays unused when a claim does not fit there.
//!
//! ```text
//!            first                              second      first
//! [ free | committed | free        ]   or   [ committed | free | committed | unused ]
//! ```

use alloc::boxed::Box;
use core::fmt;
use core::ops::Range;

/// A byte ring of contiguous regions. All memory is taken when it is built.
pub struct BipBuffer {
    bytes: Box<[u8]>,
    /// Committed and older.
    first: Range<usize>,
    /// Committed after the writer went back to the start; always `0..end`.
    second_end: usize,
    /// Claimed and not yet committed.
    claim: Range<usize>,
}

impl BipBuffer {
    /// A buffer of this many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let bytes = alloc::vec![0; bytes].into_boxed_slice();
        Self { bytes, first: 0..0, second_end: 0, claim: 0..0 }
    }

    /// Its size.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes committed and not consumed.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.first.end - self.first.start + self.second_end
    }

    /// Whether nothing is committed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Claims exactly `bytes` contiguous bytes to write into before [`BipBuffer::commit`]; `None`
    /// when there is no such room. A claim that was not committed is forgotten.
    pub fn claim(&mut self, bytes: usize) -> Option<&mut [u8]> {
        self.claim = 0..0;
        let start = if self.second_end > 0 {
            (self.first.start - self.second_end >= bytes).then_some(self.second_end)
        } else if self.bytes.len() - self.first.end >= bytes {
            Some(self.first.end)
        } else {
            (self.first.start >= bytes).then_some(0)
        }?;
        self.claim = start..start + bytes;
        self.bytes.get_mut(self.claim.clone())
    }

    /// The first `bytes` of the claim are content now; more than was claimed counts as all.
    pub fn commit(&mut self, bytes: usize) {
        let bytes = bytes.min(self.claim.len());
        let start = core::mem::replace(&mut self.claim, 0..0).start;
        if bytes == 0 {
            return;
        }
        if self.first.is_empty() && self.second_end == 0 {
            self.first = start..start + bytes;
        } else if start == self.first.end && self.second_end == 0 {
            self.first.end += bytes;
        } else {
            self.second_end = start + bytes;
        }
    }

    /// The oldest contiguous run of content; empty only when there is none. What was committed at
    /// once is never cut.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        self.bytes.get(self.first.clone()).unwrap_or(&[])
    }

    /// The first `bytes` of the head are done with; more than there are counts as all.
    pub fn consume(&mut self, bytes: usize) {
        self.first.start += bytes.min(self.first.len());
        if self.first.is_empty() {
            self.first = 0..core::mem::take(&mut self.second_end);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        (self.first, self.second_end, self.claim) = (0..0, 0, 0..0);
    }
}

impl fmt::Debug for BipBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BipBuffer({} of {})", self.len(), self.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::vec::Vec;

    #[test]
    fn a_claim_goes_back_to_the_start_when_the_end_is_too_short() {
        let mut ring = BipBuffer::new(10);
        ring.claim(6).unwrap().fill(1);
        ring.commit(6);
        assert!(ring.claim(5).is_none(), "neither end has five");
        ring.consume(5);
        ring.claim(5).unwrap().fill(2);
        ring.commit(5);
        assert_eq!((ring.head(), ring.len()), (&[1][..], 6));
        assert!(ring.claim(1).is_none(), "the start is full, the end stays unused");
        ring.consume(1);
        assert_eq!(ring.head(), [2; 5]);
        assert!(ring.claim(6).is_none() && ring.claim(5).is_some());
    }

    #[test]
    fn commits_less_than_was_claimed_and_never_more() {
        let mut ring = BipBuffer::new(8);
        ring.commit(3);
        assert!(ring.is_empty());
        ring.claim(4).unwrap().copy_from_slice(b"abcd");
        ring.commit(9);
        ring.claim(4).unwrap().copy_from_slice(b"efgh");
        ring.commit(2);
        assert_eq!(ring.head(), b"abcdef");
        ring.claim(2).unwrap();
        assert!(ring.claim(3).is_none());
        ring.commit(2);
        assert_eq!(ring.len(), 6, "a failed claim takes the earlier one back");
        ring.clear();
        assert!(ring.is_empty() && ring.claim(8).is_some());
    }

    proptest! {
        #[test]
        fn packets_leave_whole_and_in_order(
            steps in proptest::collection::vec((0usize..40, 0usize..40, 0usize..4), 0..300),
        ) {
            let mut ring = BipBuffer::new(97);
            let (mut packets, mut number) = (VecDeque::<Vec<u8>>::new(), 0u8);
            for (length, unused, taken) in steps {
                if let Some(claim) = ring.claim(length + unused) {
                    let (packet, _) = claim.split_at_mut(length);
                    packet.fill(number);
                    ring.commit(length);
                    if length > 0 {
                        packets.push_back(std::vec![number; length]);
                    }
                    number = number.wrapping_add(1);
                } else {
                    prop_assert!(!ring.is_empty(), "an empty ring has room for {}", length);
                }
                for _ in 0..taken {
                    let Some(packet) = packets.pop_front() else { break };
                    prop_assert_eq!(ring.head().get(..packet.len()), Some(&packet[..]));
                    ring.consume(packet.len());
                }
                prop_assert_eq!(ring.len(), packets.iter().map(Vec::len).sum::<usize>());
            }
        }
    }
}
