//! Messages of several fragments are put together here.

use alloc::vec::Vec;

use crate::frame::data_flags::{BEGIN, END};

/// What became of a fragment.
#[derive(Debug, PartialEq, Eq)]
pub enum Assembled<'a> {
    /// More fragments follow.
    Partial,
    /// The message.
    Whole(&'a [u8]),
    /// The message lost a part or is too long.
    Dropped,
}

/// One message under way. The memory grows to the longest message once, at most to the limit.
#[derive(Debug)]
pub struct Assembly {
    bytes: Vec<u8>,
    bytes_max: usize,
    is_open: bool,
    last: usize,
}

impl Assembly {
    /// Takes the memory for messages of `bytes_max`. Untouched memory costs nothing but addresses.
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes_max), bytes_max, is_open: false, last: 0 }
    }

    /// Takes the next fragment in order.
    pub fn push(&mut self, flags: u8, payload: &[u8]) -> Assembled<'_> {
        if flags & BEGIN != 0 {
            self.bytes.clear();
            self.is_open = true;
        }
        if !self.is_open || self.bytes.len() + payload.len() > self.bytes_max {
            self.is_open = false;
            return if flags & END != 0 { Assembled::Dropped } else { Assembled::Partial };
        }
        self.last = payload.len();
        self.bytes.extend_from_slice(payload);
        if flags & END == 0 {
            return Assembled::Partial;
        }
        self.is_open = false;
        Assembled::Whole(&self.bytes)
    }

    /// Takes the last fragment back: it comes again.
    pub fn undo(&mut self) {
        self.bytes.truncate(self.bytes.len().saturating_sub(self.last));
        self.is_open = true;
    }

    /// What is missing will not come: true when a message was under way.
    pub fn reset(&mut self) -> bool {
        core::mem::replace(&mut self.is_open, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_only_with_all_its_parts_and_within_the_limit() {
        let mut assembly = Assembly::new(8);
        assert_eq!(assembly.push(0, b"lost"), Assembled::Partial);
        assert_eq!(assembly.push(END, b"lost"), Assembled::Dropped);
        assert_eq!(assembly.push(BEGIN, b"1234"), Assembled::Partial);
        assert_eq!(assembly.push(END, b"5678"), Assembled::Whole(b"12345678"));
        assembly.undo();
        assert_eq!(assembly.push(END, b"5678"), Assembled::Whole(b"12345678"));
        assert_eq!(assembly.push(BEGIN, b"1234"), Assembled::Partial);
        assert_eq!(assembly.push(0, b"56789"), Assembled::Partial);
        assert_eq!(assembly.push(END, b""), Assembled::Dropped);
        assembly.push(BEGIN, b"1");
        assert!(assembly.reset() && !assembly.reset());
    }
}
