//! Every flag of `taut send` and `taut receive` does what its help says, on every channel that it
//! belongs to.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use taut_channel::{Action, Opening, Subscription};
use taut_sys::{ProcessSignal, monotonic, signal_process, utc, wait_readable};
use taut_types::Nanos;

const TAUT: &str = env!("CARGO_BIN_EXE_taut");

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(TAUT);
    command.args(arguments).env_remove("TAUT_CHANNEL").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start taut")
}

fn send(channel: &str, more: &[&str]) -> Child {
    start(&[&["send", "--json", "--channel", channel], more].concat())
}

fn receive(channel: &str, more: &[&str]) -> Child {
    start(&[&["receive", "--json", "--channel", channel], more].concat())
}

fn finish(child: Child) -> Output {
    child.wait_with_output().expect("output")
}

fn report(child: Child) -> Value {
    let output = finish(child);
    let text = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).expect("JSON")
}

fn count(report: &Value, field: &str) -> u64 {
    report[field].as_u64().unwrap_or_else(|| panic!("{field}: {report}"))
}

fn udp_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("socket");
    socket.local_addr().expect("address").port()
}

fn tcp_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listener");
    listener.local_addr().expect("address").port()
}

/// A channel of each kind between processes, which blocks where it can.
fn channels(name: &str) -> [String; 5] {
    let name = format!("test.flags.{name}.{}", std::process::id());
    let path = std::env::temp_dir().join(&name);
    [
        format!("ipc:{name}"),
        format!("aeron:udp?endpoint=127.0.0.1:{}|stream-id=7", udp_port()),
        format!("lease:udp?endpoint=127.0.0.1:{}", udp_port()),
        format!("tcp://127.0.0.1:{}?on-full=block", tcp_port()),
        format!("ipc://{}?on-full=block", path.display()),
    ]
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = monotonic() + Nanos::from_secs(20);
    while !holds() {
        assert!(monotonic() < deadline, "{what}: not within 20 s");
    }
}

/// A subscription of this process, to be slow with.
fn subscription(channel: &str) -> Subscription {
    let opening = Opening { now: monotonic(), ..Opening::default() };
    Subscription::open(&channel.parse().expect(channel), &opening).expect(channel)
}

fn await_image(subscription: &mut Subscription) {
    until("an image", || {
        // A message that comes with it is left for later.
        subscription.poll_controlled(monotonic(), 1, |_| Action::Abort);
        subscription.image_count() > 0
    });
}

/// What a command says first on standard error.
fn first_word(child: &mut Child) -> String {
    let mut line = String::new();
    let mut errors = BufReader::new(child.stderr.take().expect("its errors"));
    errors.read_line(&mut line).expect("a line");
    // What it says later goes nowhere.
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    line.trim().to_owned()
}

#[test]
fn port_0_picks_a_port_and_prints_it() {
    for (is_receiver_bound, bound, place) in [
        (true, "aeron:udp?endpoint=127.0.0.1:0|stream-id=7", "endpoint=127.0.0.1:0"),
        (true, "tcp://127.0.0.1:0?bind", "127.0.0.1:0"),
        (false, "tcp://127.0.0.1:0", "127.0.0.1:0"),
        (false, "lease:udp?endpoint=127.0.0.1:0", "endpoint=127.0.0.1:0"),
    ] {
        let stream = ["--count", "20"];
        let mut first = if is_receiver_bound { receive(bound, &[]) } else { send(bound, &stream) };
        let said = first_word(&mut first);
        let (_, at) = said.split_once(" at ").unwrap_or_else(|| panic!("{bound}: {said}"));
        let (_, port) = at.rsplit_once(':').expect("a port");
        assert_ne!(port.parse::<u16>().expect("a number"), 0, "{said}");
        let real = bound.replace(place, &place.replace(":0", &format!(":{port}")));
        let (sent, received) = if is_receiver_bound {
            let sent = report(send(&real.replace("?bind", "?connect"), &stream));
            (sent, report(first))
        } else {
            let received = report(receive(&real, &[]));
            (report(first), received)
        };
        assert_eq!((count(&sent, "sent"), count(&received, "received")), (20, 20), "{bound}");
    }
}

