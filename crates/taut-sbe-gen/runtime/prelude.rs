use core::fmt::{self, Write as _};
use core::marker::PhantomData;

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before the part of the message that starts at `offset` does.
    Truncated {
        /// In bytes from the start of what was decoded.
        offset: usize,
    },
    /// A block, a length or a count at `offset` cannot be what a peer with this schema wrote.
    Malformed {
        /// In bytes from the start of what was decoded.
        offset: usize,
    },
    /// It is another message than the one asked for, or one that the schema does not have.
    OtherTemplate {
        /// What its header says.
        template: u64,
    },
    /// It is a message of another schema.
    OtherSchema {
        /// What its header says.
        schema: u64,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { offset } => {
                write!(f, "the message ends within what starts at byte {offset}")
            }
            Self::Malformed { offset } => write!(f, "malformed message at byte {offset}"),
            Self::OtherTemplate { template } => write!(f, "unexpected template {template}"),
            Self::OtherSchema { schema } => write!(f, "message of schema {schema}"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Why a message was not written. What the buffer holds is then not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer is too short.
    Full,
    /// The group has more entries than its count can say.
    TooManyEntries {
        /// How many it can have.
        count_max: u64,
    },
    /// The text or data is longer than its field or its length can say.
    TooLong {
        /// How long it can be.
        length_max: u64,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the buffer is too short for the message"),
            Self::TooManyEntries { count_max } => {
                write!(f, "the group can have {count_max} entries at most")
            }
            Self::TooLong { length_max } => {
                write!(f, "the field can have {length_max} bytes at most")
            }
        }
    }
}

impl core::error::Error for EncodeError {}

/// A decoding error before its offset is known: how many bytes were left where it was found.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    left: usize,
    truncated: bool,
}

impl Cut {
    #[inline]
    pub(crate) const fn truncated(rest: &[u8]) -> Self {
        Self { left: rest.len(), truncated: true }
    }

    #[inline]
    pub(crate) const fn malformed(rest: &[u8]) -> Self {
        Self { left: rest.len(), truncated: false }
    }

    /// The error of a decoder that began with `whole`.
    pub(crate) const fn within(self, whole: &[u8]) -> DecodeError {
        let offset = whole.len().saturating_sub(self.left);
        if self.truncated {
            DecodeError::Truncated { offset }
        } else {
            DecodeError::Malformed { offset }
        }
    }
}

/// `S` bytes at a place that is known to be there when the code is compiled.
#[inline(always)]
pub(crate) fn at<const AT: usize, const S: usize, const N: usize>(bytes: &[u8; N]) -> &[u8; S] {
    const { assert!(AT + S <= N) };
    // Never taken: the line above does not compile when it could be.
    bytes.get(AT..).and_then(|bytes| bytes.first_chunk()).unwrap_or(&[0; S])
}

/// Writes `S` bytes to a place that is known to be there when the code is compiled.
#[inline(always)]
pub(crate) fn put<const AT: usize, const S: usize, const N: usize>(
    bytes: &mut [u8; N],
    value: [u8; S],
) {
    const { assert!(AT + S <= N) };
    if let Some(to) = bytes.get_mut(AT..).and_then(|bytes| bytes.first_chunk_mut()) {
        *to = value;
    }
}

/// Takes a step out of line. rustc 1.95 makes wrong machine code of sixteen groups in a row.
#[inline(never)]
pub(crate) fn apart<T>(step: impl FnOnce() -> T) -> T {
    step()
}

/// The first `N` bytes, and what follows them.
#[inline(always)]
pub(crate) fn split<const N: usize>(bytes: &[u8]) -> Result<(&[u8; N], &[u8]), Cut> {
    bytes.split_first_chunk().ok_or(Cut::truncated(bytes))
}

/// The first `len` bytes, and what follows them.
#[inline(always)]
pub(crate) fn split_at(bytes: &[u8], len: usize) -> Result<(&[u8], &[u8]), Cut> {
    bytes.split_at_checked(len).ok_or(Cut::truncated(bytes))
}

/// The first `N` bytes of a buffer, and what follows them.
#[inline(always)]
pub(crate) fn split_mut<const N: usize>(
    buffer: &mut [u8],
) -> Result<(&mut [u8; N], &mut [u8]), EncodeError> {
    buffer.split_first_chunk_mut().ok_or(EncodeError::Full)
}

