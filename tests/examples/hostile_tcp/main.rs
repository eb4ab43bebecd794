//! Peers that mean no good, at every listener over TCP, and one good peer that is served all the
//! while: `cargo xtask hostile`.
//!
//! usage: `hostile_tcp TAUT STAGE SECONDS [--times]`
//!
//! A stage is a listener in a process of its own and who comes to it, one kind after the other. The
//! listener holds when the good peer is served each time it comes and is never cut off while it
//! stays, and memory and connections stay below their thresholds. With `--times` the good peer is
//! also served within 100 ms, unless the machine was too busy for that before anybody came.
#![forbid(unsafe_code)]

mod attacks;
mod bytes;
mod good;
mod listener;
mod stages;
mod tls;

use std::process::ExitCode;
use std::thread;

use taut_sync::atomic::{AtomicBool, Ordering};
use taut_sys::{monotonic, wait_readable};
use taut_types::Nanos;

use crate::good::{Good, Visits};
use crate::listener::Listener;
use crate::stages::{STAGES, Stage};

/// A good peer is served within this on a quiet machine.
const SERVED_WITHIN: Nanos = Nanos::from_millis(100);
/// What the listener may need to notice that the others have left.
const PATIENCE: Nanos = Nanos::from_secs(30);
const QUIET: Nanos = Nanos::from_millis(500);
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
    let to = listener.address;
    let mut failures = Vec::new();
    let quiet = good_peer(stage.good, &listener, QUIET, &mut Peak::default());
    println!("   {:<20} {quiet}", "nobody");
    failures.extend(quiet.failure("before anybody came"));
    let is_quiet = quiet.longest < Nanos(SERVED_WITHIN.0 / 2);
    if times_count && !is_quiet {
        println!("   disturbed: the times do not count");
    }
    let before = listener.memory_kib();
    let span = Nanos(Nanos::from_secs(seconds).0 / stage.attacks.len() as i64);
    for attack in stage.attacks {
        let stop = AtomicBool::new(false);
        let mut peak = Peak::default();
        let visits = thread::scope(|scope| {
            for number in 0..attack.threads {
                let stop = &stop;
                scope.spawn(move || (attack.run)(to, number, stop));
            }
            let visits = good_peer(stage.good, &listener, span, &mut peak);
            stop.store(true, Ordering::Relaxed);
            visits
        });
        let grown_mib = peak.memory_kib.saturating_sub(before) / 1024;
        println!("   {:<20} {visits}; {grown_mib} MiB, {} open", attack.name, peak.open);
        let at = format!("{} against {}", attack.name, stage.name);
        failures.extend(visits.failure(&at));
        failures.extend(held("MiB more", grown_mib, attack.memory_mib_max, &at));
        failures.extend(held("descriptors", peak.open, stage.open_max, &at));
        let is_slow = visits.longest_but_one_in_a_hundred() > SERVED_WITHIN;
        if times_count && is_quiet && is_slow {
            failures.push(format!("{at}: served within {}", good::in_words(visits.longest)));
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

/// Does nothing for a span.
fn pace(span: Nanos) {
    // PACE: peers come and go at a speed of their own, and nobody tells them when.
    let _ = wait_readable(&[], Some(span));
}

/// The most that a listener had at a time.
#[derive(Default)]
struct Peak {
    memory_kib: u64,
    open: u64,
}

/// Comes again and again for a span, and stays beside that with another connection.
fn good_peer(good: Good, listener: &Listener, span: Nanos, peak: &mut Peak) -> Visits {
    let mut visits = Visits::default();
    let end = monotonic() + span;
    let mut steady = visits.first(good, listener.address);
    while monotonic() < end || visits.count == 0 {
        visits.visit(good, listener.address);
        if let Some(peer) = &mut steady
            && let Err(error) = peer.ask()
        {
            visits.cut_off = Some(error.to_string());
            steady = None;
        }
        peak.memory_kib = peak.memory_kib.max(listener.memory_kib());
        peak.open = peak.open.max(listener.open_count());
        pace(BETWEEN_LOOKS);
    }
    visits
}

fn held(what: &str, found: u64, most: u64, at: &str) -> Option<String> {
    (found > most).then(|| format!("{at}: {found} {what}, {most} are the most"))
}
