//! A row of the matrix: the medians of a receiver's turns.

use serde_json::Value;
use taut_report::Figures;

use super::plot::Row;

/// One receiver's turn: what it reported, how many messages count, how late the sender was.
#[derive(Clone, Debug)]
pub struct Turn {
    pub report: Value,
    pub counted: u64,
    pub lag_ns: u64,
}

/// The row of a receiver at a rate and with so many connections.
pub fn median(receiver: &str, (rate, connections): (u32, u32), wait: &str, turns: &[Turn]) -> Row {
    let middle = |path: &str| {
        let value = |turn: &Turn| turn.report.pointer(path)?.as_f64();
        let mut values: Vec<f64> = turns.iter().filter_map(value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let sum = |path: &str| {
        let value = |turn: &Turn| turn.report.pointer(path).and_then(Value::as_u64);
        turns.iter().filter_map(value).sum::<u64>()
    };
    let received = sum("/count");
    let counted: u64 = turns.iter().map(|turn| turn.counted).sum();
    Row {
        receiver: receiver.to_owned(),
        rate,
        connections,
        wait: wait.to_owned(),
        latency_ns: figures(turns),
        syscalls_per_message: middle("/syscalls_per_message"),
        idle_calls_per_message: middle("/idle_calls_per_message"),
        cpu_percent: middle("/cpu_percent"),
        context_switches: middle("/context_switches"),
        received,
        out_of_sequence: sum("/out_of_sequence"),
        missing: counted.saturating_sub(received),
        sender_lag_ns_max: turns.iter().map(|turn| turn.lag_ns).max().unwrap_or(0),
    }
}

/// The median of each figure; of messages, and of their latencies, the sum.
fn figures(turns: &[Turn]) -> Option<Figures> {
    let reported = turns.iter().filter_map(|turn| turn.report.get("latency_ns"));
    let reported: Vec<&Value> = reported.filter(|figures| figures["p50"].is_u64()).collect();
    let values = |key: &str| -> Vec<u64> {
        let mut values: Vec<u64> = reported.iter().filter_map(|of| of[key].as_u64()).collect();
        values.sort_unstable();
        values
    };
    let middle = |key: &str| {
        let values = values(key);
        values.get(values.len() / 2).copied().unwrap_or(0)
    };
    (!reported.is_empty()).then(|| Figures {
        count: values("count").iter().sum(),
        sum: values("sum").iter().sum(),
        min: middle("min"),
        p50: middle("p50"),
        p99: middle("p99"),
        p999: middle("p999"),
        p9999: middle("p9999"),
        max: middle("max"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_has_the_median_of_each_figure_under_the_names_of_the_reports() {
        let turn = |p50: u64, max: u64| Turn {
            report: json!({
                "count": 10, "out_of_sequence": 0, "context_switches": p50,
                "latency_ns": { "min": 1, "p50": p50, "p99": 9, "p999": 9, "p9999": 9, "max": max },
            }),
            counted: 11,
            lag_ns: max,
        };
        let row = median("epoll", (10, 2), "spin", &[turn(5, 70), turn(3, 80), turn(4, 60)]);
        let figures = row.latency_ns.expect("figures");
        assert_eq!((figures.min, figures.p50, figures.p9999, figures.max), (1, 4, 9, 70));
        assert_eq!((row.received, row.missing, row.sender_lag_ns_max), (30, 3, 80));
        assert!((row.context_switches - 4.0).abs() < 1e-9 && row.syscalls_per_message.is_nan());
        let none = Turn { report: json!({}), counted: 0, lag_ns: 0 };
        assert_eq!(median("epoll", (10, 2), "spin", &[none]).latency_ns, None);
    }
}