/// Copies data to the start of a buffer, and gives what follows it.
#[inline(always)]
pub(crate) fn put_data<'a>(
    buffer: &'a mut [u8],
    data: &[u8],
) -> Result<&'a mut [u8], EncodeError> {
    let (to, rest) = buffer.split_at_mut_checked(data.len()).ok_or(EncodeError::Full)?;
    to.copy_from_slice(data);
    Ok(rest)
}

/// A text in a field of `N` bytes, filled up with zeros.
#[inline]
pub(crate) fn padded<const N: usize>(text: &[u8]) -> Result<[u8; N], EncodeError> {
    let mut field = [0; N];
    let to = field.get_mut(..text.len()).ok_or(EncodeError::TooLong { length_max: N as u64 })?;
    to.copy_from_slice(text);
    Ok(field)
}

/// Reads an array of values of `S` bytes each.
#[inline]
pub(crate) fn array<T: Copy + Default, const S: usize, const N: usize>(
    bytes: &[u8],
    read: impl Fn([u8; S]) -> T,
) -> [T; N] {
    let mut values = [T::default(); N];
    for (value, chunk) in values.iter_mut().zip(bytes.as_chunks().0) {
        *value = read(*chunk);
    }
    values
}

/// Writes an array of values of `S` bytes each.
#[inline]
pub(crate) fn array_bytes<T: Copy, const S: usize, const N: usize, const B: usize>(
    values: [T; N],
    write: impl Fn(T) -> [u8; S],
) -> [u8; B] {
    let mut bytes = [0; B];
    for (chunk, value) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
        *chunk = write(value);
    }
    bytes
}

/// The text before the first zero.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    core::str::from_utf8(bytes.get(..end)?).ok()
}

/// A block: `N` bytes that every version of the schema has, and what newer ones add.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a, const N: usize> {
    pub(crate) base: &'a [u8; N],
    pub(crate) all: &'a [u8],
    pub(crate) version: u32,
}

impl<'a, const N: usize> Block<'a, N> {
    /// Splits a block of `length` bytes off.
    #[inline(always)]
    pub(crate) fn split(
        bytes: &'a [u8],
        length: usize,
        version: u32,
    ) -> Result<(Self, &'a [u8]), Cut> {
        let (all, rest) = split_at(bytes, length)?;
        let base = all.first_chunk().ok_or(Cut::malformed(bytes))?;
        Ok((Self { base, all, version }, rest))
    }

    /// `S` bytes that version `since` brought, if the sender has it.
    #[inline]
    pub(crate) fn newer<const AT: usize, const S: usize>(
        &self,
        since: u32,
    ) -> Option<&'a [u8; S]> {
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
    pub(crate) const EMPTY: Self =
        Self { bytes: &[], count: 0, length: 0, version: 0, entry: PhantomData };

    /// Checks that `bytes` start with this many entries, and splits them off.
    #[inline(always)]
    pub(crate) fn split(
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
    fn measure(
        bytes: &'a [u8],
        length: usize,
        count: usize,
        version: u32,
    ) -> Result<usize, Cut> {
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

/// Shows a message as JSON: `{"message","template","version","fields":{...}}`.
pub struct Json<'m, M>(pub(crate) &'m M);

impl<M: Show> fmt::Display for Json<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show_message(&mut Writer { out: f, json: true, first: true })
    }
}

impl<M: Show> fmt::Debug for Json<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A message that can be shown.
pub trait Show {
    /// Hands name, template, version and fields over.
    #[doc(hidden)]
    fn show_message(&self, to: &mut Writer<'_>) -> fmt::Result;
}

/// Writes names and values as text or as JSON.
pub struct Writer<'w> {
    out: &'w mut dyn fmt::Write,
    json: bool,
    first: bool,
}

impl<'w> Writer<'w> {
    pub(crate) fn text(out: &'w mut dyn fmt::Write) -> Self {
        Self { out, json: false, first: true }
    }

