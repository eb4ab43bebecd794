//! Builds one message in a caller's buffer.

use core::ops::Range;

use taut_types::{Nanos, Price};

use crate::codec::begin::BeginString;
use crate::codec::number::{digit_count, fill};
use crate::codec::tag;
use crate::codec::text::InlineText;
use crate::codec::timestamp::StampCache;
use crate::error::{FixError, Limit, Misuse};

/// The version that [`Writer::begin`] writes.
pub const BEGIN_STRING: &[u8] = BeginString::Fix44.as_bytes();

const SOH: u8 = 1;
/// Room for eight digits of BodyLength and a delimiter: the body starts behind it and the prefix,
/// and the message as far before the body as its length needs.
const LENGTH_BYTES: usize = 9;

/// A message under construction.
///
/// The body is written first, at a fixed place; [`Writer::finish`] then puts BeginString and
/// BodyLength right before it and CheckSum behind. What does not fit is remembered, not a panic:
/// `finish` says so. Cost: one bounds check and one copy for each field.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut [u8],
    begin: BeginString,
    at: usize,
    fault: Option<FixError>,
    stamps: &'a mut StampCache,
}

impl<'a> Writer<'a> {
    /// Starts a FIX 4.4 message of this type; the standard header's other fields come next.
    #[inline]
    pub fn begin(out: &'a mut [u8], stamps: &'a mut StampCache, msg_type: &[u8]) -> Self {
        Self::begin_version(out, stamps, BeginString::Fix44, msg_type)
    }

    /// Starts a message of this version and type.
    #[inline]
    pub fn begin_version(
        out: &'a mut [u8],
        stamps: &'a mut StampCache,
        begin: BeginString,
        msg_type: &[u8],
    ) -> Self {
        let at = begin.prefix().len() + LENGTH_BYTES;
        let mut writer = Self { out, begin, at, fault: None, stamps };
        writer.bytes::<{ tag::MSG_TYPE }>(msg_type);
        writer
    }

    /// A field whose tag is known when it runs; one that holds a delimiter fails the message.
    /// A negative tag, which no standard has, is written as it is.
    pub fn field(&mut self, tag: i32, value: &[u8]) {
        if value.contains(&SOH) {
            self.fault = Some(FixError::Misuse(Misuse::DelimiterInText));
            return;
        }
        self.push_integer(i64::from(tag));
        self.push(b"=");
        self.push(value);
        self.push(&[SOH]);
    }

    /// Whole fields that stood in a message before, delimiters included.
    pub(crate) fn raw(&mut self, fields: &[u8]) {
        self.push(fields);
    }

    /// A data field behind its length: the value may hold delimiters.
    pub fn data<const LENGTH_TAG: u32, const TAG: u32>(&mut self, value: &[u8]) {
        self.number::<LENGTH_TAG>(value.len() as u64);
        self.bytes::<TAG>(value);
    }

    /// A value of bytes that are known to hold no delimiter.
    #[inline]
    pub(crate) fn bytes<const TAG: u32>(&mut self, value: &[u8]) {
        self.tag::<TAG>();
        self.push(value);
        self.push(&[SOH]);
    }

    /// A free text; one that holds a delimiter fails the message, an empty one writes no field.
    #[inline]
    pub fn text<const TAG: u32>(&mut self, value: &[u8]) {
        if value.is_empty() {
            return;
        }
        if value.contains(&SOH) {
            self.fault = Some(FixError::Misuse(Misuse::DelimiterInText));
            return;
        }
        self.bytes::<TAG>(value);
    }

    /// An in-line text.
    #[inline]
    pub fn short<const TAG: u32, const N: usize>(&mut self, value: &InlineText<N>) {
        self.tag::<TAG>();
        self.push_padded(value.padded(), value.len());
        self.push(&[SOH]);
    }

    /// A character.
    #[inline]
    pub fn byte<const TAG: u32>(&mut self, value: u8) {
        self.tag::<TAG>();
        self.push(&[value, SOH]);
    }

    /// A Boolean.
    #[inline]
    pub fn flag<const TAG: u32>(&mut self, value: bool) {
        self.byte::<TAG>(if value { b'Y' } else { b'N' });
    }

    /// An integer.
    #[inline]
    pub fn number<const TAG: u32>(&mut self, value: u64) {
        self.tag::<TAG>();
        self.push_digits(value);
        self.push(&[SOH]);
    }

    /// An integer with a sign.
    #[inline]
    pub fn signed<const TAG: u32>(&mut self, value: i64) {
        self.tag::<TAG>();
        self.push_integer(value);
        self.push(&[SOH]);
    }

