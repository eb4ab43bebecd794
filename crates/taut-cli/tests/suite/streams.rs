//! Readers that go away, and disks that are full.

use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, pipe};
use std::process::{Command, Stdio};

use taut_sys::ProcessSignal;

use crate::support::{Demo, SLOW, TAUT, send};

#[test]
fn a_reader_who_has_read_enough_is_no_failure() {
    let (reader, writer) = pipe().expect("pipe");
    let demo = Demo::spawn_with(short(), Some(writer.into()), None);
    assert!(first_line(reader).contains("\"mode\":\"split\""));
    let outcome = demo.finish();
    outcome.expect_code(0);
    assert_eq!(outcome.report.len(), 3);
}

#[test]
fn a_reader_who_is_gone_from_the_start_is_no_failure() {
    let outcome = Demo::spawn_with(short(), Some(unread()), None).finish();
    outcome.expect_code(0);
    assert_eq!(outcome.report.len(), 3);
}

#[test]
fn a_full_disk_below_standard_output_is_a_failure_that_names_the_report() {
    let full = File::options().write(true).open("/dev/full").expect("/dev/full");
    let outcome = Demo::spawn_with(short(), Some(full.into()), None).finish();
    outcome.expect_code(1);
    outcome.expect_said("standard output: No space left on device");
    outcome.expect_said("work/report/report.html");
    assert_eq!(outcome.report.len(), 3);
}

#[test]
fn nobody_needs_to_read_standard_error() {
    let outcome = Demo::spawn_with(short(), None, Some(unread())).finish();
    outcome.expect_sound();
    let full = File::options().write(true).open("/dev/full").expect("/dev/full");
    Demo::spawn_with(short(), None, Some(full.into())).finish().expect_sound();
}

#[test]
fn a_failure_keeps_its_exit_code_although_nobody_reads_why() {
    let mut command = Command::new(TAUT);
    command.args(["demo", "--seconds", "0"]);
    Demo::spawn_with(command, None, Some(unread())).finish().expect_code(2);
}

#[test]
fn nothing_survives_a_parent_of_whom_nobody_reads() {
    let demo = Demo::spawn_with(long(), Some(unread()), Some(unread()));
    demo.wait_until_all_run();
    send(demo.parent(), ProcessSignal::Kill);
    demo.finish().expect_nothing_written();
}

fn short() -> Command {
    demo(&["--seconds", "0.7"])
}

fn long() -> Command {
    demo(&["--seconds", "600"])
}

fn demo(arguments: &[&str]) -> Command {
    let mut command = Command::new(TAUT);
    command
        .args(["demo", "--json", "--out", "report", "--wait", "block"])
        .args(SLOW)
        .args(arguments);
    command
}

/// The writing end of a pipe that nobody reads.
fn unread() -> Stdio {
    let (reader, writer) = pipe().expect("pipe");
    drop(reader);
    writer.into()
}

/// Reads a line and goes away.
fn first_line(reader: PipeReader) -> String {
    let mut line = String::new();
    BufReader::new(reader).read_line(&mut line).expect("a line");
    line
}
