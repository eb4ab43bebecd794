//! Messages that came before their turn.

use alloc::boxed::Box;
use alloc::vec;

/// How many messages wait at the most.
const HELD_MAX: usize = 256;

/// Messages by their number, in room that was allocated when it was built. What does not fit is
/// dropped: the peer is asked for it again.
#[derive(Clone, Debug)]
pub struct Held {
    bytes: Box<[u8]>,
    used: usize,
    entries: Box<[Entry]>,
    len: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    sequence: u64,
    start: usize,
    len: usize,
}

impl Held {
    /// Room for this many bytes.
    pub fn new(bytes: usize) -> Self {
        let count = if bytes == 0 { 0 } else { HELD_MAX };
        Self {
            bytes: vec![0; bytes].into_boxed_slice(),
            used: 0,
            entries: vec![Entry::default(); count].into_boxed_slice(),
            len: 0,
        }
    }

    /// Keeps a message until its number is expected; `false` when there is no room.
    pub fn push(&mut self, sequence: u64, message: &[u8]) -> bool {
        if self.has(sequence) {
            return true;
        }
        let end = self.used + message.len();
        let room = self.bytes.get_mut(self.used..end);
        let (Some(room), Some(entry)) = (room, self.entries.get_mut(self.len)) else {
            return false;
        };
        room.copy_from_slice(message);
        *entry = Entry { sequence, start: self.used, len: message.len() };
        self.used = end;
        self.len += 1;
        true
    }

    /// Copies out the message with the expected number; those below it are forgotten. `None` when
    /// it is not here.
    pub fn take(&mut self, expected: u64, out: &mut [u8]) -> Option<usize> {
        let waiting = self.entries.get(..self.len)?;
        let found = waiting.iter().copied().find(|entry| entry.sequence == expected);
        let mut kept = 0;
        for at in 0..self.len {
            let Some(entry) = self.entries.get(at).copied() else { break };
            if entry.sequence > expected
                && let Some(place) = self.entries.get_mut(kept)
            {
                *place = entry;
                kept += 1;
            }
        }
        let copied = found.and_then(|entry| {
            let message = self.bytes.get(entry.start..entry.start + entry.len)?;
            out.get_mut(..entry.len)?.copy_from_slice(message);
            Some(entry.len)
        });
        self.len = kept;
        if kept == 0 {
            self.used = 0;
        }
        copied
    }

    /// Whether a message with this number waits.
    pub fn has(&self, sequence: u64) -> bool {
        let waiting = self.entries.get(..self.len).unwrap_or(&[]);
        waiting.iter().any(|entry| entry.sequence == sequence)
    }

    /// Whether none waits.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets all.
    pub const fn clear(&mut self) {
        self.len = 0;
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::Held;

    #[test]
    fn gives_back_in_turn_and_reuses_its_room() {
        let mut held = Held::new(8);
        let mut out = [0; 8];
        for _ in 0..3 {
            held.push(5, b"five");
            held.push(4, b"four");
            held.push(4, b"again");
            held.push(6, b"no room");
            assert_eq!(held.take(3, &mut out), None);
            assert_eq!(held.take(4, &mut out), Some(4));
            assert_eq!(&out[..4], b"four");
            assert_eq!(held.take(5, &mut out), Some(4));
            assert_eq!(&out[..4], b"five");
            assert!(held.is_empty());
        }
        held.push(2, b"two");
        assert_eq!(held.take(9, &mut out), None);
        assert!(held.is_empty());
    }
}
