//! The recordings that a file of settings names, and the exchanges over them.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use taut_backtest::{
    Chance, Compat, EngineExchange, Exchange, ExchangeSide, FeeBasis, Fees, FillModel,
    LevelExchange, OrderExchange, Probability, Recording, RiskAverse, RowKind,
};
use taut_gateway::Strategy;
use taut_recording::{ConvertError, ReadOptions, Recorded, Source, midnight, record_npz};
use taut_types::{Instrument, Nanos};

use super::driver::{BacktestMarket, run};
use super::file::BacktestFile;
use super::keys::{CompatKey, ExchangeKeys, FeeBasisKey, FillsKey, QueueKey};
use super::outcome::BacktestOutcome;
use super::own_orders::SimulatedExchange;
use super::ways::{LatencyFiles, Ways};
use crate::error::RunnerError;
use crate::settings::{InstrumentSettings, build_fees};

/// How far the reading of recordings is.
#[derive(Clone, Copy, Debug)]
pub struct Loading<'a> {
    /// The first file of the instrument that is read.
    pub file: &'a Path,
    /// Whether its rows are packed; files that have to be sorted are read a first time before.
    pub is_packing: bool,
    /// Rows of this reading.
    pub rows: u64,
}

/// What was read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// A recording for each instrument, in the instruments' order.
    pub recordings: Vec<Recording>,
    /// By how much the local times of all files but npz are later than there: their clock was
    /// behind the exchange's.
    pub shift: Nanos,
}

/// Files of an instrument before their rows are packed.
enum Opened {
    /// They are in the order of both clocks.
    Ordered(Vec<PathBuf>),
    /// They were looked at.
    Looked(Recorded),
}

type Watch<'a> = &'a mut dyn FnMut(Loading<'_>) -> ControlFlow<()>;

impl<P> BacktestFile<P> {
    /// Reads the recordings of the instruments; `watch` hears how far it is, and may end it.
    ///
    /// # Errors
    /// What is wrong with a file, that an instrument has none, or that it was to stop.
    pub fn load(&self, watch: Watch<'_>) -> Result<Loaded, RunnerError> {
        let instruments = self.built()?;
        let mut opened = Vec::with_capacity(instruments.len());
        for (settings, instrument) in self.instruments.iter().zip(&instruments) {
            let files = self.files_of(instrument)?;
            opened.push((files, self.open(settings, files, watch)?));
        }
        // What was received on one clock is set right by one shift.
        let base = Nanos(self.reading.base_latency_ns.into());
        let shifts = opened.iter().filter_map(|(_, it)| match it {
            Opened::Looked(looked) => Some(looked.shift(base)),
            Opened::Ordered(_) => None,
        });
        let shift = shifts.max().unwrap_or(Nanos::ZERO);
        let mut recordings = Vec::with_capacity(instruments.len());
        for (instrument, (files, opened)) in instruments.iter().zip(opened) {
            let steps = (instrument.tick(), instrument.lot());
            let first = first(files);
            let mut step = |step: taut_recording::Step| {
                watch(Loading { file: first, is_packing: step.is_writing, rows: step.rows })
            };
            let recording = match opened {
                Opened::Ordered(files) => record_npz(&files, steps, &mut step),
                Opened::Looked(looked) => looked.recording(steps, shift, &mut step),
            };
            recordings.push(recording.map_err(|error| refused(&error))?);
        }
        self.check(&recordings)?;
        Ok(Loaded { recordings, shift })
    }

    fn files_of(&self, instrument: &Instrument) -> Result<&[PathBuf], RunnerError> {
        let symbol = instrument.symbol();
        let files = self.data.get(symbol.as_str()).filter(|files| !files.is_empty());
        files.map(Vec::as_slice).ok_or_else(|| {
            RunnerError::Settings(format!(
                "data.{symbol}: no recording is named; name its files in [data], or with --data \
                 {symbol}=FILE"
            ))
        })
    }

    fn open(
        &self,
        instrument: &InstrumentSettings,
        files: &[PathBuf],
        watch: Watch<'_>,
    ) -> Result<Opened, RunnerError> {
        let source = self.source_of(files)?;
        let first = first(files);
        // Whoever waits hears of the file before it is read.
        if watch(Loading { file: first, is_packing: source == Source::Npz, rows: 0 }).is_break() {
            return Err(refused(&ConvertError::Stopped));
        }
        if source == Source::Npz {
            return Ok(Opened::Ordered(files.to_vec()));
        }
        let reading = &self.reading;
        let options = ReadOptions {
            symbol: Some(instrument.name.as_ref().unwrap_or(&instrument.symbol).clone()),
            midnight: reading.date.as_deref().and_then(midnight),
            latency: Nanos(reading.latency_ns.into()),
            has_best: false,
        };
        let mut step = |step: taut_recording::Step| {
            watch(Loading { file: first, is_packing: step.is_writing, rows: step.rows })
        };
        let looked = Recorded::look(source, files, &options, &mut step);
        looked.map(Opened::Looked).map_err(|error| refused(&error))
    }

    /// What files are: as was said, or as they look.
    fn source_of(&self, files: &[PathBuf]) -> Result<Source, RunnerError> {
        if let Some(format) = self.reading.format {
            return Ok(format);
        }
        let mut found = None;
        for file in files {
            let source = Source::of(file).map_err(|error| {
                RunnerError::Settings(format!("{error} (reading.format says what it is)"))
            })?;
            if *found.get_or_insert(source) != source {
                let (first, file) = (first(files).display(), file.display());
                let text = format!("{file}: it is of another format than {first}; take one format");
                return Err(RunnerError::Settings(text));
            }
        }
        Ok(found.unwrap_or(Source::Npz))
    }

    /// Whether the exchange can be over these recordings: a queue of orders needs orders, and one
    /// over levels levels.
    ///
    /// # Errors
    /// The recording that does not fit, and what to take.
    pub fn check(&self, recordings: &[Recording]) -> Result<(), RunnerError> {
        for (instrument, recording) in self.built()?.iter().zip(recordings) {
            let file = first(self.files_of(instrument)?);
            let Some(queue) = self.exchange_of(instrument.symbol().as_str()).queue else {
                continue;
            };
            let has_orders = recording.orders() > 0;
            let has_levels = || recording.rows().iter().any(|row| row.kind() == RowKind::Level);
            let wrong = match (queue, has_orders) {
                (QueueKey::Fifo | QueueKey::Engine, false) => {
                    "it has levels, and no orders one by one; take another"
                }
                (QueueKey::Fifo | QueueKey::Engine, true) => continue,
                _ if has_levels() => continue,
                (_, true) => "it has orders one by one, and no levels; take \"fifo\" or \"engine\"",
                (_, false) => "it has no levels; record the book too",
            };
            let (file, queue) = (file.display(), queue.name());
            let text = format!("exchange.queue = \"{queue}\": {file}: {wrong}");
            return Err(RunnerError::Settings(text));
        }
        Ok(())
    }

    /// What is traded where, over these recordings.
    ///
    /// # Errors
    /// What is wrong with a setting, or with a file of latencies.
    pub fn markets<'r>(
        &self,
        recordings: &'r [Recording],
    ) -> Result<Vec<BacktestMarket<'r>>, RunnerError> {
        self.markets_with(recordings, &LatencyFiles::default())
    }

    /// The same, where files of latencies were read before.
    pub(super) fn markets_with<'r>(
        &self,
        recordings: &'r [Recording],
        files: &LatencyFiles,
    ) -> Result<Vec<BacktestMarket<'r>>, RunnerError> {
        let parts = self.built()?.into_iter().zip(build_fees(&self.instruments)?).zip(recordings);
        let mut markets = Vec::with_capacity(recordings.len());
        for ((instrument, rates), recording) in parts {
            let symbol = instrument.symbol();
            let keys = self.exchange_of(symbol.as_str());
            let latency = files.ways(self.latency_of(symbol.as_str()))?;
            let basis = match keys.fee_basis {
                FeeBasisKey::Value => FeeBasis::Value,
                FeeBasisKey::Quantity => FeeBasis::Quantity,
                FeeBasisKey::Fill => FeeBasis::Fill,
            };
            let exchange = exchange(&keys, &instrument, recording, latency)?;
            let fees = Fees { basis, rates };
            markets.push(BacktestMarket { instrument, fees, recording, exchange });
        }
        Ok(markets)
    }

    /// Reads the recordings and runs a strategy over them: [`run`] with all that the file says.
    ///
    /// # Errors
    /// What is wrong with the file or the recordings; as [`run`].
    pub fn run<S: Strategy>(
        &self,
        make: impl FnOnce(Nanos) -> S,
    ) -> Result<BacktestOutcome, RunnerError> {
        let loaded = self.load(&mut |_| ControlFlow::Continue(()))?;
        run(self.markets(&loaded.recordings)?, &self.settings()?, make, &mut |_| true)
    }
}

