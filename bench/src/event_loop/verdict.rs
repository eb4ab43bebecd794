//! What the matrix must show, checked cell by cell.

use serde::Serialize;
use taut_report::page::Table;

use super::plot::Row;

/// One law, applied to one of taut's receivers in one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    pub rate: u32,
    pub connections: u32,
    pub wait: String,
    pub receiver: String,
    pub law: &'static str,
    /// What was measured, as a multiple of what it is measured against (or a count).
    pub measured: f64,
    pub limit: f64,
    pub holds: bool,
}

/// A median at 256 connections may be this many times that at 16, at the same rate.
const FLAT: (u32, u32, u32) = (200, 16, 256);
/// More than the sender can send: here receivers are compared by what they got.
const OVERLOAD: (u32, u32) = (1000, 256);
/// Where the tail is compared with Sonic's.
const TAIL: (u32, u32) = (1000, 64);

/// taut's own receivers; the others are what they are measured against.
fn is_own(receiver: &str) -> bool {
    matches!(receiver, "epoll" | "uring" | "hot")
}

/// Every law on every row that it is about and that has what it needs beside it.
pub fn judge(rows: &[Row]) -> Vec<Verdict> {
    let own = rows.iter().filter(|row| is_own(&row.receiver));
    own.flat_map(|row| judge_row(row, rows)).collect()
}

fn judge_row(row: &Row, rows: &[Row]) -> Vec<Verdict> {
    let cell = (row.rate, row.connections);
    let at = |rate, connections, receiver: &str| {
        rows.iter().find(|other| {
            (other.rate, other.connections) == (rate, connections)
                && other.wait == row.wait
                && other.receiver == receiver
        })
    };
    let peer = |receiver| at(row.rate, row.connections, receiver);
    let verdict = |law, measured: f64, limit: f64, holds| Verdict {
        rate: row.rate,
        connections: row.connections,
        wait: row.wait.clone(),
        receiver: row.receiver.clone(),
        law,
        measured,
        limit,
        holds,
    };
    let (p50, p99) = (|row: &Row| row.us(|of| of.p50), |row: &Row| row.us(|of| of.p99));
    let at_most = |law, measured: f64, limit| verdict(law, measured, limit, measured <= limit);
    let mut verdicts = Vec::new();
    if cell == OVERLOAD {
        if let Some(bare) = peer("bare") {
            let share = row.received as f64 / (bare.received.max(1)) as f64;
            verdicts.push(verdict("received / bare", share, 0.95, share >= 0.95));
        }
        return verdicts;
    }
    // Of no message at all none is missing.
    let astray =
        if row.received == 0 { f64::NAN } else { (row.missing + row.out_of_sequence) as f64 };
    verdicts.push(at_most("missing or out of order", astray, 0.0));
    if let Some(sonic) = peer("sonic") {
        verdicts.push(at_most("p50 / Sonic's", p50(row) / p50(sonic), 1.0));
        if cell == TAIL {
            verdicts.push(at_most("p99 / Sonic's", p99(row) / p99(sonic), 0.5));
        }
    }
    if let Some(bare) = peer("bare") {
        verdicts.push(at_most("p50 / bare", p50(row) / p50(bare), 1.25));
    }
    let (rate, few, many) = FLAT;
    if cell == (rate, many)
        && let Some(few) = at(rate, few, &row.receiver)
    {
        verdicts.push(at_most("p99 / p99 at 16 connections", p99(row) / p99(few), 3.0));
    }
    verdicts
}

/// The verdicts as a table, and a line that counts them.
pub fn markdown(verdicts: &[Verdict]) -> String {
    let heads = ["rate Hz", "connections", "wait", "receiver", "law", "measured", "limit", "holds"];
    let row = |verdict: &Verdict| {
        let Verdict { rate, connections, wait, receiver, law, measured, limit, holds } = verdict;
        let (measured, limit) = (format!("{measured:.2}"), limit.to_string());
        let holds = if *holds { "yes" } else { "**no**" };
        let numbers = [rate, connections].map(u32::to_string);
        let words = [wait, receiver, *law, &measured, &limit, holds].map(str::to_owned);
        numbers.into_iter().chain(words).collect()
    };
    let table = Table { heads: &heads, rows: verdicts.iter().map(row).collect() };
    let held = verdicts.iter().filter(|verdict| verdict.holds).count();
    format!("{}\n\n{held} of {} hold\n", table.markdown(), verdicts.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_report::Figures;

    fn row(receiver: &str, (rate, connections): (u32, u32), p50_us: f64, p99_us: f64) -> Row {
        let ns = |us: f64| (us * 1e3) as u64;
        Row {
            receiver: receiver.to_owned(),
            rate,
            connections,
            wait: "spin".to_owned(),
            latency_ns: Some(Figures { p50: ns(p50_us), p99: ns(p99_us), ..Figures::default() }),
            received: 1000,
            ..Row::default()
        }
    }

    fn broken(rows: &[Row]) -> Vec<&'static str> {
        judge(rows).into_iter().filter(|v| !v.holds).map(|v| v.law).collect()
    }

    #[test]
    fn a_cell_that_holds_every_law_is_found_to_hold() {
        let cell = (1000, 64);
        let peers = [row("bare", cell, 8.0, 15.0), row("sonic", cell, 11.0, 500.0)];
        let rows = |own: Row| [peers.as_slice(), &[own]].concat();
        assert_eq!(judge(&rows(row("epoll", cell, 10.0, 250.0))).len(), 4);
        assert_eq!(broken(&rows(row("epoll", cell, 10.0, 250.0))), Vec::<&str>::new());
        assert_eq!(broken(&rows(row("uring", cell, 10.5, 251.0))), ["p99 / Sonic's", "p50 / bare"]);
        let lost = Row { missing: 1, ..row("epoll", cell, 1.0, 1.0) };
        assert_eq!(broken(&rows(lost)), ["missing or out of order"]);
    }

    #[test]
    fn the_tail_must_stay_flat_and_an_overload_must_not_starve() {
        let flat = [row("epoll", (200, 16), 5.0, 10.0), row("epoll", (200, 256), 5.0, 31.0)];
        assert_eq!(broken(&flat), ["p99 / p99 at 16 connections"]);
        let slow = Row { received: 940, missing: 60, ..row("epoll", (1000, 256), 9e3, 9e4) };
        let rows = [row("bare", (1000, 256), 1.0, 1.0), slow];
        assert_eq!(broken(&rows), ["received / bare"]);
        assert!(markdown(&judge(&rows)).ends_with("\n0 of 1 hold\n"));
    }

    #[test]
    fn a_figure_that_is_missing_does_not_hold() {
        let cell = (10, 1);
        let none = Row { latency_ns: None, ..row("epoll", cell, 0.0, 0.0) };
        let rows = [none, row("bare", cell, 5.0, 9.0)];
        assert_eq!(broken(&rows), ["p50 / bare"]);
    }

    #[test]
    fn a_run_that_received_nothing_holds_no_law() {
        let rows = [Row { received: 0, ..row("epoll", (10, 1), 0.0, 0.0) }];
        assert_eq!(broken(&rows), ["missing or out of order"]);
    }
}
