//! Exact decimals: text to fixed point and back, without a float.

mod form;
mod swar;

use core::fmt;

pub use form::DecimalForm;
use swar::{POWERS, SHORT_DECIMALS_MAX, above_nine, bytes, digits_of, eight_digits};

/// Room for every decimal that [`format_decimal`] writes: sign, 19 digits, a point, a leading zero.
pub const DECIMAL_BYTES_MAX: usize = 40;

/// Why a text is no decimal of the asked scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecimalError {
    /// No digit, or a byte that is neither digit, leading minus nor single point.
    Malformed {
        /// Where the first wrong byte stands; the text's length when a digit is missing.
        offset: usize,
    },
    /// A digit other than zero stands below the scale, or the value does not fit 64 bits.
    OutOfRange,
}

impl fmt::Display for DecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { offset } => write!(f, "no decimal at byte {offset}"),
            Self::OutOfRange => f.write_str("the decimal does not fit the scale or 64 bits"),
        }
    }
}

impl core::error::Error for DecimalError {}

/// Reads `[-]digits[.digits]` as an integer at `decimals` places.
///
/// # Errors
/// [`DecimalError::Malformed`] when the text has another shape; [`DecimalError::OutOfRange`] when
/// the value cannot be held exactly.
#[inline]
pub const fn parse_decimal(text: &[u8], decimals: u8) -> Result<i64, DecimalError> {
    match leading_short(text, decimals) {
        Some((value, len)) if len == text.len() => Ok(value),
        _ => parse_any(text, decimals),
    }
}

/// Reads the decimal that `text` begins with, and says how many bytes it has: for scanners, which
/// know where a number begins and not yet where it ends. It ends at the first byte that is neither
/// digit nor point.
///
/// # Errors
/// As [`parse_decimal`].
#[inline]
pub const fn parse_decimal_prefix(text: &[u8], decimals: u8) -> Result<(i64, usize), DecimalError> {
    if let Some(read) = leading_short(text, decimals) {
        return Ok(read);
    }
    let mut len = matches!(text.first(), Some(b'-')) as usize;
    while len < text.len() && matches!(text[len], b'0'..=b'9' | b'.') {
        len += 1;
    }
    match parse_any(text.split_at(len).0, decimals) {
        Ok(value) => Ok((value, len)),
        Err(error) => Err(error),
    }
}

/// Every text, byte by byte: the long ones, the signed ones, and what is wrong with a wrong one.
const fn parse_any(text: &[u8], decimals: u8) -> Result<i64, DecimalError> {
    let negative = matches!(text.first(), Some(b'-'));
    let mut rest = text;
    if negative && let Some((_, tail)) = text.split_first() {
        rest = tail;
    }
    let mut value: i64 = 0;
    let mut digit_count = 0usize;
    let mut point = false;
    let mut places = 0u8;
    while let Some((&byte, tail)) = rest.split_first() {
        match byte {
            b'0'..=b'9' => {
                let digit = (byte - b'0') as i64;
                digit_count += 1;
                if point && places == decimals {
                    if digit != 0 {
                        return Err(DecimalError::OutOfRange);
                    }
                } else {
                    // Negative accumulation: i64::MIN has no positive twin.
                    value = match value.checked_mul(10) {
                        Some(v) => match v.checked_sub(digit) {
                            Some(v) => v,
                            None => return Err(DecimalError::OutOfRange),
                        },
                        None => return Err(DecimalError::OutOfRange),
                    };
                    places += point as u8;
                }
            }
            b'.' if !point && digit_count > 0 => point = true,
            _ => return Err(DecimalError::Malformed { offset: text.len() - rest.len() }),
        }
        rest = tail;
    }
    if digit_count == 0 {
        return Err(DecimalError::Malformed { offset: text.len() });
    }
    while places < decimals {
        value = match value.checked_mul(10) {
            Some(v) => v,
            None => return Err(DecimalError::OutOfRange),
        };
        places += 1;
    }
    if negative {
        return Ok(value);
    }
    match value.checked_neg() {
        Some(v) => Ok(v),
        None => Err(DecimalError::OutOfRange),
    }
}

/// The decimal that a text begins with and its length, eight bytes at a time: market data is made
/// of such. Nothing for a sign, for more than seven digits before the point or eight behind it,
/// and for digits below the scale.
#[inline(always)]
const fn leading_short(text: &[u8], decimals: u8) -> Option<(i64, usize)> {
    if decimals > SHORT_DECIMALS_MAX {
        return None;
    }
    let word = load(text);
    let values = word ^ bytes(b'0');
    let others = above_nine(values);
    let whole_len = others.trailing_zeros() as usize / 8;
    if whole_len == 0 || whole_len == 8 {
        return None;
    }
    if (word >> (8 * whole_len)) as u8 != b'.' {
        let whole = eight_digits(values << (64 - 8 * whole_len));
        return Some(((whole * POWERS[decimals as usize]) as i64, whole_len));
    }
    // The next byte that is no digit: a point makes no carry that could mark the one behind it.
    let len = (others & (others - 1)).trailing_zeros() as usize / 8;
    let places = len - whole_len - 1;
    let is_cut = len == 8 && matches!(text, [_, _, _, _, _, _, _, _, b'0'..=b'9' | b'.', ..]);
    if is_cut {
        return leading_long(text, values, whole_len, decimals);
    }
    let has_two_points = len < 8 && (word >> (8 * len)) as u8 == b'.';
    if places == 0 || places > decimals as usize || has_two_points {
        return None;
    }
    // Without the point, the last digit in the highest byte.
    let below = (1 << (8 * whole_len)) - 1;
    let digits = eight_digits((values & below | (values >> 8) & !below) << (72 - 8 * len));
    // Below 10^7 * 10^9.
    Some(((digits * POWERS[decimals as usize - places]) as i64, len))
}

