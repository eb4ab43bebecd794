//! Runs that go well.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::outcome::{Outcome, count};
use crate::support::{Demo, TAUT};
use keys::Keys;

const KEYS: [&str; 24] = [
    "mode",
    "seconds",
    "published",
    "ticks",
    "recovered",
    "lost",
    "orders",
    "acks",
    "order_rejects",
    "risk_rejects",
    "fills",
    "cancel_requests",
    "cancels",
    "cancel_rejects",
    "cancels_lost",
    "unanswered",
    "tick_to_trade_ns",
    "tick_to_send_ns",
    "stages_ns",
    "order_round_trip_ns",
    "bare_send_ns",
    "report",
    "machine",
    "conditions",
];
const STAGES: [&str; 9] = [
    "decode",
    "book",
    "publish",
    "to_strategy",
    "strategy",
    "to_gateway",
    "risk",
    "encode",
    "send",
];
const FIGURES: [&str; 8] = ["count", "sum", "min", "p50", "p99", "p999", "p9999", "max"];

#[test]
fn a_split_run_reports_all_that_is_documented() {
    let outcome = Demo::slow(&["--seconds", "1.5"]).finish();
    expect_complete(&outcome, "split");
    for process in ["venue (process ", "gateway (process ", "strategy (process "] {
        outcome.expect_said(process);
    }
}

#[test]
fn a_fused_run_reports_all_that_is_documented() {
    let outcome = Demo::slow(&["--seconds", "1.5", "--mode", "fused"]).finish();
    let result = expect_complete(&outcome, "fused");
    for process in ["venue (process ", "gateway+strategy (process "] {
        outcome.expect_said(process);
    }
    expect_no_way_to_the_strategy(&result);
}

#[test]
fn hundreds_of_instruments_trade() {
    // Their settings are longer than a message between the processes may be.
    let outcome = Demo::gentle(&["--seconds", "1", "--instruments", "400", "--levels", "10"]);
    let result = outcome.finish().expect_sound();
    assert!(count(&result, "orders") > 0 && count(&result, "published") > 0);
}

#[test]
fn every_way_to_wait_serves_both_modes() {
    for wait in ["spin", "yield", "block"] {
        let split = Demo::slow(&["--seconds", "0.7", "--wait", wait]).finish();
        assert!(count(&split.expect_sound(), "orders") > 0, "{wait}");
        split.expect_said(&format!(", {wait}"));
        let fused = Demo::slow(&["--seconds", "0.7", "--wait", wait, "--mode", "fused"]).finish();
        assert!(count(&fused.expect_sound(), "orders") > 0, "{wait}");
    }
}

#[test]
fn two_demos_do_not_disturb_each_other() {
    let one = Demo::gentle(&["--seconds", "1"]);
    let other = Demo::gentle(&["--seconds", "1", "--mode", "fused", "--seed", "2"]);
    for demo in [one, other] {
        assert!(count(&demo.finish().expect_sound(), "orders") > 0);
    }
}

#[test]
fn the_ends_of_what_may_be_asked_for_work() {
    let quiet = Demo::start(&["--seconds", "0.3", "--ticks", "1", "--levels", "10"]).finish();
    quiet.expect_sound();
    let deep = ["--seconds", "0.3", "--ticks", "2000", "--levels", "4000", "--rate", "1000000"];
    assert!(count(&Demo::start(&deep).finish().expect_sound(), "orders") > 0);
}

#[test]
fn a_report_replaces_the_one_before_only_when_told_and_keeps_what_else_is_there() {
    let directory = tempfile::tempdir().expect("directory");
    let out = directory.path().join("deep/report");
    fs::create_dir_all(&out).expect("directory");
    fs::write(out.join("run.json"), "old").expect("file");
    fs::write(out.join("mine.txt"), "mine").expect("file");
    let mut command = Command::new(TAUT);
    command.args(["demo", "--ticks", "2000", "--seconds", "0.3", "--out"]).arg(&out);
    let refused = Demo::answer(command);
    refused.expect_refused(2, &["--out", "run.json of another run", "--overwrite"]);
    assert_eq!(fs::read(out.join("run.json")).expect("read"), b"old");
    let mut command = Command::new(TAUT);
    command.args(["demo", "--ticks", "2000", "--seconds", "0.3", "--overwrite", "--out"]).arg(&out);
    let outcome = Demo::spawn(command).finish();
    outcome.expect_code(0);
    assert!(outcome.last_line().starts_with("report: /"), "without --json: {}", outcome.stdout);
    assert_eq!(fs::read_dir(&out).expect("list").count(), 4);
    assert_ne!(fs::read(out.join("run.json")).expect("read"), b"old");
}

