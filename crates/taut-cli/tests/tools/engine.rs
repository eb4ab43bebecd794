//! `taut engine replay` on small order flows of both formats.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use taut_testkit::{DEADLINE, Process, Run, odd_json_keys, until};

const WORKLOADS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/workloads");

fn taut(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taut")).args(arguments).run()
}

fn replay(input: &Path, more: &[&str]) -> Value {
    // A smoke size: what it prints must be right, not fast.
    let mut arguments = vec!["engine", "replay", "--json", "--timed-ms", "1"];
    arguments.extend(["--input", input.to_str().unwrap()]);
    arguments.extend(more);
    let output = taut(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(odd_json_keys(&String::from_utf8_lossy(&output.stdout)), [""; 0]);
    let told: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert!(told["conditions"]["verdict"].is_string(), "{told}");
    told
}

/// Builds the generator once; nothing when its source or rustc is missing.
fn bookgen() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            let source = Path::new(WORKLOADS).join("book/bookgen.rs");
            let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bookgen");
            let built = source.exists()
                && Command::new("rustc")
                    .arg("-O")
                    .arg(&source)
                    .arg("-o")
                    .arg(&program)
                    .output()
                    .is_ok_and(|output| output.status.success());
            if !built {
                println!("skipped: {} or rustc is missing", source.display());
            }
            built.then_some(program)
        })
        .as_deref()
}

/// An order flow, and what its generator's own matcher says of it.
fn flow(directory: &Path, kind: &str, operations: &str, seed: &str) -> Option<(PathBuf, Value)> {
    let file = directory.join(format!("{kind}.bin"));
    let output = Command::new(bookgen()?).args([kind, operations, seed]).arg(&file).run();
    Some((file, serde_json::from_slice(&output.stdout).expect("one JSON object")))
}

#[test]
fn trades_are_those_of_the_generators_own_matcher() {
    let directory = tempfile::tempdir().unwrap();
    for kind in ["mix", "deep", "churn"] {
        let Some((file, known)) = flow(directory.path(), kind, "20000", "7") else { return };
        let ours = replay(&file, &[]);
        for key in ["trades", "trade_hash"] {
            assert_eq!(ours[key], known[key], "{kind} {key}");
        }
        assert_eq!(ours["peak_resting"], known["peak_live"], "{kind}");
        let messages = known["prefill"].as_u64().unwrap() + known["ops"].as_u64().unwrap();
        assert_eq!(ours["messages"].as_u64(), Some(messages), "{kind}");
        assert!(ours["ops_per_s"].as_f64() > Some(0.0) && ours["timer_ns"].is_u64());
        for op in ["all", "add", "cancel", "ioc"] {
            for percentile in ["p50", "p99", "p999", "p9999", "p999999", "max"] {
                assert!(ours["op_ns"][op][percentile].is_u64(), "{op} {percentile}");
            }
        }
    }
}

#[test]
fn handoff_and_snapshots_change_no_report() {
    let directory = tempfile::tempdir().unwrap();
    let Some((file, _)) = flow(directory.path(), "mix", "5000", "3") else { return };
    let plain = replay(&file, &[]);
    assert_eq!(plain.get("snapshots"), None);
    for more in [
        &["--handoff"][..],
        &["--snapshot-every", "700"],
        &["--handoff", "--snapshot-every", "999"],
    ] {
        let other = replay(&file, more);
        for key in ["messages", "reports", "trades", "sha256", "trade_hash", "peak_resting"] {
            assert_eq!(other[key], plain[key], "{more:?} {key}");
        }
    }
    let restored = &replay(&file, &["--snapshot-every", "700"])["snapshots"];
    assert_eq!(restored["count"], 15_000 / 700);
}

