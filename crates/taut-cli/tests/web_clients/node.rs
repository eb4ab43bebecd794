//! Clients of npm, captive: they find the venue at the real one's names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{HERE, INSTALLING, captive, clients};

/// A client, and the day that it plays.
struct Client {
    package: &'static str,
    version: &'static str,
    dialect: &'static str,
    script: &'static str,
    steps: usize,
    is_large: bool,
}

/// The folder of modules that has this package, if one can be made.
pub fn modules(package: &str, version: &str) -> Option<PathBuf> {
    let _alone = INSTALLING.lock();
    let folder = clients().join(format!("npm-{package}"));
    let modules = folder.join("node_modules");
    let has_it = || modules.join(package).join("package.json").is_file();
    let wanted = format!("{package}@{version}");
    if !has_it() {
        let mut install = Command::new("npm");
        install.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
        install.arg(&folder).arg(&wanted).stdout(Stdio::null()).stderr(Stdio::null());
        let is_made = fs::create_dir_all(&folder).is_ok()
            && install.status().is_ok_and(|status| status.success());
        if !is_made || !has_it() {
            println!("skipped: {wanted} cannot be installed into {}", folder.display());
            return None;
        }
    }
    Some(modules)
}

/// Plays a client's day.
fn trades_a_day(client: &Client) {
    let Client { package, version, dialect, script, .. } = client;
    if client.is_large && std::env::var_os("TAUT_ALL_CLIENTS").is_none() {
        println!("skipped: npm {package} is large; `cargo xtask clients` plays it");
        return;
    }
    let Some(modules) = modules(package, version) else { return };
    let script = format!("{HERE}/{script}");
    let (name, arguments) = (format!("npm:{package}"), [script.as_str(), dialect]);
    let day = (name.as_str(), *dialect, client.steps);
    captive::play(day, Path::new("node"), &arguments, &[("NODE_PATH", &modules)]);
}

#[test]
fn deribit_v2_ws_trades_a_day_on_deribit_without_knowing_it() {
    trades_a_day(&Client {
        package: "deribit-v2-ws",
        version: "0.0.3",
        dialect: "deribit",
        script: "deribit_v2_ws.js",
        steps: 13,
        is_large: false,
    });
}

#[test]
fn ccxt_of_npm_trades_a_day_on_deribit_without_knowing_it() {
    trades_a_day(&Client {
        package: "ccxt",
        version: "4.5.84",
        dialect: "deribit",
        script: "ccxt.js",
        steps: 15,
        is_large: true,
    });
}

#[test]
fn ccxt_of_npm_trades_a_day_on_binance_without_knowing_it() {
    trades_a_day(&Client {
        package: "ccxt",
        version: "4.5.84",
        dialect: "binance",
        script: "ccxt.js",
        steps: 15,
        is_large: true,
    });
}

#[test]
fn the_venues_own_sdk_of_npm_trades_a_day_on_binance_without_knowing_it() {
    trades_a_day(&Client {
        package: "@binance/spot",
        version: "32.0.4",
        dialect: "binance",
        script: "sdk_binance.js",
        steps: 12,
        is_large: true,
    });
}
