//! Recorded order flow.

use std::fs;
use std::process::Command;

use crate::outcome::count;
use crate::support::{Demo, TAUT, shared_file};

/// The first rows of an hour.
const SHORT: &str = "data/lobster/AAPL_2012-06-21_message_10.first998.csv";
/// An hour.
const HOUR: &str = "data/lobster/AAPL_2012-06-21_34200000_37800000_message_50.csv";

#[test]
fn a_recording_at_full_speed_ends_with_its_file() {
    let Some(file) = shared_file(SHORT) else { return };
    for mode in ["split", "fused"] {
        let outcome = Demo::start(&["--data", &file, "--speed", "max", "--mode", mode]).finish();
        outcome.expect_sound();
        // Some rows move nothing, others need two commands.
        let rows = fs::read_to_string(&file).expect("read").lines().count() as u64;
        let commands = outcome.extra("venue_flow_commands");
        assert!(commands > rows * 9 / 10, "{commands} commands for {rows} rows");
        outcome.expect_said(&format!("{rows} rows"));
    }
}

#[test]
fn a_recording_at_its_own_pace_ends_with_the_time() {
    let Some(file) = shared_file(SHORT) else { return };
    let outcome = Demo::start(&["--data", &file, "--seconds", "1"]).finish();
    let result = outcome.expect_sound();
    assert!(count(&result, "orders") > 0, "{result}");
    let rows = fs::read_to_string(&file).expect("read").lines().count() as u64;
    assert!(outcome.extra("venue_flow_commands") < rows, "a second is not the whole file");
}

#[test]
fn a_relative_file_name_means_the_directory_of_the_command() {
    let directory = tempfile::tempdir().expect("directory");
    let rows = "34200.1,1,1,100,5853300,1\n34200.2,1,2,100,5853500,-1\n34200.3,3,1,100,5853300,1\n";
    fs::write(directory.path().join("TINY_rows.csv"), rows).expect("file");
    let mut command = Command::new("sh");
    let script = "cd \"$0\" && exec \"$1\" demo --json --data TINY_rows.csv --speed max --out out";
    command.args(["-c", script]).arg(directory.path()).arg(TAUT);
    let outcome = Demo::spawn(command).finish();
    outcome.expect_code(0);
    assert_eq!(count(&outcome.json(), "lost"), 0);
    assert!(directory.path().join("out/report.html").is_file());
}

#[test]
fn a_whole_hour_is_replayed() {
    if cfg!(debug_assertions) {
        println!("skipped: a whole hour takes an optimised build");
        return;
    }
    let Some(file) = shared_file(HOUR) else { return };
    for mode in ["split", "fused"] {
        let outcome = Demo::start(&["--data", &file, "--speed", "max", "--mode", mode]).finish();
        let result = outcome.expect_sound();
        for key in ["orders", "acks", "fills", "cancels"] {
            assert!(count(&result, key) > 0, "{key} in {result}");
        }
    }
}
