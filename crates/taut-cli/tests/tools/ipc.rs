//! Shared memory from the command line: looking in.

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use taut_ipc::{Channel, ChannelOptions, IpcError, Join, Stream, StreamKind, Writer};
use taut_ring::Policy;
use taut_ring::broadcast::{Polled, Start};
use taut_sys::{Access, ProcessSignal, signal_process};
use taut_testkit::{DEADLINE, Process, Run, odd_json_keys, until, until_some};

fn taut(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taut")).args(words).run()
}

fn start(words: &[&str]) -> Process {
    Process::start(Command::new(env!("CARGO_BIN_EXE_taut")).args(words))
}

fn text(words: &[&str]) -> String {
    let output = taut(words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

fn json(words: &[&str]) -> Value {
    let text = text(words);
    assert_eq!(odd_json_keys(&text), [""; 0], "{text}");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn wrong_use_ends_with_code_2_and_names_flag_and_value() {
    for (words, told) in [
        (&["ipc", "stat", "../../etc/passwd"][..], "../../etc/passwd"),
        (&["ipc", "tail", ""], "channel name"),
        (&["ipc", "list", "--dir", "/dev/null"], "--dir /dev/null: cannot read it"),
        (&["ipc", "prune", "--dir", "/nowhere"], "--dir /nowhere: cannot read it"),
    ] {
        let output = taut(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(told) && output.stdout.is_empty(), "{words:?}: {said}");
    }
}

#[test]
fn a_list_of_nothing_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("a name");
    for verb in ["list", "prune"] {
        let listed = taut(&["ipc", verb, "--dir", folder]);
        assert!(listed.status.success() && listed.stdout.is_empty(), "{verb}");
        let said = String::from_utf8_lossy(&listed.stderr);
        assert_eq!(said.trim_end(), format!("{folder}: no channels"), "{verb}");
    }
    let list = json(&["ipc", "list", "--dir", folder, "--json"]);
    assert_eq!(list["channels"].as_array().map(Vec::len), Some(0));
}

/// A publication sends for its subscribers alone, of which a tail is none.
#[test]
fn a_tail_of_a_stream_without_a_subscriber_says_why_nothing_comes() {
    let name = format!("cli-alone-{}", std::process::id());
    let channel = format!("ipc:{name}");
    let mut sender =
        start(&["send", "--channel", &channel, "--rate", "1000", "--count", "100000000"]);
    let words = "has no subscriber: a publication of";
    until("the tail says it", DEADLINE, || {
        let mut tail = start(&["ipc", "tail", &name]);
        let mut is_over = false;
        until("it says something", DEADLINE, || {
            is_over = tail.stderr().contains("no channel of this name");
            is_over || tail.stderr().contains(words)
        });
        if is_over {
            return false;
        }
        signal_process(tail.id(), ProcessSignal::Interrupt).expect("interrupt");
        assert!(tail.end().success() && tail.stdout().is_empty());
        true
    });
    let mut receiver = start(&["receive", "--channel", &channel]);
    until("a tail has messages", DEADLINE, || {
        let mut tail = start(&["ipc", "tail", &name]);
        let mut is_silent = false;
        until("it prints a message, or says why not", DEADLINE, || {
            is_silent = tail.stderr().contains(words);
            is_silent || tail.stdout().contains("  70  ")
        });
        tail.kill();
        !is_silent
    });
    // A tail that was killed may be all that the channel is kept for.
    for process in [&mut receiver, &mut sender] {
        signal_process(process.id(), ProcessSignal::Interrupt).expect("interrupt");
        process.end();
    }
    let _ = taut_ipc::prune(&name, &ChannelOptions::default());
    assert!(!text(&["ipc", "list"]).contains(&name), "{name} is left behind");
}

#[test]
fn a_tail_ends_with_its_reader() {
    let options = ChannelOptions::default();
    let name = format!("taut-tail-test-{}", std::process::id());
    let kind = StreamKind::Ticks { slot_count: 16 };
    let stream = Stream { name: "ticks", kind, reader_count: 1, layout: 0 };
    let channel = Channel::open_or_create(&name, &[stream], &options).expect("channel");
    let mut tail = Command::new(env!("CARGO_BIN_EXE_taut"));
    let mut tail = tail.args(["ipc", "tail", &name]).stdout(Stdio::piped()).spawn().expect("start");
    drop(tail.stdout.take());
    assert!(Process::watch(tail, "taut ipc tail".to_owned()).end().success());
    drop(channel);
    let _ = taut_ipc::prune(&name, &options);
}

#[test]
fn a_channel_can_be_listed_shown_dumped_and_pruned() {
    let name = format!("cli-{}", std::process::id());
    let options = ChannelOptions { keep: true, ..ChannelOptions::default() };
    let ticks = Stream {
        name: "ticks",
        kind: StreamKind::Ticks { slot_count: 16 },
        reader_count: 1,
        layout: 0,
    };
    let news = Stream { name: "news", kind: StreamKind::Log { capacity_bytes: 1024 }, ..ticks };
    let channel = Channel::open_or_create(&name, &[ticks, news], &options).expect("channel");
    let mut publication = channel.publish_log("news", 0, Policy::Overwrite).expect("writer");
    publication.append(b"hello\n").expect("room");
    assert!(text(&["ipc", "list"]).contains(&name));
    let stat = text(&["ipc", "stat", &format!("ipc:{name}")]);
    let writer = format!("writer {}", std::process::id());
    assert!(stat.contains(&writer) && stat.contains("no writer yet"), "{stat}");
    assert!(stat.contains("mode 0600"), "{stat}");
    let stat = json(&["ipc", "stat", &name, "--json"]);
    let news = &stat["streams"][1];
    assert_eq!((&news["kind"], &news["capacity"]), (&"log".into(), &1024.into()), "{stat}");
    assert_eq!(news["writer"]["process"], std::process::id(), "{stat}");
    assert_eq!(stat["streams"][0]["writer"]["state"], "none", "{stat}");
    let list = json(&["ipc", "list", "--json"]);
    let listed = list["channels"].as_array().expect("channels");
    let ours = listed.iter().find(|channel| channel["name"] == name.as_str()).expect("ours");
    assert_eq!((&ours["mode"], &ours["in_use"]), (&"0600".into(), &true.into()), "{list}");
    assert_eq!(ours["streams"][1], "news", "{list}");
    let dump = text(&["ipc", "dump", &name, "--stream", "news"]);
    assert!(dump.contains("hello\\n"), "{dump}");
    let other = taut(&["ipc", "dump", &name, "--stream", "olds"]);
    let said = String::from_utf8_lossy(&other.stderr);
    assert_eq!(other.status.code(), Some(1), "{said}");
    assert!(said.contains("no stream 'olds'; it has ticks, news"), "{said}");
    drop(publication);
    drop(channel);
    // A process that is just being started has copies of this one's files until it runs.
    let mut told = String::new();
    let gone = until_some("nobody uses the channel, and it is pruned", DEADLINE, || {
        told += &text(&["ipc", "prune"]);
        let gone = taut(&["ipc", "stat", &name]);
        (gone.status.code() == Some(1)).then_some(gone)
    });
    assert!(told.contains(&name), "{told}");
    assert!(String::from_utf8_lossy(&gone.stderr).contains("no channel of this name"));
}

#[test]
fn stat_shows_positions_readers_lag_losses_owner_age_and_bytes() {
    let name = format!("cli-stat-{}", std::process::id());
    let kind = StreamKind::Ticks { slot_count: 16 };
    let ticks = Stream { name: "ticks", kind, reader_count: 2, layout: 7 };
    let options = ChannelOptions::default();
    let channel = Channel::open_or_create(&name, &[ticks], &options).expect("channel");
    let mut publication = channel.publish_ticks("ticks", 7, Policy::Evict).expect("writer");
    let join =
        || channel.subscribe_ticks("ticks", 7, Start::Latest, Join::Registered).expect("reader");
    let (mut slow, mut quick) = (join(), join());
    for n in 0..40u64 {
        if n == 30 {
            publication.mark_key();
        }
        publication.publish(&[n; 7]).expect("room");
        while n < 38 && quick.poll() != Polled::Empty {}
    }
    while !matches!(slow.poll(), Polled::Lapped(_)) {}
    let stat = json(&["ipc", "stat", &name, "--json"]);
    assert_eq!(stat["bytes"].as_u64(), Some(channel.bytes() as u64), "{stat}");
    assert_eq!(stat["owner"].as_u64(), Some(taut_sys::effective_user().into()), "{stat}");
    assert!(stat["age_s"].as_u64() < Some(600) && stat["mode"] == "0600", "{stat}");
    let stream = &stat["streams"][0];
    for (key, value) in [("position", 40), ("base", 0), ("epoch", 1), ("key", 30), ("evicted", 1)] {
        assert_eq!(stream[key].as_u64(), Some(value), "{key}: {stat}");
    }
    assert_eq!((&stream["layout"], &stream["dropped"]), (&"0000000000000007".into(), &0.into()));
    let [first, second] = [&stream["readers"][0], &stream["readers"][1]];
    assert_eq!((&first["evicted"], &second["evicted"]), (&true.into(), &false.into()), "{stat}");
    assert!(first["lost"].as_u64() > Some(0) && second["lost"] == 0, "{stat}");
    assert_eq!((&second["position"], &second["lag"]), (&38.into(), &2.into()), "{stat}");
    assert_eq!(second["process"].as_u64(), Some(std::process::id().into()), "{stat}");
    let text = text(&["ipc", "stat", &name]);
    assert!(text.contains("position 38  lag 2  lost 0"), "{text}");
    assert!(text.contains("key 30") && text.contains("evicted 1"), "{text}");
}

#[test]
fn a_tail_prints_what_comes_and_ends_in_good_order_when_interrupted() {
    let name = format!("cli-tail-{}", std::process::id());
    let kind = StreamKind::Log { capacity_bytes: 4096 };
    let news = Stream { name: "news", kind, reader_count: 1, layout: 0 };
    let options = ChannelOptions::default();
    let channel = Channel::open_or_create(&name, &[news], &options).expect("channel");
    let mut publication = channel.publish_log("news", 0, Policy::Overwrite).expect("writer");
    publication.append(b"before").expect("room");
    let mut tail = start(&["ipc", "tail", &name]);
    // It leaves no trace in the channel: that it reads shows in what it prints.
    let first = until_some("it prints a message", DEADLINE, || {
        publication.append(b"one\ttwo").expect("room");
        // A tail that is slower than this is told what it lost, and then has messages again.
        let said = tail.stdout();
        let whole = said.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.map(|line| line.trim_end().to_owned()).find(|line| !line.starts_with("-- lost"))
    });
    assert!(first.ends_with("  7  one\\ttwo"), "{first}");
    signal_process(tail.id(), ProcessSignal::Interrupt).expect("interrupt");
    assert_eq!(tail.end().code(), Some(0));
}

/// A stopped writer is reported, not stolen from; once killed, it is succeeded at once.
#[test]
fn a_stopped_writer_is_stalled_and_a_killed_one_is_succeeded() {
    // As long as the test takes: it ends when it is killed.
    let name = format!("cli-stalled-{}", std::process::id());
    let mut child = start(&["send", "--channel", &format!("ipc:{name}"), "--no-wait"]);
    let options = ChannelOptions::default();
    let process = child.id();
    let channel = until_some("it writes to its channel", DEADLINE, || {
        match Channel::open(&name, Access::Write, &options) {
            Ok(channel) => {
                (channel.writer("messages") == Ok(Writer::Alive { process })).then_some(channel)
            }
            Err(IpcError::NotFound) => None,
            Err(error) => panic!("{error}"),
        }
    });
    signal_process(child.id(), ProcessSignal::Pause).expect("stop");
    until("the writer counts as stalled", DEADLINE, || {
        channel.writer("messages") == Ok(Writer::Stalled { process })
    });
    let refused = channel.publish_log("messages", 0, Policy::Block).err();
    assert_eq!(refused, Some(IpcError::WriterStalled { process }));
    let stat = text(&["ipc", "stat", &name]);
    assert!(stat.contains(&format!("writer {process} STALLED")), "{stat}");
    let stat = json(&["ipc", "stat", &name, "--json"]);
    assert_eq!(stat["streams"][0]["writer"]["state"], "stalled", "{stat}");
    child.kill();
    assert_eq!(channel.writer("messages"), Ok(Writer::Gone { process }));
    assert!(channel.publish_log("messages", 0, Policy::Block).is_ok());
    drop(channel);
    // The killed writer could not take it along.
    let _ = taut_ipc::prune(&name, &options);
}
