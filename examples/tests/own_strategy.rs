//! A project outside the workspace, with taut alone: it builds, it trades in every mode, and it
//! leaves nothing behind.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use taut::sys::{ProcessSignal, signal_process};
use taut_testkit::{DEADLINE, Process, until};

/// A flow that a debug build on a busy machine keeps up with.
const GENTLE: [&str; 2] = ["--simulator.commands_per_second", "2000"];
/// Marks every process of one run: children inherit it.
const MARK: &str = "OWN_STRATEGY_MARK";

/// The project's program, built once.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        // With the workspace's folder and its profile most of what it needs is compiled already.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("..");
        let mut cargo = Command::new(env!("CARGO"));
        // Build scripts look at these: what is compiled already would be compiled anew.
        for (name, _) in std::env::vars() {
            if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
                cargo.env_remove(name);
            }
        }
        let built = cargo
            .args(["build", "--quiet", "--config"])
            .arg(here.join("../Cargo.toml"))
            .arg("--manifest-path")
            .arg(here.join("own-strategy/Cargo.toml"))
            .arg("--target-dir")
            .arg(&target)
            .output()
            .expect("cargo starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        target.join("debug/own-strategy")
    })
}

/// A run with a mark of its own.
fn start(mark: &str, arguments: &[&str]) -> Process {
    Process::start(Command::new(program()).args(arguments).env(MARK, mark))
}

fn run(mark: &str, arguments: &[&str]) -> (Output, String) {
    let output = start(mark, arguments).finish();
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

fn expect_orders(said: &str) {
    let orders = said.split(" orders").next().and_then(|text| text.rsplit(' ').next());
    assert!(orders.and_then(|count| count.parse::<u64>().ok()) > Some(0), "{said}");
    assert!(said.contains(" 0 lost"), "{said}");
}

#[test]
fn it_trades_in_every_mode_and_leaves_nothing() {
    for mode in ["split", "fused", "simulated"] {
        let arguments = [&["--mode", mode, "--seconds", "1"], &GENTLE[..]].concat();
        let (output, said) = run(mode, &arguments);
        assert!(output.status.success(), "{said}");
        assert!(said.contains(&format!("{mode} mode")), "{said}");
        expect_orders(&said);
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
