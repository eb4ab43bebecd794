//! How long each command takes: two readings of the clock around it, gross.

use std::hint::black_box;

use taut_engine::Engine;
use taut_lat::{Recorder, View, new_words};
use taut_sync::atomic::AtomicU64;
use taut_sys::{Anchoring, Clock, monotonic};
use taut_types::Nanos;

use super::input::{Input, Kind, Operation};
use super::outcome::{Latency, OpNs, Percentiles};
use super::report::Checksum;
use super::throughput::{execute, go_on, wipe};
use crate::exit::Failure;

/// Empty pairs of readings.
const TIMER_PAIRS: usize = 100_001;

/// Times each operation of the input for so long, on this engine, whose book is empty and is left
/// so.
///
/// # Errors
/// [`Failure::Run`] when somebody asks to stop.
pub fn measure(engine: &mut Engine, input: &Input, enough: Nanos) -> Result<Latency, Failure> {
    let clock = Clock::new(Anchoring::start().mapping());
    let words: [Box<[AtomicU64]>; 4] = std::array::from_fn(|_| new_words());
    let mut recorders = words.each_ref().map(|words| Recorder::new(words));
    let (prefill, operations) = input.parts();
    let started = monotonic();
    loop {
        go_on()?;
        execute(engine, prefill, &mut |_| {});
        let mut checksum = Checksum::default();
        for operation in operations {
            let one = std::slice::from_ref(operation);
            let before = clock.ticks();
            execute(engine, one, &mut |report| checksum.add(&report.to_payload()));
            let after = clock.ticks();
            let ns = elapsed_ns(&clock, before, after);
            for at in [0, index(operation)] {
                if let Some(Some(recorder)) = recorders.get_mut(at) {
                    recorder.record(ns);
                }
            }
        }
        black_box(checksum);
        wipe(engine);
        if monotonic().since(started) >= enough {
            break;
        }
    }
    let [all, add, cancel, ioc] = words.each_ref().map(|words| percentiles(words));
    Ok(Latency { op_ns: OpNs { all, add, cancel, ioc }, timer_ns: timer_ns(&clock) })
}

/// Its histogram; a modification is in that of all only.
const fn index(operation: &Operation) -> usize {
    match operation.kind {
        Kind::Modify => usize::MAX,
        Kind::Add => 1,
        Kind::Cancel => 2,
        Kind::ImmediateOrCancel => 3,
    }
}

fn elapsed_ns(clock: &Clock, before: u64, after: u64) -> u64 {
    clock.at(after).since(clock.at(before)).0.max(0).unsigned_abs()
}

/// The median of empty pairs.
fn timer_ns(clock: &Clock) -> u64 {
    let mut pairs: Vec<u64> = (0..TIMER_PAIRS)
        .map(|_| {
            let before = clock.ticks();
            let after = clock.ticks();
            elapsed_ns(clock, before, after)
        })
        .collect();
    pairs.sort_unstable();
    pairs.get(TIMER_PAIRS / 2).copied().unwrap_or_default()
}

fn percentiles(words: &[AtomicU64]) -> Percentiles {
    let Some(view) = View::new(words) else { return Percentiles::default() };
    Percentiles {
        p50: view.value_at_ppm(500_000),
        p99: view.value_at_ppm(990_000),
        p999: view.value_at_ppm(999_000),
        p9999: view.value_at_ppm(999_900),
        p999999: view.value_at_ppm(999_999),
        max: view.max(),
    }
}
