//! The rows of an array, read as they come.

use std::io::{ErrorKind, Read, Seek};

use super::archive::{self, Member};
use super::layout::{FIELD_BYTES, FieldType, Shape, fields_at, header, places, shape};
use crate::FileError;

/// Bytes of rows that are read at once, a row at least.
const BLOCK: usize = 1 << 18;

/// A structured array of an npz file, of which some rows are in memory.
#[derive(Debug)]
pub struct TableReader<R> {
    file: String,
    fields: Vec<(String, FieldType)>,
    member: Member<R>,
    /// Rows that are not read yet, and how many were handed out.
    left: usize,
    handed: usize,
    block: Vec<u8>,
    /// Where in the block the next row is.
    at: usize,
}

impl<R: Read + Seek> TableReader<R> {
    /// Begins with an array of an archive by its name; `file` is what errors call the archive.
    ///
    /// # Errors
    /// When the archive has no such array, or one of another shape.
    pub fn open(file: &str, archive: R, name: &str) -> Result<Self, FileError> {
        let wrong = |what: String| FileError::whole(file, what);
        let mut member = archive::member(archive, &format!("{name}.npy"))
            .map_err(|problem| wrong(format!("its array `{name}` {problem}")))?;
        let header =
            header(&mut member).ok_or_else(|| wrong("its npy has no header".to_owned()))?;
        let Shape { fields, rows } =
            shape(&header).map_err(|what| wrong(format!("its npy {what}")))?;
        let (file, block) = (file.to_owned(), Vec::new());
        Ok(Self { file, fields, member, left: rows, handed: 0, block, at: 0 })
    }
}

impl<R: Read> TableReader<R> {
    /// The file's name.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The number of the row that was handed out last, from 0.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.handed.saturating_sub(1)
    }

    /// Where fields stand in each row, in the order in which they are asked for.
    ///
    /// # Errors
    /// When a field is not there, or of another type.
    pub fn places<const N: usize>(
        &self,
        wanted: [(&str, FieldType); N],
    ) -> Result<[usize; N], FileError> {
        places(&self.file, &self.fields, wanted)
    }

    /// The bits of the fields at these places of the next row; nothing behind the last.
    ///
    /// # Errors
    /// When the file ends early or is damaged.
    pub fn next_row<const N: usize>(
        &mut self,
        places: &[usize; N],
    ) -> Result<Option<[u64; N]>, FileError> {
        let width = self.fields.len() * FIELD_BYTES;
        if self.at == self.block.len() {
            if self.left == 0 {
                return self.end().map(|()| None);
            }
            let rows = self.left.min((BLOCK / width.max(1)).max(1));
            self.block.resize(rows * width, 0);
            let read = self.member.read_exact(&mut self.block);
            read.map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => self.broken("ends early"),
                _ => self.broken(&error.to_string()),
            })?;
            (self.left, self.at) = (self.left - rows, 0);
        }
        let row = self.block.get(self.at..self.at + width).unwrap_or_default();
        (self.at, self.handed) = (self.at + width, self.handed + 1);
        Ok(Some(fields_at(row, places)))
    }

    /// Behind the last row the member ends, and was right.
    fn end(&mut self) -> Result<(), FileError> {
        match self.member.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.broken("has more bytes than its header says")),
            Err(error) => Err(self.broken(&error.to_string())),
        }
    }

    fn broken(&self, what: &str) -> FileError {
        let rows = self.handed;
        FileError::whole(&self.file, format!("its array breaks after {rows} rows: it {what}"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::npz::tests::{npy, npz};

    #[test]
    fn rows_come_one_after_the_other_and_damage_is_noticed_where_it_is() {
        let values: Vec<u64> = (0..10_000).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let good = npz(&npy("[('a', '<u8')]", "(10000,)", &bytes), true);
        let read = |archive: &[u8]| -> Result<Vec<u64>, FileError> {
            let mut table = TableReader::open("f", Cursor::new(archive.to_vec()), "data")?;
            let places = table.places([("a", FieldType::Unsigned)])?;
            let mut all = Vec::new();
            while let Some([value]) = table.next_row(&places)? {
                all.push(value);
                assert_eq!(table.at() + 1, all.len());
            }
            assert_eq!(table.next_row(&places), Ok(None));
            Ok(all)
        };
        assert_eq!(read(&good).as_ref(), Ok(&values));
        for at in (40..good.len()).step_by(97) {
            let mut damaged = good.clone();
            damaged[at] ^= 1;
            // Names and dates stand twice, and not all of them are looked at.
            match read(&damaged) {
                Ok(found) => assert_eq!(found.len(), values.len()),
                Err(told) => assert!(told.to_string().starts_with("f: its "), "{told}"),
            }
        }
        let long = npz(&npy("[('a', '<u8')]", "(2,)", &bytes), false);
        let told = read(&long).map(drop).unwrap_err().to_string();
        assert_eq!(
            told,
            "f: its array breaks after 2 rows: it has more bytes than its header says"
        );
        let short = npz(&npy("[('a', '<u8')]", "(90000,)", &bytes), false);
        let told = read(&short).map(drop).unwrap_err().to_string();
        assert!(told.starts_with("f: its array breaks after 0 rows: it ends early"), "{told}");
    }
}
