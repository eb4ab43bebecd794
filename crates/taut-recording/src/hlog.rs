//! HdrHistogram's logs (version 1.3, as `taut demo` and others write them): histograms under tags,
//! each packed by zlib and in base 64 (HdrHistogram's `EncodableHistogram`, V2).

use std::io::Read;
use std::path::Path;

use base64ct::{Base64, Encoding};
use flate2::read::ZlibDecoder;

use crate::FileError;
use crate::rows::Reading;
use crate::text::TextFile;

/// What a packed and an open histogram begin with.
const PACKED: u32 = 0x1c84_9314;
const OPEN: u32 = 0x1c84_9313;
/// Bytes before the counts.
const HEAD: usize = 40;
/// More than any histogram of 64 bits with five digits has.
const BYTES_MAX: u64 = 1 << 26;

/// How often values were: rising values, each the lowest of its bucket, with their counts.
pub type Counts = Vec<(u64, u64)>;

/// The histogram under a tag, all its intervals together; nothing where no line has the tag. The
/// unit is the log's own: nanoseconds in those of taut.
///
/// # Errors
/// What is wrong with the file, and in which line.
pub fn read_histogram(path: &Path, tag: &str) -> Result<Option<Counts>, FileError> {
    let mut file = TextFile::open(path, &Reading::new())?;
    let (mut found, mut lines) = (None::<Counts>, 0);
    while file.advance()? {
        let line = String::from_utf8_lossy(file.line()).into_owned();
        if line.is_empty() || line.starts_with('#') || line.starts_with('"') {
            continue;
        }
        lines += 1;
        let (name, rest) = match line.strip_prefix("Tag=").and_then(|line| line.split_once(',')) {
            Some((name, rest)) => (name, rest),
            None => ("", line.as_str()),
        };
        let wrong =
            || file.wrong("expected a start, a length, a maximum and a histogram in base 64 (V2)");
        let text = rest.split(',').nth(3).ok_or_else(wrong)?;
        if name != tag {
            continue;
        }
        let counts = decode(text.trim()).ok_or_else(wrong)?;
        found = Some(merged(found.take().unwrap_or_default(), counts));
    }
    if lines == 0 {
        let name = path.display().to_string();
        return Err(FileError::whole(&name, "no line of it is a histogram; is it a .hlog?"));
    }
    Ok(found)
}

fn merged(mut one: Counts, other: Counts) -> Counts {
    one.extend(other);
    one.sort_unstable();
    let mut all: Counts = Vec::with_capacity(one.len());
    for (value, count) in one {
        match all.last_mut() {
            Some(last) if last.0 == value => last.1 = last.1.saturating_add(count),
            _ => all.push((value, count)),
        }
    }
    all
}

fn decode(text: &str) -> Option<Counts> {
    let packed = Base64::decode_vec(text).ok()?;
    if word(&packed, 0)? != PACKED {
        return None;
    }
    let mut open = Vec::new();
    ZlibDecoder::new(packed.get(8..)?).take(BYTES_MAX).read_to_end(&mut open).ok()?;
    let digits = word(&open, 12)?;
    if word(&open, 0)? != OPEN || digits > 5 {
        return None;
    }
    let lowest = u64::from(word(&open, 16)?) << 32 | u64::from(word(&open, 20)?);
    let unit = lowest.max(1).ilog2();
    // A bucket is as many parts as tell so many digits apart; half of them are new in each.
    let half = (2 * 10_u64.pow(digits)).next_power_of_two() / 2;
    let mut rest = open.get(HEAD..)?.iter();
    let (mut at, mut counts) = (0_u64, Vec::new());
    while let Some(number) = zigzag(&mut rest) {
        if number < 0 {
            at = at.checked_add(number.unsigned_abs())?;
            continue;
        }
        if number > 0 {
            counts.push((value(at, half, unit)?, number.unsigned_abs()));
        }
        at += 1;
    }
    Some(counts)
}

/// The lowest value of a place.
fn value(at: u64, half: u64, unit: u32) -> Option<u64> {
    let bucket = at / half;
    let (sub, shift) = match bucket {
        0 => (at, 0),
        _ => (at % half + half, u32::try_from(bucket - 1).ok()?),
    };
    let shift = shift.checked_add(unit)?;
    (sub.leading_zeros() >= shift || sub == 0).then(|| sub.checked_shl(shift)).flatten()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A number of seven bits a byte, the ninth whole, its sign in the lowest bit.
fn zigzag<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> Option<i64> {
    let mut value = 0_u64;
    for part in 0..9 {
        let byte = u64::from(*bytes.next()?);
        if part == 8 {
            value |= byte << 56;
            break;
        }
        value |= (byte & 0x7f) << (7 * part);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_seven_bits_have_a_sign() {
        let of = |bytes: &[u8]| zigzag(&mut bytes.iter());
        for (bytes, number) in [
            (&[0][..], Some(0)),
            (&[1], Some(-1)),
            (&[2], Some(1)),
            (&[0x80, 1], Some(64)),
            (&[0xff; 9], Some(i64::MIN)),
            (&[0x80], None),
        ] {
            assert_eq!(of(bytes), number, "{bytes:?}");
        }
    }

    #[test]
    fn places_are_values_that_double_their_steps() {
        // Three digits: 2048 places of one each, then 1024 of two, and so on.
        for (at, expected) in
            [(0, 0), (1_023, 1_023), (1_024, 1_024), (2_047, 2_047), (2_048, 2_048), (2_049, 2_050)]
        {
            assert_eq!(value(at, 1_024, 0), Some(expected), "{at}");
        }
        assert_eq!(value(3_072, 1_024, 0), Some(4_096));
        assert_eq!(value(1 << 40, 1_024, 0), None, "a damaged file");
    }

    #[test]
    fn what_is_no_log_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.hlog");
        for (text, what) in [
            ("#[comment]\n", "no line of it is a histogram"),
            ("Tag=a,0.0,1.0,2.0,AAAA\n", "x.hlog:1: expected a start"),
            ("Tag=a,0.0\n", "x.hlog:1: expected a start"),
        ] {
            std::fs::write(&path, text).expect("a file");
            let told = read_histogram(&path, "a").expect_err("no log").to_string();
            assert!(told.contains(what), "{told}");
        }
        std::fs::write(&path, "Tag=a,0.0,1.0,2.0,AAAA\n").expect("a file");
        assert_eq!(read_histogram(&path, "b"), Ok(None));
    }
}
