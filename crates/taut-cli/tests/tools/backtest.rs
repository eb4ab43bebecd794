//! `taut backtest`: a strategy over a small recording, its files, and what is wrong with a file.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use taut_testkit::{Run, odd_json_keys};

fn backtest(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.arg("backtest").args(words).run()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const CONFIG: &str = "sample_ms = 1000\n\
    [[instruments]]\nsymbol = \"X\"\ntick = \"0.5\"\nlot = \"0.1\"\ncurrency = \"USD\"\n\
    maker_fee = \"-0.0001\"\ntaker_fee = \"0.0005\"\n\
    [latency]\nentry_ns = 1000000\nresponse_ns = 2000000\n\
    [parameters]\nrate = 50\nrest_ms = 200\n";

/// CRC-32 as zip has it.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 0 { crc >> 1 } else { crc >> 1 ^ 0xedb8_8320 }
        })
    })
}

/// A zip archive with one stored member.
fn zip(name: &str, bytes: &[u8]) -> Vec<u8> {
    let len = |len: usize| u32::try_from(len).expect("a short file").to_le_bytes();
    let common = [
        &[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
        &crc(bytes).to_le_bytes(),
        &len(bytes.len()),
        &len(bytes.len()),
        &[u8::try_from(name.len()).expect("a short name"), 0, 0, 0],
    ]
    .concat();
    let local = [b"PK\x03\x04", &common[..], name.as_bytes(), bytes].concat();
    let entry = [b"PK\x01\x02\x14\x00", &common[..], &[0; 14], name.as_bytes()].concat();
    let sizes = [len(entry.len()), len(local.len())].concat();
    let end = [b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &sizes[..], &[0; 2]].concat();
    [local, entry, end].concat()
}

/// Five seconds of a market around 100 that moves a tick now and then, as hftbacktest's npz.
fn recording(folder: &Path) -> PathBuf {
    const BOTH: u64 = 0xc000_0000;
    const BUY: u64 = 1 << 29;
    const SELL: u64 = 1 << 28;
    let mut rows: Vec<u8> = Vec::new();
    let mut add = |ev: u64, at: i64, px: f64, qty: f64| {
        let fields = [
            ev | BOTH,
            at.cast_unsigned(),
            (at + 500_000).cast_unsigned(),
            px.to_bits(),
            qty.to_bits(),
            0,
            0,
            0,
        ];
        fields.iter().for_each(|field| rows.extend(field.to_le_bytes()));
    };
    let start = 1_700_000_000_000_000_000;
    let (mut bid, mut ask) = (100.0, 100.5);
    add(1 | BUY, start, bid, 2.0);
    add(1 | SELL, start, ask, 2.0);
    for step in 1_i64..500 {
        let at = start + step * 10_000_000;
        // A trade at each side in turn, and now and then a move.
        let (side, px) = if step % 2 == 0 { (BUY, ask) } else { (SELL, bid) };
        add(2 | side, at, px, 0.7);
        if step % 20 == 0 {
            let up = if step % 80 < 40 { 0.5 } else { -0.5 };
            add(1 | BUY, at, bid, 0.0);
            add(1 | SELL, at, ask, 0.0);
            (bid, ask) = (bid + up, ask + up);
            add(1 | BUY, at, bid, 2.0);
            add(1 | SELL, at, ask, 2.0);
        }
    }
    let descr = "[('ev', '<u8'), ('exch_ts', '<i8'), ('local_ts', '<i8'), ('px', '<f8'), \
                 ('qty', '<f8'), ('order_id', '<u8'), ('ival', '<i8'), ('fval', '<f8')]";
    let count = rows.len() / 64;
    let head = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({count},), }}\n");
    let head_len = u16::try_from(head.len()).expect("a short header").to_le_bytes();
    let npy = [b"\x93NUMPY\x01\0", &head_len[..], head.as_bytes(), &rows].concat();
    let path = folder.join("x.npz");
    std::fs::write(&path, zip("data.npy", &npy)).expect("a file");
    path
}

