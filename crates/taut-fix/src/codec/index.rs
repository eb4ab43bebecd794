//! The index of a message: where each field stands, found in one pass.

use alloc::boxed::Box;
use alloc::vec;
use core::ops::Range;

use taut_simd::{LaneOperation, Lanes, Level};

use crate::codec::data_tags::DataTags;
use crate::codec::fields::{Field, find_delimiter};
use crate::codec::frame::Frame;
use crate::codec::number::parse_u64;
use crate::codec::tag::may_be_length;
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
    level: Level,
}

impl FieldIndex {
    /// An index for messages of up to this many fields (12 bytes each), filled with the best
    /// instructions of this processor.
    #[must_use]
    pub fn with_capacity(field_count_max: usize) -> Self {
        Self::with_level(field_count_max, Level::best())
    }

    /// As [`FieldIndex::with_capacity`], filled with the instructions of this level.
    #[must_use]
    pub fn with_level(field_count_max: usize, level: Level) -> Self {
        Self { slots: vec![Slot::default(); field_count_max].into_boxed_slice(), len: 0, level }
    }

    /// The instructions that fill it.
    #[must_use]
    pub const fn level(&self) -> Level {
        self.level
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
    /// of the standard (RawData and its like) is taken by the length right before it, delimiters
    /// included; for those of a dialect, see [`FieldIndex::fill_with`].
    ///
    /// Cost: one pass over the delimiters, a few operations for each tag; a message with a data
    /// field, and one that is broken, is walked a second time, field by field.
    ///
    /// # Errors
    /// [`FixError::Malformed`] for broken tag syntax, [`Limit::FieldCount`] for too many fields.
    #[inline]
    pub fn fill(&mut self, frame: &Frame<'_>) -> Result<(), FixError> {
        self.fill_with(frame, DataTags::STANDARD)
    }

    /// As [`FieldIndex::fill`], with the data fields that a dialect adds. Where one's length has a
    /// tag below 1000, every message is walked field by field.
    ///
    /// # Errors
    /// As [`FieldIndex::fill`].
    #[inline]
    pub fn fill_with(&mut self, frame: &Frame<'_>, data_tags: &DataTags) -> Result<(), FixError> {
        let (message, body) = (frame.bytes(), frame.body_range());
        self.len = 0;
        let usual = Scan { message, body: body.clone(), slots: &mut self.slots, data_tags };
        let scanned = if data_tags.has_long_extras_only() { self.level.run(usual) } else { None };
        self.len = match scanned {
            Some(len) => len,
            None => walk(message, body, &mut self.slots, data_tags)?,
        };
        Ok(())
    }
}

/// Indexes a message without data fields and with nothing wrong in it: `None` for any other.
struct Scan<'a> {
    message: &'a [u8],
    body: Range<usize>,
    slots: &'a mut [Slot],
    data_tags: &'a DataTags,
}

impl LaneOperation for Scan<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Option<usize> {
        let Self { message, body, slots, data_tags } = self;
        let room = slots.len();
        let mut free = slots.iter_mut();
        let (mut start, mut at) = (body.start, body.start);
        while at < body.end {
            let mut delimiters = delimiters(lanes, message, at, body.end);
            while delimiters != 0 {
                let end = at + delimiters.trailing_zeros() as usize;
                delimiters &= delimiters - 1;
                let (tag, len) = read_tag(message, start, data_tags)?;
                // A frame's length was checked against a limit far below 4 GiB.
                *free.next()? =
                    Slot { tag: tag as i32, start: (start + len) as u32, end: end as u32 };
                start = end + 1;
            }
            at += BLOCK;
        }
        (start == body.end).then_some(room - free.len())
    }
}

/// The delimiters of up to 64 bytes from `at`, none at or behind `end`.
#[inline(always)]
fn delimiters<L: Lanes>(lanes: L, message: &[u8], at: usize, end: usize) -> u64 {
    // A block starts before the end, so that at least one bit is kept.
    let keep = u64::MAX >> (at + BLOCK).saturating_sub(end);
    if let Some(block) = message.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        return lanes.equal_mask(block, SOH) & keep;
    }
    // The last block of a long message: the last 64 bytes, without those that were seen before.
    if let Some(block) = message.last_chunk::<BLOCK>() {
        let seen = (at + BLOCK - message.len()) as u32;
        return lanes.equal_mask(block, SOH).unbounded_shr(seen) & keep;
    }
    let mut block = [0; BLOCK];
    let rest = message.get(at..end).unwrap_or(&[]);
    for (room, byte) in block.iter_mut().zip(rest) {
        *room = *byte;
    }
    lanes.equal_mask(&block, SOH)
}

