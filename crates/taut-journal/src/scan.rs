//! One segment's bytes: header, checkpoint, records, and what stands behind them.

use taut_types::Nanos;

use crate::entry::Entry;
use crate::error::{Damage, What};
use crate::header::{HEADER_WORDS, Header};
use crate::record::{self, HEAD_WORDS, Record};
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
    /// What its checkpoint says.
    pub checkpoint: State,
    /// The numbers of its first and last record.
    pub records: Option<(u64, u64)>,
    /// How many records.
    pub count: u64,
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
/// should have, where that is known. Each record is given to `visit`.
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
    let (chunks, rest) = bytes.as_chunks::<8>();
    let words: Vec<u64> = chunks.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let damage = |what, at: usize| Damage { segment, offset: 8 * at as u64, what };
    let header = Header::read(&words).map_err(|(what, at)| damage(what, at))?;
    if header.number != segment {
        return Err(damage(What::Number(header.number), 4));
    }
    if words.len() > header.words || words.len() == header.words && !rest.is_empty() {
        return Err(damage(What::Long, header.words));
    }
    let checkpoint = read_checkpoint(&words, &header, executions_max)
        .ok_or_else(|| damage(What::Checkpoint, HEADER_WORDS))?;
    let mut found = Scanned {
        records: None,
        count: 0,
        unknown: 0,
        is_foreign: !header.is_own_schema,
        made_at: header.made_at,
        used_bytes: 0,
        tail: None,
        checkpoint,
    };
    let mut due = due;
    let mut at = header.records_at;
    while let Some(record) = words.get(at..).and_then(|rest| record::read(rest, header.salt)) {
        let first_due = due.unwrap_or(record.sequence.max(found.checkpoint.as_of + 1));
        if record.sequence != first_due {
            let what = What::Sequence { due: first_due, found: record.sequence };
            return Err(damage(what, at));
        }
        let entry = Entry::unpack(record.kind, record.payload);
        if entry.is_none() && Entry::is_known(record.kind) {
            return Err(damage(What::Payload(record.kind), at));
        }
        found.unknown += u64::from(entry.is_none());
        found.count += 1;
        let Record { sequence, time, .. } = record;
        visit(&Shown { segment, offset: 8 * at as u64, sequence, time, entry });
        let first = found.records.map_or(sequence, |(first, _)| first);
        found.records = Some((first, sequence));
        due = Some(sequence.saturating_add(1));
        at += record.words();
    }
    found.used_bytes = 8 * at as u64;
    found.tail = tail(&words, rest, at, &header, due).map_err(|what| damage(what, at))?;
    Ok(found)
}

/// The checkpoint fills the words up to the records exactly.
fn read_checkpoint(words: &[u64], header: &Header, executions_max: usize) -> Option<State> {
    let mut rest = words.get(HEADER_WORDS..header.records_at)?;
    let mut state = State::default();
    let mut sequence = 0;
    loop {
        let record = record::read(rest, header.salt).filter(|it| it.sequence == sequence)?;
        sequence += 1;
        let entry = Entry::unpack(record.kind, record.payload);
        if entry.is_none() && Entry::is_known(record.kind) {
            return None;
        }
        entry.iter().for_each(|entry| state.apply(entry, executions_max));
        rest = rest.get(record.words()..)?;
        if matches!(entry, Some(Entry::CheckpointEnd { .. })) {
            return rest.is_empty().then_some(state);
        }
    }
}

/// What stands at `at`, where no right record does. A right one with a later number behind it means
/// that this is no tail.
fn tail(
    words: &[u64],
    rest: &[u8],
    at: usize,
    header: &Header,
    due: Option<u64>,
) -> Result<Option<Tail>, What> {
    let behind = words.get(at..).unwrap_or(&[]);
    let used = behind.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    let due = due.unwrap_or(1);
    // More numbers than the segment can hold are none of its own.
    let last = due.saturating_add(words.len() as u64);
    for skipped in 1..used {
        let later = behind.get(skipped..).and_then(|words| record::read(words, header.salt));
        if later.is_some_and(|it| (due..=last).contains(&it.sequence)) {
            return Err(What::Record);
        }
    }
    let is_cut = words.len() < header.words;
    let is_begun = behind.first().is_some_and(|word| *word != 0);
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
