//! QuickFIX (its Go engine), captive, with the dialects of both venues, as anybody would write it
//! from their documents. `bench/peers/fix/install.sh` builds it into `bench/peers/fix/target`, or
//! `TAUT_FIX_PEERS` names such a folder; where `TAUT_ALL_CLIENTS` is set it is built here.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{INSTALLING, captive};

const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers/fix/target");

/// Where it is, if it can be built.
fn quickfix() -> Option<PathBuf> {
    let _alone = INSTALLING.lock();
    let built = std::env::var_os("TAUT_FIX_PEERS").map_or_else(|| PEERS.into(), PathBuf::from);
    let program = built.join("fix-peer-go");
    if !program.exists() && std::env::var_os("TAUT_ALL_CLIENTS").is_some() {
        let mut go = Command::new("go");
        go.args(["build", "-o"]).arg(&program).arg(".").current_dir(format!("{PEERS}/../go"));
        // Without Go, or without its modules, it is not there.
        let _ = go.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
    if !program.exists() {
        println!("skipped: no QuickFIX ({} is not there)", program.display());
        return None;
    }
    Some(program)
}

fn trades_a_day(dialect: &str, steps: usize) {
    let Some(program) = quickfix() else { return };
    captive::play(("quickfix-go", dialect, steps), &program, &["day", dialect], &[]);
}

#[test]
fn quickfix_trades_a_day_on_deribit_without_knowing_it() {
    trades_a_day("deribit", 16);
}

#[test]
fn quickfix_trades_a_day_on_binance_without_knowing_it() {
    trades_a_day("binance", 12);
}
