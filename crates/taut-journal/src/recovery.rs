//! A folder's segments in their order.

use std::fs;
use std::path::Path;

use taut_sys::{SysError, names_in};

use crate::error::{Damage, JournalError, What, segment_name};
use crate::header::HEADER_WORDS;
use crate::scan::{Scanned, Shown, Tail, TailKind, Walk, scan};
use crate::state::State;

/// The byte where a checkpoint begins.
const ORDERS_AT: u64 = 8 * HEADER_WORDS as u64;

/// What a journal holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Open orders, positions, numbers, kill switch, executions.
    pub state: State,
    /// Its segments, the oldest first.
    pub segments: Vec<SegmentReport>,
    /// What stands behind the last record of a segment: the newest last.
    pub tails: Vec<Tail>,
    /// Records that were read.
    pub records: u64,
    /// Those of them that are of a recording, and say nothing about orders.
    pub recorded: u64,
    /// Records of kinds that this build does not know.
    pub unknown: u64,
}

/// A segment that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentReport {
    /// Its number.
    pub number: u32,
    /// The numbers of its first and last record.
    pub records: Option<(u64, u64)>,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes up to where the records end.
    pub used_bytes: u64,
    /// What its checkpoint counts.
    pub checkpoint_as_of: u64,
    /// Whether a build with another layout of payloads wrote it.
    pub is_foreign: bool,
}

impl Recovered {
    /// How many requests may have left that are not in the journal; see [`Tail::requests_max`].
    /// What is behind the newest record counts: older tails were known when the journal went on. An
    /// owner without orders here begins behind this number.
    #[must_use]
    pub fn requests_lost_max(&self) -> u64 {
        let newest = self.segments.iter().rfind(|segment| segment.records.is_some());
        let of = |tail: &&Tail| newest.is_some_and(|newest| tail.segment >= newest.number);
        self.tails.iter().filter(of).map(Tail::requests_max).sum()
    }
}

/// How far back a journal is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All of it: it is kept short.
    All,
    /// As far as it takes to know what it comes to.
    Newest,
}

/// Reads a folder whose orders stand in it, and gives every entry about them to `visit`.
///
/// # Errors
/// The first file that cannot be read, and the first damage that is not behind the last record.
pub fn read_as_far(
    folder: &Path,
    executions_max: usize,
    reach: Reach,
    visit: &mut dyn FnMut(&Shown),
) -> Result<Recovered, JournalError> {
    let numbers = segment_numbers(folder)?;
    let Some((&oldest, &newest)) = numbers.first().zip(numbers.last()) else {
        return Ok(Recovered::default());
    };
    if let Some((number, _)) = (oldest..).zip(&numbers).find(|(due, found)| due != *found) {
        return Err(Damage { segment: number, offset: 0, what: What::Missing }.into());
    }
    // The newest checkpoint is where the fold begins: older entries are checked, and not needed.
    let bytes = read_file(folder, newest)?;
    let base = scan(&bytes, newest, None, executions_max, &mut |_| ())?.checkpoint;
    drop(bytes);
    let no_orders = Damage { segment: newest, offset: ORDERS_AT, what: What::NoOrders };
    let base = base.ok_or(no_orders)?;
    let base_due = base.as_of.saturating_add(1);
    let numbers = match reach {
        Reach::All => numbers,
        Reach::Newest => as_far_as(folder, numbers, base_due)?,
    };
    let mut found = Recovered { state: base, ..Recovered::default() };
    let mut chain = Chain { last: None, first: None, tail: None };
    for number in numbers {
        let bytes = read_file(folder, number)?;
        let state = &mut found.state;
        let mut fold = |shown: &Shown| {
            visit(shown);
            if shown.sequence > state.as_of {
                shown.entry.iter().for_each(|entry| state.apply(entry, executions_max));
                state.unknown += u64::from(shown.entry.is_none());
                state.as_of = shown.sequence;
            }
        };
        let due = chain.last.map(|last| last + 1);
        let scanned = scan(&bytes, number, due, executions_max, &mut fold);
        let scanned = scanned.map_err(|damage| chain.blame(damage))?;
        // Its last records may say nothing about orders.
        let last = scanned.records.map_or(0, |(_, last)| last);
        found.state.as_of = found.state.as_of.max(last);
        chain.add(number, &scanned, number == newest)?;
        found.add(number, bytes.len(), &scanned);
    }
    let oldest = found.segments.first().map_or(oldest, |segment| segment.number);
    if chain.first.is_some_and(|first| first > base_due) {
        return Err(Damage { segment: oldest, offset: 0, what: What::Base }.into());
    }
    Ok(found)
}

