//! A process that does not run for a while, as on a machine that swaps or is being moved.

use taut_sys::ProcessSignal;
use taut_testkit::{DEADLINE, until};
use taut_types::Nanos;

use crate::outcome::{Outcome, count};
use crate::support::{Demo, pause, send};

#[test]
fn a_strategy_that_slept_is_told_what_it_missed_and_trades_on() {
    let demo =
        Demo::start(&["--seconds", "600", "--rate", "200", "--ticks", "10000", "--wait", "block"]);
    demo.wait_until_live();
    let strategy = demo.process_of("strategy");
    let before = ticks(&demo.stderr());
    send(strategy, ProcessSignal::Pause);
    // More than twice as many events as its ring holds, however fast the machine is.
    until("the ring has gone round", DEADLINE, || ticks(&demo.stderr()) > before + 20_000.0);
    send(strategy, ProcessSignal::Continue);
    let orders = orders(&demo.stderr());
    until("it trades on", DEADLINE, || self::orders(&demo.stderr()) > orders);
    send(demo.parent(), ProcessSignal::Interrupt);
    let outcome = demo.finish();
    outcome.expect_sound();
    assert!(outcome.extra("market_events_it_was_too_slow_for") > 0);
}

/// The numbers of the live lines: seconds, ticks a second since the line before, orders.
fn live(said: &str) -> impl Iterator<Item = [f64; 3]> {
    let number = |text: &str| text.replace(',', "").trim().parse().unwrap_or_default();
    said.lines().filter_map(move |line| {
        let (time, rest) = line.split_once(" s  ")?;
        let (ticks, rest) = rest.split_once(" ticks/s")?;
        let orders = rest.split_once(" orders")?.0;
        Some([time, ticks, orders].map(number))
    })
}

/// Ticks so far, as the live lines say.
fn ticks(said: &str) -> f64 {
    let mut last = 0.0;
    let spans = live(said).map(|[at, rate, _]| rate * (at - std::mem::replace(&mut last, at)));
    spans.sum()
}

fn orders(said: &str) -> f64 {
    live(said).last().map_or(0.0, |[_, _, orders]| orders)
}

#[test]
fn a_venue_that_slept_catches_up() {
    paused("venue", Nanos::from_secs(1));
}

#[test]
fn a_gateway_that_slept_catches_up() {
    paused("gateway", Nanos::from_secs(1));
}

#[test]
fn a_parent_that_slept_watches_on() {
    let demo = Demo::gentle(&["--seconds", "2"]);
    demo.wait_until_live();
    send(demo.parent(), ProcessSignal::Pause);
    pause(Nanos::from_secs(1));
    send(demo.parent(), ProcessSignal::Continue);
    demo.finish().expect_sound();
}

fn paused(role: &str, span: Nanos) -> Outcome {
    let demo = Demo::gentle(&["--seconds", "3.5"]);
    demo.wait_until_live();
    let process = demo.process_of(role);
    send(process, ProcessSignal::Pause);
    pause(span);
    send(process, ProcessSignal::Continue);
    let outcome = demo.finish();
    assert!(count(&outcome.expect_sound(), "orders") > 0);
    outcome
}
