//! What a finished run leaves.

use std::fmt;

use taut_doctor::outliers::{OutlierTrace, Outliers};
use taut_gateway::{Client, Gateway, GatewayCounters, Observer, OrderHandler, StrategyCounters};
use taut_io::Kernel;
use taut_lat::{PathSnapshot, Snapshot, Stage};
use taut_market_data::FeedHandler;
use taut_oms::{Amount, PositionReport};
use taut_sys::{CpuTimes, StopSignal};
use taut_types::Nanos;

use crate::placement::Place;
use crate::role::Role;
use crate::service::PositionLine;
use crate::settings::Mode;

/// One of a run's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Process {
    /// What it is there for.
    pub role: Role,
    /// Its process id.
    pub id: u32,
    /// Where it runs, and how it waits.
    pub place: Place,
    /// How long it had its CPU, and how long it waited for it, from its start to the end of the
    /// run; nothing before that, and where the system does not say.
    pub cpu_times: Option<CpuTimes>,
    /// The nice value that it has, which may not be the one that was wanted; nothing where the
    /// system does not say.
    pub nice: Option<i8>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// Its time was over.
    Time,
    /// The recording was at its end.
    FlowEnded,
    /// Somebody asked it to stop.
    Signal(StopSignal),
    /// Somebody asked this process of it to stop.
    ChildSignal(Role),
}

/// What the venue simulator counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VenueOutcome {
    /// Packets of the incremental feed that it published; updates, where the feed is a recorded
    /// stream; changes of books, where it speaks as another venue.
    pub published: u64,
    /// The number of the last one; 0 where they have none of their own.
    pub last: u64,
    /// Its counters, by name.
    pub counters: Vec<(String, u64)>,
}

/// What a gateway holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holdings {
    /// A line for each strategy, instrument and account that ever traded.
    pub positions: Vec<PositionLine>,
    /// Profit over all of them, realised and not, less fees: a decimal.
    pub profit: String,
}

impl Holdings {
    /// Of a gateway with one strategy.
    pub(crate) fn of<C: Client, F: FeedHandler, K: Kernel, O: Observer, H: OrderHandler>(
        gateway: &Gateway<'_, C, F, K, O, H>,
    ) -> Self {
        let line = |held: PositionReport| {
            PositionLine::of(&held, "strategy".to_owned(), gateway.instruments())
        };
        let profit = gateway
            .positions()
            .fold(Amount::ZERO, |sum, held| sum + held.realised + held.unrealised - held.fees);
        Self { positions: gateway.positions().map(line).collect(), profit: profit.to_string() }
    }
}

/// The venue was killed, and its standby took its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailOver {
    /// From the kill until the standby listened.
    pub venue: Nanos,
    /// From the kill until the next order was acknowledged; nothing where none was within two
    /// seconds.
    pub orders: Option<Nanos>,
}

/// What a finished run leaves: counters, histograms, and how it was done. Its `Display` is a short
/// summary.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Where the strategy ran.
    pub mode: Mode,
    /// Why it ended.
    pub end: End,
    /// When it began, UTC.
    pub started_utc: Nanos,
    /// From the start of the flow to its end.
    pub elapsed: Nanos,
    /// Which processes it had.
    pub processes: Vec<Process>,
    /// How market data travelled.
    pub feed: String,
    /// How orders travelled.
    pub orders: String,
    /// What was measured of the CPUs, and why processes were placed and waited as they did; empty
    /// where there were none.
    pub placement: String,
    /// What the simulator counted; nothing for a venue that runs elsewhere.
    pub venue: Option<VenueOutcome>,
    /// What the gateway counted.
    pub gateway: GatewayCounters,
    /// What the strategy's process counted; zeros in fused mode.
    pub strategy: StrategyCounters,
    /// What the gateway held at its end.
    pub holdings: Holdings,
    /// The stages, tick-to-trade, and tick-to-trade less the send stage.
    pub path: PathSnapshot,
    /// From the send call to the first answer.
    pub round_trip: Snapshot,
    /// The send call without taut around it.
    pub bare_send: Snapshot,
    /// Whether stamps are ticks of the processor's counter, mapped to the monotonic clock.
    pub clock_is_counter: bool,
    /// The largest step when the mapping was renewed, ns.
    pub clock_error_ns_max: u64,
    /// Whether every open order was answered in time.
    pub drained: bool,
    /// The worst orders, and why they took long; none where nobody looked.
    pub outliers: Outliers,
    /// What a trace of them is drawn from.
    pub outlier_trace: OutlierTrace,
    /// How long there was no venue, where it was killed in the middle of the run
    /// ([`Simulator::standby`](crate::Simulator::standby)).
    pub fail_over: Option<FailOver>,
}

impl Outcome {
    /// Packets that the simulator published and the gateway neither received nor covered.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let published = self.venue.as_ref().map_or(0, |venue| venue.published);
        published.saturating_sub(self.gateway.ticks + self.gateway.recovered)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (gateway, seconds) = (&self.gateway, self.elapsed.0 as f64 / 1e9);
        writeln!(f, "{} mode, {seconds:.1} s, market data {}", self.mode.name(), self.feed)?;
        writeln!(
            f,
            "{} ticks, {} recovered, {} lost; {} orders, {} fills, {} cancels, {} refused by risk",
            gateway.ticks,
            gateway.recovered,
            self.lost(),
            gateway.orders,
            gateway.fills,
            gateway.cancels,
            gateway.risk_rejects,
        )?;
        for held in &self.holdings.positions {
            let PositionLine { symbol, quantity, average_price, .. } = held;
            writeln!(f, "holds {quantity} {symbol} at {average_price}")?;
        }
        writeln!(f, "profit {}", self.holdings.profit)?;
        let mut line = |name: &str, of: &Snapshot| {
            let summary = of.summary();
            writeln!(f, "{name:<13} p50 {:>9} ns  p99 {:>9} ns", summary.p50, summary.p99)
        };
        for (stage, snapshot) in Stage::ALL.iter().zip(&self.path.stages) {
            line(stage.name(), snapshot)?;
        }
        line("tick to trade", &self.path.tick_to_trade)?;
        let summary = self.round_trip.summary();
        write!(f, "round trip    p50 {:>9} ns  p99 {:>9} ns", summary.p50, summary.p99)?;
        self.outliers.sentence().map_or(Ok(()), |sentence| write!(f, "\n{sentence}"))
    }
}
