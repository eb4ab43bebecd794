//! Runs at a venue that speaks as another: JSON over WebSocket in, and orders out the same way.

use crate::outcome::{Outcome, count};
use crate::runs::{expect_complete, expect_no_way_to_the_strategy};
use crate::support::Demo;

/// Long enough for a debug build on a busy machine to trade, cancel and be filled.
const FLOW: [&str; 8] = ["--ticks", "2000", "--levels", "20", "--seconds", "4", "--wait", "block"];

fn run(venue: &str, arguments: &[&str]) -> Outcome {
    Demo::start(&[&["--venue", venue], &FLOW[..], arguments].concat()).finish()
}

fn expect_web(outcome: &Outcome) {
    outcome.expect_said("JSON over WebSocket on loopback");
    let published = count(&outcome.json(), "published");
    assert!(published > 0, "changes of books");
    // Trades and tickers come beside them.
    assert!(outcome.extra("packets_of_line_a") > published);
    assert_eq!(outcome.extra("snapshots_loaded"), 3, "each book begins once");
    for never in ["gaps", "malformed_packets", "receive_calls_that_failed"] {
        assert_eq!(outcome.extra(never), 0, "{never}");
    }
}

#[test]
fn a_split_run_at_deribit_reports_all_that_is_documented() {
    let outcome = run("deribit", &[]);
    expect_complete(&outcome, "split");
    expect_web(&outcome);
    outcome.expect_said("a venue that speaks as Deribit");
}

#[test]
fn a_fused_run_at_deribit_reports_all_that_is_documented() {
    let outcome = run("deribit", &["--mode", "fused"]);
    expect_no_way_to_the_strategy(&expect_complete(&outcome, "fused"));
    expect_web(&outcome);
}

#[test]
fn a_split_run_at_binance_reports_all_that_is_documented() {
    let outcome = run("binance", &[]);
    expect_complete(&outcome, "split");
    expect_web(&outcome);
    outcome.expect_said("a venue that speaks as Binance's spot market");
}

#[test]
fn a_fused_run_at_binance_reports_all_that_is_documented() {
    let outcome = run("binance", &["--mode", "fused"]);
    expect_no_way_to_the_strategy(&expect_complete(&outcome, "fused"));
    expect_web(&outcome);
}
