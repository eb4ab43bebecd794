//! One member of a zip archive (PKWARE's APPNOTE 6.3.10, sections 4.3 and 4.5.3), as numpy writes
//! them: stored or deflated, with the 64-bit sizes where they are needed.

use std::io::{self, BufReader, Error, ErrorKind, Read, Seek, SeekFrom, Take};

use flate2::Crc;
use flate2::read::DeflateDecoder;

const END: [u8; 4] = *b"PK\x05\x06";
const END_LEN: usize = 22;
const LOCATOR_64: [u8; 4] = *b"PK\x06\x07";
const LOCATOR_64_LEN: usize = 20;
const END_64: [u8; 4] = *b"PK\x06\x06";
const END_64_LEN: usize = 56;
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const ENTRY_LEN: usize = 46;
const LOCAL: [u8; 4] = *b"PK\x03\x04";
const LOCAL_LEN: usize = 30;
/// Stands for a number that is elsewhere, in 64 bits.
const ELSEWHERE: u64 = u32::MAX as u64;
const EXTRA_64: u64 = 1;
const IS_ENCRYPTED: u64 = 1;
const STORED: u64 = 0;
const DEFLATED: u64 = 8;

/// The end of a file in which its directory's place stands: a record and a comment, and before it
/// the same in 64 bits.
const TAIL_MAX: u64 = (END_LEN + END_64_LEN + LOCATOR_64_LEN) as u64 + u16::MAX as u64;
/// The largest directory that is read.
const DIRECTORY_MAX: u64 = 1 << 24;

/// A member of an archive, read from its beginning.
///
/// # Errors
/// What is wrong, to be put behind the member's name.
pub fn member<R: Read + Seek>(mut archive: R, name: &str) -> Result<Member<R>, String> {
    let broken = "cannot be found: the file is no zip archive, or it ends early";
    let read = |error: Error| format!("cannot be read ({error})");
    let directory = directory(&mut archive).map_err(read)?.ok_or(broken)?;
    let entry = entry(&directory, name).ok_or(broken)?.ok_or("is not in it")?;
    if entry.flags & IS_ENCRYPTED != 0 {
        return Err("is encrypted".to_owned());
    }
    let at = data_at(&mut archive, &entry).map_err(read)?;
    let at = at.ok_or("is not where the directory says it is")?;
    archive.seek(SeekFrom::Start(at)).map_err(read)?;
    let data = BufReader::with_capacity(1 << 16, archive).take(entry.packed_bytes);
    let data = match entry.method {
        STORED => Data::Stored(data),
        DEFLATED => Data::Deflated(Box::new(DeflateDecoder::new(data))),
        _ => {
            let what = "is neither stored nor deflated; save it with numpy.savez_compressed";
            return Err(what.to_owned());
        }
    };
    Ok(Member { data, crc: Crc::new(), left: entry.bytes, told: entry.crc })
}

/// The bytes of a member, unpacked; at their end they are checked.
#[derive(Debug)]
pub struct Member<R> {
    data: Data<R>,
    crc: Crc,
    /// Bytes that are still to come.
    left: u64,
    /// The checksum that the directory has.
    told: u64,
}

#[derive(Debug)]
enum Data<R> {
    Stored(Take<BufReader<R>>),
    Deflated(Box<DeflateDecoder<Take<BufReader<R>>>>),
}

impl<R: Read> Read for Member<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.data {
            Data::Stored(data) => data.read(to),
            Data::Deflated(data) => data.read(to),
        };
        let damaged = |what: &str| Error::new(ErrorKind::InvalidData, what);
        let read = read.map_err(|error| match error.kind() {
            ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
                damaged("cannot be unpacked: it is damaged")
            }
            _ => error,
        })?;
        self.crc.update(to.get(..read).unwrap_or_default());
        let is_end = read == 0 && !to.is_empty();
        let left = self.left.checked_sub(read as u64);
        match left {
            Some(left) if !is_end || left == 0 && u64::from(self.crc.sum()) == self.told => {
                self.left = left;
                Ok(read)
            }
            _ => Err(damaged("is damaged: its length or its checksum is another")),
        }
    }
}

/// What the directory says about a member of this name. The outer none: it is broken.
fn entry(mut directory: &[u8], name: &str) -> Option<Option<Entry>> {
    while directory.get(..4) == Some(&ENTRY) {
        let [name_len, extra_len, comment_len] = [28, 30, 32].map(|at| number(directory, at, 2));
        let extra_at = ENTRY_LEN + name_len? as usize;
        let comment_at = extra_at + extra_len? as usize;
        if directory.get(ENTRY_LEN..extra_at) == Some(name.as_bytes()) {
            let extra = directory.get(extra_at..comment_at)?;
            return Some(Some(Entry::read(directory, extra)?));
        }
        directory = directory.get(comment_at + comment_len? as usize..)?;
    }
    Some(None)
}

