//! Latency: the stages of an order's path, and the histograms that they are recorded in.
//!
//! A tick becomes a trade in nine [`Stage`]s. [`StageClock`] marks where each of them ends, as an
//! offset from one origin (the return of the receive call); [`StageOffsets::intervals`] turns the
//! ends into nine intervals that add up to the tick-to-trade time exactly, because they telescope.
//!
//! A histogram is log-linear with HdrHistogram's bucket maths (every value within 1/256, up to
//! 68 seconds) and lives in a slice of atomics that it is given, so that one process can record
//! while another one reads the same memory:
//!
//! ```
//! use taut_lat::{Recorder, View, new_words};
//!
//! let words = new_words(); // or `HISTOGRAM_WORDS` zeroed words of a shared mapping
//! let mut recorder = Recorder::new(&words).expect("enough words");
//! for latency_ns in 1..=1_000 {
//!     recorder.record(latency_ns);
//! }
//! let summary = View::new(&words).expect("enough words").summary();
//! assert_eq!((summary.count, summary.p50, summary.max), (1_000, 500, 1_000));
//! ```
//!
//! [`Snapshot`] is a copy in plain memory that can be subtracted and merged; [`IntervalReader`]
//! makes a time series of one histogram; [`PathRecorder`] keeps the histograms of a whole path; a
//! [`FlightRecord`] is one order with all its stamps, in the words of a ring.
//! Nothing here reads a clock, and nothing allocates after it is built.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod buckets;
mod flight;
mod interval;
#[cfg(test)]
mod oracle;
mod path;
mod recorder;
mod snapshot;
mod stage;
mod stamps;
mod summary;
mod view;

pub use buckets::{BUCKET_COUNT, Bucket, VALUE_MAX};
pub use flight::{FLIGHT_WORDS, FlightRecord};
pub use interval::IntervalReader;
pub use path::{PATH_WORDS, PathRecorder, PathSnapshot, PathView};
pub use recorder::{HISTOGRAM_WORDS, Recorder, new_words};
pub use snapshot::Snapshot;
pub use stage::{STAGE_COUNT, Stage};
pub use stamps::{StageClock, StageOffsets};
pub use summary::Summary;
pub use view::View;
