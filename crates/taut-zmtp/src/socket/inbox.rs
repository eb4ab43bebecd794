//! What one peer sent and nobody has received yet: whole messages, and the beginning of one.

use alloc::vec::Vec;

/// Beyond so much that was taken, what is left moves to the front.
const MOVE_BYTES: usize = 4 << 10;

/// A queue of messages in one run of bytes. Its memory is kept.
#[derive(Debug)]
pub struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    lengths: Vec<usize>,
    /// Parts that were taken.
    first: usize,
    /// How many parts each whole message has.
    messages: Vec<usize>,
    taken: usize,
    /// Parts of the message that has begun.
    begun: usize,
    /// The rest of it is not wanted.
    skips: bool,
}

impl Inbox {
    /// Without anything in it.
    pub const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            lengths: Vec::new(),
            first: 0,
            messages: Vec::new(),
            taken: 0,
            begun: 0,
            skips: false,
        }
    }

    /// Adds a part of a message.
    pub fn push(&mut self, part: &[u8], more: bool) {
        if self.skips {
            self.skips = more;
            return;
        }
        self.bytes.extend_from_slice(part);
        self.lengths.push(part.len());
        self.begun += 1;
        if !more {
            self.messages.push(core::mem::take(&mut self.begun));
        }
    }

    /// How many whole messages there are.
    pub fn messages(&self) -> usize {
        self.messages.len() - self.taken
    }

    /// Their bytes, and those of the one that has begun.
    pub fn bytes(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// The oldest message: its bytes, and the lengths of its parts.
    pub fn first(&self) -> Option<(&[u8], &[usize])> {
        let parts = *self.messages.get(self.taken)?;
        let lengths = self.lengths.get(self.first..self.first + parts)?;
        let bytes = lengths.iter().sum::<usize>();
        Some((self.bytes.get(self.start..self.start + bytes)?, lengths))
    }

    /// Takes the oldest message out.
    pub fn pop(&mut self) {
        let Some((bytes, lengths)) = self.first() else { return };
        let (bytes, parts) = (bytes.len(), lengths.len());
        self.start += bytes;
        self.first += parts;
        self.taken += 1;
        if self.first == self.lengths.len() {
            self.bytes.clear();
            self.lengths.clear();
            self.messages.clear();
            (self.start, self.first, self.taken) = (0, 0, 0);
        } else if self.start > MOVE_BYTES.max(self.bytes.len() / 2) || self.taken > MOVE_BYTES {
            self.bytes.drain(..self.start);
            self.lengths.drain(..self.first);
            self.messages.drain(..self.taken);
            (self.start, self.first, self.taken) = (0, 0, 0);
        }
    }

    /// Drops everything, also the rest of what has begun; returns how many messages that are.
    pub fn clear(&mut self) -> usize {
        let dropped = self.messages();
        self.bytes.clear();
        self.lengths.clear();
        self.messages.clear();
        self.skips |= self.begun > 0;
        (self.start, self.first, self.taken, self.begun) = (0, 0, 0, 0);
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::vec::Vec;
    use taut_testkit::{Draw, for_each_seed};

    #[test]
    fn messages_come_out_as_they_went_in() {
        for_each_seed(1..40, |_, mut random| {
            let mut inbox = Inbox::new();
            let mut expected: VecDeque<Vec<Vec<u8>>> = VecDeque::new();
            let mut begun: Vec<Vec<u8>> = Vec::new();
            let mut skips = false;
            for _ in 0..400 {
                match random.below(8) {
                    0..4 => {
                        let part = std::vec![random.below(256) as u8; random.below(900) as usize];
                        let more = random.below(3) == 0;
                        inbox.push(&part, more);
                        if skips {
                            skips = more;
                            continue;
                        }
                        begun.push(part);
                        if !more {
                            expected.push_back(core::mem::take(&mut begun));
                        }
                    }
                    7 if random.below(9) == 0 => {
                        assert_eq!(inbox.clear(), expected.len());
                        skips |= !begun.is_empty();
                        begun.clear();
                        expected.clear();
                    }
                    _ => {
                        let first = inbox.first().map(|(bytes, lengths)| {
                            let mut rest = bytes;
                            let mut parts = Vec::new();
                            for length in lengths {
                                let (part, after) = rest.split_at(*length);
                                parts.push(part.to_vec());
                                rest = after;
                            }
                            parts
                        });
                        assert_eq!(first, expected.pop_front());
                        inbox.pop();
                    }
                }
                assert_eq!(inbox.messages(), expected.len());
            }
        });
    }
}
