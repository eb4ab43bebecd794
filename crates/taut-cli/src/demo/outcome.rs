//! From what was counted and recorded to the report.

use taut_gateway::{GatewayCounters, StrategyCounters, Views};
use taut_lat::{PathSnapshot, Snapshot};
use taut_types::Nanos;

use crate::demo::directory;
use crate::demo::placement::{Place, Placement as Places};
use crate::demo::plan::Plan;
use crate::exit::Failure;
use crate::report::{self, Counts, Interval, Machine, Placement, RunReport};
use crate::terminal::print;

/// What a finished run leaves.
#[derive(Debug)]
pub struct Outcome<'m> {
    /// The run, as it was planned.
    pub plan: Plan,
    /// From the start of the flow to its end.
    pub elapsed: Nanos,
    /// When it started, UTC.
    pub started_utc: Nanos,
    /// Packets that the venue published.
    pub published: u64,
    /// The venue's counters.
    pub venue: Vec<(String, u64)>,
    /// The gateway's.
    pub gateway: GatewayCounters,
    /// The strategy's; zeros in fused mode.
    pub strategy: StrategyCounters,
    /// The histograms.
    pub views: Views<'m>,
    /// Tick-to-trade over time.
    pub intervals: Vec<Interval>,
    /// How the feed travelled.
    pub feed: String,
    /// Whether ticks are counter ticks, and how wrong a stamp can be.
    pub clock: (bool, u64),
    /// What else happened.
    pub notes: Vec<String>,
}

impl Outcome<'_> {
    /// Writes the report, prints the table and, if asked for, the JSON line.
    pub fn publish(self) -> Result<(), Failure> {
        let out = directory::choose(self.plan.arguments.out.as_deref(), self.started_utc);
        let json = self.plan.arguments.json;
        let report = self.into_report();
        let html = report::write_all(&out, &report)
            .map_err(|error| Failure::run(&format!("report in {}", out.display()), error))?;
        let mut text = format!("{}\nreport: {}", report::table(&report), html.display());
        if json {
            text.push('\n');
            text.push_str(&report::json_line(&report, &html));
        }
        let printed = print(text);
        verdict(&report.counts)?;
        printed.map_err(|error| {
            Failure::run("standard output", format!("{error}; the report is {}", html.display()))
        })
    }

    fn into_report(self) -> RunReport {
        let clock = self.clock_text();
        let counts = self.counts();
        let mut notes = vec![self.plan.source.clone(), format!("market data: {}", self.feed)];
        if counts.lost > 0 {
            notes.push(format!(
                "{} packets were lost: neither received nor covered by a snapshot",
                counts.lost
            ));
        }
        notes.extend(self.notes);
        RunReport {
            mode: self.plan.arguments.mode.name().to_owned(),
            seconds: self.elapsed.0 as f64 / 1e9,
            started_utc_ns: self.started_utc.0,
            command_line: command_line(),
            counts,
            path: PathSnapshot::of(&self.views.path),
            order_round_trip: Snapshot::of(&self.views.round_trip),
            bare_send: Snapshot::of(&self.views.bare_send),
            intervals: self.intervals,
            placement: places(&self.plan.placement, self.plan.is_fused()),
            clock,
            machine: Machine::read(),
            notes,
        }
    }

    fn counts(&self) -> Counts {
        let gateway = &self.gateway;
        let mut extras: Vec<(String, u64)> = [
            ("packets of line A", gateway.line_a),
            ("news by line A", gateway.line_a_first),
            ("packets of line B", gateway.line_b),
            ("news by line B", gateway.line_b_first),
            ("gaps", gateway.gaps),
            ("requests for packets", gateway.retransmit_requests),
            ("news by retransmission", gateway.retransmitted),
            ("snapshots loaded", gateway.snapshots),
            ("malformed packets", gateway.malformed),
            ("receive calls that failed", gateway.receive_errors),
            ("reports sent again", gateway.repeated_reports),
            ("bid levels at the end", gateway.bid_levels),
            ("offer levels at the end", gateway.ask_levels),
            ("requests refused", gateway.refused),
            ("orders expired", gateway.expired),
            ("bare sends", self.views.bare_send.summary().count),
        ]
        .map(|(name, count)| (name.to_owned(), count))
        .to_vec();
        if !self.plan.is_fused() {
            extras.push(("market events seen by the strategy".to_owned(), self.strategy.events));
            extras.push(("market events it was too slow for".to_owned(), self.strategy.lapped));
        }
        extras.extend(self.venue.iter().map(|(name, count)| (format!("venue: {name}"), *count)));
        Counts {
            published: self.published,
            ticks: gateway.ticks,
            recovered: gateway.recovered,
            lost: self.published.saturating_sub(gateway.ticks + gateway.recovered),
            orders: gateway.orders,
            acks: gateway.acks,
            order_rejects: gateway.order_rejects,
            risk_rejects: gateway.risk_rejects,
            fills: gateway.fills,
            cancel_requests: gateway.cancel_requests,
            cancels: gateway.cancels,
            cancel_rejects: gateway.cancel_rejects,
            unanswered: gateway.unanswered,
            extras,
        }
    }

    fn clock_text(&self) -> String {
        let (uses_counter, error_ns) = self.clock;
        let source = if uses_counter {
            format!(
                "time-stamp counter, mapped to CLOCK_MONOTONIC and anchored anew every 100 ms \
                 (largest step {error_ns} ns)"
            )
        } else {
            "CLOCK_MONOTONIC by the vDSO (the kernel does not trust the time-stamp counter here)"
                .to_owned()
        };
        format!(
            "{source}. Tick-to-trade runs from the return of the receive call that brought the \
             packet to the return of the send call that took the order; its nine stages add up to \
             it exactly. The order round trip runs from the send call to the return of the receive \
             call that brought the first answer. The bare send is the same call with an order's \
             bytes on a second connection to the venue, every 5 ms."
        )
    }
}

/// A run whose counts do not add up, or that lost packets, is a failed run with a report.
fn verdict(counts: &Counts) -> Result<(), Failure> {
    if let Some(broken) = counts.balances().into_iter().find(|balance| !balance.holds()) {
        return Err(Failure::Run(format!("the counts do not add up: {broken}")));
    }
    match counts {
        Counts { lost: 0, unanswered: 0, .. } => Ok(()),
        Counts { lost, unanswered, .. } => Err(Failure::Run(format!(
            "{lost} packets were lost and {unanswered} requests got no answer; the report is \
             written"
        ))),
    }
}

fn command_line() -> String {
    let words: Vec<_> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    words.join(" ")
}

fn places(places: &Places, fused: bool) -> Vec<Placement> {
    let one = |process: &str, place: &Place| Placement {
        process: process.to_owned(),
        cpu: place.cpu.to_string(),
        wait: format!("{:?}", place.wait).to_lowercase(),
        scheduler: if place.batch { "SCHED_BATCH" } else { "SCHED_OTHER" }.to_owned(),
    };
    let mut all = vec![one("venue", &places.venue)];
    if fused {
        all.push(one("gateway and strategy", &places.gateway));
    } else {
        all.push(one("gateway", &places.gateway));
        all.push(one("strategy", &places.strategy));
    }
    all
}
