//! What came of a run that was done again.

use std::fmt;

use taut_gateway::GatewayCounters;
use taut_journal::{COMMAND, Frame, HOUSEKEEPING, STATE, TURN};
use taut_types::Nanos;

use crate::settings::Mode;

/// Entries between two looks of whoever is shown how far it is.
const ENTRIES_PER_SHOW: u64 = 4_096;

/// What a recording holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// Where the strategy ran.
    pub mode: Mode,
    /// Entries: what the run was, and all that follows.
    pub entries: u64,
    /// Turns of the loop, rounds of housekeeping, commands and states among them.
    pub turns: u64,
    /// See [`turns`](Self::turns).
    pub rounds: u64,
    /// See [`turns`](Self::turns).
    pub commands: u64,
    /// See [`turns`](Self::turns).
    pub states: u64,
    /// Bytes of the entries.
    pub bytes: u64,
    /// How long the recorded run was.
    pub span: Nanos,
    /// The recording was not ended: its process was killed.
    pub unfinished: bool,
}

impl Held {
    pub(crate) fn note(&mut self, frame: &Frame<'_>, began: Nanos) {
        self.entries += 1;
        self.bytes += frame.bytes.len() as u64;
        self.span = frame.time.since(began);
        let count = match frame.kind {
            TURN => &mut self.turns,
            HOUSEKEEPING => &mut self.rounds,
            COMMAND => &mut self.commands,
            STATE => &mut self.states,
            _ => return,
        };
        *count += 1;
    }
}

impl Held {
    /// Shows it, every so many entries.
    pub(crate) fn show(&self, progress: &mut dyn FnMut(&Self)) {
        if self.entries.is_multiple_of(ENTRIES_PER_SHOW) {
            progress(self);
        }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entries, turns, rounds, commands, states, .. } = self;
        let (mode, span) = (self.mode.name(), self.span.0 as f64 / 1e9);
        let megabytes = self.bytes as f64 / 1e6;
        let end = if self.unfinished { ", cut off where its process was killed" } else { "" };
        write!(
            f,
            "{mode} run of {span:.3} s{end}\n{entries} entries, {megabytes:.1} MB: {turns} turns, \
             {rounds} rounds of housekeeping, {commands} commands, {states} states"
        )
    }
}

/// What came of a run that was done again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// What was given, up to the difference if there is one.
    pub held: Held,
    /// In split mode: requests of the strategy's process that are those which it makes now. Nothing
    /// where it was overtaken by the market, so that it knew other things.
    pub requests_compared: Option<u64>,
    /// The gateway's counts at the end.
    pub counters: GatewayCounters,
    /// The first difference.
    pub divergence: Option<Divergence>,
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strategy = match (self.held.mode, self.requests_compared) {
            (Mode::Split, Some(count)) => format!("{count} requests of the strategy made again"),
            (Mode::Split, None) => "the strategy was overtaken by the market: its requests were \
                                    given, not made again"
                .to_owned(),
            _ => "the strategy's decisions made again".to_owned(),
        };
        let GatewayCounters { ticks, orders, .. } = self.counters;
        let differences = u32::from(self.divergence.is_some());
        writeln!(f, "{}", self.held)?;
        write!(f, "{ticks} ticks, {orders} orders; {strategy}; {differences} differences")
    }
}

/// Where a run that is done again goes another way.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Divergence {
    /// The number of the entry.
    pub entry: u64,
    /// When, since the run began.
    pub at: Nanos,
    /// What the gateway did then.
    pub doing: &'static str,
    /// What was recorded, and what is now.
    pub what: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, at, doing, what } = self;
        write!(f, "entry {entry}, {:.6} s into the run, {doing}: {what}", at.0 as f64 / 1e9)
    }
}
