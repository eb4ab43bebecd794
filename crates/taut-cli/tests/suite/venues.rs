//! Runs at a venue that speaks as another: JSON over WebSocket in, and orders out the same way or
//! over FIX, with TLS and without.

use crate::outcome::{Outcome, count};
use crate::runs::{expect_complete, expect_no_way_to_the_strategy};
use crate::support::Demo;

/// Long enough for a debug build on a busy machine to trade, cancel and be filled.
const FLOW: [&str; 8] = ["--ticks", "1000", "--levels", "20", "--seconds", "4", "--wait", "block"];

fn run(venue: &str, arguments: &[&str]) -> Outcome {
    Demo::start(&[&["--venue", venue], &FLOW[..], arguments].concat()).finish()
}

fn expect_web(outcome: &Outcome) {
    outcome.expect_said("market data: JSON over WebSocket");
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
    outcome.expect_said("market data: JSON over WebSocket on loopback");
    outcome.expect_said("orders: JSON over WebSocket on loopback");
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

/// Over these wires, which the report names.
fn run_over(venue: &str, flags: &[&str], orders: &str) {
    let outcome = run(venue, flags);
    let mode = if flags.contains(&"fused") { "fused" } else { "split" };
    expect_complete(&outcome, mode);
    expect_web(&outcome);
    let tls = if flags.contains(&"--tls") { " over TLS" } else { "" };
    let notes = outcome.run.as_deref().expect("run.json");
    for wire in [format!("market data: JSON over WebSocket{tls}"), format!("orders: {orders}{tls}")]
    {
        outcome.expect_said(&format!("{wire} on loopback"));
        assert!(notes.contains(&wire), "{wire} is missing in the report: {notes}");
    }
}

#[test]
fn over_tls_runs_at_both_report_all_that_is_documented() {
    run_over("deribit", &["--tls"], "JSON over WebSocket");
    run_over("binance", &["--tls", "--mode", "fused"], "JSON over WebSocket");
}

#[test]
fn with_orders_over_fix_runs_at_both_report_all_that_is_documented() {
    run_over("deribit", &["--orders", "fix", "--mode", "fused"], "FIX 4.4");
    run_over("binance", &["--orders", "fix"], "FIX 4.4");
}

#[test]
fn with_orders_over_fix_and_tls_runs_at_both_report_all_that_is_documented() {
    run_over("deribit", &["--orders", "fix", "--tls"], "FIX 4.4");
    run_over("binance", &["--orders", "fix", "--tls", "--mode", "fused"], "FIX 4.4");
}
