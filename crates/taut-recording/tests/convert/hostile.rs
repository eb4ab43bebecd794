//! Files that end early or are damaged: an error that names the file and the place, never a panic.

use std::path::Path;

use taut_recording::{Source, Target};

use crate::{conversion, made, run};

/// What a conversion of these bytes says; whether it made one.
fn told(folder: &Path, source: Source, bytes: &[u8]) -> Result<(), String> {
    let (path, out) = (folder.join("ABC_1970-01-02_damaged"), folder.join("out"));
    std::fs::write(&path, bytes).expect("a file");
    let told = run(&conversion(source, &[&path], Target::Csv), &out).map(drop);
    if let Err(what) = &told {
        assert!(what.contains("ABC_1970-01-02_damaged"), "{what}");
    }
    told
}

#[test]
fn no_damage_to_any_format_panics_and_each_error_names_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let npz = made::npz(folder, 30);
    let [csv, packed, dbn] = ["a.csv", "a.csv.gz", "a.dbn"].map(|name| folder.join(name));
    run(&conversion(Source::Npz, &[&npz], Target::Csv), &csv).expect("text");
    run(&conversion(Source::Npz, &[&npz], Target::CsvGzip), &packed).expect("packed text");
    run(&conversion(Source::Npz, &[&npz], Target::Dbn), &dbn).expect("records");
    let capture = made::capture(folder, 30);
    let tardis = b"exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount\n\
        x,BTC,1,10,true,bid,7.5,2\nx,BTC,3,12,false,bid,7.5,0\n";
    let lobster = b"1.5,1,7,10,10000,1\n1.6,4,7,4,10000,1\n";
    let read = |path: &Path| std::fs::read(path).expect("a file");
    for (source, bytes, is_checked) in [
        (Source::Npz, read(&npz), true),
        (Source::Csv, read(&csv), false),
        (Source::Csv, read(&packed), true),
        (Source::Dbn, read(&dbn), false),
        (Source::Binance, read(&capture), false),
        (Source::Tardis, tardis.to_vec(), false),
        (Source::Lobster, lobster.to_vec(), false),
    ] {
        told(folder, source, &bytes).unwrap_or_else(|what| panic!("{source:?}: {what}"));
        let step = (bytes.len() / 60).max(1);
        for at in (0..bytes.len()).step_by(step) {
            let cut = told(folder, source, &bytes[..at]);
            assert!(!is_checked || cut.is_err(), "{source:?} cut at {at}");
            for bit in [0, 6] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                let _ = told(folder, source, &damaged);
            }
        }
        let _ = told(folder, source, b"");
    }
}

#[test]
fn each_format_says_what_is_no_file_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    for (source, what) in [
        (Source::Npz, "its array `data` cannot be found: the file is no zip archive"),
        (Source::Csv, ":1: its first line is not `exch_ts,"),
        (Source::Dbn, "it is no DBN file"),
        (Source::Binance, ":1: expected a receive time"),
        (Source::Deribit, ":1: expected a receive time"),
        (Source::Okx, ":1: expected a receive time"),
        (Source::Tardis, ":1: it has no column `symbol`"),
        (Source::Lobster, ":1: field `type` is \"missing\""),
    ] {
        let told = told(folder.path(), source, b"hello\nworld\n").expect_err("no file");
        assert!(told.contains(what), "{source:?}: {told}");
    }
}

#[test]
fn times_at_both_ends_of_64_bits_overflow_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, out] = ["x.csv", "out"].map(|name| folder.path().join(name));
    let (low, high) = (i64::MIN, i64::MAX);
    let mut text = "exch_ts,local_ts,seen,kind,side,px,qty,order_id,symbol\n".to_owned();
    for (exchange, local) in [(high, low), (low, high), (0, 0), (high, high), (low, low)] {
        for kind in ["level", "clear", "trade", "add", "cancel"] {
            let row = format!("{exchange},{local},both,{kind},sell,-9223372036.854775808,1,1,A\n");
            text.push_str(&row);
        }
    }
    std::fs::write(&path, text).expect("a file");
    for target in [Target::Npz, Target::Parquet, Target::Csv] {
        run(&conversion(Source::Csv, &[&path], target), &out).expect("rows");
    }
    let told = run(&conversion(Source::Csv, &[&path], Target::Dbn), &out).expect_err("no time");
    assert!(told.contains("its time is before 1970"), "{told}");
}
