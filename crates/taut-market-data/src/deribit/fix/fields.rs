//! The fields of a message of FIX, and how some of their values are written.

use taut_types::Nanos;

use crate::scan::place_of;

/// What stands behind each field.
const SOH: u8 = 1;

/// The fields of a message in their order, up to the first that is none.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    message: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) const fn new(message: &'a [u8]) -> Self {
        Self { message, rest: message }
    }

    /// How many bytes of the message are read.
    pub(super) const fn offset(&self) -> usize {
        self.message.len() - self.rest.len()
    }

    /// Whether nothing is left.
    pub(super) const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let at = place_of::<b'='>(self.rest);
        let tag = u32::try_from(number(self.rest.get(..at)?)?).ok()?;
        let behind = self.rest.get(at + 1..)?;
        let end = place_of::<SOH>(behind);
        let value = behind.get(..end)?;
        self.rest = behind.get(end + 1..)?;
        Some((tag, value))
    }
}

/// A number of digits alone; nothing when 64 bits do not hold it.
#[inline]
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let digit = |number: u64, byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    };
    if text.is_empty() { None } else { text.iter().try_fold(0, digit) }
}

/// A time of UTC: `20260921-14:13:20`, and a fraction of up to nine digits.
pub(super) fn time(text: &[u8]) -> Option<Nanos> {
    let mut rest = text;
    let mut part = |before: &[u8], digits: usize| {
        let (part, behind) = rest.strip_prefix(before)?.split_at_checked(digits)?;
        rest = behind;
        number(part)
    };
    let (year, month, day) = (part(b"", 4)?, part(b"", 2)?, part(b"", 2)?);
    let (hour, minute, second) = (part(b"-", 2)?, part(b":", 2)?, part(b":", 2)?);
    let fraction = match rest {
        [] => 0,
        [b'.', digits @ ..] => {
            let missing = 9_usize.checked_sub(digits.len())?;
            number(digits)? * 10_u64.pow(missing as u32)
        }
        _ => return None,
    };
    let is_one = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        // A leap second stands in the minute that it ends.
        && (hour < 24 && minute < 60 && second <= 60);
    let [year, month, day] = [year, month, day].map(u64::cast_signed);
    let days = is_one.then(|| days(year, month, day))?;
    let nanos = (hour * 3_600 + minute * 60 + second) * 1_000_000_000 + fraction;
    let nanos = i64::try_from(nanos).ok()?;
    days.checked_mul(86_400_000_000_000)?.checked_add(nanos).map(Nanos)
}

/// Days from 1970-01-01 to a day of the Gregorian calendar: years begin in March, so that the day
/// that comes and goes is a year's last.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn fields_come_in_their_order_up_to_what_is_none() {
        let mut fields = Fields::new(b"8=FIX.4.4\x0155=A=B\x01100090=\x01");
        let all: Vec<_> = fields.by_ref().collect();
        assert_eq!(all, [(8, &b"FIX.4.4"[..]), (55, b"A=B"), (100_090, b"")]);
        assert!(fields.is_at_end());
        for broken in ["8=1\x01x=2\x01", "8=1\x01=2\x01", "8=1\x019=2", "8=1\x0199999999999=2\x01"]
        {
            let mut fields = Fields::new(broken.as_bytes());
            assert_eq!(fields.by_ref().count(), 1, "{broken:?}");
            assert!(!fields.is_at_end() && fields.offset() == 4, "{broken:?}");
        }
    }

    #[test]
    fn times_are_those_of_utc() {
        for (text, nanos) in [
            ("19700101-00:00:00", Some(0)),
            ("20000229-23:59:59.999999999", Some(951_868_799_999_999_999)),
            ("20260921-14:13:20.123", Some(1_790_000_000_123_000_000)),
            ("20240301-00:00:00.5", Some(1_709_251_200_500_000_000)),
            ("20260921-14:13", None),
            ("20261321-14:13:20", None),
            ("20260921-24:13:20", None),
            ("20260921-14:13:20.", None),
            ("20260921-14:13:20.1234567890", None),
            ("20260921T14:13:20", None),
            ("2026a921-14:13:20", None),
            ("99999999-99:99:99", None),
            ("", None),
        ] {
            assert_eq!(time(text.as_bytes()), nanos.map(Nanos), "{text}");
        }
    }

    #[test]
    fn a_number_is_digits_that_fit() {
        for (text, expected) in [
            ("0", Some(0)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("", None),
            ("-1", None),
        ] {
            assert_eq!(number(text.as_bytes()), expected, "{text}");
        }
    }
}
