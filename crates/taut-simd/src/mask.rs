//! A key of four bytes over a slice, again and again: WebSocket's masking (RFC 6455, 5.3); and what
//! comes out as text, where it is ASCII, without another look at it.

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

    /// As [`Level::mask`], of what may be text: all of it where it is ASCII.
    ///
    /// # Errors
    /// The bytes, one of which is not ASCII.
    #[inline]
    pub fn mask_text(self, bytes: &mut [u8], key: [u8; 4]) -> Result<&str, &[u8]> {
        let is_ascii = self.run(Mask { bytes: &mut *bytes, key });
        text(bytes, is_ascii)
    }

    /// As [`Level::mask_into`], of what may be text: all that is in `to` where that is ASCII. Both
    /// must be of one length.
    ///
    /// # Errors
    /// The bytes in `to`, one of which is not ASCII, or which are not as many as in `from`.
    #[inline]
    pub fn mask_text_into<'t>(
        self,
        to: &'t mut [u8],
        from: &[u8],
        key: [u8; 4],
    ) -> Result<&'t str, &'t [u8]> {
        let is_ascii = self.run(MaskInto { to: &mut *to, from, key });
        text(to, is_ascii && to.len() == from.len())
    }

    /// Bytes as text, where they are ASCII. Cost: a load for 32 bytes at the best level.
    ///
    /// # Errors
    /// The bytes, one of which is not ASCII.
    #[inline]
    pub fn ascii(self, bytes: &[u8]) -> Result<&str, &[u8]> {
        let is_ascii = self.run(IsAscii { bytes });
        text(bytes, is_ascii)
    }
}

#[inline(always)]
const fn text(bytes: &[u8], is_ascii: bool) -> Result<&str, &[u8]> {
    if !is_ascii {
        return Err(bytes);
    }
    // SAFETY: the operations that say so have seen every byte, and none had its highest bit: each
    // is a character of one byte.
    Ok(unsafe { core::str::from_utf8_unchecked(bytes) })
}

/// The key, repeated over eight bytes.
#[inline(always)]
const fn pattern(key: [u8; 4]) -> u64 {
    let half = u32::from_le_bytes(key) as u64;
    half << 32 | half
}

/// The same for bytes from this place on.
#[inline(always)]
const fn pattern_at(pattern: u64, place: usize) -> u64 {
    pattern.rotate_right(8 * (place % 4) as u32)
}

/// Masks fewer bytes than a lane has, by their two ends, which meet or overlap; whether what came
/// out is ASCII. All are read before one is written.
macro_rules! ends {
    ($to:expr, $from:expr, $pattern:expr, $word:ty, $bytes:literal) => {
        if let (Some(first), Some(last)) =
            ($from.first_chunk::<$bytes>(), $from.last_chunk::<$bytes>())
        {
            let pattern = u128::from($pattern) << 64 | u128::from($pattern);
            let place = 8 * (($from.len() - $bytes) % 4) as u32;
            let first = <$word>::from_le_bytes(*first) ^ pattern as $word;
            let last = <$word>::from_le_bytes(*last) ^ pattern.rotate_right(place) as $word;
            if let Some(to) = $to.first_chunk_mut() {
                *to = first.to_le_bytes();
            }
            if let Some(to) = $to.last_chunk_mut() {
                *to = last.to_le_bytes();
            }
            const HIGH: $word = <$word>::MAX / 255 * 128;
            return (first | last) & HIGH == 0;
        }
    };
}

struct MaskInto<'a> {
    to: &'a mut [u8],
    from: &'a [u8],
    key: [u8; 4],
}

