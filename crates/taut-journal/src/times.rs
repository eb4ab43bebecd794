//! The time table: which entry of a recording was appended when, and where it is. A file `times`
//! beside the segments, of rows of four little-endian words, about a second apart.
//!
//! | word | what |
//! |---|---|
//! | 0 | the entry's sequence number |
//! | 1 | CLOCK_MONOTONIC of the entry, nanoseconds |
//! | 2 | segment (32 bits), CRC-32C of the other words and it (32) |
//! | 3 | the entry's byte in the segment's file |
//!
//! It is a help and no part of the journal: who looks a time up looks at the entry, too, and reads
//! from the beginning where the table is missing or wrong.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use taut_simd::crc32c_words;
use taut_types::Nanos;

const NAME: &str = "times";
const ROW_WORDS: usize = 4;
const MODE: u32 = 0o600;
/// From one row to the next, at the least.
pub const STEP: Nanos = Nanos::from_secs(1);
/// Rows that may wait for housekeeping.
pub const WAITING: usize = 64;

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub sequence: u64,
    /// CLOCK_MONOTONIC when it was appended.
    pub time: Nanos,
    /// In which segment.
    pub segment: u32,
    /// At which byte of its file.
    pub offset: u64,
}

impl Place {
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

/// The table that is written, from its first row on.
#[derive(Debug)]
pub enum TimesFile {
    /// Of a journal in which nothing has a row yet, in this folder.
    Due(PathBuf),
    There(File),
    /// It cannot be written: there is none.
    GivenUp,
}

impl TimesFile {
    /// The journal's folder has another name from now on.
    pub fn moved_to(&mut self, to: &Path) {
        if let Self::Due(folder) = self {
            to.clone_into(folder);
        }
    }

    /// Appends rows; a table that takes none is given up.
    pub fn append(&mut self, places: impl Iterator<Item = Place>) {
        let words = places.flat_map(Place::to_words);
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        if bytes.is_empty() {
            return;
        }
        if let Self::Due(folder) = self {
            let mut options = OpenOptions::new();
            let file = options.create(true).append(true).mode(MODE).open(folder.join(NAME));
            *self = file.map_or(Self::GivenUp, Self::There);
        }
        if let Self::There(file) = self
            && file.write_all(&bytes).is_err()
        {
            *self = Self::GivenUp;
        }
    }
}

/// The rows of a journal's time table, as far as they can be believed.
pub fn read(folder: &Path) -> Vec<Place> {
    let bytes = std::fs::read(folder.join(NAME)).unwrap_or_default();
    let (words, _) = bytes.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (rows, _) = words.as_chunks::<ROW_WORDS>();
    let places = rows.iter().map_while(|row| Place::read(*row));
    let mut last = 0;
    places
        .take_while(|place| std::mem::replace(&mut last, place.sequence) < place.sequence)
        .collect()
}
