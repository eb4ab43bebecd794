//! Readers that nobody here wrote, where they are installed: `TAUT_PYTHON` names the interpreter
//! that has them (`python3` by default).

use std::fmt::Write;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use taut_recording::hft::{LOCAL, read_rows};
use taut_recording::pcapng::{PacketSource, write_packets};
use taut_recording::{Source, Target};

use crate::{conversion, made, run};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/convert/referees.py");
const UPDATES: i64 = 400;

/// What a reader says of a file, a line; nothing where the reader is not installed.
fn asked(reader: &str, file: &Path) -> Option<String> {
    let python = std::env::var("TAUT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(&python).args(["-W", "ignore", SCRIPT, reader]).arg(file).output();
    let Ok(output) = output else {
        println!("skipped: no {python}");
        return None;
    };
    let (out, told) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(77) {
        println!("skipped: {}", out.trim());
        return None;
    }
    assert!(output.status.success(), "{reader}: {out}{told}");
    println!("{reader}: {}", out.trim());
    Some(out.trim().to_owned())
}

#[test]
fn parquet_is_read_by_pyarrow_polars_and_duckdb() {
    let folder = tempfile::tempdir().expect("a folder");
    let npz = made::npz(folder.path(), UPDATES);
    let out = folder.path().join("a.parquet");
    run(&conversion(Source::Npz, &[&npz], Target::Parquet), &out).expect("columns");
    let rows = read_rows(&npz).expect("rows");
    let sum = |value: fn(f64) -> f64, of: fn(&taut_recording::hft::HftRow) -> f64| {
        rows.iter().map(|row| value(of(row)).round() as i128).sum::<i128>()
    };
    let (px, qty) = (sum(|px| px * 1e9, |row| row.px), sum(|qty| qty * 1e3, |row| row.qty));
    let kinds: u64 = rows.iter().map(|row| row.ev & 0xff).sum();
    let both = rows.iter().filter(|row| row.ev >> 30 == 3).count();
    let first = rows.iter().map(|row| row.exch_ts).min().unwrap_or(0);
    let last = rows.iter().map(|row| row.local_ts).max().unwrap_or(0);
    let expected = format!("{} {px} {qty} {kinds} {both} {first} {last}", rows.len());
    for reader in ["pyarrow", "polars", "duckdb"] {
        if let Some(found) = asked(reader, &out) {
            assert_eq!(found, expected, "{reader}");
        }
    }
}

#[test]
fn dbn_is_read_by_databento() {
    let folder = tempfile::tempdir().expect("a folder");
    let npz = made::npz(folder.path(), UPDATES);
    let out = folder.path().join("a.dbn");
    let mut what = conversion(Source::Npz, &[&npz], Target::Dbn);
    what.reading.symbol = Some("BTCUSDT".to_owned());
    run(&what, &out).expect("records");
    let Some(found) = asked("databento", &out) else { return };
    let rows = read_rows(&npz).expect("rows");
    let local: Vec<_> = rows.iter().filter(|row| row.ev & LOCAL != 0).collect();
    let trades = local.iter().filter(|row| row.ev & 0xff == 2);
    let (count, size) = trades
        .fold((0, 0), |(count, size), row| (count + 1, size + (row.qty * 1e3).round() as i64));
    let last = local.last().map_or(0, |row| row.local_ts);
    assert_eq!(found, format!("{} {count} {size} {last} BTCUSDT", local.len() - 1));
}

#[test]
fn an_npz_file_is_right_and_runs_in_hftbacktest() {
    let folder = tempfile::tempdir().expect("a folder");
    let npz = made::npz(folder.path(), UPDATES);
    let rows = read_rows(&npz).expect("rows");
    if let Some(found) = asked("numpy", &npz) {
        let px: f64 = rows.iter().map(|row| (row.px * 100.0).round()).sum();
        let order: u128 = rows.iter().map(|row| u128::from(row.ev)).sum();
        assert_eq!(found, format!("{} {px:.0} {order}", rows.len()));
    }
    if let Some(found) = asked("hftbacktest", &npz) {
        // The best prices once everything was seen.
        assert_eq!(found, "valid 61800.00 61801.00", "{found}");
    }
}

#[test]
fn packets_are_read_by_tshark() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: no tshark");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let capture = made::capture(folder.path(), UPDATES);
    let path = folder.path().join("a.pcapng");
    let file = File::create(&path).expect("a file");
    let done =
        write_packets(PacketSource::Frames, std::slice::from_ref(&capture), file, &mut |_| {
            ControlFlow::Continue(())
        });
    let done = done.expect("packets");
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&path).args([
        "-T",
        "fields",
        "-e",
        "frame.time_epoch",
        "-e",
        "frame.len",
        "-e",
        "frame.interface_name",
    ]);
    let output = tshark.output().expect("tshark");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let mut expected = String::new();
    for line in std::fs::read_to_string(&capture).expect("text").lines() {
        let (time, frame) = line.split_once(' ').expect("a frame");
        let (seconds, nanos) = time.split_at(time.len() - 9);
        writeln!(expected, "{seconds}.{nanos}\t{}\tcapture.txt", frame.len()).expect("text");
    }
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    assert_eq!(expected.lines().count() as u64, done.packets);
}
