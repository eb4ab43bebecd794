//! The index of a message: where each field stands, found in one pass.

use alloc::boxed::Box;
use alloc::vec;

use crate::codec::fields::Field;
use crate::codec::frame::Frame;
use crate::codec::number::parse_u64;
use crate::codec::tag;
use crate::error::{FixError, Limit};

const SOH: u8 = 1;
const BLOCK: usize = taut_simd::BLOCK_BYTES;

/// One field of an index: 12 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// The number before the equals sign; negative ones are kept, to be refused by their name.
    pub tag: i32,
    /// Where the value starts in the message.
    pub start: u32,
    /// Where it ends: the place of its delimiter.
    pub end: u32,
}

impl Slot {
    /// The value, out of the bytes that were indexed. It may be empty.
    #[inline]
    #[must_use]
    pub fn value<'a>(&self, message: &'a [u8]) -> &'a [u8] {
        message.get(self.start as usize..self.end as usize).unwrap_or(&[])
    }

    /// The field with its typed values. Offsets count to the value.
    #[inline]
    #[must_use]
    pub fn field<'a>(&self, message: &'a [u8]) -> Field<'a> {
        Field {
            tag: u32::try_from(self.tag).unwrap_or(0),
            value: self.value(message),
            offset: self.start as usize,
        }
    }
}

/// The fields of one message, from MsgType (35) to before CheckSum (10).
///
/// Built once and filled for each message: nothing is copied, nothing allocated. Sessions of one
/// thread can share one.
#[derive(Clone, Debug)]
pub struct FieldIndex {
    slots: Box<[Slot]>,
    len: usize,
}

impl FieldIndex {
    /// An index for messages of up to this many fields (12 bytes each).
    #[must_use]
    pub fn with_capacity(field_count_max: usize) -> Self {
        Self { slots: vec![Slot::default(); field_count_max].into_boxed_slice(), len: 0 }
    }

    /// The fields in their order on the wire.
    #[inline]
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        self.slots.get(..self.len).unwrap_or(&[])
    }

    /// The first field with this tag.
    #[must_use]
    pub fn find(&self, tag: u32) -> Option<&Slot> {
        self.slots().iter().find(|slot| i64::from(slot.tag) == i64::from(tag))
    }

    /// Indexes a frame. Tag syntax is checked (digits, no leading zero); values may be empty and
    /// tags 0 or negative: which of that is allowed is for a dictionary to say. A data field
    /// (RawData and its like) is taken by the length right before it, delimiters included.
    ///
    /// Cost: one pass over the delimiters, a few operations for each tag.
    ///
    /// # Errors
    /// [`FixError::Malformed`] for broken tag syntax, [`Limit::FieldCount`] for too many fields.
    #[inline]
    pub fn fill(&mut self, frame: &Frame<'_>) -> Result<(), FixError> {
        let body = frame.body_range();
        self.len = 0;
        // A frame's length was checked against a limit far below 4 GiB.
        let message = frame.bytes();
        let mut start = body.start;
        let mut data_end = 0;
        let mut at = body.start;
        let slots: &mut [Slot] = &mut self.slots;
        let mut len = 0;
        while at < body.end {
            let mut delimiters = delimiters(message, at, body.end);
            while delimiters != 0 {
                let end = at + delimiters.trailing_zeros() as usize;
                delimiters &= delimiters - 1;
                if end < data_end {
                    continue;
                }
                let (tag, value_start) = read_tag(message, start, end)?;
                let slot = slots.get_mut(len).ok_or(FixError::Limit(Limit::FieldCount))?;
                *slot = Slot { tag, start: value_start as u32, end: end as u32 };
                len += 1;
                start = end + 1;
                if tag::may_be_length(tag) {
                    data_end = announced_end(message, tag, value_start..end, body.end);
                }
            }
            at += BLOCK;
        }
        self.len = len;
        if start == body.end { Ok(()) } else { Err(FixError::Malformed { offset: start }) }
    }
}

/// Where a data field must not end yet, when this field announces one that the next field keeps.
#[cold]
fn announced_end(
    message: &[u8],
    tag: i32,
    value: core::ops::Range<usize>,
    body_end: usize,
) -> usize {
    let end = value.end;
    let announced = u32::try_from(tag).ok().and_then(tag::data_tag);
    let length = message.get(value).and_then(parse_u64).and_then(|n| usize::try_from(n).ok());
    let (Some(data_tag), Some(length)) = (announced, length) else { return 0 };
    let next = end + 1;
    let Some(equals) = message.get(next..).and_then(|rest| rest.iter().position(|b| *b == b'='))
    else {
        return 0;
    };
    let is_next = message.get(next..next + equals).and_then(parse_u64) == Some(u64::from(data_tag));
    let data_end = (next + equals + 1).saturating_add(length);
    // A length that does not end at a delimiter is not believed.
    let ends_well = data_end < body_end && message.get(data_end) == Some(&SOH);
    if is_next && ends_well { data_end } else { 0 }
}

