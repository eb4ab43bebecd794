//! CRC-32C (Castagnoli), as iSCSI (RFC 3720) has it: by the processor's own instruction where it
//! has one (SSE4.2), else by tables.
//!
//! It finds every error of one to three bits in records of some kilobytes, and every burst up to 32
//! bits.

use crc::{CRC_32_ISCSI, Crc, Table};

/// Sixteen bytes at a time.
static PORTABLE: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// The sum of these bytes. Cost: three cycles for eight bytes, the instruction's own latency.
#[inline]
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instructions that the function is compiled for.
        return unsafe { sum_bytes(bytes) };
    }
    PORTABLE.checksum(bytes)
}

/// The sum of the bytes of these words, the lowest byte of each first.
#[inline]
#[must_use]
pub fn crc32c_words(words: &[u64]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instructions that the function is compiled for.
        return unsafe { sum_words(words) };
    }
    portable_words(words)
}

/// The sum of all that stands before these bytes and of them, from the sum of what stands before.
#[inline]
#[must_use]
pub fn crc32c_behind(before: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instructions that the function is compiled for.
        return unsafe { sum_behind(before, bytes) };
    }
    portable_behind(before, bytes)
}

fn portable_words(words: &[u64]) -> u32 {
    let mut digest = PORTABLE.digest();
    words.iter().for_each(|word| digest.update(&word.to_le_bytes()));
    digest.finalize()
}

/// The crate takes the state that it begins with as a polynomial is written, highest power first.
fn portable_behind(before: u32, bytes: &[u8]) -> u32 {
    let mut digest = PORTABLE.digest_with_initial((!before).reverse_bits());
    digest.update(bytes);
    digest.finalize()
}

/// All ones before and after, as the standard has it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn sum_words(words: &[u64]) -> u32 {
    use core::arch::x86_64::_mm_crc32_u64;
    let sum = words.iter().fold(u64::from(u32::MAX), |sum, word| _mm_crc32_u64(sum, *word));
    !(sum as u32)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn sum_bytes(bytes: &[u8]) -> u32 {
    sum_behind(0, bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn sum_behind(before: u32, bytes: &[u8]) -> u32 {
    use core::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};
    let (words, tail) = bytes.as_chunks::<8>();
    let whole = words
        .iter()
        .fold(u64::from(!before), |sum, word| _mm_crc32_u64(sum, u64::from_le_bytes(*word)));
    !tail.iter().fold(whole as u32, |sum, byte| _mm_crc32_u8(sum, *byte))
}

#[cfg(test)]
mod tests {
    use super::{PORTABLE, crc32c, crc32c_behind, crc32c_words, portable_behind, portable_words};
    use proptest::prelude::*;

    #[test]
    fn gives_the_sums_of_the_standard() {
        // RFC 3720, B.4.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c_words(&[0; 4]), 0x8a91_36aa);
        assert_eq!((crc32c(&[]), crc32c_words(&[])), (0, 0));
    }

    proptest! {
        #[test]
        fn the_instruction_gives_what_tables_give(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            words in proptest::collection::vec(any::<u64>(), 0..40),
        ) {
            prop_assert_eq!(crc32c(&bytes), PORTABLE.checksum(&bytes));
            let flat: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            prop_assert_eq!(crc32c_words(&words), crc32c(&flat));
            prop_assert_eq!(portable_words(&words), crc32c(&flat));
            let both = [&flat[..], &bytes[..]].concat();
            prop_assert_eq!(crc32c_behind(crc32c(&flat), &bytes), crc32c(&both));
            prop_assert_eq!(portable_behind(crc32c(&flat), &bytes), crc32c(&both));
        }
    }
}
