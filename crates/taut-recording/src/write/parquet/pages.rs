//! The pages of a column.

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::encoding::{Dictionary, bit_width, hybrid};
use super::metadata::{Chunk, Column, ColumnKind, PageKind, page_header};

/// Rows of a group.
pub(super) const ROWS: usize = 131_072;
/// Rows of a page: a reader that looks for a few rows unpacks no more than their pages.
const PAGE_VALUES: usize = 16_384;

/// The pages of a column's values in a group.
pub(super) struct Pages {
    pub bytes: Vec<u8>,
    /// Where the first page of values begins, behind that of a dictionary.
    data_at: usize,
    is_dictionary: bool,
    values: u64,
    /// Bytes as if nothing were packed.
    unpacked: u64,
    bounds: Option<(i64, i64)>,
}

impl Pages {
    /// With a dictionary where that is smaller; texts always have one. Where rows may have nothing,
    /// `has` says of each whether it has a value (1).
    pub fn of(
        column: &Column,
        values: &[i64],
        has: Option<&[u32]>,
        texts: &[String],
        dictionary: &mut Dictionary,
    ) -> Self {
        dictionary.fill(values);
        let distinct = dictionary.values();
        let width = bit_width(distinct.len());
        let plain = column.value_bytes();
        let with = distinct.len() * plain + values.len() * usize::from(width) / 8;
        let is_text = column.kind() == ColumnKind::Text;
        let is_dictionary = with < values.len() * plain || is_text && !values.is_empty();
        let bounds = values.iter().min().zip(values.iter().max()).map(|(a, b)| (*a, *b));
        let rows = has.map_or(values.len(), <[u32]>::len);
        let mut pages = Self {
            bytes: Vec::new(),
            data_at: 0,
            is_dictionary,
            values: rows as u64,
            unpacked: 0,
            bounds: bounds.filter(|_| column.has_bounds()),
        };
        if is_dictionary {
            let body = column.plain(distinct, texts);
            pages.push(PageKind::Dictionary, distinct.len(), &body);
            pages.data_at = pages.bytes.len();
        }
        let (mut from, mut row) = (0, 0);
        while row < rows {
            let rows_of = (rows - row).min(PAGE_VALUES);
            let has = has.and_then(|all| all.get(row..row + rows_of));
            let count = has.map_or(rows_of, |it| it.iter().filter(|has| **has == 1).count());
            let mut body = has.map_or_else(Vec::new, levels);
            let to = from + count;
            let kind = if is_dictionary {
                body.extend(hybrid(dictionary.indices().get(from..to).unwrap_or_default(), width));
                PageKind::Indices
            } else {
                body.extend(column.plain(values.get(from..to).unwrap_or_default(), texts));
                PageKind::Plain
            };
            pages.push(kind, rows_of, &body);
            (from, row) = (to, row + rows_of);
        }
        pages
    }

    fn push(&mut self, kind: PageKind, values: usize, body: &[u8]) {
        let packed = compress_to_vec(body, CompressionLevel::Fastest);
        let header = page_header(kind, values, body.len(), packed.len());
        self.unpacked += (header.len() + body.len()) as u64;
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(&packed);
    }

    /// What the directory says of them, which begin at this byte of the file.
    pub fn chunk(&self, at: u64) -> Chunk {
        Chunk {
            dictionary_at: self.is_dictionary.then_some(at),
            data_at: at + self.data_at as u64,
            values: self.values,
            unpacked: self.unpacked,
            packed: self.bytes.len() as u64,
            bounds: self.bounds,
        }
    }
}

/// Which rows have values, before these (parquet-format, "Data Pages"): the bytes that follow, then
/// one bit a row.
fn levels(has: &[u32]) -> Vec<u8> {
    // The width of a bit is known, and not said.
    let bits = hybrid(has, 1).split_off(1);
    [&(bits.len() as u32).to_le_bytes()[..], &bits].concat()
}
