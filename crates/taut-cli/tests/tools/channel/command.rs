//! The command, what it reports, and channels that no other test uses.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use taut_testkit::{DEADLINE, Process, odd_json_keys, own_address, until};

pub const TAUT: &str = env!("CARGO_BIN_EXE_taut");

/// The command. Both ends of a channel sleep while nothing comes, unless the test is about waiting:
/// other tests need the CPU.
pub fn taut(arguments: &[&str]) -> Command {
    let mut command = Command::new(TAUT);
    command.env_remove("TAUT_CHANNEL");
    let (verb, others) = arguments.split_first().expect("a verb");
    command.arg(verb);
    if matches!(*verb, "send" | "receive") && !arguments.contains(&"--wait") {
        command.args(["--wait", "backoff"]);
    }
    command.args(others);
    command
}

pub fn start(arguments: &[&str]) -> Process {
    Process::start(&mut taut(arguments))
}

pub fn send(channel: &str, more: &[&str]) -> Process {
    start(&[&["send", "--json", "--channel", channel], more].concat())
}

pub fn receive(channel: &str, more: &[&str]) -> Process {
    start(&[&["receive", "--json", "--channel", channel], more].concat())
}

/// The one line of JSON that a tool prints when it ends.
pub fn report(process: Process) -> Value {
    let output = process.finish();
    let text = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert_eq!((text.lines().count(), odd_json_keys(&text)), (1, Vec::new()), "{text}");
    serde_json::from_str(&text).expect("JSON")
}

pub fn count(report: &Value, field: &str) -> u64 {
    report[field].as_u64().unwrap_or_else(|| panic!("{field}: {report}"))
}

/// A channel over shared memory whose name no other test has.
pub fn ipc(name: &str) -> String {
    format!("ipc:test.cli.{name}.{}", std::process::id())
}

pub fn lease(more: &str) -> String {
    format!("lease:udp?endpoint={}{more}", own_address())
}

pub fn aeron(more: &str) -> String {
    format!("aeron:udp?endpoint={}{more}", own_address())
}

pub fn tcp(more: &str) -> String {
    format!("tcp://{}{more}", own_address())
}

/// A Unix socket.
pub fn unix(name: &str, more: &str) -> String {
    let name = format!("test.cli.{name}.{}", std::process::id());
    format!("ipc://{}{more}", std::env::temp_dir().join(name).display())
}

/// Waits until a receiver has written lines to the file of `--csv`, which it does for some
/// thousands of messages at a time.
pub fn await_lines(file: &str) {
    until("messages are received", DEADLINE, || {
        Path::new(file).metadata().is_ok_and(|file| file.len() > 0)
    });
}
