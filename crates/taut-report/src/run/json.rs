//! The run as JSON: one line for standard output, and `run.json`.

use std::path::Path;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use taut_doctor::outliers::Outliers;
use taut_lat::Snapshot;

use super::model::{Counts, Interval, Named, Placement, Position, RunReport};
use crate::conditions::Conditions;
use crate::latency::Figures;
use crate::machine::Machine;
use crate::units::utc_text;

/// The run as one JSON object without a line break. `html` is where `report.html` was written.
#[must_use]
pub fn json_line(report: &RunReport, html: &Path) -> String {
    text(serde_json::to_string(&Headline::of(report, html)))
}

/// `run.json`: the keys of [`json_line`], then what only the report knows.
pub fn run_json(report: &RunReport, html: &Path) -> String {
    let detail = Detail {
        headline: Headline::of(report, html),
        started_at: utc_text(report.started_utc_ns),
        command_line: &report.command_line,
        intervals_ns: &report.intervals,
        extras: Extras(&report.counts.extras),
        placement: &report.placement,
        positions: &report.positions,
        profit: &report.profit,
        clock: &report.clock,
        notes: &report.notes,
        outliers: OutliersTold { sentence: report.outliers.sentence(), all: &report.outliers },
    };
    text(serde_json::to_string_pretty(&detail)) + "\n"
}

/// The order of the fields is the order of the keys, and part of the interface.
#[derive(Serialize)]
struct Headline<'a> {
    mode: &'a str,
    seconds: f64,
    #[serde(flatten)]
    counts: &'a Counts,
    tick_to_trade_ns: Figures,
    tick_to_send_ns: Figures,
    stages_ns: Stages<'a>,
    order_round_trip_ns: Figures,
    bare_send_ns: Figures,
    report: String,
    machine: &'a Machine,
    conditions: &'a Conditions,
}

#[derive(Serialize)]
struct Detail<'a> {
    #[serde(flatten)]
    headline: Headline<'a>,
    started_at: String,
    command_line: &'a str,
    intervals_ns: &'a [Interval],
    extras: Extras<'a>,
    placement: &'a [Placement],
    positions: &'a [Position],
    profit: &'a str,
    clock: &'a str,
    notes: &'a [String],
    outliers: OutliersTold<'a>,
}

/// The worst orders behind the sentence that they come to.
#[derive(Serialize)]
struct OutliersTold<'a> {
    sentence: Option<String>,
    #[serde(flatten)]
    all: &'a Outliers,
}

/// An object with a key per stage, in the order of the path.
struct Stages<'a>(Vec<Named<'a>>);

/// An object with a key per counter, in the order given: its name as one word, `packets_of_line_a`.
struct Extras<'a>(&'a [(String, u64)]);

impl<'a> Headline<'a> {
    fn of(report: &'a RunReport, html: &Path) -> Self {
        Self {
            mode: &report.mode,
            seconds: (report.seconds * 1e3).round() / 1e3,
            counts: &report.counts,
            tick_to_trade_ns: figures(&report.path.tick_to_trade),
            tick_to_send_ns: figures(&report.path.tick_to_send),
            stages_ns: Stages(report.stages().collect()),
            order_round_trip_ns: figures(&report.order_round_trip),
            bare_send_ns: figures(&report.bare_send),
            report: html.to_string_lossy().into_owned(),
            machine: &report.machine,
            conditions: &report.conditions,
        }
    }
}

fn figures(histogram: &Snapshot) -> Figures {
    histogram.summary().into()
}

impl Serialize for Stages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for stage in &self.0 {
            map.serialize_entry(stage.tag, &figures(stage.histogram))?;
        }
        map.end()
    }
}

impl Serialize for Extras<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (key(name), value)))
    }
}

/// A name for people as a key: small letters, and a line where it has anything else.
fn key(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("_")
}

/// Serialisation of our own plain types cannot fail; if it ever does, the reader gets an object.
fn text(json: serde_json::Result<String>) -> String {
    json.unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}
