//! Peers that mean no good, at every listener over TCP, and one good peer that is served all the
//! while: `cargo xtask hostile`.
//!
//! usage: `hostile_tcp TAUT STAGE SECONDS [--times]`
//!
//! A stage is a listener in a process of its own and who comes to it, one kind after the other. The
//! listener holds when the good peer is served each time it comes and is never cut off while it
//! stays, and what strangers take of memory, CPU and connections stays below its thresholds. One of
//! four strangers comes from another address than the good peer. With `--times` the good peer is
//! also served within 100 ms in 99 of 100 visits, and half of the answers on the connection that
//! stays come within twice the time that they took before anybody came, unless the machine was too
//! busy for that before anybody came.
#![forbid(unsafe_code)]

mod attacks;
mod bytes;
mod good;
mod listener;
mod stages;
mod stream;
mod tls;

use std::fmt;
use std::process::ExitCode;
use std::thread;

use taut_sync::atomic::{AtomicBool, Ordering};
use taut_sys::{monotonic, wait_readable};
use taut_types::Nanos;

use crate::good::{Good, Visits};
use crate::listener::Listener;
use crate::stages::{Attack, STAGES, Stage};

/// A good peer is served within this on a quiet machine.
const SERVED_WITHIN: Nanos = Nanos::from_millis(100);
/// What the listener may need to notice that the others have left.
const PATIENCE: Nanos = Nanos::from_secs(30);
const QUIET: Nanos = Nanos::from_millis(500);
/// An answer that comes within this is not late, however quick the others were: so long may the
/// scheduler of two CPUs leave a peer that has something to read beside peers that never rest.
const ANSWERED_WITHIN: Nanos = Nanos::from_millis(10);
/// CPU time is told in steps of 10 ms: of fewer strangers it says nothing about each.
const STRANGERS_MIN: u64 = 200;
const BETWEEN_LOOKS: Nanos = Nanos::from_millis(5);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [listener::SERVE, what] => listener::serve(what),
        [taut, stage, seconds, ref more @ ..] => {
            let found = STAGES.iter().find(|it| it.name == stage);
            let (Some(stage), Ok(seconds)) = (found, seconds.parse()) else { return usage() };
            play(taut, stage, seconds, more == ["--times"])
        }
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    let names: Vec<_> = STAGES.iter().map(|stage| stage.name).collect();
    eprintln!("usage: hostile_tcp TAUT STAGE SECONDS [--times]; STAGE is {}", names.join(", "));
    ExitCode::from(2)
}

fn play(taut: &str, stage: &Stage, seconds: i64, times_count: bool) -> ExitCode {
    let mut listener = (stage.listen)(taut);
    let mut failures = Vec::new();
    let quiet = good_peer(stage.good, &listener, QUIET);
    println!("   {:<20} {}", "nobody", quiet.visits);
    failures.extend(quiet.visits.failure("before anybody came"));
    let is_quiet = quiet.visits.longest < Nanos(SERVED_WITHIN.0 / 2);
    if times_count && !is_quiet {
        println!("   disturbed: the times do not count");
    }
    let before = listener.memory_kib();
    let span = Nanos(Nanos::from_secs(seconds).0 / stage.attacks.len() as i64);
    for attack in stage.attacks {
        let met = under(attack, stage.good, &listener, span);
        let strangers = Strangers {
            count: met.strangers,
            grown_mib: met.memory_kib.saturating_sub(before) / 1024,
            open: met.open,
            cpu_each: met.cpu_each(&quiet),
        };
        println!("   {:<20} {}; {strangers}", attack.name, met.visits);
        let at = format!("{} against {}", attack.name, stage.name);
        failures.extend(met.visits.failure(&at));
        failures.extend(strangers.failures(stage, attack, &at));
        if times_count && is_quiet {
            failures.extend(lateness(&met.visits, &quiet.visits, &at));
        }
        failures.extend(listener.comes_to_rest(PATIENCE, &at));
    }
    let after_mib = listener.memory_kib().saturating_sub(before) / 1024;
    println!("   {:<20} {after_mib} MiB more than before", "when all have left");
    failures.extend(held("MiB more", after_mib, stage.kept_mib_max, "when all have left"));
    failures.extend(listener.failure());
    failures.iter().for_each(|failure| eprintln!("   {failure}"));
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// What strangers took, at the most.
struct Strangers {
    /// How many came.
    count: u64,
    grown_mib: u64,
    open: u64,
    /// Of a CPU, for each; none when there were too few to say.
    cpu_each: Option<Nanos>,
}

impl Strangers {
    fn failures(&self, stage: &Stage, attack: &Attack, at: &str) -> Vec<String> {
        let cpu_us = self.cpu_each.map_or(0, |each| each.0.unsigned_abs() / 1_000);
        let cpu = attack.cpu_us_max.and_then(|most| held("us of CPU each", cpu_us, most, at));
        let memory = held("MiB more", self.grown_mib, attack.memory_mib_max, at);
        [memory, held("descriptors", self.open, stage.open_max, at), cpu]
            .into_iter()
            .flatten()
            .collect()
    }
}

impl fmt::Display for Strangers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} strangers, {} MiB, {} open", self.count, self.grown_mib, self.open)?;
        self.cpu_each.map_or(Ok(()), |each| write!(f, ", {} us of CPU each", each.0 / 1_000))
    }
}

