//! Exact decimals: text to fixed point and back, without a float.

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

/// Reads `[-]digits[.digits]` as an integer at `decimals` places.
///
/// # Errors
/// [`DecimalError::Malformed`] when the text has another shape; [`DecimalError::OutOfRange`] when
/// the value cannot be held exactly.
pub const fn parse_decimal(text: &[u8], decimals: u8) -> Result<i64, DecimalError> {
    match parse_short(text, decimals) {
        Some(value) => Ok(value),
        None => parse_any(text, decimals),
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

/// The same value in each byte of a word.
const fn bytes(value: u8) -> u128 {
    u128::from_ne_bytes([value; 16])
}

/// A text of 4 to 16 bytes without a sign, all bytes at once; nothing for any other, and for a
/// value that needs a closer look. Market data is made of these.
const fn parse_short(text: &[u8], decimals: u8) -> Option<i64> {
    let len = text.len();
    // Two loads that may overlap: the bytes that both have are the same ones.
    let word = match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(&head), Some(&tail)) if len <= 16 => {
            u64::from_le_bytes(head) as u128 | (u64::from_le_bytes(tail) as u128) << (8 * (len - 8))
        }
        _ => match (text.first_chunk::<4>(), text.last_chunk::<4>()) {
            (Some(&head), Some(&tail)) if len < 8 => {
                let (head, tail) = (u32::from_le_bytes(head), u32::from_le_bytes(tail));
                head as u128 | (tail as u128) << (8 * (len - 4))
            }
            _ => return None,
        },
    };
    // The lowest marked byte is the first point; bytes above it may be marked by the borrow.
    let unlike = word ^ bytes(b'.');
    let marks = unlike.wrapping_sub(bytes(1)) & !unlike & bytes(0x80);
    let (digits, digit_count, places) = if marks == 0 {
        (word, len, 0)
    } else {
        let point = marks.trailing_zeros() as usize / 8;
        let whole = (1_u128 << (8 * point)) - 1;
        (word & whole | (word >> 8) & !whole, len - 1, len - 1 - point)
    };
    // Digits move to the end of the word, where the last one counts single units.
    let values = (digits ^ bytes(b'0')) << (8 * (16 - digit_count));
    let is_wrong = (values.wrapping_add(bytes(0x76)) | values) & bytes(0x80) != 0;
    if is_wrong || places == len - 1 || places > decimals as usize {
        return None;
    }
    let mantissa = eight_digits(values as u64) * 100_000_000 + eight_digits((values >> 64) as u64);
    match 10_i64.checked_pow(decimals as u32 - places as u32) {
        Some(scale) => (mantissa as i64).checked_mul(scale),
        None => None,
    }
}

/// The number that eight digit values make, the first in the lowest byte: pairs, then fours.
const fn eight_digits(values: u64) -> u64 {
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF
}

/// Writes `value` at `decimals` places (19 at the most) as the shortest exact decimal and returns
/// the number of bytes written from the start of `out`.
pub fn format_decimal(value: i64, decimals: u8, out: &mut [u8; DECIMAL_BYTES_MAX]) -> usize {
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
        fn all_bytes_at_once_give_what_one_by_one_gives(
            text in "[0-9]{0,12}[.]?[0-9]{0,12}|[-0-9.x]{0,18}",
            decimals in 0u8..=20,
        ) {
            let slow = parse_any(text.as_bytes(), decimals);
            prop_assert_eq!(parse_decimal(text.as_bytes(), decimals), slow);
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
