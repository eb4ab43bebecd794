//! `taut demo` in a recorded Binance market: its frames are the gateway's feed, and what they say
//! is the venue's book.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

const CAPTURE: &str = "/../../../shared/data/binance/spot_btcusdt_20240808.gz";
/// The recording's updates from its snapshot on, and the one before that a subscriber comes in by.
const UPDATES: u64 = 3_449;

fn run(capture: &PathBuf, mode: &str) -> Value {
    let out = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(["demo", "--mode", mode, "--wait", "block", "--speed", "max", "--json", "--data"])
        .arg(capture)
        .arg("--out")
        .arg(out.path().join("report"))
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(said.lines().last().unwrap_or_default()).expect("JSON in the last line")
}

#[test]
fn a_binance_capture_is_flow_and_feed_of_a_demo_fused_and_split() {
    let capture = PathBuf::from(format!("{}{CAPTURE}", env!("CARGO_MANIFEST_DIR")));
    if !capture.exists() {
        println!("skipped: {} is not there", capture.display());
        return;
    }
    for mode in ["fused", "split"] {
        let run = run(&capture, mode);
        let count = |name: &str| run[name].as_u64().unwrap_or_else(|| panic!("{name} in {run}"));
        assert_eq!(count("published"), UPDATES, "{mode}");
        assert_eq!(count("ticks") + count("recovered"), UPDATES, "{mode}");
        assert_eq!((count("lost"), count("unanswered")), (0, 0), "{mode}");
        assert_eq!(count("orders"), count("acks") + count("order_rejects"), "{mode}");
        assert!(count("fills") > 0, "{mode}: {run}");
    }
}

#[test]
fn a_capture_that_is_none_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("frames.gz");
    std::fs::write(&file, "1 {\"no\":\"symbol\"}\n").expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(["demo", "--data"])
        .arg(&file)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no frame of Binance's names a symbol"), "{said}");
}
