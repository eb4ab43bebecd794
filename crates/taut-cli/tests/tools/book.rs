//! `taut book verify` on the recorded data.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use taut_testkit::{Run, odd_json_keys};

fn data(name: &str) -> Option<String> {
    let path =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")).join(name);
    if path.exists() {
        return path.to_str().map(str::to_owned);
    }
    println!("skipped: {} is not there", path.display());
    None
}

/// The verdict and the exit code.
fn verify(arguments: &[&str]) -> (Value, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(["book", "verify", "--json"])
        .args(arguments)
        .run();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(odd_json_keys(&String::from_utf8_lossy(&output.stdout)), [""; 0]);
    (
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{told}")),
        output.status.code(),
    )
}

fn lobster(messages: &str, truth: &Path) -> (Value, Option<i32>) {
    let truth = truth.to_str().unwrap();
    verify(&["--format", "lobster", "--messages", messages, "--truth", truth])
}

/// A copy of a file with one field of one line changed by one.
fn altered(file: &str, line: usize, column: usize, directory: &Path) -> PathBuf {
    let text = std::fs::read_to_string(file).unwrap();
    let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
    let row = &mut rows[line - 1];
    let mut fields: Vec<i64> = row.split(',').map(|field| field.parse().unwrap()).collect();
    fields[column - 1] += 1;
    *row = fields.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let copy = directory.join("altered.csv");
    std::fs::write(&copy, rows.join("\n")).unwrap();
    copy
}

#[test]
fn the_first_hour_of_apple_follows_the_recording() {
    let (Some(messages), Some(truth)) = (
        data("lobster/AAPL_2012-06-21_34200000_37800000_message_50.csv"),
        data("lobster/AAPL_2012-06-21_34200000_57600000_orderbook_1.csv"),
    ) else {
        return;
    };
    let (verdict, code) = lobster(&messages, Path::new(&truth));
    println!("{verdict}");
    assert_eq!((&verdict["states"], &verdict["equal"]), (&23_440.into(), &23_422.into()));
    assert_eq!(verdict["reasons"]["departure_outside_the_window"], 18);
    assert_eq!((&verdict["first_mismatch"], code), (&17_483.into(), Some(0)));

    let directory = tempfile::tempdir().unwrap();
    let altered = altered(&truth, 1_000, 2, directory.path());
    let (verdict, code) = lobster(&messages, &altered);
    assert_eq!((&verdict["first_mismatch"], code), (&1_000.into(), Some(1)));
    assert_eq!(
        (&verdict["equal"], &verdict["reasons"]["unexplained"]),
        (&23_421.into(), &1.into())
    );
}

#[test]
fn ten_levels_are_exact_but_for_what_comes_from_behind_them() {
    let (Some(messages), Some(truth)) = (
        data("lobster/AAPL_2012-06-21_message_10.first998.csv"),
        data("lobster/AAPL_2012-06-21_orderbook_10.first998.csv"),
    ) else {
        return;
    };
    let (verdict, code) = lobster(&messages, Path::new(&truth));
    println!("{verdict}");
    assert_eq!((&verdict["states"], &verdict["equal"]), (&999.into(), &985.into()));
    assert_eq!(verdict["reasons"]["level_never_in_the_window"], 10);
    assert_eq!(verdict["reasons"]["level_changed_behind_the_window"], 4);
    assert_eq!(code, Some(0));

    let directory = tempfile::tempdir().unwrap();
    for (line, column) in [(2, 1), (700, 20), (999, 40)] {
        let altered = altered(&truth, line, column, directory.path());
        let (verdict, code) = lobster(&messages, &altered);
        let found = verdict["mismatches"].as_array().unwrap().iter();
        let lines: Vec<_> = found.filter(|m| m["reason"] == "unexplained").collect();
        assert!(lines.len() == 1 && lines[0]["line"] == line, "{lines:?}");
        assert_eq!((&verdict["equal"], code), (&984.into(), Some(1)));
    }
}

