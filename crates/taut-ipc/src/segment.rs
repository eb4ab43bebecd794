//! The segment: header, regions, and the cast from mapped bytes to atomics.

use std::fmt;
use std::mem::{align_of, size_of};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{Mapping, SharedMemory, SysError};

/// The most regions of a segment.
pub const REGIONS_MAX: usize = 14;

/// "TAUT-SEG" in ASCII, read as a big-endian number.
const MAGIC: u64 = 0x5441_5554_2D53_4547;
/// Layout version. The number also tells a peer of the other byte order: it reads another one.
const VERSION: u64 = 1;
/// Magic, version, total words, region count, then a descriptor of four words per region.
const HEADER_WORDS: usize = 4 + 4 * REGIONS_MAX + 4;
/// Regions start on their own pair of cache lines: the prefetcher pulls lines in pairs.
const ALIGN_WORDS: usize = 16;
const WORD_BYTES: usize = size_of::<AtomicU64>();

/// A part of a segment: what it is (an application's number) and how many words it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The application's number for it, unique within the segment.
    pub id: u32,
    /// The layout version of what lies in it; the other side must expect the same.
    pub version: u32,
    /// Its length in words of 8 bytes.
    pub words: usize,
}

/// Why a segment cannot be made or used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SegmentError {
    /// A system call failed.
    System(SysError),
    /// More regions than [`REGIONS_MAX`], or two with one id.
    Misuse,
    /// The memory is no segment, or one of another version or byte order.
    NotASegment,
    /// The header contradicts the memory's size.
    Corrupt,
    /// There is no such region, or it has another version or length.
    Region {
        /// The region asked for.
        id: u32,
    },
}

impl fmt::Display for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(f, "shared memory: {error}"),
            Self::Misuse => f.write_str("shared memory: too many regions, or one twice"),
            Self::NotASegment => {
                f.write_str("shared memory: not a taut segment of this version and byte order")
            }
            Self::Corrupt => f.write_str("shared memory: the header contradicts the size"),
            Self::Region { id } => {
                write!(f, "shared memory: region {id} is absent or of another layout")
            }
        }
    }
}

impl std::error::Error for SegmentError {}

impl From<SysError> for SegmentError {
    fn from(error: SysError) -> Self {
        Self::System(error)
    }
}

/// A mapped segment.
#[derive(Debug)]
pub struct Segment {
    memory: SharedMemory,
    mapping: Mapping,
}

const fn aligned(words: usize) -> usize {
    words.next_multiple_of(ALIGN_WORDS)
}

impl Segment {
    /// Creates a segment of zeroed regions. `name` is for `/proc/PID/maps` only.
    ///
    /// # Errors
    /// When the regions are too many, or the system has no room.
    pub fn create(name: &str, regions: &[Region]) -> Result<Self, SegmentError> {
        let twice =
            (1..regions.len()).any(|at| regions[..at].iter().any(|r| r.id == regions[at].id));
        if regions.len() > REGIONS_MAX || twice {
            return Err(SegmentError::Misuse);
        }
        let total = regions.iter().fold(aligned(HEADER_WORDS), |sum, r| sum + aligned(r.words));
        let memory = SharedMemory::create(name, total * WORD_BYTES)?;
        let segment = Self { mapping: memory.map()?, memory };
        let header = segment.words();
        let mut at = aligned(HEADER_WORDS);
        for (index, region) in regions.iter().enumerate() {
            let descriptor =
                [region.id.into(), region.version.into(), at as u64, region.words as u64];
            for (word, value) in header[4 + 4 * index..].iter().zip(descriptor) {
                word.store(value, Ordering::Relaxed);
            }
            at += aligned(region.words);
        }
        header[1].store(VERSION, Ordering::Relaxed);
        header[2].store(total as u64, Ordering::Relaxed);
        header[3].store(regions.len() as u64, Ordering::Relaxed);
        // Release, and last: who sees the magic sees the whole header.
        header[0].store(MAGIC, Ordering::Release);
        Ok(segment)
    }

    /// Maps a segment that another process created and passed on.
    ///
    /// # Errors
    /// When it is no segment of this version and byte order, or its header is corrupt.
    pub fn attach(fd: OwnedFd) -> Result<Self, SegmentError> {
        let memory = SharedMemory::adopt(fd)?;
        if memory.bytes() < aligned(HEADER_WORDS) * WORD_BYTES {
            return Err(SegmentError::NotASegment);
        }
        let segment = Self { mapping: memory.map()?, memory };
        let header = segment.words();
        // Acquire: pairs with the creator's release of the magic.
        if header[0].load(Ordering::Acquire) != MAGIC
            || header[1].load(Ordering::Relaxed) != VERSION
        {
            return Err(SegmentError::NotASegment);
        }
        let total = header[2].load(Ordering::Relaxed);
        let count = header[3].load(Ordering::Relaxed);
        if total != header.len() as u64 || count > REGIONS_MAX as u64 {
            return Err(SegmentError::Corrupt);
        }
        Ok(segment)
    }

