//! Eight digits at a time, in the bytes of a word.

/// The most digits behind the point for which seven digits before it cannot overflow.
pub(super) const SHORT_DECIMALS_MAX: u8 = 9;
pub(super) const POWERS: [u64; SHORT_DECIMALS_MAX as usize + 1] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The same value in each byte of a word.
pub(super) const fn bytes(value: u8) -> u64 {
    u64::from_ne_bytes([value; 8])
}

/// The high bit of every byte above nine; bytes above the first such may be marked by a carry.
#[inline]
pub(super) const fn above_nine(values: u64) -> u64 {
    (values.wrapping_add(bytes(0x76)) | values) & bytes(0x80)
}

/// The number that eight digit values make, the first in the lowest byte: pairs, fours, all.
#[inline]
pub(super) const fn eight_digits(values: u64) -> u64 {
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF
}

/// The eight digit values of a number below 10^8, the first in the lowest byte: fours, pairs, all.
#[inline]
pub(super) const fn digits_of(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    // 10,486 / 2^20 is a hundredth for all below 10,000, 103 / 2^10 a tenth for all below 100.
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007F_0000_007F;
    let pairs = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000F_000F_000F_000F;
    tens | ((pairs - 10 * tens) << 8)
}

#[cfg(test)]
mod tests {
    use super::{digits_of, eight_digits};

    #[test]
    fn a_number_is_its_digits_again() {
        for number in (0..100_000_000).step_by(997).chain(0..10_000).chain([99_999_999]) {
            let digits = digits_of(number);
            assert_eq!(eight_digits(digits), number);
            assert!(digits.to_le_bytes().iter().all(|digit| *digit < 10));
        }
    }
}
