//! Channels by name: creation, entry, refusal, succession, looking in, and leaving nothing behind.

use std::path::Path;

use taut_ipc::{
    Channel, ChannelOptions, IpcError, Join, Stream, StreamKind, Writer, channels, is_used,
    layout_hash, prune,
};
use taut_ring::Policy;
use taut_ring::broadcast::{Polled, Start};
use taut_sys::{Access, MemoryOptions, Wait, monotonic};
use taut_types::Nanos;

const TICKS: Stream<'static> = Stream {
    name: "ticks",
    kind: StreamKind::Ticks { slot_count: 64 },
    reader_count: 2,
    layout: layout_hash("tick: price i64, lots i64"),
};
const NEWS: Stream<'static> = Stream {
    name: "news",
    kind: StreamKind::Log { capacity_bytes: 4096 },
    reader_count: 2,
    layout: 0,
};

/// A name that no other test uses.
fn name(test: &str) -> String {
    format!("test-{}-{test}", std::process::id())
}

fn open(name: &str) -> Channel {
    Channel::open_or_create(name, &[TICKS, NEWS], &ChannelOptions::default()).expect("channel")
}

#[test]
fn messages_pass_by_name_and_the_last_one_out_removes_the_channel() {
    let name = name("pass");
    let ours = open(&format!("ipc:{name}"));
    let theirs = Channel::open(&name, Access::Write, &ChannelOptions::default()).expect("open");
    let mut publication = ours.publish_ticks("ticks", TICKS.layout, Policy::Block).expect("ticks");
    let mut news = ours.publish_log("news", 0, Policy::Overwrite).expect("news");
    let mut ticks = theirs
        .subscribe_ticks("ticks", TICKS.layout, Start::Oldest, Join::Registered)
        .expect("sub");
    let mut items = theirs.subscribe_log("news", 0, Start::Oldest, Join::Passive).expect("sub");
    publication.publish(&[7; 7]).expect("room");
    news.append(b"hello").expect("room");
    assert_eq!(ticks.poll(), Polled::Message([7; 7]));
    let mut buffer = [0; 64];
    assert_eq!(items.poll(&mut buffer), Polled::Message(5));
    assert_eq!(&buffer[..5], b"hello");
    let status = theirs.status().expect("status");
    assert_eq!(status[0].writer, Writer::Alive { process: std::process::id() });
    assert_eq!((status[0].counters.head, status[0].readers.len()), (1, 1));
    assert_eq!(status[0].readers[0].process, Some(std::process::id()));
    assert!(is_used(&name, &ChannelOptions::default()).expect("used"));
    drop((publication, news, ticks, items));
    drop((ours, theirs));
    let left = channels(Path::new("/dev/shm")).expect("list");
    assert!(!left.contains(&name), "{left:?}");
}

#[test]
fn a_second_writer_is_refused_and_the_next_one_goes_on_with_a_new_epoch() {
    let name = name("writers");
    let (first, second) = (open(&name), open(&name));
    let mut publication = first.publish_ticks("ticks", 0, Policy::Block).expect("first");
    let refused = second.publish_ticks("ticks", 0, Policy::Block).err();
    assert_eq!(refused, Some(IpcError::WriterExists { process: std::process::id() }));
    let mut reader =
        second.subscribe_ticks("ticks", 0, Start::Latest, Join::Registered).expect("subscribe");
    publication.publish(&[1; 7]).expect("room");
    drop(publication);
    assert!(matches!(second.writer("ticks"), Ok(Writer::Gone { .. })));
    let mut next = second.publish_ticks("ticks", 0, Policy::Block).expect("next");
    next.publish(&[2; 7]).expect("room");
    assert_eq!(reader.poll(), Polled::NewWriter(2));
    assert_eq!([reader.poll(), reader.poll()], [1, 2].map(|n| Polled::Message([n; 7])));
}

