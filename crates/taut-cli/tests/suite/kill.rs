//! Any process killed with -9: the others end and say why, and nothing stays behind.

use taut_sys::ProcessSignal;
use taut_types::Nanos;

use crate::outcome::count;
use crate::support::{Demo, SLOW, TAUT, pause, send};

/// Longer than any of these tests: it is the kill that ends them.
const LONG: [&str; 2] = ["--seconds", "600"];

#[test]
fn nothing_survives_the_parent() {
    for mode in ["split", "fused"] {
        let demo = Demo::gentle(&[&LONG[..], &["--mode", mode]].concat());
        demo.wait_until_live();
        let parent = demo.parent();
        send(parent, ProcessSignal::Kill);
        let outcome = demo.finish();
        let roles: &[&str] =
            if mode == "split" { &["venue", "gateway", "strategy"] } else { &["venue", "gateway"] };
        for role in roles {
            let told = format!("{role}: the demo's parent (process {parent}) is gone");
            outcome.expect_said(&told);
        }
        outcome.expect_no_panic();
        outcome.expect_nothing_written();
    }
}

#[test]
fn nothing_survives_the_venue() {
    expect_end_with("venue");
}

#[test]
fn nothing_survives_the_gateway() {
    expect_end_with("gateway");
}

#[test]
fn nothing_survives_the_strategy() {
    expect_end_with("strategy");
}

#[test]
fn a_child_that_cannot_listen_does_not_survive_another() {
    let demo = Demo::gentle(&LONG);
    demo.wait_until_live();
    send(demo.process_of("strategy"), ProcessSignal::Pause);
    send(demo.process_of("venue"), ProcessSignal::Kill);
    let outcome = demo.finish();
    outcome.expect_code(1);
    outcome.expect_said("the venue (process ");
    outcome.expect_nothing_written();
}

#[test]
fn a_stopped_child_does_not_survive_the_parent() {
    for role in ["venue", "gateway", "strategy"] {
        let demo = Demo::gentle(&LONG);
        demo.wait_until_live();
        send(demo.process_of(role), ProcessSignal::Pause);
        send(demo.parent(), ProcessSignal::Kill);
        let outcome = demo.finish();
        outcome.expect_no_panic();
        outcome.expect_nothing_written();
    }
}

#[test]
fn nothing_survives_a_parent_that_is_killed_while_it_starts_the_others() {
    for delay_ms in [0, 2, 4, 8, 16, 32, 64, 128] {
        let demo = Demo::gentle(&LONG);
        pause(Nanos::from_millis(delay_ms));
        send(demo.parent(), ProcessSignal::Kill);
        let outcome = demo.finish();
        outcome.expect_no_panic();
        outcome.expect_nothing_written();
    }
}

fn expect_end_with(role: &str) {
    let demo = Demo::gentle(&LONG);
    demo.wait_until_live();
    let victim = demo.process_of(role);
    send(victim, ProcessSignal::Kill);
    let outcome = demo.finish();
    outcome.expect_code(1);
    outcome.expect_said(&format!("the {role} (process {victim}) was killed by signal 9"));
    outcome.expect_nothing_written();
    assert_eq!(outcome.stdout, "");
}

/// A run whose venue is killed, and has a standby. Its journal is beside the report.
fn with_standby(arguments: &[&str]) -> Demo {
    let mut command = std::process::Command::new(TAUT);
    command.args(["demo", "--json", "--out", "report", "--standby", "--wait", "block"]);
    command.args(SLOW).args(arguments).env("TMPDIR", ".");
    Demo::spawn(command)
}

#[test]
fn a_venue_with_a_standby_is_killed_and_the_run_ends_with_nothing_lost() {
    let outcome = with_standby(&["--seconds", "3"]).finish();
    outcome.expect_code(0);
    outcome.expect_said("the venue was killed; its standby took its place after");
    let json = outcome.json();
    for never in ["lost", "unanswered"] {
        assert_eq!(count(&json, never), 0, "{never}");
    }
    assert!(outcome.extra("orders_acknowledged_again_after_us") > 0);
}

#[test]
fn nothing_survives_the_parent_of_a_venue_with_a_standby() {
    let demo = with_standby(&LONG);
    demo.wait_until_live();
    send(demo.parent(), ProcessSignal::Kill);
    let outcome = demo.finish();
    outcome.expect_said("standby: the demo's parent (process ");
    outcome.expect_no_panic();
    outcome.expect_nothing_written();
}
