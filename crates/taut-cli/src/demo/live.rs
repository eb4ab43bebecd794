//! The live line, and tick-to-trade over time.

use std::io::{IsTerminal, Write};

use taut_gateway::{GatewayCounters, Views};
use taut_lat::IntervalReader;
use taut_types::Nanos;

use crate::report::{Interval, human_count, human_ns};
use crate::terminal::tell;

/// How often the series gets a point and a terminal its line.
const INTERVAL: Nanos = Nanos::from_millis(500);
/// How often a log gets a line.
const LOG_INTERVAL: Nanos = Nanos::from_secs(2);

/// Watches a run from outside.
#[derive(Debug)]
pub struct Live {
    started: Nanos,
    next_point: Nanos,
    next_line: Nanos,
    last_point: Nanos,
    last_ticks: u64,
    reader: IntervalReader,
    intervals: Vec<Interval>,
    terminal: bool,
}

impl Live {
    /// A watcher of a run that starts now.
    pub fn new(now: Nanos) -> Self {
        Self {
            started: now,
            next_point: now + INTERVAL,
            next_line: now + INTERVAL,
            last_point: now,
            last_ticks: 0,
            reader: IntervalReader::new(),
            intervals: Vec::new(),
            terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Takes a point and prints the line, when it is time to.
    pub fn look(&mut self, now: Nanos, views: &Views<'_>, counters: &GatewayCounters) {
        if now < self.next_point {
            return;
        }
        self.point(now, views);
        let seconds = seconds(now.since(self.last_point)).max(1e-9);
        let ticks = counters.ticks + counters.recovered;
        let rate = (ticks.saturating_sub(self.last_ticks)) as f64 / seconds;
        (self.last_point, self.last_ticks) = (now, ticks);
        self.next_point = now + INTERVAL;
        if now >= self.next_line {
            self.next_line = now + if self.terminal { INTERVAL } else { LOG_INTERVAL };
            self.print(now, rate, views, counters);
        }
    }

    /// The series so far, and one last point.
    pub fn finish(mut self, now: Nanos, views: &Views<'_>) -> Vec<Interval> {
        self.point(now, views);
        if self.terminal {
            // The line stays in place; what follows begins below it.
            tell("");
        }
        self.intervals
    }

    fn point(&mut self, now: Nanos, views: &Views<'_>) {
        self.reader.next_interval(&views.path.tick_to_trade());
        let summary = self.reader.summary();
        if summary.count > 0 {
            self.intervals.push(Interval {
                t_seconds: seconds(now.since(self.started)),
                count: summary.count,
                p50: summary.p50,
                p99: summary.p99,
                max: summary.max,
            });
        }
    }

    fn print(&self, now: Nanos, rate: f64, views: &Views<'_>, counters: &GatewayCounters) {
        let so_far = views.path.tick_to_trade().summary();
        let line = format!(
            "{:6.1} s  {:>7} ticks/s  {:>7} orders  {:>7} fills  tick-to-trade p50 {} p99 {}",
            seconds(now.since(self.started)),
            human_count(rate as u64),
            human_count(counters.orders),
            human_count(counters.fills),
            human_ns(so_far.p50),
            human_ns(so_far.p99),
        );
        let mut out = std::io::stderr().lock();
        // A closed standard error is no reason to end a run.
        let _ = if self.terminal {
            write!(out, "\r{line}\x1b[K").and_then(|()| out.flush())
        } else {
            writeln!(out, "{line}")
        };
    }
}

fn seconds(span: Nanos) -> f64 {
    span.0 as f64 / 1e9
}