#[test]
fn send_returns_when_every_subscriber_has_everything() {
    for channel in channels("drain") {
        // Nobody waits for a lease's subscriber: the channel does not know what it has.
        if channel.starts_with("lease") {
            continue;
        }
        let mut slow = subscription(&channel);
        let more = ["--count", "3000", "--size", "1000", "--rate", "max", "--linger", "60"];
        let mut sender = send(&channel, &more);
        await_image(&mut slow);
        let _ = wait_readable(&[], Some(Nanos::from_millis(300)));
        assert!(sender.try_wait().expect("wait").is_none(), "{channel}: nobody has read yet");
        let mut got = 0;
        until("everything", || {
            slow.poll(monotonic(), 100, |_| got += 1);
            // The end of the stream is a message more.
            got == 3001
        });
        until("its end", || {
            slow.poll(monotonic(), 100, |_| unreachable!("that was all"));
            sender.try_wait().expect("wait").is_some()
        });
        assert_eq!(count(&report(sender), "sent"), 3000, "{channel}");
    }
}

#[test]
fn what_is_not_taken_within_linger_is_told() {
    for channel in channels("linger") {
        if channel.starts_with("lease") {
            continue;
        }
        // A socket of small buffers, where there is one: what the kernel took is not known missing.
        let small = if channel.contains("tcp") { "&so-sndbuf=4k&so-rcvbuf=4k" } else { "" };
        let channel = format!("{channel}{small}");
        let mut deaf = subscription(&channel);
        let sender = send(&channel, &["--count", "900", "--rate", "max", "--linger", "0.3"]);
        await_image(&mut deaf);
        let begun = monotonic();
        let output = finish(sender);
        let errors = String::from_utf8_lossy(&output.stderr);
        // A Unix socket holds all of it, and whether it was read is not known.
        let (code, word) = match channel.starts_with("ipc:/") {
            true => (0, "did not end within --linger 0.3 s"),
            false => (1, "not acknowledged within --linger 0.3 s"),
        };
        assert_eq!(output.status.code(), Some(code), "{channel}: {errors}");
        assert!(errors.contains(word), "{channel}: {errors}");
        assert!(monotonic() - begun < Nanos::from_secs(10), "{channel}");
    }
}

#[test]
fn no_wait_begins_though_nobody_listens() {
    for channel in channels("no-wait") {
        let begun = monotonic();
        let more = ["--no-wait", "--count", "50", "--rate", "max", "--linger", "1"];
        assert_eq!(count(&report(send(&channel, &more)), "sent"), 50, "{channel}");
        assert!(monotonic() - begun < Nanos::from_secs(15), "{channel}");
    }
}

#[test]
fn without_it_send_waits_for_its_first_subscriber_and_an_interrupt_ends_that() {
    let all = channels("wait");
    let senders = all.each_ref().map(|channel| send(channel, &["--count", "5"]));
    for (channel, mut sender) in all.iter().zip(senders) {
        // After two seconds it says what it is at.
        let errors = BufReader::new(sender.stderr.take().expect("its errors"));
        let mut lines = errors.lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "waiting for a subscriber ..."), "{channel}");
        assert!(sender.try_wait().expect("wait").is_none(), "{channel}");
        signal_process(sender.id(), ProcessSignal::Terminate).expect("signal");
        assert!(lines.any(|line| line.contains("no subscriber came")), "{channel}");
        assert_eq!(finish(sender).status.code(), Some(1), "{channel}");
    }
}

