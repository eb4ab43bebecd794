//! The loop's experiment from the command line, at smoke size.

use std::process::{Command, Output};

use serde_json::Value;
use taut_testkit::{Process, Run, odd_json_keys};

const TAUT: &str = env!("CARGO_BIN_EXE_taut-bench");

/// A sender that does not outlive its test.
struct Server {
    address: String,
    _process: Process,
}

impl Server {
    fn start(connections: u32, rate: u32, seconds: u32) -> Self {
        let mut command = Command::new(TAUT);
        command.args(["loop-server", "--connections", &connections.to_string()]);
        command.args(["--rate", &rate.to_string(), "--seconds", &seconds.to_string()]);
        let mut process = Process::start(&mut command);
        let address = |line: &str| line.strip_prefix("listening on ").map(str::to_owned);
        Self { address: process.stdout_line("its address", address), _process: process }
    }
}

fn report(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().count(), 1, "one line of JSON: {text}");
    assert_eq!(odd_json_keys(&text), [""; 0], "{text}");
    serde_json::from_str(&text).expect("JSON")
}

fn client(server: &Server, connections: u32, rate: u32, words: &[&str]) -> Vec<String> {
    let (connections, rate) = (connections.to_string(), rate.to_string());
    let common = ["loop-client", "--connect", &server.address, "--json"];
    let sizes = ["--connections", &connections, "--rate", &rate, "--seconds", "60"];
    common.iter().chain(&sizes).chain(words).map(|word| (*word).to_owned()).collect()
}

#[test]
fn every_receiver_reports_all_keys_and_loses_nothing() {
    let keys = [
        "backend",
        "wait",
        "connections",
        "rate",
        "count",
        "out_of_sequence",
        "latency_ns",
        "intended_ns",
        "syscalls_per_message",
        "idle_calls_per_message",
        "cpu_percent",
        "context_switches",
    ];
    for words in [
        &["--backend", "epoll", "--wait", "yield"][..],
        &["--backend", "uring", "--wait", "block"],
        &["--hot", "--wait", "backoff"],
        &["--bare", "--wait", "block"],
    ] {
        let server = Server::start(4, 50, 1);
        let report = report(&Command::new(TAUT).args(client(&server, 4, 50, words)).run());
        for key in keys {
            assert!(report.get(key).is_some(), "{words:?}: no {key} in {report}");
        }
        // Fifty a second of each, less the ten of the warm-up; a slow machine sends fewer.
        let count = report["count"].as_u64().unwrap_or(0);
        assert!((4..=4 * 41).contains(&count), "{words:?}: {report}");
        assert_eq!(report["out_of_sequence"], 0, "{words:?}: {report}");
        assert!(report["latency_ns"]["p50"].as_u64() > Some(0), "{words:?}: {report}");
    }
}

/// The limit of open files of this process.
fn files_max() -> u64 {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3));
    soft.and_then(|soft| soft.parse().ok()).unwrap_or(u64::MAX)
}

#[test]
fn ten_thousand_connections_are_held_and_every_one_is_served() {
    const CONNECTIONS: u32 = 10_000;
    if files_max() < u64::from(CONNECTIONS) + 100 {
        println!("skipped: {} open files are allowed, 10,100 are needed", files_max());
        return;
    }
    // Twenty-four messages of each connection, of which ten are its warm-up: also a sender that is
    // late by seconds gets beyond it.
    let server = Server::start(CONNECTIONS, 4, 6);
    let words = client(&server, CONNECTIONS, 4, &["--wait", "block"]);
    let report = report(&Command::new(TAUT).args(words).run());
    assert_eq!(report["connections"], CONNECTIONS);
    assert_eq!(report["out_of_sequence"], 0, "{report}");
    assert!(report["count"].as_u64() >= Some(u64::from(CONNECTIONS)), "{report}");
}

/// Calls by strace's table: of those that receive, send or wait.
fn counted_by_strace(table: &str) -> u64 {
    let names = ["recvfrom", "sendto", "read", "write", "epoll_wait", "epoll_pwait2"];
    let is_io = |line: &&str| {
        let name = line.split_whitespace().last().unwrap_or("");
        names.contains(&name) || name == "io_uring_enter"
    };
    let calls =
        |line: &str| line.split_whitespace().nth(3).and_then(|calls| calls.parse::<u64>().ok());
    table.lines().filter(is_io).filter_map(calls).sum()
}

