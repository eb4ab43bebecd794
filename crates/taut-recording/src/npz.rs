//! numpy's npz files: a zip archive with an npy member for each array.
//!
//! Read are one-dimensional structured arrays of 8-byte fields, stored or deflated, in npy's
//! versions 1 to 3 (numpy's `lib/format.py`): a magic string, the length of a header, the header as
//! a Python dictionary, the rows.

mod archive;
mod layout;
mod rows;
pub(crate) mod zip;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::FileError;
pub use layout::FieldType;
use layout::{FIELD_BYTES, Shape, fields_at, header, places, shape};
pub use rows::TableReader;

/// A structured array, in memory as it is in the file.
#[derive(Clone, Debug)]
pub struct Table {
    file: String,
    fields: Vec<(String, FieldType)>,
    rows: usize,
    bytes: Vec<u8>,
}

impl Table {
    /// Reads an array of an npz file by its name.
    ///
    /// # Errors
    /// When the file cannot be read, has no such array, or one of another shape.
    pub fn read(path: &Path, name: &str) -> Result<Self, FileError> {
        let archive = File::open(path).map_err(|error| FileError::unreadable(path, &error))?;
        let told = path.display().to_string();
        let wrong = |problem| FileError::whole(&told, format!("its array `{name}` {problem}"));
        let mut member = archive::member(archive, &format!("{name}.npy")).map_err(wrong)?;
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).map_err(|error| wrong(error.to_string()))?;
        Self::parse(&told, bytes)
    }

    /// Takes the bytes of an npy member of a file of this name.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(file: &str, mut bytes: Vec<u8>) -> Result<Self, FileError> {
        let wrong = |what: &str| FileError::whole(file, format!("its npy {what}"));
        let mut rest = bytes.as_slice();
        let header = header(&mut rest).ok_or_else(|| wrong("has no header"))?;
        let data = bytes.len() - rest.len();
        let Shape { fields, rows } = shape(&header).map_err(wrong)?;
        let width = fields.len() * FIELD_BYTES;
        let len = rows * width;
        bytes.drain(..data);
        if bytes.len() != len {
            let what = format!("says {rows} rows of {width} bytes and has {} bytes", bytes.len());
            return Err(wrong(&what));
        }
        Ok(Self { file: file.to_owned(), fields, rows, bytes })
    }

    /// The file's name.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// How many rows it has.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The names and types of its fields, in their order.
    #[must_use]
    pub fn fields(&self) -> &[(String, FieldType)] {
        &self.fields
    }

    /// The raw rows.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bits of fields of each row, in the order in which they are asked for.
    ///
    /// # Errors
    /// When a field is not there, or of another type.
    pub fn select<const N: usize>(
        &self,
        wanted: [(&str, FieldType); N],
    ) -> Result<impl Iterator<Item = [u64; N]>, FileError> {
        let places = places(&self.file, &self.fields, wanted)?;
        let width = self.fields.len() * FIELD_BYTES;
        Ok(self.bytes.chunks_exact(width.max(1)).map(move |row| fields_at(row, &places)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::layout::MAGIC;
    use super::*;

    /// An npy member.
    pub fn npy(descr: &str, shape: &str, rows: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
        let len = u16::try_from(text.len()).expect("a short header").to_le_bytes();
        [MAGIC, &[1, 0], &len, text.as_bytes(), rows].concat()
    }

    /// An npz file with one array.
    pub fn npz(npy: &[u8], is_packed: bool) -> Vec<u8> {
        archive::tests::written("data.npy", npy, is_packed)
    }

    const PAIR: &str = "[('a', '<i8'), ('b', '<f8')]";

    fn rows_of(values: &[(i64, f64)]) -> Vec<u8> {
        let each = values.iter().flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()]);
        each.flatten().collect()
    }

    #[test]
    fn stored_and_deflated_arrays_are_read_by_field() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.npz");
        let npy = npy(PAIR, "(2,)", &rows_of(&[(-1, 0.5), (7, 2.0)]));
        for is_packed in [false, true] {
            std::fs::write(&path, npz(&npy, is_packed)).expect("a file");
            let table = Table::read(&path, "data").expect("an array");
            assert_eq!((table.rows(), table.fields().len()), (2, 2));
            let wanted = [("b", FieldType::Float), ("a", FieldType::Signed)];
            let rows: Vec<_> = table.select(wanted).expect("fields").collect();
            assert_eq!(rows, [[0.5f64.to_bits(), u64::MAX], [2f64.to_bits(), 7]]);
        }
        let told = Table::read(&path, "other").expect_err("no array").to_string();
        assert!(told.ends_with("x.npz: its array `other` is not in it"), "{told}");
        let told = Table::read(&folder.path().join("y"), "data").expect_err("no file").to_string();
        assert!(told.contains("cannot read it"), "{told}");
    }

    #[test]
    fn what_is_no_such_array_is_refused() {
        let good = rows_of(&[(1, 1.0)]);
        for (bytes, what) in [
            (b"\x93NUMPY\x01\x00\xff\xff{}".to_vec(), "has no header"),
            (b"\x93NUMPX".to_vec(), "has no header"),
            (npy("'<i8'", "(2,)", &good), "no structured array"),
            (npy("[('a', '<i4')]", "(4,)", &good), "no structured array"),
            (npy("[]", "(4,)", &good), "no structured array"),
            (npy(PAIR, "(1, 1)", &good), "not one-dimensional"),
            (npy(PAIR, "(2,)", &good), "says 2 rows of 16 bytes and has 16 bytes"),
            (npy(PAIR, "(18446744073709551615,)", &good), "is too long"),
        ] {
            let told = Table::parse("f", bytes).expect_err("no array").to_string();
            assert!(told.starts_with("f: its npy ") && told.contains(what), "{told}");
        }
        let table = Table::parse("f", npy(PAIR, "(1,)", &good)).expect("an array");
        let told = table.select([("a", FieldType::Float)]).map(drop).expect_err("another type");
        assert_eq!(told.to_string(), "f: its array has no field `a` (Float, 8 bytes)");
    }

    #[test]
    fn no_mutation_of_a_member_panics() {
        let good = npy(PAIR, "(3,)", &rows_of(&[(1, 1.0), (2, 2.0), (3, 3.0)]));
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[at] ^= 1 << bit;
                if let Ok(table) = Table::parse("f", bytes) {
                    assert_eq!(table.bytes().len(), table.rows() * table.fields().len() * 8);
                }
            }
            let _ = Table::parse("f", good[..at].to_vec());
        }
    }
}