fn config(folder: &Path, text: &str) -> String {
    let path = folder.join("bt.toml");
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn touch_trades_and_every_file_says_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = recording(folder.path()).display().to_string();
    let config = config(folder.path(), CONFIG);
    let run = |out: &str| {
        let out = folder.path().join(out).display().to_string();
        let words = ["--config", &config, "--data", &data, "--json", "--out", &out];
        let output = backtest(&words);
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    let (first, second) = (run("one"), run("two"));
    assert_eq!(first, second, "the same run");
    assert_eq!(odd_json_keys(&first), [""; 0], "{first}");
    let json: Value = serde_json::from_str(&first).expect("JSON");
    let number = |path: &str| json.pointer(path).and_then(Value::as_u64).expect(path);
    let (sent, fills) = (number("/orders/sent"), number("/fills/count"));
    assert!(sent > 20 && fills > 10 && number("/orders/risk_rejects") == 0, "{json}");
    assert_eq!(number("/fills/maker") + number("/fills/taker"), fills, "{json}");
    assert_eq!(json["latency"]["entry_ns_mean"], 1_000_000.0);
    assert_eq!(json["latency"]["response_ns_mean"], 2_000_000.0);
    assert_eq!((json["end"].as_str(), json["currency"].as_str()), (Some("recording"), Some("USD")));
    let file = |run: &str, name: &str| {
        std::fs::read_to_string(folder.path().join(run).join(name)).expect(name)
    };
    for name in ["backtest.html", "backtest.json", "orders.csv", "fills.csv", "equity.csv"] {
        assert_eq!(file("one", name), file("two", name), "{name}");
    }
    assert_eq!(file("one", "backtest.json"), first);
    let lines = |name: &str| file("one", name).lines().count() as u64 - 1;
    assert_eq!((lines("orders.csv"), lines("fills.csv")), (sent, fills));
    assert_eq!(lines("equity.csv"), number("/samples"));
    for name in ["orders.csv", "fills.csv", "equity.csv"] {
        let text = file("one", name);
        let columns: Vec<usize> = text.lines().map(|line| line.matches(',').count()).collect();
        assert!(columns.windows(2).all(|pair| pair[0] == pair[1]), "{name}: {text}");
    }
    // What the table of trades adds up to is what the report says.
    let fees: f64 = file("one", "fills.csv")
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(8).expect("a fee").parse::<f64>().expect("a number"))
        .sum();
    assert!((fees - json["fees"].as_f64().expect("fees")).abs() < 1e-6, "{fees} {json}");
    let page = file("one", "backtest.html");
    assert_eq!(page.matches("<svg").count(), 6, "three drawings, each for two kinds of screens");
    assert!(!page.contains("NaN") && !page.contains("http"), "{page}");
    let out = folder.path().join("one").display().to_string();
    let again = backtest(&["--config", &config, "--data", &data, "--out", &out]);
    assert_eq!(again.status.code(), Some(2), "{}", said(&again));
    assert!(said(&again).contains("--overwrite"), "{}", said(&again));
}

#[test]
fn people_have_tables() {
    let folder = tempfile::tempdir().expect("a folder");
    recording(folder.path());
    let config = config(folder.path(), &format!("{CONFIG}[data]\nX = [\"x.npz\"]\n"));
    let output = backtest(&["--config", &config]);
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    assert!(output.status.success(), "{}", said(&output));
    for words in ["touch over 5 s of market data", "| profit after fees |", "| X |", "bp"] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[test]
fn wrong_use_ends_with_code_2_and_names_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = recording(folder.path()).display().to_string();
    let good = config(folder.path(), CONFIG);
    let wrong = folder.path().join("wrong.toml");
    std::fs::write(&wrong, CONFIG.replace("[latency]", "[latencies]")).expect("a file");
    let wrong = wrong.display().to_string();
    let fifo = folder.path().join("fifo.toml");
    std::fs::write(&fifo, format!("{CONFIG}[exchange]\nqueue = \"fifo\"\n")).expect("a file");
    let fifo = fifo.display().to_string();
    let cases: [(&[&str], &str); 7] = [
        (&[], "--config FILE names the backtest's settings"),
        (&["--config", "/nowhere.toml"], "/nowhere.toml"),
        (&["--config", &wrong, "--data", &data], "wrong.toml:9: latencies"),
        (&["--config", &good], "data.X: no recording is named"),
        (&["--config", &good, "--data", "/nowhere.npz"], "/nowhere.npz: cannot read it"),
        (&["--config", &good, "--data", &good], "no zip archive"),
        (&["--config", &fifo, "--data", &data], "exchange.queue = \"fifo\""),
    ];
    for (words, what) in cases {
        let output = backtest(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(said(&output).contains(what), "{words:?}: {}", said(&output));
        assert!(output.stdout.is_empty(), "{words:?}");
    }
}

#[test]
fn the_sample_is_a_file_of_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = backtest(&["sample"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success() && text.contains("[[instruments]]"), "{text}");
    let config = config(folder.path(), &text);
    let data = recording(folder.path()).display().to_string();
    let output = backtest(&["--config", &config, "--data", &data, "--json"]);
    assert!(output.status.success(), "{}", said(&output));
}