#[test]
fn books_from_binance_depth_show_every_book_ticker() {
    for (name, states, within) in [("usdm", 6_547, 5_703), ("spot", 3_449, 2_894)] {
        let Some(capture) = data(&format!("binance/{name}_btcusdt_20240808.gz")) else { return };
        let (verdict, code) = verify(&["--format", "binance", "--capture", &capture]);
        println!("{verdict}");
        assert_eq!((&verdict["states"], &verdict["equal"]), (&states.into(), &states.into()));
        let counted = &verdict["within_update"];
        assert_eq!((&counted["states"], &counted["equal"]), (&within.into(), &within.into()));
        assert_eq!((&verdict["first_mismatch"], code), (&Value::Null, Some(0)));
    }
}

#[test]
fn a_capture_without_a_ticker_verifies_nothing_with_exit_code_1() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f");
    let frames = concat!(
        r#"1 {"lastUpdateId":10,"bids":[["10","1"]],"asks":[["11","1"]]}"#,
        "\n",
        r#"2 {"stream":"x@depth@100ms","data":{"U":11,"u":12,"b":[["10","2"]],"a":[]}}"#,
        "\n",
    );
    std::fs::write(&file, frames).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(["book", "verify", "--format", "binance", "--capture"])
        .arg(&file)
        .run();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("nothing was verified"), "{told}");
}

/// A DBN file of one trade: its metadata name a schema, a span and no symbols.
fn dbn_of_trades() -> Vec<u8> {
    let mut metadata = b"GLBX.MDP3\0\0\0\0\0\0\0".to_vec();
    metadata.extend(4u16.to_le_bytes());
    for number in [0u64, u64::MAX, 0] {
        metadata.extend(number.to_le_bytes());
    }
    // Types of symbols, without times of sending; the length of a symbol; reserved; four lists.
    metadata.extend([4, 0, 0]);
    metadata.extend(71u16.to_le_bytes());
    metadata.extend([0; 53]);
    metadata.extend([0; 5 * 4]);
    let mut file = b"DBN\x03".to_vec();
    file.extend((metadata.len() as u32).to_le_bytes());
    file.extend(metadata);
    // Its length in words of four bytes; what it did, and on which side.
    let mut trade = [0; 48];
    (trade[0], trade[28], trade[29]) = (12, b'T', b'B');
    file.extend(trade);
    file
}

#[test]
fn a_dbn_file_without_market_by_order_records_verifies_nothing_with_exit_code_1() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trades.dbn");
    std::fs::write(&file, dbn_of_trades()).unwrap();
    let name = file.to_str().unwrap();
    for more in [&[][..], &["--json"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_taut"))
            .args(["book", "verify", "--format", "dbn", "--file", name])
            .args(more)
            .run();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("nothing was verified: there are no market-by-order"), "{told}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(more.is_empty() || said.contains("\"other_records\":1"), "{said}");
    }
}

#[test]
fn what_cannot_be_read_is_named_with_exit_code_2() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f.gz");
    std::fs::write(&file, b"\x1f\x8bnothing").unwrap();
    let file = file.to_str().unwrap();
    for arguments in [
        &["--format", "lobster", "--messages", file, "--truth", file][..],
        &["--format", "binance", "--capture", file],
        &["--format", "dbn", "--file", file],
        &["--format", "dbn", "--file", "/nowhere"],
        &["--format", "binance"],
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_taut")).args(["book", "verify"]).args(arguments).run();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(output.stdout.is_empty() && !told.contains("panicked"), "{told}");
    }
}

#[test]
fn a_file_of_another_format_is_refused() {
    for (format, more, told) in [
        ("lobster", &["--messages", "m", "--truth", "t", "--capture", "c"][..], "--capture"),
        ("binance", &["--capture", "c", "--truth", "t"], "--truth"),
        ("dbn", &["--file", "f", "--messages", "m"], "--messages"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_taut"))
            .args(["book", "verify", "--format", format])
            .args(more)
            .run();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("{told}: belongs to --format")), "{said}");
    }
}

#[test]
fn a_directory_is_no_dbn_file() {
    let output = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(["book", "verify", "--format", "dbn", "--file", "."])
        .run();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(".: cannot read it (is a directory)"), "{said}");
}
