//! What can be seen of a run while it goes on, without a system call of the processes that work.

use taut_gateway::{GatewayCounters, StrategyCounters, Views};
use taut_types::Nanos;

use crate::outcome::Process;

/// A run's processes are ready, and its time begins.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Started<'a> {
    /// Which processes, and where they run.
    pub processes: &'a [Process],
    /// How market data travels.
    pub feed: &'a str,
    /// How orders travel.
    pub orders: &'a str,
    /// What was measured of the CPUs, and why processes are placed and wait as they do.
    pub placement: &'a str,
}

/// A run at one moment.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Live<'a> {
    /// When, on the monotonic clock.
    pub now: Nanos,
    /// Since its time began.
    pub elapsed: Nanos,
    /// What the gateway has counted.
    pub gateway: GatewayCounters,
    /// What the strategy's process has counted; zeros in fused mode.
    pub strategy: StrategyCounters,
    /// The histograms, read where they are written.
    pub views: Views<'a>,
}

/// Looks at a run from the process that started it.
pub trait Observer {
    /// All processes are ready.
    fn started(&mut self, _run: &Started<'_>) {}

    /// Comes about every 100 ms.
    fn live(&mut self, _run: &Live<'_>) {}

    /// Orders are answered and packets have arrived; nothing counts any more.
    fn finished(&mut self, _run: &Live<'_>) {}
}

/// Nobody looks.
impl Observer for () {}