#[test]
fn stamps_are_utc_on_both_ends_when_that_is_asked() {
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("utc.csv").display().to_string();
    let [channel, ..] = channels("utc");
    let before = utc().0;
    let receiver = receive(&channel, &["--clock", "utc", "--csv", &file]);
    let sender = send(&channel, &["--clock", "utc", "--count", "20", "--rate", "2000"]);
    assert_eq!(count(&report(sender), "sent"), 20);
    let received = report(receiver);
    assert!(received["latency_ns"]["max"].as_i64() < Some(10_000_000_000), "{received}");
    let text = std::fs::read_to_string(file).expect("file");
    for line in text.lines().skip(1) {
        let stamps = line.split(',').skip(1).map(|stamp| stamp.parse::<i64>().expect("a number"));
        assert!(stamps.clone().all(|stamp| (before..=utc().0).contains(&stamp)), "{line}");
    }
    assert_eq!(text.lines().count(), 21);
}

#[test]
fn both_ends_run_on_the_cpu_and_with_the_priority_that_was_asked_for() {
    let [channel, ..] = channels("fifo");
    let thread = ["--cpu", "0", "--fifo", "1", "--wait", "block"];
    let mut sender =
        send(&channel, &[&thread[..], &["--count", "100000", "--rate", "100"]].concat());
    let receiver = receive(&channel, &[&thread[..], &["--count", "1"]].concat());
    let _ = wait_readable(&[], Some(Nanos::from_millis(300)));
    if let Some(status) = sender.try_wait().expect("wait") {
        let errors = String::from_utf8_lossy(&finish(sender).stderr).into_owned();
        assert_eq!(status.code(), Some(2), "{errors}");
        assert!(errors.contains("needs root or CAP_SYS_NICE"), "{errors}");
        println!("skipped: no right to SCHED_FIFO here");
        let _ = finish(receiver);
        return;
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", sender.id())).expect("stat");
    let fields = stat[stat.rfind(')').expect("a name") + 2..].split_ascii_whitespace();
    // rt_priority and policy: fields 40 and 41 of proc(5), counted from the state, the third.
    let tuned: Vec<&str> = fields.skip(37).take(2).collect();
    assert_eq!(tuned, ["1", "1"], "priority 1 of SCHED_FIFO: {stat}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", sender.id())).expect("status");
    let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    assert_eq!(cpus.map(str::trim), Some("0"));
    signal_process(sender.id(), ProcessSignal::Terminate).expect("signal");
    assert!(count(&report(sender), "sent") > 0);
    assert_eq!(count(&report(receiver), "received"), 1);
}

#[test]
fn a_topic_reaches_those_who_subscribed_to_it_and_nobody_else() {
    let channel = format!("tcp://127.0.0.1:{}", tcp_port());
    let subscribed = |prefix: &str| format!("{channel}?subscribe={prefix}");
    let other = receive(&subscribed("USD"), &[]);
    let wanted = receive(&subscribed("EUR"), &[]);
    let everything = receive(&channel, &["--count", "1"]);
    let sender = send(&channel, &["--topic", "EURUSD", "--count", "300", "--rate", "2000"]);
    let sent = report(sender);
    assert_eq!(count(&sent, "sent"), 300);
    // What was sent before it came counts as lost.
    let wanted = report(wanted);
    assert_eq!(count(&wanted, "received") + count(&wanted, "lost"), 300, "{wanted}");
    assert!(count(&wanted, "received") > 0, "{wanted}");
    signal_process(everything.id(), ProcessSignal::Terminate).expect("signal");
    let _ = report(everything);
    signal_process(other.id(), ProcessSignal::Terminate).expect("signal");
    assert_eq!(count(&report(other), "received"), 0);
}

#[test]
fn a_message_is_as_long_as_it_was_asked_to_be_and_ends_with_filler() {
    for channel in channels("size") {
        let mut near = subscription(&channel);
        let sender = send(&channel, &["--size", "100", "--count", "5"]);
        let mut got: Vec<Vec<u8>> = Vec::new();
        until("five messages", || {
            near.poll(monotonic(), 9, |message| got.push(message.payload.to_vec()));
            got.len() >= 5
        });
        near.close(monotonic());
        until("its end", || near.is_closed() || near.poll(monotonic(), 9, |_| {}) > 0);
        drop(near);
        let _ = finish(sender);
        for (sequence, message) in got.iter().take(5).enumerate() {
            assert_eq!((message.len(), message[16]), (100, sequence as u8), "{channel}");
            assert!(message[24..].iter().zip(24..).all(|(byte, at)| *byte == at), "{channel}");
        }
    }
}