/// What the directory says about a member.
struct Entry {
    flags: u64,
    method: u64,
    crc: u64,
    packed_bytes: u64,
    bytes: u64,
    local_at: u64,
}

impl Entry {
    fn read(entry: &[u8], extra: &[u8]) -> Option<Self> {
        let mut large = extra_64(extra);
        let mut wide = |at| {
            let value = number(entry, at, 4)?;
            if value != ELSEWHERE {
                return Some(value);
            }
            let value = number(large, 0, 8)?;
            large = large.get(8..)?;
            Some(value)
        };
        // In the order in which they stand in the extra field.
        let (bytes, packed_bytes, local_at) = (wide(24)?, wide(20)?, wide(42)?);
        Some(Self {
            flags: number(entry, 8, 2)?,
            method: number(entry, 10, 2)?,
            crc: number(entry, 16, 4)?,
            packed_bytes,
            bytes,
            local_at,
        })
    }
}

/// The 64-bit numbers among the extra fields: each has an id and a length.
fn extra_64(mut extra: &[u8]) -> &[u8] {
    while let (Some(id), Some(len)) = (number(extra, 0, 2), number(extra, 2, 2)) {
        let end = 4 + len as usize;
        if id == EXTRA_64 {
            return extra.get(4..end).unwrap_or_default();
        }
        extra = extra.get(end..).unwrap_or_default();
    }
    &[]
}

/// The directory. At the end of the file stands where it is, before a comment.
fn directory<R: Read + Seek>(archive: &mut R) -> io::Result<Option<Vec<u8>>> {
    let len = archive.seek(SeekFrom::End(0))?;
    let tail_at = len.saturating_sub(TAIL_MAX);
    let tail = bytes(archive, tail_at, TAIL_MAX)?;
    let Some(at) = directory_at(&tail, tail_at) else { return Ok(None) };
    if at >= len {
        return Ok(None);
    }
    bytes(archive, at, DIRECTORY_MAX).map(Some)
}

/// Where the directory begins, as the end of the file says, which begins at `tail_at`.
fn directory_at(tail: &[u8], tail_at: u64) -> Option<u64> {
    let furthest = tail.len().saturating_sub(END_LEN + usize::from(u16::MAX));
    let last = tail.len().checked_sub(END_LEN)?;
    let end = (furthest..=last).rev().find(|&at| tail.get(at..at + 4) == Some(&END))?;
    if let Some(locator) = end.checked_sub(LOCATOR_64_LEN)
        && tail.get(locator..locator + 4) == Some(&LOCATOR_64)
    {
        let end_64 = number(tail, locator + 8, 8)?.checked_sub(tail_at)?;
        let record = tail.get(usize::try_from(end_64).ok()?..)?;
        return (record.get(..4) == Some(&END_64)).then(|| number(record, 48, 8))?;
    }
    number(tail, end + 16, 4)
}

/// Where the packed bytes are: behind a header of their own.
fn data_at<R: Read + Seek>(archive: &mut R, entry: &Entry) -> io::Result<Option<u64>> {
    let local = bytes(archive, entry.local_at, LOCAL_LEN as u64)?;
    if local.get(..4) != Some(&LOCAL) {
        return Ok(None);
    }
    let lens = [26, 28].map(|at| number(&local, at, 2));
    let [Some(name_len), Some(extra_len)] = lens else { return Ok(None) };
    Ok(entry.local_at.checked_add(LOCAL_LEN as u64 + name_len + extra_len))
}

