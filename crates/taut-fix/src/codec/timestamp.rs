//! UTCTimestamp: `YYYYMMDD-HH:MM:SS[.sss[sss[sss]]]` (FIX 4.4 volume 1, "Data Types").

use taut_types::Nanos;

use crate::codec::number::fill;
use crate::codec::text::InlineText;

pub(crate) const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// `YYYYMMDD-HH:MM:SS.`, in bytes.
pub(crate) const SECOND_BYTES: usize = 18;
/// The longest timestamp: twelve digits behind the point.
pub const TIMESTAMP_BYTES_MAX: usize = SECOND_BYTES + 12;

/// How many sub-second digits a timestamp is written with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// None, as FIX 4.0 and 4.1 have it.
    Seconds,
    /// Three digits, the finest that FIX 4.4 itself defines.
    #[default]
    Millis,
    /// Six digits, as later versions allow and venues use.
    Micros,
    /// Nine digits.
    Nanos,
    /// Twelve digits, the last three zero: the finest that FIX 5.0 SP2 defines.
    Picos,
}

/// Writes timestamps and remembers the text of the second it wrote last, so that the next one in
/// the same second costs only its sub-second digits.
#[derive(Clone, Copy, Debug)]
pub struct StampCache {
    precision: Precision,
    /// The start of the second, modulo 2^64: the earliest second starts before the earliest time.
    second_start: i64,
    /// `YYYYMMDD-HH:MM:SS.`
    text: [u8; SECOND_BYTES],
}

impl StampCache {
    /// A cache that writes with this precision.
    #[must_use]
    pub fn new(precision: Precision) -> Self {
        let mut cache = Self { precision, second_start: 0, text: *b"19700101-00:00:00." };
        cache.write_second(0);
        cache
    }

    /// A UTC time, cut (not rounded) to the precision: its text up to the decimal point, then the
    /// digits behind it as a number and how many they are.
    ///
    /// Every `i64` of nanoseconds is a year of four digits (1677 to 2262).
    #[inline]
    pub(crate) fn stamp(&mut self, utc: Nanos) -> (&[u8; SECOND_BYTES], u64, usize) {
        let below = self.below_second(utc);
        match self.precision {
            Precision::Seconds => (&self.text, 0, 0),
            Precision::Millis => (&self.text, below / 1_000_000, 3),
            Precision::Micros => (&self.text, below / 1_000, 6),
            Precision::Nanos => (&self.text, below, 9),
            Precision::Picos => (&self.text, below * 1_000, 12),
        }
    }

    /// As [`StampCache::stamp`] for the precision that nearly all have: the text up to the point,
    /// and the digits behind it with a delimiter. `None` for another precision.
    #[inline(always)]
    pub(crate) fn millis(&mut self, utc: Nanos) -> Option<(&[u8; SECOND_BYTES], [u8; 4])> {
        if self.precision != Precision::Millis {
            return None;
        }
        let below = self.below_second(utc);
        Some((&self.text, millis_text(below)))
    }

    /// Nanoseconds since the start of the second, whose text is then there.
    #[inline(always)]
    fn below_second(&mut self, utc: Nanos) -> u64 {
        let below = utc.0.wrapping_sub(self.second_start).cast_unsigned();
        if below < NANOS_PER_SECOND.unsigned_abs() {
            return below;
        }
        self.write_second(utc.0.div_euclid(NANOS_PER_SECOND));
        utc.0.wrapping_sub(self.second_start).cast_unsigned()
    }

    /// A UTC time as text, as [`crate::Writer::timestamp`] writes it.
    #[must_use]
    pub fn text(&mut self, utc: Nanos) -> InlineText<TIMESTAMP_BYTES_MAX> {
        let mut bytes = [0; TIMESTAMP_BYTES_MAX];
        let (second, below, digits) = self.stamp(utc);
        if let Some(room) = bytes.first_chunk_mut::<SECOND_BYTES>() {
            *room = *second;
        }
        let len = SECOND_BYTES + digits - usize::from(digits == 0);
        if let Some(room) = bytes.get_mut(SECOND_BYTES..len) {
            fill(room, below);
        }
        let text = bytes.get(..len).and_then(InlineText::new);
        text.unwrap_or_else(InlineText::zero)
    }

