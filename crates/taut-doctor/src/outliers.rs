//! Why orders took long.
//!
//! A gateway's flight recorder has every order with all its stamps. Beside it somebody who does not
//! trade looks every few milliseconds at the threads on the path of an order ([`ThreadWatch`]): how
//! long each waited for its CPU, how often the CPU was taken from it, which pages it missed, how
//! often its control group was stopped; and, less often, at what came to its CPU: interrupts, and
//! time that the hypervisor took. The threads themselves do nothing for it.
//!
//! A [`Keeper`] takes both. It keeps the worst orders whole, each with what the looks around it
//! show ([`Evidence`]), and in the end says of each which stage held it and why ([`Cause`]).
//! Nothing in it reads a clock or a file: the same orders and looks give the same causes.
//!
//! **What it cannot see.** A look tells what happened since the last one. What fell into the same
//! few milliseconds as an order need not have hit that order; so a cause is named only where it is
//! long enough for the half of what the stage took beyond its usual time, and the numbers are told
//! with it.

mod cause;
mod evidence;
mod keeper;
mod look;
mod others;
mod outlier;
mod watch;

pub use cause::Cause;
pub use evidence::Evidence;
pub use keeper::{Keeper, Keeping};
pub use look::{Look, MachineLook, MachineTotals, THREADS_MAX, ThreadTotals, Throttled};
pub use others::{Other, others};
pub use outlier::{
    CauseCount, LookPoint, Outlier, OutlierTrace, Outliers, TracedOrder, TracedThread,
};
pub use watch::{ThreadWatch, WatchedThread};
