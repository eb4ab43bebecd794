//! There and back: rows through each format that has a reader here.

use std::ops::ControlFlow;
use std::path::Path;

use taut_book::Level;
use taut_recording::dbn::MboBooks;
use taut_recording::hft::{BUY, EXCHANGE, HftRow, LOCAL, SELL, read_rows, recording};
use taut_recording::{ConvertError, Source, Target, convert};
use taut_types::{Price, Qty, Side};

use crate::{conversion, made, run};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Which orders of hftbacktest a file has to be in.
fn assert_both_orders(rows: &[HftRow]) {
    for (seen, time) in
        [(EXCHANGE, (|row| row.exch_ts) as fn(&HftRow) -> i64), (LOCAL, |row| row.local_ts)]
    {
        let mut times = rows.iter().filter(|row| row.ev & seen != 0).map(time);
        let first = times.next().expect("rows of each side");
        times.fold(first, |before, time| {
            assert!(before <= time);
            time
        });
    }
}

#[test]
fn a_capture_becomes_rows_in_both_orders_with_clocks_that_agree() {
    let folder = folder();
    let capture = made::capture(folder.path(), 200);
    let out = folder.path().join("out.npz");
    let mut what = conversion(Source::Binance, &[&capture], Target::Npz);
    what.base_latency = 250_000;
    let done = run(&what, &out).expect("rows");
    let rows = read_rows(&out).expect("rows");
    assert_eq!(done.rows_read, 42 + 2 * 200 + 1 + 40);
    assert_eq!(done.rows_written, rows.len() as u64);
    assert_eq!((done.symbols, done.quantity_decimals), (vec!["BTCUSDT".to_owned()], 3));
    assert_both_orders(&rows);
    let least = rows.iter().map(|row| row.local_ts - row.exch_ts).min();
    assert_eq!(least, Some(250_000));
    let of = |seen| rows.iter().filter(|row| row.ev & seen != 0).count();
    assert_eq!((of(EXCHANGE), of(LOCAL)), (483, 483));
    assert!(rows.len() > 483, "late trades are told twice");
    // The first rows are the snapshot: a clear down to the last bid, and the bids.
    assert_eq!(rows[0].ev, 3 | BUY | EXCHANGE | LOCAL);
    assert_eq!((rows[0].px, rows[1].px, rows[1].qty), (61_781.19, 61_800.0, 1.5));
    assert_eq!(rows[21].ev, 3 | SELL | EXCHANGE | LOCAL);
    let tick = Price(10_000_000);
    recording(&rows, tick, Qty { mantissa: 1, decimals: 3 }).expect("a backtest reads it");
}

#[test]
fn text_and_numpy_hold_the_same_rows() {
    let folder = folder();
    let npz = made::npz(folder.path(), 300);
    let [csv, packed, back] = ["a.csv", "a.csv.gz", "b.npz"].map(|name| folder.path().join(name));
    let rows = read_rows(&npz).expect("rows");
    let done = run(&conversion(Source::Npz, &[&npz], Target::Csv), &csv).expect("text");
    assert_eq!(done.rows_written, rows.len() as u64);
    run(&conversion(Source::Npz, &[&npz], Target::CsvGzip), &packed).expect("packed text");
    for text in [&csv, &packed] {
        run(&conversion(Source::Csv, &[text], Target::Npz), &back).expect("rows");
        assert_eq!(read_rows(&back).expect("rows"), rows);
    }
    // The same bytes again from the same rows.
    let again = folder.path().join("c.npz");
    run(&conversion(Source::Npz, &[&npz], Target::Npz), &again).expect("rows");
    assert_eq!(std::fs::read(&again).expect("a file"), std::fs::read(&npz).expect("a file"));
    let first: Vec<_> =
        std::fs::read_to_string(&csv).expect("text").lines().take(2).map(str::to_owned).collect();
    assert_eq!(first[0], "exch_ts,local_ts,seen,kind,side,px,qty,order_id,symbol");
    assert_eq!(first[1], "1723075200000000000,1723075200000500000,both,clear,buy,61781.19,0,0,1");
}

