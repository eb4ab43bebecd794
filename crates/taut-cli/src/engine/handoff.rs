//! Operations per second when every report goes to a consumer thread, as the referee wants it: a
//! round ends when the consumer has taken the last report.

use std::hint::spin_loop;

use taut_engine::Engine;
use taut_ring::spsc::{Consumer, Producer, words_for};
use taut_ring::{Payload, RingError};
use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{available_cpus, monotonic, yield_cpu};

use super::input::Input;
use super::report::Checksum;
use super::throughput::{Snapshots, Timed, Timing, execute_with, rounds};
use crate::exit::Failure;

/// Reports that the ring holds: 1 MiB of them, which a second-level cache holds and which outlasts
/// a consumer that is off its CPU for a moment.
const SLOTS: usize = 1 << 14;
/// A cache line, twice, in words: a slot must not lie across two lines.
const LINE_WORDS: usize = 16;
/// The kind of a message that is no report: the end of a round.
const END: u64 = u64::MAX;
/// The kind of a message that ends the consumer.
const STOP: u64 = u64::MAX - 1;
/// Pauses before a thread lets others run: well below a millisecond.
const SPINS_MAX: u32 = 1 << 12;
/// Pauses after a look that found the ring empty or full: ten microseconds or so, in which the
/// other side gets on with hundreds of messages. A consumer that follows the producer closely takes
/// the lines away that the producer is about to write: with 32 pauses a message took 57 ns, with
/// 400 it took 49.
const LAG_SPINS: u32 = 400;

/// Times the input with a consumer thread.
///
/// # Errors
/// [`Failure::Run`] when a round's reports do not arrive as in the correctness pass.
pub fn measure(
    engine: &mut Engine,
    input: &Input,
    timing: Timing,
    snapshots: &mut Snapshots,
) -> Result<Timed, Failure> {
    let words: Vec<AtomicU64> =
        (0..words_for(SLOTS) + LINE_WORDS).map(|_| AtomicU64::new(0)).collect();
    let skip = words.as_ptr().align_offset(LINE_WORDS * 8).min(LINE_WORDS);
    let memory = words.get(skip..skip + words_for(SLOTS)).unwrap_or(&words);
    let unusable = |error: RingError| Failure::Run(format!("the ring: {error}"));
    let mut producer = Producer::resume(memory).map_err(unusable)?;
    let mut consumer = Consumer::resume(memory).map_err(unusable)?;
    let shares_cpu = available_cpus().map_or(true, |cpus| cpus.len() < 2);
    let spins_max = if shares_cpu { 1 } else { SPINS_MAX };
    let arrived = Arrived::default();
    std::thread::scope(|scope| {
        scope.spawn(|| consume(&mut consumer, &arrived, spins_max));
        let mut round_number = 0;
        let timed = rounds(engine, input, timing, |engine, operations| {
            round_number += 1;
            let started = monotonic();
            execute_with(snapshots, engine, operations, &mut |report| {
                push(&mut producer, &report.to_payload(), spins_max);
            });
            push(&mut producer, &[END, 0, 0, 0, 0, 0, 0], spins_max);
            let checksum = arrived.wait(round_number, spins_max);
            (monotonic().since(started), checksum)
        });
        push(&mut producer, &[STOP, 0, 0, 0, 0, 0, 0], spins_max);
        timed
    })
}

/// What the consumer has taken in a round.
#[derive(Debug, Default)]
struct Arrived {
    round: AtomicU64,
    words: [AtomicU64; 2],
}

impl Arrived {
    fn set(&self, round: u64, checksum: Checksum) {
        for (word, value) in self.words.iter().zip(checksum.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
        // Release: whoever sees the round sees its words.
        self.round.store(round, Ordering::Release);
    }

    fn wait(&self, round: u64, spins_max: u32) -> Checksum {
        let mut wait = Spins::new(spins_max);
        // Acquire: pairs with the release of the round.
        while self.round.load(Ordering::Acquire) != round {
            wait.spin(1);
        }
        let [count, sum] = &self.words;
        Checksum::from_words([count.load(Ordering::Relaxed), sum.load(Ordering::Relaxed)])
    }
}

fn consume(consumer: &mut Consumer<'_>, arrived: &Arrived, spins_max: u32) {
    let (mut checksum, mut round) = (Checksum::default(), 0);
    let mut wait = Spins::new(spins_max);
    loop {
        let Some(payload) = consumer.pop() else {
            wait.spin(LAG_SPINS);
            continue;
        };
        wait = Spins::new(spins_max);
        match payload[0] {
            STOP => return,
            END => {
                round += 1;
                arrived.set(round, checksum);
                checksum = Checksum::default();
            }
            _ => checksum.add(&payload),
        }
    }
}

#[inline]
fn push(producer: &mut Producer<'_>, payload: &Payload, spins_max: u32) {
    if producer.push(payload).is_err() {
        push_later(producer, payload, spins_max);
    }
}

/// The ring is full: gives the consumer time for many reports, so that its position is fetched
/// seldom.
#[cold]
fn push_later(producer: &mut Producer<'_>, payload: &Payload, spins_max: u32) {
    let mut wait = Spins::new(spins_max);
    loop {
        wait.spin(LAG_SPINS);
        if producer.push(payload).is_ok() {
            return;
        }
    }
}

/// A wait that begins with pauses and then lets others run.
struct Spins {
    left: u32,
}

impl Spins {
    const fn new(spins_max: u32) -> Self {
        Self { left: spins_max }
    }

    fn spin(&mut self, times: u32) {
        match self.left.checked_sub(times) {
            Some(left) => {
                self.left = left;
                (0..times).for_each(|_| spin_loop());
            }
            None => yield_cpu(),
        }
    }
}
