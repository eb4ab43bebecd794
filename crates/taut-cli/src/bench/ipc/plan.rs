//! What is measured, in which phases, and what the processes share.

use clap::{Args, ValueEnum};
use serde::Serialize;
use taut_ipc::{Region, Stream, StreamKind};
use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{Clock, monotonic};
use taut_types::Nanos;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Messages as fast as they go.
    Throughput,
    /// One message there and one back.
    Rtt,
    /// Messages at a fixed rate, from their intended times.
    Rate,
}

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Slots of 56 bytes.
    Tick,
    /// The byte log.
    Log,
}

/// Which ends of the log work in its own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InPlace {
    /// A message is copied in and copied out.
    None,
    /// It is copied in, and read where it is.
    Reader,
    /// The writer claims room and writes there, too.
    Both,
}

/// What to measure, and how.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    #[arg(long, value_enum, default_value_t = Mode::Throughput)]
    pub mode: Mode,
    #[arg(long, value_enum, default_value_t = Kind::Tick)]
    pub kind: Kind,
    /// Message size of the log in bytes, at least 24; a tick has 56.
    #[arg(long, default_value_t = 70)]
    pub size: usize,
    /// How long the whole run takes.
    #[arg(long, default_value_t = 5.0)]
    pub seconds: f64,
    /// Messages a second in mode `rate`.
    #[arg(long, default_value_t = 100_000)]
    pub rate: u64,
    /// The writer waits for its readers (the default).
    #[arg(long, conflicts_with = "overwriting")]
    pub lossless: bool,
    /// The writer overtakes slow readers, which count what they lost.
    #[arg(long)]
    pub overwriting: bool,
    #[arg(long, default_value_t = 1)]
    pub readers: usize,
    /// Messages that are published at once.
    #[arg(long, default_value_t = 1)]
    pub batch: usize,
    /// Which ends work in the log's own memory; the others copy a message in or out.
    #[arg(long, value_enum, default_value_t = InPlace::None)]
    pub in_place: InPlace,
    /// Capacity in cache lines: slots of the tick ring, 64 bytes each of the log.
    #[arg(long, default_value_t = 1024)]
    pub capacity: usize,
    /// The writer's CPU and the readers', such as 0,1.
    #[arg(long, value_delimiter = ',')]
    pub cpus: Vec<usize>,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// One round of three phases.
pub const ROUND_S: f64 = 0.5;
/// The parts of a round that go to the two floors.
pub const FLOOR_RTT: Nanos = Nanos::from_millis(60);
pub const FLOOR_STREAM: Nanos = Nanos::from_millis(120);
/// How long a reader may take to end.
pub const GRACE: Nanos = Nanos::from_secs(60);

pub const READERS_MAX: usize = 32;
/// What the processes tell each other: 0 the phase, 1 the phase that is to end, 2 the position
/// where it ends, then 8 words per reader: 0 the phase that it finished.
pub const CONTROL: Region = Region { id: 1, version: 1, words: 16 + 8 * READERS_MAX };

/// The phases of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    FloorRtt,
    FloorStream,
    Ring,
}

impl Phase {
    pub const fn of(number: u64) -> Self {
        match number % 3 {
            1 => Self::FloorRtt,
            2 => Self::FloorStream,
            _ => Self::Ring,
        }
    }
}

/// What writer and readers share.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    pub arguments: &'a Arguments,
    pub name: &'a str,
    pub control: &'a [AtomicU64],
    pub floor: &'a [AtomicU64],
    pub clock: Clock,
    pub phases: u64,
}

impl Shared<'_> {
    pub fn word(&self, at: usize) -> &AtomicU64 {
        &self.control[at]
    }

    pub fn finished(&self, reader: usize) -> &AtomicU64 {
        &self.control[16 + 8 * reader]
    }
}

pub fn streams(arguments: &Arguments) -> [Stream<'static>; 2] {
    let kind = match arguments.kind {
        Kind::Tick => StreamKind::Ticks { slot_count: arguments.capacity },
        Kind::Log => StreamKind::Log { capacity_bytes: arguments.capacity * 64 },
    };
    ["out", "back"].map(|name| Stream { name, kind, reader_count: READERS_MAX, layout: 0 })
}

/// The value in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0).round()
}

/// Waits for a word to reach a value; false when it takes too long.
pub fn reaches(word: &AtomicU64, value: u64, patience: Nanos) -> bool {
    let deadline = monotonic() + patience;
    while word.load(Ordering::Acquire) < value {
        if monotonic() > deadline {
            return false;
        }
        taut_sys::yield_cpu();
    }
    true
}
