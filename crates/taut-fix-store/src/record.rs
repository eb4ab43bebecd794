//! The file: a magic word, then records. All numbers are little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | CRC-32C of all that follows |
//! | 4 | length of the message |
//! | 4 | kind |
//! | 4 | place of the record in the file, in units of 8 bytes (a misplaced sector shows) |
//! | 8 | sequence number, or what the kind says |
//! | length | message, then zeros to the next multiple of 8 |

use crate::checksum::crc32c;

/// The first bytes of the file: name and version.
pub const MAGIC: &[u8; 8] = b"TAUTFIX1";
/// Bytes before the message.
pub const HEAD_BYTES: usize = 24;
/// A longer message is no record.
pub const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// A message that was sent under this number.
    Message = 1,
    /// The next number that is sent.
    NextOutgoing = 2,
    /// The next number that is expected.
    NextIncoming = 3,
    /// When the trading session began that the numbers belong to: UTC nanoseconds.
    Period = 4,
}

/// A record that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub kind: Kind,
    pub sequence: u64,
    pub message_bytes: usize,
    /// With head and padding.
    pub bytes: usize,
}

/// Appends a record that will stand at `position` of the file.
pub fn write(out: &mut Vec<u8>, position: u64, kind: Kind, sequence: u64, message: &[u8]) {
    let start = out.len();
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let place = (position / 8) as u32;
    let padding = message.len().next_multiple_of(8) - message.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(kind as u32).to_le_bytes());
    out.extend_from_slice(&place.to_le_bytes());
    out.extend_from_slice(&sequence.to_le_bytes());
    out.extend_from_slice(message);
    out.extend_from_slice(&[0; 8][..padding]);
    let sum = crc32c(&[out.get(start + 4..).unwrap_or_default()]);
    if let Some(room) = out.get_mut(start..start + 4) {
        room.copy_from_slice(&sum.to_le_bytes());
    }
}

/// The record at the start of the bytes, which stand at `position`; `None` when there is no whole
/// and right one.
pub fn read(bytes: &[u8], position: u64) -> Option<Record> {
    let head = bytes.first_chunk::<HEAD_BYTES>()?;
    let word =
        |at: usize| head.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
    let message_bytes = usize::try_from(word(4)?).ok()?;
    if message_bytes > MESSAGE_BYTES_MAX || word(12)? != (position / 8) as u32 {
        return None;
    }
    let kind = match word(8)? {
        1 => Kind::Message,
        2 => Kind::NextOutgoing,
        3 => Kind::NextIncoming,
        4 => Kind::Period,
        _ => return None,
    };
    let size = HEAD_BYTES + message_bytes.next_multiple_of(8);
    let summed = bytes.get(4..size)?;
    let sequence = u64::from_le_bytes(*head.last_chunk::<8>()?);
    let record = Record { kind, sequence, message_bytes, bytes: size };
    (crc32c(&[summed]) == word(0)?).then_some(record)
}