#[test]
fn injected_loss_is_repaired_where_the_channel_repairs_and_refused_where_nothing_is_lost() {
    for (of_sender, of_receiver) in [(true, false), (false, true)] {
        let [_, channel, ..] = channels("loss");
        let loss = ["--inject-loss", "0.05", "--seed", "3"];
        let some = |wanted: bool| if wanted { &loss[..] } else { &[] };
        let receiver = receive(&channel, &[some(of_receiver), &["--counters"]].concat());
        let stream = ["--count", "5000", "--rate", "20000", "--counters"];
        let sent = report(send(&channel, &[&stream[..], some(of_sender)].concat()));
        let received = report(receiver);
        assert_eq!((count(&received, "received"), count(&received, "lost")), (5000, 0));
        assert!(count(&sent, "repaired") > 0, "{sent}");
        assert_eq!(count(&sent["counters"], "repaired"), count(&sent, "repaired"));
        let injected = [&sent, &received].map(|one| count(&one["counters"], "injected_losses"));
        assert_eq!(injected.map(|lost| lost > 0), [of_sender, of_receiver], "{sent} {received}");
    }
    for channel in channels("loss") {
        if channel.contains("udp") {
            continue;
        }
        for output in [
            finish(send(&channel, &["--inject-loss", "0.1", "--count", "1"])),
            finish(receive(&channel, &["--inject-loss", "0.1", "--count", "1"])),
        ] {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{channel}: {errors}");
            assert!(errors.contains("on a channel over UDP"), "{channel}: {errors}");
        }
    }
}

#[test]
fn a_lost_last_message_is_known_by_the_count_in_the_end_of_the_stream() {
    let mut tails_lost = 0;
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let directory = tempfile::tempdir().expect("directory");
        let file = directory.path().join("lines.csv").display().to_string();
        for channel in [
            format!("lease:udp?endpoint=127.0.0.1:{}", udp_port()),
            format!("aeron:udp?endpoint=127.0.0.1:{}|stream-id=7|reliable=false", udp_port()),
        ] {
            let loss = ["--inject-loss", "0.4", "--seed", seed, "--csv", &file];
            let receiver = receive(&channel, &loss);
            // A good-bye may be lost too, and the receiver is given up after five seconds.
            let stream = ["--count", "300", "--rate", "5000", "--linger", "20"];
            let sent = report(send(&channel, &stream));
            let received = report(receiver);
            assert_eq!(count(&sent, "sent"), 300);
            let (came, lost) = (count(&received, "received"), count(&received, "lost"));
            assert_eq!(came + lost, 300, "{channel} {seed}: {received}");
            let text = std::fs::read_to_string(&file).expect("file");
            assert_eq!(text.lines().count() as u64, 1 + came, "{channel}: a line for each");
            tails_lost += u32::from(!text.lines().any(|line| line.starts_with("299,")));
        }
    }
    println!("{tails_lost} of 12 streams lost their last message");
}

#[test]
fn count_ends_with_what_was_received_and_what_is_known_to_be_lost() {
    let [_, _, channel, ..] = channels("count");
    let lossy = ["--inject-loss", "0.5", "--seed", "5", "--count", "200"];
    let receiver = receive(&channel, &lossy);
    let sender = send(&channel, &["--rate", "5000", "--count", "5000", "--linger", "1"]);
    let received = report(receiver);
    let (came, lost) = (count(&received, "received"), count(&received, "lost"));
    assert!(came < 200 && lost > 0, "{received}");
    // The last one may have shown several to be lost.
    assert!((200..300).contains(&(came + lost)), "{received}");
    signal_process(sender.id(), ProcessSignal::Terminate).expect("signal");
    let _ = report(sender);
}

