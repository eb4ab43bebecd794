//! The matrix as a table and as a plot.

use std::fmt::Write;

use serde::Serialize;

/// One receiver of one cell: medians over the rounds; what is out of order or missing is summed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    pub receiver: String,
    pub rate: u32,
    pub connections: u32,
    pub wait: String,
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub max_us: f64,
    pub syscalls: f64,
    pub idle_calls: f64,
    pub cpu_percent: f64,
    pub switches: f64,
    pub received: u64,
    pub out_of_sequence: u64,
    pub missing: u64,
    /// How late the sender was at most: what the machine did to it, not the receiver.
    pub sender_lag_us: f64,
}

const HEADINGS: [&str; 15] = [
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

impl Row {
    fn cells(&self) -> [String; 15] {
        [
            self.rate.to_string(),
            self.connections.to_string(),
            self.wait.clone(),
            self.receiver.clone(),
            format!("{:.1}", self.p50_us),
            format!("{:.1}", self.p99_us),
            format!("{:.1}", self.p999_us),
            format!("{:.0}", self.max_us),
            known(self.syscalls, 3),
            known(self.idle_calls, 1),
            format!("{:.0}", self.cpu_percent),
            format!("{:.0}", self.switches),
            self.out_of_sequence.to_string(),
            self.missing.to_string(),
            format!("{:.0}", self.sender_lag_us),
        ]
    }
}

/// A peer that does not count its calls says -1.
fn known(value: f64, decimals: usize) -> String {
    if value < 0.0 { "?".to_owned() } else { format!("{value:.decimals$}") }
}

/// The table in Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = format!("| {} |\n|{}\n", HEADINGS.join(" | "), "---|".repeat(HEADINGS.len()));
    for row in rows {
        text.push_str(&format!("| {} |\n", row.cells().join(" | ")));
    }
    text
}

const WIDTH: f64 = 960.0;
const LEFT: f64 = 260.0;
const LINE: f64 = 18.0;
/// The axis: from 1 us to 100 ms.
const DECADES: f64 = 5.0;

/// A page with a bar from p50 to p99 for every row, on a logarithmic axis, and the table below.
pub fn html(rows: &[Row]) -> String {
    let height = LINE * (rows.len() as f64 + 2.0);
    let x = |us: f64| LEFT + us.max(1.0).log10().clamp(0.0, DECADES) * (WIDTH - LEFT) / DECADES;
    let mut svg = String::new();
    for (decade, label) in ["1 us", "10 us", "100 us", "1 ms", "10 ms"].iter().enumerate() {
        let at = x(10f64.powi(decade as i32));
        let _ = writeln!(
            svg,
            "<line x1='{at:.1}' x2='{at:.1}' y1='{LINE}' y2='{height}' stroke='#ccc'/>\
             <text x='{at:.1}' y='12'>{label}</text>"
        );
    }
    for (index, row) in rows.iter().enumerate() {
        let y = LINE * (index as f64 + 2.0);
        let (from, to) = (x(row.p50_us), x(row.p99_us));
        let (mid, width) = (y - 5.0, (to - from).max(1.0));
        let _ = writeln!(
            svg,
            "<text x='4' y='{y}'>{} Hz x {}, {}, {}</text>\
             <rect x='{from:.1}' y='{:.1}' width='{width:.1}' height='8' fill='{}'/>\
             <circle cx='{from:.1}' cy='{mid:.1}' r='4'/>",
            row.rate,
            row.connections,
            escaped(&row.wait),
            escaped(&row.receiver),
            mid - 4.0,
            colour(&row.receiver),
        );
    }
    let heads: String = HEADINGS.iter().map(|heading| format!("<th>{heading}</th>")).collect();
    let mut body = String::new();
    for row in rows {
        let cells = row.cells();
        let cells: String =
            cells.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        let _ = writeln!(body, "<tr>{cells}</tr>");
    }
    format!(
        "<!doctype html><meta charset='utf-8'><title>taut bench loop-matrix</title>\n\
         <style>body{{font:13px sans-serif;margin:2em}}td,th{{padding:2px 8px;text-align:right}}\
         svg text{{font:11px sans-serif}}</style>\n\
         <h1>One-way latency over loopback: p50 (dot) to p99 (end of the bar)</h1>\n\
         <svg width='{WIDTH}' height='{height}'>{svg}</svg>\n\
         <table><tr>{heads}</tr>{body}</table>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn colour(receiver: &str) -> &'static str {
    match receiver {
        "epoll" | "hot" => "#2563eb",
        "uring" => "#7c3aed",
        "bare" => "#9ca3af",
        _ => "#f59e0b",
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
            p50_us: 5.0,
            p99_us: 20.0,
            p999_us: 100.0,
            max_us: 4000.0,
            syscalls: 1.94,
            idle_calls: -1.0,
            cpu_percent: 99.0,
            switches: 3.0,
            ..Row::default()
        };
        let rows = [row.clone(), row];
        assert_eq!(markdown(&rows).lines().count(), 4);
        assert!(markdown(&rows).contains("| 1.940 | ? |"));
        let page = html(&rows);
        assert_eq!(page.matches("<rect").count(), 2);
        assert!(page.contains("a&lt;b") && !page.contains("a<b"));
    }
}
