//! The measuring message: three numbers in front, the rest filler.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | when it was sent, nanoseconds |
//! | 8..16 | when it was to be sent |
//! | 16..24 | its sequence, from 0 |
//!
//! All little endian. The end of the stream is a message of 24 bytes whose two times are all ones;
//! its sequence is the number of messages before it. So it travels over any channel, and a peer
//! that knows nothing of it sees one more short message.

/// The shortest message.
pub const STAMP_BYTES: usize = 24;
/// The time that no message is sent at.
const NEVER: u64 = u64::MAX;

/// What a message says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamped {
    /// A message.
    Message(Stamp),
    /// The end: so many messages were sent.
    End(u64),
}

/// The numbers of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    pub sent_ns: u64,
    pub intended_ns: u64,
    pub sequence: u64,
}

impl Stamp {
    /// Writes it in front of a message of at least [`STAMP_BYTES`].
    #[inline]
    pub fn write(&self, message: &mut [u8]) {
        let (words, _) = message.as_chunks_mut::<8>();
        for (word, value) in words.iter_mut().zip([self.sent_ns, self.intended_ns, self.sequence]) {
            *word = value.to_le_bytes();
        }
    }

    /// The end of a stream of so many messages.
    pub fn end(count: u64) -> [u8; STAMP_BYTES] {
        let mut message = [0; STAMP_BYTES];
        Self { sent_ns: NEVER, intended_ns: NEVER, sequence: count }.write(&mut message);
        message
    }
}

/// Reads a message; nothing when it is too short to be one of ours.
#[inline]
pub fn read(message: &[u8]) -> Option<Stamped> {
    let word = |at: usize| message.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word));
    let stamp = Stamp { sent_ns: word(0)?, intended_ns: word(8)?, sequence: word(16)? };
    let is_end = stamp.sent_ns == NEVER && stamp.intended_ns == NEVER;
    Some(if is_end { Stamped::End(stamp.sequence) } else { Stamped::Message(stamp) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_and_an_end_come_back_and_a_short_message_is_neither() {
        let stamp = Stamp { sent_ns: 3, intended_ns: 2, sequence: 1 };
        let mut message = [9; 70];
        stamp.write(&mut message);
        assert_eq!(message[..8], 3_u64.to_le_bytes());
        assert_eq!(message[24..], [9; 46]);
        assert_eq!(read(&message), Some(Stamped::Message(stamp)));
        assert_eq!(read(&Stamp::end(7)), Some(Stamped::End(7)));
        assert_eq!(read(&message[..23]), None);
    }
}