/// Up to so many bytes from a place on.
fn bytes<R: Read + Seek>(archive: &mut R, at: u64, most: u64) -> io::Result<Vec<u8>> {
    archive.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    archive.by_ref().take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A little-endian number of up to 8 bytes.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let mut wide = [0; 8];
    wide.get_mut(..len)?.copy_from_slice(bytes.get(at..)?.get(..len)?);
    Some(u64::from_le_bytes(wide))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use flate2::{Compression, write::DeflateEncoder};
    use std::io::{Cursor, Write};

    /// All bytes of a member.
    fn member(archive: &[u8], name: &str) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let mut member = super::member(Cursor::new(archive), name)?;
        let read = member.read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(|error| error.to_string())
    }

    /// An archive with one member.
    pub fn written(name: &str, bytes: &[u8], is_packed: bool) -> Vec<u8> {
        let data = if is_packed {
            let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(bytes).expect("bytes");
            packed.finish().expect("bytes")
        } else {
            bytes.to_vec()
        };
        let mut crc = Crc::new();
        crc.update(bytes);
        let method = if is_packed { DEFLATED } else { STORED };
        let le = |values: &[(u64, usize)]| {
            let each = values.iter().map(|(value, len)| value.to_le_bytes()[..*len].to_vec());
            each.collect::<Vec<_>>().concat()
        };
        let [packed_len, len] = [data.len(), bytes.len()].map(|len| len as u64);
        let name_len = name.len() as u64;
        let begin = [(0, 2), (method, 2), (0, 4), (u64::from(crc.sum()), 4)];
        // The local header has the sizes in its extra field, as numpy's do.
        let local = [
            &LOCAL[..],
            &le(&[(45, 2)]),
            &le(&begin),
            &le(&[(ELSEWHERE, 4), (ELSEWHERE, 4), (name_len, 2), (20, 2)]),
            name.as_bytes(),
            &le(&[(EXTRA_64, 2), (16, 2), (len, 8), (packed_len, 8)]),
            &data,
        ]
        .concat();
        let entry = [
            &ENTRY[..],
            &le(&[(45, 2), (45, 2)]),
            &le(&begin),
            &le(&[(packed_len, 4), (len, 4), (name_len, 2), (0, 2), (0, 2)]),
            &le(&[(0, 2), (0, 2), (0, 4), (0, 4)]),
            name.as_bytes(),
        ]
        .concat();
        let (at, entry_len) = (local.len() as u64, entry.len() as u64);
        let end = le(&[(0, 4), (1, 2), (1, 2), (entry_len, 4), (at, 4), (0, 2)]);
        [local, entry, END.to_vec(), end].concat()
    }

    /// The same, with everything that can be in 64 bits there, and a comment.
    fn widened(archive: &[u8]) -> Vec<u8> {
        let end = archive.len() - END_LEN;
        let at = number(archive, end + 16, 4).expect("a directory") as usize;
        let (mut entry, mut end_record) = (archive[at..end].to_vec(), archive[end..].to_vec());
        let mut extra = [[1, 0, 24, 0].as_slice()].concat();
        for (from, to) in [(24, 0), (20, 0), (42, 0)] {
            let value = number(&entry, from, 4).expect("a number") + to;
            extra.extend_from_slice(&value.to_le_bytes());
            entry[from..from + 4].fill(0xff);
        }
        entry[30] = extra.len() as u8;
        entry.extend_from_slice(&extra);
        let end_64_at = (at + entry.len()) as u64;
        let mut end_64 = [&END_64[..], &[0; 52]].concat();
        end_64[48..56].copy_from_slice(&(at as u64).to_le_bytes());
        let locator = [&LOCATOR_64[..], &[0; 4], &end_64_at.to_le_bytes(), &[1, 0, 0, 0]].concat();
        end_record[16..20].fill(0xff);
        [&archive[..at], &entry, &end_64, &locator, &end_record, b"a comment"].concat()
    }

    #[test]
    fn a_member_is_found_in_32_and_in_64_bits() {
        let text = b"a long text, a long text, a long text, a long text";
        for is_packed in [false, true] {
            let plain = written("data.npy", text, is_packed);
            for archive in [widened(&plain), plain] {
                assert_eq!(member(&archive, "data.npy").as_deref(), Ok(&text[..]));
                assert_eq!(member(&archive, "data.np"), Err("is not in it".to_owned()));
            }
        }
    }

    #[test]
    fn no_damage_panics_and_none_of_the_data_goes_unnoticed() {
        let text = b"a long text, a long text, a long text, a long text";
        let plain = written("data.npy", text, true);
        for archive in [widened(&plain), plain] {
            for at in 0..archive.len() {
                // Of an archive without the end of its comment all is there.
                if let Ok(bytes) = member(&archive[..at], "data.npy") {
                    assert!(bytes == text && at + b"a comment".len() >= archive.len(), "{at}");
                }
                for bit in 0..8 {
                    let mut damaged = archive.clone();
                    damaged[at] ^= 1 << bit;
                    if let Ok(bytes) = member(&damaged, "data.npy") {
                        assert_eq!(bytes, text, "byte {at}, bit {bit}");
                    }
                }
            }
        }
    }
}
