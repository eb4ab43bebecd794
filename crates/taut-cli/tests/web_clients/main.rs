//! Clients that strangers wrote trade against `taut venue --as deribit` and `--as binance`,
//! unchanged but for their addresses, or, `--captive`, not even for these.
//!
//! A client is fetched once into `target/clients`, or `TAUT_CLIENTS` names a folder where it is
//! installed; without network it is skipped with a notice. The large ones of npm and those that
//! have to be built are played where `TAUT_ALL_CLIENTS` is set, as `cargo xtask clients` does.
#![forbid(unsafe_code)]

mod agreement;
mod captive;
mod copies;
mod crates;
mod faults;
mod fix;
mod gateway;
mod node;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use taut_testkit::{Process, Run, until};
use tempfile::TempDir;

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/web_clients");
const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/clients");

/// How long a client's whole day may take on a busy machine.
const DAY: Duration = Duration::from_secs(240);

/// A venue on a port of its own.
struct Venue {
    _process: Process,
    port: u16,
    /// Where it speaks the venue's own FIX, if it does.
    fix: Option<u16>,
    /// The same over TLS, where it has that and nothing else over TLS.
    fix_tls: Option<u16>,
    folder: TempDir,
}

impl Venue {
    fn start(dialect: &str) -> Self {
        Self::start_with(dialect, "")
    }

    /// With these lines more at the end of the sample.
    fn start_with(dialect: &str, lines: &str) -> Self {
        let sample = taut(&["venue", "sample", "--as", dialect]);
        let sample = String::from_utf8(sample.stdout).expect("a sample");
        let folder = tempfile::tempdir().expect("a folder");
        let settings = folder.path().join("venue.toml");
        let own = sample.replace("127.0.0.1:8080", "127.0.0.1:0");
        assert_ne!(own, sample, "the sample's port");
        let name = format!("name = {:?}", folder.path().join("control"));
        let named = own.replace(&format!("# name = \"{dialect}\""), &name);
        assert_ne!(own, named, "the sample's name");
        let with_fix = "venue_fix = [\"127.0.0.1:0\"]";
        let fix_port = if dialect == "binance" { 9000 } else { 9881 };
        let fix = format!("# venue_fix = [\"127.0.0.1:{fix_port}\"]");
        let named = named.replace(&fix, with_fix);
        fs::write(&settings, named + lines).expect("settings");
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        command.args(["venue", "--as", dialect, "--config"]).arg(&settings);
        let mut process = Process::start(&mut command);
        let (port, fix, fix_tls) = process.stderr_line("the venue's ports", |line| {
            let mut ports = line.split("127.0.0.1:").skip(1).map(|after| {
                let digits = after.split(|it: char| !it.is_ascii_digit()).next();
                digits.and_then(|digits| digits.parse().ok())
            });
            Some((ports.next()??, ports.next().flatten(), ports.next().flatten()))
        });
        Self { _process: process, port, fix, fix_tls, folder }
    }

    /// Where its faults can be changed.
    fn control(&self) -> PathBuf {
        self.folder.path().join("control")
    }
}

fn taut(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taut")).args(arguments).run()
}

/// A client, and the day that it plays.
struct Client {
    /// As the matrix names it, its package and the module of that.
    name: &'static str,
    package: &'static str,
    module: &'static str,
    version: &'static str,
    dialect: &'static str,
    script: &'static str,
    steps: usize,
}

/// One test installs, the others wait for it.
static INSTALLING: Mutex<()> = Mutex::new(());

/// The packages that were seen to be installed.
static INSTALLED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The folder of all clients.
fn clients() -> PathBuf {
    std::env::var_os("TAUT_CLIENTS").map_or_else(|| CLIENTS.into(), PathBuf::from)
}

/// A command whose Python keeps what it compiles, beside the clients: without that, each start of a
/// large package compiles all of it for some seconds.
fn with_bytecode(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_remove("PYTHONDONTWRITEBYTECODE");
    command.env("PYTHONPYCACHEPREFIX", clients().join("bytecode"));
    command
}

/// A Python that has this package, if one can be made.
fn python_of(package: &str, module: &str, version: &str) -> Option<PathBuf> {
    let _alone = INSTALLING.lock();
    let folder = clients().join(package);
    let python = folder.join("bin/python");
    if INSTALLED.lock().expect("a set").contains(package) {
        return Some(python);
    }
    let runs = |command: &mut Command| {
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    };
    let has_it = || {
        let has_it = runs(with_bytecode(&python).args(["-c", &format!("import {module}")]));
        if has_it {
            INSTALLED.lock().expect("a set").insert(package.to_owned());
        }
        has_it
    };
    if has_it() {
        return Some(python);
    }
    let wanted = format!("{package}=={version}");
    let install = ["-m", "pip", "install", "-q", "--no-compile", "--timeout", "20", &wanted];
    let made = runs(Command::new("python3").args(["-m", "venv"]).arg(&folder))
        && runs(Command::new(&python).args(install));
    if !made || !has_it() {
        println!("skipped: {wanted} cannot be installed into {}", folder.display());
        return None;
    }
    Some(python)
}

/// Plays a client's day.
fn trades_a_day(client: &Client) {
    let Client { name, package, module, version, dialect, script, .. } = client;
    let Some(python) = python_of(package, module, version) else { return };
    let venue = Venue::start(dialect);
    let mut command = with_bytecode(python);
    command.arg(format!("{HERE}/{script}")).arg(venue.port.to_string());
    let mut running = Process::start(&mut command);
    until("the end of the client's day", DAY, || !running.is_running());
    let said = running.stdout();
    for step in said.lines() {
        println!("{name} {dialect} {step}");
    }
    let run = running.finish();
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{said}{told}");
    let done = said.lines().filter(|line| line.contains(": ok")).count();
    assert_eq!(done, client.steps, "{said}");
}

#[test]
fn ccxt_trades_a_day_on_deribit() {
    trades_a_day(&Client {
        name: "ccxt",
        package: "ccxt",
        module: "ccxt",
        version: "4.5.90",
        dialect: "deribit",
        script: "ccxt_deribit.py",
        steps: 18,
    });
}

#[test]
fn ccxt_trades_a_day_on_binance() {
    trades_a_day(&Client {
        name: "ccxt",
        package: "ccxt",
        module: "ccxt",
        version: "4.5.90",
        dialect: "binance",
        script: "ccxt_binance.py",
        steps: 24,
    });
}

#[test]
fn the_venues_own_sdk_trades_a_day_on_binance() {
    trades_a_day(&Client {
        name: "binance-sdk-spot",
        package: "binance-sdk-spot",
        module: "binance_sdk_spot",
        version: "13.2.0",
        dialect: "binance",
        script: "sdk_binance.py",
        steps: 13,
    });
}

#[test]
fn python_binance_trades_a_day_on_binance() {
    trades_a_day(&Client {
        name: "python-binance",
        package: "python-binance",
        module: "binance",
        version: "1.0.37",
        dialect: "binance",
        script: "python_binance.py",
        steps: 13,
    });
}
