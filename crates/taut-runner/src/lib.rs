//! Runs a strategy: fused with its gateway, or split into processes of its own program.
//!
//! A program hands over its [`Settings`], from code, TOML or its arguments, and its strategy:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use taut_gateway::{Strategy, Trading};
//! use taut_market_data::Event;
//! use taut_runner::Runner;
//! use taut_types::Nanos;
//!
//! struct Watcher;
//!
//! impl Strategy for Watcher {
//!     fn on_market(&mut self, _: Nanos, _: &Event, _: &mut impl Trading) {}
//! }
//!
//! fn main() -> ExitCode {
//!     Runner::from_args().main(|_| Watcher)
//! }
//! ```
//!
//! [`Runner::run`] checks the settings, prepares what the processes share and starts them: this
//! same program in other roles ([`Role`]), each with a control socket to the parent as its standard
//! input. Orders, replies and descriptors pass over it, and each side sees its end when the other
//! one dies, however it dies. Counters and histograms lie in a shared segment without a name, where
//! an [`Observer`] reads them while the run goes on; so nothing has to be cleaned up. The
//! [`Outcome`] holds them all.
//!
//! In [`Mode::Simulated`] nothing is started: gateway, strategy and venue take turns in this
//! thread, on a simulated network and virtual time, and the same settings give the same run.
//!
//! Every wait has a deadline and says what did not happen.
#![forbid(unsafe_code)]

mod arguments;
pub mod backtest;
mod build;
mod child;
mod children;
mod control;
mod error;
mod feed;
mod looker;
mod market_rows;
mod mistakes;
mod observer;
mod outcome;
mod outliers;
mod packets;
mod placement;
mod reading;
mod recording;
mod replay;
mod replayed;
mod replaying;
mod role;
mod roles;
mod run_control;
mod runner;
pub mod service;
mod settings;
mod simulated;
mod simulator;
mod start;
mod stderr;
mod supervisor;
mod web;
pub mod wires;

pub use build::Build;
pub use error::RunnerError;
pub use observer::{Live, Observer, Started};
pub use outcome::{End, FailOver, Holdings, Outcome, Process, VenueOutcome};
pub use outliers::OutlierSettings;
pub use placement::Place;
pub use replay::Recording;
pub use replayed::{Divergence, Held, Replayed};
pub use role::Role;
pub use runner::Runner;
pub use settings::{
    Cpus, FeedTransport, GatewaySettings, InstrumentSettings, Mode, RemoteVenue, Replay,
    RiskSettings, SAMPLE, Settings, Simulator, SimulatorOrders, VenueKind,
};
pub use start::{NoParameters, Start};
pub use taut_doctor::outliers::{
    Cause as OutlierCause, Evidence as OutlierEvidence, Outlier, OutlierTrace, Outliers,
};
