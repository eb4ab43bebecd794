//! Who joins late, who is too slow, and the same positions elsewhere.

use taut_ipc::{
    Channel, ChannelOptions, Join, LogPublication, LogSubscription, Stream, StreamKind,
};
use taut_ring::Policy;
use taut_ring::broadcast::{Polled, Start};

const TICKS: Stream<'static> = Stream {
    name: "ticks",
    kind: StreamKind::Ticks { slot_count: 64 },
    reader_count: 2,
    layout: 0,
};
const NEWS: Stream<'static> =
    Stream { name: "news", kind: StreamKind::Log { capacity_bytes: 4096 }, ..TICKS };

fn channel(test: &str) -> Channel {
    let name = format!("test-{}-{test}", std::process::id());
    Channel::open_or_create(&name, &[TICKS, NEWS], &ChannelOptions::default()).expect("channel")
}

/// All messages that are there, by their first eight bytes, and what was lost.
fn drain(reader: &mut LogSubscription<'_>) -> (Vec<u64>, u64) {
    let (mut taken, mut lost) = (Vec::new(), 0);
    let mut buffer = [0; 64];
    loop {
        match reader.poll(&mut buffer) {
            Polled::Message(_) => {
                taken.push(u64::from_ne_bytes(*buffer.first_chunk().expect("a number")));
            }
            Polled::Lapped(bytes) => lost += bytes,
            Polled::NewWriter(_) => {}
            Polled::Empty => return (taken, lost),
        }
    }
}

/// Appends the numbers, each in 24 bytes: 32 with the header.
fn append(news: &mut LogPublication<'_>, numbers: std::ops::Range<u64>) {
    for number in numbers {
        news.append([number.to_ne_bytes(); 3].as_flattened()).expect("room");
    }
}

#[test]
fn a_late_joiner_of_a_log_begins_with_the_latest_the_oldest_held_or_the_key_message() {
    let channel = channel("late-log");
    let mut news = channel.publish_log("news", 0, Policy::Overwrite).expect("writer");
    append(&mut news, 0..390);
    news.mark_key();
    append(&mut news, 390..400);
    for join in [Join::Passive, Join::Registered] {
        let joined = |start| channel.subscribe_log("news", 0, start, join).expect("reader");
        let mut latest = joined(Start::Latest);
        assert_eq!(drain(&mut latest), (vec![], 0));
        drop(latest);
        let (held, lost) = drain(&mut joined(Start::Oldest));
        assert!(held.iter().copied().eq(400 - held.len() as u64..400), "{held:?}");
        assert!((64..128).contains(&held.len()) && lost == 0, "{}", held.len());
        assert_eq!(drain(&mut joined(Start::Key)), ((390..400).collect(), 0));
        // A position that was overwritten long ago becomes the oldest.
        assert_eq!(drain(&mut joined(Start::At(0))), (held, 0));
    }
    // A key that is gone is none: the oldest is as good as it gets.
    append(&mut news, 400..800);
    let start = Start::Key;
    let mut late = channel.subscribe_log("news", 0, start, Join::Passive).expect("reader");
    let (held, _) = drain(&mut late);
    assert!(held.len() >= 64 && held.last() == Some(&799), "{held:?}");
}

#[test]
fn a_late_joiner_of_ticks_begins_with_the_latest_the_oldest_held_or_the_key_message() {
    let channel = channel("late-ticks");
    let mut ticks = channel.publish_ticks("ticks", 0, Policy::Overwrite).expect("writer");
    for n in 0..200u64 {
        if n == 195 {
            ticks.mark_key();
        }
        ticks.publish(&[n; 7]).expect("room");
    }
    for join in [Join::Passive, Join::Registered] {
        let first =
            |start| channel.subscribe_ticks("ticks", 0, start, join).expect("reader").poll();
        assert_eq!(first(Start::Latest), Polled::Empty);
        // An eighth of the ring is the writer's.
        assert_eq!(first(Start::Oldest), Polled::Message([200 - 56; 7]));
        assert_eq!(first(Start::Key), Polled::Message([195; 7]));
    }
}

#[test]
fn a_slow_reader_of_a_log_costs_the_newest_message_with_a_count_or_its_place() {
    let channel = channel("slow");
    // 4,096 bytes hold 127 records of 32 and the word behind them.
    for (policy, dropped, evicted) in [(Policy::DropNewest, 73, 0), (Policy::Evict, 0, 1)] {
        let mut news = channel.publish_log("news", 0, policy).expect("writer");
        let start = Start::Latest;
        let mut slow = channel.subscribe_log("news", 0, start, Join::Registered).expect("reader");
        let before = news.counters();
        let message = [7; 24];
        let refused = (0..200).filter(|_| news.append(&message).is_err()).count() as u64;
        let after = news.counters();
        assert_eq!((refused, after.dropped - before.dropped), (dropped, dropped), "{policy:?}");
        assert_eq!(after.evicted - before.evicted, evicted, "{policy:?}");
        // Anybody sees it from outside.
        let status = &channel.status().expect("status")[1];
        assert_eq!((status.counters.dropped, status.counters.evicted), (after.dropped, evicted));
        assert_eq!(status.readers[0].evicted, evicted == 1);
        assert_eq!(slow.is_held(), evicted == 0);
        let (taken, lost) = drain(&mut slow);
        if evicted == 1 {
            // What it lost and what it still took is everything.
            assert_eq!(lost + 32 * taken.len() as u64, 32 * 200, "{lost}");
            assert_eq!(channel.status().expect("status")[1].readers[0].lost, lost);
        } else {
            assert_eq!((taken.len() as u64, lost), (200 - dropped, 0));
        }
    }
}

/// A replay, or a mirror at the other end of a network: the same messages in another memory that
/// begins at the same position have the same positions, padding and all.
#[test]
fn the_same_messages_have_the_same_positions_in_another_memory() {
    let (here, there) = (channel("here"), channel("there"));
    let mut news = here.publish_log("news", 0, Policy::Overwrite).expect("writer");
    let mut copy = there.publish_log("news", 0, Policy::Overwrite).expect("writer");
    let start = Start::Oldest;
    let mut reader = here.subscribe_log("news", 0, start, Join::Passive).expect("reader");
    let mut buffer = [0; 512];
    for n in 0..1000usize {
        news.append(&[n as u8; 504][..n * 37 % 505]).expect("room");
        loop {
            match reader.poll(&mut buffer) {
                Polled::Message(bytes) => break copy.append(&buffer[..bytes]).expect("room"),
                Polled::NewWriter(_) => {}
                other => panic!("{n}: {other:?}"),
            }
        }
        assert_eq!((copy.position(), reader.position()), (news.position(), news.position()));
    }
}