    #[cold]
    fn write_second(&mut self, second: i64) {
        let (year, month, day) = civil(second.div_euclid(SECONDS_PER_DAY));
        let of_day = second.rem_euclid(SECONDS_PER_DAY);
        let parts = [
            (0, year / 100),
            (2, year),
            (4, month),
            (6, day),
            (9, of_day / 3600),
            (12, of_day / 60 % 60),
            (15, of_day % 60),
        ];
        for (at, value) in parts {
            if let Some(room) = self.text.get_mut(at..at + 2) {
                fill(room, u64::try_from(value).unwrap_or(0));
            }
        }
        self.second_start = second.wrapping_mul(NANOS_PER_SECOND);
    }
}

/// The three digits behind the point of so many nanoseconds below a second, and a delimiter.
#[inline(always)]
pub(crate) const fn millis_text(below: u64) -> [u8; 4] {
    let ms = (below / 1_000_000) as u32;
    let (hundreds, rest) = (ms / 100, ms % 100);
    let digits = hundreds | (rest / 10) << 8 | (rest % 10) << 16;
    (digits | 0x0130_3030).to_le_bytes()
}

/// Reads a timestamp with no or one to nine sub-second digits. A leap second (`:60`) is the first
/// of the next minute.
#[must_use]
pub fn parse_timestamp(text: &[u8]) -> Option<Nanos> {
    let (date, rest) = text.split_first_chunk::<8>()?;
    let (time, fraction) = rest.split_first_chunk::<9>()?;
    let [dash, h1, h2, colon, m1, m2, colon_too, s1, s2] = *time;
    if (dash, colon, colon_too) != (b'-', b':', b':') {
        return None;
    }
    let [y1, y2, y3, y4, o1, o2, d1, d2] = *date;
    let year = two(y1, y2)? * 100 + two(y3, y4)?;
    let (month, day) = (two(o1, o2)?, two(d1, d2)?);
    let (hour, minute, second) = (two(h1, h2)?, two(m1, m2)?, two(s1, s2)?);
    if hour > 23 || minute > 59 || second > 60 || day < 1 || day > days_in(year, month)? {
        return None;
    }
    let seconds =
        days_from_civil(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    let nanos = seconds.checked_mul(NANOS_PER_SECOND)?.checked_add(parse_fraction(fraction)?)?;
    Some(Nanos(nanos))
}

/// Whether [`parse_timestamp`] reads it, but for years beyond 2262: digits and ranges, without the
/// arithmetic.
#[inline]
pub(crate) fn is_timestamp(text: &[u8]) -> bool {
    <&[u8; 21]>::try_from(text).is_ok_and(is_usual_timestamp) || is_any_timestamp(text)
}

const EACH: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = EACH * 0x80;
/// Added to a digit or a colon of a time, less what `00:00:00` has there, it sets the high bit of
/// a byte that is above nine, or above zero for a colon.
const ABOVE_TIME: u64 = 0x7676_7f76_767f_7676;

/// Whether it is a time with milliseconds up to the 28th of a month, looked at in a few words.
#[inline(always)]
fn is_usual_timestamp(text: &[u8; 21]) -> bool {
    let (date, rest) = split::<8>(text);
    let ([dash], rest) = split::<1>(rest);
    let (time, millis) = split::<8>(rest);
    let (millis, _) = split::<4>(millis);
    // What is right is then a digit in each byte, and zero where a colon or a point was.
    let date = u64::from_le_bytes(date) ^ u64::from_le_bytes(*b"00000000");
    let time = u64::from_le_bytes(time) ^ u64::from_le_bytes(*b"00:00:00");
    let millis = u64::from(u32::from_le_bytes(millis) ^ u32::from_le_bytes(*b".000"));
    let wrong = date | date.wrapping_add(EACH * 0x76) | time | time.wrapping_add(ABOVE_TIME);
    let wrong = wrong | millis | millis.wrapping_add(0x7676_767f);
    if wrong & HIGH != 0 || dash != b'-' {
        return false;
    }
    // Each byte with the one behind it as a number of two digits: below 100, so nothing carries.
    let pairs = |digits: u64| digits * 10 + (digits >> 8);
    // Month and day less one, hour, minute and second: the high bit of a byte is set from 12 and
    // 28, and from 24, 60 and 61 on.
    let days = (pairs(date) >> 32 & 0x00ff_00ff).wrapping_sub(0x0001_0001);
    let times = pairs(time) & 0x00ff_0000_ff00_00ff;
    let above = (days | days.wrapping_add(0x0064_0074)) & 0x0080_0080;
    let above_too = times.wrapping_add(0x0043_0000_4400_0068) & 0x0080_0000_8000_0080;
    above | above_too == 0
}

/// The first bytes and the rest; zeros where there are not so many.
#[inline(always)]
fn split<const N: usize>(bytes: &[u8]) -> ([u8; N], &[u8]) {
    bytes.split_first_chunk().map_or(([0; N], &[]), |(first, rest)| (*first, rest))
}

#[inline(never)]
fn is_any_timestamp(text: &[u8]) -> bool {
    let Some((date, rest)) = text.split_first_chunk::<8>() else { return false };
    let Some(([dash, time @ ..], fraction)) = rest.split_first_chunk::<9>() else { return false };
    // What is right is then a digit in each byte, and zero where a colon was.
    let date = u64::from_le_bytes(*date) ^ u64::from_le_bytes(*b"00000000");
    let time = u64::from_le_bytes(*time) ^ u64::from_le_bytes(*b"00:00:00");
    let wrong = date | date.wrapping_add(EACH * 0x76) | time | time.wrapping_add(ABOVE_TIME);
    if wrong & HIGH != 0 || *dash != b'-' {
        return false;
    }
    // Each byte with the one behind it as a number of two digits: below 100, so nothing carries.
    let pair = |digits: u64, at: u32| ((digits * 10 + (digits >> 8)) >> (8 * at)) as u8;
    let (century, year, month, day) = (pair(date, 0), pair(date, 2), pair(date, 4), pair(date, 6));
    let (hour, minute, second) = (pair(time, 0), pair(time, 3), pair(time, 6));
    let in_range = hour < 24 && minute < 60 && second < 61 && month.wrapping_sub(1) < 12 && day > 0;
    if !in_range {
        return false;
    }
    // Up to the 28th every month has the day.
    let year = i64::from(century) * 100 + i64::from(year);
    let has_day =
        day <= 28 || days_in(year, i64::from(month)).is_some_and(|days| i64::from(day) <= days);
    has_day && is_fraction(fraction)
}

#[inline]
fn is_fraction(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b'.', a, b, c] => a.is_ascii_digit() & b.is_ascii_digit() & c.is_ascii_digit(),
        [b'.', digits @ ..] => {
            matches!(digits.len(), 1..=12) && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    }
}

