//! Finds one message in a stream of bytes.

use core::ops::Range;

use taut_simd::Level;

use crate::codec::fields::Fields;
use crate::codec::number;
use crate::error::{FixError, Limit};

/// The largest message that a session accepts unless told otherwise, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 8 * 1024;

const SOH: u8 = 1;
/// `10=ddd` and a delimiter.
const TRAILER_BYTES: usize = 7;
/// `8=`, at most `FIXT.1.1`, and a delimiter.
const BEGIN_BYTES_MAX: usize = 2 + 8 + 1;
/// `9=`, eight digits and a delimiter.
const LENGTH_BYTES_MAX: usize = 2 + 8 + 1;

/// One well-framed message: its first three fields are 8, 9 and 35, and length and sum are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    bytes: &'a [u8],
    begin_string: &'a [u8],
    body_start: usize,
    body_end: usize,
}

/// What stands at the start of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framed<'a> {
    /// The start of a message, or nothing yet.
    NeedMore,
    /// A message.
    Message(Frame<'a>),
    /// A garbled message or no message at all: ignore this many bytes.
    Garbled {
        /// How many bytes to ignore, at least one.
        skip: usize,
    },
}

impl<'a> Frame<'a> {
    /// The whole message, BeginString to CheckSum.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many bytes of the stream it took.
    #[must_use]
    pub const fn consumed(&self) -> usize {
        self.bytes.len()
    }

    /// The value of BeginString (8).
    #[must_use]
    pub const fn begin_string(&self) -> &'a [u8] {
        self.begin_string
    }

    /// What BodyLength counts: from MsgType (35) to before CheckSum (10).
    #[must_use]
    pub const fn body_range(&self) -> Range<usize> {
        self.body_start..self.body_end
    }

    /// The fields from MsgType (35) to before CheckSum (10); offsets count from the start of the
    /// message.
    #[must_use]
    pub fn fields(&self) -> Fields<'a> {
        Fields::new(self.bytes.get(..self.body_end).unwrap_or(&[]), self.body_start)
    }
}

/// Looks at the start of the bytes (FIX 4.4 volume 2, "Garbled messages").
///
/// A garbled message ends at the first CheckSum field at or after the place that its BodyLength
/// points to, so a length that is too long takes the next message with it; without one, the search
/// goes on at the next `8=FIX`. Cost: one pass over the message.
///
/// # Errors
/// [`Limit::MessageBytes`] when BodyLength asks for a message larger than `message_bytes_max`:
/// there is no telling where the next one starts.
#[inline]
pub fn frame(bytes: &[u8], message_bytes_max: usize) -> Result<Framed<'_>, FixError> {
    frame_at(bytes, message_bytes_max, Level::best())
}

/// As [`frame`], with the instructions of this level.
///
/// # Errors
/// As [`frame`].
#[inline]
pub fn frame_at(
    bytes: &[u8],
    message_bytes_max: usize,
    level: Level,
) -> Result<Framed<'_>, FixError> {
    let finish = |begin_string, body_start, body_bytes| {
        finish(bytes, begin_string, body_start, body_bytes, message_bytes_max, level)
    };
    if let Some((begin_string, body_start, body_bytes)) = usual_start(bytes) {
        return finish(begin_string, body_start, body_bytes);
    }
    let begin_string = match value_after(bytes, b"8=", BEGIN_BYTES_MAX) {
        // As where it finds its feet again, so that it does not matter where the bytes are split.
        _ if !may_start(bytes) => return Ok(resynchronise(bytes)),
        Part::Value(value) => value,
        Part::NeedMore => return Ok(Framed::NeedMore),
        Part::Other => return Ok(resynchronise(bytes)),
    };
    let length_at = 2 + begin_string.len() + 1;
    let after_begin = bytes.get(length_at..).unwrap_or(&[]);
    let length_text = match value_after(after_begin, b"9=", LENGTH_BYTES_MAX) {
        Part::Value(value) => value,
        Part::NeedMore => return Ok(Framed::NeedMore),
        Part::Other => return Ok(resynchronise(bytes)),
    };
    let Some(body_bytes) = number::parse_u64(length_text).and_then(|n| usize::try_from(n).ok())
    else {
        return Ok(resynchronise(bytes));
    };
    let body_start = length_at + 2 + length_text.len() + 1;
    finish(begin_string, body_start, body_bytes)
}

/// `8=FIX.4.x`, `9=` and a length of two to four digits: what nearly every message starts with.
/// Returns BeginString, where the body starts, and its length.
#[inline]
fn usual_start(bytes: &[u8]) -> Option<(&[u8], usize, usize)> {
    let start = bytes.first_chunk::<17>()?;
    let [
        b'8',
        b'=',
        b'F',
        b'I',
        b'X',
        b'.',
        b'4',
        b'.',
        _,
        SOH,
        b'9',
        b'=',
        tens,
        units,
        rest @ ..,
    ] = start
    else {
        return None;
    };
    let digit = |byte: u8| usize::from(byte.wrapping_sub(b'0'));
    let mut length = digit(*tens) * 10 + digit(*units);
    let mut is_right = digit(*tens) <= 9 && digit(*units) <= 9;
    for (at, byte) in rest.iter().enumerate() {
        if *byte == SOH {
            return is_right.then_some((bytes.get(2..9)?, 15 + at, length));
        }
        is_right &= digit(*byte) <= 9;
        length = length * 10 + digit(*byte);
    }
    None
}

