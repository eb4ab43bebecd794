//! `taut journal latencies` and `taut record latencies`: round trips of a journal, or a recording
//! with orders, as the latencies of a backtest.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use taut_backtest::LatencyRow;
use taut_journal::{Entry, Shown};
use taut_recording::latency_file;
use taut_types::{ClientOrderId, Nanos};

use super::reading::read_all;
use crate::exit::Failure;
use crate::recorded::Output;
use crate::terminal::{print, tell};

/// Write how long requests took as an order latency file of a backtest.
///
/// Each request with an answer is a row of hftbacktest's format (npz), which `latency.file` of
/// `taut backtest` and hftbacktest itself read: when it was journalled, before its bytes left; when
/// its answer was; and the middle of both for the exchange's time, which no venue tells on our
/// clock. Requests that the venue rejected are left out.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The folder of the journal, such as state/journal, or of a recording
    folder: PathBuf,
    /// The npz file to write
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file if it is there
    #[arg(short, long)]
    force: bool,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
}

/// Requests that wait for their answers, and those that have one.
#[derive(Default)]
struct Trips {
    waiting: HashMap<(ClientOrderId, u16), Nanos>,
    rows: Vec<LatencyRow>,
    rejected: usize,
}

/// Does it.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::new(&arguments.out, arguments.force, &[])?;
    // A journal that is read again because it grows is told from its beginning.
    let mut trips = Trips::default();
    let mut last = 0;
    read_all(&arguments.folder, &mut |shown| {
        if shown.sequence > last {
            last = shown.sequence;
            trips.hear(shown);
        }
    })?;
    let (rows, overtaken) = rising(trips.rows);
    if rows.is_empty() {
        let folder = arguments.folder.display();
        let text = format!("{folder}: no request in it has an answer; take another journal");
        return Err(Failure::Usage(text));
    }
    let failed = |error| Failure::run(&output.name(), error);
    let bytes = latency_file(&rows).map_err(failed)?;
    let mut file = output.create()?;
    file.write_all(&bytes).map_err(failed)?;
    output.finish(file)?;
    let (rejected, unanswered) = (trips.rejected, trips.waiting.len());
    if arguments.json {
        return print(json!({
            "file": output.name(), "round_trips": rows.len(), "rejected": rejected,
            "unanswered": unanswered, "overtaken": overtaken,
        }));
    }
    let line = format!("{}: {} round trips", output.name(), rows.len());
    if output.is_plain() {
        print(line)?
    } else {
        tell(line)
    }
    for (count, what) in [
        (rejected, "requests were rejected"),
        (unanswered, "requests have no answer"),
        (overtaken, "round trips lie within a later one"),
    ] {
        if count > 0 {
            tell(format_args!("{count} {what}: left out"));
        }
    }
    Ok(())
}

impl Trips {
    fn hear(&mut self, shown: &Shown) {
        let Some(entry) = &shown.entry else { return };
        match *entry {
            Entry::Create { order, .. } => {
                self.waiting.insert((order, 1), shown.time);
            }
            Entry::Modify { request, .. } | Entry::Cancel { request } => {
                self.waiting.insert((request.order, request.version), shown.time);
            }
            Entry::Acknowledged { request, .. }
            | Entry::Replaced { request, .. }
            | Entry::Cancelled { request } => {
                if let Some(sent) = self.waiting.remove(&(request.order, request.version)) {
                    self.answered(sent, shown.time);
                }
            }
            // A trade may come before the answer, and is one.
            Entry::Filled(fill) => {
                if let Some(sent) = self.waiting.remove(&(fill.order, 1)) {
                    self.answered(sent, shown.time);
                }
            }
            Entry::Rejected { request, .. } => {
                let version = request.version.max(1);
                let was_asked = self.waiting.remove(&(request.order, version)).is_some();
                self.rejected += usize::from(was_asked);
            }
            _ => {}
        }
    }

    fn answered(&mut self, sent: Nanos, heard: Nanos) {
        let (request_at, response_at) = (sent.0, heard.0);
        let exchange_at = request_at + (response_at - request_at) / 2;
        self.rows.push(LatencyRow { request_at, exchange_at, response_at });
    }
}

/// The rows in the order of their requests, without those at which a time does not rise: the format
/// has requests that overtake none. How many were left out.
fn rising(mut rows: Vec<LatencyRow>) -> (Vec<LatencyRow>, usize) {
    rows.sort_by_key(|row| (row.request_at, row.exchange_at));
    let all = rows.len();
    let mut last = (i64::MIN, i64::MIN);
    rows.retain(|row| {
        let rises = row.request_at > last.0 && row.exchange_at > last.1;
        let is_whole = row.response_at >= row.request_at;
        if rises && is_whole {
            last = (row.request_at, row.exchange_at);
        }
        rises && is_whole
    });
    let left_out = all - rows.len();
    (rows, left_out)
}
