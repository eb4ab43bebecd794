//! Decimal integers, without allocation.

/// "00" to "99", so that two digits cost one division.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut value = 0;
    // A const table: the indices are the loop's own.
    #[expect(clippy::indexing_slicing, reason = "evaluated when compiled")]
    while value < 100 {
        pairs[value as usize] = [b'0' + value / 10, b'0' + value % 10];
        value += 1;
    }
    pairs
};

/// The three digits of each sum of bytes, and a delimiter.
const SUMS: [[u8; 4]; 256] = {
    let mut sums = [[0, 0, 0, 1]; 256];
    let mut sum = 0;
    #[expect(clippy::indexing_slicing, reason = "evaluated when compiled")]
    while sum < 256 {
        let digits = [sum / 100, sum / 10 % 10, sum % 10];
        sums[sum] = [b'0' + digits[0] as u8, b'0' + digits[1] as u8, b'0' + digits[2] as u8, 1];
        sum += 1;
    }
    sums
};

/// A sum as CheckSum (10) has it, with its delimiter.
#[inline(always)]
pub const fn sum_text(sum: u8) -> [u8; 4] {
    // There is one for every byte.
    #[expect(clippy::indexing_slicing, reason = "an index of eight bits into 256")]
    SUMS[sum as usize]
}

