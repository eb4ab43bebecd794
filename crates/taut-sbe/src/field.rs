//! The fields of a block: little-endian values at fixed offsets.

use taut_types::{InstrumentId, Lots, Nanos, OrderId, Price, SequenceNumber, Side, Symbol};

/// A value with a fixed encoded length.
///
/// Callers pass exactly [`Field::BYTES`] bytes, from constant offsets into arrays, so that the
/// length checks below vanish when the code is compiled.
pub(crate) trait Field: Sized {
    /// The encoded length.
    const BYTES: usize;
    /// The value, or nothing when the bytes do not name one.
    fn get(bytes: &[u8]) -> Option<Self>;
    /// Writes the value.
    fn put(&self, bytes: &mut [u8]);
}

macro_rules! integer_field {
    ($($int:ty),*) => {$(
        impl Field for $int {
            const BYTES: usize = size_of::<$int>();
            #[inline]
            fn get(bytes: &[u8]) -> Option<Self> {
                Some(Self::from_le_bytes(*bytes.first_chunk()?))
            }
            #[inline]
            fn put(&self, bytes: &mut [u8]) {
                if let Some(to) = bytes.first_chunk_mut() {
                    *to = self.to_le_bytes();
                }
            }
        }
    )*};
}

macro_rules! wrapped_field {
    ($($outer:ident($inner:ty)),*) => {$(
        impl Field for $outer {
            const BYTES: usize = size_of::<$inner>();
            #[inline]
            fn get(bytes: &[u8]) -> Option<Self> {
                <$inner>::get(bytes).map($outer)
            }
            #[inline]
            fn put(&self, bytes: &mut [u8]) {
                self.0.put(bytes);
            }
        }
    )*};
}

integer_field!(u8, u16, u32, u64, i64);
wrapped_field!(
    OrderId(u64),
    SequenceNumber(u64),
    InstrumentId(u32),
    Price(i64),
    Lots(i64),
    Nanos(i64)
);

impl Field for Side {
    const BYTES: usize = 1;
    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        u8::get(bytes).and_then(Self::from_index)
    }
    #[inline]
    fn put(&self, bytes: &mut [u8]) {
        (*self as u8).put(bytes);
    }
}

/// A name of up to 15 bytes in a field of 16, filled up with zeros.
impl Field for Symbol {
    const BYTES: usize = 16;
    fn get(bytes: &[u8]) -> Option<Self> {
        let field: &[u8; 16] = bytes.first_chunk()?;
        let len = field.iter().position(|&byte| byte == 0)?;
        Self::new(field.get(..len)?)
    }
    fn put(&self, bytes: &mut [u8]) {
        for (i, to) in bytes.iter_mut().take(Self::BYTES).enumerate() {
            *to = self.as_bytes().get(i).copied().unwrap_or(0);
        }
    }
}
