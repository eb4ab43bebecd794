//! What an npy header says of a structured array, and where the fields of its rows stand.

use std::io::Read;

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

/// The longest header that is read.
const HEADER_MAX: u32 = 1 << 16;
pub(super) const FIELD_BYTES: usize = 8;
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// The bits of the fields at some places of a row.
pub(super) fn fields_at<const N: usize>(row: &[u8], places: &[usize; N]) -> [u64; N] {
    let fields = row.as_chunks::<FIELD_BYTES>().0;
    places.map(|place| u64::from_le_bytes(fields.get(place).copied().unwrap_or_default()))
}

/// Where fields stand in a row.
pub(super) fn places<const N: usize>(
    file: &str,
    fields: &[(String, FieldType)],
    wanted: [(&str, FieldType); N],
) -> Result<[usize; N], FileError> {
    let mut places = [0; N];
    for (place, (name, kind)) in places.iter_mut().zip(wanted) {
        let is_it = |(own, is): &(String, FieldType)| own == name && *is == kind;
        *place = fields.iter().position(is_it).ok_or_else(|| {
            let what = format!("its array has no field `{name}` ({kind:?}, 8 bytes)");
            FileError::whole(file, what)
        })?;
    }
    Ok(places)
}

/// What a header says of an array, whose bytes can be counted.
pub(super) struct Shape {
    pub fields: Vec<(String, FieldType)>,
    pub rows: usize,
}

pub(super) fn shape(header: &str) -> Result<Shape, &'static str> {
    let fields = fields(header);
    let fields = fields.ok_or("is no structured array of little-endian fields of 8 bytes")?;
    let rows = rows(header).ok_or("is not one-dimensional")?;
    let len = rows.checked_mul(fields.len() * FIELD_BYTES);
    len.map(|_| Shape { fields, rows }).ok_or("is too long")
}

/// The header's text; what is read next are the rows.
pub(super) fn header(npy: &mut impl Read) -> Option<String> {
    let mut start = [0; 8];
    npy.read_exact(&mut start).ok()?;
    let mut len = [0; 4];
    let len_bytes = match start.strip_prefix(MAGIC)? {
        [1, _] => 2,
        [2 | 3, _] => 4,
        _ => return None,
    };
    npy.read_exact(len.get_mut(..len_bytes)?).ok()?;
    let len = u32::from_le_bytes(len);
    if len > HEADER_MAX {
        return None;
    }
    let mut text = String::new();
    let read = npy.take(len.into()).read_to_string(&mut text).ok()?;
    (read == len as usize).then_some(text)
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
