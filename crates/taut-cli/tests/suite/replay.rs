//! Recorded runs, done once more.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde::Deserialize;
use serde_json::Value;
use taut_gateway::{Strategy, Trading};
use taut_market_data::Event;
use taut_runner::{Recording, Start};
use taut_sys::ProcessSignal;
use taut_types::Nanos;
use tempfile::TempDir;

use crate::outcome::count;
use crate::support::{Demo, TAUT, pause, send};

/// Runs a demo that is recorded, and returns its result with the folder of the recording.
fn record(arguments: &[&str]) -> (Value, TempDir) {
    let folder = tempfile::tempdir().expect("temporary directory");
    let into = folder.path().join("run");
    let into = into.to_str().expect("a name in UTF-8");
    let arguments = [&["--seconds", "0.7", "--record", into], arguments].concat();
    let says_how_to_wait = arguments.contains(&"--wait");
    let demo = if says_how_to_wait { Demo::slow(&arguments) } else { Demo::gentle(&arguments) };
    let outcome = demo.finish();
    (outcome.expect_sound(), folder)
}

fn replay(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(TAUT);
    command.arg("replay").arg(folder).args(arguments).output().expect("run taut replay")
}

/// The replay's result: it did all that was recorded and nothing else.
fn expect_the_same(folder: &TempDir) -> Value {
    let output = replay(&folder.path().join("run"), &["--json", "--verify"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    assert_eq!(taut_testkit::odd_json_keys(out.trim_end()), [""; 0]);
    let result: Value = serde_json::from_str(&out).expect("JSON");
    assert!(result["difference"].is_null(), "{result}");
    assert!(count(&result, "states") > 0 && count(&result, "turns") > 0, "{result}");
    result
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_fused_run_is_done_again_decision_by_decision() {
    let (run, folder) = record(&["--mode", "fused"]);
    let again = expect_the_same(&folder);
    assert_eq!(again["mode"], "fused");
    assert_eq!(count(&again, "orders"), count(&run, "orders"));
    assert!(count(&run, "orders") > 0, "{run}");
    assert_eq!(again["unfinished"], false);
    // Its orders stand in it: what they come to, and how long they took.
    assert!(count(&again, "order_entries") >= 2 * count(&run, "orders"), "{again}");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (code, out, err) = taut(&["journal", "show", &path("run"), "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let shown: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(shown["orders"].as_array().map(Vec::len), Some(0), "{shown}");
    let npz = path("latency.npz");
    let latencies = ["record", "latencies", &path("run"), "--out", &npz, "--json"];
    let (code, out, err) = taut(&latencies);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(taut_testkit::odd_json_keys(out.trim_end()), [""; 0]);
    let found: Value = serde_json::from_str(&out).expect("JSON");
    assert!(count(&found, "round_trips") > 0 && fs::metadata(&npz).is_ok(), "{found}");
    assert_eq!(taut(&latencies).0, Some(2), "nothing is overwritten");
}

#[test]
fn a_split_run_is_done_again_request_by_request() {
    // A strategy that the market overtakes on a busy machine knew other things: another run, then.
    let compared = (0..10).find_map(|_| {
        let (run, folder) = record(&[]);
        let again = expect_the_same(&folder);
        assert_eq!(again["mode"], "split");
        assert_eq!(count(&again, "orders"), count(&run, "orders"));
        let requests = count(&run, "orders") + count(&run, "cancel_requests");
        Some((requests, again["requests_compared"].as_u64()?))
    });
    let (requests, compared) = compared.expect("one of ten runs in which it was not overtaken");
    assert!(compared >= requests && requests > 0, "{compared} of {requests}");
}

/// Decides nothing.
struct Silent;

impl Strategy for Silent {
    fn on_market(&mut self, _: Nanos, _: &Event, _: &mut impl Trading) {}
}

/// The parameters of the demo's strategy.
#[derive(Deserialize)]
struct Parameters {
    orders_per_second: u32,
}

#[test]
fn another_strategy_is_named_where_it_first_decides_otherwise() {
    for (mode, word) in [("fused", "a turn of the loop"), ("split", "and is nothing")] {
        // On a busy machine a process may have no CPU for as long as a run takes.
        let (_, folder) = (0..10)
            .map(|_| record(&["--mode", mode]))
            .find(|(run, _)| count(run, "orders") > 0)
            .expect("one of ten runs in which an order was sent");
        let recording = Recording::open(&folder.path().join("run")).expect("a recording");
        let found = recording.verify(|start: Start<Parameters>| {
            assert_eq!(start.parameters.orders_per_second, 200);
            Silent
        });
        let divergence = found.expect("a replay").divergence.expect("another decision").to_string();
        assert!(divergence.contains(word), "{mode}: {divergence}");
    }
}

#[test]
fn what_both_lines_lost_is_lost_and_found_again() {
    for arguments in [
        &["--lose", "100,100", "--mode", "fused"][..],
        &["--lose", "100,100", "--refuse-retransmission"],
        &["--lose", "200,50", "--wait", "block"],
        &["--lose", "50,200", "--wait", "yield", "--mode", "fused"],
    ] {
        let (_, folder) = record(arguments);
        expect_the_same(&folder);
    }
}

#[test]
fn a_run_at_anothers_interface_is_done_again_without_a_key() {
    for arguments in [
        &["--venue", "deribit", "--orders", "fix", "--tls", "--mode", "fused"][..],
        &["--venue", "binance"],
    ] {
        let (run, folder) = record(arguments);
        let again = expect_the_same(&folder);
        assert_eq!(count(&again, "orders"), count(&run, "orders"), "{arguments:?}");
        assert!(count(&run, "orders") > 0, "{run}");
    }
}

#[test]
fn a_run_that_was_killed_is_done_again_as_far_as_it_came() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let into = folder.path().join("run");
    let into = into.to_str().expect("a name in UTF-8");
    let demo = Demo::slow(&["--seconds", "60", "--mode", "fused", "--record", into]);
    demo.wait_until_orders();
    send(demo.process_of("gateway"), ProcessSignal::Kill);
    demo.finish().expect_code(1);
    let output = replay(&folder.path().join("run"), &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let result: Value = serde_json::from_str(&text(&output.stdout)).expect("JSON");
    assert!(count(&result, "orders") > 0, "{result}");
}

fn taut(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(TAUT).args(arguments).output().expect("run taut");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_part_of_a_recording_is_a_recording() {
    let (_, folder) = record(&["--mode", "fused"]);
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (run, part) = (path("run"), path("part"));
    let (code, out, err) = taut(&["record", "info", &run, "--json"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(taut_testkit::odd_json_keys(out.trim_end()), [""; 0]);
    let info: Value = serde_json::from_str(&out).expect("JSON");
    let entries = count(&info, "entries");
    assert!(entries > 100 && info["unfinished"] == false, "{info}");
    let half = (entries / 2).to_string();
    let (code, out, err) = taut(&["record", "cut", &run, "--to", &half, "--out", &part]);
    assert_eq!((code, out.trim_end()), (Some(0), &*format!("{half} entries")), "{err}");
    let (code, _, err) = taut(&["record", "cut", &run, "--to", &half, "--out", &part]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("nothing is overwritten"), "{err}");
    let output = replay(&folder.path().join("part"), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_moment_of_a_recording_is_found_and_recordings_are_one_sequence() {
    let (_, folder) = record(&["--mode", "fused"]);
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (run, part) = (path("run"), path("part"));
    let info = |more: &[&str]| -> Value {
        let (code, out, err) = taut(&[&["record", "info", &run, "--json"], more].concat());
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(taut_testkit::odd_json_keys(out.trim_end()), [""; 0]);
        serde_json::from_str(&out).expect("JSON")
    };
    // In the middle of it, however long a busy machine took to begin.
    let middle = info(&[])["seconds"].as_f64().map(|all| (500.0 * all).floor() / 1_000.0);
    let at = format!("{:.3}s", middle.expect("how long it is"));
    let found = info(&["--at", &at]);
    assert!(found["seconds"].as_f64() >= middle, "{found}");
    let entry = count(&found, "entry");
    assert!(entry > 2, "{found}");
    let (code, out, err) = taut(&["record", "cut", &run, "--to", &at, "--out", &part]);
    assert_eq!((code, out.trim_end()), (Some(0), &*format!("{} entries", entry - 1)), "{err}");
    assert_eq!(replay(&folder.path().join("part"), &[]).status.code(), Some(0));
    let (code, out, err) = taut(&["record", "check", &run, &part]);
    assert_eq!((code, out.lines().count()), (Some(0), 2), "{out}{err}");
    // Each entry of both, in the order of their times.
    let (code, out, err) = taut(&["record", "merge", &run, &part, "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let lines: Vec<Value> = out.lines().map(|it| serde_json::from_str(it).expect("JSON")).collect();
    let times: Vec<_> = lines.iter().map(|line| count(line, "utc_ns")).collect();
    assert!(times.is_sorted());
    let of_part = lines.iter().filter(|it| it["recording"] == format!("{part}:run")).count();
    assert_eq!(of_part as u64, entry - 1);
    for line in out.lines().take(3) {
        assert_eq!(taut_testkit::odd_json_keys(line), [""; 0]);
    }
    for wrong in ["1", "x", "-3s"] {
        let (code, _, err) = taut(&["record", "cut", &run, "--to", wrong, "--out", &path("no")]);
        assert_eq!(code, Some(2), "{wrong}: {err}");
    }
    let late = taut(&["record", "info", &run, "--at", "900s"]);
    assert!(late.0 == Some(1) && late.2.contains("no entry from then on"), "{}", late.2);
}

#[test]
fn the_market_of_a_recording_is_data_for_a_backtest() {
    let (_, folder) = record(&["--mode", "fused"]);
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (run, csv, npz) = (path("run"), path("market.csv"), path("market.npz"));
    let (code, out, err) = taut(&["record", "market", &run, "--out", &csv]);
    assert_eq!(code, Some(0), "{out}{err}");
    let rows = fs::read_to_string(&csv).expect("the rows");
    assert!(rows.lines().filter(|row| row.contains(",level,")).count() > 10, "{out}");
    assert!(rows.contains(",snapshot,buy,") && rows.contains(",trade,"), "{out}");
    let again = taut(&["record", "market", &run, "--out", &csv]);
    assert!(again.0 == Some(2) && again.2.contains("-f"), "{}", again.2);
    let (code, out, err) =
        taut(&["import", "--from", "csv", "--symbol", "TAUT1", &csv, "--out", &npz]);
    assert_eq!(code, Some(0), "{out}{err}");
}

/// At whatever moment: it is whole, or nothing of it is there.
#[test]
fn packets_that_are_interrupted_leave_nothing_half_written() {
    let (_, folder) = record(&["--mode", "fused"]);
    let names = || -> Vec<_> {
        let entries = fs::read_dir(folder.path()).expect("the folder");
        entries.map(|entry| entry.expect("an entry").file_name()).collect()
    };
    for round in 0..4 {
        let mut command = Command::new(TAUT);
        command.arg("record").arg("packets").arg(folder.path().join("run"));
        command.arg("--out").arg(folder.path().join("run.pcapng"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("taut");
        pause(Nanos::from_millis(round * 15));
        send(child.id(), ProcessSignal::Interrupt);
        let status = child.wait_with_output().expect("it ends").status;
        let is_there = names().iter().any(|name| name == "run.pcapng");
        assert_eq!(is_there, status.success(), "{status}");
        let _ = fs::remove_file(folder.path().join("run.pcapng"));
        assert_eq!(names(), ["run"], "{status}");
    }
}

/// What tshark shows of a file, a line a packet; nothing where it is not installed.
fn tshark(arguments: &[&str]) -> Option<String> {
    let output = match Command::new("tshark").args(arguments).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("skipped: no tshark");
            return None;
        }
        Err(error) => panic!("tshark: {error}"),
    };
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    Some(text(&output.stdout))
}

#[test]
fn tshark_counts_in_the_packets_of_a_recording_what_the_run_counted() {
    let (result, folder) = record(&["--mode", "fused"]);
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (run, packets) = (path("run"), path("run.pcapng"));
    let (code, out, err) = taut(&["record", "packets", &run, "--out", &packets]);
    assert_eq!(code, Some(0), "{out}{err}");
    let again = taut(&["record", "packets", &run, "--out", &packets]);
    assert!(again.0 == Some(2) && again.2.contains("-f"), "{}", again.2);
    let wrong = "tcp && (_ws.malformed || tcp.analysis.flags || tcp.checksum.status == 0 || \
                 fix.checksum_bad == 1) || udp.checksum.status == 0";
    let sums = ["-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
    let Some(wrong) = tshark(&[&["-r", &packets, "-Y", wrong], &sums[..]].concat()) else { return };
    assert_eq!(wrong, "", "nothing is malformed, lost or said twice");
    let all = |filter: &str, fields: &[&str]| {
        let fields: Vec<_> = fields.iter().flat_map(|field| ["-e", *field]).collect();
        let arguments = [&["-r", &packets, "-Y", filter, "-T", "fields"], &fields[..]].concat();
        tshark(&arguments).expect("it is there")
    };
    // A packet may have several messages.
    let told = all("fix", &["fix.MsgType", "fix.ExecType"]);
    let said = |kind: &str, column: usize| {
        let of = |line: &'_ str| line.split('\t').nth(column).unwrap_or_default().to_owned();
        let messages: Vec<_> = told.lines().map(of).collect();
        messages.iter().flat_map(|line| line.split(',')).filter(|it| *it == kind).count() as u64
    };
    for (kind, column, counted) in [
        ("D", 0, "orders"),
        ("F", 0, "cancel_requests"),
        ("9", 0, "cancel_rejects"),
        ("0", 1, "acks"),
        ("F", 1, "fills"),
        ("4", 1, "cancels"),
    ] {
        assert_eq!(said(kind, column), count(&result, counted), "{kind} {counted}: {told}");
    }
    // Sockets that were opened before the first turn have the run's time, too.
    let times = all("frame", &["frame.time_epoch"]);
    let seconds: Vec<f64> = times.lines().filter_map(|it| it.parse().ok()).collect();
    let span = seconds.last().zip(seconds.first()).map(|(last, first)| last - first);
    assert!(span.is_some_and(|span| (0.0..60.0).contains(&span)), "{span:?}");
    let datagrams = all("udp", &["frame.number"]).lines().count() as u64;
    assert!(datagrams >= count(&result, "ticks"), "{datagrams} {result}");
}

#[test]
fn other_limits_judge_the_same_requests() {
    let (run, folder) = record(&["--mode", "fused"]);
    let limits = folder.path().join("limits.toml");
    let limits_path = limits.to_str().expect("UTF-8");
    let judged = |said: &str| {
        fs::write(&limits, said).expect("a file");
        let output = replay(&folder.path().join("run"), &["--json", "--limits", limits_path]);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{out}{err}");
        assert_eq!(taut_testkit::odd_json_keys(out.trim_end()), [""; 0]);
        let result: Value = serde_json::from_str(&out).expect("JSON");
        assert!(result["difference"].is_null(), "{result}");
        result["what_if"].clone()
    };
    // With those that held all passes that left; with no open order nothing does.
    let same = judged("");
    assert_eq!(count(&same, "refused"), count(&run, "risk_rejects"), "{same}");
    assert!(count(&same, "requests") >= count(&run, "orders"), "{same}");
    let none = judged("[risk]\nopen_orders_max = 0\n");
    assert_eq!(count(&none, "refused"), count(&none, "requests"), "{none}");
    assert!(none["reasons"][0]["reason"].as_str().is_some_and(|it| !it.is_empty()), "{none}");
    fs::write(&limits, "[risks]\n").expect("a file");
    let wrong = replay(&folder.path().join("run"), &["--limits", limits_path]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("risks"), "{}", text(&wrong.stderr));
}

#[test]
fn a_damaged_recording_is_named_by_file_and_byte() {
    let (_, folder) = record(&["--mode", "fused"]);
    let file = folder.path().join("run/0000000001.journal");
    let mut bytes = fs::read(&file).expect("the segment");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).expect("write it");
    let output = replay(&folder.path().join("run"), &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("0000000001.journal at byte"), "{said}");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (code, out, err) = taut(&["record", "repair", &path("run"), "--out", &path("repaired")]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("0000000001.journal at byte"), "{out}");
    let output = replay(&folder.path().join("repaired"), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn what_is_no_recording_and_where_none_can_go_is_refused() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let output = replay(&folder.path().join("none"), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no recording"), "{}", text(&output.stderr));
    fs::write(folder.path().join("file"), "").expect("a file");
    let into = folder.path().to_str().expect("a name in UTF-8");
    let outcome = Demo::slow(&["--record", into]).finish();
    outcome.expect_refused(2, &["--record", into, "not empty"]);
}
