//! One segment's bytes: header, checkpoint, records, and what stands behind them.

use core::ops::Range;

use taut_types::Nanos;

use crate::entry::Entry;
use crate::error::{Damage, What};
use crate::header::{HEADER_WORDS, Header};
use crate::kind::{END, SAFE, is_recorded};
use crate::record::{self, First, HEAD_WORDS, Record, Word};
use crate::state::State;

/// What stands behind the last record of a segment, where there should be nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// In which segment.
    pub segment: u32,
    /// At which byte of its file.
    pub offset: u64,
    /// How many bytes, up to the last that is not 0 or, of a cut file, up to where it should end.
    pub bytes: u64,
    /// What it is.
    pub kind: TailKind,
}

/// Why a tail is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailKind {
    /// A record that was never finished: its request did not leave.
    Unfinished,
    /// A finished record that fails its check: the power failed, or bits rotted. Its request may
    /// have left.
    Damaged,
    /// The file is shorter than it should be: whatever stood there may have left.
    Cut,
}

impl Tail {
    /// How many requests may have left that are not in the journal: so many order numbers of each
    /// owner are not used again.
    #[must_use]
    pub const fn requests_max(&self) -> u64 {
        match self.kind {
            TailKind::Unfinished => 0,
            TailKind::Damaged | TailKind::Cut => self.bytes.div_ceil(8 * (HEAD_WORDS as u64 + 1)),
        }
    }
}

/// A record as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// In which segment.
    pub segment: u32,
    /// At which byte of its file.
    pub offset: u64,
    /// Its number.
    pub sequence: u64,
    /// When it was appended, UTC.
    pub time: Nanos,
    /// What it says; nothing for a kind that this build does not know.
    pub entry: Option<Entry>,
}

/// What a segment holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// What its checkpoint says; none in a recording without orders.
    pub checkpoint: Option<State>,
    /// The numbers of its first and last record.
    pub records: Option<(u64, u64)>,
    /// How many records.
    pub count: u64,
    /// How many of them are of a recording, and say nothing about orders.
    pub recorded: u64,
    /// How many of them are of kinds that this build does not know.
    pub unknown: u64,
    /// Whether a build with another layout of payloads wrote it.
    pub is_foreign: bool,
    /// When it was made, UTC.
    pub made_at: Nanos,
    /// Bytes up to where the records end.
    pub used_bytes: u64,
    /// What stands behind the records.
    pub tail: Option<Tail>,
}

/// Reads a segment from the bytes of its file, of which `due` is the number that the first record
/// should have, where that is known. Each entry about orders is given to `visit`.
///
/// # Errors
/// The first damage that is not a tail.
pub fn scan(
    bytes: &[u8],
    segment: u32,
    due: Option<u64>,
    executions_max: usize,
    visit: &mut dyn FnMut(&Shown),
) -> Result<Scanned, Damage> {
    let mut walk = Walk::open(bytes, segment, due)?;
    let checkpoint = walk.checkpoint(bytes, executions_max)?;
    // Of one by itself, what the checkpoint counts is not due again.
    walk.due_min = checkpoint.as_ref().map_or(0, |state| state.as_of + 1);
    let mut found = Scanned {
        records: None,
        count: 0,
        recorded: 0,
        unknown: 0,
        is_foreign: !walk.header.is_own_schema,
        made_at: walk.header.made_at,
        used_bytes: 0,
        tail: None,
        checkpoint,
    };
    while let Some(record) = walk.next(bytes)? {
        let Record { kind, sequence, time, words, .. } = record;
        let first = found.records.map_or(sequence, |(first, _)| first);
        found.records = Some((first, sequence));
        found.count += 1;
        if is_recorded(kind) {
            found.recorded += 1;
            continue;
        }
        let at = walk.at - words;
        let entry = record.entry();
        if entry.is_none() && Entry::is_known(kind) {
            return Err(walk.damage(What::Payload(kind), at));
        }
        found.unknown += u64::from(entry.is_none());
        visit(&Shown { segment, offset: 8 * at as u64, sequence, time, entry });
    }
    found.used_bytes = 8 * walk.at as u64;
    found.tail = walk.tail(bytes)?;
    Ok(found)
}

/// A record, and where in the file its payload is.
#[derive(Clone, Debug)]
pub struct Found {
    pub kind: u16,
    pub sequence: u64,
    pub time: Nanos,
    /// Its byte.
    pub at: u64,
    pub payload: Range<usize>,
}

/// A way through the records of a segment, over the bytes of its file.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    pub header: Header,
    /// The word at which it stands.
    pub at: usize,
    /// The number that is due, where that is known.
    pub due: Option<u64>,
    /// Where it is not known, it is no smaller than this.
    pub due_min: u64,
    /// The last record says that the journal ends there.
    pub is_ended: bool,
}

impl Walk {
    /// Before the first record of a segment's file.
    pub fn open(bytes: &[u8], segment: u32, due: Option<u64>) -> Result<Self, Damage> {
        let (words, rest) = bytes.as_chunks::<8>();
        let damage = |what, at: usize| Damage { segment, offset: 8 * at as u64, what };
        let first: Vec<u64> =
            words.iter().take(HEADER_WORDS).map(|word| u64::from_le_bytes(*word)).collect();
        let header = Header::read(&first).map_err(|(what, at)| damage(what, at))?;
        if header.number != segment {
            return Err(damage(What::Number(header.number), 4));
        }
        if words.len() > header.words || words.len() == header.words && !rest.is_empty() {
            return Err(damage(What::Long, header.words));
        }
        Ok(Self { header, at: header.records_at, due, due_min: 0, is_ended: false })
    }