fn first(files: &[PathBuf]) -> &Path {
    files.first().map_or(Path::new(""), PathBuf::as_path)
}

fn refused(error: &ConvertError) -> RunnerError {
    match error {
        ConvertError::Stopped => {
            RunnerError::Run("interrupted while recordings were read: nothing was run".to_owned())
        }
        other => RunnerError::Settings(other.to_string()),
    }
}

fn exchange<'r>(
    keys: &ExchangeKeys,
    instrument: &Instrument,
    recording: &'r Recording,
    latency: Ways,
) -> Result<Box<dyn SimulatedExchange + 'r>, RunnerError> {
    let ExchangeKeys { queue, exponent, fills, compat, .. } = *keys;
    let fills = match fills {
        FillsKey::Whole => FillModel::Whole,
        FillsKey::Partial => FillModel::Partial,
    };
    let compat = match compat {
        CompatKey::None => Compat::NONE,
        CompatKey::HftBacktest => Compat::HFTBACKTEST,
    };
    let default = if recording.orders() > 0 { QueueKey::Fifo } else { QueueKey::RiskAverse };
    let chance = match queue.unwrap_or(default) {
        QueueKey::Fifo => {
            return boxed(recording, OrderExchange::new(recording, latency, fills, compat));
        }
        QueueKey::Engine => return boxed(recording, EngineExchange::new(recording, latency)),
        QueueKey::RiskAverse => {
            let exchange = LevelExchange::new(recording, RiskAverse, latency, fills, compat);
            return boxed(recording, exchange);
        }
        QueueKey::Power => Chance::Power(exponent),
        QueueKey::Power2 => Chance::Power2(exponent),
        QueueKey::Power3 => Chance::Power3(exponent),
        QueueKey::Log => Chance::Log,
        QueueKey::Log2 => Chance::Log2,
    };
    let queue = Probability::new(chance, instrument.lot());
    boxed(recording, LevelExchange::new(recording, queue, latency, fills, compat))
}

fn boxed<'r, X: Exchange + 'r>(
    recording: &'r Recording,
    exchange: Result<X, taut_backtest::BacktestError>,
) -> Result<Box<dyn SimulatedExchange + 'r>, RunnerError> {
    let exchange = exchange.map_err(|error| RunnerError::Settings(error.to_string()))?;
    Ok(Box::new(ExchangeSide::new(recording, exchange)))
}
