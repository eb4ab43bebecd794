//! Shared memory at smoke size: the benchmark, and kills.

use std::process::{Command, Output};

use serde_json::Value;
use taut_ipc::ChannelOptions;
use taut_sys::{ProcessSignal, signal_process};
use taut_testkit::{DEADLINE, Process, Run, odd_json_keys, until};

fn bench(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taut-bench")).args(words).run()
}

fn json(words: &[&str]) -> Value {
    let output = bench(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!((text.lines().count(), odd_json_keys(&text)), (1, Vec::new()), "{text}");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn every_benchmark_reports_all_keys_and_neither_tears_nor_loses() {
    let keys = [
        "mode",
        "kind",
        "size",
        "batch",
        "capacity",
        "msgs_per_s",
        "lost",
        "torn",
        "rtt_ns",
        "latency_ns",
        "intended_ns",
        "cpu_percent",
        "rss_bytes",
        "floor_rtt_ns",
        "floor_msgs_per_s",
        "conditions",
    ];
    for (kind, mode, more) in [
        ("tick", "throughput", &["--batch", "1"][..]),
        ("log", "throughput", &["--batch", "16"]),
        ("tick", "throughput", &["--overwriting"]),
        ("log", "rtt", &["--lossless"]),
        ("log", "rtt", &["--in-place", "both"]),
        ("log", "throughput", &["--in-place", "both"]),
        ("log", "throughput", &["--in-place", "reader", "--batch", "4"]),
        ("tick", "rate", &["--rate", "20000", "--readers", "2", "--cpus", "0,1"]),
    ] {
        let mut words = vec!["ipc", "--mode", mode, "--kind", kind, "--json"];
        words.extend(["--seconds", "0.1", "--size", "70"]);
        words.extend(more);
        let report = json(&words);
        for key in keys {
            assert!(report.get(key).is_some(), "{words:?}: no {key} in {report}");
        }
        assert_eq!(report["torn"], 0, "{words:?}: {report}");
        assert!(more == ["--overwriting"] || report["lost"] == 0, "{words:?}: {report}");
        assert!(report["msgs_per_s"].as_f64() > Some(0.0), "{words:?}: {report}");
        assert!(report["floor_rtt_ns"]["p50"].is_u64(), "{words:?}: {report}");
    }
}

/// The verbs with `--json`: what others print is checked where they are run.
#[test]
fn every_verb_prints_json_alone_and_with_the_usual_keys() {
    let help = |words: &[&str]| {
        String::from_utf8_lossy(&bench(&[words, &["--help"]].concat()).stdout).into_owned()
    };
    let all = help(&[]);
    let lines = all.lines().skip_while(|line| *line != "Commands:").skip(1);
    let verbs = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let has_json = |verb: &&str| help(&[verb]).contains("--json");
    let verbs: Vec<_> = verbs.filter(|verb| !verb.is_empty() && has_json(verb)).collect();
    assert_eq!(verbs, ["fix", "ipc", "ipc-kill", "loop-client", "loop-matrix", "ws"]);
    for verb in ["fix", "ws"] {
        let report = json(&[verb, "--round-trips", "64", "--json"]);
        assert!(report["rtt_ns"]["p999"].is_u64(), "{verb}: {report}");
        assert!(report["conditions"]["verdict"].is_string(), "{verb}: {report}");
    }
}

/// 1,000,000 of them: `taut-bench ipc-kill --kills 1000000 --victim both --json`.
#[test]
fn nothing_is_torn_lost_or_wedged_under_kill() {
    let kills = if cfg!(debug_assertions) { "300" } else { "10000" };
    let report = json(&["ipc-kill", "--kills", kills, "--victim", "both", "--json"]);
    for key in ["torn", "lost", "wedged"] {
        assert_eq!(report[key], 0, "{report}");
    }
    assert!(report["conditions"]["verdict"].is_string(), "{report}");
    assert_eq!(report["kills"].as_u64(), kills.parse().ok(), "{report}");
    let (mid, all) = (report["killed_mid_write"].as_u64(), report["kills"].as_u64());
    assert!(mid >= all.map(|all| all / 20), "{report}");
    // Every second victim reads, and cannot be killed while it writes.
    assert!(mid <= all.map(|all| all.div_ceil(2)), "{report}");
}

#[test]
fn wrong_use_ends_with_code_2_and_names_flag_and_value() {
    for (words, told) in [
        (&["ipc", "--cpus", "0,99999"][..], "--cpus: CPU 99999"),
        (&["ipc", "--rate", "5"], "--rate 5: only --mode rate"),
        (&["ipc", "--mode", "rtt", "--batch", "4"], "--batch 4: only --mode throughput"),
        (&["ipc", "--kind", "log", "--size", "23"], "--size 23: must be 24 to"),
        (&["ipc", "--capacity", "1000"], "--capacity 1000: must be a power of two"),
        (&["ipc", "--seconds", "NaN"], "--seconds NaN: must be"),
        (&["ipc-kill", "--kills", "0"], "--kills"),
    ] {
        let output = bench(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(told) && output.stdout.is_empty(), "{words:?}: {said}");
    }
}

#[test]
fn an_interrupted_benchmark_leaves_no_channel_behind() {
    for (verb, code) in [("ipc", 1), ("ipc-kill", 0)] {
        let child = Process::start(Command::new(env!("CARGO_BIN_EXE_taut-bench")).arg(verb));
        let name =
            format!("{}{}", if verb == "ipc" { "bench-" } else { "bench-kill-" }, child.id());
        let directory = ChannelOptions::default().directory;
        let is_there = || taut_ipc::channels(&directory).expect("names").contains(&name);
        until("the benchmark opens its channel", DEADLINE, is_there);
        signal_process(child.id(), ProcessSignal::Terminate).expect("stop");
        let output = child.finish();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{verb}: {said}");
        assert!(!is_there(), "{verb} left {name}");
    }
}
