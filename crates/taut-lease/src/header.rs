//! The header of a datagram.

use taut_types::Nanos;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 32;
/// Bytes of a control datagram, without its tag: all are equally long, so that no answer is longer
/// than its question.
pub const CONTROL_BYTES: usize = HEADER_BYTES + 16;
const MAGIC: [u8; 4] = *b"taul";
const VERSION: u8 = 1;

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A subscriber asks, or renews.
    Ask = 1,
    /// The publisher wants the cookie shown.
    Challenge = 2,
    /// The publisher gives a lease.
    Grant = 3,
    /// A message.
    Message = 4,
    /// The subscriber leaves.
    Leave = 5,
    /// The publisher's stream is over.
    End = 6,
    /// There was no message for a while.
    Heartbeat = 7,
    /// The publisher has no room for one more.
    Refusal = 8,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Ask,
        Self::Challenge,
        Self::Grant,
        Self::Message,
        Self::Leave,
        Self::End,
        Self::Heartbeat,
        Self::Refusal,
    ];
}

/// What stands in front of every datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: Kind,
    /// The message's type; 0 for control, and for bytes.
    pub message_type: u16,
    /// The publisher's session.
    pub session: u64,
    /// See the table of kinds.
    pub sequence: u64,
    /// When it was sent.
    pub sent: Nanos,
}

impl Header {
    /// Its bytes.
    #[must_use]
    #[inline]
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let (words, _) = bytes.as_chunks_mut::<8>();
        let [low, high] = self.message_type.to_le_bytes();
        let [a, b, c, d] = MAGIC;
        let first = [a, b, c, d, VERSION, self.kind as u8, low, high];
        let values = [
            first,
            self.session.to_le_bytes(),
            self.sequence.to_le_bytes(),
            self.sent.0.to_le_bytes(),
        ];
        words.iter_mut().zip(values).for_each(|(word, value)| *word = value);
        bytes
    }

    /// The header of a datagram and what follows it; nothing when it is none of ours.
    #[must_use]
    #[inline]
    pub fn read(datagram: &[u8]) -> Option<(Self, &[u8])> {
        let (bytes, rest) = datagram.split_first_chunk::<HEADER_BYTES>()?;
        let (words, _) = bytes.as_chunks::<8>();
        let [first, session, sequence, sent] = words else { return None };
        let [a, b, c, d, version, kind, low, high] = *first;
        if [a, b, c, d] != MAGIC || version != VERSION {
            return None;
        }
        let kind = Kind::ALL.into_iter().find(|known| *known as u8 == kind)?;
        let header = Self {
            kind,
            message_type: u16::from_le_bytes([low, high]),
            session: u64::from_le_bytes(*session),
            sequence: u64::from_le_bytes(*sequence),
            sent: Nanos(i64::from_le_bytes(*sent)),
        };
        Some((header, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_nothing_else_is_one() {
        for kind in Kind::ALL {
            let header = Header {
                kind,
                message_type: 0x1234,
                session: 5,
                sequence: u64::MAX,
                sent: Nanos(-7),
            };
            let bytes = header.to_bytes();
            assert_eq!(Header::read(&bytes), Some((header, &[][..])));
            for at in 0..6 {
                let mut other = bytes;
                other[at] ^= 0x40;
                assert_eq!(Header::read(&other), None, "byte {at}");
            }
            assert_eq!(Header::read(&bytes[..31]), None);
        }
    }
}