/// Indexes any message, field by field.
#[cold]
fn walk(
    message: &[u8],
    body: Range<usize>,
    slots: &mut [Slot],
    data_tags: &DataTags,
) -> Result<usize, FixError> {
    let (mut start, mut data_end, mut len) = (body.start, 0, 0);
    while start < body.end {
        let from = start.max(data_end);
        let rest = message.get(from..body.end).unwrap_or(&[]);
        let Some(end) = find_delimiter(rest).map(|found| from + found) else {
            return Err(FixError::Malformed { offset: start });
        };
        let (tag, value_start) = read_any_tag(message, start, end)?;
        let slot = slots.get_mut(len).ok_or(FixError::Limit(Limit::FieldCount))?;
        *slot = Slot { tag, start: value_start as u32, end: end as u32 };
        len += 1;
        start = end + 1;
        let data_tag = u32::try_from(tag).ok().and_then(|tag| data_tags.data_tag(tag));
        data_end = data_tag
            .and_then(|tag| announced_end(message, tag, value_start..end, body.end))
            .unwrap_or(0);
    }
    Ok(len)
}

/// Where the data field that was announced ends, when it is the next one and its length is right.
fn announced_end(
    message: &[u8],
    data_tag: u32,
    length: Range<usize>,
    body_end: usize,
) -> Option<usize> {
    let next = length.end + 1;
    let length = usize::try_from(parse_u64(message.get(length)?)?).ok()?;
    let equals = message.get(next..)?.iter().position(|byte| *byte == b'=')?;
    let is_next = parse_u64(message.get(next..next + equals)?) == Some(u64::from(data_tag));
    let data_end = (next + equals + 1).saturating_add(length);
    // A length that does not end at a delimiter is not believed.
    let ends_well = data_end < body_end && message.get(data_end) == Some(&SOH);
    (is_next && ends_well).then_some(data_end)
}

/// The tag at `start` and how many bytes it has with its equals sign. `None` for a tag that is more
/// than seven digits or none at all, and for one that gives the length of a data field.
///
/// That the delimiter comes behind the sign need not be asked: it is no digit.
#[inline(always)]
fn read_tag(message: &[u8], start: usize, data_tags: &DataTags) -> Option<(u32, usize)> {
    let chunk = message.get(start..)?.first_chunk::<4>()?;
    let word = u32::from_le_bytes(*chunk);
    let is_sign = |at: u32| word >> (8 * at) & 0xff == u32::from(b'=');
    // What is no digit, or a zero in front, sets the high bit of its byte.
    if is_sign(2) {
        let digits = word.wrapping_sub(0x3031);
        let tag = (digits & 0xff) * 10 + (digits >> 8 & 0xff) + 10;
        let is_right = (digits.wrapping_add(0x7677) | digits) & 0x8080 == 0;
        return (is_right && !may_be_length(tag)).then_some((tag, 3));
    }
    if is_sign(3) {
        let digits = word.wrapping_sub(0x0030_3031);
        let tag = (digits & 0xff) * 100 + (digits >> 8 & 0xff) * 10 + (digits >> 16 & 0xff) + 100;
        let is_right = (digits.wrapping_add(0x0076_7677) | digits) & 0x0080_8080 == 0;
        return (is_right && !may_be_length(tag)).then_some((tag, 4));
    }
    if is_sign(1) {
        let digit = (word & 0xff).wrapping_sub(u32::from(b'0'));
        return (digit <= 9).then_some((digit, 2));
    }
    read_long_tag(message, start, data_tags)
}

/// As [`read_tag`], for tags of four to seven digits.
#[inline(never)]
fn read_long_tag(message: &[u8], start: usize, data_tags: &DataTags) -> Option<(u32, usize)> {
    let name = message.get(start..)?;
    let len = name.iter().take(8).position(|byte| *byte == b'=')?;
    let is_usual = len >= 4 && name.first() != Some(&b'0');
    let tag = name.get(..len).filter(|_| is_usual).and_then(parse_u64)?;
    let tag = u32::try_from(tag).ok().filter(|tag| !data_tags.is_length(*tag))?;
    Some((tag, len + 1))
}

