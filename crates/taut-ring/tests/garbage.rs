//! A peer that writes garbage over a live ring: whatever the words say, each call of the other end
//! returns in bounded steps, and none panics. What it returns may be garbage, too.
#![cfg(not(loom))]

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use taut_ring::broadcast::{self, Polled, Start};
use taut_ring::{Control, Policy, cell, log, mailbox, mpsc, spsc};
use taut_sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Calls of each end.
const CALLS: u64 = 50_000;
/// How long all of them may take on a machine that has other things to do.
const DEADLINE: Duration = Duration::from_secs(120);
const COMMITTED: u64 = 1 << 63;
const PADDING: u64 = 1 << 62;

type Memory = &'static [AtomicU64];

/// Numbers that need not be good, but the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Words that look like something: positions, headers, flags; and some that look like nothing.
    fn word(&mut self, memory: Memory) -> u64 {
        let known = memory[self.below(memory.len())].load(Ordering::Relaxed);
        match self.below(8) {
            0 => self.next(),
            1 => self.next() % 4,
            2 => known.wrapping_add(1),
            3 => known.wrapping_add(self.next() % 4096),
            4 => COMMITTED | PADDING | (self.next() % 4096),
            5 => COMMITTED | PADDING | (self.next() & 0xFFFF_FFFF),
            6 => COMMITTED | (self.next() & 0xFFFF_FFFF),
            _ => u64::MAX - self.next() % 64,
        }
    }
}

/// Memory for ever: a reader that hangs must not outlive it. It stays reachable, so that
/// AddressSanitizer does not call it a leak.
fn memory(words: usize) -> Memory {
    static ALL: Mutex<Vec<Memory>> = Mutex::new(Vec::new());
    let memory: Memory = Box::leak((0..words).map(|_| AtomicU64::new(0)).collect());
    ALL.lock().expect("nobody panics with it").push(memory);
    memory
}

/// Runs `calls` so often, each time with its number, while another thread scribbles over the
/// memory, more often over its first words, which say where everything is.
fn under_garbage(what: &'static str, memory: Memory, mut calls: impl FnMut(u64) + Send + 'static) {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let scribbler = thread::spawn(move || {
        let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
        while !asked.load(Ordering::Relaxed) {
            let most = if numbers.below(2) == 0 { memory.len().min(64) } else { memory.len() };
            let (at, word) = (numbers.below(most), numbers.word(memory));
            memory[at].store(word, Ordering::Relaxed);
        }
    });
    let (done, ended) = channel();
    let reader = thread::spawn(move || {
        (0..CALLS).for_each(&mut calls);
        let _ = done.send(());
    });
    let end = ended.recv_timeout(DEADLINE);
    stop.store(true, Ordering::Relaxed);
    assert_ne!(end, Err(RecvTimeoutError::Timeout), "{what}: a call does not return");
    assert!(reader.join().is_ok() && scribbler.join().is_ok(), "{what}: a call panicked");
}

const LOG: log::Layout = log::Layout { capacity_bytes: 4096, reader_count: 2 };
const TICKS: broadcast::Layout = broadcast::Layout { slot_count: 64, reader_count: 2 };
const MANY: mpsc::Layout = mpsc::Layout { slot_count: 64, producer_count: 2 };
const POLICIES: [Policy; 4] = [Policy::Overwrite, Policy::Block, Policy::DropNewest, Policy::Evict];

#[test]
fn padding_without_end_holds_no_reader() {
    let memory = memory(log::words_for(LOG.capacity_bytes, LOG.reader_count));
    let mut reader = log::LogReader::passive(memory, LOG, Start::Latest).expect("a reader");
    for word in &memory[memory.len() - LOG.capacity_bytes / 8..] {
        word.store(COMMITTED | PADDING | 8, Ordering::Relaxed);
    }
    let (done, ended) = channel();
    thread::spawn(move || {
        let polled: Vec<_> = (0..100).map(|_| reader.poll(&mut [0; 64])).collect();
        let _ = done.send(!polled.iter().any(|polled| matches!(polled, Polled::Message(_))));
    });
    assert_eq!(ended.recv_timeout(DEADLINE), Ok(true), "a poll does not return");
}

