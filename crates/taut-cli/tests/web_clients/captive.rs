//! A client's day in a network of its own, where the venue is at the real one's names.

use std::fs;
use std::path::Path;
use std::process::Command;

use taut_testkit::{Process, until};

use crate::{DAY, taut};

/// What taut says where it may have no namespaces.
const FORBIDDEN: &str = "is not to be had";

/// Plays the day of a client of this name, which is to have so many steps, against the sample's
/// venue; prints them.
pub fn play(
    (name, dialect, steps): (&str, &str, usize),
    program: &Path,
    arguments: &[&str],
    environment: &[(&str, &Path)],
) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = folder.path().join("venue.toml");
    fs::write(&settings, taut(&["venue", "sample", "--as", dialect]).stdout).expect("settings");
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(["venue", "--as", dialect, "--config"]).arg(&settings);
    command.arg("--captive").arg(program).args(arguments).envs(environment.iter().copied());
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
    let done = said.lines().filter(|line| line.contains(": ok")).count();
    assert_eq!(done, steps, "{said}");
}