fn parse_fraction(text: &[u8]) -> Option<i64> {
    let Some((point, digits)) = text.split_first() else { return Some(0) };
    let (nanos, picos) = digits.split_at(digits.len().min(9));
    let is_right = !digits.is_empty() && picos.len() <= 3 && picos.iter().all(u8::is_ascii_digit);
    if *point != b'.' || !is_right {
        return None;
    }
    let mut value = 0;
    for place in 0..9 {
        let digit = nanos.get(place).map_or(Some(0), |byte| digit(*byte))?;
        value = value * 10 + digit;
    }
    Some(value)
}

fn digit(byte: u8) -> Option<i64> {
    let digit = byte.wrapping_sub(b'0');
    (digit <= 9).then_some(i64::from(digit))
}

fn two(tens: u8, units: u8) -> Option<i64> {
    Some(digit(tens)? * 10 + digit(units)?)
}

fn days_in(year: i64, month: i64) -> Option<i64> {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => Some(31),
        4 | 6 | 9 | 11 => Some(30),
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => Some(29),
        2 => Some(28),
        _ => None,
    }
}

/// Days since 1970-01-01 of a proleptic Gregorian date. Years are counted from March, so that the
/// leap day is the last of its year; 719,468 days lie between 0000-03-01 and 1970-01-01.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + day_of_year - 719_468
}