/// With the length known: a message, the start of one, or a garbled one.
#[inline]
fn finish<'a>(
    bytes: &'a [u8],
    begin_string: &'a [u8],
    body_start: usize,
    body_bytes: usize,
    message_bytes_max: usize,
    level: Level,
) -> Result<Framed<'a>, FixError> {
    let body_end = body_start.saturating_add(body_bytes);
    if body_end.saturating_add(TRAILER_BYTES) > message_bytes_max {
        return Err(FixError::Limit(Limit::MessageBytes));
    }
    let Some(message) = bytes.get(..body_end.saturating_add(TRAILER_BYTES)) else {
        return Ok(Framed::NeedMore);
    };
    let frame = Frame { bytes: message, begin_string, body_start, body_end };
    if is_whole(&frame, level) {
        Ok(Framed::Message(frame))
    } else {
        Ok(skip_to_checksum(bytes, body_end, message_bytes_max))
    }
}

/// A leading field, looked for at the start of the bytes.
enum Part<'a> {
    Value(&'a [u8]),
    NeedMore,
    Other,
}

fn value_after<'a>(bytes: &'a [u8], name: &[u8; 2], bytes_max: usize) -> Part<'a> {
    let known = bytes.len().min(name.len());
    if bytes.get(..known) != name.get(..known) {
        return Part::Other;
    }
    let window = bytes.get(..bytes.len().min(bytes_max)).unwrap_or(&[]);
    match window.iter().position(|byte| *byte == SOH) {
        Some(end) if end > 2 => window.get(2..end).map_or(Part::Other, Part::Value),
        Some(_) => Part::Other,
        None if bytes.len() < bytes_max => Part::NeedMore,
        None => Part::Other,
    }
}

/// MsgType third, a delimiter before the trailer, and the right sum in it.
#[inline]
fn is_whole(frame: &Frame<'_>, level: Level) -> bool {
    let summed = frame.bytes.get(..frame.body_end).unwrap_or(&[]);
    let body = summed.get(frame.body_start..).unwrap_or(&[]);
    let Some([last, b'1', b'0', b'=', sum @ ..]) = frame.bytes.last_chunk::<8>() else {
        return false;
    };
    *last == SOH && body.starts_with(b"35=") && *sum == number::sum_text(level.sum(summed))
}

/// Skips past the first CheckSum field that starts at or after `body_end`.
fn skip_to_checksum(bytes: &[u8], body_end: usize, message_bytes_max: usize) -> Framed<'_> {
    // The delimiter before the trailer is the last byte of the body.
    let from = body_end.saturating_sub(1);
    // What is beyond the limit may have come already, or not yet.
    let tail = bytes.get(from..bytes.len().min(message_bytes_max)).unwrap_or(&[]);
    let Some(trailer) = tail.windows(4).position(|window| window == b"\x0110=") else {
        return if bytes.len() < message_bytes_max {
            Framed::NeedMore
        } else {
            resynchronise(bytes)
        };
    };
    let value = tail.get(trailer + 4..).unwrap_or(&[]);
    match value.iter().position(|byte| *byte == SOH) {
        Some(end) => Framed::Garbled { skip: from + trailer + 4 + end + 1 },
        None if bytes.len() < message_bytes_max => Framed::NeedMore,
        None => resynchronise(bytes),
    }
}

/// Skips at least one byte, up to the next `8=FIX` or what may become one.
fn resynchronise(bytes: &[u8]) -> Framed<'_> {
    let next = (1..bytes.len()).find(|at| bytes.get(*at..).is_some_and(may_start));
    Framed::Garbled { skip: next.unwrap_or(bytes.len().max(1)) }
}

/// Whether it is `8=FIX...`, or may become it.
fn may_start(bytes: &[u8]) -> bool {
    const START: &[u8] = b"8=FIX";
    let known = bytes.len().min(START.len());
    bytes.get(..known) == START.get(..known)
}

#[cfg(test)]
mod tests {
    use super::{Framed, MESSAGE_BYTES_MAX, frame};
    use crate::error::{FixError, Limit};
    use std::string::String;
    use std::vec::Vec;

    /// A message whose body is `body`, with the length and the sum that it needs.
    fn message(body: &str) -> Vec<u8> {
        let body = body.replace('|', "\x01");
        with_length(body.len(), &body)
    }

