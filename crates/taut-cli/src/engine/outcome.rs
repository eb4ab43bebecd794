//! What `taut engine replay` prints.

use std::fmt;

use serde::Serialize;

use super::correctness::{Known, Restored};
use super::throughput::Timed;
use crate::exit::Failure;
use crate::report::Conditions;
use crate::terminal;

/// Everything that a replay found.
#[derive(Debug, Serialize)]
pub struct Outcome {
    messages: u64,
    reports: u64,
    trades: u64,
    sha256: String,
    trade_hash: String,
    ops_per_s: f64,
    ns_per_op: f64,
    op_ns: OpNs,
    timer_ns: u64,
    peak_resting: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshots: Option<Restored>,
    conditions: Conditions,
}

/// The latency pass.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// By kind of operation.
    pub op_ns: OpNs,
    /// The median empty pair of readings, which is in each of them.
    pub timer_ns: u64,
}

/// Nanoseconds of an operation, by its kind.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OpNs {
    /// All of them.
    pub all: Percentiles,
    /// Orders that may rest.
    pub add: Percentiles,
    /// Cancels.
    pub cancel: Percentiles,
    /// Orders that may not.
    pub ioc: Percentiles,
}

/// Percentiles in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Percentiles {
    /// 50%.
    pub p50: u64,
    /// 99%.
    pub p99: u64,
    /// 99.9%.
    pub p999: u64,
    /// 99.99%.
    pub p9999: u64,
    /// 99.9999%.
    pub p999999: u64,
    /// The largest.
    pub max: u64,
}

impl Outcome {
    /// Puts the passes together.
    pub fn new(known: &Known, timed: Timed, latency: Latency, conditions: Conditions) -> Self {
        let elapsed_ns = timed.elapsed.0 as f64;
        let operations = timed.operations as f64;
        // Nothing timed has no speed.
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        Self {
            messages: known.messages,
            reports: known.reports,
            trades: known.trades,
            sha256: known.sha256.clone(),
            trade_hash: format!("{:016x}", known.trade_hash),
            ops_per_s: ratio(operations * 1e9, elapsed_ns).round(),
            ns_per_op: (ratio(elapsed_ns, operations) * 1e3).round() / 1e3,
            op_ns: latency.op_ns,
            timer_ns: latency.timer_ns,
            peak_resting: known.peak_resting,
            snapshots: known.snapshots.clone(),
            conditions,
        }
    }

    /// Prints it.
    ///
    /// # Errors
    /// When standard output takes nothing more.
    pub fn print(&self, json: bool) -> Result<(), Failure> {
        terminal::print_report(self, json)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "messages      {}", self.messages)?;
        writeln!(f, "reports       {}, of which {} are trades", self.reports, self.trades)?;
        writeln!(f, "peak resting  {}", self.peak_resting)?;
        if let Some(Restored { count, bytes_max, state_hash }) = &self.snapshots {
            writeln!(
                f,
                "snapshots     {count} restored, up to {bytes_max} bytes, last {state_hash}"
            )?;
        }
        writeln!(f, "sha256        {}", self.sha256)?;
        writeln!(f, "trade hash    {}", self.trade_hash)?;
        writeln!(f, "throughput    {:.0} op/s, {:.1} ns/op", self.ops_per_s, self.ns_per_op)?;
        writeln!(f, "timer         {} ns, contained in the latencies below", self.timer_ns)?;
        write!(f, "ns              p50      p99    p99.9   p99.99 p99.9999      max")?;
        let OpNs { all, add, cancel, ioc } = &self.op_ns;
        for (name, p) in [("all", all), ("add", add), ("cancel", cancel), ("ioc", ioc)] {
            write!(
                f,
                "\n{name:<10}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
                p.p50, p.p99, p.p999, p.p9999, p.p999999, p.max
            )?;
        }
        write!(f, "\nconditions    {}", self.conditions)
    }
}