/// Whether the good peer was served later than it may be.
fn lateness(visits: &Visits, quiet: &Visits, at: &str) -> Option<String> {
    if visits.longest_but_one_in_a_hundred() > SERVED_WITHIN {
        return Some(format!("{at}: served within {}", good::in_words(visits.longest)));
    }
    let (answer, most) = (visits.median_answer(), Nanos(2 * quiet.median_answer().0));
    (answer > most.max(ANSWERED_WITHIN)).then(|| {
        let quiet = good::in_words(quiet.median_answer());
        format!("{at}: answered within {} at p50, {quiet} before", good::in_words(answer))
    })
}

/// Has the good peer come while strangers of one kind do.
fn under(attack: &Attack, good: Good, listener: &Listener, span: Nanos) -> Met {
    let (stop, to) = (AtomicBool::new(false), listener.address);
    let come = attacks::come();
    let mut met = thread::scope(|scope| {
        for number in 0..attack.threads {
            let stop = &stop;
            scope.spawn(move || (attack.run)(to, number, stop));
        }
        let _stop = StopOnDrop(&stop);
        good_peer(good, listener, span)
    });
    met.strangers = attacks::come() - come;
    met
}

/// Tells strangers to stop, also when the listener has ended and is asked what it uses.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does nothing for a span.
fn pace(span: Nanos) {
    // PACE: peers come and go at a speed of their own, and nobody tells them when.
    let _ = wait_readable(&[], Some(span));
}

/// What a good peer met with, and what the listener took meanwhile.
#[derive(Default)]
struct Met {
    visits: Visits,
    /// The most at a time.
    memory_kib: u64,
    open: u64,
    cpu: Nanos,
    strangers: u64,
}

impl Met {
    /// What each stranger cost of a CPU, beside what the good peer costs.
    fn cpu_each(&self, quiet: &Self) -> Option<Nanos> {
        let of_good_peer = quiet.cpu.0 * self.visits.count as i64 / quiet.visits.count as i64;
        let cpu = (self.cpu.0 - of_good_peer).max(0);
        (self.strangers >= STRANGERS_MIN).then(|| Nanos(cpu / self.strangers as i64))
    }
}

/// Comes again and again for a span, and stays beside that with another connection.
fn good_peer(good: Good, listener: &Listener, span: Nanos) -> Met {
    let (mut met, mut visits) = (Met::default(), Visits::default());
    let (begun, cpu) = (monotonic(), listener.cpu_time());
    let mut steady = visits.first(good, listener.address);
    while monotonic() < begun + span || visits.count == 0 {
        visits.visit(good, listener.address);
        if let Some(peer) = &mut steady {
            let asked = monotonic();
            match peer.ask() {
                Ok(()) => visits.asked.push(monotonic() - asked),
                Err(error) => {
                    visits.cut_off = Some(error.to_string());
                    steady = None;
                }
            }
        }
        met.memory_kib = met.memory_kib.max(listener.memory_kib());
        met.open = met.open.max(listener.open_count());
        pace(BETWEEN_LOOKS);
    }
    (met.cpu, met.visits) = (listener.cpu_time() - cpu, visits);
    met
}

fn held(what: &str, found: u64, most: u64, at: &str) -> Option<String> {
    (found > most).then(|| format!("{at}: {found} {what}, {most} are the most"))
}
