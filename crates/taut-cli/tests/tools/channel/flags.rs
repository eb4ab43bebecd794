//! Every flag of `taut send` and `taut receive` does what its help says, on every channel that it
//! belongs to.

use taut_channel::{Action, Opening, Publication, Subscription};
use taut_sys::{ProcessSignal, monotonic, signal_process, utc};
use taut_testkit::{DEADLINE, until};
use taut_types::Nanos;

use super::command::{aeron, await_lines, count, ipc, lease, receive, report, send, tcp, unix};

/// A channel of each kind between processes, which blocks where it can.
fn channels(name: &str) -> [String; 5] {
    [
        ipc(name),
        aeron("|stream-id=7"),
        lease(""),
        tcp("?on-full=block"),
        unix(name, "?on-full=block"),
    ]
}

/// The sockets of TCP with small buffers: what the kernel took is not known missing.
fn with_small_buffers(channel: String) -> String {
    let small = if channel.starts_with("tcp") { "&so-sndbuf=4k&so-rcvbuf=4k" } else { "" };
    channel + small
}

/// A subscription of this process, to be slow with.
fn subscription(channel: &str) -> Subscription {
    let opening = Opening { now: monotonic(), ..Opening::default() };
    Subscription::open(&channel.parse().expect(channel), &opening).expect(channel)
}

/// A look that takes nothing: a message that has come is left for later.
fn look(subscription: &mut Subscription) {
    subscription.poll_controlled(monotonic(), 1, |_| Action::Abort);
}

fn await_image(subscription: &mut Subscription) {
    until("an image", DEADLINE, || {
        look(subscription);
        subscription.image_count() > 0
    });
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
        let port = first.stderr_line("its port", |line| {
            line.split_once(" at ")?.1.rsplit_once(':')?.1.parse::<u16>().ok()
        });
        assert_ne!(port, 0, "{bound}");
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
    // Nobody waits for a lease's subscriber: the channel does not know what it has.
    let all = channels("drain").into_iter().filter(|channel| !channel.starts_with("lease"));
    let mut pairs: Vec<_> = all
        .map(|channel| {
            let channel = with_small_buffers(channel);
            let mut slow = subscription(&channel);
            let more = ["--count", "3000", "--size", "1000", "--rate", "max", "--linger", "60"];
            let sender = send(&channel, &more);
            await_image(&mut slow);
            (slow, sender, channel)
        })
        .collect();
    // After two seconds a sender says what it is at.
    until("all wait for who does not read", DEADLINE, || {
        pairs.iter_mut().fold(true, |all, (slow, sender, channel)| {
            // Aeron's ends must hear of each other; of TCP a look would take what has come.
            if channel.starts_with("aeron") {
                look(slow);
            }
            assert!(sender.is_running(), "{channel}: nobody has read yet");
            let said = sender.stderr();
            all && (said.contains("draining ...") || said.contains("back-pressured ..."))
        })
    });
    // All are read in turn: an end that is left alone for long counts as gone. The end of the
    // stream is a message more.
    let mut got = vec![0; pairs.len()];
    until("every channel brings everything", DEADLINE, || {
        for ((slow, ..), got) in pairs.iter_mut().zip(&mut got) {
            slow.poll(monotonic(), 100, |_| *got += 1);
        }
        got.iter().all(|got| *got == 3001)
    });
    until("every sender ends", DEADLINE, || {
        pairs.iter_mut().fold(true, |all, (slow, sender, channel)| {
            slow.poll(monotonic(), 100, |_| panic!("{channel}: that was all"));
            !sender.is_running() && all
        })
    });
    for (_, sender, channel) in pairs {
        assert_eq!(count(&report(sender), "sent"), 3000, "{channel}");
    }
}

#[test]
fn what_is_not_taken_within_linger_is_told() {
    for channel in channels("linger") {
        if channel.starts_with("lease") {
            continue;
        }
        let channel = with_small_buffers(channel);
        let mut deaf = subscription(&channel);
        let sender = send(&channel, &["--count", "900", "--rate", "max", "--linger", "0.3"]);
        await_image(&mut deaf);
        let begun = monotonic();
        let output = sender.finish();
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
        let is_it = |line: &str| (line == "waiting for a subscriber ...").then_some(());
        sender.stderr_line("what it waits for", is_it);
        assert!(sender.is_running(), "{channel}");
        signal_process(sender.id(), ProcessSignal::Terminate).expect("signal");
        let output = sender.finish();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("no subscriber came"), "{channel}: {said}");
        assert_eq!(output.status.code(), Some(1), "{channel}");
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
    // rt_priority and policy: fields 40 and 41 of proc(5), counted from the state, the third.
    let is_tuned = |process: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
        fields.skip(37).take(2).eq(["1", "1"])
    };
    until("priority 1 of SCHED_FIFO, or a refusal", DEADLINE, || {
        is_tuned(sender.id()) || !sender.is_running()
    });
    if !sender.is_running() {
        let output = sender.finish();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("needs root or CAP_SYS_NICE"), "{errors}");
        println!("skipped: no right to SCHED_FIFO here");
        let _ = receiver.finish();
        return;
    }
    until("it may run on CPU 0 alone", DEADLINE, || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", sender.id()));
        let status = status.expect("its status");
        let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        cpus.map(str::trim) == Some("0")
    });
    assert_eq!(count(&report(receiver), "received"), 1);
    signal_process(sender.id(), ProcessSignal::Terminate).expect("signal");
    assert!(count(&report(sender), "sent") > 0);
}

