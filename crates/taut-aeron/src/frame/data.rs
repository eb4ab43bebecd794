//! Data frames: 32 bytes of header, the payload, padding to a multiple of 32.

use super::bytes::{i32_at, i64_at, put, put_header, u8_at, u16_at};
use crate::terms::{FRAME_ALIGNMENT, Terms, aligned};

/// The header of a data frame.
pub const DATA_HEADER_BYTES: usize = 32;

const PAD: u16 = 0;
const DATA: u16 = 1;

/// The header of a data or padding frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeader {
    /// Header and payload without padding; 0 in a heartbeat.
    pub frame_length: i32,
    /// See [`data_flags`](super::data_flags).
    pub flags: u8,
    /// It stands for the rest of a term.
    pub is_padding: bool,
    /// Where it starts in its term.
    pub term_offset: i32,
    /// Which publication sent it.
    pub session_id: i32,
    /// Which stream it belongs to.
    pub stream_id: i32,
    /// Which term it is in.
    pub term_id: i32,
    /// Eight bytes that the application may use.
    pub reserved_value: i64,
}

impl DataHeader {
    /// Reads a header; nothing when there are fewer than 32 bytes or it is another type.
    #[must_use]
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; DATA_HEADER_BYTES] = bytes.first_chunk()?;
        let code = u16_at(bytes, 6)?;
        if code != DATA && code != PAD {
            return None;
        }
        Some(Self {
            frame_length: i32_at(bytes, 0)?,
            flags: u8_at(bytes, 5)?,
            is_padding: code == PAD,
            term_offset: i32_at(bytes, 8)?,
            session_id: i32_at(bytes, 12)?,
            stream_id: i32_at(bytes, 16)?,
            term_id: i32_at(bytes, 20)?,
            reserved_value: i64_at(bytes, 24)?,
        })
    }

    /// The header as bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> [u8; DATA_HEADER_BYTES] {
        let mut bytes = [0; DATA_HEADER_BYTES];
        let code = if self.is_padding { PAD } else { DATA };
        put_header(&mut bytes, self.frame_length as usize, self.flags, code);
        put(&mut bytes, 8, self.term_offset.to_le_bytes());
        put(&mut bytes, 12, self.session_id.to_le_bytes());
        put(&mut bytes, 16, self.stream_id.to_le_bytes());
        put(&mut bytes, 20, self.term_id.to_le_bytes());
        put(&mut bytes, 24, self.reserved_value.to_le_bytes());
        bytes
    }

    /// The bytes of the log that it stands for.
    #[must_use]
    #[inline]
    pub const fn log_bytes(&self) -> i64 {
        aligned(self.frame_length as i64)
    }

    /// The bytes that it takes in a datagram: padding travels as its header.
    #[must_use]
    #[inline]
    pub const fn wire_bytes(&self) -> usize {
        if self.is_padding { DATA_HEADER_BYTES } else { self.log_bytes() as usize }
    }
}

/// Writes a heartbeat: a data frame of length 0 at the sender's position.
pub fn write_heartbeat(header: &DataHeader, out: &mut [u8]) -> usize {
    let bytes = DataHeader { frame_length: 0, is_padding: false, ..*header }.bytes();
    put(out, 0, bytes);
    DATA_HEADER_BYTES
}

/// The frames of a datagram that holds nothing wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// The bytes of the log that they stand for.
    pub log_bytes: i64,
    /// The bytes of the datagram: fewer only when it ends with padding.
    pub wire_bytes: usize,
}

/// Checks that a datagram is a run of frames of one stream, each where the one before ends, all
/// inside one term. Nothing when it is not. Cost: one load and a few comparisons per frame.
#[inline]
pub fn check_frames(terms: &Terms, first: &DataHeader, datagram: &[u8]) -> Option<Frames> {
    let identity = identity_of(datagram)?;
    let term_length = terms.length();
    let start = i64::from(first.term_offset);
    if start < 0 || start % i64::from(FRAME_ALIGNMENT) != 0 {
        return None;
    }
    let (mut offset, mut at) = (start, 0);
    while at < datagram.len() {
        let header: &[u8; DATA_HEADER_BYTES] = datagram.get(at..)?.first_chunk()?;
        let length = i64::from(i32_at(header, 0)?);
        let code = u16_at(header, 6)?;
        let is_next = i64::from(i32_at(header, 8)?) == offset && identity_of(header)? == identity;
        let log_bytes = aligned(length);
        if !is_next || length < DATA_HEADER_BYTES as i64 || offset + log_bytes > term_length {
            return None;
        }
        offset += log_bytes;
        match code {
            DATA => at += log_bytes as usize,
            PAD => at += DATA_HEADER_BYTES,
            _ => return None,
        }
    }
    (at == datagram.len()).then_some(Frames { log_bytes: offset - start, wire_bytes: at })
}

/// Session, stream and term: the same in all frames of a datagram.
#[inline]
fn identity_of(header: &[u8]) -> Option<(i64, i32)> {
    Some((i64_at(header, 12)?, i32_at(header, 20)?))
}

#[cfg(test)]
mod tests {
    use super::super::flags::data_flags::UNFRAGMENTED;
    use super::*;
    use alloc::vec::Vec;

    fn header(term_offset: i32, frame_length: i32) -> DataHeader {
        DataHeader {
            frame_length,
            flags: UNFRAGMENTED,
            is_padding: false,
            term_offset,
            session_id: -7,
            stream_id: 1001,
            term_id: 3,
            reserved_value: -2,
        }
    }

    fn datagram(headers: &[DataHeader]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for header in headers {
            let end = bytes.len() + header.wire_bytes();
            bytes.extend(header.bytes());
            bytes.resize(end, 9);
        }
        bytes
    }

    #[test]
    fn a_header_reads_back_as_it_was_written() {
        for padding in [false, true] {
            let header = DataHeader { is_padding: padding, ..header(64, 102) };
            assert_eq!(DataHeader::read(&header.bytes()), Some(header));
        }
        assert_eq!(DataHeader::read(&[0; 31]), None);
    }

    #[test]
    fn frames_must_follow_each_other_inside_the_term() {
        let terms = Terms::new(0, 65_536).unwrap();
        let check = |frames: &[DataHeader]| {
            let bytes = datagram(frames);
            check_frames(&terms, &frames[0], &bytes)
        };
        let good = check(&[header(0, 102), header(128, 32), header(160, 40)]);
        assert_eq!(good, Some(Frames { log_bytes: 224, wire_bytes: 224 }));
        assert_eq!(check(&[header(0, 102), header(160, 40)]), None, "a hole");
        assert_eq!(check(&[header(0, 102), header(96, 40)]), None, "an overlap");
        assert_eq!(check(&[header(16, 102)]), None, "not aligned");
        assert_eq!(check(&[header(65_504, 40)]), None, "outside the term");
        assert_eq!(check(&[header(0, 31)]), None, "shorter than its header");
        let other = DataHeader { session_id: 1, ..header(128, 40) };
        assert_eq!(check(&[header(0, 102), other]), None, "another session");
        let padding = DataHeader { is_padding: true, ..header(128, 65_408) };
        let padded = check(&[header(0, 102), padding]);
        assert_eq!(padded, Some(Frames { log_bytes: 65_536, wire_bytes: 160 }));
    }
}
