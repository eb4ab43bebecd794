//! `taut send` and `taut receive` as a user runs them.

use serde_json::Value;
use taut_sys::{ProcessSignal, signal_process};

use super::command::{await_lines, count, ipc as uri, lease, report, start, taut};
use taut_testkit::Process;

fn refused(arguments: &[&str]) -> String {
    let output = start(arguments).finish();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn every_message_arrives_whichever_side_starts_first_and_however_it_waits() {
    for (turn, wait) in ["spin", "pause", "yield", "backoff", "block"].iter().enumerate() {
        let channel = uri(wait);
        let receive = ["receive", "--channel", &channel, "--wait", wait, "--json"];
        let stream = ["--rate", "5000", "--count", "500", "--wait", wait, "--json"];
        let send = [&["send", "--channel", &channel], &stream[..]].concat();
        let (receiver, sender) = if turn % 2 == 0 {
            let receiver = start(&receive);
            (receiver, start(&send))
        } else {
            let sender = start(&send);
            (start(&receive), sender)
        };
        let (sent, received) = (report(sender), report(receiver));
        assert_eq!((sent["sent"].as_u64(), sent["repaired"].as_u64()), (Some(500), Some(0)));
        assert_eq!(received["channel"], channel.as_str());
        let count = |field: &str| received[field].as_u64();
        let account =
            [count("received"), count("lost"), count("duplicated"), count("out_of_order")];
        assert_eq!(account, [Some(500), Some(0), Some(0), Some(0)], "{wait}");
        for latency in ["latency_ns", "intended_ns"] {
            assert_eq!(received[latency]["count"], 500);
            let at = |field: &str| received[latency][field].as_f64().expect(field);
            assert!(at("min") <= at("p50") && at("p50") <= at("p9999") && at("p9999") <= at("max"));
        }
    }
}

#[test]
fn full_speed_blocks_on_a_full_channel_and_loses_nothing() {
    let channel = format!("{}?capacity=4k", uri("full"));
    let receiver = start(&["receive", "--channel", &channel, "--json"]);
    let sender =
        start(&["send", "--channel", &channel, "--rate", "max", "--count", "50000", "--json"]);
    let (sent, received) = (report(sender), report(receiver));
    assert!(sent["back_pressured"].as_u64() > Some(0), "{sent}");
    assert_eq!((&received["received"], &received["lost"]), (&50_000.into(), &0.into()));
}

#[test]
fn the_channel_may_come_from_the_environment_and_the_lines_go_to_a_file() {
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("messages.csv");
    let channel = uri("csv");
    let mut receive = taut(&["receive", "--count", "10", "--json", "--csv"]);
    let receiver = Process::start(receive.arg(&file).env("TAUT_CHANNEL", &channel));
    let sent = report(start(&["send", "--channel", &channel, "--count", "10", "--json"]));
    assert_eq!(sent["sent"], 10);
    assert_eq!(report(receiver)["received"], 10);
    let text = std::fs::read_to_string(&file).expect("file");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("sequence,intended_ns,sent_ns,received_ns"));
    for (sequence, line) in lines.enumerate() {
        let numbers: Vec<u64> = line.split(',').map(|n| n.parse().expect("number")).collect();
        let [number, intended, sent, received] = numbers[..] else { panic!("{line}") };
        assert_eq!(number, sequence as u64);
        assert!(intended <= sent && sent <= received, "{line}");
    }
    assert_eq!(text.lines().count(), 11);
}

#[test]
fn pings_come_back() {
    let (there, back) = (uri("there"), uri("back"));
    let pong =
        start(&["receive", "--channel", &there, "--pong", "--reply-channel", &back, "--json"]);
    let ping = start(&[
        "send",
        "--channel",
        &there,
        "--ping",
        "--reply-channel",
        &back,
        "--rate",
        "max",
        "--count",
        "200",
        "--json",
    ]);
    let (sent, received) = (report(ping), report(pong));
    assert_eq!((&sent["unanswered"], &sent["round_trip_ns"]["count"]), (&0.into(), &200.into()));
    assert_eq!(received["received"], 200);
}

#[test]
fn raw_counts_any_message_and_leaves_stamps_and_losses_out() {
    let channel = uri("raw");
    let receiver = start(&["receive", "--channel", &channel, "--raw", "--count", "9", "--json"]);
    let sender = start(&["send", "--channel", &channel, "--count", "9", "--json"]);
    assert_eq!(report(sender)["sent"], 9);
    let received = report(receiver);
    assert_eq!((&received["received"], &received["lost"]), (&9.into(), &Value::Null));
    assert!(received["latency_ns"].is_null());
}

#[test]
fn seconds_end_a_stream_that_goes_on() {
    let channel = uri("seconds");
    let sender =
        start(&["send", "--channel", &channel, "--rate", "2000", "--count", "1200", "--json"]);
    let received = report(start(&["receive", "--channel", &channel, "--seconds", "0.2", "--json"]));
    let count = received["received"].as_u64().expect("count");
    assert!((1..1200).contains(&count), "{count}");
    // The sender goes on without subscribers, and ends.
    assert_eq!(report(sender)["sent"], 1200);
}

