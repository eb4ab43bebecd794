//! What came of a run that was done again.

use std::fmt;

use taut_gateway::{GatewayCounters, WhatIf};
use taut_journal::{ATTENTION, COMMAND, Frame, GAP, HOUSEKEEPING, STATE, TURN};
use taut_types::{Instrument, Nanos, Side};

use crate::settings::Mode;

/// Entries between two looks of whoever is shown how far it is.
const ENTRIES_PER_SHOW: u64 = 4_096;

/// What a recording holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// Where the strategy ran.
    pub mode: Mode,
    /// The name of the gateway, where it ran by itself.
    pub gateway: Option<String>,
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
    /// Entries about orders, which are no turns.
    pub order_entries: u64,
    /// Entries that were dropped because the disk took no more.
    pub dropped: u64,
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
        if frame.is_about_orders() {
            self.order_entries += 1;
            return;
        }
        self.span = frame.time.since(began);
        let count = match frame.kind {
            TURN => &mut self.turns,
            HOUSEKEEPING => &mut self.rounds,
            COMMAND | ATTENTION => &mut self.commands,
            STATE => &mut self.states,
            GAP => {
                let dropped = frame.bytes.first_chunk().map_or(0, |it| u64::from_le_bytes(*it));
                self.dropped = self.dropped.saturating_add(dropped);
                return;
            }
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
        match &self.gateway {
            Some(name) => write!(f, "gateway '{name}', {mode}, {span:.3} s{end}")?,
            None => write!(f, "{mode} run of {span:.3} s{end}")?,
        }
        write!(
            f,
            "\n{entries} entries, {megabytes:.1} MB: {turns} turns, {rounds} rounds of \
             housekeeping, {commands} commands, {states} states"
        )?;
        if self.order_entries > 0 {
            write!(f, ", {} about orders", self.order_entries)?;
        }
        match self.dropped {
            0 => Ok(()),
            dropped => write!(f, "; {dropped} entries were dropped"),
        }
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
    /// What other limits say of its requests, where they were asked for.
    pub what_if: Option<Judged>,
    /// How many rows of its market were written, where they were asked for.
    pub market_rows: Option<u64>,
    /// How many packets of what passed were written, where they were asked for.
    pub packets: Option<u64>,
    /// The entry behind which others were dropped: there the replay ends.
    pub gap: Option<u64>,
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strategy = match (self.held.mode, self.requests_compared) {
            (Mode::Split, Some(count)) => format!("{count} requests of the strategy made again"),
            (Mode::Split, None) if self.held.gateway.is_some() => {
                "the strategies' requests were given".to_owned()
            }
            (Mode::Split, None) => "the strategy was overtaken by the market: its requests were \
                                    given, not made again"
                .to_owned(),
            _ => "the strategy's decisions made again".to_owned(),
        };
        let GatewayCounters { ticks, orders, .. } = self.counters;
        let differences = u32::from(self.divergence.is_some());
        writeln!(f, "{}", self.held)?;
        write!(f, "{ticks} ticks, {orders} orders; {strategy}; {differences} differences")?;
        if let Some(judged) = &self.what_if {
            write!(f, "\n{judged}")?;
        }
        match self.gap {
            Some(entry) => write!(f, "\nended at entry {entry}: what comes next was dropped"),
            None => Ok(()),
        }
    }
}

/// What other limits say of each new order and each modify of a run: of each by itself, with what
/// was held and open when it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judged {
    /// Requests that were judged.
    pub judged: u64,
    /// Why some would have been refused, and how many, the most first.
    pub refused: Vec<(String, u64)>,
    /// The first of them, in words.
    pub first: Vec<String>,
}

impl Judged {
    pub(crate) fn of(what_if: &WhatIf, instruments: &[Instrument], began: Nanos) -> Self {
        let mut refused: Vec<_> =
            what_if.refused.iter().map(|(why, count)| (why.to_string(), *count)).collect();
        refused.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let first = what_if.first.iter().map(|(at, id, terms, why)| {
            let instrument = instruments.get(terms.instrument.0 as usize);
            let symbol = instrument.map_or(String::new(), |it| it.symbol().to_string());
            let side = if terms.side == Side::Buy { "buy" } else { "sell" };
            let seconds = at.since(began).0 as f64 / 1e9;
            let (number, lots, price) = (id.0, terms.lots.0, terms.price);
            format!("{seconds:.6} s, order {number}, {side} {lots} {symbol} at {price}: {why}")
        });
        Self { judged: what_if.judged, refused, first: first.collect() }
    }

    /// How many would have been refused.
    #[must_use]
    pub fn refused_in_all(&self) -> u64 {
        self.refused.iter().map(|(_, count)| count).sum()
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (refused, judged) = (self.refused_in_all(), self.judged);
        write!(f, "by the other limits {refused} of {judged} requests would have been refused")?;
        for (why, count) in &self.refused {
            write!(f, "\n  {count}: {why}")?;
        }
        if !self.first.is_empty() {
            write!(f, "\nthe first of them:")?;
        }
        self.first.iter().try_for_each(|line| write!(f, "\n  {line}"))
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
