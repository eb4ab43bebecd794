//! What is found in a file that was left by whatever ended its writer.
//!
//! Damage in the middle (a bit that rotted, a sector that was never written) costs the records that
//! it lies in: the search goes on behind it, and the numbers stand in every record. What has no
//! right record behind it is a torn tail.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use taut_types::Nanos;

use crate::store::places::{Place, Places};
use crate::store::record::{self, ALIGNMENT, HEAD_BYTES, Kind, MAGIC, Numbers, Record};

/// How much of the file is gone through at once.
const PART_BYTES: usize = 4 << 20;

/// What a file holds.
#[derive(Debug)]
pub struct Found {
    pub numbers: Numbers,
    pub period: Option<Nanos>,
    pub places: Places,
    /// Behind the last right record.
    pub end: u64,
    /// Bytes between right records that are none.
    pub damaged_bytes: u64,
    /// Bytes behind the last right record.
    pub torn_bytes: u64,
    /// The magic word itself is damaged.
    pub is_nameless: bool,
}

impl Found {
    /// An empty file.
    pub fn nothing() -> Self {
        Self {
            numbers: Numbers::FIRST,
            period: None,
            places: Places::new(),
            end: MAGIC.len() as u64,
            damaged_bytes: 0,
            torn_bytes: 0,
            is_nameless: true,
        }
    }

    fn take(&mut self, record: &Record, position: u64, bytes: &[u8]) {
        self.numbers = record.numbers;
        let message = record::message(bytes, record);
        match record.kind {
            Kind::Message => {
                let place = Place { position, message_bytes: record.message_bytes };
                self.places.note(record.numbers.outgoing.saturating_sub(1), place);
            }
            Kind::Period => {
                let start = message.and_then(|bytes| bytes.first_chunk());
                self.period = start.map(|bytes| Nanos(i64::from_le_bytes(*bytes)));
            }
            Kind::Numbers => {}
        }
        self.damaged_bytes += position - self.end;
        self.end = position + record.bytes as u64;
    }
}

/// Reads a file. `None` when it is of another kind.
pub fn recover(file: &File) -> io::Result<Option<Found>> {
    let size = file.metadata()?.len();
    let mut magic = [0; MAGIC.len()];
    let known = usize::try_from(size).unwrap_or(usize::MAX).min(magic.len());
    let start = magic.get_mut(..known).unwrap_or_default();
    file.read_exact_at(start, 0)?;
    let is_right = MAGIC.get(..known) == Some(&*start);
    let mut found = Found::nothing();
    if known == MAGIC.len() {
        let mut buffer = Vec::new();
        let mut at = found.end;
        while at < size {
            at = recover_part(file, at, size, &mut buffer, &mut found)?;
        }
        found.is_nameless = !is_right;
        found.torn_bytes = size - found.end;
    }
    // A right record where the first one stands is name enough.
    let has_records = found.end > MAGIC.len() as u64;
    Ok((is_right || has_records).then_some(found))
}

/// Goes through the file from a place on; returns the place to go on from.
fn recover_part(
    file: &File,
    start: u64,
    size: u64,
    buffer: &mut Vec<u8>,
    found: &mut Found,
) -> io::Result<u64> {
    let rest = usize::try_from(size - start).unwrap_or(usize::MAX);
    // Room for the longest record, so that a cut one is a torn one.
    buffer.resize(rest.min(PART_BYTES + record::MESSAGE_BYTES_MAX + HEAD_BYTES), 0);
    file.read_exact_at(buffer, start)?;
    let mut at = 0;
    while at < rest.min(PART_BYTES) {
        let bytes = buffer.get(at..).unwrap_or_default();
        let position = start + at as u64;
        match record::read(bytes, position) {
            Some(record) => {
                found.take(&record, position, bytes);
                at += record.bytes;
            }
            None => at += ALIGNMENT,
        }
    }
    Ok(start + at as u64)
}
