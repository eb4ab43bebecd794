//! The recorded data, whole: the referee's own conversions, byte for byte.

use std::path::Path;

use sha2::{Digest, Sha256};
use taut_recording::hft::read_rows;
use taut_recording::{Conversion, Source, Target};
use taut_types::Nanos;

use crate::{conversion, run, shared};

const BINANCE: &str = "data/binance/usdm_btcusdt_20240808.gz";
const LOBSTER: &str = "data/lobster/AAPL_2012-06-21_34200000_37800000_message_50.csv";

/// The digest of the rows of a conversion is the one that the referee's rows have.
fn check(what: &Conversion, case: &str) {
    let Some(summary) = shared(&format!("workloads/backtest/expected/{case}/summary.json")) else {
        return;
    };
    let summary = std::fs::read(summary).expect("a summary");
    let summary: serde_json::Value = serde_json::from_slice(&summary).expect("JSON");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out.npz");
    let done = run(what, &out).expect("rows");
    let rows = read_rows(&out).expect("rows");
    assert_eq!(done.rows_written, rows.len() as u64);
    let mut digest = Sha256::new();
    rows.iter().for_each(|row| digest.update(row.to_bytes()));
    assert_eq!(format!("{:x}", digest.finalize()), summary["sha256_of_events"], "{case}");
}

#[test]
fn a_capture_of_binance_is_what_the_referee_makes_of_it() {
    let Some(path) = shared(BINANCE) else { return };
    let mut what = conversion(Source::Binance, &[&path], Target::Npz);
    what.base_latency = 500_000;
    check(&what, "full-btc-grid");
}

#[test]
fn messages_of_lobster_are_what_the_referee_makes_of_them() {
    let Some(path) = shared(LOBSTER) else { return };
    let mut what = conversion(Source::Lobster, &[&path], Target::Npz);
    what.reading.latency = Nanos(50_000);
    check(&what, "full-aapl-fuzz-l3");
}

#[test]
fn captures_of_every_venue_have_rows() {
    for (source, file, rows) in [
        (Source::Deribit, "deribit.ws.txt", 100),
        (Source::Okx, "okx.ws.txt", 1_000),
        (Source::Binance, "binance-spot.ws.txt", 400),
        (Source::Binance, "binance-usdm.ws.txt", 1_000),
    ] {
        let Some(path) = shared(&format!("data/venues/frames/{file}")) else { return };
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let done = run(&conversion(source, &[&path], Target::Csv), &out).expect("rows");
        println!("{file}: {done:?}");
        assert!(done.rows_written > rows && done.not_read == 0, "{file}: {done:?}");
        let told = run(&conversion(source, &[Path::new(&path)], Target::Npz), &out);
        let told = told.expect_err("several instruments");
        assert!(told.contains("choose it with --symbol"), "{told}");
    }
}