#[test]
fn receive_ends_with_the_stream_of_a_publisher_that_died_without_a_word() {
    for channel in channels("death") {
        // Their ends are found by silence, after seconds: the library's tests have that.
        if channel.contains("udp") {
            continue;
        }
        let receiver = receive(&channel, &[]);
        let mut sender = send(&channel, &["--rate", "1000"]);
        let _ = wait_readable(&[], Some(Nanos::from_millis(400)));
        sender.kill().expect("kill");
        sender.wait().expect("wait");
        let received = report(receiver);
        assert!(count(&received, "received") > 0, "{channel}: {received}");
        assert_eq!(count(&received, "lost"), 0, "{channel}");
        // The name of its socket outlives a publisher that was killed; the next one would take it.
        if let Some((path, _)) = channel.strip_prefix("ipc://").and_then(|at| at.split_once('?')) {
            std::fs::remove_file(path).expect("the name that it left");
        }
    }
}

#[test]
fn pings_come_back_over_every_channel() {
    for (there, back) in channels("there").iter().zip(channels("back")) {
        let pong = receive(there, &["--pong", "--reply-channel", &back]);
        let ping = ["--ping", "--reply-channel", &back, "--rate", "max", "--count", "100"];
        let (sent, received) = (report(send(there, &ping)), report(pong));
        assert_eq!(count(&sent, "unanswered"), 0, "{there}: {sent}");
        assert_eq!(count(&sent["round_trip_ns"], "count"), 100, "{there}: {sent}");
        assert_eq!(count(&received, "received"), 100, "{there}: {received}");
    }
}

#[test]
fn raw_counts_what_any_publisher_sends() {
    use taut_channel::Publication;
    for channel in channels("raw") {
        let receiver = receive(&channel, &["--raw", "--count", "7"]);
        let opening = Opening { now: monotonic(), ..Opening::default() };
        let uri = channel.parse().expect("uri");
        let mut publication = Publication::open(&uri, &opening).expect(&channel);
        let mut sent = 0;
        until("seven messages", || {
            let now = monotonic();
            sent +=
                usize::from(publication.is_connected() && publication.offer(now, b"any").is_ok());
            publication.work(now);
            sent == 7
        });
        let mut receiver = receiver;
        until("its end", || {
            publication.work(monotonic());
            receiver.try_wait().expect("wait").is_some()
        });
        let received = report(receiver);
        assert_eq!(count(&received, "received"), 7, "{channel}");
        for absent in ["lost", "duplicated", "out_of_order", "latency_ns", "intended_ns"] {
            assert!(received[absent].is_null(), "{channel}: {absent}");
        }
    }
}

#[test]
fn counters_show_what_both_ends_counted_and_each_subscriber_by_itself() {
    for channel in channels("counters") {
        let receiver = receive(&channel, &["--counters"]);
        let sent = report(send(&channel, &["--count", "400", "--rate", "5000", "--counters"]));
        let received = report(receiver);
        // The end of the stream is a message too.
        assert!(count(&sent["counters"], "sent") > 400, "{channel}: {sent}");
        let [came, lost] = ["received", "lost"].map(|name| count(&received["counters"], name));
        assert!(came > 200 && came + lost > 400, "{channel}: {received}");
        assert!(count(&received["counters"], "poll_gap_ns_max") > 0, "{channel}: {received}");
        if channel.starts_with("aeron") {
            continue;
        }
        let each = sent["subscribers"].as_array().unwrap_or_else(|| panic!("{channel}: {sent}"));
        assert_eq!(each.len(), 1, "{channel}: {sent}");
        assert!(count(&each[0], "sent") >= 400, "{channel}: {sent}");
        assert_eq!(count(&each[0], "dropped"), 0, "{channel}: {sent}");
    }
}
