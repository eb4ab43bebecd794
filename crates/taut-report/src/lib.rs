//! What a program tells: lines for people and for programs, failures with their exit codes,
//! progress, latencies; and of a whole run a table, JSON, a self-contained HTML page with drawings,
//! and an HdrHistogram log.
#![forbid(unsafe_code)]
// They panic when their stream is closed or full: `terminal` does not.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod chart;
pub mod conditions;
pub mod exit;
pub mod files;
pub mod latency;
mod machine;
pub mod page;
mod perfetto;
pub mod progress;
pub mod run;
pub mod svg;
pub mod terminal;
pub mod trace;
mod units;

pub use conditions::{Conditions, Watch};
pub use exit::Failure;
pub use latency::{Figures, Latency, Spread};
pub use machine::Machine;
pub use perfetto::perfetto;
pub use progress::Progress;
pub use run::{Counts, Interval, Placement, Position, RunReport, json_line, table, write_all};
pub use taut_sys::visible;
pub use units::{human_count, human_ns, plain, utc_text};
