//! A table of any columns that is in memory, as Parquet.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use super::encoding::Dictionary;
use super::metadata::{Column, ColumnKind, Group, MAGIC, footer};
use super::pages::{Pages, ROWS};

/// What the values of a column are. Each row may have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParquetType {
    /// `TIMESTAMP(NANOS, UTC)`: nanoseconds since 1970.
    Time,
    /// `INT64`.
    Integer,
    /// `DOUBLE`.
    Number,
    /// `STRING`.
    Text,
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParquetValue<'a> {
    /// There is none.
    Nothing,
    /// A time, or a whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(&'a str),
}

impl From<Option<i64>> for ParquetValue<'_> {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Self::Nothing, Self::Integer)
    }
}

/// Rows that become a Parquet file: zstd, dictionaries, groups of 131,072 rows.
#[derive(Debug)]
pub struct ParquetTable {
    columns: Vec<(Column, Values)>,
    notes: Vec<(String, String)>,
    rows: usize,
}

/// The values of a column: of all rows whether there is one, and those that there are.
#[derive(Debug, Default)]
struct Values {
    has: Vec<u32>,
    values: Vec<i64>,
    texts: Vec<String>,
    places: HashMap<String, i64>,
}

impl ParquetTable {
    /// A table of these columns without rows.
    pub fn new(
        columns: impl IntoIterator<Item = (impl Into<Cow<'static, str>>, ParquetType)>,
    ) -> Self {
        let columns = columns.into_iter().map(|(name, of)| {
            let kind = match of {
                ParquetType::Time => ColumnKind::Time,
                ParquetType::Integer => ColumnKind::Integer { bits: 64, is_signed: true },
                ParquetType::Number => ColumnKind::Number,
                ParquetType::Text => ColumnKind::Text,
            };
            (Column::optional(name.into(), kind), Values::default())
        });
        Self { columns: columns.collect(), notes: Vec::new(), rows: 0 }
    }

    /// Writes something beside the columns: the file's key-value metadata.
    pub fn note(&mut self, key: &str, value: impl Into<String>) {
        self.notes.push((key.to_owned(), value.into()));
    }

    /// Adds a row: a value for each column, in their order. What is of another kind than its
    /// column, or is missing, is nothing.
    pub fn push<'a>(&mut self, row: impl IntoIterator<Item = ParquetValue<'a>>) {
        let mut row = row.into_iter();
        for (column, values) in &mut self.columns {
            values.push(column.kind(), row.next().unwrap_or(ParquetValue::Nothing));
        }
        self.rows += 1;
    }

    /// Writes it.
    ///
    /// # Errors
    /// What the output says.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(MAGIC)?;
        let (mut at, mut groups, mut dictionary) =
            (MAGIC.len() as u64, Vec::new(), Dictionary::default());
        // Where the values of each column begin that are not written yet.
        let mut next = vec![0; self.columns.len()];
        for from in (0..self.rows).step_by(ROWS) {
            let to = self.rows.min(from + ROWS);
            let mut group = Group { rows: (to - from) as u64, chunks: Vec::new() };
            for ((column, it), next) in self.columns.iter().zip(&mut next) {
                let has = it.has.get(from..to).unwrap_or_default();
                let count = has.iter().filter(|has| **has == 1).count();
                let values = it.values.get(*next..*next + count).unwrap_or_default();
                *next += count;
                let pages = Pages::of(column, values, Some(has), &it.texts, &mut dictionary);
                group.chunks.push(pages.chunk(at));
                out.write_all(&pages.bytes)?;
                at += pages.bytes.len() as u64;
            }
            groups.push(group);
        }
        let columns: Vec<_> = self.columns.iter().map(|(column, _)| column.clone()).collect();
        let footer = footer(&columns, &groups, &self.notes);
        let len = u32::try_from(footer.len()).map_err(io::Error::other)?;
        for part in [&footer[..], &len.to_le_bytes(), MAGIC] {
            out.write_all(part)?;
        }
        out.flush()
    }
}

impl Values {
    fn push(&mut self, kind: ColumnKind, value: ParquetValue<'_>) {
        let word = match (kind, value) {
            (ColumnKind::Time | ColumnKind::Integer { .. }, ParquetValue::Integer(it)) => it,
            (ColumnKind::Number, ParquetValue::Number(it)) => it.to_bits().cast_signed(),
            (ColumnKind::Text, ParquetValue::Text(text)) => match self.places.get(text) {
                Some(place) => *place,
                None => {
                    let place = self.texts.len() as i64;
                    self.texts.push(text.to_owned());
                    self.places.insert(text.to_owned(), place);
                    place
                }
            },
            _ => return self.has.push(0),
        };
        self.has.push(1);
        self.values.push(word);
    }
}
