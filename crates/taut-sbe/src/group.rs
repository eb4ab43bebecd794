//! Repeating groups: a dimension (block length, count), then that many blocks.

use core::fmt;

use crate::block::{SnapshotLevel, SnapshotOrder};
use crate::field::Field;

/// Block length and count, `u16` each.
pub(crate) const DIMENSION_BYTES: usize = 4;

/// A block that repeats in a group.
pub(crate) trait Entry: Copy {
    /// Its length in this version of the schema.
    const BYTES: usize;
    /// Reads it from the start of `bytes`, or says at which byte it is wrong.
    fn read(bytes: &[u8]) -> Result<Self, usize>;
    /// Writes it to the start of `bytes`.
    fn write(&self, bytes: &mut [u8]);
}

macro_rules! entry {
    ($name:ident) => {
        impl Entry for $name {
            const BYTES: usize = $name::BYTES;
            fn read(bytes: &[u8]) -> Result<Self, usize> {
                $name::read(bytes.first_chunk().ok_or(0usize)?)
            }
            fn write(&self, bytes: &mut [u8]) {
                if let Some(block) = bytes.first_chunk_mut() {
                    $name::write(self, block);
                }
            }
        }
    };
}

entry!(SnapshotLevel);
entry!(SnapshotOrder);

/// The entries of a repeating group: a slice that is to be written, or a checked piece of a
/// datagram that is read entry by entry.
#[derive(Clone, Copy)]
pub struct Group<'a, T> {
    source: Source<'a, T>,
}

#[derive(Clone, Copy)]
enum Source<'a, T> {
    Values(&'a [T]),
    Encoded { bytes: &'a [u8], stride: usize },
}

impl<'a, T> Group<'a, T> {
    /// A group of these entries.
    #[must_use]
    pub const fn new(entries: &'a [T]) -> Self {
        Self { source: Source::Values(entries) }
    }

    /// How many entries it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self.source {
            Source::Values(values) => values.len(),
            Source::Encoded { bytes, stride } => match bytes.len().checked_div(stride) {
                Some(count) => count,
                None => 0,
            },
        }
    }

    /// Whether it has none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[expect(private_bounds, reason = "the schema's entries, and no others, repeat")]
impl<'a, T: Entry> Group<'a, T> {
    /// Its entries in order.
    #[must_use]
    pub const fn iter(&self) -> Entries<'a, T> {
        Entries { source: self.source }
    }

    /// Reads a group from the start of `bytes` and checks every entry; an error is the offset in
    /// `bytes`.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, usize> {
        let (dimension, rest) = bytes.split_first_chunk::<DIMENSION_BYTES>().ok_or(0usize)?;
        let [b0, b1, n0, n1] = *dimension;
        let stride = usize::from(u16::from_le_bytes([b0, b1]));
        let count = usize::from(u16::from_le_bytes([n0, n1]));
        if stride < T::BYTES {
            return Err(0);
        }
        let entries = rest.get(..stride * count).ok_or(0usize)?;
        for (i, entry) in entries.chunks_exact(stride).enumerate() {
            T::read(entry).map_err(|at| DIMENSION_BYTES + i * stride + at)?;
        }
        Ok(Self { source: Source::Encoded { bytes: entries, stride } })
    }

    /// The length of the group as this crate writes it.
    pub(crate) const fn encoded_bytes(&self) -> usize {
        DIMENSION_BYTES + self.len() * T::BYTES
    }

    /// Writes the group into `bytes`, which have its encoded length.
    pub(crate) fn write(&self, bytes: &mut [u8]) {
        let Some((dimension, rest)) = bytes.split_at_mut_checked(DIMENSION_BYTES) else { return };
        // The length was checked against a packet's 1,400 bytes: the count fits.
        let count = u16::try_from(self.len()).unwrap_or(u16::MAX);
        let words = [u16::try_from(T::BYTES).unwrap_or(u16::MAX), count];
        for (to, word) in dimension.chunks_exact_mut(2).zip(words) {
            word.put(to);
        }
        for (to, entry) in rest.chunks_exact_mut(T::BYTES).zip(self.iter()) {
            entry.write(to);
        }
    }
}

impl<T: Entry + PartialEq> PartialEq for Group<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: Entry + fmt::Debug> fmt::Debug for Group<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The entries of a [`Group`], in order.
#[derive(Clone, Copy)]
pub struct Entries<'a, T> {
    source: Source<'a, T>,
}

impl<T: Entry> Iterator for Entries<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match &mut self.source {
            Source::Values(values) => {
                let (first, rest) = values.split_first()?;
                *values = rest;
                Some(*first)
            }
            Source::Encoded { bytes, stride } => {
                let (first, rest) = bytes.split_at_checked(*stride)?;
                *bytes = rest;
                T::read(first).ok()
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = Group { source: self.source }.len();
        (len, Some(len))
    }
}

impl<T: Entry> ExactSizeIterator for Entries<'_, T> {}

impl<T: Entry + fmt::Debug> fmt::Debug for Entries<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Group { source: self.source }.fmt(f)
    }
}
