//! The `taut` binary as its users meet it: whole runs in real processes, and everything that can go
//! wrong with them.
//!
//! The machine that runs these tests may be slow and shared: they look at counts, files, exit codes
//! and what is left behind, never at times.

mod captive;
mod data;
mod feed;
mod help;
mod json;
mod kill;
mod outcome;
mod pause;
mod replay;
mod runs;
mod stop;
mod streams;
mod support;
mod usage;
mod venues;
