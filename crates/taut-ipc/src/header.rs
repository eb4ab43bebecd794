//! The header of a segment: what lies where. Written once, before anybody else knows the segment,
//! and believed only when its checksum, its sizes and the memory's size agree.

use taut_sync::atomic::{AtomicU64, Ordering};

use crate::error::IpcError;

/// The most regions of a segment.
pub const REGIONS_MAX: usize = 30;
/// Bytes of a region's name.
pub(crate) const NAME_BYTES: usize = 32;

/// "TAUT-SEG" in ASCII, read as a big-endian number.
const MAGIC: u64 = 0x5441_5554_2D53_4547;
/// Layout version.
const VERSION: u64 = 3;
/// Reads otherwise on a machine of the other byte order.
const BYTE_ORDER: u64 = 0x0102_0304_0506_0708;
const FIXED_WORDS: usize = 8;
const DESCRIPTOR_WORDS: usize = 12;
/// Regions start on their own pair of cache lines: the prefetcher pulls lines in pairs.
const ALIGN_WORDS: usize = 16;
/// Words of the header.
pub(crate) const HEADER_WORDS: usize = aligned(FIXED_WORDS + REGIONS_MAX * DESCRIPTOR_WORDS);

pub(crate) const fn aligned(words: usize) -> usize {
    words.next_multiple_of(ALIGN_WORDS)
}

/// A region, as the header describes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub id: u32,
    pub version: u32,
    pub kind: u64,
    pub at: usize,
    pub words: usize,
    /// Slots or bytes of a ring.
    pub capacity: usize,
    pub reader_count: usize,
    pub layout: u64,
    pub name: [u8; NAME_BYTES],
}

impl Descriptor {
    fn to_words(self) -> [u64; DESCRIPTOR_WORDS] {
        let (name, _) = self.name.as_chunks::<8>();
        let mut words = [0; DESCRIPTOR_WORDS];
        let numbers = [
            u64::from(self.id) | u64::from(self.version) << 32,
            self.kind,
            self.at as u64,
            self.words as u64,
            self.capacity as u64,
            self.reader_count as u64,
            self.layout,
        ];
        for (word, number) in words.iter_mut().zip(numbers) {
            *word = number;
        }
        for (word, part) in words.iter_mut().skip(8).zip(name) {
            *word = u64::from_ne_bytes(*part);
        }
        words
    }

    fn from_words(words: [u64; DESCRIPTOR_WORDS]) -> Option<Self> {
        let [head, kind, at, length, capacity, readers, layout, _, name @ ..] = words;
        let mut bytes = [0; NAME_BYTES];
        for (part, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(name) {
            *part = word.to_ne_bytes();
        }
        Some(Self {
            id: head as u32,
            version: (head >> 32) as u32,
            kind,
            at: usize::try_from(at).ok()?,
            words: usize::try_from(length).ok()?,
            capacity: usize::try_from(capacity).ok()?,
            reader_count: usize::try_from(readers).ok()?,
            layout,
            name: bytes,
        })
    }

    /// Its name, without the zeros.
    pub(crate) fn name(&self) -> &[u8] {
        let length = self.name.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
        self.name.get(..length).unwrap_or(&[])
    }
}

/// FNV-1a over words: every single-bit flip changes it.
fn checksum(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0xCBF2_9CE4_8422_2325, |sum, word| {
        (sum ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23)
    })
}

/// Gives regions their places; returns the words of the whole segment.
pub(crate) fn lay_out(regions: &mut [Descriptor]) -> Result<usize, IpcError> {
    if regions.len() > REGIONS_MAX {
        return Err(IpcError::Misuse);
    }
    regions.iter_mut().try_fold(HEADER_WORDS, |at, region| {
        region.at = at;
        let words = region.words.checked_next_multiple_of(ALIGN_WORDS).ok_or(IpcError::Misuse)?;
        at.checked_add(words).ok_or(IpcError::Misuse)
    })
}

/// Writes the header of zeroed memory.
pub(crate) fn write(words: &[AtomicU64], regions: &[Descriptor], created_ns: u64) {
    let mut header = [0; HEADER_WORDS];
    let fixed = [MAGIC, VERSION, BYTE_ORDER, words.len() as u64, regions.len() as u64, created_ns];
    for (word, value) in header.iter_mut().zip(fixed) {
        *word = value;
    }
    let (places, _) = header[FIXED_WORDS..].as_chunks_mut::<DESCRIPTOR_WORDS>();
    for (place, region) in places.iter_mut().zip(regions) {
        *place = region.to_words();
    }
    header[7] = checksum(header.iter().copied());
    for (word, value) in words.iter().zip(header).rev() {
        // Relaxed: passing the descriptor or linking the name orders them.
        word.store(value, Ordering::Relaxed);
    }
}

/// Reads and checks the header of a segment's words; returns when it was created and its regions.
/// Nothing is looked up in the memory afterwards: a peer may change it, but not what we believe.
pub(crate) fn read(words: &[AtomicU64]) -> Result<(u64, Vec<Descriptor>), IpcError> {
    let header = words.get(..HEADER_WORDS).ok_or(IpcError::NotASegment)?;
    let mut copy = [0; HEADER_WORDS];
    for (value, word) in copy.iter_mut().zip(header) {
        // Relaxed: as in `write`.
        *value = word.load(Ordering::Relaxed);
    }
    let [magic, version, order, total, count, created, _, sum] =
        *copy.first_chunk::<FIXED_WORDS>().ok_or(IpcError::NotASegment)?;
    if magic == MAGIC.swap_bytes() || order == BYTE_ORDER.swap_bytes() {
        return Err(IpcError::ByteOrder);
    }
    if magic != MAGIC {
        return Err(IpcError::NotASegment);
    }
    if version != VERSION {
        return Err(IpcError::Version { found: version });
    }
    copy[7] = 0;
    let whole = checksum(copy.iter().copied()) == sum && order == BYTE_ORDER;
    if !whole || total != words.len() as u64 || count > REGIONS_MAX as u64 {
        return Err(IpcError::Corrupt);
    }
    let (places, _) = copy[FIXED_WORDS..].as_chunks::<DESCRIPTOR_WORDS>();
    let regions: Option<Vec<Descriptor>> =
        places.iter().take(count as usize).map(|words| Descriptor::from_words(*words)).collect();
    let regions = regions.ok_or(IpcError::Corrupt)?;
    let fits = |region: &Descriptor| {
        let end = region.at.checked_add(region.words);
        region.at >= HEADER_WORDS && end.is_some_and(|end| end <= words.len())
    };
    if regions.iter().all(fits) { Ok((created, regions)) } else { Err(IpcError::Corrupt) }
}
