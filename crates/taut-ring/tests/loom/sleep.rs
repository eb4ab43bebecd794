//! Going to sleep and being woken: whoever sleeps is rung for every message. A message that rings
//! for nobody is a reader that waits for ever, which loom reports as a model without an end.

use loom::thread;
use taut_ring::broadcast::{Layout, Polled, Publisher, Start, Subscriber, words_for};
use taut_ring::{Bell, Policy};
use taut_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

use crate::queues::mailbox;
use crate::{check, memory, payload, relaxed, together, whole};

#[test]
fn a_loop_that_sleeps_is_rung_for_a_post() {
    check(3, || {
        let mailbox = mailbox();
        let bell: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        let writer = move || {
            mailbox.push(&payload(1)).unwrap();
            if mailbox.must_ring() {
                bell.store(true, Ordering::Release);
            }
        };
        together(writer, move || {
            let mut position = 0;
            if mailbox.fall_asleep(position) {
                while !bell.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            }
            assert!(mailbox.pop(&mut position).is_some(), "rung for nothing");
        });
    });
}

/// What a publication and a subscription do with a bell. The barrier that a sleeper runs on the
/// writer's CPU is a fence of the writer here.
#[test]
fn a_reader_that_sleeps_is_rung_for_each_message() {
    check(2, || {
        let state: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
        let message: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        let writer = move || {
            let bell = Bell::new(state);
            for n in 1..=2 {
                message.store(n, Ordering::Release);
                fence(Ordering::SeqCst);
                let _ = bell.strike();
            }
        };
        together(writer, move || {
            let bell = Bell::new(state);
            let mut seen = 0;
            while seen < 2 {
                thread::yield_now();
                let listened = bell.listen();
                fence(Ordering::SeqCst);
                if relaxed(message) == seen {
                    while bell.is_silent(listened) {
                        thread::yield_now();
                    }
                }
                seen = relaxed(message);
            }
        });
    });
}

/// The same over a ring: a subscription that polled in vain asks the ring once more after it has
/// listened, and does not sleep through what came in between.
#[test]
fn a_reader_that_polled_in_vain_does_not_sleep_through_a_message() {
    const LAYOUT: Layout = Layout { slot_count: 2, reader_count: 0 };
    check(2, || {
        let state: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
        let memory = memory(words_for(2, 0));
        let mut publisher = Publisher::resume(memory, LAYOUT, Policy::Overwrite).unwrap();
        let mut reader = Subscriber::passive(memory, LAYOUT, Start::At(0)).unwrap();
        let writer = move || {
            for n in 1..=2 {
                publisher.publish(&payload(n)).unwrap();
                fence(Ordering::SeqCst);
                let _ = Bell::new(state).strike();
            }
        };
        together(writer, move || {
            let bell = Bell::new(state);
            let mut seen = 0;
            while seen < 2 {
                thread::yield_now();
                match reader.poll() {
                    Polled::Message(payload) => seen = whole(payload),
                    Polled::Empty => {
                        let listened = bell.listen();
                        fence(Ordering::SeqCst);
                        if !reader.has_next() {
                            while bell.is_silent(listened) {
                                thread::yield_now();
                            }
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
        });
    });
}