    pub(crate) fn message<'a>(
        &mut self,
        name: &str,
        template: u64,
        version: u32,
        body: &impl Body<'a>,
    ) -> fmt::Result {
        if !self.json {
            self.out.write_str(name)?;
            self.out.write_str(" ")?;
            return self.record(|to| body.show(to));
        }
        write!(
            self.out,
            "{{\"message\":\"{name}\",\"template\":{template},\"version\":{version},\"fields\":"
        )?;
        self.record(|to| body.show(to))?;
        self.out.write_str("}")
    }

    pub(crate) fn field(&mut self, name: &str, value: &dyn Value) -> fmt::Result {
        self.comma()?;
        if self.json {
            write!(self.out, "\"{name}\":")?;
        } else {
            write!(self.out, "{name}: ")?;
        }
        value.show(self)
    }

    pub(crate) fn record(
        &mut self,
        fields: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        self.enclosed(["{", "}"], fields)
    }

    pub(crate) fn list(&mut self, items: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        self.enclosed(["[", "]"], items)
    }

    pub(crate) fn item(&mut self, value: &dyn Value) -> fmt::Result {
        self.comma()?;
        value.show(self)
    }

    fn enclosed(
        &mut self,
        [open, close]: [&str; 2],
        inner: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        self.out.write_str(open)?;
        self.first = true;
        inner(self)?;
        self.first = false;
        self.out.write_str(close)
    }

    fn comma(&mut self) -> fmt::Result {
        if !core::mem::replace(&mut self.first, false) {
            self.out.write_str(if self.json { "," } else { ", " })?;
        }
        Ok(())
    }

    pub(crate) fn name(&mut self, name: &str) -> fmt::Result {
        if self.json { self.quoted(name.chars()) } else { self.out.write_str(name) }
    }

    fn quoted(&mut self, text: impl Iterator<Item = char>) -> fmt::Result {
        self.out.write_str("\"")?;
        for character in text {
            match character {
                '"' => self.out.write_str("\\\"")?,
                '\\' => self.out.write_str("\\\\")?,
                '\0'..=' ' if character != ' ' => {
                    write!(self.out, "\\u{:04x}", character as u32)?;
                }
                _ => self.out.write_char(character)?,
            }
        }
        self.out.write_str("\"")
    }

    fn hex(&mut self, bytes: &[u8]) -> fmt::Result {
        self.out.write_str("\"")?;
        for byte in bytes {
            write!(self.out, "{byte:02x}")?;
        }
        self.out.write_str("\"")
    }
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("json", &self.json).finish_non_exhaustive()
    }
}

/// A value that can be shown.
pub(crate) trait Value {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result;
}

macro_rules! shown_as_number {
    ($($integer:ty),*; $($float:ty),*) => {
        $(impl Value for $integer {
            fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
                write!(to.out, "{self}")
            }
        })*
        $(impl Value for $float {
            fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
                if self.is_finite() {
                    write!(to.out, "{self:?}")
                } else {
                    write!(to.out, "\"{self:?}\"")
                }
            }
        })*
    };
}

shown_as_number!(u8, u16, u32, u64, i8, i16, i32, i64; f32, f64);

impl<V: Value> Value for Option<V> {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        match self {
            Some(value) => value.show(to),
            None => to.out.write_str("null"),
        }
    }
}

impl<V: Value, const N: usize> Value for [V; N] {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        to.list(|to| self.iter().try_for_each(|value| to.item(value)))
    }
}

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

/// Bytes that are text in UTF-8, in a fixed field filled up with zeros.
pub(crate) struct Utf8<'a>(pub(crate) &'a [u8]);

impl Value for Utf8<'_> {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        match core::str::from_utf8(self.0) {
            Ok(text) => to.quoted(text.chars()),
            Err(_) => {
                to.out.write_str("{\"hex\":")?;
                to.hex(self.0)?;
                to.out.write_str("}")
            }
        }
    }
}

/// Bytes that are text in ISO 8859-1.
pub(crate) struct Latin1<'a>(pub(crate) &'a [u8]);

impl Value for Latin1<'_> {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        to.quoted(self.0.iter().map(|&byte| char::from(byte)))
    }
}

/// Bytes that are no text.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl Value for Hex<'_> {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        to.hex(self.0)
    }
}

/// A fixed field without the zeros at its end.
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
    bytes.get(..end).unwrap_or(bytes)
}

/// A name of the schema.
pub(crate) struct Name(pub(crate) &'static str);

impl Value for Name {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        to.name(self.0)
    }
}