#[test]
fn a_relay_bridges_two_channels_and_ends_with_the_stream() {
    let (near, far) = (uri("near"), uri("far"));
    let receiver = start(&["receive", "--channel", &far, "--json"]);
    let relay = start(&["relay", "--from", &near, "--to", &far, "--once", "--counters", "--json"]);
    let sent = report(start(&["send", "--channel", &near, "--count", "300", "--json"]));
    let (received, relayed) = (report(receiver), report(relay));
    assert_eq!((&sent["sent"], &received["received"]), (&300.into(), &300.into()));
    // The announcement of the end travels too.
    assert!(relayed["relayed"].as_u64() >= Some(300), "{relayed}");
    assert_eq!((&received["lost"], &relayed["lost"]), (&0.into(), &0.into()));
    let counters = &relayed["counters"];
    assert_eq!(counters["from"]["received"], relayed["relayed"]);
    assert_eq!(counters["to"]["sent"], relayed["relayed"]);
    assert_eq!(relayed["subscribers"][0]["sent"], relayed["relayed"]);
}

#[test]
fn leased_udp_carries_the_stream_with_and_without_loss_and_a_late_sender() {
    let channel = lease("");
    for loss in ["0", "0.05"] {
        let receiver = start(&[
            "receive",
            "--channel",
            &channel,
            "--json",
            "--inject-loss",
            loss,
            "--seed",
            "3",
        ]);
        let sender =
            start(&["send", "--channel", &channel, "--rate", "5000", "--count", "2000", "--json"]);
        let (sent, received) = (report(sender), report(receiver));
        let count = |field: &str| count(&received, field);
        assert_eq!(sent["sent"], 2000);
        assert_eq!(count("received") + count("lost"), 2000, "{received}");
        if loss != "0" {
            assert!((20..300).contains(&count("lost")), "{received}");
        }
    }
}

#[test]
fn saturate_finds_a_knee_and_draws_the_curves() {
    let directory = tempfile::tempdir().expect("directory");
    let page = directory.path().join("curves.html");
    let channel = uri("saturate");
    let out = page.display().to_string();
    let found = report(start(&[
        "saturate",
        "--channel",
        &channel,
        "--from",
        "1000",
        "--to",
        "1500",
        "--seconds",
        "0.1",
        "--p99-us",
        "1000000",
        "--out",
        &out,
        "--json",
    ]));
    // On a busy machine the first rate may give way already.
    assert!(found["steps"].as_array().is_some_and(|steps| !steps.is_empty()), "{found}");
    assert!(found["full_speed"]["msgs_per_s"].as_f64() > Some(0.0));
    assert!(std::fs::read_to_string(&page).expect("page").contains("<svg"));
}

#[test]
fn bench_waits_measures_every_strategy_pinned_and_not() {
    let found = report(start(&["bench", "waits", "--seconds", "0.05", "--json"]));
    let runs = found["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 10);
    assert!(runs.iter().all(|run| run["latency_ns"]["p50"].as_u64() > Some(0)), "{found}");
    let verdict = found["conditions"]["verdict"].as_str().expect("a verdict");
    assert!(["quiet", "disturbed"].contains(&verdict), "{found}");
}

#[test]
fn wrong_use_ends_with_2_and_says_what_would_be_right() {
    for (arguments, expected) in [
        (&["send"][..], "give --channel or set TAUT_CHANNEL"),
        (&["send", "--channel", "icp:x"], "did you mean 'ipc'?"),
        (&["send", "--channel", "ipc:x", "--size", "23"], "must be 24 to"),
        (&["send", "--channel", "ipc:x", "--rate", "fast"], "must be `max` or"),
        (&["send", "--channel", "ipc:x", "--linger=-1"], "must be 0 to"),
        (&["send", "--channel", "ipc:x", "--inject-loss", "2"], "at least 0 and below 1"),
        (&["send", "--channel", "ipc:x", "--inject-loss", "0.1"], "on a channel over UDP"),
        (&["send", "--channel", "ipc:x", "--ping"], "--reply-channel"),
        (&["receive", "--channel", "ipc:x?capacity=3"], "a power of two"),
        (&["receive", "--channel", "ipc:x", "--cpu", "4095"], "--cpu 4095"),
        (&["receive", "--channel", "ipc:x", "--csv", "/nowhere/x"], "cannot be written"),
        (&["receive", "--channel", "ipc:x", "--seed", "1"], "--inject-loss"),
        (&["saturate", "--channel", "inproc:x"], "use ipc:NAME"),
        (&["send", "--channel", "inproc:x"], "use ipc:NAME"),
        (&["receive", "--channel", "inproc:x"], "use ipc:NAME"),
        (&["relay", "--from", "inproc:x", "--to", "ipc:x"], "use ipc:NAME"),
        (&["saturate", "--channel", "ipc:x", "--from", "9", "--to", "8"], "is above --to"),
        (&["relay", "--from", "ipc:x", "--to", "ipc:x/y"], "'x/y' is wrong"),
        (&["bench", "waits", "--seconds", "0"], "--seconds 0"),
    ] {
        let text = refused(arguments);
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
    let channel = uri("topic");
    let receiver = start(&["receive", "--channel", &channel, "--count", "1"]);
    let text = refused(&["send", "--channel", &channel, "--topic", "EUR"]);
    assert!(text.contains("no topics"), "{text}");
    assert_eq!(
        report(start(&["send", "--channel", &channel, "--count", "1", "--json"]))["sent"],
        1
    );
    assert!(receiver.finish().status.success());
}

#[test]
fn an_interrupt_ends_both_ends_with_their_reports() {
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("lines.csv").display().to_string();
    let channel = uri("stop");
    let receiver = start(&["receive", "--channel", &channel, "--csv", &file, "--json"]);
    let sender = start(&["send", "--channel", &channel, "--rate", "20000", "--json"]);
    await_lines(&file);
    signal_process(sender.id(), ProcessSignal::Terminate).expect("signal");
    let (sent, received) = (report(sender), report(receiver));
    assert_eq!(sent["sent"], received["received"]);
    assert_eq!(received["lost"], 0);
}
