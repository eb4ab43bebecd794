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
        fn never_panics(
            text in proptest::collection::vec(any::<u8>(), 0..40),
            decimals in any::<u8>(),
        ) {
            let _ = parse_decimal(&text, decimals);
        }
    }
}
