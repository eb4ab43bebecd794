//! A zip archive of one member that is written before its size is known: its header is written
//! twice, and has 64-bit sizes always (PKWARE's APPNOTE 6.3.10, sections 4.3 and 4.5.3).

/// What is known of a member at its end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sizes {
    /// The checksum of its bytes.
    pub crc: u32,
    /// Its bytes, packed.
    pub packed: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// The version that knows 64-bit sizes, 4.5.
const VERSION: u16 = 45;
const DEFLATED: u16 = 8;
/// 1980-01-01, the first day of the format: the same rows give the same file.
const DAY: u16 = 1 << 5 | 1;
/// Stands for a number that is elsewhere, in 64 bits.
const ELSEWHERE: u32 = u32::MAX;

/// What stands before the packed bytes; of the same length whatever the sizes are.
pub(crate) fn local(name: &[u8], sizes: &Sizes) -> Vec<u8> {
    let mut out = b"PK\x03\x04".to_vec();
    common(&mut out, name, sizes);
    out.extend_from_slice(name);
    extra(&mut out, sizes);
    out
}

/// The directory and the end of an archive whose member begins at its first byte; `at` is where the
/// directory begins.
pub(crate) fn directory(name: &[u8], sizes: &Sizes, at: u64) -> Vec<u8> {
    let mut out = b"PK\x01\x02".to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    common(&mut out, name, sizes);
    // Comment, disk, attributes, and the place of the member: the first byte.
    out.extend_from_slice(&[0; 14]);
    out.extend_from_slice(name);
    extra(&mut out, sizes);
    let len = out.len() as u64;
    let end_64 = at + len;
    out.extend_from_slice(b"PK\x06\x06");
    out.extend_from_slice(&44_u64.to_le_bytes());
    out.extend_from_slice(&[VERSION.to_le_bytes(), VERSION.to_le_bytes()].concat());
    out.extend_from_slice(&[0; 8]);
    for number in [1, 1, len, at] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(b"PK\x06\x07\0\0\0\0");
    out.extend_from_slice(&end_64.to_le_bytes());
    out.extend_from_slice(&1_u32.to_le_bytes());
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    for number in [len, at] {
        out.extend_from_slice(&u32::try_from(number).unwrap_or(ELSEWHERE).to_le_bytes());
    }
    out.extend_from_slice(&[0; 2]);
    out
}

/// What both headers have: from the version to the lengths of name and extra field.
fn common(out: &mut Vec<u8>, name: &[u8], sizes: &Sizes) {
    for number in [VERSION, 0, DEFLATED, 0, DAY] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for number in [sizes.crc, ELSEWHERE, ELSEWHERE] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    let name_len = u16::try_from(name.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&[name_len.to_le_bytes(), 20_u16.to_le_bytes()].concat());
}

fn extra(out: &mut Vec<u8>, sizes: &Sizes) {
    out.extend_from_slice(&[1, 0, 16, 0]);
    out.extend_from_slice(&[sizes.bytes.to_le_bytes(), sizes.packed.to_le_bytes()].concat());
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use super::super::archive;
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let bytes = b"a long text, a long text, a long text";
        // One block of deflate that is the last, stored.
        let packed = [&[1, 37, 0, !37, 0xff], &bytes[..]].concat();
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let sizes = Sizes { crc: crc.sum(), packed: packed.len() as u64, bytes: 37 };
        let mut archive = [local(b"data.npy", &sizes), packed].concat();
        assert_eq!(local(b"data.npy", &Sizes::default()).len(), local(b"data.npy", &sizes).len());
        archive.extend(directory(b"data.npy", &sizes, archive.len() as u64));
        let mut read = Vec::new();
        let mut member = archive::member(Cursor::new(archive), "data.npy").expect("a member");
        member.read_to_end(&mut read).expect("bytes");
        assert_eq!(read, bytes);
    }
}
