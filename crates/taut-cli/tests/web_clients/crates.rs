//! Clients of crates.io, captive: `bench/peers/web`. They are built once, below `target/clients`,
//! which takes minutes: where `TAUT_ALL_CLIENTS` is set, as `cargo xtask clients` does.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{CLIENTS, INSTALLING, captive};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers/web");

/// The program of this folder, if it can be built.
fn built(folder: &str) -> Option<PathBuf> {
    if std::env::var_os("TAUT_ALL_CLIENTS").is_none() {
        println!("skipped: the crate for {folder} is built by `cargo xtask clients`");
        return None;
    }
    let _alone = INSTALLING.lock();
    let clients = std::env::var_os("TAUT_CLIENTS").map_or_else(|| CLIENTS.into(), PathBuf::from);
    let (target, manifest) = (clients.join("crates"), format!("{SOURCES}/{folder}/Cargo.toml"));
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--locked", "--manifest-path", &manifest, "--target-dir"]);
    cargo.arg(&target).stdout(Stdio::null()).stderr(Stdio::null());
    if !cargo.status().is_ok_and(|status| status.success()) {
        println!("skipped: {manifest} cannot be built into {}", target.display());
        return None;
    }
    Some(target.join("debug").join(format!("web-peer-{folder}")))
}

#[test]
fn deribit_websocket_trades_a_day_on_deribit_without_knowing_it() {
    let Some(program) = built("deribit") else { return };
    captive::play(("deribit-websocket", "deribit", 16), &program, &[], &[]);
}

#[test]
fn the_venues_own_sdk_for_rust_trades_a_day_on_binance_without_knowing_it() {
    let Some(program) = built("binance") else { return };
    captive::play(("binance-sdk", "binance", 16), &program, &[], &[]);
}