/// The delimiters of up to 64 bytes from `at`, none at or behind `end`.
#[inline]
fn delimiters(message: &[u8], at: usize, end: usize) -> u64 {
    if let Some(block) = message.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        let beyond = (at + BLOCK).saturating_sub(end);
        // A block starts before the end, so that at least one bit is kept.
        return taut_simd::equal_mask(block, SOH) & (u64::MAX >> beyond);
    }
    // The last block of a long message: the last 64 bytes, without those that were seen before.
    if let Some(block) = message.last_chunk::<BLOCK>() {
        let first = message.len() - BLOCK;
        let mask = taut_simd::equal_mask(block, SOH) >> (at - first);
        return mask & (u64::MAX >> (BLOCK - (end - at)));
    }
    let mut block = [0; BLOCK];
    let rest = message.get(at..end).unwrap_or(&[]);
    for (room, byte) in block.iter_mut().zip(rest) {
        *room = *byte;
    }
    taut_simd::equal_mask(&block, SOH)
}

/// The tag of the field at `start` whose delimiter stands at `end`, and where its value starts.
#[inline]
fn read_tag(message: &[u8], start: usize, end: usize) -> Result<(i32, usize), FixError> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    if let Some(chunk) = message.get(start..).and_then(<[u8]>::first_chunk::<8>) {
        // Tags of two, three and one digits, which nearly all are.
        let [b0, b1, b2, b3, ..] = *chunk;
        let digit = |byte: u8| byte.wrapping_sub(b'0');
        let (d0, d1, d2) = (digit(b0), digit(b1), digit(b2));
        let number = |digit: u8| i32::from(digit);
        let leads = d0.wrapping_sub(1) < 9;
        if b2 == b'=' && leads && d1 <= 9 && start + 2 < end {
            return Ok((number(d0) * 10 + number(d1), start + 3));
        }
        if b3 == b'=' && leads && d1 <= 9 && d2 <= 9 && start + 3 < end {
            return Ok((number(d0) * 100 + number(d1) * 10 + number(d2), start + 4));
        }
        if b1 == b'=' && d0 <= 9 && start + 1 < end {
            return Ok((number(d0), start + 2));
        }
        let word = u64::from_le_bytes(*chunk);
        let difference = word ^ (LOW * b'=' as u64);
        let equals = difference.wrapping_sub(LOW) & !difference & HIGH;
        let len = (equals.trailing_zeros() / 8) as usize;
        if (1..=7).contains(&len) && start + len < end {
            // The digits move to the high end, zeros below them.
            let shift = 64 - 8 * len as u32;
            let digits = (word << shift) ^ ((LOW * b'0' as u64) << shift);
            let wrong = (digits.wrapping_add(LOW * 0x76) | digits) & HIGH;
            let leading_zero = chunk.first() == Some(&b'0') && len > 1;
            if wrong == 0 && !leading_zero {
                let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
                return Ok((combine(pairs), start + len + 1));
            }
        }
    }
    read_tag_slowly(message, start, end)
}

/// Joins four pairs of digits, the most significant in the lowest byte.
#[inline]
const fn combine(pairs: u64) -> i32 {
    let low = pairs & 0x0000_00ff_0000_00ff;
    let high = (pairs >> 16) & 0x0000_00ff_0000_00ff;
    let joined = low
        .wrapping_mul(0x000f_4240_0000_0064)
        .wrapping_add(high.wrapping_mul(0x0000_2710_0000_0001));
    (joined >> 32) as i32
}

/// Tags near the end of the bytes, of eight digits or more, negative ones, and broken ones.
#[cold]
fn read_tag_slowly(message: &[u8], start: usize, end: usize) -> Result<(i32, usize), FixError> {
    let field = message.get(start..end).unwrap_or(&[]);
    let malformed = FixError::Malformed { offset: start };
    let equals = field.iter().position(|byte| *byte == b'=').ok_or(malformed)?;
    let name = field.get(..equals).unwrap_or(&[]);
    let (digits, sign) = match name.strip_prefix(b"-") {
        Some(digits) => (digits, -1),
        None => (name, 1),
    };
    let leading_zero = digits.len() > 1 && digits.first() == Some(&b'0');
    if digits.len() > 9 || leading_zero {
        return Err(malformed);
    }
    let number = parse_u64(digits).and_then(|n| i32::try_from(n).ok()).ok_or(malformed)?;
    Ok((sign * number, start + equals + 1))
}