    fn with_length(length: usize, body: &str) -> Vec<u8> {
        let mut text = std::format!("8=FIX.4.4\x019={length}\x01{body}");
        let sum = taut_simd::sum(text.as_bytes());
        text += &std::format!("10={sum:03}\x01");
        text.into_bytes()
    }

    fn skip(bytes: &[u8]) -> usize {
        match frame(bytes, MESSAGE_BYTES_MAX) {
            Ok(Framed::Garbled { skip }) => skip,
            other => panic!("{other:?} of {}", String::from_utf8_lossy(bytes)),
        }
    }

    #[test]
    fn finds_a_message_and_leaves_what_follows() {
        let mut bytes = message("35=0|34=2|");
        let len = bytes.len();
        bytes.extend_from_slice(b"8=FIX");
        let Ok(Framed::Message(found)) = frame(&bytes, MESSAGE_BYTES_MAX) else { panic!("none") };
        assert_eq!((found.consumed(), found.begin_string()), (len, &b"FIX.4.4"[..]));
        assert_eq!(&found.bytes()[found.body_range()], b"35=0\x0134=2\x01");
        assert_eq!(found.fields().count(), 2);
    }

    #[test]
    fn needs_more_at_every_cut() {
        let bytes = message("35=0|34=2|");
        for cut in 0..bytes.len() {
            assert_eq!(frame(&bytes[..cut], MESSAGE_BYTES_MAX), Ok(Framed::NeedMore), "{cut}");
        }
    }

    #[test]
    fn ignores_a_message_with_a_wrong_sum() {
        for (place, byte) in [(3, b'0'), (3, b'x'), (2, b' '), (6, b'8')] {
            let mut bytes = message("35=0|34=2|");
            let len = bytes.len();
            let at = len - place;
            bytes[at] = if bytes[at] == byte { b'9' } else { byte };
            bytes.extend(message("35=0|34=3|"));
            // Without its `10=` it ends at the next one, and takes the next message with it.
            let expected = if place == 6 { bytes.len() } else { len };
            assert_eq!(skip(&bytes), expected, "{place}");
        }
    }

    #[test]
    fn a_short_length_ends_at_the_own_trailer_and_a_long_one_takes_the_next_message() {
        let body = "35=0\x0134=2\x0149=TW\x01";
        let next = message("35=0|34=3|");
        for length in 0..body.len() {
            let mut bytes = with_length(length, body);
            let len = bytes.len();
            bytes.extend_from_slice(&next);
            assert_eq!(skip(&bytes), len, "{length}");
        }
        for length in body.len() + 1..body.len() + 20 {
            let mut bytes = with_length(length, body);
            bytes.extend_from_slice(&next);
            assert_eq!(skip(&bytes), bytes.len(), "{length}");
        }
    }

    #[test]
    fn resynchronises_at_the_next_begin_string() {
        let whole = message("35=0|34=2|");
        for garbage in
            ["x", "35=0\x01", "8=\x01", "9=5\x01", "8=FIX.4.4\x0135=0\x01", "48=FI", "8=F8=FI"]
        {
            let mut bytes = garbage.as_bytes().to_vec();
            bytes.extend_from_slice(&whole);
            let mut at = 0;
            while let Ok(Framed::Garbled { skip }) = frame(&bytes[at..], MESSAGE_BYTES_MAX) {
                at += skip;
            }
            assert_eq!(&bytes[at..], &whole[..], "{garbage}");
        }
    }

    #[test]
    fn keeps_what_may_become_a_begin_string() {
        assert_eq!(skip(b"xx8=FI"), 2);
        assert_eq!(skip(b"xxx"), 3);
        assert_eq!(frame(b"8", MESSAGE_BYTES_MAX), Ok(Framed::NeedMore));
    }

    #[test]
    fn the_third_field_must_be_the_type() {
        let bytes = message("34=2|35=0|");
        assert_eq!(skip(&bytes), bytes.len());
    }

    #[test]
    fn a_length_beyond_the_limit_is_an_error_at_once() {
        let limit = Err(FixError::Limit(Limit::MessageBytes));
        assert_eq!(frame(b"8=FIX.4.4\x019=8192\x01", MESSAGE_BYTES_MAX), limit);
        assert_eq!(frame(b"8=FIX.4.4\x019=9999999\x01", MESSAGE_BYTES_MAX), limit);
        let bytes = message("35=0|34=2|");
        assert!(matches!(frame(&bytes, bytes.len()), Ok(Framed::Message(_))));
        assert_eq!(frame(&bytes, bytes.len() - 1), limit);
        // A number of digits that no message has is garbage, not a length.
        assert!(skip(b"8=FIX.4.4\x019=99999999999999999999\x01") > 0);
        assert!(matches!(frame(&bytes, usize::MAX), Ok(Framed::Message(_))));
        assert_eq!(frame(b"8=FIX.4.4\x019=999\x01", usize::MAX), Ok(Framed::NeedMore));
    }
}
