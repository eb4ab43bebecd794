//! What there is to report about a run.

use std::fmt;

use serde::Serialize;
use taut_doctor::outliers::Outliers;
use taut_lat::{PathSnapshot, Snapshot, Stage};

use crate::conditions::Conditions;
use crate::machine::Machine;

/// Everything about one run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// `split` or `fused`.
    pub mode: String,
    /// How long the run took, from the first tick to the last.
    pub seconds: f64,
    /// When it began: nanoseconds since 1970, UTC.
    pub started_utc_ns: i64,
    /// The command as it was given.
    pub command_line: String,
    /// What happened how often.
    pub counts: Counts,
    /// The stages, tick-to-trade, and tick-to-trade less the send stage.
    pub path: PathSnapshot,
    /// From the send call to the execution report.
    pub order_round_trip: Snapshot,
    /// The send call without taut around it.
    pub bare_send: Snapshot,
    /// Tick-to-trade over time.
    pub intervals: Vec<Interval>,
    /// Where each process ran, and how it waited.
    pub placement: Vec<Placement>,
    /// Which clock, from which point to which point, with which error.
    pub clock: String,
    /// What was held at the end.
    pub positions: Vec<Position>,
    /// Profit over all positions, realised and not, less fees: a decimal.
    pub profit: String,
    /// The machine.
    pub machine: Machine,
    /// What it did meanwhile besides the run.
    pub conditions: Conditions,
    /// What else a reader should know, a sentence each.
    pub notes: Vec<String>,
    /// The worst orders, and why they took long.
    pub outliers: Outliers,
}

/// What was held of an instrument, in decimals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The instrument.
    pub symbol: String,
    /// Bought less sold.
    pub quantity: String,
    /// The price at which it was bought or sold.
    pub average_price: String,
    /// Profit of what was closed.
    pub realised: String,
    /// Profit of what is open, at the middle of the market.
    pub unrealised: String,
}

/// What happened how often. [`Counts::balances`] says how the numbers must add up. The order of the
/// fields is the order of the keys, and part of the interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Market data packets' messages that the venue published.
    pub published: u64,
    /// Those that arrived and were applied.
    pub ticks: u64,
    /// Those that a snapshot covered.
    pub recovered: u64,
    /// Those that were neither.
    pub lost: u64,
    /// Orders that were sent.
    pub orders: u64,
    /// Orders that the venue accepted.
    pub acks: u64,
    /// Orders that the venue rejected.
    pub order_rejects: u64,
    /// Orders that the own risk checks stopped: they were never sent.
    pub risk_rejects: u64,
    /// Executions.
    pub fills: u64,
    /// Cancel requests that were sent.
    pub cancel_requests: u64,
    /// Those that cancelled an order.
    pub cancels: u64,
    /// Those that came too late.
    pub cancel_rejects: u64,
    /// Cancel requests that a broken connection took with it: what became of their orders is known.
    pub cancels_lost: u64,
    /// Orders and cancel requests without an answer at the end.
    pub unanswered: u64,
    /// Further counters, for the report and `run.json` only.
    #[serde(skip)]
    pub extras: Vec<(String, u64)>,
}

/// Tick-to-trade in one piece of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// When it ended, in seconds after the start of the run.
    pub t_seconds: f64,
    /// How many orders.
    pub count: u64,
    /// Their median, ns.
    pub p50: u64,
    /// Their 99th percentile, ns.
    pub p99: u64,
    /// Their maximum, ns.
    pub max: u64,
}

/// Where one process (or thread) ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Placement {
    /// `venue`, `gateway`, `strategy`.
    pub process: String,
    /// The CPU it was pinned to, or `any`.
    pub cpu: String,
    /// `spin`, `yield` or `block`.
    pub wait: String,
    /// The nice value: from -20 (it comes before others) to 19.
    pub nice: String,
    /// Of the time that it wanted its CPU, the percentage that another task had it.
    pub waited_percent: Option<f64>,
}

/// An equation that the counts of a sound run satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    /// The left side.
    pub whole: (&'static str, u64),
    /// The right side, summed.
    pub parts: &'static [&'static str],
    /// The values of the right side; unused ones are 0.
    pub values: [u64; 3],
}

