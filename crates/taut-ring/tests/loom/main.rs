//! The memory model, proved by search: all interleavings of small programs under loom, with at
//! most two or three forced switches of thread (most bugs of ordering need one; unbounded: hours).
//!
//! Three things make a model see what it looks for. The memory is made by one thread and used by
//! two others, because loom never gives a thread that has yielded a value again that the thread
//! itself has stored before. A reader yields before it looks, because loom finds a race by the last
//! access to a word, and a writer that loads its own word before it stores would hide the reader's
//! earlier loads. And what is compared are the words, as they were loaded.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-ring --test loom`
//!
//! That each ordering matters to some model here is checked by `cargo xtask orderings`.
#![cfg(loom)]

mod broadcast;
mod handover;
mod log;
mod queues;
mod sleep;

use loom::thread;
use taut_ring::Payload;
use taut_sync::atomic::{AtomicU64, Ordering};

/// Words that live as long as the threads of a model may need them: a few hundred bytes that are
/// not given back.
type Memory = &'static [AtomicU64];

fn memory(words: usize) -> Memory {
    Box::leak((0..words).map(|_| AtomicU64::new(0)).collect())
}

fn check(preemptions: usize, program: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.max_branches = 20_000;
    model.check(program);
}

/// Runs two programs at the same time, and waits for both.
fn together(writer: impl FnOnce() + 'static, reader: impl FnOnce() + 'static) {
    let threads = [thread::spawn(writer), thread::spawn(reader)];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// A payload in which a torn read would show: all words say the same.
fn payload(n: u64) -> Payload {
    [n; 2]
}

fn whole(payload: Payload) -> u64 {
    assert_eq!(payload, [payload[0]; 2], "half a message was seen");
    payload[0]
}

fn relaxed(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}
