//! A sweep: one strategy over the same recordings with many settings.
//!
//! What is gone through is a table with the shape of a backtest's file, with lists and ranges where
//! that has values. Every value of one key meets every value of all others.

mod values;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::file::BacktestFile;
use crate::error::RunnerError;
use crate::mistakes::{self, FileSettings};
use crate::reading;
use crate::settings::InstrumentSettings;
pub use values::SweepValue;

/// A file for a sweep, for people to start from.
pub const SWEEP_SAMPLE: &str = include_str!("sweep.toml");
/// The most points that a sweep may have.
const POINTS_MAX: usize = 100_000;

/// A backtest's file, and what it is run with. All that can be said of a sweep ([`SWEEP_SAMPLE`]):
///
/// ```toml
#[doc = include_str!("sweep.toml")]
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sweep<P> {
    /// The file by itself.
    pub file: BacktestFile<P>,
    /// The keys that are gone through, with dots: `parameters.rate`.
    pub keys: Vec<String>,
    /// All combinations of their values, the last key's changing fastest.
    pub points: Vec<SweepPoint<P>>,
    /// What both files say, without comments and in a fixed order: equal texts are equal sweeps.
    pub text: String,
}

/// One combination of values.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SweepPoint<P> {
    /// Its place among all, from 0.
    pub number: usize,
    /// The values of the keys.
    pub values: Vec<SweepValue>,
    /// The file with them.
    pub file: BacktestFile<P>,
}

impl<P: DeserializeOwned + Clone> Sweep<P> {
    /// Reads a backtest's file, and what to go through out of `over`, or out of the `[sweep]` of
    /// the first where nothing else is named.
    ///
    /// # Errors
    /// Everything that is wrong with either, or the first combination that cannot be.
    pub fn read(path: &Path, over: Option<&Path>) -> Result<Self, RunnerError> {
        let file = BacktestFile::<P>::read(path)?;
        let mut table = table_of(path)?;
        let own = table.remove("sweep");
        let (over, name) = match (over, own) {
            (Some(over), _) => (table_of(over)?, over.display().to_string()),
            (None, Some(Value::Table(own))) => (own, format!("{}: sweep", path.display())),
            (None, _) => {
                let text = format!(
                    "{}: there is no [sweep] in it; write one, or name a file with --over",
                    path.display()
                );
                return Err(RunnerError::Settings(text));
            }
        };
        Self::of(file, &table, &over, &folder_of(path)?)
            .map_err(|text| RunnerError::Settings(format!("{name}: {text}")))
    }

    fn of(
        file: BacktestFile<P>,
        table: &Table,
        over: &Table,
        folder: &Path,
    ) -> Result<Self, String> {
        let axes = values::axes(over)?;
        if axes.is_empty() {
            return Err("nothing is gone through; give a key a list of values".to_owned());
        }
        let counts = axes.iter().map(|axis| axis.values.len());
        let count = counts.fold(1_usize, usize::saturating_mul);
        if count > POINTS_MAX {
            return Err(format!("{count} combinations; {POINTS_MAX} at most"));
        }
        let mut points = Vec::with_capacity(count);
        for number in 0..count {
            let (mut rest, mut table) = (number, table.clone());
            let mut chosen = Vec::with_capacity(axes.len());
            for axis in axes.iter().rev() {
                let value = &axis.values[rest % axis.values.len()];
                rest /= axis.values.len();
                values::set(&mut table, &axis.path, value.clone())
                    .map_err(|what| format!("{}: {what}", axis.key()))?;
                chosen.push(SweepValue::of(value));
            }
            chosen.reverse();
            let with = || {
                let named = axes.iter().zip(&chosen);
                let named = named.map(|(axis, value)| format!("{} = {value}", axis.key()));
                named.collect::<Vec<_>>().join(", ")
            };
            let point =
                build(table, &file, folder).map_err(|what| format!("{}: {what}", with()))?;
            points.push(SweepPoint { number, values: chosen, file: point });
        }
        let text = |table: &Table| toml::to_string(table).map_err(|error| error.to_string());
        // What files are read is told by what is in them.
        let mut named = table.clone();
        named.remove("data");
        let text = format!("{}\n[sweep]\n{}", text(&named)?, text(over)?);
        let keys = axes.iter().map(values::Axis::key).collect();
        Ok(Self { file, keys, points, text })
    }

    /// Takes these files in the place of what the file says, as [`BacktestFile::set_data`].
    ///
    /// # Errors
    /// As there.
    pub fn set_data<'a>(
        &mut self,
        files: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), RunnerError> {
        self.file.set_data(files)?;
        for point in &mut self.points {
            point.file.data.clone_from(&self.file.data);
        }
        Ok(())
    }

    /// The files of latencies that points name.
    #[must_use]
    pub fn latency_files(&self) -> BTreeSet<PathBuf> {
        let of = |file: &BacktestFile<P>| {
            let venues = file.venues.iter().filter_map(|venue| venue.latency.clone());
            let keys = venues.chain([file.latency.clone()]);
            keys.flat_map(|it| it.file.into_iter().chain(it.histogram)).collect::<Vec<_>>()
        };
        self.points.iter().flat_map(|point| of(&point.file)).collect()
    }
}

fn table_of(path: &Path) -> Result<Table, RunnerError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        RunnerError::Settings(format!("{}: {error}; check the path", path.display()))
    })?;
    toml::from_str(&text)
        .map_err(|error| RunnerError::Settings(format!("{}: {error}", path.display())))
}

fn folder_of(path: &Path) -> Result<PathBuf, RunnerError> {
    let absolute = std::path::absolute(path)
        .map_err(|error| RunnerError::Settings(format!("{}: {error}", path.display())))?;
    Ok(absolute.parent().unwrap_or(&absolute).to_owned())
}

/// The settings of a combination, which are over the same recordings.
fn build<P: DeserializeOwned>(
    table: Table,
    base: &BacktestFile<P>,
    folder: &Path,
) -> Result<BacktestFile<P>, String> {
    let mut file: BacktestFile<P> =
        reading::parsed(table).map_err(|error| error.to_string().replace('\n', " "))?;
    file.start_paths_at(folder);
    let wrong = file.mistakes();
    if !wrong.is_empty() {
        return Err(mistakes::error(&wrong).to_string());
    }
    let steps = |file: &BacktestFile<P>| {
        let of = |it: &InstrumentSettings| {
            (it.symbol.clone(), it.name.clone(), it.tick.clone(), it.lot.clone(), it.lot_decimals)
        };
        file.instruments.iter().map(of).collect::<Vec<_>>()
    };
    if file.data != base.data || file.reading != base.reading || steps(&file) != steps(base) {
        return Err("recordings are read once for all combinations; leave [data], [reading] and \
                    the instruments' symbols, ticks and lots as they are"
            .to_owned());
    }
    Ok(file)
}

#[cfg(test)]
mod tests;
