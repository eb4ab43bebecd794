//! Thrift's compact protocol, written (thrift, `doc/specs/thrift-compact-protocol.md`): as much of
//! it as Parquet's metadata have.

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct that is written. Its fields come in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    pub(super) fn i32(self, field: u8, value: i32) -> Self {
        self.field(field, I32).varint(zigzag(value.into()))
    }

    pub(super) fn i64(self, field: u8, value: i64) -> Self {
        self.field(field, I64).varint(zigzag(value))
    }

    pub(super) fn byte(self, field: u8, value: u8) -> Self {
        self.field(field, BYTE).raw(&[value])
    }

    pub(super) fn bool(self, field: u8, value: bool) -> Self {
        self.field(field, if value { TRUE } else { FALSE })
    }

    pub(super) fn binary(self, field: u8, value: &[u8]) -> Self {
        self.field(field, BINARY).text(value)
    }

    pub(super) fn nested(self, field: u8, value: Self) -> Self {
        self.field(field, STRUCT).raw(&value.end())
    }

    pub(super) fn structs(self, field: u8, values: impl IntoIterator<Item = Self>) -> Self {
        let values: Vec<_> = values.into_iter().map(Self::end).collect();
        self.list(field, STRUCT, values.len()).raw(&values.concat())
    }

    pub(super) fn i32s(self, field: u8, values: &[i32]) -> Self {
        let list = self.list(field, I32, values.len());
        values.iter().fold(list, |list, value| list.varint(zigzag((*value).into())))
    }

    pub(super) fn strings(self, field: u8, values: &[&str]) -> Self {
        let list = self.list(field, BINARY, values.len());
        values.iter().fold(list, |list, value| list.text(value.as_bytes()))
    }

    /// All of its bytes.
    pub(super) fn end(self) -> Vec<u8> {
        self.raw(&[0]).bytes
    }

    fn field(mut self, field: u8, kind: u8) -> Self {
        // Numbers of fields are below 16, so that each step is.
        let step = field.saturating_sub(self.last);
        self.last = field;
        self.raw(&[step << 4 | kind])
    }

    fn list(self, field: u8, kind: u8, len: usize) -> Self {
        let list = self.field(field, LIST);
        match u8::try_from(len) {
            Ok(len @ 0..=14) => list.raw(&[len << 4 | kind]),
            _ => list.raw(&[0xf0 | kind]).varint(len as u64),
        }
    }

    fn text(self, value: &[u8]) -> Self {
        self.varint(value.len() as u64).raw(value)
    }

    fn varint(mut self, value: u64) -> Self {
        varint(&mut self.bytes, value);
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }
}

/// Seven bits in each byte, the lowest first; the highest bit says that more follow.
pub(super) fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Small numbers of either sign as small numbers.
const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_steps_and_numbers_are_short() {
        let inner = Struct::default().bool(1, true).byte(2, 64);
        let all = Struct::default()
            .i32(1, -1)
            .i64(3, 300)
            .binary(4, b"ab")
            .nested(8, inner)
            .i32s(9, &[1, -2])
            .strings(10, &["x"]);
        let expected = [
            0x15, 1, 0x26, 0xd8, 4, 0x18, 2, b'a', b'b', 0x4c, 0x11, 0x13, 64, 0, 0x19, 0x25, 2, 3,
            0x19, 0x18, 1, b'x', 0,
        ];
        assert_eq!(all.end(), expected);
        let many = Struct::default().structs(1, (0..15).map(|_| Struct::default())).end();
        assert_eq!(many[..3], [0x19, 0xfc, 15]);
    }
}
