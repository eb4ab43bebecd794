//! What the judge and its victims share.

use taut_ipc::{Region, Stream, StreamKind};
use taut_types::Nanos;

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    Ticks,
    Log,
    Requests,
}

impl Ring {
    /// Two kills of each, one after the other.
    pub const fn of(kill: u64) -> Self {
        match kill / 2 % 3 {
            0 => Self::Ticks,
            1 => Self::Log,
            _ => Self::Requests,
        }
    }
}

pub const STREAMS: [Stream<'static>; 3] = [
    Stream {
        name: "ticks",
        kind: StreamKind::Ticks { slot_count: 256 },
        reader_count: 4,
        layout: 0,
    },
    Stream {
        name: "log",
        kind: StreamKind::Log { capacity_bytes: LOG_BYTES },
        reader_count: 4,
        layout: 0,
    },
    Stream {
        name: "requests",
        kind: StreamKind::Requests { slot_count: 256 },
        reader_count: 4,
        layout: 0,
    },
];

/// What the victim notes, by word.
pub const NOTES: Region = Region { id: 1, version: 1, words: 16 };
/// Up to where the victim's messages are committed: the position, of requests their count.
pub const COMMITTED: usize = 0;
/// What it is at: [`IDLE`], [`WORKING`] or [`WAITING`].
pub const CALL: usize = 1;
/// When it began to attach, and when its first message was committed.
pub const ATTACHED_NS: usize = 2;
pub const FIRST_NS: usize = 3;
/// What a reading victim saw.
pub const MESSAGES: usize = 4;
pub const TORN: usize = 5;
pub const LOST: usize = 6;

/// Words that belong to the victim; the next one to the killer.
pub const VICTIM_WORDS: usize = 8;
/// How many the killer has killed.
pub const KILLED: usize = 8;

/// Between two calls.
pub const IDLE: u64 = 0;
/// In a call, after one that found work: it writes (or reads) a message.
pub const WORKING: u64 = 1;
/// In a call, after one that found no room (or no message).
pub const WAITING: u64 = 2;

/// Where the judge runs, and where victims and the killer do.
pub const JUDGE_CPU: usize = 0;
pub const VICTIM_CPU: usize = 1;

/// A victim lives at most this long under load.
pub const LIFE_NS_MAX: u64 = 200_000;
/// A victim that brings nothing for so long is wedged. Others may want its CPU as well.
pub const WEDGED: Nanos = Nanos::from_secs(20);
/// Messages of the log.
pub const MESSAGE_BYTES: usize = 70;
/// With its header, rounded up to words.
pub const RECORD_BYTES: u64 = 80;
pub const LOG_BYTES: usize = 32 * 1024;
