//! The text that a run ends with, at most 100 columns wide.

use std::fmt::Write;

use taut_lat::Snapshot;

use super::model::{Position, RunReport};
use super::outliers::outlier_lines;
use crate::units::{human_count, human_ns, percent, utc_text};

const WIDTH: usize = 100;
/// Positions that are shown.
const POSITIONS: usize = 8;
/// Where the text after a heading starts.
const INDENT: usize = 12;

/// Stages, counts, clock, placement and machine as text.
#[must_use]
pub fn table(report: &RunReport) -> String {
    let mut text = String::new();
    let started = utc_text(report.started_utc_ns);
    line(&mut text, &format!("{} mode, {:.1} s, {started}", report.mode, report.seconds));
    text.push('\n');
    latencies(&mut text, report);
    text.push('\n');
    let outliers = outlier_lines(&report.outliers);
    for (index, paragraph) in outliers.iter().enumerate() {
        section(&mut text, if index == 0 { "Outliers" } else { "" }, paragraph);
    }
    if !outliers.is_empty() {
        text.push('\n');
    }
    counts(&mut text, report);
    text.push('\n');
    positions(&mut text, report);
    section(&mut text, "Clock", &report.clock);
    for (index, placed) in report.placement.iter().enumerate() {
        let heading = if index == 0 { "Placement" } else { "" };
        let cpu = if placed.cpu == "any" { "any CPU" } else { &format!("CPU {}", placed.cpu) };
        let mut place =
            format!("{}: {cpu}, wait {}, nice {}", placed.process, placed.wait, placed.nice);
        if let Some(waited) = placed.waited_percent {
            let _ = write!(place, ", another task had its CPU {waited:.1}% of the time");
        }
        section(&mut text, heading, &place);
    }
    section(&mut text, "Machine", &report.machine.text());
    section(&mut text, "Conditions", &report.conditions.to_string());
    for (index, note) in report.notes.iter().enumerate() {
        section(&mut text, if index == 0 { "Notes" } else { "" }, note);
    }
    text
}

fn latencies(text: &mut String, report: &RunReport) {
    let heads = ["p50", "p99", "p99.9", "max", "mean", "share"];
    let mut head = format!("{:<18}", "stage");
    heads.iter().for_each(|name| head.push_str(&format!("{name:>11}")));
    line(text, &head);
    for stage in report.stages() {
        let share = percent(report.share(stage.histogram));
        latency(text, stage.label, stage.histogram, &share);
    }
    line(text, &"-".repeat(18 + 11 * heads.len()));
    for whole in report.wholes() {
        let share = report.share_of_whole(&whole).map_or(String::new(), percent);
        latency(text, whole.label, whole.histogram, &share);
    }
}

fn latency(text: &mut String, label: &str, histogram: &Snapshot, share: &str) {
    let figures = histogram.summary();
    let mut row = format!("{label:<18}");
    for ns in [figures.p50, figures.p99, figures.p999, figures.max, figures.mean()] {
        let value = if figures.count == 0 { "-".to_owned() } else { human_ns(ns) };
        row.push_str(&format!("{value:>11}"));
    }
    row.push_str(&format!("{share:>11}"));
    line(text, &row);
}

fn counts(text: &mut String, report: &RunReport) {
    let mut heading = "Counts";
    for balance in report.counts.balances() {
        let (name, whole) = balance.whole;
        let parts: Vec<_> =
            balance.parts().map(|(name, value)| format!("{name} {}", human_count(value))).collect();
        let sign = if balance.holds() { "=" } else { "but does not equal" };
        let equation = format!("{name} {} {sign} {}", human_count(whole), parts.join(" + "));
        section(text, heading, &equation);
        heading = "";
    }
    let singles: Vec<_> = report
        .counts
        .singles()
        .map(|(name, value)| format!("{name} {}", human_count(value)))
        .collect();
    section(text, "", &singles.join(", "));
}

/// The first positions, and the profit over all.
fn positions(text: &mut String, report: &RunReport) {
    for (at, held) in report.positions.iter().take(POSITIONS).enumerate() {
        let Position { symbol, quantity, average_price, realised, unrealised } = held;
        let words = format!(
            "{symbol} {quantity} at {average_price}, profit realised {realised}, open {unrealised}"
        );
        section(text, if at == 0 { "Positions" } else { "" }, &words);
    }
    if !report.positions.is_empty() {
        let more = report.positions.len().saturating_sub(POSITIONS);
        let others = if more > 0 { format!("and {more} more; ") } else { String::new() };
        section(text, "", &format!("{others}profit in all {}", report.profit));
        text.push('\n');
    }
}

/// A heading and, beside it, text that is broken at spaces. Nothing for empty text.
fn section(text: &mut String, heading: &str, content: &str) {
    let mut row = format!("{heading:<INDENT$}");
    let mut is_empty = true;
    for word in content.split_whitespace() {
        if !is_empty && row.chars().count() + 1 + word.chars().count() > WIDTH {
            line(text, &row);
            row = " ".repeat(INDENT);
            is_empty = true;
        }
        if !is_empty {
            row.push(' ');
        }
        row.push_str(word);
        is_empty = false;
    }
    if !is_empty {
        line(text, &row);
    }
}

fn line(text: &mut String, row: &str) {
    let _ = writeln!(text, "{}", row.trim_end()); // a String takes everything
}