#[test]
fn what_is_asked_for_must_be_what_is_there() {
    let name = name("layout");
    let channel = open(&name);
    let other = channel.publish_ticks("ticks", 5, Policy::Block).err();
    assert_eq!(other, Some(IpcError::OtherLayout { expected: 5, found: TICKS.layout }));
    assert_eq!(channel.publish_log("ticks", 0, Policy::Block).err(), Some(IpcError::Stream));
    assert_eq!(channel.publish_ticks("none", 0, Policy::Block).err(), Some(IpcError::Stream));
    let options = ChannelOptions::default();
    let other = Channel::open_or_create(&name, &[TICKS], &options).err();
    assert_eq!(other, Some(IpcError::OtherStreams));
    let twice = Channel::open_or_create(&name, &[TICKS, TICKS], &options).err();
    assert_eq!(twice, Some(IpcError::Misuse));
    assert_eq!(Channel::open("nowhere", Access::Read, &options).err(), Some(IpcError::NotFound));
}

#[test]
fn names_cannot_leave_the_directory() {
    let options = ChannelOptions::default();
    for bad in ["", "../x", "a/b", ".x", "x.lock", "a b", "ipc:", &"x".repeat(65)] {
        let refused = Channel::open_or_create(bad, &[TICKS], &options).err();
        assert_eq!(refused, Some(IpcError::Name), "{bad:?}");
    }
}

#[test]
fn what_a_dead_user_left_is_used_again_or_replaced_or_pruned() {
    let name = name("stale");
    let keep = ChannelOptions { keep: true, ..ChannelOptions::default() };
    let path = format!("/dev/shm/taut.{name}");
    let channel = Channel::open_or_create(&name, &[TICKS], &keep).expect("create");
    channel
        .publish_ticks("ticks", 0, Policy::Block)
        .expect("writer")
        .publish(&[3; 7])
        .expect("room");
    drop(channel);
    // Used again: the message is still there.
    let again = Channel::open_or_create(&name, &[TICKS], &keep).expect("again");
    let mut reader =
        again.subscribe_ticks("ticks", 0, Start::Oldest, Join::Passive).expect("subscribe");
    assert_eq!(reader.poll(), Polled::Message([3; 7]));
    drop(reader);
    drop(again);
    // Replaced: other streams, and a header that somebody damaged.
    drop(Channel::open_or_create(&name, &[NEWS], &keep).expect("other streams"));
    std::fs::write(&path, b"rubbish").expect("damage");
    let damaged = Channel::open(&name, Access::Read, &keep).err();
    assert_eq!(damaged, Some(IpcError::NotASegment));
    let repaired = Channel::open_or_create(&name, &[NEWS], &keep).expect("repair");
    assert_eq!(prune(&name, &keep), Ok(false), "it is in use");
    drop(repaired);
    assert_eq!(prune(&name, &keep), Ok(true));
    assert!(!channels(Path::new("/dev/shm")).expect("list").contains(&name));
}

#[test]
fn every_bit_flip_of_a_named_header_is_refused() {
    use std::os::unix::fs::FileExt;
    let name = name("flips");
    let channel = open(&name);
    let path = format!("/dev/shm/taut.{name}");
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).expect("file");
    let options = ChannelOptions { memory: MemoryOptions::default(), ..ChannelOptions::default() };
    for at in 0..368 * 8 {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).expect("read");
        for bit in 0..8 {
            file.write_all_at(&[byte[0] ^ 1 << bit], at).expect("write");
            let opened = Channel::open(&name, Access::Read, &options);
            assert!(opened.is_err(), "byte {at} bit {bit}");
        }
        file.write_all_at(&byte, at).expect("write");
    }
    assert!(Channel::open(&name, Access::Read, &options).is_ok());
    drop(channel);
}

