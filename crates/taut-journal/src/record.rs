//! A record: three words of head, then the payload, filled up with zeros to a whole word. All words
//! are little-endian.
//!
//! | word | what |
//! |---|---|
//! | 0 | length (16 bits), kind (8), length (5), filled (3), CRC-32C (32): stored last, at once |
//! | 1 | sequence number; in a checkpoint, of the record in it |
//! | 2 | time, nanoseconds: of an entry about orders UTC, of what was heard CLOCK_MONOTONIC |
//! | 3.. | payload |
//!
//! The length is of the whole record, in words, its upper 5 bits behind the kind; filled are bytes
//! of the last word that are none of the payload's. Entries about orders need neither.
//!
//! The sum is over the segment's salt, the lower half of word 0, and all words behind word 0: what
//! an older file left on the disk, or another segment, is no record here. Word 0 is 0 until all
//! else is there, so that a record that was never finished is not taken for one.

use core::ops::RangeInclusive;

use taut_simd::{crc32c_behind, crc32c_words};
use taut_types::Nanos;

use crate::entry::Entry;
use crate::pack::{PAYLOAD_WORDS_MAX, Payload};

/// Words before the payload.
pub const HEAD_WORDS: usize = 3;
/// The longest record has fewer: its length fits its bits.
pub const WORDS_END: usize = 1 << 21;
/// A record of an entry about orders on its way into a segment, behind the salt: the longest that
/// this build writes.
pub type Written = [u64; 1 + HEAD_WORDS + PAYLOAD_WORDS_MAX];
/// A word as it stands in a file.
pub type Word = [u8; 8];

const KIND_AT: u32 = 16;
const LENGTH_HIGH_AT: u32 = 24;
const FILLED_AT: u32 = 29;
const SUM_AT: u32 = 32;

/// What the first word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// Words of the record, with its head.
    pub words: usize,
    pub kind: u16,
    /// Bytes of the last word that are none of the payload's.
    filled: usize,
    sum: u32,
}

impl First {
    /// Nothing where no record was finished.
    #[inline]
    pub const fn of(word: u64) -> Option<Self> {
        let words = (word as u16 as usize) | ((word >> LENGTH_HIGH_AT & 0x1f) as usize) << 16;
        let kind = (word >> KIND_AT) as u8 as u16;
        let filled = (word >> FILLED_AT & 7) as usize;
        if kind == 0 || words < HEAD_WORDS || (filled > 0 && words == HEAD_WORDS) {
            return None;
        }
        Some(Self { words, kind, filled, sum: (word >> SUM_AT) as u32 })
    }
}

/// A record that was read.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub kind: u16,
    pub sequence: u64,
    pub time: Nanos,
    /// With its head.
    pub words: usize,
    pub payload: &'a [u8],
}

impl Record<'_> {
    /// What it says about orders; nothing for a kind that this build does not know.
    pub fn entry(&self) -> Option<Entry> {
        let (words, []) = self.payload.as_chunks::<8>() else { return None };
        let mut payload: Payload = [0; _];
        let room = payload.get_mut(..words.len())?;
        for (place, word) in room.iter_mut().zip(words) {
            *place = u64::from_le_bytes(*word);
        }
        Entry::unpack(self.kind, room)
    }
}

/// Words of a record with a payload of so many bytes.
pub const fn words_for(bytes: usize) -> usize {
    HEAD_WORDS + bytes.div_ceil(8)
}

/// Writes the salt and the record of an entry behind it; returns how many words the record has.
/// Words behind it stay what they are.
#[inline]
pub fn write(
    record: &mut Written,
    salt: u64,
    (sequence, time): (u64, Nanos),
    entry: &Entry,
) -> usize {
    let [salted, first, number, stamp, payload @ ..] = &mut *record;
    let (kind, len) = entry.pack(payload);
    let words = HEAD_WORDS + len;
    *first = words as u64 | u64::from(kind) << KIND_AT;
    (*salted, *number, *stamp) = (salt, sequence, time.0.cast_unsigned());
    let sum = crc32c_words(record.get(..=words).unwrap_or(&[]));
    let [_, first, ..] = record;
    *first |= u64::from(sum) << SUM_AT;
    words
}

/// The head of a record with this payload, which has fewer than [`WORDS_END`] words.
#[inline]
pub fn head(
    salt: u64,
    (sequence, time): (u64, Nanos),
    kind: u16,
    payload: &[u8],
) -> [u64; HEAD_WORDS] {
    let words = words_for(payload.len()) as u64;
    let filled = (payload.len() as u64).wrapping_neg() & 7;
    let length = (words & 0xffff) | (words >> 16) << LENGTH_HIGH_AT;
    let first = length | u64::from(kind as u8) << KIND_AT | filled << FILLED_AT;
    let stamp = time.0.cast_unsigned();
    let (whole, rest) = payload.as_chunks::<8>();
    let sum = crc32c_words(&[salt, first, sequence, stamp]);
    let mut sum = crc32c_behind(sum, whole.as_flattened());
    if !rest.is_empty() {
        sum = crc32c_behind(sum, &last_word(rest));
    }
    [first | u64::from(sum) << SUM_AT, sequence, stamp]
}