    /// A price, as the shortest exact decimal.
    #[inline]
    pub fn price<const TAG: u32>(&mut self, value: Price) {
        self.tag::<TAG>();
        if value.0 < 0 {
            self.push(b"-");
        }
        let units = value.0.unsigned_abs();
        let scale = Price::SCALE.unsigned_abs();
        self.push_digits(units / scale);
        self.push_fraction(units % scale);
        self.push(&[SOH]);
    }

    /// A UTC timestamp, at the precision of the cache that was given to [`Writer::begin`].
    #[inline]
    pub fn timestamp<const TAG: u32>(&mut self, utc: Nanos) {
        self.tag::<TAG>();
        let (second, below, digits) = self.stamps.stamp(utc);
        let second = *second;
        self.push(&second);
        if digits == 0 {
            // Whole seconds have no point.
            self.at = self.at.saturating_sub(1);
        } else {
            self.push_number(below, digits);
        }
        self.push(&[SOH]);
    }

    /// Part of a value, between [`Writer::open`] and [`Writer::close`].
    pub(crate) fn part(&mut self, value: &[u8]) {
        self.push(value);
    }

    /// A number as part of a value.
    pub(crate) fn part_number(&mut self, value: u64) {
        self.push_digits(value);
    }

    /// An integer with a sign as part of a value.
    pub(crate) fn part_integer(&mut self, value: i64) {
        self.push_integer(value);
    }

    /// Opens a value that is written in parts.
    pub(crate) fn open<const TAG: u32>(&mut self) {
        self.tag::<TAG>();
    }

    /// Closes a value that was written in parts.
    pub(crate) fn close(&mut self) {
        self.push(&[SOH]);
    }

    /// Completes the message and says where in the buffer it stands.
    ///
    /// # Errors
    /// [`Limit::BufferBytes`] when it did not fit; [`Misuse::DelimiterInText`] when a text held a
    /// delimiter.
    pub fn finish(mut self) -> Result<Range<usize>, FixError> {
        let prefix = self.begin.prefix();
        let body_at = prefix.len() + LENGTH_BYTES;
        let body_bytes = self.at.saturating_sub(body_at) as u64;
        let length_digits = digit_count(body_bytes);
        // More than eight digits of length find no room before the body.
        let start = LENGTH_BYTES.checked_sub(length_digits + 1);
        let body_end = self.at;
        if let (Some(start), None) = (start, self.fault) {
            self.at = start;
            self.push(prefix);
            self.push_number(body_bytes, length_digits);
            self.push(&[SOH]);
            self.at = body_end;
            let sum = self.out.get(start..body_end).map_or(0, taut_simd::sum);
            self.push(b"10=");
            self.push_number(u64::from(sum), 3);
            self.push(&[SOH]);
        }
        match (start, self.fault) {
            (Some(start), None) => Ok(start..self.at),
            (_, Some(fault)) => Err(fault),
            (None, None) => Err(FixError::Limit(Limit::BufferBytes)),
        }
    }

    #[inline]
    fn tag<const TAG: u32>(&mut self) {
        const { assert!(TAG > 0 && TAG <= 9999, "a tag of one to four digits") };
        let (text, len) = const { tag_text(TAG) };
        self.push_padded(&text, len);
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        let end = self.at + bytes.len();
        match self.out.get_mut(self.at..end) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.at = end;
            }
            None => self.overflow(),
        }
    }

    /// Copies the whole array when there is room, because a copy of known size is a few moves;
    /// the bytes after `len` are overwritten by what follows.
    #[inline]
    fn push_padded<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        if let Some(room) = self.out.get_mut(self.at..).and_then(<[u8]>::first_chunk_mut::<N>) {
            *room = *bytes;
            self.at += len;
        } else {
            self.push(bytes.get(..len).unwrap_or(&[]));
        }
    }

    #[inline]
    fn push_integer(&mut self, value: i64) {
        if value < 0 {
            self.push(b"-");
        }
        self.push_digits(value.unsigned_abs());
    }

    #[inline]
    fn push_digits(&mut self, value: u64) {
        self.push_number(value, digit_count(value));
    }

    /// A number in this many digits.
    #[inline]
    fn push_number(&mut self, value: u64, digits: usize) {
        let end = self.at + digits;
        match self.out.get_mut(self.at..end) {
            Some(room) => {
                fill(room, value);
                self.at = end;
            }
            None => self.overflow(),
        }
    }

    /// `.` and the nine digits of a fraction without its trailing zeros; nothing for zero.
    #[inline]
    fn push_fraction(&mut self, mut fraction: u64) {
        if fraction == 0 {
            return;
        }
        let mut digits = 9;
        // Big steps first: most prices have two to four digits behind the point.
        for (step, zeros) in [(10_000, 4), (10_000, 4), (100, 2), (10, 1)] {
            if fraction.is_multiple_of(step) {
                fraction /= step;
                digits -= zeros;
            }
        }
        self.push(b".");
        self.push_number(fraction, digits);
    }

    #[cold]
    fn overflow(&mut self) {
        self.fault = Some(FixError::Limit(Limit::BufferBytes));
    }
}