#[test]
fn a_read_only_user_sees_everything_and_leaves_no_trace() {
    let name = name("read-only");
    let channel = open(&name);
    let looker = Channel::open(&name, Access::Read, &ChannelOptions::default()).expect("open");
    let mut publication = channel.publish_ticks("ticks", 0, Policy::Overwrite).expect("writer");
    let mut reader =
        looker.subscribe_ticks("ticks", 0, Start::Oldest, Join::Passive).expect("subscribe");
    (0..200u64).for_each(|n| publication.publish(&[n; 7]).expect("room"));
    let (mut taken, mut lost) = (0, 0);
    loop {
        match reader.poll() {
            Polled::Empty => break,
            Polled::Message(payload) => {
                assert_eq!(payload, [taken + lost; 7]);
                taken += 1;
            }
            Polled::Lapped(count) => lost += count,
            Polled::NewWriter(_) => {}
        }
    }
    assert_eq!(taken + lost, 200);
    let refused = looker.subscribe_ticks("ticks", 0, Start::Oldest, Join::Registered).err();
    assert_eq!(refused, Some(IpcError::ReadOnly));
    assert_eq!(looker.publish_log("news", 0, Policy::Block).err(), Some(IpcError::ReadOnly));
}

#[test]
fn a_group_gets_both_files_when_it_may_write_and_the_data_when_it_may_read() {
    use std::os::unix::fs::MetadataExt;
    let group = std::fs::metadata("/proc/self").expect("process").gid();
    for (mode, lock_mode) in [(0o660, 0o660), (0o640, 0o600), (0o600, 0o600)] {
        let name = name(&format!("group-{mode:o}"));
        let options = ChannelOptions { mode, group: Some(group), ..ChannelOptions::default() };
        let channel = Channel::open_or_create(&name, &[TICKS], &options).expect("channel");
        let status = |suffix: &str| {
            let file = format!("/dev/shm/taut.{name}{suffix}");
            let status = std::fs::metadata(file).expect("status");
            (status.gid(), status.mode() & 0o7777)
        };
        assert_eq!(status(""), (group, mode));
        assert_eq!(status(".lock").1, lock_mode);
        drop(channel);
    }
}

/// Who has the file open for reading only can neither cut it off nor make its mapping writable.
#[test]
fn a_read_only_handle_cannot_shrink_the_channel() {
    let name = name("shrink");
    let channel = Channel::open_or_create(
        &name,
        &[TICKS],
        &ChannelOptions { mode: 0o640, ..ChannelOptions::default() },
    )
    .expect("channel");
    assert_eq!(channel.owner().expect("owner").1, 0o640);
    let bytes = channel.bytes() as u64;
    let file = std::fs::File::open(format!("/dev/shm/taut.{name}")).expect("open");
    assert!(file.set_len(0).is_err(), "shrunk through a read-only descriptor");
    assert_eq!(file.metadata().expect("status").len(), bytes);
}

#[test]
fn a_reader_that_left_without_a_word_does_not_hold_back_the_writer() {
    let name = name("dead-reader");
    let (ours, theirs) = (open(&name), open(&name));
    let mut publication = ours.publish_ticks("ticks", 0, Policy::Block).expect("writer");
    let reader = theirs.subscribe_ticks("ticks", 0, Start::Latest, Join::Registered).expect("sub");
    while publication.publish(&[0; 7]).is_ok() {}
    for _ in 0..10_000 {
        assert!(publication.publish(&[0; 7]).is_err(), "the reader lives");
    }
    // A killed process drops nothing, but its lock goes: as if it were this.
    let lock = std::fs::File::open(format!("/dev/shm/taut.{name}.lock")).expect("lock file");
    drop((lock, reader));
    assert_eq!(publication.publish(&[0; 7]), Ok(()));
}

#[test]
fn all_places_may_be_taken() {
    let name = name("places");
    let channel = open(&name);
    let join = || channel.subscribe_ticks("ticks", 0, Start::Latest, Join::Registered);
    let (_first, second) = (join().expect("first"), join().expect("second"));
    assert_eq!(join().err(), Some(IpcError::ReadersFull { reader_count: 2 }));
    drop(second);
    assert!(join().is_ok());
}

