//! A report of fixed histograms, and what holds for everything made of it.

use std::path::Path;

use taut_doctor::outliers::{Cause, CauseCount, Outlier, Outliers};
use taut_lat::{
    HISTOGRAM_WORDS, IntervalReader, PATH_WORDS, PathRecorder, PathSnapshot, PathView, Recorder,
    Snapshot, StageOffsets, View, new_words,
};
use taut_testkit::{Draw, Random};

use super::model::{Counts, Interval, Placement, Position, RunReport};
use super::{html, json, json_line, table};
use crate::conditions::Conditions;
use crate::machine::Machine;

/// `typical` give or take, and now and then much longer.
fn latency(random: &mut Random, typical: u64) -> u64 {
    let usual = typical * 3 / 4 + random.below(typical / 2 + 1) + random.below(typical / 8 + 1);
    match random.below(1_000) {
        0 => usual * (20 + random.below(60)),
        1..=12 => usual * (2 + random.below(4)),
        _ => usual,
    }
}

/// A histogram of `values`.
pub fn histogram_of(values: &[u64]) -> Snapshot {
    let words = new_words();
    let mut recorder = Recorder::new(&words).unwrap();
    values.iter().for_each(|&value| recorder.record(value));
    Snapshot::of(&View::new(&words).unwrap())
}

/// A split run of ten seconds and 5,000 orders.
pub fn sample_report() -> RunReport {
    const TYPICAL: [u64; 9] = [310, 120, 85, 240, 190, 260, 95, 210, 6_400];
    let words: Vec<_> = (0..PATH_WORDS / HISTOGRAM_WORDS).flat_map(|_| new_words()).collect();
    let mut recorder = PathRecorder::new(&words).unwrap();
    let view = PathView::new(&words).unwrap();
    let mut reader = IntervalReader::new();
    let mut random = Random::with_seed(0x5EED);
    let mut intervals = Vec::new();
    for second in 1..=10 {
        for _ in 0..500 {
            let mut end = 0;
            let ends = TYPICAL.map(|typical| {
                end += latency(&mut random, typical);
                end as u32
            });
            recorder.record(&StageOffsets::from_ends(ends));
        }
        let new = reader.next_interval(&view.tick_to_trade()).summary();
        let (p50, p99, max) = (new.p50, new.p99, new.max);
        intervals.push(Interval { t_seconds: f64::from(second), count: new.count, p50, p99, max });
    }
    let trips: Vec<u64> = (0..5_000).map(|_| latency(&mut random, 41_000)).collect();
    let sends: Vec<u64> = (0..5_000).map(|_| latency(&mut random, 6_100)).collect();
    RunReport {
        mode: "split".into(),
        seconds: 10.0,
        started_utc_ns: 1_795_172_103_000_000_000,
        command_line: "taut demo --seconds 10 --data 'a <b> & \"c\".csv'".into(),
        counts: sample_counts(),
        path: PathSnapshot::of(&view),
        order_round_trip: histogram_of(&trips),
        bare_send: histogram_of(&sends),
        intervals,
        placement: sample_placement(),
        positions: vec![Position {
            symbol: "A<PL".into(),
            quantity: "-35".into(),
            average_price: "585.33".into(),
            realised: "12.5".into(),
            unrealised: "-0.25".into(),
        }],
        profit: "12.25".into(),
        clock:
            "CLOCK_MONOTONIC by way of the TSC, mapped anew every 100 ms (largest error 38 ns), \
                from the return of the gateway's receive call to the return of its send call"
                .into(),
        machine: Machine {
            cpu: "AMD EPYC 7443P 24-Core Processor".into(),
            cores: 2,
            memory_bytes: 8_343_552_000,
            kernel: "6.1.0-31-amd64".into(),
            clock_source: "tsc".into(),
            virtualised: true,
        },
        conditions: Conditions::judge(
            Some(0.31),
            Some(0.0),
            [taut_types::Nanos(50_000), taut_types::Nanos(50_400)],
        ),
        notes: vec!["Market data went over multicast 239.255.0.1 on loopback.".into()],
        outliers: sample_outliers(),
    }
}

/// A run that measured nothing.
pub fn empty_report() -> RunReport {
    let nothing = Snapshot::new;
    RunReport {
        path: PathSnapshot {
            stages: std::array::from_fn(|_| nothing()),
            tick_to_send: nothing(),
            tick_to_trade: nothing(),
        },
        order_round_trip: nothing(),
        bare_send: nothing(),
        intervals: Vec::new(),
        positions: Vec::new(),
        counts: Counts::default(),
        outliers: Outliers::default(),
        ..sample_report()
    }
}

