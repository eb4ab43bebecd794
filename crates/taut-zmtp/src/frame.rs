//! Frames: flags, size, body (ZMTP 3.1, "Framing").

use crate::error::Violation;

/// More parts of this message follow.
pub const MORE: u8 = 1;
/// The size has eight bytes.
const LONG: u8 = 2;
/// The body is a command.
pub const COMMAND: u8 = 4;
/// The largest header: flags and eight bytes of size.
pub const HEADER_BYTES_MAX: usize = 9;

/// What stands in front of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// [`MORE`] and [`COMMAND`]; never both.
    pub flags: u8,
    /// 2 or 9.
    pub header_bytes: usize,
    /// The size of the body.
    pub body_bytes: u64,
}

impl FrameHeader {
    /// The header at the start of `bytes`; `None` while it is not whole.
    ///
    /// # Errors
    /// Reserved flags, or a command with `MORE`.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, Violation> {
        let Some((flags, rest)) = bytes.split_first() else { return Ok(None) };
        if flags & !(MORE | LONG | COMMAND) != 0 || flags & (MORE | COMMAND) == MORE | COMMAND {
            return Err(Violation::FrameFlags);
        }
        let size = if flags & LONG == 0 {
            rest.first().map(|size| (2, u64::from(*size)))
        } else {
            rest.first_chunk().map(|size| (HEADER_BYTES_MAX, u64::from_be_bytes(*size)))
        };
        Ok(size.map(|(header_bytes, body_bytes)| Self {
            flags: flags & !LONG,
            header_bytes,
            body_bytes,
        }))
    }

    /// Of a whole frame, header included; `None` beyond what can be addressed.
    #[inline]
    #[must_use]
    pub fn frame_bytes(&self) -> Option<usize> {
        usize::try_from(self.body_bytes).ok()?.checked_add(self.header_bytes)
    }
}

/// How many bytes the header of a body of this size has: short up to 255.
#[inline]
#[must_use]
pub const fn header_bytes(body_bytes: usize) -> usize {
    if body_bytes <= u8::MAX as usize { 2 } else { HEADER_BYTES_MAX }
}

/// Writes a header to the start of `out` and returns its size; 0, and nothing is written, when it
/// does not fit.
#[inline]
pub fn write_header(out: &mut [u8], flags: u8, body_bytes: usize) -> usize {
    if let Ok(short) = u8::try_from(body_bytes) {
        let Some(place) = out.first_chunk_mut() else { return 0 };
        *place = [flags, short];
        return 2;
    }
    let Some([first, size @ ..]) = out.first_chunk_mut::<HEADER_BYTES_MAX>() else { return 0 };
    *first = flags | LONG;
    *size = (body_bytes as u64).to_be_bytes();
    HEADER_BYTES_MAX
}

/// The size of the first message of `frames`, which are whole and well-formed, as we wrote them:
/// frames up to the first without `MORE`.
#[inline]
#[must_use]
pub fn message_bytes(frames: &[u8]) -> usize {
    let mut at = 0;
    while let Some(rest) = frames.get(at..)
        && let Ok(Some(header)) = FrameHeader::parse(rest)
        && let Some(bytes) = header.frame_bytes()
    {
        at += bytes;
        if header.flags & MORE == 0 {
            break;
        }
    }
    at.min(frames.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_of_255_bytes_has_a_short_header_and_one_of_256_a_long_one() {
        let mut out = [0; HEADER_BYTES_MAX];
        assert_eq!(write_header(&mut out, MORE, 255), 2);
        assert_eq!(out[..2], [1, 255]);
        assert_eq!(write_header(&mut out, COMMAND, 256), 9);
        assert_eq!(out, [6, 0, 0, 0, 0, 0, 0, 1, 0]);
        assert_eq!(write_header(&mut out[..8], 0, 256), 0);
        for body_bytes in [0, 1, 70, 255, 256, 65_536, 1 << 40] {
            let written = write_header(&mut out, 0, body_bytes);
            assert_eq!(written, header_bytes(body_bytes));
            let header = FrameHeader::parse(&out[..written]).unwrap().unwrap();
            assert_eq!(header.body_bytes, body_bytes as u64);
            for end in 0..written {
                assert_eq!(FrameHeader::parse(&out[..end]), Ok(None));
            }
        }
    }

    #[test]
    fn reserved_flags_and_a_command_with_more_are_refused() {
        for flags in 0..=255u8 {
            let legal = matches!(flags, 0..=4 | 6);
            let parsed = FrameHeader::parse(&[flags, 0, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!(parsed.is_ok(), legal, "{flags}");
        }
    }

    #[test]
    fn a_message_ends_with_the_first_frame_without_more() {
        let frames = [1, 1, b'a', 1, 0, 0, 2, b'b', b'c', 0, 0];
        assert_eq!(message_bytes(&frames), 9);
        assert_eq!(message_bytes(&frames[9..]), 2);
        assert_eq!(message_bytes(&[]), 0);
    }
}
