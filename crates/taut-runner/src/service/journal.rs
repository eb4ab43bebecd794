//! The order journal of a gateway that runs by itself: its settings, its instruments, and the
//! thread that makes its segments.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use taut_journal::{Durability, Housekeeper, Journal, OnFailure, Settings, State, orders_in};
use taut_log::messages::JournalTrouble;
use taut_types::{ContractKind, Instrument, Lots, Nanos};

use crate::error::RunnerError;
use crate::mistakes::Mistake;
use crate::recording::WhenFull;
use crate::service::record::RecordKeys;
use crate::service::segments::segment_mistakes;
use crate::service::telling::{Heard, entry};
use crate::service::whole_file::write_whole;

/// From one turn of housekeeping to the next.
const TURN: Duration = Duration::from_millis(5);
/// Bytes of a segment for each execution whose name is remembered: a tenth of half of it.
const BYTES_PER_EXECUTION: usize = 1 << 10;
/// The file of the instruments, in the journal's folder.
const INSTRUMENTS: &str = "instruments";
/// The file of the order session's numbers, in the journal's folder.
const SESSION: &str = "session";

/// The order journal, in plain values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalKeys {
    /// Its folder, as seen from the file that names it. One gateway, one journal.
    pub folder: PathBuf,
    /// When what was written is safe from a power cut; from `kill -9` it is at once.
    #[serde(default)]
    pub durability: JournalDurability,
    /// The size of a segment in MiB: two are in memory.
    #[serde(default = "segment_mb")]
    pub segment_mb: u32,
    /// How long open orders that were recovered wait for their strategy to attach before they are
    /// cancelled, in milliseconds; 0 is for ever.
    #[serde(default = "reattach_ms")]
    pub reattach_ms: u32,
}

/// When what was written is safe from a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JournalDurability {
    /// When the kernel likes.
    None,
    /// Some milliseconds later.
    #[default]
    Async,
    /// Before an order leaves, which waits for the disk.
    Sync,
}

impl JournalDurability {
    /// As it is written in a file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Async => "async",
            Self::Sync => "sync",
        }
    }
}

const fn segment_mb() -> u32 {
    64
}

const fn reattach_ms() -> u32 {
    30_000
}

impl JournalKeys {
    /// Every value that cannot be.
    pub(super) fn mistakes(&self) -> Vec<Mistake> {
        segment_mistakes("journal", &self.folder, self.segment_mb)
    }

    /// The file of the session's numbers, where none is named.
    pub(super) fn session_store(&self) -> PathBuf {
        self.folder.join(SESSION)
    }

    /// After so long, orders whose strategies did not attach are cancelled.
    pub(super) fn reattach(&self) -> Option<Nanos> {
        (self.reattach_ms > 0).then(|| Nanos::from_millis(self.reattach_ms.into()))
    }

    /// The same where nothing is said of it.
    pub(super) fn usual_reattach() -> Option<Nanos> {
        Some(Nanos::from_millis(reattach_ms().into()))
    }

    /// That of a gateway whose orders stand in its recordings, and nowhere else.
    pub(super) fn of(record: &RecordKeys) -> Self {
        let (folder, segment_mb) = (record.folder.clone(), record.segment_mb);
        let durability = JournalDurability::default();
        Self { folder, durability, segment_mb, reattach_ms: reattach_ms() }
    }

    /// Opens it, if its instruments are these; with the name of a recording in its folder, and how
    /// that is kept, the orders stand there from here on.
    pub(super) fn open(
        &self,
        instruments: &[Instrument],
        recording: Option<(&str, Settings)>,
    ) -> Result<Journal, RunnerError> {
        let segment_bytes = (self.segment_mb as usize) << 20;
        let of_journal = Settings { segment_bytes, ..Settings::default() };
        let (name, settings) = recording.map_or((None, of_journal), |(name, it)| (Some(name), it));
        let settings = Settings {
            durability: match self.durability {
                JournalDurability::None => Durability::None,
                JournalDurability::Async => Durability::Async,
                JournalDurability::Sync => Durability::Sync,
            },
            executions_max: settings.segment_bytes / BYTES_PER_EXECUTION,
            ..settings
        };
        let stands = orders_in(&self.folder).unwrap_or_else(|_| self.folder.clone());
        let named = |error: &dyn std::fmt::Display| {
            RunnerError::run(format_args!("journal {}", stands.display()), error)
        };
        let journal = match name {
            None => Journal::open(&self.folder, settings),
            Some(name) => Journal::record(&self.folder, name, settings),
        };
        let journal = journal.map_err(|error| named(&error))?;
        let file = self.folder.join(INSTRUMENTS);
        match check_instruments(&file, instruments, &journal.recovered.state) {
            Ok(()) => Ok(journal),
            Err(wrong) => {
                let Journal { writer, housekeeper, .. } = journal;
                drop(writer);
                // A recording that never began is ended.
                name.and_then(|_| housekeeper.finish().err());
                Err(named(&wrong))
            }
        }
    }
}

