//! Values as bytes, little-endian, and back.

use taut_fix::InlineText;

/// Writes values one behind the other.
#[derive(Debug, Default)]
pub struct Put(pub Vec<u8>);

impl Put {
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn i64(&mut self, value: i64) {
        self.u64(value.cast_unsigned());
    }

    pub fn i128(&mut self, value: i128) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// A count of what follows.
    pub fn count(&mut self, count: usize) {
        self.u64(count as u64);
    }

    pub fn text<const N: usize>(&mut self, text: &InlineText<N>) {
        // It has less than 256 bytes.
        self.u8(text.as_bytes().len() as u8);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// A value that may be absent.
    pub fn option<T>(&mut self, value: Option<&T>, put: impl FnOnce(&mut Self, &T)) {
        self.u8(u8::from(value.is_some()));
        if let Some(value) = value {
            put(self, value);
        }
    }

    /// Bytes with their length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }
}

/// Reads them. Nothing where there is none any more, or it is no such value.
#[derive(Clone, Copy, Debug)]
pub struct Take<'a>(pub &'a [u8]);

impl<'a> Take<'a> {
    pub fn raw(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.raw(N)?.first_chunk::<N>().copied()
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn i64(&mut self) -> Option<i64> {
        self.u64().map(u64::cast_signed)
    }

    pub fn i128(&mut self) -> Option<i128> {
        self.array().map(i128::from_le_bytes)
    }

    /// A count of things, each of which has one byte at least.
    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.u64()?).ok().filter(|count| *count <= self.0.len())
    }

    pub fn text<const N: usize>(&mut self) -> Option<InlineText<N>> {
        let count = usize::from(self.u8()?);
        InlineText::new(self.raw(count)?)
    }

    pub fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub fn option<T>(&mut self, take: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { take(self).map(Some) } else { Some(None) }
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        self.raw(count)
    }
}

#[cfg(test)]
mod tests {
    use taut_fix::ShortText;

    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_cut_is_nothing() {
        let mut put = Put::default();
        let text = ShortText::new(b"AAPL").expect("a text");
        put.text(&text);
        put.option(Some(&text), Put::text);
        put.option(None, Put::text::<23>);
        put.i64(-7);
        put.i128(-1 << 90);
        put.bytes(b"report");
        let mut take = Take(&put.0);
        assert_eq!(take.text(), Some(text));
        assert_eq!(take.option(Take::text), Some(Some(text)));
        assert_eq!(take.option(Take::text::<23>), Some(None));
        assert_eq!((take.i64(), take.i128()), (Some(-7), Some(-1 << 90)));
        assert_eq!(take.bytes(), Some(&b"report"[..]));
        assert_eq!(take.u8(), None);
        for cut in 0..put.0.len() {
            let mut take = Take(&put.0[..cut]);
            let all = || {
                take.text::<23>()?;
                take.option(Take::text::<23>)?;
                take.option(Take::text::<23>)?;
                take.i64()?;
                take.i128()?;
                take.bytes()
            };
            assert_eq!({ all }(), None, "cut at {cut}");
        }
    }
}