/// How many digits the shortest decimal has: 1 to 20.
#[inline]
pub fn digit_count(value: u64) -> usize {
    value.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Fills the whole room with the last digits of a number, zeros in front.
///
/// The digits go straight to their place: a detour through a scratch buffer costs a stalled load.
#[inline]
pub fn fill(room: &mut [u8], mut value: u64) {
    let mut pairs = room.rchunks_exact_mut(2);
    for two in &mut pairs {
        // The remainder of 100 is below 100, so `get` finds it.
        let digits = usize::try_from(value % 100).ok().and_then(|index| PAIRS.get(index));
        two.copy_from_slice(digits.unwrap_or(b"00"));
        value /= 100;
    }
    if let [one] = pairs.into_remainder() {
        *one = b'0' + u8::try_from(value % 10).unwrap_or(0);
    }
}

/// Numbers below this have at most eight digits.
pub const EIGHT_DIGITS: u64 = 100_000_000;
/// `0` in each byte of a word.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Numbers below this have at most four digits.
pub const FOUR_DIGITS: u64 = 10_000;

/// The eight digits of a number below [`EIGHT_DIGITS`] as a word of bytes from 0 to 9, the first
/// digit in the lowest byte: halves, pairs and digits are split all at once, without a division.
/// What a part is worth in the number is taken off together with its move to the lower place.
#[inline(always)]
const fn spread(value: u32) -> u64 {
    let value = value as u64;
    let halves = (value << 32) - value / 10_000 * ((10_000 << 32) - 1);
    let hundreds = (halves.wrapping_mul(5243) >> 19) & 0x0000_007f_0000_007f;
    let pairs = (halves << 16) - hundreds * ((100 << 16) - 1);
    let tens = (pairs.wrapping_mul(103) >> 10) & 0x000f_000f_000f_000f;
    tens | (pairs - tens * 10) << 8
}

/// As [`spread`], of a number below [`FOUR_DIGITS`].
#[inline(always)]
const fn spread_four(value: u32) -> u32 {
    let hundreds = (value * 5243) >> 19;
    let pairs = (value << 16) - hundreds * ((100 << 16) - 1);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f;
    tens | (pairs - tens * 10) << 8
}

/// The text of a number below [`EIGHT_DIGITS`], padded behind, and how many digits it has.
#[inline(always)]
pub const fn short_text(value: u32) -> ([u8; 8], usize) {
    let digits = spread(value);
    // The last digit of zero counts.
    let leading = ((digits | 1 << 56).trailing_zeros() / 8) as usize;
    (((digits | ZEROS) >> (8 * leading)).to_le_bytes(), 8 - leading)
}

/// The text of a number below [`FOUR_DIGITS`] with a delimiter behind it, and how many digits it
/// has.
#[inline(always)]
pub const fn tiny_text(value: u32) -> ([u8; 8], usize) {
    const FOUR_ZEROS_AND_DELIMITER: u64 = 0x01_3030_3030;
    let digits = spread_four(value) as u64;
    let leading = ((digits | 1 << 24).trailing_zeros() / 8) as usize;
    (((digits | FOUR_ZEROS_AND_DELIMITER) >> (8 * leading)).to_le_bytes(), 4 - leading)
}

/// All four digits of a number below [`FOUR_DIGITS`], and how many of them there are without the
/// zeros in front.
#[inline(always)]
pub const fn four_digits(value: u32) -> ([u8; 4], usize) {
    let digits = spread_four(value);
    let leading = ((digits | 1 << 24).trailing_zeros() / 8) as usize;
    ((digits | 0x3030_3030).to_le_bytes(), 4 - leading)
}

/// Both digits of a number below 100.
#[inline(always)]
pub fn two_digits(value: u32) -> [u8; 2] {
    PAIRS.get(value as usize).copied().unwrap_or(*b"00")
}

/// All eight digits of a number below [`EIGHT_DIGITS`].
#[inline(always)]
pub const fn eight_digits(value: u32) -> [u8; 8] {
    (spread(value) | ZEROS).to_le_bytes()
}

/// The first eight of nine digits behind a decimal point, and how many of them there are without
/// the zeros at the end.
#[inline(always)]
pub const fn fraction_text(value: u32) -> ([u8; 8], usize) {
    let digits = spread(value);
    let trailing = (digits.leading_zeros() / 8) as usize;
    ((digits | ZEROS).to_le_bytes(), 8 - trailing)
}

/// Reads digits only; `None` when there is none, another byte, or the value does not fit.
///
/// Leading zeros are allowed, as the standard's int has them.
pub fn parse_u64(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut value: u64 = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::{
        digit_count, eight_digits, fill, four_digits, fraction_text, parse_u64, short_text,
        sum_text, tiny_text, two_digits,
    };
    use proptest::prelude::*;
    use std::string::{String, ToString};
    use std::vec;

    fn text(value: u64) -> String {
        let mut room = vec![0; digit_count(value)];
        fill(&mut room, value);
        String::from_utf8(room).unwrap()
    }

    #[test]
    fn writes_every_length() {
        let mut value = 0u64;
        for digit in 0..20u64 {
            for near in [value, value.saturating_sub(1), value + 1] {
                assert_eq!(text(near), near.to_string());
            }
            value = 10u64.pow(u32::try_from(digit).unwrap());
        }
    }

    #[test]
    fn refuses_what_is_no_number() {
        for text in ["", "-1", "1.0", "18446744073709551616", " 1"] {
            assert_eq!(parse_u64(text.as_bytes()), None);
        }
        assert_eq!(parse_u64(b"007"), Some(7));
    }

    fn check_short(value: u32) {
        let (text, len) = short_text(value);
        assert_eq!(text[..len], *value.to_string().as_bytes());
        let whole = std::format!("{value:08}");
        assert_eq!(eight_digits(value), *whole.as_bytes());
        let (text, len) = fraction_text(value);
        assert_eq!(text[..len], *whole.trim_end_matches('0').as_bytes());
    }

    #[test]
    fn short_numbers_have_the_text_that_they_print() {
        (0..1_000_000).step_by(7).chain(0..20_000).for_each(check_short);
        (0..100_000_000).step_by(9_973).chain([99_999_999]).for_each(check_short);
    }

    #[test]
    fn tiny_numbers_and_sums_have_the_text_that_they_print() {
        for value in 0..10_000u32 {
            let (text, len) = tiny_text(value);
            assert_eq!(text[..=len], *std::format!("{value}\x01").as_bytes());
            assert_eq!(four_digits(value), (text_of_four(value), len));
        }
        for value in 0..100u32 {
            assert_eq!(two_digits(value), *std::format!("{value:02}").as_bytes());
        }
        for sum in 0..=255 {
            assert_eq!(sum_text(sum), *std::format!("{sum:03}\x01").as_bytes());
        }
    }

    fn text_of_four(value: u32) -> [u8; 4] {
        std::format!("{value:04}").as_bytes().try_into().unwrap()
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in any::<u64>()) {
            prop_assert_eq!(parse_u64(text(value).as_bytes()), Some(value));
        }
    }
}