#[test]
fn with_a_wait_that_blocks_the_count_of_calls_agrees_with_strace() {
    const RATE: u32 = 1000;
    let traces = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    if !traces.is_ok_and(|output| output.status.success()) {
        println!("skipped: no strace, or it may not trace here");
        return;
    }
    for backend in ["epoll", "uring"] {
        let table = tempfile::NamedTempFile::new().expect("a file");
        let server = Server::start(2, RATE, 3);
        let output = Command::new("strace")
            .args(["-f", "-c", "-o"])
            .arg(table.path())
            .arg(TAUT)
            .args(client(&server, 2, RATE, &["--backend", backend, "--wait", "block"]))
            .run();
        let report = report(&output);
        // strace counts the warm-up too: a hundred messages of each connection.
        let messages = report["count"].as_f64().unwrap_or(0.0) + 200.0;
        let counted = report["syscalls_per_message"].as_f64().unwrap_or(0.0) * messages;
        let table = std::fs::read_to_string(table.path()).expect("the table");
        let ratio = counted / counted_by_strace(&table) as f64;
        assert!((0.95..=1.05).contains(&ratio), "{backend}: {ratio:.3} of\n{table}\n{report}");
    }
}

#[test]
fn the_matrix_writes_its_table_its_plot_and_its_verdicts() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(TAUT)
        .args(["loop-matrix", "--cells", "50x2", "--waits", "yield,block", "--json"])
        .args(["--receivers", "epoll,bare", "--rounds", "1", "--seconds", "1", "--out"])
        .arg(folder.path())
        .run();
    let report = report(&output);
    assert_eq!(report["rows"].as_array().map(Vec::len), Some(4), "{report}");
    assert!(report["conditions"]["verdict"].is_string(), "{report}");
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    assert_eq!(verdicts.len(), 4, "two laws, two waits: {report}");
    for name in ["loop-matrix.md", "loop-matrix.html", "loop-matrix.json"] {
        let text = std::fs::read_to_string(folder.path().join(name)).expect(name);
        assert!(text.contains("epoll") && text.contains("bare"), "{name}");
    }
}

#[test]
fn wrong_use_ends_with_code_2_before_anything_starts() {
    for words in [
        &["loop-matrix", "--cells", "64"][..],
        &["loop-matrix", "--waits", "sleep"],
        &["loop-matrix", "--receivers", "kqueue"],
        &["loop-matrix", "--peer", "sonic"],
        &["loop-client"],
        &["loop-client", "--connect", "127.0.0.1:1", "--wait", "sleep"],
        &["loop-client", "--connect", "127.0.0.1:1", "--bare", "--hot"],
        &["loop-client", "--connect", "127.0.0.1:1", "--bare", "--backend", "uring"],
        &["loop-client", "--connect", "127.0.0.1:1", "--cpu", "99999"],
        &["loop-server", "--connections", "0"],
        &["loop-server", "--cpu", "99999"],
        &["loop-matrix", "--rates", "0"],
        &["loop-matrix", "--connections", "0"],
        &["loop-matrix", "--cells", "10x1", "--rates", "10"],
        &["loop-matrix", "--cells", "1000x1", "--server-cpu", "99999"],
        &["loop-matrix", "--cells", "1000x1", "--client-cpu", "99999"],
        &["loop-matrix", "--cells", "1000x1", "--out", "/dev/null"],
        // All of it would be warm-up.
        &["loop-matrix", "--cells", "10x1", "--seconds", "1"],
        &["loop-matrix", "--cells", "100x1", "--seconds", "1"],
    ] {
        let output = Command::new(TAUT).args(words).run();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{words:?}");
    }
}

#[test]
fn a_client_that_received_nothing_has_nothing_to_report() {
    // It waits for two connections.
    let server = Server::start(2, 50, 1);
    for (address, words) in [
        ("127.0.0.1:1", &["--json"][..]),
        ("127.0.0.1:1", &["--json", "--backend", "uring"]),
        (&server.address, &["--json", "--wait", "block"]),
    ] {
        let output = Command::new(TAUT)
            .args(["loop-client", "--seconds", "1", "--connect", address])
            .args(words)
            .run();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{address} {words:?}: {said}");
        assert!(output.stdout.is_empty() && said.contains("no message of 1024 bytes"), "{said}");
    }
}