#[test]
fn a_topic_reaches_those_who_subscribed_to_it_and_nobody_else() {
    let channel = tcp("");
    let sender = send(&channel, &["--topic", "EURUSD", "--rate", "2000"]);
    let mut other = subscription(&format!("{channel}?subscribe=USD"));
    await_image(&mut other);
    // The sender goes on until all have met it, however late.
    let everything = report(receive(&channel, &["--count", "1"]));
    assert_eq!(count(&everything, "received"), 1, "{everything}");
    let wanted = report(receive(&format!("{channel}?subscribe=EUR"), &["--count", "100"]));
    assert_eq!((count(&wanted, "received"), count(&wanted, "lost")), (100, 0), "{wanted}");
    assert!(count(&wanted, "sent_before") > 0, "{wanted}");
    other.poll(monotonic(), 100, |message| panic!("not subscribed to: {:?}", message.payload));
    signal_process(sender.id(), ProcessSignal::Terminate).expect("signal");
    assert!(count(&report(sender), "sent") >= 100);
}

#[test]
fn a_message_is_as_long_as_it_was_asked_to_be_and_ends_with_filler() {
    for channel in channels("size") {
        let mut near = subscription(&channel);
        let sender = send(&channel, &["--size", "100", "--count", "5"]);
        let mut got: Vec<Vec<u8>> = Vec::new();
        until("five messages", DEADLINE, || {
            near.poll(monotonic(), 9, |message| got.push(message.payload.to_vec()));
            got.len() >= 5
        });
        near.close(monotonic());
        until("its end", DEADLINE, || near.is_closed() || near.poll(monotonic(), 9, |_| {}) > 0);
        drop(near);
        let _ = sender.finish();
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
            send(&channel, &["--inject-loss", "0.1", "--count", "1"]).finish(),
            receive(&channel, &["--inject-loss", "0.1", "--count", "1"]).finish(),
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
    for seed in ["1", "2", "3", "4"] {
        let directory = tempfile::tempdir().expect("directory");
        let file = directory.path().join("lines.csv").display().to_string();
        for channel in [lease(""), aeron("|stream-id=7|reliable=false")] {
            let loss = ["--inject-loss", "0.4", "--seed", seed, "--csv", &file];
            let receiver = receive(&channel, &loss);
            // A good-bye may be lost too, and the receiver is given up after five seconds.
            let stream = ["--count", "300", "--rate", "5000", "--linger", "20"];
            let sent = report(send(&channel, &stream));
            let received = report(receiver);
            assert_eq!(count(&sent, "sent"), 300);
            let came = count(&received, "received");
            let lost = count(&received, "lost") + count(&received, "sent_before");
            assert_eq!(came + lost, 300, "{channel} {seed}: {received}");
            let text = std::fs::read_to_string(&file).expect("file");
            assert_eq!(text.lines().count() as u64, 1 + came, "{channel}: a line for each");
            tails_lost += u32::from(!text.lines().any(|line| line.starts_with("299,")));
        }
    }
    println!("{tails_lost} of 8 streams lost their last message");
}

#[test]
fn what_was_sent_before_a_receiver_came_is_not_lost() {
    let directory = tempfile::tempdir().expect("directory");
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (first, late) = (file("first.csv"), file("late.csv"));
    let channel = ipc("joined");
    let early = receive(&channel, &["--csv", &first]);
    let sender = send(&channel, &["--rate", "20000", "--count", "100000000"]);
    await_lines(&first);
    let joined = receive(&channel, &["--csv", &late]);
    await_lines(&late);
    signal_process(sender.id(), ProcessSignal::Terminate).expect("signal");
    let (sent, early, joined) = (report(sender), report(early), report(joined));
    let sent = count(&sent, "sent");
    assert_eq!((count(&early, "received"), count(&early, "lost")), (sent, 0), "{early}");
    let before = count(&joined, "sent_before");
    assert!(before > 0, "{joined}");
    assert_eq!(
        (count(&joined, "received") + before, count(&joined, "lost")),
        (sent, 0),
        "{joined}"
    );
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
    let directory = tempfile::tempdir().expect("directory");
    for (at, channel) in channels("death").iter().enumerate() {
        // Their ends are found by silence, after seconds: the library's tests have that.
        if channel.contains("udp") {
            continue;
        }
        let file = directory.path().join(at.to_string()).display().to_string();
        let receiver = receive(channel, &["--csv", &file]);
        let mut sender = send(channel, &["--rate", "20000"]);
        await_lines(&file);
        sender.kill();
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
    for channel in channels("raw") {
        let mut receiver = receive(&channel, &["--raw", "--count", "7"]);
        let opening = Opening { now: monotonic(), ..Opening::default() };
        let uri = channel.parse().expect("uri");
        let mut publication = Publication::open(&uri, &opening).expect(&channel);
        let mut sent = 0;
        until("seven messages", DEADLINE, || {
            let now = monotonic();
            sent +=
                usize::from(publication.is_connected() && publication.offer(now, b"any").is_ok());
            publication.work(now);
            sent == 7
        });
        until("its end", DEADLINE, || {
            publication.work(monotonic());
            !receiver.is_running()
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
        // The end of the stream is a message too, and is told beside the others.
        let told = count(&sent, "sent") + count(&sent, "end_messages");
        assert_eq!(count(&sent["counters"], "sent"), told, "{channel}: {sent}");
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
