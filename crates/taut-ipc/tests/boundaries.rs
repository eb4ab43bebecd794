//! What the kernel keeps apart: permissions, mappings, PID namespaces; and what it is not asked.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use taut_ipc::{Channel, ChannelOptions, IpcError, Join, Stream, StreamKind, Writer};
use taut_ring::Policy;
use taut_ring::broadcast::{Polled, Start};
use taut_sys::{Access, MemoryOptions, monotonic};
use taut_types::Nanos;

const TICKS: Stream<'static> = Stream {
    name: "ticks",
    kind: StreamKind::Ticks { slot_count: 64 },
    reader_count: 2,
    layout: 0,
};
const NEWS: Stream<'static> =
    Stream { name: "news", kind: StreamKind::Log { capacity_bytes: 65_536 }, ..TICKS };
/// How a test tells the process that it starts which channel to use, or how much to send.
const CHANNEL: &str = "TAUT_TEST_CHANNEL";
const COUNT: &str = "TAUT_TEST_COUNT";

fn name(test: &str) -> String {
    format!("test-{}-{test}", std::process::id())
}

fn open(name: &str, options: &ChannelOptions) -> Channel {
    Channel::open_or_create(name, &[TICKS, NEWS], options).expect("channel")
}

/// The fields of a mapping of this channel in `/proc/self/smaps`, its permissions first.
fn mapping(name: &str, fields: &[&str]) -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("smaps");
    let ours = |line: &&str| line.ends_with(&format!("/taut.{name}"));
    let mut lines = maps.lines().skip_while(|line| !ours(line));
    let words = |line: &str| line.split_whitespace().nth(1).unwrap_or("").to_owned();
    let mut found = vec![words(lines.next().expect("a mapping"))];
    for field in fields {
        let of = |line: &&str| line.strip_prefix(field).is_some_and(|rest| rest.starts_with(':'));
        found.push(words(lines.clone().find(of).expect(field)));
    }
    found
}

#[test]
fn files_are_their_owners_alone_unless_told_and_never_the_worlds() {
    for (asked, mode) in [(None, 0o600), (Some(0o666), 0o660), (Some(0o644), 0o640)] {
        let name = name(&format!("mode-{mode:o}"));
        let mut options = ChannelOptions::default();
        options.mode = asked.unwrap_or(options.mode);
        let channel = open(&name, &options);
        for suffix in ["", ".lock"] {
            let status = std::fs::metadata(format!("/dev/shm/taut.{name}{suffix}")).expect("file");
            let bits = status.mode() & 0o7777;
            assert!(bits & !mode == 0 && (bits == mode || suffix == ".lock"), "{suffix}: {bits:o}");
        }
        assert_eq!(channel.owner(), Ok((taut_sys::effective_user(), mode)));
    }
}

#[test]
fn who_opens_to_read_has_a_mapping_that_cannot_be_written() {
    let name = name("mapping");
    let memory = MemoryOptions::default();
    let channel = open(&name, &ChannelOptions { memory, keep: true, ..ChannelOptions::default() });
    assert_eq!(mapping(&name, &[]), ["rw-s"]);
    drop(channel);
    let looker = Channel::open(&name, Access::Read, &ChannelOptions::default()).expect("open");
    assert!(!looker.is_writable());
    assert_eq!(mapping(&name, &[]), ["r--s"]);
    drop(looker);
    assert_eq!(taut_ipc::prune(&name, &ChannelOptions::default()), Ok(true));
}

#[test]
fn pages_are_there_and_locked_when_asked_for_and_what_was_granted_is_told() {
    for (at, prefault, lock) in [(0, false, false), (1, true, false), (2, true, true)] {
        let name = name(&format!("pages-{at}"));
        let memory = MemoryOptions { huge_pages: at == 2, prefault, lock };
        let options = ChannelOptions { memory, keep: true, ..ChannelOptions::default() };
        drop(open(&name, &options));
        // Opened, not created: nothing has touched the pages but their header.
        let channel = open(&name, &options);
        let granted = channel.granted();
        let found = mapping(&name, &["Size", "Rss", "Locked"]);
        let [_, size, resident, locked] = &found[..] else { panic!("{found:?}") };
        assert_eq!(granted.prefault, prefault);
        assert_eq!(size == resident, prefault, "{found:?}");
        // Without the right to lock memory, or huge pages in /dev/shm, that is said.
        assert_eq!(locked == size, granted.lock, "{found:?}");
        assert!(lock || !granted.lock);
        drop(channel);
        assert_eq!(taut_ipc::prune(&name, &options), Ok(true));
    }
}

