//! Byte masks and sums over slices.
//!
//! The level is chosen when the crate is built, never at run time: AVX2 when the target has it
//! (`-C target-cpu=x86-64-v3` or `native`), SSE2 on every other x86-64, plain 64-bit words
//! elsewhere. All levels give the same results; [`portable`] is the slow and obvious twin that the
//! tests hold the others against. [`LEVEL`] says which one this build has.
#![no_std]

#[cfg(test)]
extern crate std;

#[cfg(target_arch = "x86_64")]
mod lanes;
pub mod portable;

#[cfg(target_arch = "x86_64")]
pub use lanes::{LEVEL, equal_mask, sum};
#[cfg(not(target_arch = "x86_64"))]
pub use portable::{LEVEL, equal_mask, sum};

/// How many bytes [`equal_mask`] looks at.
pub const BLOCK_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::{equal_mask, portable, sum};
    use proptest::prelude::*;

    fn block(bytes: &[u8]) -> [u8; 64] {
        let mut block = [0; 64];
        block.copy_from_slice(bytes);
        block
    }

    #[test]
    fn finds_a_byte_at_each_place_and_no_neighbour() {
        for at in 0..64 {
            for (filler, byte) in [(0, 1), (2, 1), (0x81, 1), (0xff, 0), (0x3c, 0x3d), (0, 0x80)] {
                let mut bytes = [filler; 64];
                bytes[at] = byte;
                assert_eq!(equal_mask(&bytes, byte), 1 << at);
                assert_eq!(portable::equal_mask(&bytes, byte), 1 << at);
            }
        }
        assert_eq!(equal_mask(&[7; 64], 7), u64::MAX);
        assert_eq!(portable::equal_mask(&[7; 64], 7), u64::MAX);
    }

    #[test]
    fn sums_every_length() {
        let bytes: std::vec::Vec<u8> = (0..600u32).map(|n| (n * 7 + 200) as u8).collect();
        for len in 0..bytes.len() {
            let expected = bytes[..len].iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
            assert_eq!(sum(&bytes[..len]), expected, "{len}");
            assert_eq!(portable::sum(&bytes[..len]), expected, "{len}");
        }
    }

    proptest! {
        #[test]
        fn every_level_agrees(bytes in proptest::collection::vec(0u8..4, 64), byte in 0u8..4) {
            let bytes = block(&bytes);
            let naive = bytes.iter().enumerate().fold(0, |mask, (at, found)| {
                mask | u64::from(*found == byte) << at
            });
            prop_assert_eq!(equal_mask(&bytes, byte), naive);
            prop_assert_eq!(portable::equal_mask(&bytes, byte), naive);
        }

        #[test]
        fn sums_agree(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(sum(&bytes), portable::sum(&bytes));
        }
    }
}