#[test]
fn a_sleeping_reader_is_woken() {
    let name = name("sleep");
    let (ours, theirs) = (open(&name), open(&name));
    let mut publication = ours.publish_ticks("ticks", 0, Policy::Block).expect("writer");
    let mut reader =
        theirs.subscribe_ticks("ticks", 0, Start::Latest, Join::Registered).expect("subscribe");
    reader.set_wait(Wait::Block);
    std::thread::scope(|scope| {
        let (to_writer, told) = std::sync::mpsc::channel();
        scope.spawn(move || {
            for n in 0..2_000u64 {
                publication.publish(&[n; 7]).expect("room");
                // One at a time, so that the reader goes to sleep in between.
                if told.recv().is_err() {
                    return;
                }
            }
        });
        for n in 0..2_000u64 {
            loop {
                match reader.poll() {
                    Polled::Message(payload) => break assert_eq!(payload, [n; 7]),
                    _ => reader.wait(),
                }
            }
            reader.worked();
            to_writer.send(()).expect("writer");
        }
    });
}

/// What comes between an empty poll and the wait is there when the reader looks: it does not sleep
/// for its 100 ms.
#[test]
fn a_message_between_an_empty_poll_and_the_wait_is_not_slept_through() {
    let name = name("between");
    let orders = Stream {
        name: "orders",
        kind: StreamKind::Requests { slot_count: 64 },
        reader_count: 2,
        layout: 0,
    };
    let channel =
        Channel::open_or_create(&name, &[TICKS, NEWS, orders], &ChannelOptions::default())
            .expect("channel");
    let mut ticks = channel.publish_ticks("ticks", 0, Policy::Overwrite).expect("writer");
    let mut news = channel.publish_log("news", 0, Policy::Overwrite).expect("writer");
    let mut sender = channel.publish_requests("orders", 0).expect("writer");
    let (start, join) = (Start::Latest, Join::Passive);
    let mut tick_reader = channel.subscribe_ticks("ticks", 0, start, join).expect("reader");
    let mut news_reader = channel.subscribe_log("news", 0, start, join).expect("reader");
    let mut requests = channel.read_requests("orders", 0).expect("reader");
    tick_reader.set_wait(Wait::Block);
    news_reader.set_wait(Wait::Block);
    requests.set_wait(Wait::Block);
    assert_eq!(tick_reader.poll(), Polled::Empty);
    assert_eq!(news_reader.poll(&mut [0; 8]), Polled::Empty);
    assert_eq!(requests.poll(), None);
    ticks.publish(&[1; 7]).expect("room");
    news.append(b"news").expect("room");
    sender.send(&[2; 7]).expect("room");
    let begun = monotonic();
    for _ in 0..40 {
        tick_reader.wait();
        news_reader.wait();
        requests.wait();
    }
    let waited = monotonic().since(begun);
    assert!(waited < Nanos::from_secs(2), "slept through a message: {waited:?}");
    assert_eq!(tick_reader.poll(), Polled::Message([1; 7]));
    assert_eq!(requests.poll(), Some([2; 7]));
}

#[test]
fn a_full_file_system_says_what_is_needed_and_what_there_is() {
    let options = ChannelOptions::default();
    let huge = Stream { kind: StreamKind::Log { capacity_bytes: 1 << 40 }, ..NEWS };
    let name = name("full");
    match Channel::open_or_create(&name, &[huge], &options).err() {
        Some(IpcError::NoRoom { need, have }) => assert!(need > 1 << 40 && have < need),
        other => panic!("{other:?}"),
    }
    assert!(!channels(Path::new("/dev/shm")).expect("list").contains(&name));
}

#[test]
fn many_may_create_at_once_and_get_the_same() {
    let name = name("race");
    for _ in 0..50 {
        let entered = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            let open_one = || {
                let channel = open(&name);
                entered.wait();
                let wrote = channel.publish_ticks("ticks", 0, Policy::Block);
                let count = u32::from(wrote.is_ok());
                entered.wait();
                count
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(open_one)).collect();
            let writers: u32 = threads.into_iter().map(|thread| thread.join().expect("join")).sum();
            assert_eq!(writers, 1);
        });
    }
    assert!(!channels(Path::new("/dev/shm")).expect("list").contains(&name));
}

