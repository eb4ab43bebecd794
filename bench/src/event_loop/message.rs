//! The experiment's message: little-endian words at the start of a block of filler.

/// Bytes that mean something; a message is at least this long.
pub const HEADER_BYTES: usize = 32;

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// When it was sent, CLOCK_MONOTONIC.
    pub sent_ns: i64,
    /// When it should have been sent.
    pub intended_ns: i64,
    /// Which message of its connection, from 0.
    pub sequence: u64,
    /// Which connection, from 0.
    pub connection: u32,
    /// How many connections there are.
    pub connections: u32,
}

impl Message {
    /// Reads a message; `None` if it is too short.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let half = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        Some(Self {
            sent_ns: word(0)?.cast_signed(),
            intended_ns: word(8)?.cast_signed(),
            sequence: word(16)?,
            connection: half(24)?,
            connections: half(28)?,
        })
    }

    /// Writes it to the start of `bytes`, which is at least [`HEADER_BYTES`] long.
    pub fn write(&self, bytes: &mut [u8; HEADER_BYTES]) {
        bytes[0..8].copy_from_slice(&self.sent_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.intended_ns.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.connection.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.connections.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_survives_the_wire() {
        let message = Message {
            sent_ns: 1,
            intended_ns: -2,
            sequence: 1 << 40,
            connection: 3,
            connections: 64,
        };
        let mut bytes = [0; HEADER_BYTES];
        message.write(&mut bytes);
        assert_eq!(Message::read(&bytes), Some(message));
        assert_eq!(bytes[0], 1);
        assert_eq!(Message::read(&bytes[1..]), None);
    }
}
