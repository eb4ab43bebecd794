//! The operations on 64-bit words.

use crate::lanes::Lanes;

/// Every processor has 64-bit words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portable;

impl Lanes for Portable {
    #[inline(always)]
    fn equal_mask(self, block: &[u8; 64], byte: u8) -> u64 {
        equal_mask(block, byte)
    }

    #[inline(always)]
    fn sum(self, bytes: &[u8]) -> u8 {
        sum(bytes)
    }

    type Seen = u64;

    #[inline(always)]
    fn unseen(self) -> u64 {
        0
    }

    #[inline(always)]
    fn see(self, bytes: &[u8; 32], seen: u64) -> u64 {
        bytes.as_chunks::<8>().0.iter().fold(seen, |seen, word| seen | u64::from_le_bytes(*word))
    }

    /// Cost: four words.
    #[inline(always)]
    fn xor(self, to: &mut [u8; 32], from: &[u8; 32], pattern: u64, mut seen: u64) -> u64 {
        let (words, _) = to.as_chunks_mut::<8>();
        for (word, from) in words.iter_mut().zip(from.as_chunks::<8>().0) {
            let masked = u64::from_le_bytes(*from) ^ pattern;
            *word = masked.to_le_bytes();
            seen |= masked;
        }
        seen
    }

    #[inline(always)]
    fn is_ascii(self, seen: u64) -> bool {
        seen & HIGH == 0
    }
}

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;
/// Every second byte of a word, so that the other lets it grow.
const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
/// One in each lane of sixteen bits.
const ONES: u64 = 0x0001_0001_0001_0001;

/// Bit `n` is set where byte `n` of the block equals `byte`. Cost: eight words of a few operations.
#[inline(always)]
fn equal_mask(block: &[u8; 64], byte: u8) -> u64 {
    let (words, _) = block.as_chunks::<8>();
    let pattern = LOW * u64::from(byte);
    let mut mask = 0;
    for (index, word) in words.iter().enumerate() {
        let different = u64::from_le_bytes(*word) ^ pattern;
        // The high bit of each byte that is zero, without carries between bytes.
        let equal = !(((different & !HIGH) + !HIGH) | different) & HIGH;
        // Gathers the eight high bits in the top byte.
        let gathered = (equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= gathered << (8 * index);
    }
    mask
}

/// The sum of the bytes modulo 256. Cost: a few operations for eight bytes.
#[inline(always)]
pub fn sum(bytes: &[u8]) -> u8 {
    /// A lane holds the sums of so many pairs of bytes.
    const WORDS_MAX: usize = 128;
    let (words, tail) = bytes.as_chunks::<8>();
    let mut whole = 0u64;
    for words in words.chunks(WORDS_MAX) {
        let mut lanes = 0;
        for word in words {
            let word = u64::from_le_bytes(*word);
            lanes += (word & EVEN) + ((word >> 8) & EVEN);
        }
        // The product's top lane is the sum of all four.
        whole += lanes.wrapping_mul(ONES) >> 48;
    }
    whole += last_word(bytes, tail.len());
    (whole & 0xff) as u8
}

/// As [`sum`], of fewer bytes than a register has: they are rare, and not worth the room in line.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
pub fn short_sum(bytes: &[u8]) -> u8 {
    sum(bytes)
}

/// Zeros, then ones: the `N` bytes from `n` on keep the last `n` bytes of a register of `N`.
#[cfg(target_arch = "x86_64")]
pub const fn keep<const N: usize, const TWICE: usize>() -> [u8; TWICE] {
    let mut keep = [0; TWICE];
    let (_, ones) = keep.split_at_mut(N);
    let mut at = 0;
    while at < ones.len() {
        ones[at] = 0xff;
        at += 1;
    }
    keep
}

/// The sum of the last bytes, fewer than eight, modulo 256.
#[inline(always)]
fn last_word(bytes: &[u8], count: usize) -> u64 {
    match bytes.last_chunk::<8>() {
        // The word that ends with them, without the bytes that come before.
        Some(_) if count == 0 => 0,
        Some(word) => {
            let word = u64::from_le_bytes(*word) >> (8 * (8 - count));
            let lanes = (word & EVEN) + ((word >> 8) & EVEN);
            lanes.wrapping_mul(ONES) >> 48
        }
        None => bytes.iter().fold(0, |sum, byte| sum + u64::from(*byte)),
    }
}
