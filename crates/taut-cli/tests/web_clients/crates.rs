//! Clients of crates.io, captive: `bench/peers/web` and `bench/peers/fix/deribit`. They are built
//! once, below `target/clients`, which takes minutes: where `TAUT_ALL_CLIENTS` is set, as
//! `cargo xtask clients` does.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{INSTALLING, captive, clients};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers");

/// The program of this folder, if what it is built of can be fetched.
fn built(folder: &str, program: &str) -> Option<PathBuf> {
    if std::env::var_os("TAUT_ALL_CLIENTS").is_none() {
        println!("skipped: bench/peers/{folder} is built by `cargo xtask clients`");
        return None;
    }
    let _alone = INSTALLING.lock();
    let clients = clients();
    let (target, manifest) = (clients.join("crates"), format!("{SOURCES}/{folder}/Cargo.toml"));
    let cargo = |words: &[&str]| {
        let mut cargo = Command::new("cargo");
        cargo.args(words).args(["--quiet", "--locked", "--manifest-path", &manifest]);
        cargo
    };
    let fetched = cargo(&["fetch"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !fetched.is_ok_and(|status| status.success()) {
        println!("skipped: what {manifest} is built of cannot be fetched");
        return None;
    }
    let built = cargo(&["build"]).arg("--target-dir").arg(&target).output().expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(target.join("debug").join(program))
}

#[test]
fn deribit_websocket_trades_a_day_on_deribit_without_knowing_it() {
    let Some(program) = built("web/deribit", "web-peer-deribit") else { return };
    captive::play(("deribit-websocket", "deribit", 16), &program, &[], &[]);
}

#[test]
fn the_venues_own_sdk_for_rust_trades_a_day_on_binance_without_knowing_it() {
    let Some(program) = built("web/binance", "web-peer-binance") else { return };
    captive::play(("binance-sdk", "binance", 16), &program, &[], &[]);
}

/// Around the price at which the sample's crowd begins. Its subscription to a book is refused, as
/// it lacks a field.
#[test]
fn deribit_fix_trades_a_day_on_deribit_without_knowing_it() {
    let Some(program) = built("fix/deribit", "fix-peer-deribit") else { return };
    captive::play(("deribit-fix", "deribit", 9), &program, &["day", "60000"], &[]);
}
