//! Commands as records: a journal of them is a copy of the engine.
//!
//! A record is thirteen little-endian words: kind and version, eleven words of content, FNV-1a over
//! the twelve. Replaying a journal from the same start yields the same events and the same
//! [`state_hash`](crate::Engine::state_hash).

use core::fmt;

use taut_book::Fnv1a;
use taut_types::{Lots, Nanos, OrderId, Side};

use crate::codec::{ORDER_WORDS, order_from_words, order_to_words, pair, unpair};
use crate::command::{Command, MassCancel, Phase, ReplaceMode};

const WORDS: usize = ORDER_WORDS + 2;
const VERSION: u32 = 1;

/// The length of a journal record in bytes.
pub const JOURNAL_RECORD_BYTES: usize = WORDS * 8;

/// Why bytes are no journal record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalError {
    /// The checksum is another one.
    Corrupt,
    /// A version that this code does not know.
    Version,
    /// The checksum is right and the content means nothing.
    Malformed,
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Corrupt => "the journal record's checksum does not fit",
            Self::Version => "the journal record is of a version that is not known here",
            Self::Malformed => "the journal record is whole and means nothing",
        })
    }
}

impl core::error::Error for JournalError {}

impl Command {
    /// The command as a journal record.
    #[must_use]
    pub fn to_record(&self) -> [u8; JOURNAL_RECORD_BYTES] {
        let mut content = [0; ORDER_WORDS];
        let kind = fill(self, &mut content);
        let mut words = [0; WORDS];
        words[0] = pair(VERSION, kind);
        words[1..=ORDER_WORDS].copy_from_slice(&content);
        words[WORDS - 1] = checksum(&words[..WORDS - 1]);
        let mut record = [0; JOURNAL_RECORD_BYTES];
        for (bytes, word) in record.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        record
    }

    /// The command in a journal record.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn from_record(record: &[u8; JOURNAL_RECORD_BYTES]) -> Result<Self, JournalError> {
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(record.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let [head, content @ .., sum] = words;
        if sum != checksum(&words[..WORDS - 1]) {
            return Err(JournalError::Corrupt);
        }
        let (version, kind) = unpair(head);
        if version != VERSION {
            return Err(JournalError::Version);
        }
        read(kind, &content).ok_or(JournalError::Malformed)
    }
}

/// Writes a command's content and returns its kind.
fn fill(command: &Command, content: &mut [u64; ORDER_WORDS]) -> u32 {
    match *command {
        Command::New(order) => {
            *content = order_to_words(&order);
            0
        }
        Command::Cancel { order_id } => {
            content[0] = order_id.0;
            1
        }
        Command::Reduce { order_id, by } => {
            (content[0], content[1]) = (order_id.0, by.0.cast_unsigned());
            2
        }
        Command::Replace { order, mode } => {
            *content = order_to_words(&order);
            3 + mode as u32
        }
        Command::MassCancel(MassCancel { owner, side, session }) => {
            let some = |value: Option<u32>| value.map_or(0, |value| pair(1, value));
            content[0] = some(owner);
            content[1] = some(side.map(|side| side as u32));
            content[2] = some(session);
            5
        }
        Command::Disconnect { session } => {
            content[0] = session.into();
            6
        }
        Command::Clock { now } => {
            content[0] = now.0.cast_unsigned();
            7
        }
        Command::SetPhase(phase) => {
            content[0] = phase as u64;
            8
        }
    }
}

fn read(kind: u32, content: &[u64; ORDER_WORDS]) -> Option<Command> {
    let order_id = OrderId(content[0]);
    let some = |word| match unpair(word) {
        (0, 0) => Some(None),
        (1, value) => Some(Some(value)),
        _ => None,
    };
    Some(match kind {
        0 => Command::New(order_from_words(content)?),
        1 => Command::Cancel { order_id },
        2 => Command::Reduce { order_id, by: Lots(content[1].cast_signed()) },
        3 => Command::Replace { order: order_from_words(content)?, mode: ReplaceMode::InFlight },
        4 => Command::Replace { order: order_from_words(content)?, mode: ReplaceMode::Requeue },
        5 => Command::MassCancel(MassCancel {
            owner: some(content[0])?,
            side: match some(content[1])? {
                None => None,
                Some(index) => Some(Side::from_index(u8::try_from(index).ok()?)?),
            },
            session: some(content[2])?,
        }),
        6 => Command::Disconnect { session: u32::try_from(content[0]).ok()? },
        7 => Command::Clock { now: Nanos(content[0].cast_signed()) },
        8 => Command::SetPhase(Phase::from_index(u8::try_from(content[0]).ok()?)?),
        _ => return None,
    })
}

fn checksum(words: &[u64]) -> u64 {
    let mut hash = Fnv1a::new();
    words.iter().for_each(|&word| hash.write_u64(word));
    hash.finish()
}
