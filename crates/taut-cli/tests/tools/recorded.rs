//! `taut import` and `taut export`.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use taut_testkit::{Run, odd_json_keys};

/// A capture of a snapshot, an update and a trade.
const CAPTURE: &str = concat!(
    r#"1000 {"lastUpdateId":10,"T":1,"bids":[["10","1"]],"asks":[["11","2"]]}"#,
    "\n",
    r#"2000100 {"stream":"x@depth","data":{"e":"depthUpdate","E":2,"T":2,"s":"BTCUSDT","#,
    r#""U":11,"u":12,"pu":10,"b":[["10","2.5"]],"a":[]}}"#,
    "\n",
    r#"3000100 {"stream":"x@trade","data":{"e":"trade","E":3,"T":3,"s":"BTCUSDT","t":1,"#,
    r#""p":"10","q":"0.5","X":"MARKET","m":true}}"#,
    "\n",
);

fn taut(words: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taut")).args(words).current_dir(folder).run()
}

/// What it printed, and what it told.
fn text(output: &Output) -> (String, String) {
    let [out, told] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it).into());
    (out, told)
}

fn json(words: &[&str], folder: &Path) -> Value {
    let output = taut(&[words, &["--json"]].concat(), folder);
    let (out, told) = text(&output);
    assert!(output.status.success(), "{told}");
    assert_eq!(odd_json_keys(&out), [""; 0]);
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

fn refused(words: &[&str], folder: &Path, what: &str) {
    let output = taut(words, folder);
    let (_, told) = text(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains(what) && told.lines().count() <= 4, "{told}");
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("capture"), CAPTURE).expect("a file");
    folder
}

#[test]
fn a_capture_is_imported_and_exported_in_every_format() {
    let folder = folder();
    let folder = folder.path();
    let told = json(&["import", "--from", "binance", "capture", "-o", "a.npz"], folder);
    assert_eq!((&told["rows"], &told["symbols"][0]), (&6.into(), &"BTCUSDT".into()));
    assert_eq!(told["local_shift_ns"], 999_000);
    for format in ["parquet", "npz", "dbn", "csv"] {
        let out = format!("b.{format}");
        let words = ["export", "a.npz", "--to", format, "-o", &out, "--symbol", "BTCUSDT"];
        let told = json(&words, folder);
        // One clear begins a snapshot of DBN; it was two rows.
        assert_eq!((&told["rows_read"], &told["file"]), (&6.into(), &out.into()), "{told}");
        assert!(told["bytes"].as_u64() > Some(0), "{told}");
    }
    let csv = std::fs::read_to_string(folder.join("b.csv")).expect("text");
    let last = "3000000,3999100,both,trade,sell,10,0.5,0,BTCUSDT";
    assert_eq!(csv.lines().last(), Some(last));
    let words = ["export", "capture", "--from", "binance", "--to", "pcapng", "-o", "b.pcapng"];
    assert_eq!(json(&words, folder)["packets"], 3);
    let (out, told) = text(&taut(&["import", "--from", "csv", "b.csv", "-o", "c.npz"], folder));
    assert!(out.starts_with("c.npz: 6 rows, ") && told.is_empty(), "{out}{told}");
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a file");
    assert!(read("c.npz") == read("a.npz"));
}

#[test]
fn a_file_is_replaced_when_that_is_said_and_never_one_that_is_read() {
    let folder = folder();
    let folder = folder.path();
    let words = ["import", "--from", "binance", "capture", "-o", "a.npz"];
    std::fs::write(folder.join("a.npz"), "mine").expect("a file");
    refused(&words, folder, "a.npz: it is there already; name another file, or replace it with -f");
    assert_eq!(std::fs::read(folder.join("a.npz")).expect("a file"), b"mine");
    assert!(taut(&[&words[..], &["-f"]].concat(), folder).status.success());
    let same = ["import", "--from", "npz", "a.npz", "-o", "./a.npz", "-f"];
    refused(&same, folder, "./a.npz: it is read; name another file");
    refused(&["import", "--from", "csv", "none", "-o", "b"], folder, "none: cannot read it");
    refused(&["import", "--from", "csv", "capture", "-o", "."], folder, "it is a folder");
    refused(&["import", "--from", "csv", "capture", "-o", "no/b"], folder, "check the folder");
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("a file").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    assert_eq!(names, ["a.npz", "capture"], "nothing else is left");
}

#[test]
fn what_cannot_be_is_said_before_anything_is_written() {
    let folder = folder();
    let folder = folder.path();
    refused(
        &["export", "capture", "--from", "pcap", "--to", "csv", "-o", "b"],
        folder,
        "--from pcap: packets are exported --to pcapng alone",
    );
    refused(&["export", "capture", "--to", "pcapng", "-o", "b"], folder, "--to pcapng: it is of");
    refused(
        &["import", "--from", "dbn", "capture", "--date", "2012-06-21", "-o", "b"],
        folder,
        "--date: belongs to --from lobster",
    );
    refused(
        &["import", "--from", "lobster", "capture", "--date", "2012-02-30", "-o", "b"],
        folder,
        "expected a day of the calendar",
    );
    refused(&["import", "--from", "npz", "capture", "-o", "b"], folder, "capture: its array");
    refused(
        &["import", "--from", "csv", "capture", "-o", "b"],
        folder,
        "capture:1: its first line",
    );
    let pipe = ["import", "--from", "csv", "/dev/null", "-o", "b"];
    refused(&pipe, folder, "/dev/null: it would be read twice, and is no plain file");
    assert!(!folder.join("b").exists());
    let words = ["export", "--from", "binance", "capture", "--to", "csv", "-o", "/dev/stdout"];
    let (out, told) = text(&taut(&words, folder));
    assert!(out.lines().count() == 7 && told.starts_with("/dev/stdout: 6 rows"), "{out}{told}");
}