#[test]
fn a_directory_of_any_name_takes_the_report() {
    let directory = tempfile::tempdir().expect("directory");
    let out = directory.path().join(OsStr::from_bytes(b"\xff \n\"<report>"));
    let trace = directory.path().join("trace.json");
    let mut command = Command::new(TAUT);
    command.args(["demo", "--json", "--ticks", "2000", "--seconds", "0.3", "--out"]).arg(&out);
    command.arg("--perfetto").arg(&trace);
    let outcome = Demo::spawn(command).finish();
    outcome.expect_code(0);
    assert_eq!(count(&outcome.json(), "lost"), 0);
    assert!(out.join("report.html").is_file());
    let of = |path: &Path| -> Value {
        serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
    };
    let run = of(&out.join("run.json"));
    let outliers = &run["outliers"];
    let kept = outliers["worst"].as_array().expect("orders").len();
    assert_eq!(kept as u64, count(outliers, "orders").min(50), "{outliers}");
    let trace = of(&trace);
    let events = &trace["traceEvents"];
    let orders = events.as_array().expect("events").iter();
    let orders = orders.filter(|it| it["cat"] == "order" && it["ph"] == "X" && it["pid"] == 2);
    assert!(orders.count() >= kept, "{events}");
}

/// Everything that a run of some seconds must show.
pub fn expect_complete(outcome: &Outcome, mode: &str) -> Value {
    let result = outcome.expect_sound();
    let keys: Keys = serde_json::from_str(outcome.last_line()).expect("an object");
    assert_eq!(keys.names(), KEYS);
    assert_eq!(result["mode"], mode);
    for key in ["orders", "acks", "fills", "cancels"] {
        assert!(count(&result, key) > 0, "{key} in {result}");
    }
    expect_stages_that_add_up(&keys, &result);
    let report = Path::new(result["report"].as_str().expect("a path"));
    assert!(report.is_absolute() && report.ends_with("work/report/report.html"), "{report:?}");
    outcome.expect_said("ticks/s");
    outcome.expect_said("market data: ");
    for heading in ["Clock ", "Placement ", "Machine ", "Conditions ", "tick to trade", "bare send"]
    {
        outcome.expect_said(heading);
    }
    // The flight recorder had every order that the histograms have.
    let run = outcome.run.as_deref().expect("run.json");
    let run: Value = serde_json::from_str(run).expect("JSON");
    let measured = count(&result["tick_to_trade_ns"], "count");
    assert_eq!(count(&run["outliers"], "orders"), measured, "{}", run["outliers"]);
    let verdict = result["conditions"]["verdict"].as_str().expect("a verdict");
    assert!(["quiet", "disturbed"].contains(&verdict), "{result}");
    let because = result["conditions"]["because"].as_array().expect("reasons");
    assert_eq!(because.is_empty(), verdict == "quiet", "{result}");
    result
}

/// A fused strategy is called where the ring would be written.
pub fn expect_no_way_to_the_strategy(result: &Value) {
    for stage in ["publish", "to_strategy"] {
        assert_eq!(count(&result["stages_ns"][stage], "sum"), 0, "{stage}: there is no such way");
    }
}

fn expect_stages_that_add_up(keys: &Keys, result: &Value) {
    assert_eq!(keys.of("stages_ns").names(), STAGES);
    for name in ["tick_to_trade_ns", "order_round_trip_ns", "bare_send_ns"] {
        assert_eq!(keys.of(name).names(), FIGURES, "{name}");
        assert!(count(&result[name], "count") > 0, "{name}");
    }
    let whole = &result["tick_to_trade_ns"];
    let mut sum = 0;
    for name in STAGES {
        let stage = &result["stages_ns"][name];
        assert_eq!(keys.of("stages_ns").of(name).names(), FIGURES, "{name}");
        assert_eq!(count(stage, "count"), count(whole, "count"), "{name}");
        sum += count(stage, "sum");
    }
    assert_eq!(sum, count(whole, "sum"), "the stages add up to tick-to-trade");
}

mod keys {
    //! The keys of JSON objects in the order of the text, which a parsed value forgets.

    use std::fmt;

    use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

    /// An object's keys, each with those of its value; a value that is no object has none.
    #[derive(Default)]
    pub struct Keys(Vec<(String, Keys)>);

    impl Keys {
        pub fn names(&self) -> Vec<&str> {
            self.0.iter().map(|(name, _)| name.as_str()).collect()
        }

        pub fn of(&self, name: &str) -> &Self {
            let found = self.0.iter().find(|(key, _)| key == name);
            found.map(|(_, keys)| keys).expect("a key of the object")
        }
    }

    struct Collect;

    impl<'de> Visitor<'de> for Collect {
        type Value = Keys;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
            let mut keys = Vec::new();
            while let Some(entry) = map.next_entry()? {
                keys.push(entry);
            }
            Ok(Keys(keys))
        }

        fn visit_bool<E>(self, _: bool) -> Result<Keys, E> {
            Ok(Keys::default())
        }

        fn visit_u64<E>(self, _: u64) -> Result<Keys, E> {
            Ok(Keys::default())
        }

        fn visit_f64<E>(self, _: f64) -> Result<Keys, E> {
            Ok(Keys::default())
        }

        fn visit_unit<E>(self) -> Result<Keys, E> {
            Ok(Keys::default())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Keys, A::Error> {
            while values.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Keys::default())
        }

        fn visit_str<E>(self, _: &str) -> Result<Keys, E> {
            Ok(Keys::default())
        }
    }

    impl<'de> Deserialize<'de> for Keys {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(Collect)
        }
    }
}