/// Less than a word, filled up with zeros.
#[inline]
pub fn last_word(rest: &[u8]) -> Word {
    let mut word = [0; 8];
    for (place, byte) in word.iter_mut().zip(rest) {
        *place = *byte;
    }
    word
}

/// The record at the start of these words, if it has one of these numbers; `None` when there is no
/// whole and right one.
pub fn read(words: &[Word], salt: u64, numbers: RangeInclusive<u64>) -> Option<Record<'_>> {
    let [first, sequence, time, ..] = words else { return None };
    let (head, sequence) = (u64::from_le_bytes(*first), u64::from_le_bytes(*sequence));
    let First { words: len, kind, filled, sum } = First::of(head)?;
    if !numbers.contains(&sequence) {
        return None;
    }
    let behind = words.get(1..len)?.as_flattened();
    let before = crc32c_words(&[salt, head & 0xffff_ffff]);
    if crc32c_behind(before, behind) != sum {
        return None;
    }
    let payload = behind.get(8 * (HEAD_WORDS - 1)..behind.len() - filled)?;
    let time = Nanos(i64::from_le_bytes(*time));
    Some(Record { kind, sequence, time, words: len, payload })
}

#[cfg(test)]
mod tests {
    use super::{First, HEAD_WORDS, Word, head, last_word, read, words_for, write};
    use crate::entry::Entry;
    use proptest::prelude::*;
    use taut_types::{ClientOrderId, Nanos};

    const ANY: core::ops::RangeInclusive<u64> = 0..=u64::MAX;

    /// A record of bytes as it stands in a file.
    fn of_bytes(salt: u64, kind: u16, payload: &[u8]) -> Vec<Word> {
        let (whole, rest) = payload.as_chunks::<8>();
        let head = head(salt, (3, Nanos(5)), kind, payload).map(u64::to_le_bytes);
        let last = (!rest.is_empty()).then(|| last_word(rest));
        head.iter().chain(whole).chain(&last).copied().collect()
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let entry = Entry::Expired { order: ClientOrderId(7) };
        let mut salted = [0; _];
        let len = write(&mut salted, 9, (3, Nanos(5)), &entry);
        let of_entry = salted[1..=len].iter().map(|word| word.to_le_bytes()).collect();
        for mut record in [of_entry, of_bytes(9, 130, b"eleven byte")] {
            let found = read(&record, 9, ANY).expect("a record");
            assert_eq!((found.sequence, found.time, found.words), (3, Nanos(5), record.len()));
            match found.kind {
                130 => assert_eq!(found.payload, b"eleven byte"),
                _ => assert_eq!(found.entry(), Some(entry)),
            }
            assert!(read(&record, 8, ANY).is_none(), "of another segment");
            assert!(read(&record, 9, 4..=9).is_none(), "not the number");
            for bit in 0..64 * record.len() {
                record[bit / 64][bit % 64 / 8] ^= 1 << (bit % 8);
                assert!(read(&record, 9, ANY).is_none(), "{bit}");
                record[bit / 64][bit % 64 / 8] ^= 1 << (bit % 8);
            }
            for len in 0..record.len() {
                assert!(read(&record[..len], 9, ANY).is_none(), "cut at {len}");
            }
        }
    }

    #[test]
    fn the_format_is_what_it_was() {
        const SALT: u64 = 0x0123_4567_89ab_cdef;
        let mut record = [0; _];
        let entry = Entry::HighestNumber(ClientOrderId(3));
        let len = write(&mut record, SALT, (1, Nanos(2)), &entry);
        assert_eq!(record[..=len], [SALT, GOLDEN, 1, 2, 3]);
        // The same as bytes.
        assert_eq!(head(SALT, (1, Nanos(2)), 12, &3_u64.to_le_bytes()), [GOLDEN, 1, 2]);
    }

    /// Computed by hand, bit by bit.
    const GOLDEN: u64 = 0xfbf6_18ac_000c_0004;

    #[test]
    fn bytes_of_all_lengths_come_back() {
        let bytes: Vec<u8> = (0..600_000_u32).map(|byte| byte as u8).collect();
        for length in (0..40).chain([524_256, 524_257, 600_000]) {
            let record = of_bytes(1, 129, &bytes[..length]);
            assert_eq!(record.len(), words_for(length));
            let found = read(&record, 1, ANY).expect("a record");
            assert_eq!((found.kind, found.words), (129, record.len()));
            assert!(found.payload == &bytes[..length], "{length}");
        }
        assert_eq!(First::of(HEAD_WORDS as u64), None, "no kind");
    }

    proptest! {
        #[test]
        fn words_of_any_kind_never_panic(
            words in proptest::collection::vec(any::<Word>(), 0..80),
            kind: u16,
        ) {
            let _ = read(&words, 0, ANY);
            let words: Vec<u64> = words.into_iter().map(u64::from_le_bytes).collect();
            let _ = Entry::unpack(kind % 40, &words);
        }
    }
}
