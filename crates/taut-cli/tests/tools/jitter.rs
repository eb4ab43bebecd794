//! `taut jitter`: a row for each CPU, sums that add up, files, Ctrl-C.

use std::process::{Command, Output};

use serde_json::Value;
use taut_sys::{ProcessSignal, available_cpus, pin_to_cpu, signal_process};
use taut_testkit::{DEADLINE, Process, Run, Turn, odd_json_keys, until};

fn taut(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.arg("jitter").args(words);
    command
}

fn jitter(words: &[&str]) -> Output {
    taut(words).run()
}

/// That the sums of each CPU of a report add up, and the CPUs.
fn sums(text: &str) -> Vec<u64> {
    assert_eq!(odd_json_keys(text), [""; 0], "{text}");
    let json: Value = serde_json::from_str(text).expect("JSON");
    let seconds = json["seconds"].as_f64().expect("seconds");
    assert!(json["conditions"]["verdict"].is_string(), "{json}");
    let rows = json["cpus"].as_array().expect("rows");
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} in {json}"));
    for row in rows {
        let all = &row["hiccups_ns"];
        let (count, sum) = (number(&all["count"]), number(&all["sum"]));
        let causes = row["causes"].as_array().expect("causes");
        let total = |key: &str| causes.iter().map(|cause| number(&cause[key])).sum::<u64>();
        assert_eq!((total("count"), total("sum_ns")), (count, sum), "{row}");
        let above = row["above"].as_array().expect("lengths");
        let above: Vec<u64> = above.iter().map(|it| number(&it["count"])).collect();
        assert_eq!((above.len(), above[0]), (5, count), "{row}");
        assert!(above.is_sorted_by(|shorter, longer| shorter >= longer), "{row}");
        assert!(sum as f64 <= seconds * 1e9, "more was lost than there was: {row}");
        let worst = row["worst"].as_array().expect("worst");
        assert_eq!(worst.len() as u64, count.min(10), "{row}");
        if let Some(longest) = worst.first() {
            assert_eq!(longest["length_ns"], all["max"], "{row}");
        }
    }
    rows.iter().map(|row| number(&row["cpu"])).collect()
}

#[test]
fn every_cpu_has_its_row_its_log_and_its_curve() {
    let _turn = Turn::take();
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run").display().to_string();
    let output = jitter(&["--seconds", "1", "--json", "--out", &out]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("report: ") && said.contains("jitter.html"), "{said}");
    let text = String::from_utf8(output.stdout).expect("text");
    let cpus = sums(&text);
    let ours = available_cpus().expect("CPUs");
    assert_eq!(cpus, ours.iter().map(|cpu| *cpu as u64).collect::<Vec<_>>());
    let file =
        |name: &str| std::fs::read_to_string(folder.path().join("run").join(name)).expect("a file");
    assert_eq!(file("jitter.json"), text);
    let log = file("jitter.hlog");
    for cpu in &cpus {
        let tag = format!("Tag=cpu{cpu},");
        assert_eq!(log.lines().filter(|line| line.starts_with(&tag)).count(), 1, "{log}");
    }
    let page = file("jitter.html");
    // One drawing, for wide and for narrow screens.
    assert_eq!(page.matches("<svg").count(), 2);
    assert!(!page.contains("NaN") && !page.contains("http"), "{page}");
    let refused = jitter(&["--seconds", "1", "--out", &out]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("--overwrite"), "{said}");
}

/// Wherever it runs, it shares the CPU with the thread that spins there.
#[test]
fn a_busy_loop_on_the_cpus_is_a_cause_of_hiccups() {
    let _turn = Turn::take();
    let mut shell = Command::new("sh");
    let _busy = Process::start(shell.args(["-c", "while :; do :; done"]));
    let output = jitter(&["--seconds", "1", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = json["cpus"].as_array().expect("rows");
    let lost = |row: &Value| row["hiccups_ns"]["sum"].as_u64();
    let row = rows.iter().max_by_key(|row| lost(row)).expect("a CPU");
    let causes = row["causes"].as_array().expect("causes");
    let of = |name: &str| causes.iter().find(|it| it["cause"] == name).expect("a cause");
    assert!(of("descheduled")["sum_ns"].as_u64() > Some(10_000_000), "{row}");
    assert!(row["involuntary_switches"].as_u64() > Some(0), "{row}");
}

/// As an isolated CPU, which no shell has in its affinity.
#[test]
fn a_cpu_outside_the_affinity_can_be_named_and_is_not_there_by_default() {
    let _turn = Turn::take();
    let cpus = available_cpus().expect("CPUs");
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    let last_name = last.to_string();
    let runs: [(&[&str], usize); 2] = [(&[], first), (&["--cpus", &last_name], last)];
    std::thread::scope(|scope| {
        // A program that is started has the affinity of the thread that starts it.
        scope.spawn(|| {
            pin_to_cpu(first).expect("a CPU");
            for (words, cpu) in runs {
                let output = jitter(&[&["--seconds", "0.2", "--json"], words].concat());
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{words:?}: {said}");
                let text = String::from_utf8(output.stdout).expect("text");
                assert_eq!(sums(&text), [cpu as u64], "{words:?}");
            }
        });
    });
}

#[test]
fn people_have_tables_and_a_word_on_the_machine() {
    let _turn = Turn::take();
    let output = jitter(&["--seconds", "0.3", "--cpus", "0"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Where others have the CPU the run is over later.
    let title =
        text.lines().next().and_then(|line| line.strip_prefix("hiccups of 1 µs or more in "));
    let seconds = title.and_then(|rest| rest.strip_suffix(" s")?.parse::<f64>().ok());
    assert!(seconds.is_some_and(|seconds| seconds >= 0.3), "{text}");
    for words in ["| CPU | hiccups |", "conditions: "] {
        assert!(text.contains(words), "{words} in {text}");
    }
    // Heads, a line below them, a row: twice.
    assert_eq!(text.lines().filter(|line| line.starts_with('|')).count(), 6, "{text}");
}

#[test]
fn an_interrupt_ends_it_early_and_what_was_seen_is_told() {
    let _turn = Turn::take();
    let run = Process::start(&mut taut(&["--seconds", "3600", "--json"]));
    until("it says how far it is", DEADLINE, || run.stderr().contains("of 3600 s"));
    signal_process(run.id(), ProcessSignal::Interrupt).expect("a signal");
    let output = run.finish();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(!sums(&text).is_empty());
    assert!(text.contains("\"interrupted\":true"), "{text}");
}

#[test]
fn wrong_use_ends_with_code_2_and_names_flag_and_value() {
    for (words, told) in [
        (&["--seconds", "0"][..], "--seconds 0"),
        (&["--seconds", "nan"], "--seconds NaN"),
        (&["--cpus", "4095"], "--cpus 4095"),
        (&["--cpus", "a"], "--cpus <LIST>"),
        (&["--out", "/dev/null", "--seconds", "1"], "--out /dev/null"),
        (&["--overwrite"], "--out"),
    ] {
        let output = jitter(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(told) && output.stdout.is_empty(), "{words:?}: {said}");
    }
}