#[test]
fn reports_are_the_referees_byte_for_byte() {
    let script = Path::new(WORKLOADS).join("neutral/neutral.py");
    if !script.exists() {
        println!("skipped: {} is missing", script.display());
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (flow, known, ours) = (path("flow"), path("known"), path("ours"));
    for (scenario, seed) in [("flash-crash", "23"), ("swing-25", "99")] {
        let made = Command::new("python3")
            .arg(&script)
            .args([scenario, "4000", seed, "--bin"])
            .arg(&flow)
            .arg("--txt")
            .arg(&known)
            .output();
        let Some(made) = made.ok().filter(|made| made.status.success()) else {
            println!("skipped: no Python");
            return;
        };
        let outcome = replay(&flow, &["--reports", ours.to_str().unwrap()]);
        assert!(std::fs::read(&ours).unwrap() == std::fs::read(&known).unwrap(), "{scenario}");
        let made = String::from_utf8(made.stdout).unwrap();
        assert!(made.contains(outcome["sha256"].as_str().unwrap()), "{made}");
    }
}

#[test]
fn says_where_a_file_is_wrong_and_exits_with_2() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("flow.bin");
    for (bytes, what) in [
        (&b"BMX1\0\0\0\0\x02\0\0\0"[..], "flow.bin: offset 12: the header says 2 records"),
        (b"nothing", "flow.bin: offset 0: no known order flow"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let output = taut(&["engine", "replay", "--input", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(what) && output.stdout.is_empty(), "{told}");
    }
    assert_eq!(taut(&["engine", "replay", "--input", "/nowhere"]).status.code(), Some(2));
}

#[test]
fn any_id_and_an_empty_flow_are_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("flow.bin");
    let record = |kind: u8, side: u8, id: u64| {
        let mut record = vec![kind, side, 0, 0, 5, 0, 0, 0];
        record.extend(id.to_le_bytes());
        record.extend(100u64.to_le_bytes());
        record
    };
    let ids = [0, u64::MAX, 1 << 63, 0xdead_beef_0000_0001];
    let mut bytes = b"BMX1\0\0\0\0".to_vec();
    bytes.extend(8u32.to_le_bytes());
    ids.iter().for_each(|&id| bytes.extend(record(0, 0, id)));
    ids.iter().for_each(|&id| bytes.extend(record(1, 0, id)));
    std::fs::write(&file, &bytes).unwrap();
    let outcome = replay(&file, &[]);
    assert_eq!((&outcome["reports"], &outcome["peak_resting"]), (&8.into(), &4.into()));
    std::fs::write(&file, b"BMX1\0\0\0\0\0\0\0\0").unwrap();
    assert_eq!(replay(&file, &["--handoff"])["messages"], 0);
}

/// Two orders, as bookgen writes them.
fn small_flow(directory: &Path) -> PathBuf {
    let file = directory.join("flow.bin");
    let mut bytes = b"BMX1\0\0\0\0".to_vec();
    bytes.extend(2u32.to_le_bytes());
    for id in [1u64, 2] {
        bytes.extend([0, 0, 0, 0, 5, 0, 0, 0]);
        bytes.extend(id.to_le_bytes());
        bytes.extend(100u64.to_le_bytes());
    }
    std::fs::write(&file, bytes).unwrap();
    file
}

#[test]
fn a_full_standard_output_is_an_error_and_no_panic() {
    let directory = tempfile::tempdir().unwrap();
    let file = small_flow(directory.path());
    for json in [&["--json"][..], &[]] {
        let mut replay = Command::new(env!("CARGO_BIN_EXE_taut"));
        replay.args(["engine", "replay", "--timed-ms", "1", "--input"]).arg(&file).args(json);
        replay.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
        let output = Process::start_with_streams(replay.stderr(Stdio::piped())).finish();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("standard output") && !told.contains("panicked"), "{told}");
    }
}

#[test]
fn the_reports_do_not_replace_the_order_flow_that_they_are_of() {
    let directory = tempfile::tempdir().unwrap();
    let file = small_flow(directory.path());
    let before = std::fs::read(&file).unwrap();
    let name = file.to_str().unwrap();
    let output = taut(&["engine", "replay", "--input", name, "--reports", name]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is the --input"));
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn what_is_not_timed_has_no_speed() {
    let directory = tempfile::tempdir().unwrap();
    let file = small_flow(directory.path());
    let name = file.to_str().unwrap();
    let output = taut(&["engine", "replay", "--json", "--timed-ms", "0", "--input", name]);
    let outcome: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!((&outcome["ops_per_s"], &outcome["ns_per_op"]), (&0.0.into(), &0.0.into()));
}

#[test]
fn interrupted_it_ends_with_code_1_and_leaves_no_half_of_its_reports() {
    let directory = tempfile::tempdir().unwrap();
    let file = small_flow(directory.path());
    let reports = directory.path().join("reports.txt");
    let mut replay = Command::new(env!("CARGO_BIN_EXE_taut"));
    replay.args(["engine", "replay", "--timed-ms", "600000", "--input"]).arg(&file);
    let child = Process::start(replay.arg("--reports").arg(&reports));
    // They are there when the first pass is over, long before the second.
    until("the first pass is over", DEADLINE, || reports.exists());
    taut_sys::signal_process(child.id(), taut_sys::ProcessSignal::Interrupt).unwrap();
    let output = child.finish();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), told.as_str()), (Some(1), "taut: interrupted\n"));
    assert_eq!(std::fs::read(&reports).unwrap(), b"0,0,0,1,100,5\n0,1,0,2,100,5");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}
