//! The file: a magic word, then records. All numbers are little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | CRC-32C of all that follows |
//! | 4 | length of the message |
//! | 4 | kind |
//! | 4 | place of the record in the file, in units of 8 bytes (a misplaced sector shows) |
//! | 8 | the next number that is sent, as of this record |
//! | 8 | the next number that is expected, as of this record |
//! | length | message, then zeros to the next multiple of 8 |
//!
//! Both numbers stand in every record: whatever is damaged before it, a record tells them.

use taut_simd::crc32c;

/// The first bytes of the file: name and version.
pub const MAGIC: &[u8; 8] = b"TAUTFIX2";
/// Bytes before the message.
pub const HEAD_BYTES: usize = 32;
/// A longer message is no record.
pub const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// Records stand at multiples of this.
pub const ALIGNMENT: usize = 8;

/// What a record says, beside the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// A message that was sent under the number before the next one.
    Message = 1,
    /// Nothing.
    Numbers = 2,
    /// When the trading session began that the numbers belong to: UTC nanoseconds, 8 bytes.
    Period = 3,
}

/// The two numbers of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// The next that is sent.
    pub outgoing: u64,
    /// The next that is expected.
    pub incoming: u64,
}

impl Numbers {
    /// Of a session that begins.
    pub const FIRST: Self = Self { outgoing: 1, incoming: 1 };
}

/// A record that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub kind: Kind,
    pub numbers: Numbers,
    pub message_bytes: usize,
    /// With head and padding.
    pub bytes: usize,
}

/// Bytes of a record with a message of this length.
pub const fn size(message_bytes: usize) -> usize {
    HEAD_BYTES + message_bytes.next_multiple_of(ALIGNMENT)
}

/// Appends a record that will stand at `position` of the file.
pub fn write(out: &mut Vec<u8>, position: u64, kind: Kind, numbers: Numbers, message: &[u8]) {
    let start = out.len();
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let place = (position / ALIGNMENT as u64) as u32;
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(kind as u32).to_le_bytes());
    out.extend_from_slice(&place.to_le_bytes());
    out.extend_from_slice(&numbers.outgoing.to_le_bytes());
    out.extend_from_slice(&numbers.incoming.to_le_bytes());
    out.extend_from_slice(message);
    out.resize(start + size(message.len()), 0);
    let sum = crc32c(out.get(start + 4..).unwrap_or_default());
    if let Some(room) = out.get_mut(start..start + 4) {
        room.copy_from_slice(&sum.to_le_bytes());
    }
}

/// The record at the start of the bytes, which stand at `position`; `None` when there is no whole
/// and right one.
pub fn read(bytes: &[u8], position: u64) -> Option<Record> {
    let head = bytes.first_chunk::<HEAD_BYTES>()?;
    let word = |at: usize| head.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let number = |at: usize| head.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let message_bytes = usize::try_from(word(4)?).ok()?;
    if message_bytes > MESSAGE_BYTES_MAX || word(12)? != (position / ALIGNMENT as u64) as u32 {
        return None;
    }
    let kind = match word(8)? {
        1 => Kind::Message,
        2 => Kind::Numbers,
        3 => Kind::Period,
        _ => return None,
    };
    let summed = bytes.get(4..size(message_bytes))?;
    let numbers = Numbers { outgoing: number(16)?, incoming: number(24)? };
    let record = Record { kind, numbers, message_bytes, bytes: size(message_bytes) };
    (crc32c(summed) == word(0)?).then_some(record)
}

/// The message of a record that was read from the start of these bytes.
pub fn message<'a>(bytes: &'a [u8], record: &Record) -> Option<&'a [u8]> {
    bytes.get(HEAD_BYTES..HEAD_BYTES + record.message_bytes)
}

#[cfg(test)]
mod tests {
    use super::{Kind, Numbers, read, write};
    use proptest::prelude::*;
    use taut_simd::crc32c;

    #[test]
    fn files_keep_the_sum_that_they_always_had() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let mut whole = Vec::new();
        let numbers = Numbers { outgoing: 8, incoming: 3 };
        write(&mut whole, 8, Kind::Message, numbers, b"8=FIX.4.4|9=5|35=0|10=161|");
        assert_eq!(read(&whole, 8).map(|record| record.numbers), Some(numbers));
        assert!(read(&whole, 16).is_none());
        for bit in 0..whole.len() * 8 {
            whole[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&whole, 8), None, "{bit}");
            whole[bit / 8] ^= 1 << (bit % 8);
        }
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes, 8);
        }
    }
}