fn sample_outliers() -> Outliers {
    let worst = Outlier {
        order: "00G40R40M30E209185GR".into(),
        symbol: "TAUT1".into(),
        total_ns: 912_000,
        stages_ns: [310, 120, 85, 240, 190, 260, 95, 210, 910_490],
        held_by: "send".into(),
        excess_ns: 904_000,
        cause: Cause::NeighbourThread,
        by: Some("venue".into()),
        why: "the gateway waited 880 µs within 5.0 ms for its CPU, which the venue had".into(),
        ..Outlier::default()
    };
    let (cause, by) = (worst.cause, worst.by.clone());
    let causes = vec![CauseCount { cause, by, count: 1 }];
    Outliers { orders: 5_000, looks: 2_000, causes, worst: vec![worst], ..Outliers::default() }
}

#[test]
fn the_worst_orders_are_told_with_their_cause_everywhere() {
    let report = sample_report();
    let sentence = "the worst order waited for the venue's thread, which had its CPU";
    assert!(table(&report).contains(sentence), "{}", table(&report));
    assert!(table(&report).contains("912 µs 00G40R40M30E209185GR TAUT1: send 904 µs beyond"));
    let page = html::html(&report);
    assert!(page.contains("The worst orders") && page.contains("<b>910 µs</b>"));
    let run = json::run_json(&report, Path::new("/r"));
    let value: serde_json::Value = serde_json::from_str(&run).unwrap();
    assert_eq!(value["outliers"]["worst"][0]["cause"], "neighbour_thread");
    assert_eq!(value["outliers"]["sentence"], sentence);
    assert!(!html::html(&empty_report()).contains("The worst orders"));
}

fn sample_counts() -> Counts {
    Counts {
        published: 200_014,
        ticks: 199_990,
        recovered: 24,
        lost: 0,
        orders: 5_000,
        acks: 4_991,
        order_rejects: 9,
        risk_rejects: 3,
        fills: 1_204,
        cancel_requests: 3_410,
        cancels: 3_377,
        cancel_rejects: 33,
        cancels_lost: 0,
        unanswered: 0,
        extras: vec![("snapshots".into(), 41), ("<odd> name".into(), 1)],
    }
}

fn sample_placement() -> Vec<Placement> {
    [("venue", "0", "block", "10"), ("gateway", "0", "spin", "0")]
        .into_iter()
        .chain([("strategy", "1", "spin", "-20")])
        .map(|(process, cpu, wait, nice)| Placement {
            process: process.into(),
            cpu: cpu.into(),
            wait: wait.into(),
            nice: nice.into(),
            waited_percent: (process == "strategy").then_some(1.25),
        })
        .collect()
}

/// The keys of the outermost object of `json`, in the order of the text.
fn keys(json: &str) -> Vec<String> {
    let json = json.replace("\\\"", "'"); // so that every quote begins or ends a string
    let (mut depth, mut keys) = (0, Vec::new());
    let mut parts = json.split('"');
    while let Some(outside) = parts.next() {
        depth += outside.matches(['{', '[']).count();
        depth -= outside.matches(['}', ']']).count();
        let Some(text) = parts.next() else { break };
        // A string of the outermost object that is no value.
        if depth == 1 && !outside.trim_end().ends_with(':') {
            keys.push(text.to_owned());
        }
    }
    keys
}

#[test]
fn the_json_line_has_exactly_the_promised_keys_in_order() {
    let line = json_line(&sample_report(), Path::new("/runs/1/report.html"));
    assert!(!line.contains('\n'));
    let expected = "mode seconds published ticks recovered lost orders acks order_rejects \
                    risk_rejects fills cancel_requests cancels cancel_rejects cancels_lost \
                    unanswered tick_to_trade_ns tick_to_send_ns stages_ns order_round_trip_ns \
                    bare_send_ns report machine conditions";
    assert!(keys(&line).into_iter().eq(expected.split_whitespace()), "{line}");
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value["report"], "/runs/1/report.html");
    assert_eq!(value["bare_send_ns"]["count"], 5_000);

    let stages = &line[line.find("\"stages_ns\":").unwrap() + "\"stages_ns\":".len()..];
    let stages = keys(&stages[..stages.find("}}").unwrap() + 2]);
    let names = "decode book publish to_strategy strategy to_gateway risk encode send";
    assert!(stages.into_iter().eq(names.split(' ')));
    let figures = &line[line.find("\"bare_send_ns\":").unwrap() + "\"bare_send_ns\":".len()..];
    let figures = keys(&figures[..=figures.find('}').unwrap()]);
    assert!(figures.into_iter().eq("count sum min p50 p99 p999 p9999 max".split(' ')));
}

#[test]
fn the_sums_of_the_stages_add_up_in_the_json_line() {
    let line = json_line(&sample_report(), Path::new("/r"));
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    let stages = value["stages_ns"].as_object().unwrap();
    let sum: u64 = stages.values().map(|stage| stage["sum"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), value["tick_to_trade_ns"]["sum"].as_u64());
}

