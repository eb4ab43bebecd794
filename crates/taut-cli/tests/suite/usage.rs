//! Wrong use: the first line says what is wrong, and nothing was started or written.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::support::{Demo, TAUT};

#[test]
fn a_bad_flag_or_value_is_named() {
    for (arguments, words) in [
        (&["--frobnicate"][..], &["--frobnicate"][..]),
        (&["extra"], &["extra"]),
        (&["--mode", "both"], &["--mode", "both"]),
        (&["--wait", "sleep"], &["--wait", "sleep"]),
        (&["--feed", "pigeon"], &["--feed", "pigeon"]),
        (&["--flow", "random"], &["--flow", "random"]),
        (&["--venue", "nowhere"], &["--venue", "nowhere"]),
        (&["--venue", "deribit", "--data", "f"], &["--data", "--venue deribit"]),
        (&["--venue", "binance", "--lose", "1,1"], &["--lose", "--venue binance"]),
        (&["--venue", "deribit", "--lose", "1,1"], &["--lose", "--venue deribit"]),
        (&["--venue", "deribit", "--feed", "unicast"], &["--feed", "--venue deribit"]),
        (&["--orders", "fix"], &["--orders", "--venue taut", "speaks as another"]),
        (&["--tls"], &["--tls", "--venue taut", "speaks as another"]),
        (&["--venue", "deribit", "--orders", "sbe"], &["--orders", "sbe"]),
        (&["--ticks", "many"], &["--ticks", "many"]),
        (&["--ticks", "0"], &["--ticks", "0", "1..=1000000"]),
        (&["--levels", "9"], &["--levels", "9"]),
        (&["--rate", "1.5"], &["--rate", "1.5"]),
        (&["--rate=-1"], &["--rate", "-1"]),
        (&["--rate", "-1"], &["--rate <HZ>", "'-1'"]),
        (&["--seconds", "-1"], &["--seconds -1", "above 0"]),
        (&["--seed", "x"], &["--seed", "x"]),
        (&["--port", "65536"], &["--port", "65536"]),
        (&["--seconds"], &["--seconds"]),
        (&["--seconds", "soon"], &["--seconds", "soon"]),
        (&["--seconds", "0"], &["--seconds", "0", "above 0"]),
        (&["--seconds=-3"], &["--seconds", "-3", "above 0"]),
        (&["--seconds", "nan"], &["--seconds", "NaN", "above 0"]),
        (&["--seconds", "inf"], &["--seconds", "inf", "at most"]),
        (&["--outliers-above", "5"], &["--outliers-above", "'5'", "with its unit"]),
        (&["--perfetto", "/tmp"], &["/tmp", "it is a folder"]),
        (&["--perfetto", "/etc/passwd"], &["/etc/passwd", "it is there already"]),
        (&["--cpus", "0,0,99999"], &["--cpus", "strategy", "'99999'"]),
        (&["--cpus", "x"], &["--cpus", "'x'", "three"]),
        (&["--cpus", "0,0"], &["--cpus", "'0,0'", "three"]),
        (&["--cpus", "0,y,0"], &["--cpus", "gateway", "'y'"]),
        (&["--speed", "2"], &["--speed 2", "--data"]),
        (&["--seed", "1", "--data", "f"], &["--seed", "--data"]),
        (&["--ticks", "1", "--data", "f"], &["--ticks", "--data"]),
        (&["--flow", "synthetic", "--data", "f"], &["--flow", "--data"]),
        (&["--data", "f", "--speed", "0"], &["--speed", "'0'", "above 0"]),
        (&["--data", "f", "--speed", "fast"], &["--speed", "'fast'", "max"]),
    ] {
        expect_wrong(arguments, words);
    }
}

#[test]
fn a_file_that_cannot_be_replayed_is_named() {
    expect_wrong(&["--data", "nowhere.csv"], &["nowhere.csv", "No such file"]);
    expect_wrong(&["--data", ""], &["--data", "a value is required"]);
    expect_wrong(&["--data", "/tmp"], &["--data /tmp", "not a regular file"]);
    // The venue would find it empty: the parent has read it.
    expect_wrong(&["--data", "/dev/stdin"], &["--data /dev/stdin", "not a regular file"]);
    let directory = tempfile::tempdir().expect("directory");
    let strange = directory.path().join(OsStr::from_bytes(b"\xff.csv"));
    fs::write(&strange, "34200.1,1,1,100,5853300,1\n").expect("file");
    let mut command = Command::new(TAUT);
    command.args(["demo", "--data"]).arg(&strange);
    Demo::answer(command).expect_refused(2, &["--data", "UTF-8"]);
}