/// In a PID namespace of its own a process has a number that is somebody else's here: what says
/// that it lives, and that it died, is its lock.
#[test]
fn a_process_in_another_pid_namespace_holds_its_places_until_it_dies() {
    let name = name("namespace");
    let channel = open(&name, &ChannelOptions::default());
    let mut ticks = channel.publish_ticks("ticks", 0, Policy::Block).expect("writer");
    let program = std::env::current_exe().expect("program");
    let mut child = Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child"])
        .arg(program)
        .args(["--exact", "--ignored", "--nocapture", "reads_and_writes_until_it_is_killed"])
        .env(CHANNEL, &name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start");
    let mut lines = BufReader::new(child.stdout.take().expect("output")).lines();
    let is_ready = |line: Result<String, _>| line.is_ok_and(|line| line.contains("ready"));
    if !lines.any(is_ready) {
        println!("skipped: no PID namespace: {:?}", child.wait());
        return;
    }
    let status = channel.status().expect("status");
    let seen = status[0].readers[0].process.expect("it lives");
    assert_ne!(seen, child.id(), "it has its own number");
    assert_eq!(channel.writer("news"), Ok(Writer::Alive { process: seen }));
    let refused = channel.publish_log("news", 0, Policy::Block).err();
    assert_eq!(refused, Some(IpcError::WriterExists { process: seen }));
    assert_eq!((0..20_000).filter(|_| ticks.publish(&[1; 7]).is_ok()).count(), 64);
    child.kill().expect("kill");
    child.wait().expect("wait");
    let deadline = monotonic() + Nanos::from_secs(20);
    while ticks.publish(&[1; 7]).is_err() {
        assert!(monotonic() < deadline, "a dead reader holds the writer back");
    }
    assert_eq!(channel.writer("news"), Ok(Writer::Gone { process: seen }));
    assert!(channel.publish_log("news", 0, Policy::Block).is_ok());
}

#[test]
#[ignore = "run by the test above, in a PID namespace"]
fn reads_and_writes_until_it_is_killed() {
    let Ok(name) = std::env::var(CHANNEL) else { return };
    let channel = Channel::open(&name, Access::Write, &ChannelOptions::default()).expect("open");
    let start = Start::Latest;
    let _reader = channel.subscribe_ticks("ticks", 0, start, Join::Registered).expect("reader");
    let _writer = channel.publish_log("news", 0, Policy::Block).expect("writer");
    println!("ready");
    // Until the pipe ends, which it does with the one that started this.
    let _ = std::io::stdin().read(&mut [0]);
}

/// Readers may sleep on a futex; a publisher that nobody sleeps for does not pay for it: not one
/// system call for a hundred thousand messages, nor has the reader that polls.
#[test]
fn a_busy_publisher_and_its_reader_make_no_system_calls() {
    let calls = |count: &str| {
        let output = Command::new("strace")
            .args(["-f", "-c", "-U", "name,calls"])
            .arg(std::env::current_exe().expect("program"))
            .args(["--exact", "--ignored", "publishes_and_polls"])
            .env(COUNT, count)
            .output()
            .ok()?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let passed = String::from_utf8_lossy(&output.stdout).contains("1 passed");
        let total = told.lines().find_map(|line| line.trim().strip_prefix("total"));
        let total = total.and_then(|calls| calls.trim().parse::<u64>().ok());
        total.filter(|_| passed)
    };
    let (Some(few), Some(many)) = (calls("1000"), calls("101000")) else {
        println!("skipped: no strace, or it may not trace here");
        return;
    };
    // The test's own threads wait for each other now and then.
    assert!(many < few + 50, "{few} calls with 1,000 messages, {many} with 101,000");
}

#[test]
#[ignore = "run by the test above, under strace"]
fn publishes_and_polls() {
    let count = std::env::var(COUNT).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let name = name("calls");
    let channel = open(&name, &ChannelOptions::default());
    let mut ticks = channel.publish_ticks("ticks", 0, Policy::Block).expect("writer");
    let mut news = channel.publish_log("news", 0, Policy::Block).expect("writer");
    let (start, join) = (Start::Latest, Join::Registered);
    let mut tick_reader = channel.subscribe_ticks("ticks", 0, start, join).expect("reader");
    let mut news_reader = channel.subscribe_log("news", 0, start, join).expect("reader");
    for n in 0..count {
        ticks.publish(&[n; 7]).expect("room");
        news.append(&[1; 70]).expect("room");
        let claim = news.claim(70).expect("room");
        claim.commit();
        news.wake();
        assert_eq!(tick_reader.poll(), Polled::Message([n; 7]));
        for _ in 0..2 {
            assert_eq!(news_reader.poll(&mut [0; 72]), Polled::Message(70));
        }
    }
}