impl LaneOperation for MaskInto<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, level: L) -> bool {
        let Self { to, from, key } = self;
        let pattern = pattern(key);
        let length = to.len().min(from.len());
        let (to, from) = (&mut to[..length], &from[..length]);
        let Some(last) = from.last_chunk() else {
            ends!(to, from, pattern, u128, 16);
            ends!(to, from, pattern, u64, 8);
            ends!(to, from, pattern, u32, 4);
            let mut seen = 0;
            for ((to, from), key) in to.iter_mut().zip(from).zip(key) {
                *to = from ^ key;
                seen |= *to;
            }
            return seen < 128;
        };
        let mut seen = level.unseen();
        let lanes = to.as_chunks_mut::<LANE_BYTES>().0;
        for (lane, from) in lanes.iter_mut().zip(from.as_chunks().0) {
            seen = level.xor(lane, from, pattern, seen);
        }
        let place = length - LANE_BYTES;
        if !place.is_multiple_of(LANE_BYTES)
            && let Some(to) = to.last_chunk_mut()
        {
            seen = level.xor(to, last, pattern_at(pattern, place), seen);
        }
        level.is_ascii(seen)
    }
}

struct Mask<'a> {
    bytes: &'a mut [u8],
    key: [u8; 4],
}

impl LaneOperation for Mask<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, level: L) -> bool {
        let Self { bytes, key } = self;
        let pattern = pattern(key);
        // Before the lanes write over a part of it.
        let Some(last) = bytes.last_chunk::<LANE_BYTES>().copied() else {
            ends!(bytes, bytes, pattern, u128, 16);
            ends!(bytes, bytes, pattern, u64, 8);
            ends!(bytes, bytes, pattern, u32, 4);
            let mut seen = 0;
            for (byte, key) in bytes.iter_mut().zip(key) {
                *byte ^= key;
                seen |= *byte;
            }
            return seen < 128;
        };
        let mut seen = level.unseen();
        for lane in bytes.as_chunks_mut::<LANE_BYTES>().0 {
            let from = *lane;
            seen = level.xor(lane, &from, pattern, seen);
        }
        let place = bytes.len() - LANE_BYTES;
        if !place.is_multiple_of(LANE_BYTES)
            && let Some(to) = bytes.last_chunk_mut()
        {
            seen = level.xor(to, &last, pattern_at(pattern, place), seen);
        }
        level.is_ascii(seen)
    }
}

struct IsAscii<'a> {
    bytes: &'a [u8],
}

impl LaneOperation for IsAscii<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, level: L) -> bool {
        let Some(last) = self.bytes.last_chunk() else { return self.bytes.is_ascii() };
        let mut seen = level.see(last, level.unseen());
        for lane in self.bytes.as_chunks::<LANE_BYTES>().0 {
            seen = level.see(lane, seen);
        }
        level.is_ascii(seen)
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
        let bytes: Vec<u8> = (0..300u32).map(|n| (n * 7 + 200) as u8).collect();
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
    fn text_is_what_has_no_byte_above_127_wherever_it_would_be() {
        let key = [0x81, 0x7f, 0x80, 0x01];
        for level in Level::all() {
            for length in 0..130 {
                let plain: Vec<u8> = (0..length).map(|at| (at * 11 % 128) as u8).collect();
                let text = core::str::from_utf8(&plain).unwrap();
                let mut masked = naive(&plain, key);
                let mut to = vec![0xff; length];
                assert_eq!(level.mask_text_into(&mut to, &masked, key), Ok(text), "{length}");
                assert_eq!(level.mask_text(&mut masked, key), Ok(text), "{length} {level:?}");
                assert_eq!(level.ascii(&plain), Ok(text), "{length} {level:?}");
                for at in 0..length {
                    let mut other = plain.clone();
                    other[at] |= 0x80;
                    let mut masked = naive(&other, key);
                    let made = level.mask_text_into(&mut to, &masked, key);
                    assert_eq!(made, Err(&other[..]), "{at}");
                    assert_eq!(level.mask_text(&mut masked, key), Err(&other[..]), "{at}");
                    assert_eq!(level.ascii(&other), Err(&other[..]), "{at} of {length}");
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
        // What was not written is no text, whatever lies there.
        assert!(Level::best().mask_text_into(&mut to, b"xyz", [0; 4]).is_err());
        to = *b"xb\x09\x09";
        assert_eq!(to, *b"xb\x09\x09");
    }
}
