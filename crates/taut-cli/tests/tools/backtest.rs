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
    for name in ["orders", "fills", "positions", "equity"] {
        let read = |run: &str| {
            std::fs::read(folder.path().join(run).join(format!("{name}.parquet"))).expect(name)
        };
        assert!(read("one") == read("two") && read("one").starts_with(b"PAR1"), "{name}");
    }
    if let Some(found) = pyarrow(&folder.path().join("one")) {
        let (fees, samples) = (json["fees"].as_f64().expect("fees"), number("/samples"));
        assert_eq!(found, format!("{sent} {fills} {samples} {samples} {fees:.6}"));
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

/// What pyarrow finds in the tables of a result: rows of each, and the sum of the fees.
fn pyarrow(out: &Path) -> Option<String> {
    const SCRIPT: &str = "import sys\ntry: import pyarrow.parquet as pq\n\
        except ImportError: sys.exit(77)\n\
        t = {n: pq.read_table(f'{sys.argv[1]}/{n}.parquet') \
        for n in ['orders', 'fills', 'positions', 'equity']}\n\
        assert str(t['fills'].schema.field('heard').type) == 'timestamp[ns, tz=UTC]'\n\
        assert set(t['fills']['symbol'].to_pylist()) == {'X'}\n\
        assert t['orders']['sent'].null_count == 0\n\
        assert t['orders'].schema.metadata[b'taut.qty_exponent'] == b'-1'\n\
        print(*[x.num_rows for x in t.values()], f\"{sum(t['fills']['fee'].to_pylist()):.6f}\")";
    let python = std::env::var("TAUT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(&python).args(["-c", SCRIPT]).arg(out).output();
    let Some(output) = output.ok().filter(|it| it.status.code() != Some(77)) else {
        println!("skipped: no pyarrow for {python}");
        return None;
    };
    assert!(output.status.success(), "{}", said(&output));
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
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
        (&["--config", &good, "--data", &good], "what it is cannot be seen"),
        (&["--config", &fifo, "--data", &data], "exchange.queue = \"fifo\""),
    ];
    for (words, what) in cases {
        let output = backtest(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(said(&output).contains(what), "{words:?}: {}", said(&output));
        assert!(output.stdout.is_empty(), "{words:?}");
    }
}

/// Two instruments' worth of values: six runs.
const OVER: &str = "parameters.rate = [2, 50]\nparameters.rest_ms = { from = 100, to = 300, \
                    step = 100 }\n";

/// A sweep over the recording in a folder: its code, what it printed, what it told.
fn sweep(folder: &Path, out: &str, more: &[&str]) -> Output {
    let path = |name: &str| folder.join(name).display().to_string();
    let (config, over, out) = (path("bt.toml"), path("sweep.toml"), path(out));
    let words = ["sweep", "--config", &config, "--over", &over, "--out", &out];
    backtest(&[&words, more].concat())
}

fn sweep_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    recording(folder.path());
    config(folder.path(), &format!("{CONFIG}[data]\nX = [\"x.npz\"]\n"));
    std::fs::write(folder.path().join("sweep.toml"), OVER).expect("a file");
    folder
}

#[test]
fn a_sweep_has_the_same_results_on_any_number_of_threads_and_after_a_kill() {
    let folder = sweep_folder();
    let folder = folder.path();
    let output = sweep(folder, "one", &["--threads", "1", "--json", "--top", "2"]);
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(odd_json_keys(&text), [""; 0], "{text}");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&json["done"], &json["sweep"]["points"]), (&6.into(), &6.into()));
    assert_eq!(json["sweep"]["keys"][1], "parameters.rest_ms");
    let profit = |at: usize| json["best"][at]["report"]["profit"].as_f64().expect("profit");
    assert!(profit(0) >= profit(1) && json["best"].as_array().is_some_and(|it| it.len() == 2));
    let lines = |out: &str| std::fs::read_to_string(folder.join(out).join("sweep.jsonl"));
    let whole = lines("one").expect("results");
    assert_eq!(whole.lines().count(), 7);
    // A single run with the same settings says the same.
    let path = |name: &str| folder.join(name).display().to_string();
    let text = CONFIG.replace("rate = 50\nrest_ms = 200", "rate = 2\nrest_ms = 300");
    let single = format!("{text}[data]\nX = [\"x.npz\"]\n");
    std::fs::write(folder.join("single.toml"), single).expect("a file");
    let output = backtest(&["--config", &path("single.toml"), "--json"]);
    let single = String::from_utf8(output.stdout).expect("text");
    assert!(whole.lines().nth(3).is_some_and(|line| line.contains(single.trim_end())), "{whole}");
    assert!(sweep(folder, "three", &["--threads", "3"]).status.success());
    assert_eq!(lines("three").expect("results"), whole);
    let page = std::fs::read_to_string(folder.join("three/sweep.html")).expect("a page");
    assert!(page.contains("by parameters.rate and parameters.rest_ms"), "{page}");
    assert!(!page.contains("NaN") && !page.contains("http"), "{page}");
    // Killed in the middle of its fourth line, after two that came in another order.
    let all: Vec<&str> = whole.lines().collect();
    let torn = format!("{}\n{}\n{}\n{}", all[0], all[5], all[2], &all[3][..40]);
    std::fs::create_dir(folder.join("torn")).expect("a folder");
    std::fs::write(folder.join("torn/sweep.jsonl"), torn).expect("a file");
    let output = sweep(folder, "torn", &["--threads", "2", "--by", "sharpe"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("2 of 6 results are there already"), "{}", said(&output));
    assert_eq!(lines("torn").expect("results"), whole);
    // Of another sweep nothing is taken, and nothing is lost.
    let over = OVER.replace("50", "40");
    std::fs::write(folder.join("sweep.toml"), over).expect("a file");
    let output = sweep(folder, "torn", &[]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("the results of another sweep"), "{}", said(&output));
    assert_eq!(lines("torn").expect("results"), whole);
    assert!(sweep(folder, "torn", &["--overwrite"]).status.success());
    assert_ne!(lines("torn").expect("results"), whole);
}

