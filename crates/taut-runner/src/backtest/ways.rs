//! The latency that a file of settings asks for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use taut_backtest::{ConstantLatency, DrawnLatency, InterpolatedLatency, Latency};
use taut_recording::{hft, hlog};

use super::keys::LatencyKeys;
use crate::error::RunnerError;

/// What both ways are where a file says nothing: half a millisecond.
const LATENCY_NS: u32 = 500_000;
/// The histograms of a run that are drawn from: from a tick's arrival to the send call, and from
/// there to the answer.
const TICK_TO_SEND: &str = "tick_to_send";
const ROUND_TRIP: &str = "order_round_trip";

/// Always the same latency, measured ones in their order, or measured ones by chance.
#[derive(Clone, Debug)]
pub enum Ways {
    Constant(ConstantLatency),
    Measured(Arc<InterpolatedLatency>),
    Drawn(Arc<DrawnLatency>),
}

/// What files of latencies hold, each read once: many runs may be over the same.
#[derive(Debug, Default)]
pub struct LatencyFiles(Mutex<HashMap<(Kind, PathBuf), Measured>>);

/// As what a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    RoundTrips,
    Histograms,
}

/// What is in a file of latencies.
#[derive(Clone, Debug)]
enum Measured {
    RoundTrips(Arc<InterpolatedLatency>),
    /// From a tick to its request, and round trips.
    Histograms(Arc<[hlog::Counts; 2]>),
}

impl LatencyFiles {
    /// The latency of a table of settings.
    pub fn ways(&self, keys: &LatencyKeys) -> Result<Ways, RunnerError> {
        let LatencyKeys { entry_ns, response_ns, file, histogram, seed } = keys;
        let read = match (file, histogram) {
            (Some(file), _) => Some((file, self.read(Kind::RoundTrips, file)?)),
            (None, Some(file)) => Some((file, self.read(Kind::Histograms, file)?)),
            (None, None) => None,
        };
        Ok(match read {
            Some((_, Measured::RoundTrips(latency))) => Ways::Measured(latency),
            Some((file, Measured::Histograms(counts))) => {
                Ways::Drawn(Arc::new(drawn(file, *seed, &counts)?))
            }
            None => {
                let of = |key: &Option<u32>| i64::from(key.unwrap_or(LATENCY_NS));
                let (entry, response) = (of(entry_ns), of(response_ns));
                Ways::Constant(ConstantLatency { entry, response })
            }
        })
    }

    /// What stands in a file. Whoever needs the same one meanwhile waits for it.
    fn read(&self, kind: Kind, file: &Path) -> Result<Measured, RunnerError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (kind, file.to_owned());
        if let Some(measured) = known.get(&key) {
            return Ok(measured.clone());
        }
        let measured = match kind {
            Kind::RoundTrips => round_trips(file)?,
            Kind::Histograms => histograms(file)?,
        };
        known.insert(key, measured.clone());
        Ok(measured)
    }
}

fn round_trips(file: &Path) -> Result<Measured, RunnerError> {
    let refused = |error: &dyn std::fmt::Display| RunnerError::Settings(error.to_string());
    let rows = hft::read_latencies(file).map_err(|error| refused(&error))?;
    let latency = InterpolatedLatency::new(rows)
        .map_err(|error| refused(&format_args!("latency.file = {}: {error}", file.display())))?;
    Ok(Measured::RoundTrips(Arc::new(latency)))
}

fn histograms(file: &Path) -> Result<Measured, RunnerError> {
    let read = |tag: &str| {
        let read = hlog::read_histogram(file, tag);
        read.map_err(|error| RunnerError::Settings(format!("latency.histogram: {error}")))
    };
    // A log without the first is of round trips alone.
    let [before, round_trip] = [read(TICK_TO_SEND)?, read(ROUND_TRIP)?];
    let counts = [before.unwrap_or_default(), round_trip.unwrap_or_default()];
    Ok(Measured::Histograms(Arc::new(counts)))
}

/// What a run measured.
fn drawn(
    file: &Path,
    seed: u64,
    [before, round_trip]: &[hlog::Counts; 2],
) -> Result<DrawnLatency, RunnerError> {
    DrawnLatency::new(seed, before, round_trip).ok_or_else(|| {
        RunnerError::Settings(format!(
            "latency.histogram = {}: nothing was counted under {ROUND_TRIP}; take the stages.hlog \
             of a run that had orders answered",
            file.display()
        ))
    })
}

impl Latency for Ways {
    fn entry(&self, at: i64) -> i64 {
        match self {
            Self::Constant(latency) => latency.entry(at),
            Self::Measured(latency) => latency.entry(at),
            Self::Drawn(latency) => latency.entry(at),
        }
    }

    fn response(&self, at: i64) -> i64 {
        match self {
            Self::Constant(latency) => latency.response(at),
            Self::Measured(latency) => latency.response(at),
            Self::Drawn(latency) => latency.response(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use taut_backtest::LatencyRow;

    use super::*;

    #[test]
    fn a_file_of_latencies_is_read_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("latency.npz");
        let row = |at| LatencyRow { request_at: at, exchange_at: at + 7, response_at: at + 20 };
        let bytes = taut_recording::latency_file(&[row(10), row(500)]).expect("a file");
        std::fs::write(&file, bytes).expect("written");
        let files = LatencyFiles::default();
        let keys = LatencyKeys { file: Some(file.clone()), ..LatencyKeys::default() };
        let ways = |files: &LatencyFiles| files.ways(&keys).map(|ways| ways.entry(10));
        assert_eq!(ways(&files), Ok(7));
        std::fs::remove_file(&file).expect("removed");
        assert_eq!(ways(&files), Ok(7));
        assert!(ways(&LatencyFiles::default()).is_err(), "it is gone");
        // As what it was not read, it is read.
        let histogram = LatencyKeys { histogram: Some(file), ..LatencyKeys::default() };
        assert!(files.ways(&histogram).is_err());
    }
}
