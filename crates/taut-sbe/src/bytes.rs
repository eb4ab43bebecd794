//! Reading and writing at places that are known when the code is compiled.

use super::error::{Cut, EncodeError};

/// `S` bytes at a place that is known to be there when the code is compiled.
#[must_use]
#[inline(always)]
pub fn at<const AT: usize, const S: usize, const N: usize>(bytes: &[u8; N]) -> &[u8; S] {
    const { assert!(AT + S <= N) };
    // Never taken: the line above does not compile when it could be.
    bytes.get(AT..).and_then(|bytes| bytes.first_chunk()).unwrap_or(&[0; S])
}

/// Writes `S` bytes to a place that is known to be there when the code is compiled.
#[inline(always)]
pub fn put<const AT: usize, const S: usize, const N: usize>(bytes: &mut [u8; N], value: [u8; S]) {
    const { assert!(AT + S <= N) };
    if let Some(to) = bytes.get_mut(AT..).and_then(|bytes| bytes.first_chunk_mut()) {
        *to = value;
    }
}

/// Takes a step out of line. rustc 1.95 makes wrong machine code of sixteen groups in a row.
#[inline(never)]
pub fn apart<T>(step: impl FnOnce() -> T) -> T {
    step()
}

/// The first `N` bytes, and what follows them.
#[inline(always)]
pub fn split<const N: usize>(bytes: &[u8]) -> Result<(&[u8; N], &[u8]), Cut> {
    bytes.split_first_chunk().ok_or(Cut::truncated(bytes))
}

/// The first `len` bytes, and what follows them.
#[inline(always)]
pub fn split_at(bytes: &[u8], len: usize) -> Result<(&[u8], &[u8]), Cut> {
    bytes.split_at_checked(len).ok_or(Cut::truncated(bytes))
}

/// The first `N` bytes of a buffer, and what follows them.
#[inline(always)]
pub fn split_mut<const N: usize>(
    buffer: &mut [u8],
) -> Result<(&mut [u8; N], &mut [u8]), EncodeError> {
    buffer.split_first_chunk_mut().ok_or(EncodeError::Full)
}

/// Copies data to the start of a buffer, and gives what follows it.
#[inline(always)]
pub fn put_data<'a>(buffer: &'a mut [u8], data: &[u8]) -> Result<&'a mut [u8], EncodeError> {
    let (to, rest) = buffer.split_at_mut_checked(data.len()).ok_or(EncodeError::Full)?;
    to.copy_from_slice(data);
    Ok(rest)
}

/// A text in a field of `N` bytes, filled up with zeros.
#[inline]
pub fn padded<const N: usize>(text: &[u8]) -> Result<[u8; N], EncodeError> {
    let mut field = [0; N];
    let to = field.get_mut(..text.len()).ok_or(EncodeError::TooLong { length_max: N as u64 })?;
    to.copy_from_slice(text);
    Ok(field)
}

/// Reads an array of values of `S` bytes each.
#[inline]
pub fn array<T: Copy + Default, const S: usize, const N: usize>(
    bytes: &[u8],
    read: impl Fn([u8; S]) -> T,
) -> [T; N] {
    let mut values = [T::default(); N];
    for (value, chunk) in values.iter_mut().zip(bytes.as_chunks().0) {
        *value = read(*chunk);
    }
    values
}

/// Writes an array of values of `S` bytes each.
#[inline]
pub fn array_bytes<T: Copy, const S: usize, const N: usize, const B: usize>(
    values: [T; N],
    write: impl Fn(T) -> [u8; S],
) -> [u8; B] {
    let mut bytes = [0; B];
    for (chunk, value) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
        *chunk = write(value);
    }
    bytes
}

/// The text before the first zero.
#[must_use]
#[inline]
pub fn text(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    core::str::from_utf8(bytes.get(..end)?).ok()
}

/// A fixed field without the zeros at its end.
#[must_use]
pub fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
    bytes.get(..end).unwrap_or(bytes)
}
