//! Parquet's metadata (parquet-format, `parquet.thrift`): headers of pages, and the directory at
//! the end of a file.

use std::borrow::Cow;

use super::thrift::Struct;

/// What a file begins and ends with.
pub(super) const MAGIC: &[u8; 4] = b"PAR1";
/// Physical types, codecs, encodings and kinds of pages, by their numbers.
const INT32: i32 = 1;
const INT64: i32 = 2;
const DOUBLE: i32 = 5;
const BYTE_ARRAY: i32 = 6;
const UTF8: i32 = 0;
const ZSTD: i32 = 6;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const RLE_DICTIONARY: i32 = 8;
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;
const REQUIRED: i32 = 0;
const OPTIONAL: i32 = 1;
const VERSION: i32 = 2;

/// A column: its name and what its values mean.
#[derive(Clone, Debug)]
pub(super) struct Column {
    name: Cow<'static, str>,
    kind: ColumnKind,
    is_optional: bool,
}

/// What values mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Integer {
        bits: u8,
        is_signed: bool,
    },
    /// Nanoseconds since 1970, UTC.
    Time,
    /// The bits of floats.
    Number,
    /// Places in a list of texts.
    Text,
}

impl Column {
    /// Nanoseconds since 1970, UTC.
    pub(super) const fn timestamp(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), kind: ColumnKind::Time, is_optional: false }
    }

    pub(super) const fn integer(name: &'static str, bits: u8, is_signed: bool) -> Self {
        let kind = ColumnKind::Integer { bits, is_signed };
        Self { name: Cow::Borrowed(name), kind, is_optional: false }
    }

    /// A column whose rows may have nothing.
    pub(super) const fn optional(name: Cow<'static, str>, kind: ColumnKind) -> Self {
        Self { name, kind, is_optional: true }
    }

    pub(super) const fn kind(&self) -> ColumnKind {
        self.kind
    }

    /// Bytes of a value that is not packed; of a text those of its length and about as many more.
    pub(super) const fn value_bytes(&self) -> usize {
        match self.kind {
            ColumnKind::Integer { bits, .. } if bits < 64 => 4,
            _ => 8,
        }
    }

    /// Whether readers are told its lowest and highest value, which they compare with a sign.
    pub(super) const fn has_bounds(&self) -> bool {
        let is_signed = matches!(
            self.kind,
            ColumnKind::Time | ColumnKind::Integer { bits: 64, is_signed: true }
        );
        is_signed && !self.is_optional
    }

    /// Values one behind the other; texts out of their list.
    pub(super) fn plain(&self, values: &[i64], texts: &[String]) -> Vec<u8> {
        let width = self.value_bytes();
        let mut out = Vec::with_capacity(values.len() * width);
        for value in values {
            if self.kind != ColumnKind::Text {
                out.extend_from_slice(value.to_le_bytes().get(..width).unwrap_or_default());
                continue;
            }
            let text = usize::try_from(*value).ok().and_then(|at| texts.get(at));
            let text = text.map_or(&[][..], |text| text.as_bytes());
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text);
        }
        out
    }

    const fn physical(&self) -> i32 {
        match self.kind {
            ColumnKind::Integer { bits, .. } if bits < 64 => INT32,
            ColumnKind::Integer { .. } | ColumnKind::Time => INT64,
            ColumnKind::Number => DOUBLE,
            ColumnKind::Text => BYTE_ARRAY,
        }
    }

    fn schema(&self) -> Struct {
        let repetition = if self.is_optional { OPTIONAL } else { REQUIRED };
        let element = Struct::default()
            .i32(1, self.physical())
            .i32(3, repetition)
            .binary(4, self.name.as_bytes());
        let (bits, is_signed) = match self.kind {
            ColumnKind::Integer { bits, is_signed } => (bits, is_signed),
            ColumnKind::Time => {
                // UTC, in nanoseconds.
                let unit = Struct::default().nested(3, Struct::default());
                let time = Struct::default().bool(1, true).nested(2, unit);
                return element.nested(10, Struct::default().nested(8, time));
            }
            ColumnKind::Number => return element,
            ColumnKind::Text => {
                let text = Struct::default().nested(1, Struct::default());
                return element.i32(6, UTF8).nested(10, text);
            }
        };
        // What older readers know: UINT_8, UINT_32, UINT_64, INT_8, INT_64.
        let converted = match (bits, is_signed) {
            (8, false) => 11,
            (32, false) => 13,
            (_, false) => 14,
            (8, true) => 15,
            (_, true) => 18,
        };
        let integer = Struct::default().byte(1, bits).bool(2, is_signed);
        element.i32(6, converted).nested(10, Struct::default().nested(10, integer))
    }
}

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageKind {
    Dictionary,
    Indices,
    Plain,
}

