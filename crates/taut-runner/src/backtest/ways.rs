//! The latency that a file of settings asks for.

use std::path::Path;
use std::sync::Arc;

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

impl Ways {
    /// Those of a table of settings.
    pub fn of(keys: &LatencyKeys) -> Result<Self, RunnerError> {
        let LatencyKeys { entry_ns, response_ns, file, histogram, seed } = keys;
        let refused = |error: &dyn std::fmt::Display| RunnerError::Settings(error.to_string());
        if let Some(file) = file {
            let rows = hft::read_latencies(file).map_err(|error| refused(&error))?;
            let latency = InterpolatedLatency::new(rows);
            let latency = latency.map_err(|error| {
                refused(&format_args!("latency.file = {}: {error}", file.display()))
            })?;
            return Ok(Self::Measured(Arc::new(latency)));
        }
        if let Some(file) = histogram {
            return drawn(file, *seed).map(|latency| Self::Drawn(Arc::new(latency)));
        }
        let of = |key: Option<u32>| i64::from(key.unwrap_or(LATENCY_NS));
        let (entry, response) = (of(*entry_ns), of(*response_ns));
        Ok(Self::Constant(ConstantLatency { entry, response }))
    }
}

/// What a run measured.
fn drawn(file: &Path, seed: u64) -> Result<DrawnLatency, RunnerError> {
    let read = |tag: &str| {
        let read = hlog::read_histogram(file, tag);
        read.map_err(|error| RunnerError::Settings(format!("latency.histogram: {error}")))
    };
    let round_trip = read(ROUND_TRIP)?.unwrap_or_default();
    // A log without it is of round trips alone.
    let before = read(TICK_TO_SEND)?.unwrap_or_default();
    DrawnLatency::new(seed, &before, &round_trip).ok_or_else(|| {
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