#[test]
fn a_log_is_read_and_written_under_garbage() {
    let memory = memory(log::words_for(LOG.capacity_bytes, LOG.reader_count));
    let mut passive = log::LogReader::passive(memory, LOG, Start::Latest).expect("a reader");
    let mut held = log::LogReader::registered(memory, LOG, Start::Oldest, 0).expect("a reader");
    under_garbage("log, reader", memory, move |call| {
        let mut buffer = [0; 128];
        let _ = passive.poll(&mut buffer);
        let _ = held.poll_with(|words, bytes| assert!(bytes <= words.len() * 8));
        let _ = (held.has_next(), held.is_held(), held.writer_epoch());
        if call.is_multiple_of(64) {
            held.report();
            let start = if call.is_multiple_of(128) { Start::Key } else { Start::At(call) };
            // It may find nowhere to begin.
            drop(log::LogReader::registered(memory, LOG, start, 1));
        }
    });
    for policy in POLICIES {
        under_garbage("log, writer", memory, move |_| {
            let mut appender = log::Appender::resume(memory, LOG, policy).expect("an appender");
            for bytes in [0, 8, 100, 500] {
                let _ = appender.append(&[7; 512][..bytes]);
                let _ = appender.append_to_batch(&[7; 512][..bytes]);
            }
            appender.mark_key();
        });
    }
}

#[test]
fn a_broadcast_ring_is_read_and_written_under_garbage() {
    let memory = memory(broadcast::words_for(TICKS.slot_count, TICKS.reader_count));
    let mut passive = broadcast::Subscriber::passive(memory, TICKS, Start::Latest).expect("one");
    let mut held = broadcast::Subscriber::registered(memory, TICKS, Start::Oldest, 0).expect("one");
    under_garbage("broadcast, reader", memory, move |call| {
        let _ = (passive.poll(), held.poll(), held.has_next(), held.is_held());
        if call.is_multiple_of(64) {
            held.report();
            drop(broadcast::Subscriber::registered(memory, TICKS, Start::At(call), 1));
        }
    });
    for policy in POLICIES {
        under_garbage("broadcast, writer", memory, move |_| {
            let mut publisher =
                broadcast::Publisher::resume(memory, TICKS, policy).expect("a publisher");
            let _ = publisher.publish(&[1; 7]);
            let _ = publisher.publish_batch(&[[2; 7]; 8]);
        });
    }
}

#[test]
fn queues_are_read_and_written_under_garbage() {
    let one = memory(spsc::words_for(64));
    let mut consumer = spsc::Consumer::resume(one).expect("a consumer");
    let mut producer = spsc::Producer::resume(one).expect("a producer");
    under_garbage("spsc", one, move |call| {
        let _ = (consumer.pop(), producer.push(&[1; 7]), producer.push_batch(&[[2; 7]; 9]));
        if call.is_multiple_of(64) {
            consumer = spsc::Consumer::resume(one).expect("a consumer");
            producer = spsc::Producer::resume(one).expect("a producer");
        }
    });
    let many = memory(mpsc::words_for(MANY.slot_count, MANY.producer_count));
    let mut consumer = mpsc::Consumer::resume(many, MANY).expect("a consumer");
    let mut producer = mpsc::Producer::new(many, MANY, 0).expect("a producer");
    under_garbage("mpsc", many, move |call| {
        let _ = (consumer.pop(), consumer.has_next(), producer.push(&[1; 7]));
        let _ = (consumer.holders().count(), consumer.skip_claim());
        if call.is_multiple_of(64) {
            consumer = mpsc::Consumer::resume(many, MANY).expect("a consumer");
            // The place may seem to be a dead one's.
            if let Ok(next) = mpsc::Producer::new(many, MANY, 0) {
                producer = next;
            }
        }
    });
    let posts = memory(mailbox::words_for(64));
    let mailbox = mailbox::Mailbox::over(posts, 64).expect("a mailbox");
    let mut position = 0;
    under_garbage("mailbox", posts, move |_| {
        let _ = (mailbox.push(&[1; 7]), mailbox.pop(&mut position));
        let _ = (mailbox.fall_asleep(position), mailbox.must_ring());
    });
}

#[test]
fn a_cell_and_control_words_are_read_and_written_under_garbage() {
    let memory = memory(cell::words_for(4));
    let reader = cell::CellReader::<4>::new(memory).expect("a reader");
    let mut writer = cell::CellWriter::<4>::new(memory).expect("a writer");
    under_garbage("cell", memory, move |call| {
        let _ = reader.get();
        writer.set(&[call; 4]);
    });
    let words = self::memory(taut_ring::control_words(2));
    let control = Control::of(words, 2).expect("control words");
    under_garbage("control", words, move |_| {
        let _ = (control.counters(), control.reader(0), control.reader(2));
        control.free_reader(1);
    });
}
