//! A mapped segment: header, regions, and the cast from mapped bytes to atomics.

use std::mem::size_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use taut_ring::Bell;
use taut_sync::atomic::{AtomicU32, AtomicU64};
use taut_sys::{Mapping, MemoryFile, SharedMemory, SysError, effective_user};

use crate::error::IpcError;
use crate::header::{self, Descriptor};

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

/// What is mapped.
#[derive(Debug)]
enum Memory {
    Anonymous(SharedMemory),
    Named(MemoryFile),
}

/// A mapped segment.
#[derive(Debug)]
pub struct Segment {
    memory: Memory,
    mapping: Mapping,
    regions: Vec<Descriptor>,
    created_ns: u64,
}

impl Segment {
    /// Creates an anonymous segment of zeroed regions. `name` is for `/proc/PID/maps` only.
    ///
    /// # Errors
    /// When the regions are too many, or the system has no room.
    pub fn create(name: &str, regions: &[Region]) -> Result<Self, IpcError> {
        let twice =
            (1..regions.len()).any(|at| regions[..at].iter().any(|r| r.id == regions[at].id));
        if twice {
            return Err(IpcError::Misuse);
        }
        let raw = |region: &Region| Descriptor {
            id: region.id,
            version: region.version,
            words: region.words,
            ..Descriptor::default()
        };
        let mut regions: Vec<Descriptor> = regions.iter().map(raw).collect();
        let total = header::lay_out(&mut regions)?;
        let memory = SharedMemory::create(name, total * WORD_BYTES)?;
        let mapping = memory.map()?;
        header::write(mapping.words(), &regions, 0);
        Ok(Self { memory: Memory::Anonymous(memory), mapping, regions, created_ns: 0 })
    }

    /// Maps an anonymous segment that another process created and passed on.
    ///
    /// # Errors
    /// When it is no segment of this version and byte order, or its header is corrupt.
    pub fn attach(fd: OwnedFd) -> Result<Self, IpcError> {
        Self::mapped(fd, SharedMemory::map)
    }

    /// The same for a process that only looks: its mapping cannot be written to, and `fd` may be
    /// one by which nobody can ([`Segment::read_only_fd`]). Nothing that stores may be given its
    /// words: a passive subscriber and views of histograms only load.
    ///
    /// # Errors
    /// As [`Segment::attach`].
    pub fn observe(fd: OwnedFd) -> Result<Self, IpcError> {
        Self::mapped(fd, SharedMemory::map_to_read)
    }

    fn mapped(
        fd: OwnedFd,
        map: impl FnOnce(&SharedMemory) -> Result<Mapping, SysError>,
    ) -> Result<Self, IpcError> {
        let memory = SharedMemory::adopt(fd)?;
        if memory.bytes() < header::HEADER_WORDS * WORD_BYTES {
            return Err(IpcError::NotASegment);
        }
        let mapping = map(&memory)?;
        Self::checked(Memory::Anonymous(memory), mapping)
    }

    /// A descriptor to pass to a process that only looks: nobody can write by it.
    ///
    /// # Errors
    /// [`IpcError::Misuse`] of a named segment; what the system says.
    pub fn read_only_fd(&self) -> Result<OwnedFd, IpcError> {
        match &self.memory {
            Memory::Anonymous(memory) => Ok(memory.read_only()?),
            Memory::Named(_) => Err(IpcError::Misuse),
        }
    }

    /// Maps a named file that holds a segment.
    pub(crate) fn of_file(file: MemoryFile, mapping: Mapping) -> Result<Self, IpcError> {
        Self::checked(Memory::Named(file), mapping)
    }

    fn checked(memory: Memory, mapping: Mapping) -> Result<Self, IpcError> {
        let (created_ns, regions) = header::read(mapping.words())?;
        Ok(Self { memory, mapping, regions, created_ns })
    }

    /// The words of a region, which must be there as described.
    ///
    /// # Errors
    /// [`IpcError::Region`] when it is absent or of another version or length.
    pub fn region(&self, wanted: Region) -> Result<&[AtomicU64], IpcError> {
        let matches = |region: &&Descriptor| {
            region.id == wanted.id
                && region.version == wanted.version
                && region.words == wanted.words
        };
        let found = self.regions.iter().find(matches);
        Ok(self.words_at(found.ok_or(IpcError::Region { id: wanted.id })?))
    }