#[cfg(test)]
mod tests {
    use super::FieldIndex;
    use crate::codec::fields::Fields;
    use crate::codec::frame::{Framed, frame};
    use crate::error::{FixError, Limit};
    use proptest::prelude::*;
    use std::string::String;
    use std::vec::Vec;

    fn message(body: &[u8]) -> Vec<u8> {
        let mut bytes = std::format!("8=FIX.4.4\x019={}\x01", body.len()).into_bytes();
        bytes.extend_from_slice(body);
        let sum = taut_simd::sum(&bytes);
        bytes.extend_from_slice(std::format!("10={sum:03}\x01").as_bytes());
        bytes
    }

    fn index(body: &str) -> Result<Vec<(i32, String)>, FixError> {
        let bytes = message(body.replace('|', "\x01").as_bytes());
        let Ok(Framed::Message(frame)) = frame(&bytes, 1 << 20) else { panic!("{body}") };
        let mut index = FieldIndex::with_capacity(16);
        index.fill(&frame)?;
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        Ok(index.slots().iter().map(|slot| (slot.tag, text(slot.value(&bytes)))).collect())
    }

    #[test]
    fn finds_tags_of_every_length() {
        for tag in [1, 12, 123, 1234, 12345, 123_456, 1_234_567, 12_345_678, 123_456_789, 0, -1] {
            let found = index(&std::format!("35=D|{tag}=x=y|")).unwrap();
            assert_eq!(found, [(35, "D".into()), (tag, "x=y".into())]);
        }
    }

    #[test]
    fn empty_values_are_kept_and_broken_tags_refused() {
        assert_eq!(index("35=D|55=|").unwrap(), [(35, "D".into()), (55, String::new())]);
        for broken in
            ["=x", "011=x", "4garbled9=TW", "1x=y", "|", "-=x", "1234567890=x", "11", "--1=x"]
        {
            let made = index(&std::format!("35=D|{broken}|54=1|"));
            assert!(matches!(made, Err(FixError::Malformed { .. })), "{broken} {made:?}");
        }
    }

    #[test]
    fn data_fields_may_hold_delimiters() {
        let found = index("35=D|95=5|96=a|b=c|58=x|").unwrap();
        let values: Vec<_> = found.iter().map(|(tag, value)| (*tag, value.as_str())).collect();
        assert_eq!(values, [(35, "D"), (95, "5"), (96, "a\x01b=c"), (58, "x")]);
        // Lengths that end at no delimiter, or that another field follows, are not believed.
        assert_eq!(index("35=D|95=9|96=a|58=x|").unwrap().len(), 4);
        assert_eq!(index("35=D|95=3|58=a|9=x|").unwrap().len(), 4);
        assert_eq!(index("35=D|95=99999999999999999999|96=a|").unwrap().len(), 3);
    }

    #[test]
    fn says_when_there_are_too_many_fields() {
        let body = std::format!("35=D|{}", "58=x|".repeat(16));
        assert_eq!(index(&body), Err(FixError::Limit(Limit::FieldCount)));
        assert_eq!(index(&body[..body.len() - 5]).unwrap().len(), 16);
    }

    proptest! {
        /// The walk of [`Fields`] is the slow twin.
        #[test]
        fn the_index_is_what_a_walk_finds(
            fields in proptest::collection::vec((1u32..2_000_000, "[ -~]{1,40}"), 0..15)
        ) {
            let mut body = String::from("35=D\x01");
            for (tag, value) in &fields {
                body += &std::format!("{tag}={value}\x01");
            }
            let bytes = message(body.as_bytes());
            let Ok(Framed::Message(frame)) = frame(&bytes, 1 << 20) else { panic!() };
            let mut index = FieldIndex::with_capacity(16);
            prop_assert_eq!(index.fill(&frame), Ok(()));
            let walk = Fields::new(&bytes[..bytes.len() - 7], frame.body_range().start);
            let walked: Result<Vec<_>, _> = walk
                .map(|field| field.map(|field| (field.tag as i32, field.value)))
                .collect();
            let found: Vec<_> =
                index.slots().iter().map(|slot| (slot.tag, slot.value(&bytes))).collect();
            prop_assert_eq!(Ok(found), walked);
        }

        #[test]
        fn never_panics(body in proptest::collection::vec(
            prop_oneof![Just(1u8), Just(b'='), 48u8..58, any::<u8>()], 0..200,
        )) {
            let mut whole = b"35=D\x01".to_vec();
            whole.extend_from_slice(&body);
            whole.push(1);
            let bytes = message(&whole);
            if let Ok(Framed::Message(frame)) = frame(&bytes, 1 << 20) {
                let _ = FieldIndex::with_capacity(300).fill(&frame);
            }
        }
    }
}
