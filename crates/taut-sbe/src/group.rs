//! Blocks, and groups of entries.

use core::fmt;
use core::marker::PhantomData;

use super::bytes::split_at;
use super::error::Cut;
use super::show::{Value, Writer};

/// A block: `N` bytes that every version of the schema has, and what newer ones add.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a, const N: usize> {
    /// What every version has.
    pub base: &'a [u8; N],
    /// The block as it is on the wire.
    pub all: &'a [u8],
    /// The version of the schema that its sender has.
    pub version: u32,
}

impl<'a, const N: usize> Block<'a, N> {
    /// Splits a block of `length` bytes off.
    #[inline(always)]
    pub fn split(bytes: &'a [u8], length: usize, version: u32) -> Result<(Self, &'a [u8]), Cut> {
        let (all, rest) = split_at(bytes, length)?;
        let base = all.first_chunk().ok_or(Cut::malformed(bytes))?;
        Ok((Self { base, all, version }, rest))
    }

    /// `S` bytes that version `since` brought, if the sender has it.
    #[inline]
    pub fn newer<const AT: usize, const S: usize>(&self, since: u32) -> Option<&'a [u8; S]> {
        if self.version < since { None } else { self.all.get(AT..)?.first_chunk() }
    }
}

/// An entry of a group, or the body of a message.
pub trait Body<'a>: Sized {
    /// Whether nothing follows its block.
    #[doc(hidden)]
    const FLAT: bool;
    /// The length of its block in the oldest version.
    #[doc(hidden)]
    const BYTES: usize;
    /// Splits one off, with a block of this length.
    #[doc(hidden)]
    fn split(bytes: &'a [u8], length: usize, version: u32) -> Result<(Self, &'a [u8]), Cut>;
    /// Hands its fields over by name.
    #[doc(hidden)]
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result;
}

/// The entries of a repeating group. They have been checked when the message was decoded.
pub struct Group<'a, E> {
    bytes: &'a [u8],
    count: usize,
    length: usize,
    version: u32,
    entry: PhantomData<fn() -> E>,
}

/// More entries than this must consume bytes.
const EMPTY_ENTRIES_MAX: usize = 65_535;

impl<'a, E: Body<'a>> Group<'a, E> {
    /// What stands for a group that the sender's version does not have.
    #[doc(hidden)]
    pub const EMPTY: Self =
        Self { bytes: &[], count: 0, length: 0, version: 0, entry: PhantomData };

    /// Checks that `bytes` start with this many entries, and splits them off.
    #[doc(hidden)]
    #[inline(always)]
    pub fn split(
        bytes: &'a [u8],
        length: usize,
        count: usize,
        version: u32,
    ) -> Result<(Self, &'a [u8]), Cut> {
        let len = if E::FLAT {
            if (length < E::BYTES && count > 0) || (length == 0 && count > EMPTY_ENTRIES_MAX) {
                return Err(Cut::malformed(bytes));
            }
            count.checked_mul(length).ok_or(Cut::truncated(bytes))?
        } else {
            Self::measure(bytes, length, count, version)?
        };
        let (bytes, rest) = split_at(bytes, len)?;
        Ok((Self { bytes, count, length, version, entry: PhantomData }, rest))
    }

    /// The length of entries that carry groups or data: each has to be walked through.
    fn measure(bytes: &'a [u8], length: usize, count: usize, version: u32) -> Result<usize, Cut> {
        let mut rest = bytes;
        for _ in 0..count {
            let (_, behind) = E::split(rest, length, version)?;
            if behind.len() == rest.len() && count > EMPTY_ENTRIES_MAX {
                return Err(Cut::malformed(rest));
            }
            rest = behind;
        }
        Ok(bytes.len() - rest.len())
    }

    /// How many entries there are.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The entries in order.
    #[must_use]
    #[inline]
    pub const fn iter(&self) -> Entries<'a, E> {
        Entries(*self)
    }

    /// The entry at this index: at once when entries hold neither groups nor data, else by
    /// walking through those before it.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<E> {
        if index >= self.count {
            return None;
        }
        if !E::FLAT {
            return self.iter().nth(index);
        }
        let bytes = self.bytes.get(index.checked_mul(self.length)?..)?;
        E::split(bytes, self.length, self.version).ok().map(|(entry, _)| entry)
    }
}

impl<E> Clone for Group<'_, E> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Group<'_, E> {}

impl<'a, E: Body<'a>> fmt::Debug for Group<'a, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Value::show(self, &mut Writer::text(f))
    }
}

impl<'a, E: Body<'a>> IntoIterator for Group<'a, E> {
    type Item = E;
    type IntoIter = Entries<'a, E>;
    #[inline]
    fn into_iter(self) -> Entries<'a, E> {
        Entries(self)
    }
}

/// The entries of a group in order.
#[derive(Debug)]
pub struct Entries<'a, E: Body<'a>>(Group<'a, E>);

impl<'a, E: Body<'a>> Clone for Entries<'a, E> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<'a, E: Body<'a>> Iterator for Entries<'a, E> {
    type Item = E;

    #[inline(always)]
    fn next(&mut self) -> Option<E> {
        let group = &mut self.0;
        // Entries with a block end where their bytes do: no need to look at the count as well.
        if group.count == 0 && (E::BYTES == 0 || !E::FLAT) {
            return None;
        }
        let (entry, rest) = E::split(group.bytes, group.length, group.version).ok()?;
        group.bytes = rest;
        group.count = group.count.wrapping_sub(1);
        Some(entry)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.count, Some(self.0.count))
    }
}

impl<'a, E: Body<'a>> ExactSizeIterator for Entries<'a, E> {}

impl<'a, E: Body<'a>> Value for Group<'a, E> {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        to.list(|to| self.iter().try_for_each(|entry| to.item(&Entry(entry, PhantomData))))
    }
}

struct Entry<'a, E>(E, PhantomData<&'a ()>);

impl<'a, E: Body<'a>> Value for Entry<'a, E> {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        to.record(|to| self.0.show(to))
    }
}
