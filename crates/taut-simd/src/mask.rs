//! A key of four bytes over a slice, again and again: WebSocket's masking (RFC 6455, 5.3).

use crate::lanes::{LaneOperation, Lanes};
use crate::level::Level;

/// Bytes that are masked together.
const LANE_BYTES: usize = 32;

impl Level {
    /// Puts `from` XOR the repeated key into `to`; of two lengths, the shorter one counts.
    /// Cost: a load and a store for 32 bytes at the best level.
    #[inline]
    pub fn mask_into(self, to: &mut [u8], from: &[u8], key: [u8; 4]) {
        self.run(MaskInto { to, from, key });
    }

    /// As [`Level::mask_into`], in place.
    #[inline]
    pub fn mask(self, bytes: &mut [u8], key: [u8; 4]) {
        self.run(Mask { bytes, key });
    }
}

/// The key, repeated over eight bytes.
#[inline(always)]
const fn pattern(key: [u8; 4]) -> u64 {
    let half = u32::from_le_bytes(key) as u64;
    half << 32 | half
}

struct MaskInto<'a> {
    to: &'a mut [u8],
    from: &'a [u8],
    key: [u8; 4],
}

impl LaneOperation for MaskInto<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, level: L) {
        let Self { to, from, key } = self;
        let pattern = pattern(key);
        let length = to.len().min(from.len());
        let (to, from) = (&mut to[..length], &from[..length]);
        let (lanes, rest) = to.as_chunks_mut::<LANE_BYTES>();
        let (from_lanes, from_rest) = from.as_chunks::<LANE_BYTES>();
        for (lane, from) in lanes.iter_mut().zip(from_lanes) {
            level.xor(lane, from, pattern);
        }
        let (words, tail) = rest.as_chunks_mut::<8>();
        let (from_words, from_tail) = from_rest.as_chunks::<8>();
        for (word, from) in words.iter_mut().zip(from_words) {
            *word = (u64::from_le_bytes(*from) ^ pattern).to_le_bytes();
        }
        for ((byte, from), key) in tail.iter_mut().zip(from_tail).zip(key.iter().cycle()) {
            *byte = from ^ key;
        }
    }
}

struct Mask<'a> {
    bytes: &'a mut [u8],
    key: [u8; 4],
}

impl LaneOperation for Mask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, level: L) {
        let pattern = pattern(self.key);
        let (lanes, rest) = self.bytes.as_chunks_mut::<LANE_BYTES>();
        for lane in lanes {
            let from = *lane;
            level.xor(lane, &from, pattern);
        }
        let (words, tail) = rest.as_chunks_mut::<8>();
        for word in words {
            *word = (u64::from_le_bytes(*word) ^ pattern).to_le_bytes();
        }
        for (byte, key) in tail.iter_mut().zip(self.key.iter().cycle()) {
            *byte ^= key;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(bytes: &[u8], key: [u8; 4]) -> Vec<u8> {
        bytes.iter().enumerate().map(|(at, byte)| byte ^ key[at % 4]).collect()
    }

    #[test]
    fn masks_every_length_and_alignment_as_the_naive_twin_at_every_level() {
        let bytes: Vec<u8> = (0..400u32).map(|n| (n * 7 + 200) as u8).collect();
        let key = [0x37, 0xfa, 0x21, 0x3d];
        for level in Level::all() {
            for start in 0..9 {
                for end in start..bytes.len() {
                    let plain = &bytes[start..end];
                    let expected = naive(plain, key);
                    let mut place = bytes.clone();
                    level.mask(&mut place[start..end], key);
                    assert!(place[start..end] == expected, "{start}..{end} {level:?}");
                    assert!(place[..start] == bytes[..start] && place[end..] == bytes[end..]);
                    let mut other = vec![0; plain.len()];
                    level.mask_into(&mut other, plain, key);
                    assert!(other == expected, "{start}..{end} {level:?}");
                }
            }
        }
    }

    #[test]
    fn of_two_lengths_the_shorter_one_counts() {
        let mut to = [9; 4];
        Level::best().mask_into(&mut to, b"ab", [0; 4]);
        assert_eq!(to, *b"ab\x09\x09");
        Level::best().mask_into(&mut to[..1], b"xyz", [0; 4]);
        assert_eq!(to, *b"xb\x09\x09");
    }
}
