//! The pass that says what the engine does: on a fresh book, every report hashed.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;

use serde::Serialize;
use sha2::{Digest, Sha256};
use taut_book::Fnv1a;
use taut_engine::{Engine, EngineConfig, Event, Rules};
use taut_types::Side;

use super::input::{Input, Kind};
use super::report::{Checksum, Report, TRADE};
use super::throughput::{Snapshots, go_on};
use crate::exit::Failure;
use crate::terminal::tell;
use taut_report::files::WholeFile;

/// What the pass found.
#[derive(Debug)]
pub struct Known {
    /// Commands, those that fill the book included.
    pub messages: u64,
    /// Reports.
    pub reports: u64,
    /// Trades among them.
    pub trades: u64,
    /// New orders that the engine refused, which have no report.
    pub refused: u64,
    /// SHA-256 of the reports' text, in hexadecimal.
    pub sha256: String,
    /// FNV-1a over maker, taker, price and quantity of each trade.
    pub trade_hash: u64,
    /// The most orders that rested at once.
    pub peak_resting: usize,
    /// The most levels of a side.
    pub peak_levels: usize,
    /// The reports of the operations that are timed.
    pub checksum: Checksum,
    /// How the snapshots went, if there were any.
    pub snapshots: Option<Restored>,
}

/// Engines that went on from a snapshot.
#[derive(Clone, Debug, Serialize)]
pub struct Restored {
    /// How many.
    pub count: u64,
    /// Bytes of the largest snapshot.
    pub bytes_max: usize,
    /// The hash of the last state.
    pub state_hash: String,
}

/// Text that is hashed and written at once.
const TEXT_BYTES: usize = 1 << 16;

/// Runs all commands; writes the reports if asked to.
///
/// # Errors
/// When the reports cannot be written, or a snapshot does not restore the state.
pub fn pass(
    input: &Input,
    reports: Option<&Path>,
    snapshot_every: Option<NonZeroUsize>,
) -> Result<Known, Failure> {
    let mut text = Text::create(reports)?;
    let mut known = Known {
        messages: input.operations().len() as u64,
        reports: 0,
        trades: 0,
        refused: 0,
        sha256: String::new(),
        trade_hash: 0,
        peak_resting: 0,
        peak_levels: 0,
        checksum: Checksum::default(),
        snapshots: None,
    };
    let mut snapshots = Snapshots { every: snapshot_every, words: Vec::new() };
    let mut trade_hash = Fnv1a::new();
    let mut engine = Engine::new(most(input));
    let prefill = input.parts().0.len();
    for (at, operation) in input.operations().iter().enumerate() {
        engine.execute(operation.command(), &mut |event: Event| {
            let Some(report) = Report::of(operation.sequence, &event) else {
                known.refused += u64::from(matches!(event, Event::Rejected { .. }));
                return;
            };
            known.reports += 1;
            if at >= prefill {
                known.checksum.add(&report.to_payload());
            }
            if report.kind == TRADE {
                known.trades += 1;
                for word in [report.order_id, report.taker] {
                    trade_hash.write_u64(word);
                }
                trade_hash.write_i64(report.price);
                trade_hash.write_i64(report.lots);
            }
            text.add(&report);
        });
        let book = engine.book();
        known.peak_resting = known.peak_resting.max(book.order_count());
        let levels = Side::BOTH.map(|side| book.level_count(side));
        known.peak_levels = known.peak_levels.max(levels[0]).max(levels[1]);
        text.flush()?;
        if snapshots.every.is_some_and(|every| (at + 1).is_multiple_of(every.get())) {
            restore(&mut engine, &mut snapshots, &mut known.snapshots)?;
        }
    }
    known.trade_hash = trade_hash.finish();
    known.sha256 = text.finish()?;
    if known.refused > 0 {
        let refused = known.refused;
        tell(format_args!("{refused} new orders were refused; a refusal has no report"));
    }
    Ok(known)
}

/// Replaces the engine by one that is restored from its snapshot.
fn restore(
    engine: &mut Engine,
    snapshots: &mut Snapshots,
    told: &mut Option<Restored>,
) -> Result<(), Failure> {
    snapshots.take(engine);
    let words = snapshots.words.iter().copied();
    let restored = Engine::restore(engine.config(), Rules::default(), words)
        .map_err(|error| Failure::Run(format!("a snapshot cannot be restored: {error}")))?;
    let state_hash = restored.state_hash();
    if state_hash != engine.state_hash() {
        return Err(Failure::Run("a restored engine has another state hash".to_owned()));
    }
    *engine = restored;
    let before = told.take();
    *told = Some(Restored {
        count: before.as_ref().map_or(0, |before| before.count) + 1,
        bytes_max: before.map_or(0, |before| before.bytes_max).max(snapshots.words.len() * 8),
        state_hash: format!("{state_hash:016x}"),
    });
    Ok(())
}

/// A book in which everything that the file could make rest has room: as many orders as rest when
/// none of them trades.
fn most(input: &Input) -> EngineConfig {
    let (mut prices, mut live, mut most) = (HashSet::new(), HashSet::new(), 1);
    for operation in input.operations() {
        prices.extend(operation.order_price());
        match operation.kind {
            Kind::Add => {
                live.insert(operation.order_id);
            }
            Kind::Cancel => {
                live.remove(&operation.order_id);
            }
            Kind::ImmediateOrCancel | Kind::Modify => {}
        }
        most = most.max(live.len());
    }
    EngineConfig { order_capacity: most, level_capacity: prices.len().max(1) }
}

/// The reports' text on its way into the hash and the file.
struct Text {
    lines: Vec<u8>,
    is_first: bool,
    hash: Sha256,
    file: Option<(WholeFile, String)>,
}

impl Text {
    fn create(path: Option<&Path>) -> Result<Self, Failure> {
        let file = path
            .map(|path| {
                let name = path.display().to_string();
                match WholeFile::create(path) {
                    Ok(file) => Ok((file, name)),
                    Err(error) => Err(Failure::Usage(format!("{name}: cannot write it ({error})"))),
                }
            })
            .transpose()?;
        let lines = Vec::with_capacity(2 * TEXT_BYTES);
        Ok(Self { lines, is_first: true, hash: Sha256::new(), file })
    }

    fn add(&mut self, report: &Report) {
        if !self.is_first {
            self.lines.push(b'\n');
        }
        self.is_first = false;
        report.write(&mut self.lines);
    }

    /// Passes on what has come together, when it is much.
    fn flush(&mut self) -> Result<(), Failure> {
        if self.lines.len() < TEXT_BYTES {
            return Ok(());
        }
        go_on()?;
        self.pass_on()
    }

    fn pass_on(&mut self) -> Result<(), Failure> {
        self.hash.update(&self.lines);
        if let Some((file, name)) = &mut self.file {
            file.write_all(&self.lines).map_err(|error| Failure::run(name, error))?;
        }
        self.lines.clear();
        Ok(())
    }

    /// The hash, in hexadecimal.
    fn finish(mut self) -> Result<String, Failure> {
        self.pass_on()?;
        if let Some((file, name)) = self.file {
            file.finish().map_err(|error| Failure::run(&name, error))?;
        }
        Ok(self.hash.finalize().iter().fold(String::new(), |mut text, byte| {
            // Writing to memory cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }
}
