//! A frame: four words of head, then the bytes, filled up with zeros to a whole word. All words are
//! little-endian.
//!
//! | word | what |
//! |---|---|
//! | 0 | length in words with the head (32 bits), CRC-32C (32): stored last, at once |
//! | 1 | sequence number, from 1 |
//! | 2 | CLOCK_MONOTONIC, nanoseconds |
//! | 3 | kind (16 bits), length of the bytes (32) |
//! | 4.. | bytes |
//!
//! The sum is over the segment's salt, the length and all words behind word 0. Word 0 is 0 until
//! all else is there.

use taut_simd::crc32c_words;
use taut_types::Nanos;

pub const HEAD_WORDS: usize = 4;

/// Words of a frame with so many bytes.
pub const fn words_for(bytes: usize) -> usize {
    HEAD_WORDS + bytes.div_ceil(8)
}

/// Fills `words` with the salt and the frame behind it.
pub fn write(
    words: &mut Vec<u64>,
    salt: u64,
    (sequence, time): (u64, Nanos),
    kind: u16,
    bytes: &[u8],
) {
    let length = words_for(bytes.len()) as u64;
    words.clear();
    let what = u64::from(kind) | (bytes.len() as u64) << 16;
    words.extend([salt, length, sequence, time.0.cast_unsigned(), what]);
    let (whole, rest) = bytes.as_chunks::<8>();
    words.extend(whole.iter().map(|word| u64::from_le_bytes(*word)));
    if !rest.is_empty() {
        let mut last = [0; 8];
        for (byte, value) in last.iter_mut().zip(rest) {
            *byte = *value;
        }
        words.push(u64::from_le_bytes(last));
    }
    let sum = crc32c_words(words);
    if let Some(first) = words.get_mut(1) {
        *first |= u64::from(sum) << 32;
    }
}

/// A frame that was read.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    pub kind: u16,
    pub sequence: u64,
    pub time: Nanos,
    /// Of the frame, with its head.
    pub words: usize,
    /// Of what is in it.
    pub bytes: usize,
}

/// The frame at the start of these words; `None` when there is no whole and right one. `room` is
/// memory that is used again.
pub fn read(words: &[u64], salt: u64, room: &mut Vec<u64>) -> Option<Head> {
    let &[first, sequence, time, what, ..] = words else { return None };
    let (length, sum) = (first as u32 as usize, (first >> 32) as u32);
    let (kind, bytes) = (what as u16, (what >> 16) as u32 as usize);
    if kind == 0 || what >> 48 != 0 || length != words_for(bytes) {
        return None;
    }
    room.clear();
    room.extend([salt, length as u64]);
    room.extend_from_slice(words.get(1..length)?);
    if crc32c_words(room) != sum {
        return None;
    }
    Some(Head { kind, sequence, time: Nanos(time.cast_signed()), words: length, bytes })
}

#[cfg(test)]
mod tests {
    use super::{read, write};
    use taut_types::Nanos;

    #[test]
    fn every_flipped_bit_is_found_and_a_frame_of_another_segment_is_none() {
        let (mut words, mut room) = (Vec::new(), Vec::new());
        write(&mut words, 9, (3, Nanos(5)), 2, b"eleven byte");
        let mut frame = words[1..].to_vec();
        let head = read(&frame, 9, &mut room).expect("a frame");
        assert_eq!((head.kind, head.sequence, head.time.0, head.bytes), (2, 3, 5, 11));
        assert_eq!(head.words, frame.len());
        assert!(read(&frame, 8, &mut room).is_none(), "another segment's");
        for bit in 0..64 * frame.len() {
            frame[bit / 64] ^= 1 << (bit % 64);
            assert!(read(&frame, 9, &mut room).is_none(), "{bit}");
            frame[bit / 64] ^= 1 << (bit % 64);
        }
        for length in 0..frame.len() {
            assert!(read(&frame[..length], 9, &mut room).is_none(), "cut at {length}");
        }
    }
}
