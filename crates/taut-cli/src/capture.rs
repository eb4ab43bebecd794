//! Captures of frames: a line each, the receive time in nanoseconds, a space, the frame.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use taut_types::Nanos;

use crate::exit::Failure;

/// The bytes of a file, unpacked if it is gzip.
///
/// # Errors
/// [`Failure::Usage`] for a file that cannot be read or unpacked.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::unreadable(path, error))?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut text = Vec::new();
    let unpacked = MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text);
    let at = text.len();
    unpacked.map_err(|error| {
        let path = path.display();
        Failure::Usage(format!("{path}: its gzip breaks after {at} bytes of text ({error})"))
    })?;
    Ok(text)
}

/// The lines of a capture, from 1.
pub fn lines(capture: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let end = capture.strip_suffix(b"\n").unwrap_or(capture);
    let count = if capture.is_empty() { 0 } else { usize::MAX };
    (1..).zip(end.split(|&byte| byte == b'\n').take(count))
}

/// The receive time and the frame of a line.
///
/// # Errors
/// What is expected instead.
pub fn split(line: &[u8]) -> Result<(Nanos, &[u8]), &'static str> {
    let mut parts = line.splitn(2, |&byte| byte == b' ');
    let (Some(time), Some(frame)) = (parts.next(), parts.next()) else {
        return Err("expected a receive time, a space and JSON");
    };
    let time = std::str::from_utf8(time).ok().and_then(|text| text.parse::<u64>().ok());
    match time.and_then(|time| i64::try_from(time).ok()) {
        Some(time) => Ok((Nanos(time), frame)),
        None => Err("expected a receive time in nanoseconds before the JSON"),
    }
}