#[test]
fn run_json_starts_with_the_json_line_and_adds_the_rest() {
    let report = sample_report();
    let (line, run) =
        (json_line(&report, Path::new("/r")), json::run_json(&report, Path::new("/r")));
    let (line_keys, run_keys) = (keys(&line), keys(&run));
    assert_eq!(run_keys[..line_keys.len()], line_keys);
    let rest = "started_at command_line intervals_ns extras placement positions profit clock \
                notes outliers";
    assert!(run_keys[line_keys.len()..].iter().eq(rest.split(' ')), "{run_keys:?}");
    let value: serde_json::Value = serde_json::from_str(&run).unwrap();
    assert_eq!(value["intervals_ns"].as_array().unwrap().len(), 10);
    assert_eq!(value["started_at"], "2026-11-20 10:55:03 UTC");
}

#[test]
fn every_key_is_one_word_also_of_a_counter_that_has_several() {
    fn keys_of(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(object) => {
                for (key, value) in object {
                    found.push(key.clone());
                    keys_of(value, found);
                }
            }
            serde_json::Value::Array(values) => {
                values.iter().for_each(|value| keys_of(value, found));
            }
            _ => {}
        }
    }
    let mut report = sample_report();
    report.counts.extras = vec![("venue: news by line A".into(), 7)];
    let value = serde_json::from_str(&json::run_json(&report, Path::new("/r"))).unwrap();
    let mut keys = Vec::new();
    keys_of(&value, &mut keys);
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    assert!(keys.iter().all(|key| key.chars().all(is_word)), "{keys:?}");
    assert_eq!(value["extras"]["venue_news_by_line_a"], 7);
}

#[test]
fn table_page_and_json_say_whether_the_run_was_quiet() {
    let mut report = sample_report();
    let words = "disturbed, because other programs had 0.31 CPUs";
    assert!(table(&report).contains("Conditions  disturbed, because other programs had 0.31 CPUs"));
    assert!(html::html(&report).contains(words));
    let json = |report: &RunReport| -> serde_json::Value {
        serde_json::from_str(&json_line(report, Path::new("/r"))).unwrap()
    };
    let value = json(&report);
    assert_eq!(value["conditions"]["verdict"], "disturbed");
    assert_eq!(value["conditions"]["because"][0], "other programs had 0.31 CPUs");
    report.conditions = Conditions::judge(Some(0.0), Some(0.0), report.conditions.floors);
    assert!(table(&report).contains("Conditions  quiet (other programs 0.00 CPUs"));
    assert!(html::html(&report).contains("The machine was quiet ("));
    assert_eq!(json(&report)["conditions"]["verdict"], "quiet");
}

#[test]
fn equal_runs_give_equal_bytes() {
    let (first, second) = (sample_report(), sample_report());
    assert_eq!(html::html(&first), html::html(&second));
    assert_eq!(super::hlog::hlog(&first).unwrap(), super::hlog::hlog(&second).unwrap());
    assert_eq!(table(&first), table(&second));
}

#[test]
fn the_page_refers_to_nothing_outside_itself() {
    let page = html::html(&sample_report());
    for reference in ["http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link"] {
        assert!(!page.contains(reference), "{reference}");
    }
}

#[test]
fn the_page_escapes_what_it_is_given() {
    let page = html::html(&sample_report());
    assert!(page.contains("--data 'a &lt;b&gt; &amp; &quot;c&quot;.csv'"));
    assert!(page.contains("&lt;odd&gt; name"));
}

#[test]
fn the_page_is_well_formed() {
    for report in [sample_report(), empty_report()] {
        let page = html::html(&report);
        let mut open: Vec<&str> = Vec::new();
        for tag in page.split('<').skip(1) {
            let tag = &tag[..tag.find('>').unwrap()];
            let name = tag.split([' ', '/']).next().unwrap();
            match tag {
                "!DOCTYPE html" => {}
                tag if tag.starts_with('/') => assert_eq!(open.pop(), Some(&tag[1..])),
                tag if tag.ends_with('/') || name == "meta" => {}
                _ => open.push(name),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }
}

#[test]
fn the_table_fits_in_100_columns_and_has_every_stage() {
    for report in [sample_report(), empty_report()] {
        let text = table(&report);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        for named in report.stages().chain(report.wholes()) {
            assert!(text.contains(named.label), "{}", named.label);
        }
    }
}

#[test]
fn many_positions_are_shown_in_part_and_their_profit_in_whole() {
    let mut report = sample_report();
    assert!(table(&report).contains("A<PL -35 at 585.33, profit realised 12.5, open -0.25"));
    report.positions = vec![report.positions[0].clone(); 100];
    let text = table(&report);
    assert_eq!(text.matches("A<PL -35").count(), 8);
    assert!(text.contains("and 92 more; profit in all 12.25"), "{text}");
    assert_eq!(html::html(&report).matches("A&lt;PL").count(), 100);
    assert!(!table(&empty_report()).contains("profit in all"));
}

#[test]
fn counts_that_do_not_add_up_are_called_out() {
    let mut report = sample_report();
    assert!(!table(&report).contains("does not equal"));
    report.counts.acks -= 1;
    assert!(
        table(&report).contains("orders 5,000 but does not equal acks 4,990 + order rejects 9")
    );
    assert!(html::html(&report).contains("<li class=\"bad\">"));
}
