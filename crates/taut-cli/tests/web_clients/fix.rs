//! FIX clients, captive: QuickFIX (its Go engine) with the dialects of both venues, as anybody
//! would write it from their documents, and the crate deribit-fix. `bench/peers/fix/install.sh`
//! builds them into `bench/peers/fix/target`, or `TAUT_FIX_PEERS` names such a folder.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use taut_testkit::{Process, until};

use crate::node::FORBIDDEN;
use crate::{DAY, taut};

const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers/fix/target");

/// A client, and the day that it plays.
struct Client {
    name: &'static str,
    program: &'static str,
    dialect: &'static str,
    /// Behind the word `day`.
    argument: &'static str,
    steps: usize,
}

fn trades_a_day(client: &Client) {
    let Client { name, program, dialect, argument, steps } = *client;
    let built = std::env::var_os("TAUT_FIX_PEERS").map_or_else(|| PEERS.into(), PathBuf::from);
    let program = built.join(program);
    if !program.exists() {
        println!("skipped: no {name} ({} is not there)", program.display());
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let settings = folder.path().join("venue.toml");
    fs::write(&settings, taut(&["venue", "sample", "--as", dialect]).stdout).expect("settings");
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(["venue", "--as", dialect, "--config"]).arg(&settings);
    command.arg("--captive").arg(program).args(["day", argument]);
    let mut running = Process::start(&mut command);
    until("the end of the client's day", DAY, || !running.is_running());
    let said = running.stdout();
    for step in said.lines() {
        println!("{name} {dialect} {step}");
    }
    let run = running.finish();
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    if told.contains(FORBIDDEN) {
        println!("skipped: {told}");
        return;
    }
    assert!(run.status.success(), "{said}{told}");
    let done = said.lines().filter(|line| line.ends_with(": ok")).count();
    assert_eq!(done, steps, "{said}");
}

#[test]
fn quickfix_trades_a_day_on_deribit_without_knowing_it() {
    trades_a_day(&Client {
        name: "quickfix-go",
        program: "fix-peer-go",
        dialect: "deribit",
        argument: "deribit",
        steps: 16,
    });
}

#[test]
fn quickfix_trades_a_day_on_binance_without_knowing_it() {
    trades_a_day(&Client {
        name: "quickfix-go",
        program: "fix-peer-go",
        dialect: "binance",
        argument: "binance",
        steps: 12,
    });
}

/// Around the price at which the sample's crowd begins.
#[test]
fn deribit_fix_trades_a_day_on_deribit_without_knowing_it() {
    trades_a_day(&Client {
        name: "deribit-fix",
        program: "fix-peer-deribit",
        dialect: "deribit",
        argument: "60000",
        steps: 10,
    });
}
