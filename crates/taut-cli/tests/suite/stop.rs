//! Ctrl-C and SIGTERM: everything ends in good order, with the report written.

use std::os::unix::process::ExitStatusExt;

use taut_sys::ProcessSignal;
use taut_types::Nanos;

use crate::outcome::{Outcome, count};
use crate::support::{Demo, pause, send};

/// Longer than any of these tests: it is the signal that ends them.
const LONG: [&str; 2] = ["--seconds", "600"];

#[test]
fn an_interrupt_ends_a_split_run_with_its_report() {
    let outcome = stopped("split", ProcessSignal::Interrupt);
    assert!(outcome.stderr.contains("ended early by SIGINT"), "{}", outcome.stderr);
}

#[test]
fn a_termination_ends_a_fused_run_with_its_report() {
    let outcome = stopped("fused", ProcessSignal::Terminate);
    assert!(outcome.stderr.contains("ended early by SIGTERM"), "{}", outcome.stderr);
}

#[test]
fn a_signal_to_every_process_at_once_ends_the_run_with_its_report() {
    let demo = Demo::gentle(&LONG);
    demo.wait_until_live();
    for role in ["strategy", "venue", "gateway"] {
        send(demo.process_of(role), ProcessSignal::Terminate);
    }
    send(demo.parent(), ProcessSignal::Terminate);
    demo.finish().expect_sound();
}

#[test]
fn a_signal_to_one_child_ends_the_run_with_its_report() {
    let demo = Demo::gentle(&LONG);
    demo.wait_until_live();
    send(demo.process_of("gateway"), ProcessSignal::Terminate);
    let outcome = demo.finish();
    outcome.expect_sound();
    assert!(outcome.stderr.contains("ended early: the gateway got a signal"));
}

#[test]
fn two_signals_in_one_moment_are_one_wish() {
    let demo = Demo::gentle(&LONG);
    demo.wait_until_live();
    send(demo.parent(), ProcessSignal::Interrupt);
    send(demo.parent(), ProcessSignal::Terminate);
    demo.finish().expect_sound();
}

#[test]
fn a_second_signal_after_a_second_ends_a_run_that_hangs() {
    let demo = Demo::gentle(&LONG);
    demo.wait_until_live();
    send(demo.process_of("strategy"), ProcessSignal::Pause);
    send(demo.parent(), ProcessSignal::Interrupt);
    pause(Nanos::from_millis(1_300));
    send(demo.parent(), ProcessSignal::Interrupt);
    let outcome = demo.finish();
    outcome.expect_code(1);
    outcome.expect_said("interrupted again");
    outcome.expect_nothing_written();
}

#[test]
fn a_signal_while_the_processes_start_ends_them_all() {
    for delay_ms in [0, 2, 4, 8, 16, 32, 64, 128] {
        let demo = Demo::gentle(&LONG);
        pause(Nanos::from_millis(delay_ms));
        // Not SIGINT: a shell starts what runs in the background with that one ignored, and until
        // the program has set its own handler it stays so.
        send(demo.parent(), ProcessSignal::Terminate);
        let outcome = demo.finish();
        // Before anything was started the signal does what it always does.
        if outcome.status.signal().is_some() {
            outcome.expect_nothing_written();
            assert_eq!(outcome.stderr, "");
        } else {
            outcome.expect_sound();
        }
    }
}

fn stopped(mode: &str, signal: ProcessSignal) -> Outcome {
    let demo = Demo::gentle(&[&LONG[..], &["--mode", mode]].concat());
    demo.wait_until_live();
    send(demo.parent(), signal);
    let outcome = demo.finish();
    assert!(count(&outcome.expect_sound(), "orders") > 0);
    outcome
}