/// The date (year, month, day) of a day since 1970-01-01: the inverse of [`days_from_civil`].
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::{Precision, StampCache, parse_timestamp};
    use proptest::prelude::*;
    use std::string::String;
    use taut_types::Nanos;

    fn text(precision: Precision, utc: i64) -> String {
        written(&mut StampCache::new(precision), utc)
    }

    fn written(cache: &mut StampCache, utc: i64) -> String {
        let (second, below, digits) = cache.stamp(Nanos(utc));
        let second = std::str::from_utf8(second).unwrap();
        std::format!("{second}{below:0digits$}")
    }

    #[test]
    fn writes_each_precision_of_known_times() {
        let utc = 1_709_210_096_123_456_789; // 2024-02-29 12:34:56.123456789
        assert_eq!(text(Precision::Millis, utc), "20240229-12:34:56.123");
        assert_eq!(text(Precision::Micros, utc), "20240229-12:34:56.123456");
        assert_eq!(text(Precision::Nanos, utc), "20240229-12:34:56.123456789");
        assert_eq!(text(Precision::Picos, utc), "20240229-12:34:56.123456789000");
        assert_eq!(text(Precision::Millis, 0), "19700101-00:00:00.000");
        assert_eq!(text(Precision::Millis, -1), "19691231-23:59:59.999");
        assert_eq!(text(Precision::Nanos, i64::MAX), "22620411-23:47:16.854775807");
        assert_eq!(text(Precision::Nanos, i64::MIN), "16770921-00:12:43.145224192");
    }

    #[test]
    fn reads_every_allowed_number_of_digits() {
        let second = parse_timestamp(b"20240229-12:34:56").unwrap();
        for (fraction, nanos) in [(".1", 100_000_000), (".123", 123_000_000), (".000000009", 9)] {
            let text = std::format!("20240229-12:34:56{fraction}");
            assert_eq!(parse_timestamp(text.as_bytes()), Some(second + Nanos(nanos)));
        }
        // Picoseconds are read and dropped.
        let picos = parse_timestamp(b"20240229-12:34:56.000000009999");
        assert_eq!(picos, Some(second + Nanos(9)));
        for precision in [Precision::Seconds, Precision::Millis, Precision::Picos] {
            let text = StampCache::new(precision).text(second + Nanos(5_000_000));
            let nanos = if precision == Precision::Seconds { 0 } else { 5_000_000 };
            assert_eq!(parse_timestamp(text.as_bytes()), Some(second + Nanos(nanos)));
        }
        let leap = parse_timestamp(b"20161231-23:59:60").unwrap();
        assert_eq!(Some(leap), parse_timestamp(b"20170101-00:00:00"));
    }

    #[test]
    fn refuses_dates_and_times_that_do_not_exist() {
        for text in [
            "",
            "20240229",
            "20230229-12:34:56",
            "20240001-12:34:56",
            "20241301-12:34:56",
            "20240100-12:34:56",
            "20240431-12:34:56",
            "20240101-24:00:00",
            "20240101-12:60:00",
            "20240101-12:00:61",
            "20240101 12:00:00",
            "20240101-12:00:00.",
            "20240101-12:00:00.1234567890123",
            "20240101-12:00:00.123456789x",
            "20240101-12:00:00,123",
            "99991231-23:59:59",
            "2024-101-12:00:00",
        ] {
            assert_eq!(parse_timestamp(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(utc in any::<i64>(), near in any::<i32>()) {
            let mut cache = StampCache::new(Precision::Nanos);
            for utc in [utc, utc.saturating_add(i64::from(near))] {
                let text = written(&mut cache, utc);
                prop_assert_eq!(parse_timestamp(text.as_bytes()), Some(Nanos(utc)));
            }
        }

        #[test]
        fn never_panics(text in proptest::collection::vec(any::<u8>(), 0..30)) {
            let _ = parse_timestamp(&text);
        }

        #[test]
        fn the_quick_check_agrees(
            date in "20[0-3][0-9][01][0-9][0-3][0-9]",
            time in "-[0-2][0-9]:[0-6][0-9]:[0-6][0-9]([.,][0-9]{0,13})?",
        ) {
            let text = date + &time;
            let is_read = parse_timestamp(text.as_bytes()).is_some();
            prop_assert_eq!(super::is_timestamp(text.as_bytes()), is_read);
        }

        #[test]
        fn the_quick_check_agrees_about_every_byte(
            utc in 0..i64::MAX, place in 0usize..21, byte in any::<u8>(),
        ) {
            let mut text = text(Precision::Millis, utc).into_bytes();
            prop_assert!(super::is_timestamp(&text));
            text[place] = byte;
            let is_read = parse_timestamp(&text).is_some();
            // The year may be beyond what a time can hold.
            prop_assert!(super::is_timestamp(&text) == is_read || place < 4);
        }
    }
}