/// The same for a decimal that is longer than eight bytes, whose first part is known.
#[inline]
const fn leading_long(
    text: &[u8],
    values: u64,
    whole_len: usize,
    decimals: u8,
) -> Option<(i64, usize)> {
    let whole = eight_digits(values << (64 - 8 * whole_len));
    let Some((_, behind)) = text.split_at_checked(whole_len + 1) else { return None };
    let (part, places) = leading_digits(load(behind));
    let Some((_, rest)) = behind.split_at_checked(places) else { return None };
    if places == 0 || places > decimals as usize || matches!(rest, [b'0'..=b'9' | b'.', ..]) {
        return None;
    }
    // Below 10^7 * 10^9 and 10^8 * 10^9.
    let value = whole * POWERS[decimals as usize] + part * POWERS[decimals as usize - places];
    Some((value as i64, whole_len + 1 + places))
}

/// The first eight bytes, the first in the lowest byte; zeros where the text has ended.
#[inline]
const fn load(text: &[u8]) -> u64 {
    match text.first_chunk::<8>() {
        Some(&bytes) => u64::from_le_bytes(bytes),
        None => load_tail(text),
    }
}

const fn load_tail(text: &[u8]) -> u64 {
    // Two loads that may overlap: the bytes that both have are the same ones.
    if let (Some(&head), Some(&tail)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let (head, tail) = (u32::from_le_bytes(head), u32::from_le_bytes(tail));
        return head as u64 | (tail as u64) << (8 * (text.len() - 4));
    }
    let mut word = 0;
    let mut rest = text;
    while let Some((&last, before)) = rest.split_last() {
        word = word << 8 | last as u64;
        rest = before;
    }
    word
}

/// The number that the digits make with which eight bytes of text begin, and how many these are.
/// The first byte is the word's lowest.
#[inline]
#[must_use]
pub const fn leading_digits(word: u64) -> (u64, usize) {
    let values = word ^ bytes(b'0');
    let len = above_nine(values).trailing_zeros() as usize / 8;
    if len == 0 {
        return (0, 0);
    }
    (eight_digits(values << (64 - 8 * len)), len)
}

/// Writes `value` at `decimals` places (19 at the most) as the shortest exact decimal and returns
/// the number of bytes written from the start of `out`; what is in the rest of it does not matter.
#[inline]
pub fn format_decimal(value: i64, decimals: u8, out: &mut [u8; DECIMAL_BYTES_MAX]) -> usize {
    match format_short(value, decimals, out) {
        Some(len) => len,
        None => format_any(value, decimals, out),
    }
}

/// The same for what prices, sizes and numbers mostly are, eight digits at a time: not below zero,
/// below 10^16 before the point and nine places behind it at the most.
#[inline]
fn format_short(value: i64, decimals: u8, out: &mut [u8; DECIMAL_BYTES_MAX]) -> Option<usize> {
    let value = u64::try_from(value).ok()?;
    // Divisors that are known are no divisions.
    let (whole, fraction) = match decimals {
        0 => (value, 0),
        8 => (value / 100_000_000, value % 100_000_000 * 10),
        9 => (value / 1_000_000_000, value % 1_000_000_000),
        1..=7 => {
            let power = POWERS[usize::from(decimals)];
            (value / power, value % power * POWERS[usize::from(SHORT_DECIMALS_MAX - decimals)])
        }
        _ => return None,
    };
    let (high, low) = (whole / 100_000_000, whole % 100_000_000);
    if high >= 100_000_000 {
        return None;
    }
    let mut len = 0;
    let mut put = |word: u64, digits: usize| {
        out[len..len + 8].copy_from_slice(&(word | bytes(b'0')).to_le_bytes());
        len += digits;
    };
    if high == 0 {
        // The lowest byte is the first digit; the last one is written, be it zero.
        let digits = digits_of(low);
        let skipped = digits.trailing_zeros().min(56) / 8;
        put(digits >> (8 * skipped), 8 - skipped as usize);
    } else {
        let digits = digits_of(high);
        let skipped = digits.trailing_zeros() / 8;
        put(digits >> (8 * skipped), 8 - skipped as usize);
        put(digits_of(low), 8);
    }
    if fraction > 0 {
        let (first, rest) = (fraction / 100_000_000, digits_of(fraction % 100_000_000));
        let kept = 8 - rest.leading_zeros() / 8;
        out[len] = b'.';
        out[len + 1] = b'0' + first as u8;
        out[len + 2..len + 10].copy_from_slice(&(rest | bytes(b'0')).to_le_bytes());
        len += 2 + kept as usize;
    }
    Some(len)
}