/// A histogram of the report under its name.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The tag in `stages.hlog`: `decode`, `tick_to_trade`.
    pub tag: &'static str,
    /// What people read: `tick to trade`.
    pub label: &'static str,
    /// The values.
    pub histogram: &'a Snapshot,
}

impl RunReport {
    /// The stages in order.
    pub fn stages(&self) -> impl Iterator<Item = Named<'_>> {
        Stage::ALL.into_iter().zip(&self.path.stages).map(|(stage, histogram)| Named {
            tag: stage.name(),
            label: stage_label(stage),
            histogram,
        })
    }

    /// The whole path.
    #[must_use]
    pub const fn tick_to_trade(&self) -> Named<'_> {
        let histogram = &self.path.tick_to_trade;
        Named { tag: "tick_to_trade", label: "tick to trade", histogram }
    }

    /// The whole path less the send stage.
    #[must_use]
    pub const fn tick_to_send(&self) -> Named<'_> {
        let histogram = &self.path.tick_to_send;
        Named { tag: "tick_to_send", label: "less send", histogram }
    }

    /// From the send call to the execution report.
    #[must_use]
    pub const fn order_round_trip(&self) -> Named<'_> {
        let histogram = &self.order_round_trip;
        Named { tag: "order_round_trip", label: "order round trip", histogram }
    }

    /// The send call without taut around it.
    #[must_use]
    pub const fn bare_send(&self) -> Named<'_> {
        Named { tag: "bare_send", label: "bare send", histogram: &self.bare_send }
    }

    /// What is not a stage: tick-to-trade, less send, round trip, bare send.
    #[must_use]
    pub const fn wholes(&self) -> [Named<'_>; 4] {
        [self.tick_to_trade(), self.tick_to_send(), self.order_round_trip(), self.bare_send()]
    }

    /// A stage's part of all tick-to-trade time, 0 to 1.
    #[must_use]
    pub fn share(&self, histogram: &Snapshot) -> f64 {
        match self.path.tick_to_trade.sum() {
            0 => 0.0,
            whole => histogram.sum() as f64 / whole as f64,
        }
    }

    /// The share of what is a part of tick-to-trade, or all of it.
    #[must_use]
    pub fn share_of_whole(&self, whole: &Named<'_>) -> Option<f64> {
        let is_part = matches!(whole.tag, "tick_to_trade" | "tick_to_send");
        is_part.then(|| self.share(whole.histogram))
    }
}

impl Counts {
    /// How the counts must add up.
    #[must_use]
    pub const fn balances(&self) -> [Balance; 3] {
        [
            Balance {
                whole: ("published", self.published),
                parts: &["ticks", "recovered", "lost"],
                values: [self.ticks, self.recovered, self.lost],
            },
            Balance {
                whole: ("orders", self.orders),
                parts: &["acks", "order rejects"],
                values: [self.acks, self.order_rejects, 0],
            },
            Balance {
                whole: ("cancel requests", self.cancel_requests),
                parts: match self.cancels_lost {
                    0 => &["cancels", "cancel rejects"],
                    _ => &["cancels", "cancel rejects", "lost with their connection"],
                },
                values: [self.cancels, self.cancel_rejects, self.cancels_lost],
            },
        ]
    }

    /// The counts that stand alone, and the extras.
    pub fn singles(&self) -> impl Iterator<Item = (&str, u64)> {
        let extras = self.extras.iter().map(|(name, value)| (name.as_str(), *value));
        [
            ("fills", self.fills),
            ("risk rejects", self.risk_rejects),
            ("unanswered", self.unanswered),
        ]
        .into_iter()
        .chain(extras)
    }
}

impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} = ", self.whole.0, self.whole.1)?;
        for (at, (name, value)) in self.parts().enumerate() {
            write!(f, "{}{name} {value}", if at == 0 { "" } else { " + " })?;
        }
        Ok(())
    }
}

impl Balance {
    /// Whether both sides are equal.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.whole.1 == self.values.iter().sum::<u64>()
    }

    /// The right side, name by value.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.parts.iter().copied().zip(self.values)
    }
}

const fn stage_label(stage: Stage) -> &'static str {
    match stage {
        Stage::ToStrategy => "to strategy",
        Stage::ToGateway => "to gateway",
        other => other.name(),
    }
}
