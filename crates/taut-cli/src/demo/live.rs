//! The live line, and tick-to-trade over time.

use std::io::{IsTerminal, Write};

use taut_lat::IntervalReader;
use taut_runner::{Mode, Observer, Process, Role, Started};
use taut_types::Nanos;

use crate::demo::plan::Plan;
use crate::report::{Interval, human_count, human_ns};
use crate::terminal::tell;

/// How often the series gets a point and a terminal its line.
const INTERVAL: Nanos = Nanos::from_millis(500);
/// How often a log gets a line.
const LOG_INTERVAL: Nanos = Nanos::from_secs(2);

/// Watches a run from outside.
#[derive(Debug)]
pub struct Live {
    /// `split mode, synthetic flow, ...`
    title: String,
    fused: bool,
    /// Times are those since the start.
    next_point: Nanos,
    next_line: Nanos,
    last_point: Nanos,
    last_ticks: u64,
    reader: IntervalReader,
    intervals: Vec<Interval>,
    terminal: bool,
}

impl Live {
    /// A watcher of a run that has yet to start.
    pub fn new(plan: &Plan) -> Self {
        let mode = plan.settings.mode;
        Self {
            title: format!("{} mode, {}", mode.name(), plan.source),
            fused: mode == Mode::Fused,
            next_point: INTERVAL,
            next_line: INTERVAL,
            last_point: Nanos::ZERO,
            last_ticks: 0,
            reader: IntervalReader::new(),
            intervals: Vec::new(),
            terminal: std::io::stderr().is_terminal(),
        }
    }

    /// The series.
    pub fn into_intervals(self) -> Vec<Interval> {
        self.intervals
    }

    fn point(&mut self, run: &taut_runner::Live<'_>) {
        self.reader.next_interval(&run.views.path.tick_to_trade());
        let summary = self.reader.summary();
        if summary.count > 0 {
            self.intervals.push(Interval {
                t_seconds: seconds(run.elapsed),
                count: summary.count,
                p50: summary.p50,
                p99: summary.p99,
                max: summary.max,
            });
        }
    }

    fn print(&self, rate: f64, run: &taut_runner::Live<'_>) {
        let (so_far, counters) = (run.views.path.tick_to_trade().summary(), &run.gateway);
        let line = format!(
            "{:6.1} s  {:>7} ticks/s  {:>7} orders  {:>7} fills  tick-to-trade p50 {} p99 {}",
            seconds(run.elapsed),
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

impl Observer for Live {
    /// Says what was chosen.
    fn started(&mut self, run: &Started<'_>) {
        tell(&self.title);
        tell(format_args!("market data: {}", run.feed));
        tell(format_args!("orders: {}", run.orders));
        let one = |process: &Process| {
            let Process { role, id, place, nice, .. } = process;
            let nice = match nice {
                None | Some(0) => String::new(),
                Some(nice) => format!(", nice {nice}"),
            };
            let gateway = self.fused && *role == Role::Gateway;
            let name = if gateway { "gateway+strategy" } else { role.name() };
            format!("{name} (process {id}) on CPU {}, {}{nice}", place.cpu, place.wait.name())
        };
        tell(run.processes.iter().map(one).collect::<Vec<_>>().join("; "));
        tell(format_args!("placed so: {}", run.placement));
    }

    /// Takes a point and prints the line, when it is time to.
    fn live(&mut self, run: &taut_runner::Live<'_>) {
        let now = run.elapsed;
        if now < self.next_point {
            return;
        }
        self.point(run);
        let seconds = seconds(now.since(self.last_point)).max(1e-9);
        let ticks = run.gateway.ticks + run.gateway.recovered;
        let rate = (ticks.saturating_sub(self.last_ticks)) as f64 / seconds;
        (self.last_point, self.last_ticks) = (now, ticks);
        self.next_point = now + INTERVAL;
        if now >= self.next_line {
            self.next_line = now + if self.terminal { INTERVAL } else { LOG_INTERVAL };
            self.print(rate, run);
        }
    }

    /// One last point.
    fn finished(&mut self, run: &taut_runner::Live<'_>) {
        self.point(run);
        if self.terminal {
            // The line stays in place; what follows begins below it.
            tell("");
        }
    }
}

fn seconds(span: Nanos) -> f64 {
    span.0 as f64 / 1e9
}
