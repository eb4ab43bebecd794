//! A process that writes garbage over shared memory while it is read: every kind of ring, and the
//! channel `ipc:`.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use taut_channel::{ChannelUri, Opening, Publication, Subscription};
use taut_ipc::{Channel, ChannelOptions, Join, Stream, StreamKind};
use taut_ring::Policy;
use taut_ring::broadcast::Start;
use taut_sync::atomic::{AtomicBool, Ordering};
use taut_sys::{monotonic, thread_usage};
use taut_testkit::Random;
use taut_types::Nanos;

use crate::{Outcome, Terms};

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
/// What a turn may take of a CPU, a dozen calls.
const TURN_MAX: Nanos = Nanos::from_millis(20);

/// Writes garbage over a named segment until it is told to stop.
fn scribble(name: &str, stop: &AtomicBool) -> Result<(), String> {
    let path = format!("/dev/shm/taut.{name}");
    let failed = |error| format!("{path}: {error}");
    let file = File::options().write(true).open(&path).map_err(failed)?;
    let words = file.metadata().map_err(failed)?.len() / 8;
    let mut random = Random::with_seed(17);
    while !stop.load(Ordering::Relaxed) {
        let word = match random.u8(..8) {
            0 => random.u64(..),
            1 => random.u64(..4),
            2 => (3 << 62) | random.u64(..4096),
            3 => (3 << 62) | random.u64(..1 << 32),
            4 => (1 << 63) | random.u64(..4096),
            5 => random.u64(..65_536),
            _ => u64::MAX - random.u64(..64),
        };
        let most = if random.bool() { words.min(1024) } else { words };
        file.write_all_at(&word.to_ne_bytes(), 8 * random.u64(..most)).map_err(failed)?;
    }
    Ok(())
}

/// Calls `turn` for a while under garbage; returns how often, and the most that one took of a CPU.
fn under_garbage(
    name: &str,
    span: Nanos,
    mut turn: impl FnMut(u64),
) -> Result<(u64, Nanos), String> {
    let stop = Arc::new(AtomicBool::new(false));
    let (asked, named) = (Arc::clone(&stop), name.to_owned());
    let scribbler = thread::spawn(move || scribble(&named, &asked));
    let until = monotonic() + span;
    let (mut count, mut longest, mut before) = (0, Nanos::ZERO, thread_usage().cpu);
    while monotonic() < until {
        turn(count);
        count += 1;
        let after = thread_usage().cpu;
        (longest, before) = (longest.max(after - before), after);
    }
    stop.store(true, Ordering::Relaxed);
    scribbler.join().map_err(|_| "the scribbler panicked".to_owned())??;
    Ok((count, longest))
}

fn rings(span: Nanos) -> Result<(u64, Nanos), String> {
    let name = format!("hostile-{}-rings", std::process::id());
    let streams = [TICKS, LOG, REQUESTS, CELL];
    let failed = |error: taut_ipc::IpcError| error.to_string();
    let channel = Channel::open_or_create(&name, &streams, &ChannelOptions::default());
    let channel = channel.map_err(failed)?;
    let mut ticks = channel.publish_ticks("ticks", 0, Policy::Evict).map_err(failed)?;
    let mut log = channel.publish_log("log", 0, Policy::Evict).map_err(failed)?;
    let mut requests = channel.read_requests("requests", 0).map_err(failed)?;
    let mut asks = channel.publish_requests("requests", 0).map_err(failed)?;
    let mut cell = channel.publish_cell::<4>("cell", 0).map_err(failed)?;
    let newest = channel.read_cell::<4>("cell", 0).map_err(failed)?;
    let mut readers = Vec::new();
    for join in [Join::Registered, Join::Passive] {
        let ticks = channel.subscribe_ticks("ticks", 0, Start::Oldest, join).map_err(failed)?;
        let log = channel.subscribe_log("log", 0, Start::Oldest, join).map_err(failed)?;
        readers.push((ticks, log));
    }
    under_garbage(&name, span, |turn| {
        let _ = (ticks.publish(&[turn; 7]), log.append(&[7; 100]), asks.send(&[turn; 7]));
        cell.set(&[turn; 4]);
        let _ = (newest.get(), requests.poll());
        for (ticks, log) in &mut readers {
            let _ = (ticks.poll(), log.poll(&mut [0; 64]));
        }
    })
}

fn polls(span: Nanos) -> Result<(u64, Nanos), String> {
    let name = format!("hostile-{}-channel", std::process::id());
    let uri: ChannelUri = format!("ipc:{name}").parse().map_err(|error| format!("{error}"))?;
    let opening = Opening { now: monotonic(), ..Opening::default() };
    let failed = |error: taut_channel::ChannelError| error.to_string();
    let mut subscription = Subscription::open(&uri, &opening).map_err(failed)?;
    let mut publication = Publication::open(&uri, &opening).map_err(failed)?;
    under_garbage(&name, span, |_| {
        let _ = publication.offer(monotonic(), b"a message among garbage");
        publication.work(monotonic());
        subscription.poll(monotonic(), 64, |_| {});
        while subscription.poll_event().is_some() || publication.poll_event().is_some() {}
    })
}

pub fn run(terms: Terms) -> Outcome {
    let span = Nanos(i64::from(terms.seconds) * 500_000_000);
    let (done, ended) = channel();
    thread::spawn(move || {
        let _ = done.send(rings(span).and_then(|rings| Ok([rings, polls(span)?])));
    });
    // A call that hangs never tells.
    let deadline = Duration::from_secs(u64::from(terms.seconds) + 60);
    let outcome = ended.recv_timeout(deadline);
    let [(rounds, ring), (polls, poll)] =
        outcome.map_err(|_| "a call panics, or does not return".to_owned())??;
    let measured = format!(
        "{rounds} turns over all rings, the longest {} us of CPU; {polls} of a channel, {} us",
        ring.0 / 1000,
        poll.0 / 1000
    );
    match ring.max(poll) > TURN_MAX {
        true => Err(format!("a turn takes too much: {measured}")),
        false => Ok(measured),
    }
}
