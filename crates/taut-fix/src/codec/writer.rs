//! Builds one message in a caller's buffer.

use core::ops::Range;

use taut_simd::Level;
use taut_types::{DECIMAL_BYTES_MAX, Nanos, Price, Qty, format_decimal};

use crate::codec::begin::BeginString;
use crate::codec::number::{
    EIGHT_DIGITS, FOUR_DIGITS, digit_count, fill, four_digits, short_text, sum_text,
};
use crate::codec::tag;
use crate::codec::text::InlineText;
use crate::codec::timestamp::StampCache;
use crate::codec::window::{Tag, WINDOW, put, put_ends, put_fraction, put_number, window};
use crate::error::{FixError, Limit, Misuse};

/// The version that [`Writer::begin`] writes.
pub const BEGIN_STRING: &[u8] = BeginString::Fix44.as_bytes();

const SOH: u8 = 1;
/// Room for eight digits of BodyLength and a delimiter: the body starts behind it and the prefix,
/// and the message as far before the body as its length needs.
const LENGTH_BYTES: usize = 9;
/// The longest padded text that is stored in a window behind its tag.
const SHORT_BYTES_MAX: usize = WINDOW - 6;
/// A sign, ten digits, a point, nine digits and a delimiter, in whole words.
const PRICE_BYTES_MAX: usize = 24;
/// Of every prefix but that of FIXT.1.1.
const PREFIX_BYTES: usize = 12;

/// A message under construction.
///
/// The body is written first, at a fixed place; [`Writer::finish`] then puts BeginString and
/// BodyLength right before it and CheckSum behind. What does not fit is remembered, not a panic:
/// `finish` says so. Cost: one bounds check and two or three stores for each field, as long as
/// there is room for some more.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut [u8],
    begin: BeginString,
    /// Where the next byte goes. Narrower than an address, so that the end of a window behind it
    /// cannot wrap round and finding one is a single comparison.
    at: u32,
    fault: Option<FixError>,
    stamps: &'a mut StampCache,
    level: Level,
}

/// The price that was written last by [`Writer::price_again`], and where its text lies in the
/// message.
#[derive(Clone, Copy, Debug)]
pub struct PriceText {
    value: Price,
    at: u32,
    bytes: u32,
}

impl PriceText {
    /// Of a message without a price so far.
    #[must_use]
    pub const fn new() -> Self {
        // No text is that far behind.
        Self { value: Price(0), at: u32::MAX, bytes: 0 }
    }
}

