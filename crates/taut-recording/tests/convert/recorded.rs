//! Recordings for a backtest out of files of several formats: the rows that an import of them has.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use taut_backtest::Recording;
use taut_recording::{ReadOptions, Recorded, Source, Target, record_npz};
use taut_types::{Nanos, Price, Qty};

use crate::{conversion, made, run};

const STEPS: (Price, Qty) = (Price(Price::SCALE / 100), Qty { mantissa: 1, decimals: 3 });

fn named(symbol: &str) -> ReadOptions {
    ReadOptions { symbol: Some(symbol.to_owned()), ..ReadOptions::default() }
}

fn recorded(source: Source, file: &Path, symbol: &str) -> Result<(Recording, Nanos), String> {
    let go_on = &mut |_| ControlFlow::Continue(());
    let files = [file.to_owned()];
    let looked = Recorded::look(source, &files, &named(symbol), go_on);
    let looked = looked.map_err(|error| error.to_string())?;
    let shift = looked.shift(Nanos::ZERO);
    let recording = looked.recording(STEPS, shift, go_on).map_err(|error| error.to_string())?;
    Ok((recording, shift))
}

fn imported(npz: PathBuf) -> Recording {
    record_npz(&[npz], STEPS, &mut |_| ControlFlow::Continue(())).expect("rows")
}

#[test]
fn a_capture_gives_the_rows_that_its_import_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = made::capture(folder.path(), 400);
    let (direct, shift) = recorded(Source::Binance, &capture, "btcusdt").expect("rows");
    let through = imported(made::npz(folder.path(), 400));
    assert_eq!(direct.rows(), through.rows());
    assert_eq!(direct.lot(), STEPS.1);
    assert!(shift.0 > made::BEHIND_NS - 1_000_000 && shift.0 < made::BEHIND_NS, "{shift:?}");
}

#[test]
fn so_do_text_and_a_file_of_columns_that_says_its_name_or_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let npz = made::npz(folder.path(), 200);
    let through = imported(npz.clone());
    for symbol in [None, Some("BTCUSDT".to_owned())] {
        let text = folder.path().join("rows.csv.gz");
        let mut what = conversion(Source::Npz, &[&npz], Target::CsvGzip);
        what.reading.symbol = symbol;
        run(&what, &text).expect("text");
        assert_eq!(Source::of(&text), Ok(Source::Csv));
        let (direct, shift) = recorded(Source::Csv, &text, "BTCUSDT").expect("rows");
        assert_eq!((direct.rows(), shift), (through.rows(), Nanos::ZERO));
    }
}

#[test]
fn what_does_not_fit_is_named_with_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = made::capture(folder.path(), 20);
    let told = recorded(Source::Binance, &capture, "ETHUSDT").expect_err("another");
    let what = "capture.txt: no row of ETHUSDT is in it, but of BTCUSDT; give the";
    assert!(told.contains(what), "{told}");
    let go_on = &mut |_| ControlFlow::Continue(());
    let looked = Recorded::look(Source::Binance, &[capture], &named("BTCUSDT"), go_on);
    let looked = looked.expect("rows");
    let lot = STEPS.1;
    for (steps, what) in [
        ((Price(Price::SCALE), lot), "which is no multiple of the tick 1"),
        ((STEPS.0, Qty::whole(1)), "which is no multiple of the lot 1"),
    ] {
        let told = looked.recording(steps, Nanos::ZERO, go_on).expect_err("too large");
        let told = told.to_string();
        assert!(told.contains("capture.txt: BTCUSDT: a ") && told.contains(what), "{told}");
    }
    let stop = &mut |_| ControlFlow::Break(());
    let long = made::capture(folder.path(), 9_000);
    let told = Recorded::look(Source::Binance, &[long], &named("BTCUSDT"), stop);
    assert_eq!(told.map(drop).expect_err("ended").to_string(), "interrupted: no file was written");
}