#[test]
fn requests_of_many_writers_and_the_newest_value_pass_by_name() {
    let name = name("requests");
    let orders = Stream {
        name: "orders",
        kind: StreamKind::Requests { slot_count: 8 },
        reader_count: 2,
        layout: 0,
    };
    let top = Stream { name: "top", kind: StreamKind::Cell { word_count: 3 }, ..orders };
    let streams = [orders, top];
    let options = ChannelOptions::default();
    let channel = Channel::open_or_create(&name, &streams, &options).expect("channel");
    let mut writers =
        [(), ()].map(|()| channel.publish_requests("orders", 0).expect("a place for each"));
    let full = channel.publish_requests("orders", 0).err();
    assert_eq!(full, Some(IpcError::ReadersFull { reader_count: 2 }));
    let mut reader = channel.read_requests("orders", 0).expect("reader");
    let second = channel.read_requests("orders", 0).err();
    assert_eq!(second, Some(IpcError::WriterExists { process: std::process::id() }));
    for n in 0..20u64 {
        let writer = &mut writers[n as usize % 2];
        writer.send(&[n; 7]).expect("room");
        assert_eq!((reader.poll(), reader.poll()), (Some([n; 7]), None));
    }
    // The next reader finds what this one left.
    writers[0].send(&[99; 7]).expect("room");
    drop(reader);
    let mut reader = channel.read_requests("orders", 0).expect("reader");
    assert_eq!((reader.poll(), reader.skipped()), (Some([99; 7]), 0));

    let looker = Channel::open(&name, Access::Read, &options).expect("open");
    let view = looker.read_cell::<3>("top", 0).expect("view");
    assert_eq!(view.get(), None);
    let mut cell = channel.publish_cell::<3>("top", 0).expect("cell");
    assert!(channel.publish_cell::<3>("top", 0).is_err(), "two writers");
    assert_eq!(channel.read_cell::<2>("top", 0).err(), Some(IpcError::Stream));
    cell.set(&[1, 2, 3]);
    assert_eq!(view.get(), Some((2, [1, 2, 3])));
    assert_eq!(looker.status().expect("status").len(), 2);
}

/// Runs a test of this file in a mount namespace of its own, where /dev/shm has 64 KiB, as in a
/// container that was given too little.
#[test]
fn a_dev_shm_of_64_kib_gives_the_clear_error_and_never_a_signal() {
    let script = "mount --make-rprivate / && mount -t tmpfs -o size=64k tmpfs /dev/shm || exit 77
        exec \"$0\" --exact --ignored in_a_dev_shm_of_64_kib";
    let program = std::env::current_exe().expect("program");
    let mut unshare = std::process::Command::new("unshare");
    let output = unshare.args(["--mount", "sh", "-c", script]).arg(program).output();
    match output {
        Ok(output) if output.status.success() => {
            assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
        }
        Ok(output) if output.status.code() == Some(101) => panic!("{output:?}"),
        Ok(output) if output.status.code().is_none() => panic!("a signal: {output:?}"),
        refused => println!("skipped: no mount namespace: {refused:?}"),
    }
}

#[test]
#[ignore = "run by the test above, where /dev/shm has 64 KiB"]
fn in_a_dev_shm_of_64_kib() {
    let options = ChannelOptions::default();
    let big = Stream { kind: StreamKind::Log { capacity_bytes: 65_536 }, ..NEWS };
    match Channel::open_or_create("small", &[big], &options).err() {
        Some(error @ IpcError::NoRoom { need, have }) => {
            assert!(need > 65_536 && have == 65_536, "{error}");
            let text = error.to_string();
            assert!(text.contains(&format!("need {need} bytes, have 65536")), "{text}");
        }
        other => panic!("{other:?}"),
    }
    // What fits works, every page of it, and what failed left nothing behind.
    let fits = Stream { kind: StreamKind::Log { capacity_bytes: 32_768 }, ..NEWS };
    let channel = Channel::open_or_create("small", &[fits], &options).expect("it fits");
    let mut publication = channel.publish_log("news", 0, Policy::Overwrite).expect("writer");
    (0..100).for_each(|_| publication.append(&[1; 1000]).expect("room"));
    drop(publication);
    drop(channel);
    assert_eq!(channels(&options.directory), Ok(vec![]));
}