/// `TAG=` as text, padded to five bytes, and its length.
const fn tag_text(tag: u32) -> ([u8; 5], usize) {
    let digits = [tag / 1000 % 10, tag / 100 % 10, tag / 10 % 10, tag % 10];
    let skip = if tag >= 1000 {
        0
    } else if tag >= 100 {
        1
    } else if tag >= 10 {
        2
    } else {
        3
    };
    let mut text = [b'='; 5];
    let mut at = 0;
    // Evaluated when compiled: the indices are the loop's own.
    #[expect(clippy::indexing_slicing, reason = "evaluated when compiled")]
    while at + skip < 4 {
        text[at] = b'0' + digits[at + skip] as u8;
        at += 1;
    }
    (text, at + 1)
}

#[cfg(test)]
mod tests {
    use super::Writer;
    use crate::codec::tag;
    use crate::codec::text::ShortText;
    use crate::codec::timestamp::{Precision, StampCache};
    use crate::error::{FixError, Limit, Misuse};
    use proptest::prelude::*;
    use std::string::{String, ToString};
    use std::vec;
    use taut_types::Price;

    fn stamps() -> StampCache {
        StampCache::new(Precision::Millis)
    }

    fn field(write: impl FnOnce(&mut Writer<'_>)) -> String {
        let (mut out, mut stamps) = ([0; 256], stamps());
        let mut writer = Writer::begin(&mut out, &mut stamps, b"D");
        write(&mut writer);
        let range = writer.finish().unwrap();
        let text = String::from_utf8(out[range].to_vec()).unwrap();
        let body = text.split_once("35=D\x01").unwrap().1;
        body.rsplit_once("10=").unwrap().0.to_string()
    }

    #[test]
    fn writes_tags_of_every_length() {
        assert_eq!(field(|w| w.number::<7>(1)), "7=1\x01");
        assert_eq!(field(|w| w.number::<34>(12)), "34=12\x01");
        assert_eq!(field(|w| w.number::<141>(123)), "141=123\x01");
        assert_eq!(field(|w| w.number::<9001>(0)), "9001=0\x01");
    }

    #[test]
    fn an_empty_heartbeat_has_the_length_and_checksum_of_the_hand_computed_one() {
        let (mut out, mut stamps) = ([0; 64], stamps());
        let mut writer = Writer::begin(&mut out, &mut stamps, b"0");
        writer.number::<{ tag::MSG_SEQ_NUM }>(2);
        let range = writer.finish().unwrap();
        // 35=0| and 34=2| are five bytes each; all bytes add up to 1,190 = 4 * 256 + 166.
        let text = String::from_utf8(out[range].to_vec()).unwrap().replace('\x01', "|");
        assert_eq!(text, "8=FIX.4.4|9=10|35=0|34=2|10=166|");
    }

    #[test]
    fn says_when_the_buffer_is_too_small_at_every_size() {
        let mut whole = vec![0; 200];
        let mut stamps = stamps();
        let write = |out: &mut [u8], stamps: &mut StampCache| {
            let mut writer = Writer::begin(out, stamps, b"D");
            writer.short::<11, 23>(&ShortText::from_u64(42));
            writer.price::<44>(Price(1_500_000_000));
            writer.finish()
        };
        let needed = write(&mut whole, &mut stamps).unwrap().end;
        for size in 0..needed {
            let made = write(&mut whole[..size], &mut stamps);
            assert_eq!(made, Err(FixError::Limit(Limit::BufferBytes)), "{size}");
        }
        assert!(write(&mut whole[..needed], &mut stamps).is_ok());
    }

    #[test]
    fn a_text_cannot_forge_a_field() {
        let (mut out, mut stamps) = ([0; 256], stamps());
        let mut writer = Writer::begin(&mut out, &mut stamps, b"5");
        writer.text::<58>(b"bye\x0134=9");
        assert_eq!(writer.finish(), Err(FixError::Misuse(Misuse::DelimiterInText)));
    }

    proptest! {
        #[test]
        fn a_price_is_written_as_it_prints(units in any::<i64>(), zeros in 0u32..10) {
            let price = Price(units / 10i64.pow(zeros) * 10i64.pow(zeros));
            let expected = std::format!("44={price}\x01");
            prop_assert_eq!(field(|w| w.price::<44>(price)), expected);
        }

        #[test]
        fn a_signed_number_is_written_as_it_prints(value in any::<i64>()) {
            let expected = std::format!("38={value}\x01");
            prop_assert_eq!(field(|w| w.signed::<38>(value)), expected);
        }
    }
}
