//! One table over all channels: `taut send` and `taut receive` with either side first, and a relay
//! that nobody waits for any more.

use std::collections::BTreeSet;
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use taut_sys::{monotonic, wait_readable};
use taut_types::Nanos;

const TAUT: &str = env!("CARGO_BIN_EXE_taut");

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(TAUT);
    command.args(arguments).env_remove("TAUT_CHANNEL").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start taut")
}

fn report(child: Child) -> Value {
    let output = child.wait_with_output().expect("output");
    let text = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).expect("JSON")
}

fn udp_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("socket");
    socket.local_addr().expect("address").port()
}

fn tcp_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listener");
    listener.local_addr().expect("address").port()
}

/// Every channel, as the sender and the receiver name it.
fn channels(turn: &str) -> Vec<(String, String)> {
    let name = format!("test.channels.{turn}.{}", std::process::id());
    let same = |uri: String| (uri.clone(), uri);
    let path = std::env::temp_dir().join(&name);
    let at = || format!("tcp://127.0.0.1:{}", tcp_port());
    let turned = at();
    vec![
        same(format!("ipc:{name}")),
        same(format!("aeron:udp?endpoint=127.0.0.1:{}|stream-id=7", udp_port())),
        same(format!("aeron:udp?endpoint=127.0.0.1:{}|stream-id=8|reliable=false", udp_port())),
        same(format!("lease:udp?endpoint=127.0.0.1:{}", udp_port())),
        same(at()),
        (format!("{turned}?connect"), format!("{turned}?bind")),
        same(format!("{}?pattern=pushpull&on-full=block", at())),
        same(format!("ipc://{}?on-full=block", path.display())),
    ]
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

const OF_RECEIVE: [&str; 10] = [
    "channel",
    "received",
    "lost",
    "duplicated",
    "out_of_order",
    "msgs_per_s",
    "latency_ns",
    "intended_ns",
    "context_switches",
    "cpu_seconds",
];
const OF_LATENCY: [&str; 8] = ["count", "min", "mean", "p50", "p99", "p999", "p9999", "max"];
const OF_SEND: [&str; 5] = ["channel", "sent", "back_pressured", "repaired", "seconds"];

#[test]
fn every_channel_carries_the_stream_whichever_side_starts_first() {
    for is_receiver_first in [true, false] {
        for (to, from) in channels(if is_receiver_first { "receiver" } else { "sender" }) {
            let directory = tempfile::tempdir().expect("directory");
            let csv = directory.path().join("lines.csv").display().to_string();
            let receive = ["receive", "--channel", &from, "--csv", &csv, "--json"];
            let send = ["send", "--channel", &to, "--rate", "5000", "--count", "400", "--json"];
            let (receiver, sender) = if is_receiver_first {
                let receiver = start(&receive);
                (receiver, start(&send))
            } else {
                let sender = start(&send);
                (start(&receive), sender)
            };
            let (sent, received) = (report(sender), report(receiver));
            assert_eq!(keys(&received), BTreeSet::from(OF_RECEIVE), "{from}");
            assert!(keys(&sent).is_superset(&BTreeSet::from(OF_SEND)), "{to}: {sent}");
            for latency in ["latency_ns", "intended_ns"] {
                assert_eq!(keys(&received[latency]), BTreeSet::from(OF_LATENCY), "{from}");
            }
            let count = |field: &str| received[field].as_u64().expect(field);
            check_lines(&csv, count("received"), &from);
            assert_eq!((sent["sent"].as_u64(), count("out_of_order")), (Some(400), 0), "{from}");
            assert_eq!(count("received") + count("lost"), 400, "{from}: {received}");
            // Leases and skipped gaps lose what the machine makes them lose; here that is little.
            assert!(count("lost") < 100 && count("duplicated") == 0, "{from}: {received}");
            if !from.starts_with("lease:") && !from.contains("reliable=false") {
                assert_eq!(count("lost"), 0, "{from}: {received}");
            }
        }
    }
}

/// A line for each message that came, with its number and three times that follow each other.
fn check_lines(file: &str, count: u64, channel: &str) {
    let text = std::fs::read_to_string(file).expect(channel);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("sequence,intended_ns,sent_ns,received_ns"), "{channel}");
    let mut sequences = BTreeSet::new();
    for line in lines {
        let numbers: Vec<u64> = line.split(',').map(|n| n.parse().expect("a number")).collect();
        let [sequence, intended, sent, received] = numbers[..] else { panic!("{channel}: {line}") };
        assert!(intended <= sent && sent <= received, "{channel}: {line}");
        assert!(sequence < 400 && sequences.insert(sequence), "{channel}: {line}");
    }
    assert_eq!(sequences.len() as u64, count, "{channel}");
}

/// CPU time so far, in hundredths of a second.
fn cpu_ticks(child: &Child) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("stat");
    let fields = stat[stat.rfind(')').expect("a name") + 1..].split_ascii_whitespace();
    fields.skip(11).take(2).map(|field| field.parse::<u64>().expect("ticks")).sum()
}

fn wait_for(span: Nanos, mut is_done: impl FnMut() -> bool) -> bool {
    let deadline = monotonic() + span;
    while monotonic() < deadline {
        if is_done() {
            return true;
        }
        let _ = wait_readable(&[], Some(Nanos::from_millis(10)));
    }
    false
}

#[test]
fn a_relay_costs_no_cpu_while_nothing_moves_and_ends_with_its_reader() {
    let name = format!("test.channels.relay.{}", std::process::id());
    let (near, far) = (format!("ipc:{name}.near"), format!("ipc:{name}.far"));
    let mut relay = start(&["relay", "--from", &near, "--to", &far, "--once", "--json"]);
    // One message waits for somebody to hear it: no reason to spin either.
    let send = ["send", "--channel", &near, "--count", "1", "--linger", "0.2", "--json"];
    let _ = start(&send).wait_with_output();
    wait_for(Nanos::from_millis(1_500), || false);
    let before = cpu_ticks(&relay);
    wait_for(Nanos::from_secs(1), || false);
    let spent = cpu_ticks(&relay) - before;
    assert!(spent < 30, "{spent} of 100 hundredths");
    drop(relay.stdout.take());
    let ended = wait_for(Nanos::from_secs(20), || relay.try_wait().expect("wait").is_some());
    let _ = relay.kill();
    let _ = relay.wait();
    assert!(ended, "it outlived who would read its report");
}
