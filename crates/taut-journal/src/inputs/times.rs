//! The time table: which frame was appended when, and where it is. A file `times` beside the
//! segments, of rows of four little-endian words, about a second apart.
//!
//! | word | what |
//! |---|---|
//! | 0 | the frame's sequence number |
//! | 1 | CLOCK_MONOTONIC of the frame, nanoseconds |
//! | 2 | segment (32 bits), CRC-32C of the other words and it (32) |
//! | 3 | the frame's byte in the segment's file |
//!
//! It is a help and no part of the journal: who looks a time up looks at the frame, too, and reads
//! from the beginning where the table is missing or wrong.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use taut_simd::crc32c_words;
use taut_types::Nanos;

const NAME: &str = "times";
const ROW_WORDS: usize = 4;
/// From one row to the next, at the least.
pub const STEP: Nanos = Nanos::from_secs(1);
/// Rows that may wait for the keeper.
pub const WAITING: usize = 64;

/// Where a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputPlace {
    /// Its number.
    pub sequence: u64,
    /// CLOCK_MONOTONIC when it was appended.
    pub time: Nanos,
    /// In which segment.
    pub segment: u32,
    /// At which byte of its file.
    pub offset: u64,
}

impl InputPlace {
    fn to_words(self) -> [u64; ROW_WORDS] {
        let (segment, time) = (u64::from(self.segment), self.time.0.cast_unsigned());
        let sum = crc32c_words(&[self.sequence, time, segment, self.offset]);
        [self.sequence, time, segment | u64::from(sum) << 32, self.offset]
    }

    fn read([sequence, time, segment, offset]: [u64; ROW_WORDS]) -> Option<Self> {
        let place =
            Self { sequence, time: Nanos(time.cast_signed()), segment: segment as u32, offset };
        (place.to_words() == [sequence, time, segment, offset]).then_some(place)
    }
}

/// The table that is written. Where that cannot be, there is none.
#[derive(Debug)]
pub struct TimesFile(Option<File>);

impl TimesFile {
    pub fn create(folder: &Path) -> Self {
        let options = OpenOptions::new().create_new(true).append(true).open(folder.join(NAME));
        Self(options.ok())
    }

    /// Appends rows; a table that takes none is given up.
    pub fn append(&mut self, places: impl Iterator<Item = InputPlace>) {
        let Some(file) = &mut self.0 else { return };
        let words = places.flat_map(InputPlace::to_words);
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        if !bytes.is_empty() && file.write_all(&bytes).is_err() {
            self.0 = None;
        }
    }
}

/// The rows of a journal's time table, as far as they can be believed.
pub fn read(folder: &Path) -> Vec<InputPlace> {
    let bytes = std::fs::read(folder.join(NAME)).unwrap_or_default();
    let (words, _) = bytes.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (rows, _) = words.as_chunks::<ROW_WORDS>();
    let places = rows.iter().map_while(|row| InputPlace::read(*row));
    let mut last = 0;
    places
        .take_while(|place| std::mem::replace(&mut last, place.sequence) < place.sequence)
        .collect()
}
