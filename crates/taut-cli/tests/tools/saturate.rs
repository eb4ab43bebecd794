//! `taut saturate` on every channel between processes: the knee, the curves, and Ctrl-C.

use std::process::Command;

use serde_json::Value;
use taut_sys::{ProcessSignal, signal_process};
use taut_testkit::{DEADLINE, Process, odd_json_keys, own_address, until};

const TAUT: &str = env!("CARGO_BIN_EXE_taut");

fn start(arguments: &[&str]) -> Process {
    let mut command = Command::new(TAUT);
    Process::start(command.arg("saturate").args(arguments).env_remove("TAUT_CHANNEL"))
}

/// Every channel between processes, and whether its bytes pass a network interface.
fn channels() -> [(String, bool); 5] {
    let name = format!("test.saturate.{}", std::process::id());
    let at = own_address;
    let path = std::env::temp_dir().join(&name);
    [
        (format!("ipc:{name}"), false),
        (format!("aeron:udp?endpoint={}|stream-id=7", at()), true),
        (format!("lease:udp?endpoint={}", at()), true),
        (format!("tcp://{}?on-full=block", at()), true),
        (format!("ipc://{}?on-full=block", path.display()), false),
    ]
}

#[test]
fn every_channel_has_its_knee_and_all_five_curves() {
    let directory = tempfile::tempdir().expect("directory");
    for (at, (channel, has_wire)) in channels().iter().enumerate() {
        let page = directory.path().join(format!("{at}.html")).display().to_string();
        // Rates that any machine holds: what is shown is the matter here, not how much.
        let rates = ["--from", "1000", "--to", "2000", "--seconds", "0.1", "--p99-us", "1000000"];
        let more = ["--channel", channel, "--loss", "0.5", "--out", &page, "--json"];
        let output = start(&[&rates[..], &more].concat()).finish();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{channel}: {errors}");
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(odd_json_keys(&String::from_utf8_lossy(&output.stdout)), [""; 0]);
        assert!(found["knee_msgs_per_s"].as_u64() >= Some(1000), "{channel}: {found}");
        assert!(found["conditions"]["verdict"].is_string(), "{channel}: {found}");
        let steps = found["steps"].as_array().expect("steps");
        assert!(steps.len() >= 2, "{channel}: {found}");
        for step in steps {
            let value = |name: &str| step[name].as_f64().unwrap_or_else(|| panic!("{name}"));
            for shown in ["msgs_per_s", "memory_bytes"] {
                assert!(value(shown) > 0.0, "{channel}: {shown}: {step}");
            }
            for shown in ["p50", "p99", "p999"] {
                let ns = step["intended_ns"][shown].as_u64();
                assert!(ns > Some(0), "{channel}: {shown}: {step}");
            }
            // The kernel counts CPU time in hundredths of a second.
            assert!(value("cpus") >= 0.0, "{channel}: {step}");
            // A message of 70 bytes and its headers, there and back what acknowledges it.
            let wire = value("wire_bytes_per_message");
            assert!(!has_wire || (70.0..20_000.0).contains(&wire), "{channel}: {step}");
        }
        let html = std::fs::read_to_string(&page).expect("page");
        for title in ["messages received", "latency", "CPUs busy", "peak memory", "bytes on"] {
            assert!(html.contains(&format!("<h2>{title}")), "{channel}: {title}");
        }
        // Seven lines in five drawings, each with a point for each rate, for wide and for narrow
        // screens.
        assert_eq!(html.matches("<path").count(), 2 * 7, "{channel}");
        assert_eq!(html.matches("<circle").count(), 2 * 7 * steps.len(), "{channel}");
        assert!(html.contains("messages/s"), "{channel}: the knee in words");
    }
}

#[test]
fn an_interrupt_ends_the_search_and_both_its_processes() {
    let [(channel, _), ..] = channels();
    let channel = format!("{channel}.stop");
    let search = start(&["--channel", &channel, "--seconds", "600", "--json"]);
    let children = format!("/proc/{0}/task/{0}/children", search.id());
    let mut started: Vec<u32> = Vec::new();
    until("sender and receiver are started", DEADLINE, || {
        let text = std::fs::read_to_string(&children).unwrap_or_default();
        started = text.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect();
        started.len() == 2
    });
    signal_process(search.id(), ProcessSignal::Terminate).expect("signal");
    let output = search.finish();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty(), "no result");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("interrupted"), "{errors}");
    for id in started {
        assert!(!std::fs::exists(format!("/proc/{id}")).expect("look"), "{id} is left behind");
    }
}