/// The newest of these segments, back to the one in which a record with this number is, or would
/// be.
fn as_far_as(folder: &Path, numbers: Vec<u32>, due: u64) -> Result<Vec<u32>, JournalError> {
    let mut from = numbers.len();
    while from > 0 {
        from -= 1;
        let Some(number) = numbers.get(from).copied() else { break };
        let bytes = read_file(folder, number)?;
        let walk = Walk::open(&bytes, number, None)?;
        let first = walk.peek(&bytes);
        if first.is_some_and(|first| first <= due) {
            break;
        }
    }
    Ok(numbers.get(from..).unwrap_or(&[]).to_vec())
}

/// How the segments hang together.
struct Chain {
    /// The number of the last record so far.
    last: Option<u64>,
    /// The number of the first one.
    first: Option<u64>,
    /// What stands behind the last record.
    tail: Option<Tail>,
}

impl Chain {
    /// A number that is missing at the start of a segment was lost in the tail before it.
    fn blame(&self, damage: Damage) -> Damage {
        match (damage.what, self.tail) {
            (What::Sequence { .. }, Some(tail)) => {
                Damage { segment: tail.segment, offset: tail.offset, what: What::Record }
            }
            _ => damage,
        }
    }

    fn add(&mut self, number: u32, scanned: &Scanned, is_newest: bool) -> Result<(), Damage> {
        let as_of = scanned.checkpoint.as_ref().map_or(0, |state| state.as_of);
        if let Some(last) = self.last.filter(|last| *last < as_of) {
            let here = Damage { segment: number, offset: 0, what: What::Lost { as_of, last } };
            return Err(self.tail.map_or(here, |tail| Damage {
                segment: tail.segment,
                offset: tail.offset,
                what: What::Record,
            }));
        }
        let is_cut = |tail: &Tail| tail.kind == TailKind::Cut && !is_newest;
        if let Some(tail) = scanned.tail.filter(is_cut) {
            return Err(Damage { segment: number, offset: tail.offset, what: What::Cut });
        }
        if let Some((first, last)) = scanned.records {
            self.first.get_or_insert(first);
            self.last = Some(last);
        }
        self.tail = scanned.tail;
        Ok(())
    }
}

impl Recovered {
    fn add(&mut self, number: u32, file_bytes: usize, scanned: &Scanned) {
        self.records += scanned.count;
        self.recorded += scanned.recorded;
        self.unknown += scanned.unknown;
        self.tails.extend(scanned.tail);
        self.segments.push(SegmentReport {
            number,
            records: scanned.records,
            bytes: file_bytes as u64,
            used_bytes: scanned.used_bytes,
            checkpoint_as_of: scanned.checkpoint.as_ref().map_or(0, |state| state.as_of),
            is_foreign: scanned.is_foreign,
        });
    }
}

/// The numbers of the segments in a folder, in order; other files are none of the journal's.
pub fn segment_numbers(folder: &Path) -> Result<Vec<u32>, JournalError> {
    let names = names_in(folder, "").map_err(JournalError::Folder)?;
    let number = |name: &String| {
        let number = name.strip_suffix(".journal")?.parse().ok()?;
        (segment_name(number) == *name).then_some(number)
    };
    Ok(names.iter().filter_map(number).collect())
}

pub fn read_file(folder: &Path, segment: u32) -> Result<Vec<u8>, JournalError> {
    fs::read(folder.join(segment_name(segment))).map_err(|error| {
        let error = SysError::from_errno("read", error.raw_os_error().unwrap_or(0));
        JournalError::File { segment, error }
    })
}
