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
