//! Decimals of a known form: a row of them is read without a search.

use super::swar::{POWERS, SHORT_DECIMALS_MAX, above_nine, bytes, eight_digits};

/// How a decimal is written: where its point and its end stand.
///
/// In a row of decimals the next one is mostly written like the one before. Read in a form that is
/// known, its end need not be found, and the processor need not wait for it to begin what follows.
///
/// ```
/// use taut_types::DecimalForm;
///
/// let form = DecimalForm::of(b"61800.20", 9).ok_or("no such form")?;
/// assert_eq!(form.read(b"61799.90\",\"0.004\""), Some(61_799_900_000_000));
/// assert_eq!(form.read(b"617990.1\",\"0.004\""), None);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DecimalForm {
    len: usize,
    /// What the first eight bytes are when all digits are zero.
    zeros: u64,
    /// All bits of those of them that belong to the decimal, as far as it is read with them.
    within: u64,
    /// All bits of the point.
    point: u64,
    /// All bits of those before the point.
    below: u64,
    /// Moves the last digit of them into the highest byte.
    shift: u32,
    power: u64,
    /// Where the digits behind the point stand, if not all stand in the first eight bytes.
    behind: Option<Behind>,
}

/// The digits behind the point of a decimal that is longer than eight bytes.
#[derive(Clone, Copy, Debug)]
struct Behind {
    at: usize,
    shift: u32,
    power: u64,
}

impl DecimalForm {
    /// The form of this decimal, which will be read at `decimals` places. Nothing for a sign, for
    /// more than seven digits before the point or eight behind it, and for digits below the scale.
    #[must_use]
    pub const fn of(decimal: &[u8], decimals: u8) -> Option<Self> {
        let mut whole_len = 0;
        let mut rest = decimal;
        while let [b'0'..=b'9', tail @ ..] = rest {
            whole_len += 1;
            rest = tail;
        }
        let places = rest.len().saturating_sub(1);
        let has_point = matches!(rest, [b'.', b'0'..=b'9', ..]);
        let is_whole = rest.is_empty();
        let is_in_scale = decimals <= SHORT_DECIMALS_MAX && places <= decimals as usize;
        if whole_len == 0 || whole_len > 7 || places > 8 || !is_in_scale || has_point == is_whole {
            return None;
        }
        let below = (1 << (8 * whole_len)) - 1;
        let point = if has_point { 0xFF << (8 * whole_len) } else { 0 };
        let len = decimal.len();
        let power = POWERS[decimals as usize];
        let power_behind = POWERS[decimals as usize - places];
        let zeros = bytes(b'0') & !point | bytes(b'.') & point;
        let form = Self { len, zeros, within: below, point, below, shift: 0, power, behind: None };
        Some(if len <= 8 {
            let within = if len == 8 { u64::MAX } else { (1 << (8 * len)) - 1 };
            let digit_count = (whole_len + places) as u32;
            Self { within, shift: 64 - 8 * digit_count, power: power_behind, ..form }
        } else {
            let shift = 64 - 8 * places as u32;
            let behind = Behind { at: whole_len + 1, shift, power: power_behind };
            let shift = 64 - 8 * whole_len as u32;
            Self { within: below | point, shift, behind: Some(behind), ..form }
        })
    }

    /// How many bytes a decimal of this form has.
    #[inline]
    #[must_use]
    pub const fn byte_count(&self) -> usize {
        self.len
    }

    /// The decimal that `text` begins with, if so many of its bytes are one of this form and eight
    /// can be read at once. What stands behind them is the caller's: if it is a digit, this was a
    /// part of a longer decimal.
    #[inline]
    #[must_use]
    pub fn read(&self, text: &[u8]) -> Option<i64> {
        let values = (u64::from_le_bytes(*text.first_chunk()?) ^ self.zeros) & self.within;
        if above_nine(values) | values & self.point != 0 {
            return None;
        }
        // Without the point, the last digit in the highest byte.
        let digits = values & self.below | (values >> 8) & !self.below;
        let value = eight_digits(digits << self.shift) * self.power;
        // Below 10^7 * 10^9, and 10^8 * 10^9 for what is behind.
        let Some(behind) = self.behind else { return Some(value as i64) };
        let word = u64::from_le_bytes(*text.get(behind.at..)?.first_chunk()?);
        let values = (word ^ bytes(b'0')) << behind.shift;
        if above_nine(values) != 0 {
            return None;
        }
        Some((value + eight_digits(values) * behind.power) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::parse_decimal;
    use proptest::prelude::*;

    #[test]
    fn a_form_says_how_it_is_written_or_that_it_is_none_of_the_short_ones() {
        for (text, decimals, is_form) in [
            ("0", 0, true),
            ("1234567", 9, true),
            ("1234567.12345678", 9, true),
            ("12345678", 9, false),
            ("1.123456789", 9, false),
            ("1.05", 1, false),
            ("1.05", 10, false),
            ("-1", 0, false),
            ("1.", 2, false),
            (".5", 2, false),
            ("", 2, false),
        ] {
            assert_eq!(DecimalForm::of(text.as_bytes(), decimals).is_some(), is_form, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_in_a_form_is_what_its_text_alone_would_be(
            like in "[0-9]{1,7}([.][0-9]{1,8})?",
            changes in proptest::collection::vec((0usize..16, any::<u8>()), 0..3),
            digits in "[0-9]{16}",
            behind in "[^0-9.][ -~]{7,12}",
            decimals in 0u8..=9,
        ) {
            let Some(form) = DecimalForm::of(like.as_bytes(), decimals) else { return Ok(()) };
            let mut text = like.clone().into_bytes();
            for (byte, digit) in text.iter_mut().zip(digits.bytes()) {
                *byte = if *byte == b'.' { b'.' } else { digit };
            }
            let is_changed = !changes.is_empty();
            for (at, byte) in changes {
                if let Some(changed) = text.get_mut(at) {
                    *changed = byte;
                }
            }
            let alone = parse_decimal(&text, decimals).ok();
            text.extend(behind.bytes());
            let read = form.read(&text);
            prop_assert!(read.is_none() || read == alone);
            prop_assert!(is_changed || read == alone);
        }

        #[test]
        fn never_panics(
            like in proptest::collection::vec(any::<u8>(), 0..24),
            text in proptest::collection::vec(any::<u8>(), 0..40),
            decimals in any::<u8>(),
        ) {
            if let Some(form) = DecimalForm::of(&like, decimals) {
                let _ = form.read(&text);
            }
        }
    }
}