    /// The words of a region, which must be there as described. The header lies in memory that a
    /// peer can write, so that what it says is checked at each look-up.
    ///
    /// # Errors
    /// [`SegmentError::Region`] when it is absent or of another version or length.
    pub fn region(&self, wanted: Region) -> Result<&[AtomicU64], SegmentError> {
        let words = self.words();
        let absent = SegmentError::Region { id: wanted.id };
        let (descriptors, _) = words[4..4 + 4 * REGIONS_MAX].as_chunks::<4>();
        let [_, _, at, _] = descriptors
            .iter()
            .map(|descriptor| descriptor.each_ref().map(|word| word.load(Ordering::Relaxed)))
            .find(|&[id, version, _, len]| {
                id == u64::from(wanted.id)
                    && version == u64::from(wanted.version)
                    && len == wanted.words as u64
                    && len > 0
            })
            .ok_or(absent)?;
        let at = usize::try_from(at).map_err(|_| absent)?;
        let end = at.checked_add(wanted.words).ok_or(absent)?;
        if at < aligned(HEADER_WORDS) {
            return Err(absent);
        }
        words.get(at..end).ok_or(absent)
    }

    /// All words of the segment, header first.
    fn words(&self) -> &[AtomicU64] {
        const { assert!(align_of::<AtomicU64>() <= 4096) };
        let start = self.mapping.start().cast::<AtomicU64>();
        let count = self.mapping.bytes() / WORD_BYTES;
        // SAFETY: the mapping covers `count` words from `start`, which is aligned to a page, for as
        // long as `self` lives (the borrow); it is sealed against shrinking; every bit pattern is a
        // valid AtomicU64; and all access, here and in other processes, is by atomics, so that
        // concurrent writes are no data races.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), count) }
    }
}

impl AsFd for Segment {
    /// The descriptor to pass to another process.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGIONS: [Region; 2] =
        [Region { id: 1, version: 1, words: 3 }, Region { id: 2, version: 5, words: 100 }];

    fn duplicate(segment: &Segment) -> OwnedFd {
        segment.as_fd().try_clone_to_owned().expect("duplicate")
    }

    #[test]
    fn a_word_stored_by_one_is_seen_by_the_other() {
        let ours = Segment::create("taut-test", &REGIONS).expect("create");
        let theirs = Segment::attach(duplicate(&ours)).expect("attach");
        for region in REGIONS {
            let mine = ours.region(region).expect("region");
            assert_eq!(mine.len(), region.words);
            assert!(mine.as_ptr().addr().is_multiple_of(128));
            mine[region.words - 1].store(7, Ordering::Relaxed);
            let their_words = theirs.region(region).expect("region");
            assert_eq!(their_words[region.words - 1].load(Ordering::Relaxed), 7);
        }
    }

    #[test]
    fn refuses_a_region_of_another_layout() {
        let segment = Segment::create("taut-test", &REGIONS).expect("create");
        let other = [
            Region { id: 3, ..REGIONS[0] },
            Region { version: 2, ..REGIONS[0] },
            Region { words: 4, ..REGIONS[0] },
        ];
        for region in other {
            let refused = segment.region(region).err();
            assert_eq!(refused, Some(SegmentError::Region { id: region.id }));
        }
    }

    #[test]
    fn refuses_every_single_bit_flip_of_the_header_or_stays_within_bounds() {
        let segment = Segment::create("taut-test", &REGIONS).expect("create");
        for at in 0..HEADER_WORDS {
            for bit in 0..64 {
                let word = &segment.words()[at];
                let good = word.load(Ordering::Relaxed);
                word.store(good ^ (1 << bit), Ordering::Relaxed);
                if let Ok(attached) = Segment::attach(duplicate(&segment)) {
                    for region in REGIONS {
                        let _ = attached.region(region).map(|words| words.len());
                    }
                } else {
                    assert!(at < 4, "word {at} bit {bit}");
                }
                word.store(good, Ordering::Relaxed);
            }
        }
        assert!(Segment::attach(duplicate(&segment)).is_ok());
    }

    #[test]
    fn refuses_memory_that_is_no_segment_and_regions_that_clash() {
        let memory = SharedMemory::create("taut-test", 8192).expect("memory");
        let fd = memory.as_fd().try_clone_to_owned().expect("duplicate");
        assert_eq!(Segment::attach(fd).err(), Some(SegmentError::NotASegment));
        let clash = Segment::create("taut-test", &[REGIONS[0], REGIONS[0]]).err();
        assert_eq!(clash, Some(SegmentError::Misuse));
    }
}