#[test]
fn what_is_wrong_with_a_sweep_is_told_before_it_runs() {
    let folder = sweep_folder();
    let folder = folder.path();
    let refused = |more: &[&str], what: &str| {
        let output = sweep(folder, "out", more);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(what), "{}", said(&output));
        assert!(!folder.join("out").exists());
    };
    refused(&["--by", "profits"], "--by profits: no such figure; take one of drawdown_max,");
    refused(&["--threads", "0"], "--threads");
    std::fs::write(folder.join("sweep.toml"), "parameters.rat = [1]").expect("a file");
    refused(&[], "sweep.toml: parameters.rat = 1: ");
    let path = folder.join("bt.toml").display().to_string();
    let output = backtest(&["sweep", "--config", &path]);
    assert!(said(&output).contains("there is no [sweep] in it"), "{}", said(&output));
}

#[test]
fn two_results_stand_side_by_side() {
    let folder = sweep_folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let other = format!("{}[data]\nX = [\"x.npz\"]\n", CONFIG.replace("rate = 50", "rate = 2"));
    std::fs::write(folder.path().join("other.toml"), other).expect("a file");
    for (config, out) in [("bt.toml", "a"), ("other.toml", "b")] {
        let output = backtest(&["--config", &path(config), "--out", &path(out)]);
        assert!(output.status.success(), "{}", said(&output));
    }
    let (a, b, page) = (path("a"), path("b"), path("both.html"));
    let compared = |b: &str| {
        let output = backtest(&["compare", &a, b, "--json"]);
        let text = String::from_utf8(output.stdout.clone()).expect("text");
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(odd_json_keys(&text), [""; 0], "{text}");
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let same = compared(&a);
    assert_eq!((&same["is_same"], &same["first_fill_that_differs"]), (&true.into(), &Value::Null));
    let told = compared(&b);
    assert_eq!(told["is_same"], false);
    let number = told["first_fill_that_differs"]["number"].as_u64().expect("a number");
    let fills = std::fs::read_to_string(folder.path().join("a/fills.csv")).expect("trades");
    let line = usize::try_from(number).expect("a number");
    assert_eq!(told["first_fill_that_differs"]["a"].as_str(), fills.lines().nth(line));
    let figures = told["figures"].as_array().expect("figures");
    let sent = figures.iter().find(|it| it["name"] == "orders.sent").expect("orders");
    let of = |key: &str| sent[key].as_f64().expect("a number");
    assert!(of("difference") < 0.0 && of("a") + of("difference") == of("b"), "{sent}");
    let output = backtest(&["compare", &a, &b, "-o", &page]);
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    assert!(output.status.success() && text.contains("is the first that differs"), "{text}");
    let html = std::fs::read_to_string(&page).expect("a page");
    assert!(html.matches("<svg").count() == 2 && !html.contains("http"), "{html}");
    for (words, what) in [
        (&["compare", &a, &b, "-o", &page][..], "-f"),
        (&["compare", &a, "/nowhere"], "/nowhere/backtest.json"),
    ] {
        let output = backtest(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(said(&output).contains(what), "{words:?}: {}", said(&output));
    }
}

#[test]
fn latencies_are_drawn_from_the_histograms_of_a_run() {
    use taut_lat::{Recorder, Snapshot, View, new_words};
    let of = |value: u64| {
        let words = new_words();
        let mut recorder = Recorder::new(&words).expect("words");
        (0..100).for_each(|_| recorder.record(value));
        Snapshot::of(&View::new(&words).expect("words"))
    };
    let (before, trip) = (of(10_000), of(4_000_000));
    let all = [("tick_to_send", &before), ("order_round_trip", &trip)];
    let log = taut_report::run::histogram_log("a run", taut_types::Nanos(0), 1.0, all);
    let folder = sweep_folder();
    std::fs::write(folder.path().join("stages.hlog"), log.expect("a log")).expect("a file");
    let latency = "[latency]\nentry_ns = 1000000\nresponse_ns = 2000000\n";
    let drawn = CONFIG.replace(latency, "[latency]\nhistogram = \"stages.hlog\"\n");
    let path = config(folder.path(), &format!("{drawn}[data]\nX = [\"x.npz\"]\n"));
    let output = backtest(&["--config", &path, "--json"]);
    assert!(output.status.success(), "{}", said(&output));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mean = |key: &str| json["latency"][key].as_f64().expect("a mean");
    // A log keeps three digits.
    assert!((mean("entry_ns_mean") / 2_010_000.0 - 1.0).abs() < 0.005, "{json}");
    assert!((mean("response_ns_mean") / 2_000_000.0 - 1.0).abs() < 0.005, "{json}");
    std::fs::write(folder.path().join("stages.hlog"), "no log").expect("a file");
    let output = backtest(&["--config", &path]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("latency.histogram: "), "{}", said(&output));
}

#[test]
fn a_capture_runs_as_its_import_does() {
    use std::fmt::Write as _;
    let folder = tempfile::tempdir().expect("a folder");
    let (start, mut text) = (1_723_075_200_000_i64, String::new());
    let mut frame = |at: i64, event: &str, more: &str| {
        let (time, received) = (start + at, (start + at) * 1_000_000 + 700_000);
        writeln!(
            text,
            r#"{received} {{"stream":"x@{event}","data":{{"e":"{event}","E":{time},"T":{time},"#
        )
        .expect("text");
        text.pop();
        writeln!(text, r#""s":"X",{more}}}}}"#).expect("text");
    };
    for at in 0..300 {
        let (bid, ask) = (100 + at / 10 % 5, 101 + at / 10 % 5);
        let gone = r#",["100","0"],["101","0"],["102","0"],["103","0"],["104","0"],["105","0"]"#;
        let (more, id) = (if at % 10 == 0 { &gone[1..] } else { "" }, at + 1);
        let comma = if more.is_empty() { "" } else { "," };
        let [bids, asks] = [bid, ask].map(|price| format!(r#"[{more}{comma}["{price}","2"]]"#));
        let update = format!(r#""U":{id},"u":{id},"pu":{at},"b":{bids},"a":{asks}"#);
        frame(at * 10, "depthUpdate", &update);
        let price = if at % 2 == 0 { bid } else { ask };
        let trade = format!(r#""t":{id},"p":"{price}","q":"1.5","X":"MARKET","m":{}"#, at % 2 == 0);
        frame(at * 10 + 3, "trade", &trade);
    }
    std::fs::write(folder.path().join("capture"), text).expect("a file");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let config = config(folder.path(), CONFIG);
    let import = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(["import", &path("capture"), "-o", &path("x.npz")])
        .run();
    assert!(import.status.success(), "{}", said(&import));
    let [direct, through] = ["capture", "x.npz"].map(|name| {
        let output = backtest(&["--config", &config, "--data", &path(name), "--json"]);
        assert!(output.status.success(), "{}", said(&output));
        output.stdout
    });
    assert_eq!(direct, through);
    let json: Value = serde_json::from_slice(&direct).expect("JSON");
    assert!(json["fills"]["count"].as_u64().is_some_and(|it| it > 5), "{json}");
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
