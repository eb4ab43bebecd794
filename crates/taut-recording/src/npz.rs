//! numpy's npz files: a zip archive with an npy member for each array.
//!
//! Read are one-dimensional structured arrays of 8-byte fields, stored or deflated, in npy's
//! versions 1 to 3 (numpy's `lib/format.py`): a magic string, the length of a header, the header as
//! a Python dictionary, the rows.

mod archive;

use std::path::Path;

use crate::FileError;

/// The type of a field: little endian, 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// `<u8`.
    Unsigned,
    /// `<i8`.
    Signed,
    /// `<f8`.
    Float,
}

/// A structured array, in memory as it is in the file.
#[derive(Clone, Debug)]
pub struct Table {
    file: String,
    fields: Vec<(String, FieldType)>,
    rows: usize,
    bytes: Vec<u8>,
}

const FIELD_BYTES: usize = 8;
const MAGIC: &[u8] = b"\x93NUMPY";

impl Table {
    /// Reads an array of an npz file by its name.
    ///
    /// # Errors
    /// When the file cannot be read, has no such array, or one of another shape.
    pub fn read(path: &Path, name: &str) -> Result<Self, FileError> {
        let archive = std::fs::read(path).map_err(|error| FileError::unreadable(path, &error))?;
        let told = path.display().to_string();
        let bytes = archive::member(&archive, &format!("{name}.npy"))
            .map_err(|problem| FileError::whole(&told, format!("its array `{name}` {problem}")))?;
        Self::parse(&told, bytes)
    }

    /// Takes the bytes of an npy member of a file of this name.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(file: &str, mut bytes: Vec<u8>) -> Result<Self, FileError> {
        let wrong = |what: &str| FileError::whole(file, format!("its npy {what}"));
        let (header, data) = header(&bytes).ok_or_else(|| wrong("has no header"))?;
        let fields = fields(header)
            .ok_or_else(|| wrong("is no structured array of little-endian fields of 8 bytes"))?;
        let rows = rows(header).ok_or_else(|| wrong("is not one-dimensional"))?;
        let width = fields.len() * FIELD_BYTES;
        let len = rows.checked_mul(width).ok_or_else(|| wrong("is too long"))?;
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
        let mut places = [0; N];
        for (place, (name, kind)) in places.iter_mut().zip(wanted) {
            let is_it = |(own, is): &(String, FieldType)| own == name && *is == kind;
            *place = self.fields.iter().position(is_it).ok_or_else(|| {
                let what = format!("its array has no field `{name}` ({kind:?}, 8 bytes)");
                FileError::whole(&self.file, what)
            })?;
        }
        let width = self.fields.len() * FIELD_BYTES;
        Ok(self.bytes.chunks_exact(width.max(1)).map(move |row| {
            places.map(|place| {
                let field = row.as_chunks::<FIELD_BYTES>().0.get(place);
                u64::from_le_bytes(field.copied().unwrap_or_default())
            })
        }))
    }
}

/// The header's text, and where the rows begin.
fn header(bytes: &[u8]) -> Option<(&str, usize)> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (len, from): (usize, usize) = match rest {
        [1, _, a, b, ..] => (usize::from(u16::from_le_bytes([*a, *b])), 4),
        [2 | 3, _, a, b, c, d, ..] => {
            (usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).ok()?, 6)
        }
        _ => return None,
    };
    let text = rest.get(from..from.checked_add(len)?)?;
    Some((core::str::from_utf8(text).ok()?, MAGIC.len() + from + len))
}

/// The fields: `'descr': [('name', '<u8'), ...]`.
fn fields(header: &str) -> Option<Vec<(String, FieldType)>> {
    let list = value(header, "descr")?.strip_prefix('[')?.split_once(']')?.0;
    let mut fields = Vec::new();
    for field in list.split_terminator(')') {
        let inner = field.trim_start_matches([',', ' ']).strip_prefix('(')?;
        let (name, kind) = inner.split_once(',')?;
        let name = name.trim().strip_prefix('\'')?.strip_suffix('\'')?;
        let kind = match kind.trim() {
            "'<u8'" => FieldType::Unsigned,
            "'<i8'" => FieldType::Signed,
            "'<f8'" => FieldType::Float,
            _ => return None,
        };
        fields.push((name.to_owned(), kind));
    }
    (!fields.is_empty()).then_some(fields)
}

/// The number of rows: `'shape': (5,)`.
fn rows(header: &str) -> Option<usize> {
    let shape = value(header, "shape")?.strip_prefix('(')?.split_once(')')?.0;
    shape.strip_suffix(',')?.trim().parse().ok()
}

/// What follows a key of the header's dictionary.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, after) = header.split_once(&format!("'{key}':"))?;
    Some(after.trim_start())
}

#[cfg(test)]
pub(crate) mod tests {
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