/// Every value, digit by digit.
fn format_any(value: i64, decimals: u8, out: &mut [u8; DECIMAL_BYTES_MAX]) -> usize {
    let mut digits = value.unsigned_abs();
    let mut places = decimals.min(19);
    while places > 0 && digits.is_multiple_of(10) {
        digits /= 10;
        places -= 1;
    }
    // Backwards into the end of a scratch buffer, then forwards into place.
    let mut scratch = [0u8; DECIMAL_BYTES_MAX];
    let mut at = DECIMAL_BYTES_MAX;
    let mut written = 0u8;
    loop {
        if written == places && places > 0 && written > 0 {
            at -= 1;
            scratch[at] = b'.';
        }
        at -= 1;
        scratch[at] = b'0' + u8::try_from(digits % 10).unwrap_or(0);
        digits /= 10;
        written += 1;
        if digits == 0 && written > places {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        scratch[at] = b'-';
    }
    let len = DECIMAL_BYTES_MAX - at;
    out[..len].copy_from_slice(&scratch[at..]);
    len
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_exactly_or_says_why_not() {
        assert_eq!(parse_decimal(b"1.5", 2), Ok(150));
        assert_eq!(parse_decimal(b"1.500", 2), Ok(150));
        assert_eq!(parse_decimal(b"-0.01", 2), Ok(-1));
        assert_eq!(parse_decimal(b"7.", 0), Ok(7));
        assert_eq!(parse_decimal(b"1.005", 2), Err(DecimalError::OutOfRange));
        assert_eq!(parse_decimal(b"92233720368547758.08", 2), Err(DecimalError::OutOfRange));
        assert_eq!(parse_decimal(b"-92233720368547758.08", 2), Ok(i64::MIN));
        assert_eq!(parse_decimal(b"", 2), Err(DecimalError::Malformed { offset: 0 }));
        assert_eq!(parse_decimal(b"-", 2), Err(DecimalError::Malformed { offset: 1 }));
        assert_eq!(parse_decimal(b".5", 2), Err(DecimalError::Malformed { offset: 0 }));
        assert_eq!(parse_decimal(b"1.2.3", 2), Err(DecimalError::Malformed { offset: 3 }));
        assert_eq!(parse_decimal(b"1e5", 2), Err(DecimalError::Malformed { offset: 1 }));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in any::<i64>(), decimals in 0u8..=19) {
            let mut out = [0; DECIMAL_BYTES_MAX];
            let len = format_decimal(value, decimals, &mut out);
            prop_assert_eq!(parse_decimal(&out[..len], decimals), Ok(value));
        }

        #[test]
        fn eight_digits_at_a_time_are_written_as_one_by_one(
            value in any::<i64>(),
            shift in 0u32..63,
            zeros in 0u32..10,
            decimals in 0u8..=19,
        ) {
            let value = (value >> shift).wrapping_mul(10_i64.pow(zeros));
            let (mut fast, mut slow) = ([1; DECIMAL_BYTES_MAX], [2; DECIMAL_BYTES_MAX]);
            let len = format_decimal(value, decimals, &mut fast);
            let slow_len = format_any(value, decimals, &mut slow);
            prop_assert_eq!(&fast[..len], &slow[..slow_len]);
        }

        #[test]
        fn eight_bytes_at_a_time_give_what_one_by_one_gives(
            text in "[0-9]{0,12}[.]?[0-9]{0,12}|[-0-9.x]{0,18}",
            decimals in 0u8..=20,
        ) {
            let slow = parse_any(text.as_bytes(), decimals);
            prop_assert_eq!(parse_decimal(text.as_bytes(), decimals), slow);
        }

        #[test]
        fn a_prefix_is_what_its_text_alone_would_be(
            text in "[0-9]{0,10}[.]?[0-9]{0,10}|[-0-9.x]{0,18}",
            behind in "[^0-9.]?[ -~]{0,12}",
            decimals in 0u8..=20,
        ) {
            let all = std::format!("{text}{behind}");
            let is_part = |c: char| c.is_ascii_digit() || c == '.';
            let start = usize::from(all.starts_with('-'));
            let len = start + all[start..].find(|c| !is_part(c)).unwrap_or(all.len() - start);
            let alone = parse_any(&all.as_bytes()[..len], decimals).map(|value| (value, len));
            prop_assert_eq!(parse_decimal_prefix(all.as_bytes(), decimals), alone);
        }

        #[test]
        fn never_panics(
            text in proptest::collection::vec(any::<u8>(), 0..40),
            decimals in any::<u8>(),
        ) {
            let _ = parse_decimal(&text, decimals);
        }
    }
}
