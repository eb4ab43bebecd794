//! One table over all channels: `taut send` and `taut receive` with either side first, and a relay
//! that nobody waits for any more.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde_json::Value;
use taut_sys::monotonic;
use taut_testkit::{DEADLINE, Process, until};
use taut_types::Nanos;

use super::command::{aeron, count, ipc, lease, report, start, taut, tcp, unix};

/// Every channel, as the sender and the receiver name it.
fn channels(turn: &str) -> Vec<(String, String)> {
    let same = |uri: String| (uri.clone(), uri);
    let turned = tcp("");
    vec![
        same(ipc(turn)),
        same(aeron("|stream-id=7")),
        same(aeron("|stream-id=8|reliable=false")),
        same(lease("")),
        same(tcp("")),
        (format!("{turned}?connect"), format!("{turned}?bind")),
        same(tcp("?pattern=pushpull&on-full=block")),
        same(unix(turn, "?on-full=block")),
    ]
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

const OF_RECEIVE: [&str; 12] = [
    "channel",
    "received",
    "end_messages",
    "lost",
    "sent_before",
    "duplicated",
    "out_of_order",
    "msgs_per_s",
    "latency_ns",
    "intended_ns",
    "context_switches",
    "cpu_seconds",
];
const OF_LATENCY: [&str; 8] = ["count", "min", "mean", "p50", "p99", "p999", "p9999", "max"];
const OF_SEND: [&str; 6] =
    ["channel", "sent", "end_messages", "back_pressured", "repaired", "seconds"];

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
            let count = |field: &str| count(&received, field);
            check_lines(&csv, count("received"), &from);
            assert_eq!((sent["sent"].as_u64(), count("out_of_order")), (Some(400), 0), "{from}");
            let all = ["received", "lost", "sent_before"].map(count);
            assert_eq!(all.iter().sum::<u64>(), 400, "{from}: {received}");
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
fn cpu_ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("stat");
    let fields = stat[stat.rfind(')').expect("a name") + 1..].split_ascii_whitespace();
    fields.skip(11).take(2).map(|field| field.parse::<u64>().expect("ticks")).sum()
}

#[test]
fn a_relay_costs_no_cpu_while_nothing_moves_and_ends_with_its_reader() {
    let (near, far) = (ipc("relay.near"), ipc("relay.far"));
    let mut relay = taut(&["relay", "--from", &near, "--to", &far, "--once", "--json"]);
    let mut relay = relay.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("start taut");
    let its_reader = relay.stdout.take();
    let mut relay = Process::watch(relay, "taut relay".to_owned());
    // One message waits for somebody to hear it: no reason to spin either.
    let _ = start(&["send", "--channel", &near, "--count", "1", "--linger", "0.2"]).finish();
    // For a second it looks all the time, for it costs nothing but itself; then it sleeps.
    until("a second in which it costs next to nothing", DEADLINE, || {
        let (begun, before) = (monotonic(), cpu_ticks(relay.id()));
        until("a second passes", DEADLINE, || monotonic() - begun > Nanos::from_secs(1));
        cpu_ticks(relay.id()) - before < 30
    });
    drop(its_reader);
    // Nobody would read its report.
    let _ = relay.end();
}
