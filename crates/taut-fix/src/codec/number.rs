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
    use super::{digit_count, fill, parse_u64};
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

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in any::<u64>()) {
            prop_assert_eq!(parse_u64(text(value).as_bytes()), Some(value));
        }
    }
}