#[test]
fn a_malformed_row_is_named_by_file_line_and_field() {
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("rows.csv");
    let name = file.display().to_string();
    let good = "34200.1,1,1,100,5853300,1\n";
    for (row, field, value) in [
        ("34200.2,1,2,100,5853300", "direction", "missing"),
        ("34200.2,1,2,100,5853300,1,7", "direction", "\"1\""),
        ("", "type", "missing"),
        ("noon,1,2,100,5853300,1", "time", "\"noon\""),
        ("34199.9,1,2,100,5853300,1", "time", "\"34199.9\""),
        ("34200.2,8,2,100,5853300,1", "type", "\"8\""),
        ("34200.2,1,two,100,5853300,1", "order id", "\"two\""),
        ("34200.2,1,2,-100,5853300,1", "size", "\"-100\""),
        ("34200.2,1,2,100,nan,1", "price", "\"nan\""),
        ("34200.2,1,2,100,5853301,1", "price", "\"5853301\""),
        ("34200.2,1,2,100,5853300,2", "direction", "\"2\""),
        ("\u{1}\u{1b}[2J", "type", "missing"),
        ("34200.2,\u{1b}[2J,2,100,5853300,1", "type", "u{1b}[2J"),
    ] {
        fs::write(&file, format!("{good}{row}\n")).expect("file");
        let place = format!("{name}:2");
        expect_wrong(&["--data", &name], &[&place, &format!("`{field}`"), value]);
    }
    fs::write(&file, "").expect("file");
    expect_wrong(&["--data", &name], &[&name, "no rows"]);
}

#[test]
fn a_report_that_could_not_be_written_is_refused_before_the_run() {
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("file");
    fs::write(&file, "").expect("file");
    let file = file.display().to_string();
    for out in [file.clone(), format!("{file}/below"), "/dev/null".to_owned(), String::new()] {
        refused(&["--out", &out], 2, &["--out"]);
    }
    refused(&["--out", "/proc/taut"], 1, &["--out /proc/taut", "cannot write to /proc"]);
}

#[test]
fn a_port_in_use_is_named_with_the_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port().to_string();
    refused(&["--port", &port, "--out", "report"], 1, &["venue", &port, "in use", "--port"]);
}

#[test]
fn a_role_is_not_played_by_hand() {
    for role in ["venue", "gateway", "strategy"] {
        let mut command = Command::new(TAUT);
        command.arg("demo").env("TAUT_ROLE", role);
        Demo::answer(command).expect_refused(2, &["TAUT_ROLE", role, "unset it"]);
    }
}

#[test]
fn a_command_that_does_not_exist_is_named() {
    let mut command = Command::new(TAUT);
    command.arg("dance");
    Demo::answer(command).expect_refused(2, &["dance"]);
    Demo::answer(Command::new(TAUT)).expect_code(2);
}

fn expect_wrong(arguments: &[&str], words: &[&str]) {
    refused(&[arguments, &["--out", "report"]].concat(), 2, words);
}

fn refused(arguments: &[&str], code: i32, words: &[&str]) {
    let mut command = Command::new(TAUT);
    command.args(["demo", "--json"]).args(arguments);
    let outcome = Demo::answer(command);
    outcome.expect_refused(code, words);
    assert!(!outcome.stderr.contains("(process "), "it was started:\n{}", outcome.stderr);
}

/// `taut venue check` of a file, as Binance, whose bitcoin has a recording with this text.
fn check_recording(text: &str) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let taut = |arguments: &[&str]| {
        let mut command = Command::new(TAUT);
        command.current_dir(&folder).arg("venue").args(arguments).output().expect("it runs")
    };
    let sample = taut(&["sample", "--as", "binance"]).stdout;
    let sample = String::from_utf8(sample).expect("text");
    let recording = "[[recordings]]\ninstrument = \"BTCUSDT\"\nfile = \"day\"\n";
    fs::write(folder.path().join("venue.toml"), format!("{sample}\n{recording}")).expect("a file");
    fs::write(folder.path().join("day"), text).expect("a file");
    // Before the verb as behind it.
    let output = taut(&["--as", "binance", "check", "venue.toml"]);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_check_of_a_venue_looks_into_its_recordings() {
    let snapshot = concat!(
        r#"1700000000000000000 {"lastUpdateId":9,"bids":[["60000.5","0.1"]],"#,
        r#""asks":[["60001.5","0.2"]]}"#,
    );
    let (code, said, _) = check_recording(&format!("{snapshot}\n"));
    assert_eq!(code, Some(0));
    let line = said.lines().find(|line| line.starts_with("BTCUSDT: a recording, ")).expect(&said);
    let seen = "day: Binance's frames, from 2023-11-14 22:13:20 UTC; all of its 1 lines were read";
    assert!(line.ends_with(seen), "{line}");
    let stray = ["venue", "--config", "venue.toml", "check", "venue.toml"];
    let stray = Command::new(TAUT).args(stray).output().expect("it runs");
    assert_eq!(stray.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&stray.stderr).contains("--config is for running a venue"));
    let (code, _, told) = check_recording(&format!("{snapshot}\nnonsense\n"));
    assert_eq!(code, Some(2), "{told}");
    let remedy = "recordings[0].file must be a LOBSTER message file, or a capture of";
    for words in ["day:2: expected a receive time", remedy, "frames of BTCUSDT"] {
        assert!(told.contains(words), "{told}");
    }
}
