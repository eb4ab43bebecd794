//! A process that does not run for a while, as on a machine that swaps or is being moved.

use taut_sys::ProcessSignal;
use taut_types::Nanos;

use crate::outcome::{Outcome, count};
use crate::support::{Demo, pause, send};

#[test]
fn a_strategy_that_slept_is_told_what_it_missed_and_trades_on() {
    // Several times as many events as its ring holds.
    let outcome = paused("strategy", &["--ticks", "10000"], Nanos::from_secs(2));
    assert!(outcome.extra("market_events_it_was_too_slow_for") > 0);
}

#[test]
fn a_venue_that_slept_catches_up() {
    paused("venue", &["--ticks", "2000"], Nanos::from_secs(1));
}

#[test]
fn a_gateway_that_slept_catches_up() {
    paused("gateway", &["--ticks", "2000"], Nanos::from_secs(1));
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

fn paused(role: &str, flow: &[&str], span: Nanos) -> Outcome {
    let demo = Demo::start(&[&["--seconds", "3.5", "--rate", "200"], flow].concat());
    demo.wait_until_live();
    let process = demo.process_of(role);
    send(process, ProcessSignal::Pause);
    pause(span);
    send(process, ProcessSignal::Continue);
    let outcome = demo.finish();
    assert!(count(&outcome.expect_sound(), "orders") > 0);
    outcome
}