/// The tag of the field at `start` whose delimiter stands at `end`, and where its value starts:
/// of every length, negative ones too.
fn read_any_tag(message: &[u8], start: usize, end: usize) -> Result<(i32, usize), FixError> {
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
    use super::{FieldIndex, Level, Slot, walk};
    use crate::codec::data_tags::DataTags;
    use crate::codec::fields::Fields;
    use crate::codec::frame::{Framed, frame};
    use crate::error::{FixError, Limit};
    use proptest::prelude::*;
    use std::string::String;
    use std::vec;
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
        check_levels(&bytes);
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        Ok(index.slots().iter().map(|slot| (slot.tag, text(slot.value(&bytes)))).collect())
    }

    /// No dialect, one whose length has a long tag, and one whose length has a short one.
    fn dialects() -> [DataTags; 3] {
        let standard = DataTags::STANDARD.clone();
        [standard, DataTags::with_extra([(5001, 5010)]), DataTags::with_extra([(54, 11)])]
    }

    /// Every level finds what a walk field by field does, or the same error.
    fn check_levels(bytes: &[u8]) {
        let Ok(Framed::Message(frame)) = frame(bytes, 1 << 20) else { return };
        for data_tags in &dialects() {
            for capacity in [5, 300] {
                let mut slots = vec![Slot::default(); capacity];
                let walked = walk(bytes, frame.body_range(), &mut slots, data_tags);
                for level in Level::all() {
                    let mut index = FieldIndex::with_level(capacity, level);
                    let filled = index.fill_with(&frame, data_tags);
                    assert_eq!(filled.map(|()| index.slots().len()), walked, "{level:?}");
                    assert_eq!(index.slots(), &slots[..index.slots().len()], "{level:?}");
                }
            }
        }
    }

    #[test]
    fn fields_that_end_and_start_at_every_place_of_a_block_are_found() {
        for first in 0..140 {
            for second in [1, 2, 61, 62, 63, 64, 65, 127, 128] {
                let (first, second) = ("=".repeat(first), "y".repeat(second));
                check_levels(&message(
                    std::format!("35=D\x0158={first}\x011234={second}\x0155=Z\x01").as_bytes(),
                ));
                check_levels(&message(
                    std::format!("35=D\x0158{first}\x01{second}\x0155=Z\x01").as_bytes(),
                ));
            }
        }
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
    fn a_dialects_data_fields_may_hold_delimiters_at_every_level() {
        // The tag of the second length decides whether every message is walked field by field.
        for second in [7001, 701] {
            let dialect = DataTags::with_extra([(5001, 5010), (second, second - 1)]);
            let pair = std::format!("{second}=3|{}=|x|", second - 1);
            let body = std::format!("35=D|5001=12|5010=a|10=000|54=|{pair}|58=end|");
            let bytes = message(body.replace('|', "\x01").as_bytes());
            let Ok(Framed::Message(frame)) = frame(&bytes, 1 << 20) else { panic!("{body}") };
            let expected: [(i32, &[u8]); 6] = [
                (35, b"D"),
                (5001, b"12"),
                (5010, b"a\x0110=000\x0154="),
                (second as i32, b"3"),
                (second as i32 - 1, b"\x01x\x01"),
                (58, b"end"),
            ];
            for level in Level::all() {
                let mut index = FieldIndex::with_level(16, level);
                assert_eq!(index.fill_with(&frame, &dialect), Ok(()), "{level:?}");
                let found: Vec<_> =
                    index.slots().iter().map(|slot| (slot.tag, slot.value(&bytes))).collect();
                assert_eq!(found, expected, "{level:?}");
            }
            let fields =
                Fields::with(&bytes[..bytes.len() - 7], frame.body_range().start, &dialect);
            let walked: Vec<_> =
                fields.map(|field| field.map(|it| (it.tag as i32, it.value))).collect();
            assert_eq!(walked, expected.map(Ok));
            let looked_at = Fields::tolerant(&bytes, &dialect).nth(4);
            assert_eq!(looked_at, Some((5010, expected[2].1)));
            // Without the dialect its pieces are what they look like.
            assert!(FieldIndex::with_capacity(16).fill(&frame).is_err());
        }
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
            check_levels(&bytes);
        }

        #[test]
        fn any_bytes_are_the_same_at_every_level(body in proptest::collection::vec(
            prop_oneof![Just(1u8), Just(b'='), 48u8..58, any::<u8>()], 0..200,
        )) {
            let mut whole = b"35=D\x01".to_vec();
            whole.extend_from_slice(&body);
            whole.push(1);
            check_levels(&message(&whole));
        }

        #[test]
        fn pieces_of_fields_are_the_same_at_every_level(pieces in proptest::collection::vec(
            prop_oneof![
                Just("\x01"), Just("="), Just("95="), Just("4\x01"), Just("96="), Just("0"),
                Just("5000001="), Just("=\x01"), Just("-1="), Just("11=x\x01"), Just("54=1\x01"),
                Just("5001=4\x01"), Just("5001=9\x015010="), Just("5010="), Just("54=9\x0111="),
                Just("1=ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHI\x01"),
            ],
            0..40,
        )) {
            check_levels(&message(std::format!("35=D\x01{}\x01", pieces.concat()).as_bytes()));
        }
    }
}