impl Default for PriceText {
    fn default() -> Self {
        Self::new()
    }
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
        Self::begin_at(out, stamps, begin, msg_type, Level::best())
    }

    /// As [`Writer::begin_version`], summed with the instructions of this level.
    #[inline(always)]
    pub fn begin_at(
        out: &'a mut [u8],
        stamps: &'a mut StampCache,
        begin: BeginString,
        msg_type: &[u8],
        level: Level,
    ) -> Self {
        // No message is longer than BodyLength's eight digits can say.
        let (out, _) = out.split_at_mut(out.len().min(u32::MAX as usize));
        let at = (begin.prefix().len() + LENGTH_BYTES) as u32;
        let mut writer = Self { out, begin, at, fault: None, stamps, level };
        match msg_type {
            [one] => writer.byte::<{ tag::MSG_TYPE }>(*one),
            _ => writer.bytes::<{ tag::MSG_TYPE }>(msg_type),
        }
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

    /// A data field behind its length: the value may hold delimiters.
    pub fn data<const LENGTH_TAG: u32, const TAG: u32>(&mut self, value: &[u8]) {
        self.data_field(LENGTH_TAG, TAG, value);
    }

    /// As [`Writer::data`], with tags that are known when it runs.
    pub fn data_field(&mut self, length_tag: u32, tag: u32, value: &[u8]) {
        self.push_digits(u64::from(length_tag));
        self.push(b"=");
        self.push_digits(value.len() as u64);
        self.push(&[SOH]);
        self.push_digits(u64::from(tag));
        self.push(b"=");
        self.push(value);
        self.push(&[SOH]);
    }

    /// A value of bytes that are known to hold no delimiter.
    #[inline(never)]
    pub(crate) fn bytes<const TAG: u32>(&mut self, value: &[u8]) {
        self.tag::<TAG>();
        self.push(value);
        self.push(&[SOH]);
    }

    /// A free text; one that holds a delimiter fails the message, an empty one writes no field.
    #[inline(always)]
    pub fn text<const TAG: u32>(&mut self, value: &[u8]) {
        if value.is_empty() || self.short_value::<TAG>(value) {
            return;
        }
        self.long_text::<TAG>(value);
    }

    #[inline(never)]
    fn long_text<const TAG: u32>(&mut self, value: &[u8]) {
        if value.contains(&SOH) {
            self.fault = Some(FixError::Misuse(Misuse::DelimiterInText));
            return;
        }
        self.bytes::<TAG>(value);
    }

    /// An in-line text.
    #[inline(always)]
    pub fn short<const TAG: u32, const N: usize>(&mut self, value: &InlineText<N>) {
        if N <= SHORT_BYTES_MAX
            && let Some(room) = self.window()
        {
            put(room, 0, &Tag::<TAG>::WORD);
            put(room, Tag::<TAG>::LEN, value.padded());
            let end = Tag::<TAG>::LEN + value.len();
            put(room, end, &[SOH]);
            self.advance(end + 1);
            return;
        }
        self.bytes::<TAG>(value.as_bytes());
    }

    /// A character.
    #[inline(always)]
    pub fn byte<const TAG: u32>(&mut self, value: u8) {
        if let Some(room) = self.window() {
            let behind = u64::from(value) | u64::from(SOH) << 8;
            let word = u64::from_le_bytes(Tag::<TAG>::WORD) | behind << (8 * Tag::<TAG>::LEN);
            put(room, 0, &word.to_le_bytes());
            self.advance(Tag::<TAG>::LEN + 2);
            return;
        }
        self.byte_near_end::<TAG>(value);
    }

    #[cold]
    #[inline(never)]
    fn byte_near_end<const TAG: u32>(&mut self, value: u8) {
        self.tag::<TAG>();
        self.push(&[value, SOH]);
    }

    /// A Boolean.
    #[inline]
    pub fn flag<const TAG: u32>(&mut self, value: bool) {
        self.byte::<TAG>(if value { b'Y' } else { b'N' });
    }

    /// An integer.
    #[inline(always)]
    pub fn number<const TAG: u32>(&mut self, value: u64) {
        if let Some(room) = self.window()
            && value < EIGHT_DIGITS * EIGHT_DIGITS
        {
            put(room, 0, &Tag::<TAG>::WORD);
            let end = put_number(room, Tag::<TAG>::LEN, value);
            self.advance(end + 1);
            return;
        }
        self.long_number::<TAG>(value);
    }

    #[cold]
    #[inline(never)]
    fn long_number<const TAG: u32>(&mut self, value: u64) {
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
    #[inline(always)]
    pub fn price<const TAG: u32>(&mut self, value: Price) {
        if let Some(room) = self.window()
            && let Ok(units) = u64::try_from(value.0)
        {
            put(room, 0, &Tag::<TAG>::WORD);
            let scale = Price::SCALE.unsigned_abs();
            let end = put_number(room, Tag::<TAG>::LEN, units / scale);
            let end = put_fraction(room, end, (units % scale) as u32);
            self.advance(end + 1);
            return;
        }
        self.long_price::<TAG>(value);
    }

    /// As [`Writer::price`], of a price that may be the one before: its text is copied then. A
    /// report of a fill names its price three times.
    #[inline(always)]
    pub fn price_again<const TAG: u32>(&mut self, value: Price, before: &mut PriceText) {
        let at = self.at + Tag::<TAG>::LEN as u32;
        if value == before.value
            && let Some(text) = self.out.get(before.at as usize..)
            && let Some(text) = text.first_chunk::<PRICE_BYTES_MAX>().copied()
            && let Some(room) = self.window()
        {
            put(room, 0, &Tag::<TAG>::WORD);
            put(room, Tag::<TAG>::LEN, &text);
            self.at = at + before.bytes;
            return;
        }
        self.price::<TAG>(value);
        // Where there was no room the message has failed.
        *before = PriceText { value, at, bytes: self.at.saturating_sub(at) };
    }

    #[cold]
    #[inline(never)]
    fn long_price<const TAG: u32>(&mut self, value: Price) {
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

    /// A quantity, as the shortest exact decimal.
    #[inline(always)]
    pub fn qty<const TAG: u32>(&mut self, value: Qty) {
        if value.decimals == 0 {
            self.signed::<TAG>(value.mantissa);
        } else {
            self.fraction::<TAG>(value);
        }
    }

    /// A quantity with decimals: written as a price is, where 1e-9 holds it.
    #[inline(never)]
    fn fraction<const TAG: u32>(&mut self, value: Qty) {
        match value.with_decimals(Price::DECIMALS) {
            Some(units) => self.price::<TAG>(Price(units.mantissa)),
            None => {
                let mut text = [0; DECIMAL_BYTES_MAX];
                let len = format_decimal(value.mantissa, value.decimals, &mut text);
                self.bytes::<TAG>(text.get(..len).unwrap_or(&[]));
            }
        }
    }

    /// A UTC timestamp, at the precision of the cache that was given to [`Writer::begin`].
    #[inline(always)]
    pub fn timestamp<const TAG: u32>(&mut self, utc: Nanos) {
        let room = window(self.out, self.at);
        if let (Some(room), Some((second, millis))) = (room, self.stamps.millis(utc)) {
            put(room, 0, &Tag::<TAG>::WORD);
            put(room, Tag::<TAG>::LEN, second);
            put(room, Tag::<TAG>::LEN + second.len(), &millis);
            self.at += (Tag::<TAG>::LEN + second.len() + millis.len()) as u32;
            return;
        }
        self.long_timestamp::<TAG>(utc);
    }

    #[cold]
    #[inline(never)]
    fn long_timestamp<const TAG: u32>(&mut self, utc: Nanos) {
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

    /// Part of a value, between [`Writer::open`] and [`Writer::close`], or fields as they stood.
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

    /// Whole fields out of a text that is padded behind `len`, with four bytes of it replaced.
    /// `false`, and nothing is written, near the end of the room.
    #[inline(always)]
    pub(crate) fn copy<const N: usize>(
        &mut self,
        text: &[u8; N],
        len: usize,
        patch_at: usize,
        patch: [u8; 4],
    ) -> bool {
        let at = self.at as usize;
        let Some(room) = self.out.get_mut(at..at + N).and_then(<[u8]>::first_chunk_mut::<N>) else {
            return false;
        };
        *room = *text;
        if let Some(place) = room.get_mut(patch_at..).and_then(<[u8]>::first_chunk_mut) {
            *place = patch;
        }
        self.advance(len);
        true
    }

    /// Completes the message and says where in the buffer it stands.
    ///
    /// # Errors
    /// [`Limit::BufferBytes`] when it did not fit; [`Misuse::DelimiterInText`] when a text held a
    /// delimiter.
    #[inline]
    pub fn finish(mut self) -> Result<Range<usize>, FixError> {
        if self.fault.is_none()
            && let Some((start, sum)) = self.write_usual_start()
        {
            let body_end = self.at as usize;
            let room = self.out.get_mut(body_end..).and_then(<[u8]>::first_chunk_mut::<7>);
            if let Some([one, zero, equals, digits @ ..]) = room {
                [*one, *zero, *equals] = *b"10=";
                *digits = sum_text(sum);
                return Ok(start..body_end + 7);
            }
        }
        self.finish_slowly()
    }

    /// BeginString and BodyLength, right before the body: for one of less than 10,000 bytes, behind
    /// every prefix but that of FIXT.1.1. Returns where the message starts and its sum so far: what
    /// is written here is not read again, which would wait for all that was stored before.
    #[inline]
    fn write_usual_start(&mut self) -> Option<(usize, u8)> {
        const BODY_AT: usize = PREFIX_BYTES + LENGTH_BYTES;
        let prefix = self.begin.usual_prefix()?;
        let body_bytes = self.at.wrapping_sub(BODY_AT as u32);
        if u64::from(body_bytes) >= FOUR_DIGITS {
            return None;
        }
        let body = self.out.get(BODY_AT..self.at as usize)?;
        let (digits, len) = four_digits(body_bytes);
        // The zeros before the digits were counted, and are written over.
        let [a, b, c, d] = digits;
        let zeros = (b'0' * 4).wrapping_sub(b'0' * len as u8);
        let length = a.wrapping_add(b).wrapping_add(c).wrapping_add(d).wrapping_sub(zeros);
        let start_sum = self.begin.prefix_sum().wrapping_add(length).wrapping_add(SOH);
        let sum = self.level.sum(body).wrapping_add(start_sum);
        let room = self.out.first_chunk_mut::<BODY_AT>()?;
        // The digits end before the body's delimiter, and the prefix where they start.
        if let Some(last) = room.last_chunk_mut::<5>() {
            *last = [digits[0], digits[1], digits[2], digits[3], SOH];
        }
        let start = BODY_AT - 1 - PREFIX_BYTES - len;
        *room.get_mut(start..)?.first_chunk_mut()? = *prefix;
        Some((start, sum))
    }

    #[cold]
    fn finish_slowly(mut self) -> Result<Range<usize>, FixError> {
        let prefix = self.begin.prefix();
        let body_end = self.at as usize;
        let body_bytes = body_end.saturating_sub(prefix.len() + LENGTH_BYTES) as u64;
        // More than eight digits of length find no room before the body.
        let is_small = body_bytes < EIGHT_DIGITS;
        let (digits, len) = short_text(if is_small { body_bytes as u32 } else { 0 });
        let (true, None) = (is_small, self.fault) else {
            return Err(self.fault.unwrap_or(FixError::Limit(Limit::BufferBytes)));
        };
        let start = LENGTH_BYTES - 1 - len;
        self.at = start as u32;
        self.push(prefix);
        self.push(digits.get(..len).unwrap_or(&[]));
        self.push(&[SOH]);
        self.at = body_end as u32;
        let sum = self.out.get(start..body_end).map_or(0, |bytes| self.level.sum(bytes));
        self.push(b"10=");
        self.push(&sum_text(sum));
        match self.fault {
            None => Ok(start..self.at as usize),
            Some(fault) => Err(fault),
        }
    }

    /// Room for a short field and some more, at the place of the next field.
    #[inline(always)]
    fn window(&mut self) -> Option<&mut [u8; WINDOW]> {
        window(self.out, self.at)
    }

    /// Counts bytes as written, which there was room for.
    #[inline(always)]
    const fn advance(&mut self, count: usize) {
        self.at += count as u32;
    }

    /// Writes a field whose value has at most sixteen bytes and no delimiter; `false`, and nothing
    /// is written, for others and near the end of the room.
    #[inline(always)]
    fn short_value<const TAG: u32>(&mut self, value: &[u8]) -> bool {
        let at = Tag::<TAG>::LEN;
        let Some(room) = window(self.out, self.at) else { return false };
        put(room, 0, &Tag::<TAG>::WORD);
        let is_clean = match value.len() {
            1..=3 => {
                for (place, byte) in value.iter().enumerate() {
                    put(room, at + place, &[*byte]);
                }
                !value.contains(&SOH)
            }
            4..=7 => put_ends::<4>(room, at, value),
            8..=16 => put_ends::<8>(room, at, value),
            _ => return false,
        };
        if is_clean {
            put(room, at + value.len(), &[SOH]);
            self.advance(at + value.len() + 1);
        }
        is_clean
    }

    #[inline]
    fn tag<const TAG: u32>(&mut self) {
        self.push_padded(&Tag::<TAG>::WORD, Tag::<TAG>::LEN);
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        let at = self.at as usize;
        match self.out.get_mut(at..at.saturating_add(bytes.len())) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.advance(bytes.len());
            }
            None => self.overflow(),
        }
    }

    /// Copies the whole array when there is room, because a copy of known size is a few moves;
    /// the bytes after `len` are overwritten by what follows.
    #[inline]
    fn push_padded<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        if let Some(room) =
            self.out.get_mut(self.at as usize..).and_then(<[u8]>::first_chunk_mut::<N>)
        {
            *room = *bytes;
            self.advance(len);
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
        let at = self.at as usize;
        match self.out.get_mut(at..at + digits) {
            Some(room) => {
                fill(room, value);
                self.advance(digits);
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

#[cfg(test)]
mod tests {
    use super::{PriceText, Writer};
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

    #[test]
    fn prices_of_one_message_are_written_as_they_print_whether_they_repeat_or_not() {
        let prices = [0, 1, -1, i64::MAX, i64::MIN, 585_330_000_000, 1_500_000_000, 7_000_000_000];
        let texts = |prices: &[Price]| -> String {
            prices.iter().map(|price| std::format!("44={price}\x01")).collect()
        };
        for one in prices.map(Price) {
            for other in prices.map(Price) {
                let all = [one, one, other, one, other, other];
                let written = field(|w| {
                    let mut before = PriceText::new();
                    all.iter().for_each(|price| w.price_again::<44>(*price, &mut before));
                });
                assert_eq!(written, texts(&all));
            }
        }
    }

    #[test]
    fn a_repeated_price_near_the_end_of_the_room_is_whole_or_the_message_fails() {
        let mut stamps = stamps();
        let write = |out: &mut [u8], stamps: &mut StampCache| {
            let mut writer = Writer::begin(out, stamps, b"8");
            let mut before = PriceText::new();
            writer.price_again::<6>(Price(585_330_000_000), &mut before);
            writer.price_again::<31>(Price(585_330_000_000), &mut before);
            writer.price_again::<44>(Price(585_330_000_000), &mut before);
            writer.finish()
        };
        let mut whole = vec![0; 200];
        let made = write(&mut whole, &mut stamps).unwrap();
        for size in 0..200 {
            let mut out = vec![0; size];
            match write(&mut out, &mut stamps) {
                Ok(range) => assert_eq!(out[range], whole[made.clone()], "{size}"),
                Err(error) => {
                    assert_eq!(error, FixError::Limit(Limit::BufferBytes));
                    assert!(size < made.end, "{size}");
                }
            }
        }
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
