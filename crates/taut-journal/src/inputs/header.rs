//! The first words of a segment of inputs.
//!
//! | word | what |
//! |---|---|
//! | 0 | magic: `TAUTINPT` |
//! | 1 | version of the format |
//! | 2 | size of the file in words |
//! | 3 | number of the segment, from 1 |
//! | 4 | salt of the frames' sums, random |
//! | 5 | made at, UTC nanoseconds |
//! | 6 | 0 |
//! | 7 | CRC-32C of the words before |

use taut_simd::crc32c_words;

use crate::error::What;

pub const HEADER_WORDS: usize = 8;
const MAGIC: u64 = u64::from_le_bytes(*b"TAUTINPT");
const VERSION: u64 = 1;

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub words: usize,
    pub number: u32,
    pub salt: u64,
    pub made_at: u64,
}

impl Header {
    pub fn to_words(self) -> [u64; HEADER_WORDS] {
        let number = u64::from(self.number);
        let mut words = [MAGIC, VERSION, self.words as u64, number, self.salt, self.made_at, 0, 0];
        let [said @ .., sum] = &mut words;
        *sum = u64::from(crc32c_words(said));
        words
    }

    /// The header at the start of a file, or what is wrong with it and in which word.
    pub fn read(words: &[u64]) -> Result<Self, (What, usize)> {
        let Some(header) = words.first_chunk::<HEADER_WORDS>() else {
            return Err((What::Cut, words.len()));
        };
        let [magic, version, size, number, salt, made_at, _, sum] = *header;
        let [said @ .., _] = header;
        if magic != MAGIC || u64::from(crc32c_words(said)) != sum {
            return Err((What::Header, 0));
        }
        if version != VERSION {
            return Err((What::Version(version as u32), 1));
        }
        let number = u32::try_from(number).map_err(|_| (What::Header, 3))?;
        Ok(Self { words: size as usize, number, salt, made_at })
    }
}
