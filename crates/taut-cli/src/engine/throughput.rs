//! Operations per second: no clock between them, one thread.

use std::num::NonZeroUsize;

use taut_engine::{Command, Engine, Event};
use taut_sys::{monotonic, stop_requests};
use taut_types::{Nanos, Side};

use super::input::{Input, Operation};
use super::report::{Checksum, Report};
use crate::exit::Failure;

/// What has been timed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timed {
    /// Operations, without those that fill the book.
    pub operations: u64,
    /// How long they took.
    pub elapsed: Nanos,
}

/// How to time.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// How much must be timed.
    pub enough: Nanos,
    /// What a round's reports must be.
    pub expected: Checksum,
}

/// Snapshots inside the timed window.
#[derive(Debug, Default)]
pub struct Snapshots {
    /// After so many operations; never, if there is no number.
    pub every: Option<NonZeroUsize>,
    /// The last one. It keeps its memory.
    pub words: Vec<u64>,
}

impl Snapshots {
    /// Takes one.
    pub fn take(&mut self, engine: &Engine) {
        self.words.clear();
        engine.snapshot(|word| self.words.push(word));
    }
}

/// Refuses to go on once somebody has asked to stop.
///
/// # Errors
/// [`Failure::Run`] after a stop signal.
pub fn go_on() -> Result<(), Failure> {
    if stop_requests() == 0 { Ok(()) } else { Err(Failure::Run("interrupted".to_owned())) }
}

/// Times the input on this engine, whose book is empty and is left so.
///
/// # Errors
/// [`Failure::Run`] when a round's reports are not those of the correctness pass.
pub fn measure(
    engine: &mut Engine,
    input: &Input,
    timing: Timing,
    snapshots: &mut Snapshots,
) -> Result<Timed, Failure> {
    rounds(engine, input, timing, |engine, operations| {
        let mut checksum = Checksum::default();
        let started = monotonic();
        execute_with(snapshots, engine, operations, &mut |report| {
            checksum.add(&report.to_payload());
        });
        (monotonic().since(started), checksum)
    })
}

/// Warms up, then runs rounds until enough has been timed.
///
/// # Errors
/// [`Failure::Run`] when a round's reports are not those expected.
pub fn rounds(
    engine: &mut Engine,
    input: &Input,
    timing: Timing,
    mut round: impl FnMut(&mut Engine, &[Operation]) -> (Nanos, Checksum),
) -> Result<Timed, Failure> {
    let (prefill, operations) = input.parts();
    let mut timed = Timed::default();
    let mut is_warm = false;
    while timed.elapsed < timing.enough && !(is_warm && operations.is_empty()) {
        go_on()?;
        execute(engine, prefill, &mut |_| {});
        let (elapsed, checksum) = round(engine, operations);
        wipe(engine);
        if checksum != timing.expected {
            let what = "a timed round's reports differ from those of the correctness pass";
            return Err(Failure::Run(format!("{what}: {checksum:?}, {timing:?}")));
        }
        if is_warm {
            timed.operations += operations.len() as u64;
            timed.elapsed = timed.elapsed + elapsed.max(Nanos(1));
        }
        is_warm = true;
    }
    Ok(timed)
}

/// Executes operations and takes snapshots between them.
#[inline]
pub fn execute_with(
    snapshots: &mut Snapshots,
    engine: &mut Engine,
    operations: &[Operation],
    sink: &mut impl FnMut(Report),
) {
    let Some(every) = snapshots.every else { return execute(engine, operations, sink) };
    for part in operations.chunks(every.get()) {
        execute(engine, part, sink);
        snapshots.take(engine);
    }
}

/// Executes operations and passes on their reports.
#[inline]
pub fn execute(engine: &mut Engine, operations: &[Operation], sink: &mut impl FnMut(Report)) {
    for operation in operations {
        engine.execute(operation.command(), &mut |event: Event| {
            if let Some(report) = Report::of(operation.sequence, &event) {
                sink(report);
            }
        });
    }
}

/// Cancels all orders.
pub fn wipe(engine: &mut Engine) {
    for side in Side::BOTH {
        while let Some(order) = engine.book().best_order(side) {
            engine.execute(Command::Cancel { order_id: order.id }, &mut |_| {});
        }
    }
}
