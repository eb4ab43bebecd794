//! Little-endian fields at fixed places.

#[inline]
pub fn u8_at(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

#[inline]
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|field| u16::from_le_bytes(*field))
}

#[inline]
pub fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at..)?.first_chunk().map(|field| i32::from_le_bytes(*field))
}

#[inline]
pub fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    bytes.get(at..)?.first_chunk().map(|field| i64::from_le_bytes(*field))
}

/// Writes a field; one outside the buffer is left out.
#[inline]
pub fn put<const N: usize>(bytes: &mut [u8], at: usize, field: [u8; N]) {
    if let Some(place) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = field;
    }
}

/// The common header: length, version 0, flags, type.
#[inline]
pub fn put_header(bytes: &mut [u8], length: usize, flags: u8, code: u16) {
    put(bytes, 0, (length as i32).to_le_bytes());
    put(bytes, 4, [0, flags]);
    put(bytes, 6, code.to_le_bytes());
}
