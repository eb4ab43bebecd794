//! The report of a run: what is printed at its end, and what is written to its directory.
//!
//! [`RunReport`] holds everything. [`table`] and [`json_line`] are for standard output;
//! [`write_all`] writes `report.html` (self-contained), `stages.hlog` (HdrHistogram log 1.3) and
//! `run.json`. All of it is a function of the report alone: the same run reported twice gives the
//! same bytes.

mod breakdown;
pub mod directory;
mod hlog;
mod html;
mod json;
mod model;
mod outliers;
mod percentiles;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod timeline;

use std::io;
use std::path::{self, Path, PathBuf};

pub use hlog::histogram_log;
pub use json::json_line;
pub use model::{Balance, Counts, Interval, Named, Placement, Position, RunReport};
pub use outliers::outlier_lines;
pub use table::table;

use crate::files;

/// What is written of a run.
const FILES: [&str; 3] = ["report.html", "stages.hlog", "run.json"];

/// Writes `report.html`, `stages.hlog` and `run.json` into `dir` and returns the absolute path of
/// `report.html`. Nobody ever sees a half of them: [`files::write_all`].
///
/// # Errors
/// What the file system says, with the path.
pub fn write_all(dir: &Path, report: &RunReport) -> io::Result<PathBuf> {
    let [page, stages, run] = FILES;
    let html_path = path::absolute(dir)?.join(page);
    let files = [
        (page, html::html(report).into_bytes()),
        (stages, hlog::hlog(report)?),
        (run, json::run_json(report, &html_path).into_bytes()),
    ];
    files::write_all(dir, &files).map(|()| html_path)
}