    /// The bell in the first word of a region that is used for nothing else.
    ///
    /// # Errors
    /// As [`Segment::region`]; a region without a word is as one that is absent.
    pub fn bell(&self, wanted: Region) -> Result<Bell<'_>, IpcError> {
        let word = self.region(wanted)?.first();
        Ok(Bell::new(half_of(word.ok_or(IpcError::Region { id: wanted.id })?)))
    }

    /// What the header says.
    pub(crate) fn descriptors(&self) -> &[Descriptor] {
        &self.regions
    }

    /// The words of a region; the header was checked against the mapping.
    pub(crate) fn words_at(&self, region: &Descriptor) -> &[AtomicU64] {
        self.mapping.words().get(region.at..region.at + region.words).unwrap_or(&[])
    }

    /// When it was created, nanoseconds of UTC; 0 when it is anonymous.
    pub(crate) const fn created_ns(&self) -> u64 {
        self.created_ns
    }

    /// The user and the permission bits of its file; an anonymous one is its holders'.
    pub(crate) fn owner(&self) -> Result<(u32, u32), IpcError> {
        match &self.memory {
            Memory::Anonymous(_) => Ok((effective_user(), 0o600)),
            Memory::Named(file) => Ok(file.status().map(|status| (status.owner, status.mode))?),
        }
    }

    /// Its size in bytes.
    pub(crate) const fn bytes(&self) -> usize {
        self.mapping.bytes()
    }

    pub(crate) const fn mapping(&self) -> &Mapping {
        &self.mapping
    }
}

impl AsFd for Segment {
    /// The descriptor to pass to another process.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.memory {
            Memory::Anonymous(memory) => memory.as_fd(),
            Memory::Named(file) => file.as_fd(),
        }
    }
}

/// The first half of a word, to sleep on: the kernel knows words of 32 bits only.
pub(crate) fn half_of(word: &AtomicU64) -> &AtomicU32 {
    // SAFETY: the half lies within the word and is aligned; it lives as long; the word is used
    // through this function only, so that all access to it is of this size.
    unsafe { &*std::ptr::from_ref(word).cast::<AtomicU32>() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_sync::atomic::Ordering;

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
    fn who_only_looks_sees_what_is_stored_and_cannot_map_it_to_write() {
        let ours = Segment::create("taut-test", &REGIONS).expect("create");
        let fd = ours.read_only_fd().expect("a descriptor");
        let again = fd.try_clone().expect("duplicate");
        let theirs = Segment::observe(fd).expect("observe");
        ours.region(REGIONS[0]).expect("region")[2].store(7, Ordering::Relaxed);
        let seen = theirs.region(REGIONS[0]).expect("region")[2].load(Ordering::Relaxed);
        assert_eq!(seen, 7);
        assert!(matches!(Segment::attach(again), Err(IpcError::System(_))));
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
            assert_eq!(refused, Some(IpcError::Region { id: region.id }));
        }
    }

    #[test]
    fn refuses_every_single_bit_flip_of_the_header() {
        let segment = Segment::create("taut-test", &REGIONS).expect("create");
        let words = segment.mapping.words();
        for (at, word) in words.iter().take(header::HEADER_WORDS).enumerate() {
            for bit in 0..64 {
                let good = word.load(Ordering::Relaxed);
                word.store(good ^ (1 << bit), Ordering::Relaxed);
                assert!(Segment::attach(duplicate(&segment)).is_err(), "word {at} bit {bit}");
                word.store(good, Ordering::Relaxed);
            }
        }
        assert!(Segment::attach(duplicate(&segment)).is_ok());
    }

    #[test]
    fn refuses_memory_that_is_no_segment_and_regions_that_clash() {
        let memory = SharedMemory::create("taut-test", 8192).expect("memory");
        let fd = memory.as_fd().try_clone_to_owned().expect("duplicate");
        assert_eq!(Segment::attach(fd).err(), Some(IpcError::NotASegment));
        let clash = Segment::create("taut-test", &[REGIONS[0], REGIONS[0]]).err();
        assert_eq!(clash, Some(IpcError::Misuse));
    }
}
