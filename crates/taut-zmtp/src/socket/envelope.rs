//! The parts before a message that bring an answer back to who asked (RFC 28, "The REP Socket").

use alloc::vec::Vec;

/// Parts up to the empty one, it included.
#[derive(Debug, Default)]
pub struct Envelope {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

/// How many parts of a message its envelope has, and their bytes; `None` when there is no empty
/// part.
pub fn measure(lengths: &[usize]) -> Option<(usize, usize)> {
    let at = lengths.iter().position(|length| *length == 0)?;
    Some((at + 1, lengths.iter().take(at).sum()))
}

impl Envelope {
    /// Keeps these.
    pub fn keep(&mut self, bytes: &[u8], lengths: &[usize]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.lengths.clear();
        self.lengths.extend_from_slice(lengths);
    }

    /// Its parts.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes.as_slice();
        self.lengths.iter().map_while(move |length| {
            let (part, after) = rest.split_at_checked(*length)?;
            rest = after;
            Some(part)
        })
    }
}
