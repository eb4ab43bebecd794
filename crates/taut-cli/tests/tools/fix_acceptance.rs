//! The QuickFIX acceptance suite against `taut fix echo --acceptance`, in real time over TCP.
//!
//! It needs python3 and the suite's files; where they are missing, a test says so and passes. The
//! cases that wait for heartbeats take half a minute, side by side.

use std::path::{Path, PathBuf};
use std::process::Command;

use taut_testkit::{Process, Run};

const SUITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fix");
/// Cases that wait for heartbeats.
const SLOW: [&str; 2] = ["4a_NoDataSentDuringHeartBtInt.def", "6_SendTestRequest.def"];

/// An acceptor, ended with the test, and its port.
fn acceptor() -> (Process, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(["fix", "echo", "--listen", "127.0.0.1:0", "--acceptance", "--dictionaries"]);
    let mut process = Process::start(command.arg(Path::new(SUITE).join("dictionaries")));
    let port =
        |line: &str| Some(line.strip_prefix("listening on ")?.rsplit_once(':')?.1.to_owned());
    let port = process.stdout_line("its port", port);
    (process, port)
}

fn is_possible() -> bool {
    let has_python = Command::new("python3").arg("--version").output().is_ok();
    let has_suite = Path::new(SUITE).join("at/run.py").is_file();
    if !(has_python && has_suite) {
        println!("skipped: python3 or the acceptance suite at {SUITE} is missing");
    }
    has_python && has_suite
}

fn cases(version: &str, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let folder = Path::new(SUITE).join("at/definitions").join(version);
    let mut cases: Vec<_> = std::fs::read_dir(folder)
        .expect("the definitions")
        .map(|entry| entry.expect("a definition").path())
        .filter(|path| wanted(&path.file_name().unwrap_or_default().to_string_lossy()))
        .collect();
    cases.sort();
    cases
}

/// Runs the cases one after the other against an acceptor of their own.
fn run(cases: &[PathBuf]) {
    let (_acceptor, port) = acceptor();
    let output = Command::new("python3")
        .arg(Path::new(SUITE).join("at/run.py"))
        .args(["--port", &port, "--fields"])
        .arg(Path::new(SUITE).join("at/fields.fmt"))
        .args(cases)
        .run();
    let told = String::from_utf8_lossy(&output.stdout);
    let counted = format!("\"cases\": {}, \"failed\": 0", cases.len());
    assert!(output.status.success() && told.contains(&counted), "{told}");
}

#[test]
fn every_quick_case_of_fix_42_passes() {
    if is_possible() {
        let cases = cases("fix42", |name| !SLOW.contains(&name));
        assert_eq!(cases.len(), 56);
        run(&cases);
    }
}

#[test]
fn every_quick_case_of_fix_44_passes() {
    if is_possible() {
        let cases = cases("fix44", |name| !SLOW.contains(&name));
        assert_eq!(cases.len(), 57);
        run(&cases);
    }
}

#[test]
fn every_case_that_waits_for_heartbeats_passes() {
    if is_possible() {
        let cases: Vec<_> = ["fix42", "fix44"]
            .iter()
            .flat_map(|version| cases(version, |name| SLOW.contains(&name)))
            .collect();
        assert_eq!(cases.len(), 4);
        std::thread::scope(|scope| {
            for case in &cases {
                scope.spawn(|| run(std::slice::from_ref(case)));
            }
        });
    }
}
