//! What of a machine disturbs a thread that trades.
//!
//! **Settings.** A [`Machine`] is what the kernel tells in `/proc` and `/sys` (or in copies of both
//! under another folder, as in tests), two [`Sample`]s of what ran while nobody did anything, and
//! the [`Answers`] of a few system calls. Each row of [`checks()`] is a [`Check`]: what it reads,
//! what should be there, why, what that costs, and how much it matters. [`Diagnosis::of`] makes
//! them all for the CPUs and interfaces of a [`Target`]; it is printed, serialised, or turned into
//! a shell script ([`Diagnosis::script`]). Nothing here changes a machine.
//!
//! **Hiccups.** [`jitter::measure`] spins on each CPU and notes for how long the thread did not
//! run, with the cause where the kernel tells it.
//!
//! **Outliers.** [`outliers`] says of the orders that took longest why they did.
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing)]

mod answers;
mod check;
mod checks;
mod cpu_list;
mod diagnosis;
mod finding;
mod interrupts;
pub mod jitter;
mod judged;
mod look;
mod machine;
pub mod outliers;
mod sample;
mod script;
mod target;

pub use answers::Answers;
pub use check::{Check, Group, Severity};
pub use checks::checks;
pub use cpu_list::CpuList;
pub use diagnosis::{Diagnosis, WrongCounts};
pub use finding::{Finding, Fix, Unseen, Verdict};
pub use interrupts::{InterruptCount, InterruptLine, Interrupts};
pub use judged::Judged;
pub use machine::Machine;
pub use sample::{Sample, Task};
pub use target::{GatewayThread, Target};
