//! The matrix as a table and as a plot.

use maud::html;
use serde::Serialize;
use taut_report::Figures;
use taut_report::chart::{Range, ranges};
use taut_report::page::{Table, page};
use taut_report::plain;

/// One receiver of one cell: medians over the rounds; what is out of order or missing is summed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    pub receiver: String,
    pub rate: u32,
    pub connections: u32,
    pub wait: String,
    /// `None` when it reported none.
    pub latency_ns: Option<Figures>,
    pub syscalls_per_message: f64,
    pub idle_calls_per_message: f64,
    pub cpu_percent: f64,
    pub context_switches: f64,
    pub received: u64,
    pub out_of_sequence: u64,
    pub missing: u64,
    /// How late the sender was at most: what the machine did to it, not the receiver.
    pub sender_lag_ns_max: u64,
}

impl Row {
    /// One of the figures in microseconds; no number when there are none.
    pub fn us(&self, figure: impl Fn(&Figures) -> u64) -> f64 {
        self.latency_ns.as_ref().map_or(f64::NAN, |figures| figure(figures) as f64 / 1e3)
    }
}

const HEADS: [&str; 15] = [
    "rate Hz",
    "connections",
    "wait",
    "receiver",
    "p50 us",
    "p99 us",
    "p99.9 us",
    "max us",
    "calls/msg",
    "idle/msg",
    "CPU %",
    "switches",
    "out of order",
    "missing",
    "sender late us",
];

/// The rows as a table.
pub fn table(rows: &[Row]) -> Table<'static> {
    let row = |row: &Row| {
        vec![
            row.rate.to_string(),
            row.connections.to_string(),
            row.wait.clone(),
            row.receiver.clone(),
            format!("{:.1}", row.us(|of| of.p50)),
            format!("{:.1}", row.us(|of| of.p99)),
            format!("{:.1}", row.us(|of| of.p999)),
            format!("{:.0}", row.us(|of| of.max)),
            known(row.syscalls_per_message, 3),
            known(row.idle_calls_per_message, 1),
            format!("{:.0}", row.cpu_percent),
            format!("{:.0}", row.context_switches),
            row.out_of_sequence.to_string(),
            row.missing.to_string(),
            format!("{:.0}", row.sender_lag_ns_max as f64 / 1e3),
        ]
    };
    Table { heads: &HEADS, rows: rows.iter().map(row).collect() }
}

/// A peer that does not count its calls says -1.
fn known(value: f64, decimals: usize) -> String {
    if value < 0.0 { "?".to_owned() } else { format!("{value:.decimals$}") }
}

/// A page with a bar from p50 to p99 for every row, on a logarithmic axis, and the table below.
pub fn html(rows: &[Row]) -> String {
    let bar = |row: &Row| -> Range<'static> {
        let Row { rate, connections, wait, receiver, .. } = row;
        let name = format!("{rate} Hz x {connections}, {wait}, {receiver}");
        (class(receiver), name, row.us(|of| of.p50), row.us(|of| of.p99))
    };
    let bars: Vec<_> = rows.iter().map(bar).collect();
    let title = "One-way latency over loopback, microseconds: p50 (dot) to p99 (end of the bar)";
    let body = html! {
        header { p.kicker { "taut-bench loop-matrix" } h1 { (title) } }
        section { (ranges("latency", title, &bars, plain)) }
        section { (table(rows).html()) }
    };
    page("taut-bench loop-matrix", &body)
}

fn class(receiver: &str) -> &'static str {
    match receiver {
        "epoll" | "hot" => "p50",
        "uring" => "tick_to_send",
        "bare" => "max",
        _ => "p99",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_the_table_and_in_the_plot() {
        let row = Row {
            receiver: "a<b".to_owned(),
            rate: 1000,
            connections: 64,
            wait: "spin".to_owned(),
            latency_ns: Some(Figures {
                p50: 5_000,
                p99: 20_000,
                p999: 100_000,
                max: 4_000_000,
                ..Figures::default()
            }),
            syscalls_per_message: 1.94,
            idle_calls_per_message: -1.0,
            cpu_percent: 99.0,
            context_switches: 3.0,
            ..Row::default()
        };
        let rows = [row.clone(), row];
        assert_eq!(table(&rows).markdown().lines().count(), 4);
        assert!(table(&rows).markdown().contains("| 1.940 | ? |"));
        let page = html(&rows);
        assert_eq!(page.matches("<rect").count(), 2);
        assert!(page.contains("a&lt;b") && !page.contains("a<b"));
    }
}
