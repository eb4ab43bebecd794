//! The report of a run: what is printed at its end, and what is written to its directory.
//!
//! [`RunReport`] holds everything. [`table`] and [`json_line`] are for standard output;
//! [`write_all`] writes `report.html` (self-contained), `stages.hlog` (HdrHistogram log 1.3) and
//! `run.json`. All of it is a function of the report alone: the same run reported twice gives the
//! same bytes.

mod chart;
mod files;
mod hlog;
mod html;
mod json;
mod machine;
mod model;
mod svg;
mod table;
mod units;

pub use files::write_all;
pub use json::json_line;
pub use machine::Machine;
pub use model::{Counts, Interval, Placement, RunReport};
pub use table::table;
pub use units::{human_count, human_ns, utc_text};

#[cfg(test)]
mod tests;
