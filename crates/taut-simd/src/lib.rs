//! Byte masks and sums over slices, with the widest instructions that the processor has; CRC-32C;
//! cache lines asked for ahead.
//!
//! The processor is asked once, when the program runs: [`Level::best`] is AVX2 with the bit
//! instructions that came with it, SSE2 on every other x86-64, plain 64-bit words elsewhere. All
//! levels give the same results, and the tests hold them against each other.
//!
//! Code that loops over blocks is a [`LaneOperation`]: written once over [`Lanes`], compiled once
//! for each level, entered through [`Level::run`], so that the choice is made once for a whole loop
//! and everything inside it is inlined.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod crc32c;
mod lanes;
mod level;
mod mask;
mod portable;
mod prefetch;
#[cfg(target_arch = "x86_64")]
mod sse2;

pub use crc32c::{crc32c, crc32c_behind, crc32c_words};
pub use lanes::{LaneOperation, Lanes};
pub use level::Level;
pub use prefetch::{prefetch_read, prefetch_write};

/// How many bytes a mask is of.
pub const BLOCK_BYTES: usize = 64;

/// The sum of the bytes modulo 256, at the best level.
#[inline]
#[must_use]
pub fn sum(bytes: &[u8]) -> u8 {
    Level::best().sum(bytes)
}

#[cfg(test)]
mod tests {
    use super::{LaneOperation, Lanes, Level, sum};
    use proptest::prelude::*;

    struct Mask<'a>(&'a [u8; 64], u8);

    impl LaneOperation for Mask<'_> {
        type Output = u64;

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> u64 {
            lanes.equal_mask(self.0, self.1)
        }
    }

    fn naive_mask(block: &[u8; 64], byte: u8) -> u64 {
        block.iter().rev().fold(0, |mask, found| mask << 1 | u64::from(*found == byte))
    }

    #[test]
    fn finds_a_byte_at_each_place_and_no_neighbour() {
        for level in Level::all() {
            for at in 0..64 {
                for (filler, byte) in
                    [(0, 1), (2, 1), (0x81, 1), (0xff, 0), (0x3c, 0x3d), (0, 0x80)]
                {
                    let mut bytes = [filler; 64];
                    bytes[at] = byte;
                    assert_eq!(level.run(Mask(&bytes, byte)), 1 << at, "{level:?}");
                }
            }
            assert_eq!(level.run(Mask(&[7; 64], 7)), u64::MAX, "{level:?}");
        }
    }

    #[test]
    fn sums_every_length_at_every_level() {
        let bytes: Vec<u8> = (0..600u32).map(|n| (n * 7 + 200) as u8).collect();
        for len in 0..bytes.len() {
            let expected = bytes[..len].iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
            for level in Level::all() {
                assert_eq!(level.sum(&bytes[..len]), expected, "{len} {level:?}");
            }
        }
        assert_eq!(sum(&[255; 5000]), (255u32 * 5000 % 256) as u8);
    }

    #[test]
    fn levels_have_names_and_the_best_is_one_of_them() {
        for level in Level::all() {
            assert_eq!(Level::named(level.name()), Some(level));
        }
        assert!(Level::all().any(|level| level == Level::best()));
        assert_eq!(Level::all().next(), Some(Level::PORTABLE));
        assert_eq!(Level::named("mmx"), None);
    }

    proptest! {
        #[test]
        fn masks_agree(bytes in proptest::collection::vec(0u8..4, 64), byte in 0u8..4) {
            let block: &[u8; 64] = bytes[..].try_into().unwrap();
            for level in Level::all() {
                prop_assert_eq!(level.run(Mask(block, byte)), naive_mask(block, byte));
            }
        }

        #[test]
        fn sums_agree(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for level in Level::all() {
                prop_assert_eq!(level.sum(&bytes), Level::PORTABLE.sum(&bytes));
            }
        }
    }
}
