//! What is measured, in which phases, and what the processes share.

use clap::{Args, ValueEnum};
use serde::Serialize;
use taut_ipc::{Region, Stream, StreamKind};
use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{Clock, monotonic};
use taut_types::Nanos;

use crate::cpus;
use taut_report::Failure;

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
    /// What is measured.
    #[arg(long, value_enum, default_value_t = Mode::Throughput)]
    pub mode: Mode,
    /// What carries the messages.
    #[arg(long, value_enum, default_value_t = Kind::Tick)]
    pub kind: Kind,
    /// Message size of the log in bytes, at least 24; a tick has 56.
    #[arg(long, default_value_t = 70)]
    pub size: usize,
    /// How long the whole run takes.
    #[arg(long, default_value_t = 5.0)]
    pub seconds: f64,
    /// Messages a second, in mode `rate` only [default: 100000].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub rate: Option<u64>,
    /// The writer waits for its readers (the default).
    #[arg(long, conflicts_with = "overwriting")]
    pub lossless: bool,
    /// The writer overtakes slow readers, which count what they lost.
    #[arg(long)]
    pub overwriting: bool,
    /// Reading processes; of round trips, the first of them answers.
    #[arg(long, default_value_t = 1)]
    pub readers: usize,
    /// Messages that are published at once, in mode `throughput` only.
    #[arg(long, default_value_t = 1)]
    pub batch: usize,
    /// Which ends work in the log's own memory; the others copy a message in or out.
    #[arg(long, value_enum, default_value_t = InPlace::None)]
    pub in_place: InPlace,
    /// Capacity in cache lines: slots of the tick ring, 64 bytes each of the log.
    #[arg(long, default_value_t = 1024)]
    pub capacity: usize,
    /// The writer's CPU and the readers', such as 0,1; more readers than CPUs take turns.
    #[arg(long, value_delimiter = ',')]
    pub cpus: Vec<usize>,
    /// Print one line of JSON.
    #[arg(long)]
    pub json: bool,
}

impl Arguments {
    /// Messages a second of a run at a fixed rate.
    pub fn rate(&self) -> u64 {
        self.rate.unwrap_or(100_000)
    }

    /// Bytes of a message.
    pub const fn message_bytes(&self) -> usize {
        match self.kind {
            Kind::Tick => 56,
            Kind::Log => self.size,
        }
    }

    /// Refuses what cannot be measured, or would not be measured as it is asked for.
    ///
    /// # Errors
    /// [`Failure::Usage`], with the flag, its value and what it may be.
    pub fn check(&self) -> Result<(), Failure> {
        let bad = |text: String| Err(Failure::Usage(text));
        let Self { mode, capacity, size, readers, batch, seconds, .. } = *self;
        if !capacity.is_power_of_two() || !(16..=1 << 24).contains(&capacity) {
            return bad(format!(
                "--capacity {capacity}: must be a power of two from 16 to 16777216 lines"
            ));
        }
        let size_max = capacity * 8 - 8;
        if self.kind == Kind::Log && !(24..=size_max).contains(&size) {
            return bad(format!(
                "--size {size}: must be 24 to {size_max} bytes with a capacity of {capacity} lines"
            ));
        }
        if !(1..=READERS_MAX).contains(&readers) {
            return bad(format!("--readers {readers}: must be 1 to {READERS_MAX}"));
        }
        let batch_max = capacity / 8;
        if !(1..=batch_max).contains(&batch) {
            return bad(format!(
                "--batch {batch}: must be 1 to {batch_max}, an eighth of the capacity"
            ));
        }
        if batch > 1 && mode != Mode::Throughput {
            return bad(format!("--batch {batch}: only --mode throughput publishes in batches"));
        }
        if self.in_place != InPlace::None && self.kind == Kind::Tick {
            return bad("--in-place: must be none with --kind tick, which copies words".to_owned());
        }
        if self.in_place == InPlace::Both && batch > 1 {
            return bad(format!("--batch {batch}: must be 1 with --in-place both, which claims"));
        }
        if let Some(rate) = self.rate.filter(|_| mode != Mode::Rate) {
            return bad(format!("--rate {rate}: only --mode rate has one"));
        }
        if !(0.1..=86_400.0).contains(&seconds) {
            return bad(format!("--seconds {seconds}: must be 0.1 to 86400"));
        }
        cpus::check("--cpus", &self.cpus)
    }
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
