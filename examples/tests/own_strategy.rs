//! The program of the project outside the workspace trades in every mode and leaves nothing behind,
//! and so does the strategy of docs/strategy.md. CI checks elsewhere, with all that stands outside,
//! that the project builds by itself, with taut alone: taut's crates are compiled anew for a
//! program of another workspace, which takes longer than all of this.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use taut::sys::{ProcessSignal, signal_process};
use taut_testkit::{DEADLINE, Process, until};

/// A flow that a debug build on a busy machine keeps up with.
const GENTLE: [&str; 2] = ["--simulator.commands_per_second", "2000"];
/// Marks every process of one run: children inherit it.
const MARK: &str = "OWN_STRATEGY_MARK";

/// A program of this package, which `cargo test` has built beside this one.
fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("a path");
    let folder = tests.parent().and_then(Path::parent).expect("a target folder");
    folder.join("examples").join(name)
}

/// A run with a mark of its own.
fn start(mark: &str, arguments: &[&str]) -> Process {
    start_program("own-strategy", mark, arguments)
}

fn start_program(name: &str, mark: &str, arguments: &[&str]) -> Process {
    Process::start(Command::new(program(name)).args(arguments).env(MARK, mark))
}

fn run(mark: &str, arguments: &[&str]) -> (Output, String) {
    finish(mark, start(mark, arguments))
}

fn finish(mark: &str, process: Process) -> (Output, String) {
    let output = process.finish();
    expect_nothing_left(mark);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    (output, said)
}

/// The processes that carry a mark.
fn marked(mark: &str) -> Vec<u32> {
    let entry = format!("{MARK}={mark}");
    let is_marked = |process: &u32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == entry.as_bytes())
    };
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(is_marked).collect()
}

fn expect_nothing_left(mark: &str) {
    until("every process has ended", DEADLINE, || marked(mark).is_empty());
    let files = fs::read_dir("/dev/shm").expect("/dev/shm").flatten();
    let left = files.filter(|file| file.file_name().to_string_lossy().contains("taut-run"));
    assert_eq!(left.count(), 0, "left in /dev/shm");
}

/// Held by tests of which each run wants both CPUs of a small machine.
static MACHINE: Mutex<()> = Mutex::new(());

/// Whether a run had orders. On a busy machine a second may bring few ticks, and no order: then it
/// is tried again.
fn has_orders(output: &Output, said: &str) -> bool {
    assert!(output.status.success(), "{said}");
    assert!(said.contains(" 0 lost"), "{said}");
    let orders = said.split(" orders").next().and_then(|text| text.rsplit(' ').next());
    orders.and_then(|count| count.parse::<u64>().ok()).expect("a count") > 0
}

#[test]
fn it_trades_in_every_mode_and_leaves_nothing() {
    let _own = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    for mode in ["split", "fused", "simulated"] {
        let arguments = [&["--mode", mode, "--seconds", "1"], &GENTLE[..]].concat();
        until("a run of a second has orders", DEADLINE, || {
            let (output, said) = run(mode, &arguments);
            assert!(said.contains(&format!("{mode} mode")), "{said}");
            has_orders(&output, &said)
        });
    }
}

/// A part of the page between these words.
fn of_page(from: &str, to: &str) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(here.join("../docs/strategy.md")).expect("the page");
    let start = page.find(from).expect(from);
    let len = page[start..].find(to).expect(to);
    page[start..start + len].to_owned()
}

#[test]
fn the_strategy_of_the_page_quotes_two_instruments_in_every_mode() {
    let _own = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let code = fs::read_to_string(here.join("strategy/maker.rs")).expect("the example");
    let of_page_alone = of_page("/// Quotes one lot in every instrument", "```");
    assert!(code.contains(&of_page_alone), "examples/strategy/maker.rs is not what the page says");
    let main = of_page("Runner::from_args().main(|_| Maker", " }`");
    assert!(code.contains(&main), "{main}");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("two.toml");
    fs::write(&file, of_page("# two.toml", "```")).expect("a file");
    let settings = ["--settings", file.to_str().expect("a name")];
    for (mode, seconds) in [("split", "1"), ("fused", "1"), ("simulated", "3")] {
        let mark = format!("maker-{mode}");
        let more = ["--mode", mode, "--seconds", seconds];
        let arguments = [&settings[..], &more, &GENTLE].concat();
        until("a run has orders", DEADLINE, || {
            let (output, said) = finish(&mark, start_program("maker", &mark, &arguments));
            // On virtual time every run is the same: it has traded both.
            let has_both = ["AAA at", "BBB at"].iter().all(|held| said.contains(held));
            assert!(has_both || mode != "simulated", "{said}");
            has_orders(&output, &said)
        });
    }
}

#[test]
fn a_wrong_setting_is_named_and_nothing_starts() {
    for (arguments, words) in [
        (["--mod", "split"], "did you mean `mode`?"),
        (["--simulator.sed", "1"], "did you mean `seed`?"),
        (["--parameters.size", "1"], "[parameters]: unknown field `size`"),
        (["--seconds", "0"], "seconds = 0: must be above 0"),
        (["--settings", "nowhere.toml"], "nowhere.toml"),
    ] {
        let (output, said) = run("wrong", &arguments);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_venue_that_does_not_run_is_named() {
    let text = "[venue]\norders = \"127.0.0.1:1\"\nincremental = \"239.255.84.87:19879\"\n\
                snapshot = \"239.255.84.87:19878\"\ntarget_comp_id = \"NOBODY\"\n";
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nobody.toml");
    fs::write(&file, text).expect("a file");
    let (output, said) = run("nobody", &["--settings", file.to_str().expect("a name")]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the gateway: order entry at 127.0.0.1:1"), "{said}");
}

#[test]
fn nothing_outlives_a_parent_that_is_killed() {
    let arguments = [&["--seconds", "600"], &GENTLE[..]].concat();
    let mut parent = start("killed", &arguments);
    // The parent, the venue, the strategy, the gateway.
    until("there are four processes", DEADLINE, || marked("killed").len() == 4);
    signal_process(parent.id(), ProcessSignal::Kill).expect("a signal");
    parent.end();
    expect_nothing_left("killed");
}

#[test]
fn an_interrupt_ends_a_run_in_good_order() {
    let arguments = [&["--seconds", "600"], &GENTLE[..]].concat();
    let parent = start("interrupted", &arguments);
    until("there are four processes", DEADLINE, || marked("interrupted").len() == 4);
    signal_process(parent.id(), ProcessSignal::Interrupt).expect("a signal");
    let output = parent.finish();
    assert!(output.status.success(), "{output:?}");
    expect_nothing_left("interrupted");
}
