//! Clients that strangers wrote trade against `taut venue --as deribit` and `--as binance`,
//! unchanged but for their addresses.
//!
//! A client is fetched once into `target/clients`, or `TAUT_CLIENTS` names a folder where it is
//! installed; without network it is skipped with a notice.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use taut_testkit::{Process, Run, until};

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/web_clients");
const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/clients");

/// How long a client's whole day may take on a busy machine.
const DAY: Duration = Duration::from_secs(240);

/// A venue on a port of its own.
struct Venue {
    _process: Process,
    port: u16,
    settings: PathBuf,
}

impl Venue {
    fn start(dialect: &str, name: &str) -> Self {
        let sample = taut(&["venue", "sample", "--as", dialect]);
        let sample = String::from_utf8(sample.stdout).expect("a sample");
        let settings = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.toml"));
        let own = sample.replace("127.0.0.1:8080", "127.0.0.1:0");
        assert_ne!(own, sample, "the sample's port");
        fs::write(&settings, own).expect("settings");
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        command.args(["venue", "--as", dialect, "--config"]).arg(&settings);
        let mut process = Process::start(&mut command);
        let port = process.stderr_line("the venue's port", |line| {
            line.rsplit_once("127.0.0.1:").and_then(|(_, port)| port.trim().parse().ok())
        });
        Self { _process: process, port, settings }
    }
}

impl Drop for Venue {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.settings);
    }
}

fn taut(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taut")).args(arguments).run()
}

/// One test installs, the others wait for it.
static INSTALLING: Mutex<()> = Mutex::new(());

/// A Python that has the package, if one can be made.
fn python(package: &str, version: &str) -> Option<PathBuf> {
    let _alone = INSTALLING.lock();
    let folder = std::env::var_os("TAUT_CLIENTS").map_or_else(|| CLIENTS.into(), PathBuf::from);
    let folder = folder.join(package);
    let python = folder.join("bin/python");
    let runs = |command: &mut Command| {
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    };
    let has_it = || runs(Command::new(&python).args(["-c", &format!("import {package}")]));
    if has_it() {
        return Some(python);
    }
    let wanted = format!("{package}=={version}");
    let made = runs(Command::new("python3").args(["-m", "venv"]).arg(&folder))
        && runs(Command::new(&python).args([
            "-m",
            "pip",
            "install",
            "-q",
            "--timeout",
            "20",
            &wanted,
        ]));
    if !made || !has_it() {
        println!("skipped: {wanted} cannot be installed into {}", folder.display());
        return None;
    }
    Some(python)
}

/// Plays ccxt's day, of so many steps.
fn ccxt_trades_a_day(dialect: &str, steps: usize) {
    let Some(python) = python("ccxt", "4.5.90") else { return };
    let venue = Venue::start(dialect, &format!("ccxt-{dialect}"));
    let mut command = Command::new(python);
    command.arg(format!("{HERE}/ccxt_{dialect}.py")).arg(venue.port.to_string());
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let mut client = Process::start(&mut command);
    until("the end of ccxt's day", DAY, || !client.is_running());
    let said = client.stdout();
    for step in said.lines() {
        println!("ccxt {dialect} {step}");
    }
    let run = client.finish();
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{said}{told}");
    assert_eq!(said.lines().filter(|line| line.contains(": ok")).count(), steps, "{said}");
}

#[test]
fn ccxt_trades_a_day_on_deribit() {
    ccxt_trades_a_day("deribit", 18);
}

#[test]
fn ccxt_trades_a_day_on_binance() {
    ccxt_trades_a_day("binance", 24);
}
