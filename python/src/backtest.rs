//! Backtests: recordings that are loaded once, and runs over them.

use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use taut_backtest::Recording;
use taut_gateway::{TouchConfig, TouchStrategy};
use taut_runner::backtest::{BACKTEST_SAMPLE, BacktestFile, BacktestOutcome, run as run_over};
use taut_types::{Instrument, Lots, Nanos};
use toml::Table;

use crate::errors::{of_io, of_runner};
use crate::outcome::outcome_dict;
use crate::strategy::{PyStrategy, Raised};

type Settings = BacktestFile<Table>;

/// Recordings in memory, packed as the simulated exchange reads them: any number of runs, at one
/// time too, share them.
#[derive(Debug)]
#[pyclass(frozen, module = "taut")]
pub struct Recordings {
    recordings: Vec<Recording>,
    instruments: Vec<Instrument>,
}

#[pymethods]
impl Recordings {
    /// Rows of all instruments.
    #[getter]
    fn rows(&self) -> usize {
        self.recordings.iter().map(|it| it.rows().len()).sum()
    }

    /// The first and the last time in them, nanoseconds.
    #[getter]
    fn span_ns(&self) -> (i64, i64) {
        self.span()
    }

    fn __repr__(&self) -> String {
        format!("Recordings({} instruments, {} rows)", self.recordings.len(), self.rows())
    }
}

impl Recordings {
    fn span(&self) -> (i64, i64) {
        let start = self.recordings.iter().map(|it| it.starts_at().0).min().unwrap_or(0);
        let last = self.recordings.iter().filter_map(|it| it.rows().last());
        let end = last.map(|row| row.local_at().max(row.exchange_at())).max();
        (start, end.unwrap_or(start).max(start))
    }
}

/// The file of settings with every key.
#[pyfunction]
pub const fn backtest_sample() -> &'static str {
    BACKTEST_SAMPLE
}

/// Says everything that is wrong with a file of settings, each mistake with its line.
#[pyfunction]
pub fn check_backtest_file(path: PathBuf) -> PyResult<()> {
    std::fs::metadata(&path).map_err(|error| of_io(&path, &error))?;
    Settings::read(&path).map(drop).map_err(|error| of_runner(&error))
}

/// Says everything that is wrong with settings.
#[pyfunction]
pub fn check_backtest(settings: &str, folder: PathBuf) -> PyResult<()> {
    settings_of(settings, &folder).map(drop)
}

/// Settings from JSON; relative paths in them start at a folder.
fn settings_of(json: &str, folder: &std::path::Path) -> PyResult<Settings> {
    let table: Table = serde_json::from_str(json)
        .map_err(|error| PyValueError::new_err(format!("the settings are no table: {error}")))?;
    Settings::from_table(&table, folder).map_err(|error| of_runner(&error))
}

/// Reads the recordings that settings name.
#[pyfunction]
pub fn load(py: Python<'_>, settings: &str, folder: PathBuf) -> PyResult<Recordings> {
    let file = settings_of(settings, &folder)?;
    for path in file.data.values().flatten() {
        std::fs::metadata(path).map_err(|error| of_io(path, &error))?;
    }
    py.detach(|| {
        let mut interrupted = None;
        let loaded = file.load(&mut |_| match Python::attach(|py| py.check_signals()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                interrupted = Some(error);
                ControlFlow::Break(())
            }
        });
        if let Some(error) = interrupted {
            return Err(error);
        }
        let recordings = loaded.map_err(|error| of_runner(&error))?.recordings;
        let instruments = file.built().map_err(|error| of_runner(&error))?;
        Ok(Recordings { recordings, instruments })
    })
}

/// The parameters of taut's own strategy, as `taut backtest` has them.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Touch {
    rate: NonZeroU32,
    lots: NonZeroU32,
    rest_ms: u32,
}

impl Default for Touch {
    fn default() -> Self {
        let rate = const { NonZeroU32::new(100).expect("above 0") };
        Self { rate, lots: NonZeroU32::MIN, rest_ms: 10 }
    }
}

impl Touch {
    fn of(parameters: &Table) -> PyResult<TouchConfig> {
        let Self { rate, lots, rest_ms } = parameters
            .clone()
            .try_into()
            .map_err(|error| PyValueError::new_err(format!("parameters: {error}")))?;
        Ok(TouchConfig {
            orders_per_second: rate.get(),
            lots: Lots(lots.get().into()),
            rest: Nanos::from_millis(rest_ms.into()),
        })
    }
}

/// Runs a strategy over recordings: a Python object with `base`, the class `taut.Strategy`, or
/// taut's own where nothing is given. `progress` is told how much of the time has passed, 0 to 1.
#[pyfunction]
#[pyo3(signature = (recordings, settings, folder, strategy = None, base = None, progress = None))]
pub fn run<'py>(
    py: Python<'py>,
    recordings: &Bound<'py, Recordings>,
    settings: &str,
    folder: PathBuf,
    strategy: Option<Bound<'py, PyAny>>,
    base: Option<Bound<'py, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let file = settings_of(settings, &folder)?;
    let recordings = recordings.get();
    let instruments = file.built().map_err(|error| of_runner(&error))?;
    let steps = |all: &[Instrument]| -> Vec<_> {
        all.iter().map(|it| (it.symbol(), it.tick(), it.lot())).collect()
    };
    if steps(&instruments) != steps(&recordings.instruments) {
        return Err(PyValueError::new_err(
            "instruments: the recordings were loaded with other symbols, ticks or lots; load them \
             with these settings",
        ));
    }
    let over = Over { file: &file, recordings, progress };
    let outcome = match strategy.zip(base) {
        Some((strategy, base)) => {
            let raised = Raised::default();
            let own = PyStrategy::new(&strategy, &base, raised.clone())?;
            over.run(|_| own, &raised)?
        }
        // Nothing of it needs Python.
        None => {
            let config = Touch::of(&file.parameters)?;
            py.detach(|| over.run(|now| TouchStrategy::new(config, now), &Raised::default()))?
        }
    };
    outcome_dict(py, &outcome)
}

/// What is run over.
struct Over<'a> {
    file: &'a Settings,
    recordings: &'a Recordings,
    progress: Option<Py<PyAny>>,
}

impl Over<'_> {
    fn run<S: taut_gateway::Strategy>(
        &self,
        make: impl FnOnce(Nanos) -> S,
        raised: &Raised,
    ) -> PyResult<BacktestOutcome> {
        let failed = |error| of_runner(&error);
        let markets = self.file.markets(&self.recordings.recordings).map_err(failed)?;
        let (start, end) = self.recordings.span();
        let mut go_on = |now: Nanos| {
            let part = (now.0 - start) as f64 / (end - start).max(1) as f64;
            if let Err(error) = Python::attach(|py| self.look(py, part)) {
                raised.keep(error);
            }
            !raised.is_some()
        };
        let outcome = run_over(markets, &self.file.settings().map_err(failed)?, make, &mut go_on);
        match Python::attach(|py| raised.error(py)) {
            Some(error) => Err(error),
            None => outcome.map_err(|error| of_runner(&error)),
        }
    }

    /// Hears Ctrl-C, tells how far it is, and lets other threads of Python run for a moment.
    fn look(&self, py: Python<'_>, part: f64) -> PyResult<()> {
        py.check_signals()?;
        if let Some(progress) = &self.progress {
            progress.call1(py, (part.clamp(0.0, 1.0),))?;
        }
        py.detach(|| ());
        Ok(())
    }
}
