//! `taut import` and `taut export`: recordings from one format to another.
//!
//! Both are one conversion ([`taut_recording::convert`]); an import ends in what `taut` reads, an
//! export begins there unless it is told otherwise.

mod arguments;
mod output;

use std::ops::ControlFlow;

use serde_json::{Value, json};
use taut_recording::pcapng::{PacketSource, write_packets};
use taut_recording::{ConvertError, Converted, Step, convert};
use taut_sys::{monotonic, stop_requests};
use taut_types::Nanos;

use arguments::Files;
pub use arguments::{Export, Import};
pub use output::Output;

use crate::exit::{Failure, catch_stop_signals};
use crate::progress::Progress;
use crate::terminal::{print, tell};

/// Runs `taut import`.
pub fn import(import: &Import) -> Result<(), Failure> {
    let what = import.conversion()?;
    let run = Run::begin(import.json, &what.files)?;
    run.convert(&what, Output::new(&import.out, import.force, &what.files)?)
}

/// Runs `taut export`.
pub fn export(export: &Export) -> Result<(), Failure> {
    let run = Run::begin(export.json, &export.files)?;
    let output = Output::new(&export.out, export.force, &export.files)?;
    match export.conversion()? {
        Some(what) => run.convert(&what, output),
        None => run.packets(export.from, &export.files, output),
    }
}

/// A conversion that goes on, and how it is told.
struct Run {
    json: bool,
    /// Bytes of all files.
    total: u64,
    progress: Progress,
    began: Nanos,
}

impl Run {
    fn begin(json: bool, files: &[std::path::PathBuf]) -> Result<Self, Failure> {
        catch_stop_signals()?;
        let len =
            |file: &std::path::PathBuf| std::fs::metadata(file).map_or(0, |found| found.len());
        let total = files.iter().map(len).sum();
        Ok(Self { json, total, progress: Progress::start(), began: monotonic() })
    }

    fn convert(mut self, what: &taut_recording::Conversion, output: Output) -> Result<(), Failure> {
        let mut file = output.create()?;
        let unit = "rows";
        let done = convert(what, &mut file, &mut |step| self.look(step, unit));
        let done = done.map_err(|error| failure(error, &output))?;
        let bytes = output.finish(file)?;
        self.tell(&output, bytes, done.rows_written, unit, &told(&done))
    }

    fn packets(
        mut self,
        from: Files,
        files: &[std::path::PathBuf],
        output: Output,
    ) -> Result<(), Failure> {
        let source = match from {
            Files::Packets => PacketSource::Pcap,
            Files::Rows(_) => PacketSource::Frames,
        };
        let mut file = output.create()?;
        let unit = "packets";
        let done = write_packets(source, files, &mut file, &mut |step| self.look(step, unit));
        let done = done.map_err(|error| failure(error, &output))?;
        let bytes = output.finish(file)?;
        for path in &done.cut {
            tell(format_args!("{}: ends within a packet, which is left out", path.display()));
        }
        let more = json!({ "packet_bytes": done.bytes, "files_cut": done.cut.len() });
        self.tell(&output, bytes, done.packets, unit, &more)
    }

    fn look(&mut self, step: Step, unit: &str) -> ControlFlow<()> {
        if stop_requests() > 0 {
            return ControlFlow::Break(());
        }
        let span = monotonic().since(self.began).0.max(1) as f64 / 1e9;
        let Step { is_writing, rows, bytes } = step;
        let what = if is_writing { "written" } else { "looked at" };
        self.progress.tell(&format!(
            "{rows} {unit} {what}, {:.0} of {:.0} MB read, {:.2} million {unit} a second",
            bytes as f64 / 1e6,
            self.total as f64 / 1e6,
            rows as f64 / span / 1e6,
        ));
        ControlFlow::Continue(())
    }

    /// Says what was written.
    fn tell(
        self,
        output: &Output,
        bytes: u64,
        count: u64,
        unit: &str,
        more: &Value,
    ) -> Result<(), Failure> {
        let span = monotonic().since(self.began).0.max(1);
        let seconds = span as f64 / 1e9;
        if self.json {
            let mut told = more.clone();
            told["file"] = json!(output.name());
            told["bytes"] = json!(bytes);
            told[unit] = json!(count);
            told["span_ns"] = json!(span);
            return print(told);
        }
        let line = format!(
            "{}: {count} {unit}, {:.1} MB, {seconds:.2} s",
            output.name(),
            bytes as f64 / 1e6,
        );
        for line in [vec![line], notes(more)].concat() {
            // A pipe may be the standard output itself.
            if output.is_plain() {
                print(line)?;
            } else {
                tell(line);
            }
        }
        Ok(())
    }
}

/// What a conversion found, by name.
fn told(done: &Converted) -> Value {
    json!({
        "rows_read": done.rows_read,
        "rows_not_read": done.not_read,
        "rows_not_written": done.not_written,
        "quantity_decimals": done.quantity_decimals,
        "local_shift_ns": done.shift,
        "symbols": done.symbols,
    })
}

/// What whoever asked for the file should know of it.
fn notes(told: &Value) -> Vec<String> {
    let number = |key: &str| told[key].as_i64().unwrap_or(0);
    let mut notes = Vec::new();
    if number("local_shift_ns") != 0 {
        let shift = number("local_shift_ns");
        notes.push(format!(
            "local times are {shift} ns later than in the files: their clock was behind the \
             exchange's"
        ));
    }
    if number("rows_not_read") > 0 {
        let count = number("rows_not_read");
        notes.push(format!("{count} rows of the files have no place in a recording: left out"));
    }
    if number("rows_not_written") > 0 {
        let count = number("rows_not_written");
        notes.push(format!("{count} rows have no place in the format: left out"));
    }
    notes
}

fn failure(error: ConvertError, output: &Output) -> Failure {
    match error {
        ConvertError::File(_) | ConvertError::Usage(_) => Failure::usage(error),
        ConvertError::Io(error) => Failure::run(&output.name(), error),
        _ => Failure::Run(error.to_string()),
    }
}