    fn damage(&self, what: What, at: usize) -> Damage {
        Damage { segment: self.header.number, offset: 8 * at as u64, what }
    }

    /// What the checkpoint says; nothing where there is none.
    pub fn checkpoint(&self, bytes: &[u8], executions_max: usize) -> Result<Option<State>, Damage> {
        if self.header.records_at == HEADER_WORDS {
            return Ok(None);
        }
        let (words, _) = bytes.as_chunks::<8>();
        match read_checkpoint(words, &self.header, executions_max) {
            Some(state) => Ok(Some(state)),
            None => Err(self.damage(What::Checkpoint, HEADER_WORDS)),
        }
    }

    /// The next right record, which has the number that is due.
    pub fn next<'b>(&mut self, bytes: &'b [u8]) -> Result<Option<Record<'b>>, Damage> {
        let (words, _) = bytes.as_chunks::<8>();
        loop {
            let rest = words.get(self.at..).unwrap_or(&[]);
            let read = record::read(rest, self.header.salt, 0..=u64::MAX);
            let Some(record) = read.filter(|_| !self.is_ended) else { return Ok(None) };
            let found = record.sequence;
            let due = self.due.unwrap_or_else(|| found.max(self.due_min));
            if found != due {
                return Err(self.damage(What::Sequence { due, found }, self.at));
            }
            self.at += record.words;
            if record.kind == SAFE {
                self.due = Some(due);
                continue;
            }
            self.due = Some(due.saturating_add(1));
            self.is_ended = record.kind == END;
            return Ok(Some(record));
        }
    }

    /// Whether a right mark stands here or behind that says that the entry with this number was on
    /// the disk.
    pub fn was_safe(&self, bytes: &[u8], number: u64) -> bool {
        let (words, _) = bytes.as_chunks::<8>();
        let behind = words.get(self.at..).unwrap_or(&[]);
        (0..behind.len()).any(|at| {
            let rest = behind.get(at..).unwrap_or(&[]);
            let first = rest.first().and_then(|word| First::of(u64::from_le_bytes(*word)));
            let record = first
                .filter(|first| first.kind == SAFE)
                .and_then(|_| record::read(rest, self.header.salt, 0..=u64::MAX));
            let safe = record.and_then(|record| record.payload.first_chunk().copied());
            safe.is_some_and(|safe| u64::from_le_bytes(safe) >= number)
        })
    }

    /// The same, of which nothing is lent.
    pub fn step(&mut self, bytes: &[u8]) -> Result<Option<Found>, Damage> {
        let Some(Record { kind, sequence, time, words, payload }) = self.next(bytes)? else {
            return Ok(None);
        };
        let at = 8 * (self.at - words);
        let start = at + 8 * HEAD_WORDS;
        let payload = start..start + payload.len();
        Ok(Some(Found { kind, sequence, time, at: at as u64, payload }))
    }

    /// What stands behind the last record, where no right one does. A right one with a later number
    /// behind it means that this is no tail.
    pub fn tail(&self, bytes: &[u8]) -> Result<Option<Tail>, Damage> {
        let Self { header, at, .. } = *self;
        let (words, rest) = bytes.as_chunks::<8>();
        let behind = words.get(at..).unwrap_or(&[]);
        let used = behind.iter().rposition(|word| *word != [0; 8]).map_or(0, |last| last + 1);
        let due = self.due.unwrap_or(1);
        // More numbers than the segment can hold are none of its own.
        let numbers = due..=due.saturating_add(words.len() as u64);
        for skipped in 1..used {
            let behind = behind.get(skipped..).unwrap_or(&[]);
            if record::read(behind, header.salt, numbers.clone()).is_some() {
                return Err(self.damage(What::Record, at));
            }
        }
        let is_cut = words.len() < header.words && !self.is_ended;
        let is_begun = behind.first().is_some_and(|word| *word != [0; 8]);
        let kind = match (is_cut, is_begun) {
            (true, _) => TailKind::Cut,
            (false, true) => TailKind::Damaged,
            (false, false) => TailKind::Unfinished,
        };
        let bytes = if is_cut { 8 * (header.words - at.min(header.words)) } else { 8 * used };
        let is_clean = bytes == 0 && rest.is_empty();
        let (segment, offset) = (header.number, 8 * at as u64);
        Ok((!is_clean).then_some(Tail { segment, offset, bytes: bytes as u64, kind }))
    }

    /// The number of the right record that stands here, if one does.
    pub fn peek(&self, bytes: &[u8]) -> Option<u64> {
        let (words, _) = bytes.as_chunks::<8>();
        let rest = words.get(self.at..).unwrap_or(&[]);
        Some(record::read(rest, self.header.salt, 0..=u64::MAX)?.sequence)
    }
}

/// The checkpoint fills the words up to the records exactly.
fn read_checkpoint(words: &[Word], header: &Header, executions_max: usize) -> Option<State> {
    let mut rest = words.get(HEADER_WORDS..header.records_at)?;
    let mut state = State::default();
    let mut sequence = 0;
    loop {
        let record = record::read(rest, header.salt, sequence..=sequence)?;
        sequence += 1;
        let entry = record.entry();
        if entry.is_none() && Entry::is_known(record.kind) {
            return None;
        }
        entry.iter().for_each(|entry| state.apply(entry, executions_max));
        rest = rest.get(record.words..)?;
        if matches!(entry, Some(Entry::CheckpointEnd { .. })) {
            return rest.is_empty().then_some(state);
        }
    }
}
