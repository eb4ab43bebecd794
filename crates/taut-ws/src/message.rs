//! The message under way: one run of bytes, in memory that grows as they come, up to a limit.

use alloc::vec::Vec;

/// What is kept of the memory while nothing large comes.
const KEPT_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub struct Message {
    bytes: Vec<u8>,
    filled: usize,
    bytes_max: usize,
    spare_bytes: usize,
}

impl Message {
    /// `spare_bytes` is how large the memory is at the least: the handshake's head lies there
    /// first.
    pub fn new(bytes_max: usize, spare_bytes: usize) -> Self {
        Self { bytes: alloc::vec![0; spare_bytes], filled: 0, bytes_max, spare_bytes }
    }

    /// A new message begins.
    pub const fn clear(&mut self) {
        self.filled = 0;
    }

    /// What there is of it.
    #[inline]
    pub fn filled(&self) -> &[u8] {
        self.bytes.get(..self.filled).unwrap_or(&[])
    }

    pub const fn filled_bytes(&self) -> usize {
        self.filled
    }

    /// Whether it is as long as a message may be.
    pub const fn is_full(&self) -> bool {
        self.filled >= self.bytes_max
    }

    /// The whole memory, before there are messages.
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    pub const fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Gives a large message's memory back.
    pub fn give_back(&mut self) {
        if self.bytes.len() > KEPT_BYTES.max(self.spare_bytes) {
            *self = Self::new(self.bytes_max, self.spare_bytes);
        }
    }

    /// The next `count` bytes, to be filled; they are within the limit.
    #[inline]
    pub fn claim(&mut self, count: usize) -> &mut [u8] {
        if self.bytes.len() - self.filled < count {
            self.grow(self.filled + count);
        }
        let start = self.filled;
        self.filled += count;
        self.bytes.get_mut(start..start + count).unwrap_or(&mut [])
    }

    /// Room for what is not known yet, some at the least where the message is not full; none beyond
    /// the limit. Say with [`Message::wrote`] how much of it was used.
    pub fn room(&mut self) -> &mut [u8] {
        if self.bytes.len() == self.filled && !self.is_full() {
            self.grow(self.filled + 1);
        }
        let end = self.bytes.len().min(self.bytes_max);
        self.bytes.get_mut(self.filled..end).unwrap_or(&mut [])
    }

    pub const fn wrote(&mut self, count: usize) {
        self.filled += count;
    }

    /// Twice as much each time, as it fills.
    #[cold]
    fn grow(&mut self, bytes: usize) {
        let bytes = bytes.max(self.bytes.len().saturating_mul(2).min(self.bytes_max));
        self.bytes.reserve_exact(bytes.saturating_sub(self.bytes.len()));
        self.bytes.resize(bytes, 0);
    }
}
