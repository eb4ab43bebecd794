//! The QuickFIX acceptance suite against `taut fix echo --acceptance`, in real time over TCP.
//!
//! It needs python3 and the suite's files; where they are missing, a test says so and passes. The
//! cases that wait for heartbeats take half a minute, side by side.
#![forbid(unsafe_code)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

const SUITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fix");
/// Cases that wait for heartbeats.
const SLOW: [&str; 2] = ["4a_NoDataSentDuringHeartBtInt.def", "6_SendTestRequest.def"];

/// An acceptor on a port of its own, ended with the test.
struct Acceptor {
    process: Child,
    port: String,
    /// Held open, so that the acceptor can go on talking.
    _words: BufReader<ChildStdout>,
}

impl Acceptor {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_taut"))
            .args(["fix", "echo", "--listen", "127.0.0.1:0", "--acceptance", "--dictionaries"])
            .arg(Path::new(SUITE).join("dictionaries"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the acceptor");
        let mut words = BufReader::new(process.stdout.take().expect("its words"));
        let mut line = String::new();
        while !line.starts_with("listening on ") {
            line.clear();
            assert!(words.read_line(&mut line).expect("a line") > 0, "the acceptor ended");
        }
        let port = line.trim().rsplit(':').next().expect("a port").to_owned();
        Self { process, port, _words: words }
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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

/// Runs the cases one after the other; the runner's exit status counts the failures.
fn run(cases: &[PathBuf]) {
    let acceptor = Acceptor::start();
    let output = Command::new("python3")
        .arg(Path::new(SUITE).join("at/run.py"))
        .args(["--port", &acceptor.port, "--fields"])
        .arg(Path::new(SUITE).join("at/fields.fmt"))
        .args(cases)
        .output()
        .expect("the runner");
    let told = String::from_utf8_lossy(&output.stdout);
    let failed: Vec<_> = told.lines().filter(|line| line.contains("\"ok\": false")).collect();
    assert!(output.status.success() && failed.is_empty(), "{failed:#?}");
    assert!(told.contains(&format!("\"cases\": {}, \"failed\": 0", cases.len())), "{told}");
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