/// The header of a page with so many values and bytes.
pub(super) fn page_header(kind: PageKind, values: usize, bytes: usize, packed: usize) -> Vec<u8> {
    let [values, bytes, packed] = [values, bytes, packed].map(|it| it as i32);
    let is_dictionary = kind == PageKind::Dictionary;
    let page = if is_dictionary { DICTIONARY_PAGE } else { DATA_PAGE };
    let header = Struct::default().i32(1, page).i32(2, bytes).i32(3, packed);
    let inner = Struct::default().i32(1, values);
    match kind {
        PageKind::Dictionary => header.nested(7, inner.i32(2, PLAIN)),
        PageKind::Indices => header.nested(5, inner.i32(2, RLE_DICTIONARY).i32(3, RLE).i32(4, RLE)),
        PageKind::Plain => header.nested(5, inner.i32(2, PLAIN).i32(3, RLE).i32(4, RLE)),
    }
    .end()
}

/// A column's values in a group, as the directory has it.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    /// Bytes of the file at which the pages begin.
    pub dictionary_at: Option<u64>,
    pub data_at: u64,
    pub values: u64,
    /// Its bytes, as if nothing were packed, and as they are.
    pub unpacked: u64,
    pub packed: u64,
    /// The lowest and the highest value.
    pub bounds: Option<(i64, i64)>,
}

impl Chunk {
    fn metadata(&self, column: &Column) -> Struct {
        let encodings: &[i32] = match self.dictionary_at {
            Some(_) => &[PLAIN, RLE, RLE_DICTIONARY],
            None => &[PLAIN, RLE],
        };
        let mut metadata = Struct::default()
            .i32(1, column.physical())
            .i32s(2, encodings)
            .strings(3, &[&column.name])
            .i32(4, ZSTD)
            .i64(5, signed(self.values))
            .i64(6, signed(self.unpacked))
            .i64(7, signed(self.packed))
            .i64(9, signed(self.data_at));
        if let Some(at) = self.dictionary_at {
            metadata = metadata.i64(11, signed(at));
        }
        if let Some((low, high)) = self.bounds {
            let bounds = Struct::default()
                .i64(3, 0)
                .binary(5, &high.to_le_bytes())
                .binary(6, &low.to_le_bytes());
            metadata = metadata.nested(12, bounds);
        }
        let first = self.dictionary_at.unwrap_or(self.data_at);
        Struct::default().i64(2, signed(first)).nested(3, metadata)
    }
}

/// Some rows of all columns.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub rows: u64,
    pub chunks: Vec<Chunk>,
}

impl Group {
    fn metadata(&self, columns: &[Column]) -> Struct {
        let unpacked: u64 = self.chunks.iter().map(|chunk| chunk.unpacked).sum();
        let packed: u64 = self.chunks.iter().map(|chunk| chunk.packed).sum();
        let chunks = self.chunks.iter().zip(columns).map(|(chunk, column)| chunk.metadata(column));
        Struct::default()
            .structs(1, chunks)
            .i64(2, signed(unpacked))
            .i64(3, signed(self.rows))
            .i64(6, signed(packed))
    }
}

/// The directory: what columns there are, where their pages are, and notes of whoever wrote them.
pub(super) fn footer(columns: &[Column], groups: &[Group], notes: &[(String, String)]) -> Vec<u8> {
    let root = Struct::default().binary(4, b"taut").i32(5, columns.len() as i32);
    let schema = [root].into_iter().chain(columns.iter().map(Column::schema));
    let rows: u64 = groups.iter().map(|group| group.rows).sum();
    let note = |(key, value): &(String, String)| {
        Struct::default().binary(1, key.as_bytes()).binary(2, value.as_bytes())
    };
    // Values are in the order of their types.
    let order = |_| Struct::default().nested(1, Struct::default());
    Struct::default()
        .i32(1, VERSION)
        .structs(2, schema)
        .i64(3, signed(rows))
        .structs(4, groups.iter().map(|group| group.metadata(columns)))
        .structs(5, notes.iter().map(note))
        .binary(6, concat!("taut version ", env!("CARGO_PKG_VERSION")).as_bytes())
        .structs(7, columns.iter().map(order))
        .end()
}

const fn signed(value: u64) -> i64 {
    value.cast_signed()
}
