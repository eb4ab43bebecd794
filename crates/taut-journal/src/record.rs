//! A record: three words of head, then the payload. All words are little-endian.
//!
//! | word | what |
//! |---|---|
//! | 0 | length in words with the head (16 bits), kind (16), CRC-32C (32): stored last, at once |
//! | 1 | sequence number; in a checkpoint, of the record in it |
//! | 2 | time, UTC nanoseconds |
//! | 3.. | payload |
//!
//! The sum is over the segment's salt, length and kind, and all words behind word 0: what an older
//! file left on the disk, or another segment, is no record here. Word 0 is 0 until all else is
//! there, so that a record that was never finished is not taken for one.

use taut_simd::crc32c_words;
use taut_types::Nanos;

use crate::entry::Entry;
use crate::pack::{PAYLOAD_WORDS_MAX, Payload};

/// Words before the payload.
pub const HEAD_WORDS: usize = 3;
/// A longer one is no record: room for the kinds of later builds.
pub const RECORD_WORDS_MAX: usize = 64;
/// Words of the longest record that this build writes.
pub const WRITTEN_WORDS_MAX: usize = HEAD_WORDS + PAYLOAD_WORDS_MAX;

/// A record that was read.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub kind: u16,
    pub sequence: u64,
    pub time: Nanos,
    pub payload: &'a [u64],
}

impl Record<'_> {
    /// With its head.
    pub const fn words(&self) -> usize {
        HEAD_WORDS + self.payload.len()
    }
}

/// A record on its way into a segment: its words, and how many.
#[inline]
pub fn write(
    salt: u64,
    sequence: u64,
    time: Nanos,
    entry: &Entry,
) -> ([u64; WRITTEN_WORDS_MAX], usize) {
    let mut payload: Payload = [0; PAYLOAD_WORDS_MAX];
    let (kind, len) = entry.pack(&mut payload);
    let words = HEAD_WORDS + len;
    let head = words as u64 | u64::from(kind) << 16;
    let mut summed = [0; 1 + WRITTEN_WORDS_MAX];
    let [salted, first, number, stamp, rest @ ..] = &mut summed;
    (*salted, *first, *number, *stamp) = (salt, head, sequence, time.0.cast_unsigned());
    *rest = payload;
    let sum = crc32c_words(summed.get(..=words).unwrap_or(&[]));
    let [_, mut record @ ..] = summed;
    if let Some(first) = record.first_mut() {
        *first |= u64::from(sum) << 32;
    }
    (record, words)
}

/// The record at the start of these words; `None` when there is no whole and right one.
pub fn read(words: &[u64], salt: u64) -> Option<Record<'_>> {
    let (&first, rest) = words.split_first()?;
    let (len, kind, sum) = (first as u16, (first >> 16) as u16, (first >> 32) as u32);
    let len = usize::from(len);
    if !(HEAD_WORDS..=RECORD_WORDS_MAX).contains(&len) || kind == 0 {
        return None;
    }
    let behind = rest.get(..len - 1)?;
    let mut summed = [0; 1 + RECORD_WORDS_MAX];
    let [salted, head, room @ ..] = &mut summed;
    (*salted, *head) = (salt, first & 0xffff_ffff);
    room.get_mut(..behind.len())?.copy_from_slice(behind);
    if crc32c_words(summed.get(..=len)?) != sum {
        return None;
    }
    let (&[sequence, time], payload) = behind.split_first_chunk()?;
    Some(Record { kind, sequence, time: Nanos(time.cast_signed()), payload })
}

#[cfg(test)]
mod tests {
    use super::{read, write};
    use crate::entry::Entry;
    use proptest::prelude::*;
    use taut_types::{ClientOrderId, Nanos};

    #[test]
    fn every_flipped_bit_is_found() {
        let entry = Entry::Expired { order: ClientOrderId(7) };
        let (mut record, len) = write(9, 3, Nanos(5), &entry);
        let found = read(&record[..len], 9).expect("a record");
        assert_eq!((found.sequence, found.time, found.words()), (3, Nanos(5), len));
        assert!(read(&record[..len], 8).is_none(), "of another segment");
        for bit in 0..64 * len {
            record[bit / 64] ^= 1 << (bit % 64);
            assert!(read(&record[..len], 9).is_none(), "{bit}");
            record[bit / 64] ^= 1 << (bit % 64);
        }
    }

    #[test]
    fn the_format_is_what_it_was() {
        let (record, len) =
            write(0x0123_4567_89ab_cdef, 1, Nanos(2), &Entry::HighestNumber(ClientOrderId(3)));
        assert_eq!(record[..len], [record[0], 1, 2, 3]);
        assert_eq!(record[0], GOLDEN);
    }

    /// Computed by hand, bit by bit.
    const GOLDEN: u64 = 0xfbf6_18ac_000c_0004;

    proptest! {
        #[test]
        fn words_of_any_kind_never_panic(
            words in proptest::collection::vec(any::<u64>(), 0..80),
            kind: u16,
        ) {
            let _ = read(&words, 0);
            let _ = Entry::unpack(kind % 40, &words);
        }
    }
}