/// The levels of a side, as a reader of levels has them.
fn levels(rows: &[HftRow], side: u64) -> Vec<(String, String)> {
    let mut levels = std::collections::BTreeMap::new();
    for row in rows.iter().filter(|row| row.ev & LOCAL != 0 && row.ev & side != 0) {
        let price = (row.px * 100.0).round() as i64;
        match row.ev & 0xff {
            1 | 4 if row.qty == 0.0 => drop(levels.remove(&price)),
            1 | 4 => drop(levels.insert(price, row.qty)),
            3 if side == BUY => levels.retain(|at, _| *at < price),
            3 => levels.retain(|at, _| *at > price),
            _ => {}
        }
    }
    levels
        .into_iter()
        .map(|(price, qty)| (format!("{:.2}", price as f64 / 100.0), format!("{qty:.3}")))
        .collect()
}

#[test]
fn dbn_has_the_book_and_the_trades_and_comes_back_as_rows() {
    let folder = folder();
    let npz = made::npz(folder.path(), 300);
    let [dbn, back] = ["a.dbn", "b.npz"].map(|name| folder.path().join(name));
    let mut what = conversion(Source::Npz, &[&npz], Target::Dbn);
    what.reading.symbol = Some("BTCUSDT".to_owned());
    let done = run(&what, &dbn).expect("records");
    let rows = read_rows(&npz).expect("rows");
    let local: Vec<_> = rows.iter().filter(|row| row.ev & LOCAL != 0).copied().collect();
    assert_eq!(done.not_written, (rows.len() - local.len()) as u64 + 1, "and what never was");
    assert_eq!(done.rows_written + done.not_written, rows.len() as u64);
    let mut books = MboBooks::default();
    books.read(&dbn, &mut |_| {}).expect("records");
    // Two clears that begin a snapshot are one.
    assert_eq!((books.records, books.faults.len()), (done.rows_written - 1, 0));
    assert_eq!(books.symbols.values().collect::<Vec<_>>(), ["BTCUSDT"]);
    let book = books.books.values().next().expect("a book").book();
    for (side, bits) in [(Side::Buy, BUY), (Side::Sell, SELL)] {
        let mut found: Vec<_> = book
            .levels(side)
            .map(|Level { price, lots, .. }| {
                (format!("{:.2}", price.0 as f64 / 1e9), format!("{:.3}", lots.0 as f64 / 1e3))
            })
            .collect();
        if side == Side::Buy {
            found.reverse();
        }
        assert_eq!(found, levels(&rows, bits), "{side:?}");
    }
    let mut what = conversion(Source::Dbn, &[&dbn], Target::Npz);
    what.reading.symbol = Some("btcusdt".to_owned());
    run(&what, &back).expect("rows");
    let again = read_rows(&back).expect("rows");
    assert_both_orders(&again);
    // Sizes of DBN are whole: these count thousandths.
    let trades = |rows: &[HftRow], scale: f64| -> Vec<_> {
        let of = rows.iter().filter(|row| row.ev & 0xff == 2 && row.ev & LOCAL != 0);
        of.map(|row| (row.exch_ts, row.px, (row.qty * scale).round() as i64)).collect()
    };
    assert_eq!(trades(&again, 1.0), trades(&rows, 1e3));
    assert_eq!(trades(&rows, 1.0).len(), 60);
}

const SNAPSHOT: &str = r#"{"lastUpdateId":1,"bids":[["1","1"]],"asks":[["2","1"]]}"#;

#[test]
fn what_a_format_cannot_hold_is_said_with_what_to_do() {
    let folder = folder();
    let npz = made::npz(folder.path(), 20);
    let out = folder.path().join("out");
    let mut what = conversion(Source::Npz, &[&npz], Target::Dbn);
    what.quantity_decimals = Some(9);
    let told = run(&what, &out).expect_err("too large");
    assert!(told.contains("above the 32 bits of a size in DBN; choose fewer"), "{told}");
    what.quantity_decimals = Some(1);
    let told = run(&what, &out).expect_err("too small");
    assert!(told.contains("choose others with --quantity-decimals"), "{told}");
    let several =
        "{\"e\":\"trade\",\"E\":1,\"T\":1,\"s\":\"B\",\"t\":1,\"p\":\"1\",\"q\":\"1\",\"m\":true}";
    let text = format!("1 {several}\n2 {}\n", several.replace("\"B\"", "\"A\""));
    let path = folder.path().join("several");
    std::fs::write(&path, text).expect("a file");
    let mut what = conversion(Source::Binance, &[&path], Target::Npz);
    let told = run(&what, &out).expect_err("two");
    assert!(told.contains("the files have 2 instruments (B, A)"), "{told}");
    what.reading.symbol = Some("C".to_owned());
    let told = run(&what, &out).expect_err("no such instrument");
    assert!(told.contains("no row of --symbol C is in it"), "{told}");
    what.reading.symbol = Some("a".to_owned());
    assert_eq!(run(&what, &out).expect("one trade").rows_written, 1);
    let text = std::fs::read_to_string(&path).expect("text");
    std::fs::write(&path, format!("0 {SNAPSHOT}\n{text}")).expect("a file");
    assert_eq!(run(&what, &out).expect("a snapshot and a trade").rows_written, 5);
    what.reading.symbol = None;
    let told = run(&what, &out).expect_err("whose snapshot");
    assert!(told.contains("several:3: the file has frames of several instruments"), "{told}");
    std::fs::write(&path, format!("0 {SNAPSHOT}\n")).expect("a file");
    assert_eq!(run(&what, &out).expect("a snapshot of nobody").rows_written, 4);
}