impl RecordKeys {
    /// How a recording is kept that has the orders, too: they are refused while it takes nothing,
    /// unless the recording is all that they are written down for, and may have gaps.
    pub(super) fn with_orders(&self, has_journal: bool) -> Settings {
        let may_have_gaps = self.when_full == WhenFull::Drop && !has_journal;
        let on_failure = if may_have_gaps { OnFailure::GoOn } else { OnFailure::StopOrders };
        Settings { on_failure, ..self.settings().0 }
    }
}

impl JournalKeys {
    /// The symbols of its instruments, each at its number, as far as they were written down.
    pub(super) fn symbols(&self) -> Vec<String> {
        let lines = fs::read_to_string(self.folder.join(INSTRUMENTS)).unwrap_or_default();
        lines.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    }

    /// Writes down its instruments when some were added: before the first order for one of them.
    pub(super) fn note_instruments(&self, instruments: &[Instrument]) -> Result<(), String> {
        let now: Vec<String> = instruments.iter().map(line).collect();
        write_instruments(&self.folder.join(INSTRUMENTS), &now)
    }
}

/// What an instrument is in the file of the instruments.
fn line(of: &Instrument) -> String {
    let kind = if of.kind() == ContractKind::Inverse { " inverse" } else { "" };
    format!("{} tick {} lot {}{kind}", of.symbol(), of.tick(), of.lot())
}

/// In the journal an instrument is a number, which the order of the settings gives: while there are
/// orders or positions, those settings may be added to, and not changed.
fn check_instruments(
    file: &Path,
    instruments: &[Instrument],
    recovered: &State,
) -> Result<(), String> {
    let now: Vec<String> = instruments.iter().map(line).collect();
    let before = fs::read_to_string(file).unwrap_or_default();
    let is_flat = recovered.positions.values().all(|held| held.lots() == Lots::ZERO);
    let is_bound = !recovered.orders.is_empty() || !is_flat;
    for (number, before) in before.lines().enumerate().filter(|_| is_bound) {
        let now = now.get(number).map_or("nothing", String::as_str);
        if now != before {
            return Err(format!(
                "it has orders or positions, and in its numbers instrument {number} is {before}; \
                 [[instruments]] says {now}. Keep their order, and add new ones at the end"
            ));
        }
    }
    if now.join("\n") + "\n" == before {
        return Ok(());
    }
    write_instruments(file, &now)
}

fn write_instruments(file: &Path, lines: &[String]) -> Result<(), String> {
    let text = lines.join("\n") + "\n";
    let written = write_whole(file, text.as_bytes());
    written.map_err(|error| format!("{}: {error}", file.display()))
}

/// Keeps a journal until its writer's thread is over: `over` has lost its other end then. A
/// recording is ended.
pub fn keep(
    mut housekeeper: Housekeeper,
    is_recording: bool,
    over: &Receiver<()>,
    heard: Heard<'_>,
) {
    let told = |error| heard(&entry(&JournalTrouble {}, format!("the order journal: {error}")));
    let mut was_well = true;
    loop {
        let is_over = over.recv_timeout(TURN) != Err(RecvTimeoutError::Timeout);
        let turned = housekeeper.turn();
        was_well = match turned {
            Err(error) if was_well => {
                told(error);
                false
            }
            turned => turned.is_ok(),
        };
        if is_over {
            break;
        }
    }
    if is_recording {
        housekeeper.finish().err().into_iter().for_each(told);
    }
}
