//! A process that writes garbage over a channel in use: each poll returns, and none panics.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use taut_ipc::{Channel, ChannelOptions, Join, Stream, StreamKind};
use taut_ring::Policy;
use taut_ring::broadcast::Start;
use taut_sync::atomic::{AtomicBool, Ordering};

const TICKS: Stream<'static> = Stream {
    name: "ticks",
    kind: StreamKind::Ticks { slot_count: 64 },
    reader_count: 2,
    layout: 0,
};
const LOG: Stream<'static> =
    Stream { name: "log", kind: StreamKind::Log { capacity_bytes: 4096 }, ..TICKS };
const REQUESTS: Stream<'static> =
    Stream { name: "requests", kind: StreamKind::Requests { slot_count: 64 }, ..TICKS };
const CELL: Stream<'static> =
    Stream { name: "cell", kind: StreamKind::Cell { word_count: 4 }, ..TICKS };
const ROUNDS: u64 = 10_000;
const DEADLINE: Duration = Duration::from_secs(120);

/// Words that a channel has, and others.
fn scribble(file: &File, stop: &AtomicBool) {
    let bytes = file.metadata().expect("its length").len();
    let mut number = 0x9E37_79B9_7F4A_7C15_u64;
    while !stop.load(Ordering::Relaxed) {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        let word = match number >> 61 {
            0 => number,
            1 => number % 4,
            2 | 3 => (3 << 62) | (number & 0xFFFF_FFFF),
            4 => (1 << 63) | (number % 4096),
            5 => number % 65_536,
            _ => u64::MAX - number % 64,
        };
        let at = (number >> 8) % (bytes / 8) * 8;
        file.write_all_at(&word.to_ne_bytes(), at).expect("it is written");
    }
}

/// Both ends of every kind of stream.
fn read_and_write(name: &str, rounds: u64) {
    let streams = [TICKS, LOG, REQUESTS, CELL];
    let options = ChannelOptions::default();
    let channel = Channel::open_or_create(name, &streams, &options).expect("a channel");
    let mut ticks = channel.publish_ticks("ticks", 0, Policy::Evict).expect("a writer");
    let mut log = channel.publish_log("log", 0, Policy::Evict).expect("a writer");
    let mut requests = channel.read_requests("requests", 0).expect("a reader");
    let mut asks = channel.publish_requests("requests", 0).expect("a writer");
    let mut cell = channel.publish_cell::<4>("cell", 0).expect("a writer");
    let reader = channel.read_cell::<4>("cell", 0).expect("a reader");
    let mut readers = [Join::Registered, Join::Passive].map(|join| {
        let ticks = channel.subscribe_ticks("ticks", 0, Start::Oldest, join).expect("a reader");
        (ticks, channel.subscribe_log("log", 0, Start::Oldest, join).expect("a reader"))
    });
    let file = File::options().write(true).open(format!("/dev/shm/taut.{name}")).expect("its file");
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let scribbler = thread::spawn(move || scribble(&file, &asked));
    for round in 0..rounds {
        let _ = (ticks.publish(&[round; 7]), log.append(&[7; 100]), asks.send(&[round; 7]));
        cell.set(&[round; 4]);
        let _ = (reader.get(), requests.poll());
        for (ticks, log) in &mut readers {
            for _ in 0..4 {
                let _ = (ticks.poll(), log.poll(&mut [0; 64]));
            }
        }
        if round.is_multiple_of(100) {
            let _ = channel.status();
            log.reap();
        }
    }
    stop.store(true, Ordering::Relaxed);
    scribbler.join().expect("it scribbles");
}

#[test]
fn garbage_in_a_channel_holds_nobody_and_is_no_panic() {
    let name = format!("test-{}-garbage", std::process::id());
    let (done, ended) = channel();
    let worker = thread::spawn(move || {
        read_and_write(&name, ROUNDS);
        let _ = done.send(());
    });
    let end = ended.recv_timeout(DEADLINE);
    assert_ne!(end, Err(RecvTimeoutError::Timeout), "a call does not return");
    assert!(worker.join().is_ok(), "a call panicked");
}
