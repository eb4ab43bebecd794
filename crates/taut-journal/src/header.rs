//! The first words of a segment.
//!
//! | word | what |
//! |---|---|
//! | 0 | magic: `TAUTJRNL` |
//! | 1 | version of the format (32 bits; 2: it has marks), word where the records begin (32) |
//! | 2 | hash of the payloads' layout |
//! | 3 | size of the file in words |
//! | 4 | number of the segment |
//! | 5 | salt of the records' sums, random |
//! | 6 | made at, UTC nanoseconds |
//! | 7 | CRC-32C of the words before |
//!
//! Between header and records stands a checkpoint; in a recording without orders there is none.

use taut_simd::crc32c_words;
use taut_types::Nanos;

use crate::error::What;
use crate::pack::SCHEMA;

/// Words of a header.
pub const HEADER_WORDS: usize = 8;
const MAGIC: u64 = u64::from_le_bytes(*b"TAUTJRNL");
const VERSION: u32 = 1;
/// The same with marks: [`Settings::marks`](crate::Settings::marks).
const WITH_MARKS: u32 = 2;
/// How a segment of a recording began when that had a format of its own.
const OWN_OF_RECORDINGS: u64 = u64::from_le_bytes(*b"TAUTINPT");

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The word where the records begin, behind the checkpoint.
    pub records_at: usize,
    /// Whether a build with the same layout of payloads wrote it.
    pub is_own_schema: bool,
    /// Whether the records say up to where they were on the disk.
    pub has_marks: bool,
    /// Words of the file.
    pub words: usize,
    pub number: u32,
    pub salt: u64,
    pub made_at: Nanos,
}

impl Header {
    pub fn to_words(self) -> [u64; HEADER_WORDS] {
        let version = if self.has_marks { WITH_MARKS } else { VERSION };
        let layout = u64::from(version) | (self.records_at as u64) << 32;
        let (size, number) = (self.words as u64, u64::from(self.number));
        let made_at = self.made_at.0.cast_unsigned();
        let mut words = [MAGIC, layout, SCHEMA, size, number, self.salt, made_at, 0];
        let [said @ .., sum] = &mut words;
        *sum = u64::from(crc32c_words(said));
        words
    }

    /// The header at the start of a file, or what is wrong with it and in which word.
    pub fn read(words: &[u64]) -> Result<Self, (What, usize)> {
        let Some(header) = words.first_chunk::<HEADER_WORDS>() else {
            return Err((What::Cut, words.len()));
        };
        let [magic, layout, schema, size, number, salt, made_at, sum] = *header;
        let [said @ .., _] = header;
        if magic == OWN_OF_RECORDINGS {
            return Err((What::Version(0), 0));
        }
        if magic != MAGIC || u64::from(crc32c_words(said)) != sum {
            return Err((What::Header, 0));
        }
        let has_marks = match layout as u32 {
            VERSION => false,
            WITH_MARKS => true,
            version => return Err((What::Version(version), 1)),
        };
        let (words, records_at) = (size as usize, (layout >> 32) as usize);
        let number = u32::try_from(number).map_err(|_| (What::Header, 4))?;
        if records_at < HEADER_WORDS || records_at > words {
            return Err((What::Header, 1));
        }
        let is_own_schema = schema == SCHEMA;
        let made_at = Nanos(made_at.cast_signed());
        Ok(Self { records_at, is_own_schema, has_marks, words, number, salt, made_at })
    }
}