#[test]
fn orders_of_lobster_are_rows_one_by_one() {
    let folder = folder();
    let path = folder.path().join("ABC_1970-01-02_0_1_message_1.csv");
    let text = "1.5,1,7,10,10000,1\n1.6,4,7,4,10000,1\n1.7,2,7,1,10000,1\n1.8,3,7,5,10000,1\n\
                1.9,3,8,5,10000,-1\n2.0,5,0,5,10000,-1\n";
    std::fs::write(&path, text).expect("a file");
    let out = folder.path().join("out.npz");
    let mut what = conversion(Source::Lobster, &[&path], Target::Npz);
    what.reading.latency = taut_types::Nanos(9);
    let done = run(&what, &out).expect("rows");
    assert_eq!((done.not_read, done.symbols), (2, vec!["ABC".to_owned()]));
    let rows = read_rows(&out).expect("rows");
    let found: Vec<_> = rows.iter().map(|row| (row.ev & 0xff, row.qty, row.order_id)).collect();
    assert_eq!(found, [(10, 10.0, 7), (13, 4.0, 7), (12, 6.0, 7), (12, 5.0, 7), (11, 0.0, 7)]);
    assert_eq!((rows[0].exch_ts, rows[0].local_ts), (86_401_500_000_000, 86_401_500_000_009));
    assert_eq!(rows[0].px, 1.0);
    // Orders come back from market by order as they were.
    let [dbn, back] = ["a.dbn", "b.npz"].map(|name| folder.path().join(name));
    run(&conversion(Source::Npz, &[&out], Target::Dbn), &dbn).expect("records");
    run(&conversion(Source::Dbn, &[&dbn], Target::Npz), &back).expect("rows");
    assert_eq!(read_rows(&back).expect("rows"), rows);
    let unnamed = folder.path().join("x.csv");
    std::fs::rename(&path, &unnamed).expect("a file");
    let told = run(&conversion(Source::Lobster, &[Path::new(&unnamed)], Target::Npz), &out);
    assert!(told.expect_err("no day").contains("say it with --date"));
}

#[test]
fn best_prices_are_rows_where_they_are_asked_for() {
    let folder = folder();
    let path = folder.path().join("tickers");
    let ticker = r#"{"u":7,"s":"BTCUSDT","b":"25.35","B":"31.2","a":"25.36","A":"0"}"#;
    std::fs::write(&path, format!("5 {ticker}\n")).expect("a file");
    let out = folder.path().join("out.csv");
    let mut what = conversion(Source::Binance, &[&path], Target::Csv);
    let told = run(&what, &out).expect_err("no row");
    assert!(told.contains("tickers: no row is in it; check what it holds, and --from"), "{told}");
    what.reading.has_best = true;
    assert_eq!(run(&what, &out).expect("two rows").rows_written, 2);
    let text = std::fs::read_to_string(&out).expect("text");
    let rows: Vec<_> = text.lines().skip(1).collect();
    // The stream says no time: it is the one at which the frame came.
    assert_eq!(
        rows,
        ["5,5,both,best,buy,25.35,31.2,0,BTCUSDT", "5,5,both,best,sell,0,0,0,BTCUSDT"]
    );
}

#[test]
fn a_conversion_ends_when_it_is_told_to_in_either_reading() {
    let folder = folder();
    let capture = made::capture(folder.path(), 5_000);
    let what = conversion(Source::Binance, &[&capture], Target::Npz);
    for wanted in [false, true] {
        let mut out = std::io::Cursor::new(Vec::new());
        let ended = convert(&what, &mut out, &mut |step| {
            assert!(step.rows > 0 && step.bytes > 0);
            if step.is_writing == wanted {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert!(matches!(ended, Err(ConvertError::Stopped)), "{ended:?}");
    }
}
