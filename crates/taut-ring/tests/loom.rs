//! The memory model, proved by search: every interleaving of small programs under loom, with at
//! most two forced switches of thread (most ordering bugs need one; unbounded takes hours).
//!
//! Readers yield before they look: loom finds a race by the last access to a word, and a writer
//! that loads its own word before it stores would hide the reader's earlier loads.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-ring --test loom`
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use taut_ring::broadcast::{Polled, Start};
use taut_ring::{Payload, Policy, broadcast, cell, log, mailbox, mpsc, spsc, store_bytes};
use taut_sync::atomic::AtomicU64;

fn memory(words: usize) -> Arc<Vec<AtomicU64>> {
    Arc::new((0..words).map(|_| AtomicU64::new(0)).collect())
}

fn check(preemptions: usize, program: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.max_branches = 20_000;
    model.check(program);
}

/// A payload in which a torn read would show: all words say the same.
fn payload(n: u64) -> Payload {
    [n; 2]
}

fn whole(payload: Payload) -> u64 {
    assert_eq!(payload, [payload[0]; 2], "half a message was seen");
    payload[0]
}

#[test]
fn a_passive_reader_sees_whole_messages_in_order_and_counts_its_losses() {
    check(2, || {
        let layout = broadcast::Layout { slot_count: 2, reader_count: 0 };
        let memory = memory(broadcast::words_for(2, 0));
        let written = Arc::clone(&memory);
        let mut reader = broadcast::Subscriber::passive(&memory, layout, Start::At(0)).unwrap();
        let writer = thread::spawn(move || {
            let mut publisher =
                broadcast::Publisher::resume(&written, layout, Policy::Overwrite).unwrap();
            (1..=3).for_each(|n| publisher.publish(&payload(n)).unwrap());
        });
        let mut seen = 0;
        for _ in 0..3 {
            thread::yield_now();
            match reader.poll() {
                Polled::Empty => {}
                Polled::NewWriter(epoch) => assert_eq!(epoch, 1),
                Polled::Message(payload) => {
                    assert_eq!(whole(payload), seen + 1);
                    assert_eq!(reader.epoch(), 1, "a message came before its writer's epoch");
                    seen += 1;
                }
                Polled::Lapped(lost) => seen += lost,
            }
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_registered_reader_loses_nothing_also_around_the_end() {
    check(2, || {
        let layout = broadcast::Layout { slot_count: 2, reader_count: 1 };
        let memory = memory(broadcast::words_for(2, 1));
        let written = Arc::clone(&memory);
        let mut reader =
            broadcast::Subscriber::registered(&memory, layout, Start::At(0), 0).unwrap();
        let writer = thread::spawn(move || {
            let mut publisher =
                broadcast::Publisher::resume(&written, layout, Policy::Block).unwrap();
            for n in 1..=3 {
                while publisher.publish(&payload(n)).is_err() {
                    thread::yield_now();
                }
            }
        });
        let mut expected = 1;
        while expected <= 3 {
            match reader.poll() {
                Polled::Message(payload) => {
                    assert_eq!(whole(payload), expected);
                    expected += 1;
                }
                Polled::NewWriter(_) => {}
                Polled::Empty => thread::yield_now(),
                Polled::Lapped(lost) => panic!("lost {lost}"),
            }
        }
        writer.join().unwrap();
    });
}

/// Registration against a writer that does not know of it yet: whoever is registered is not
/// overtaken from then on.
#[test]
fn a_reader_that_registers_while_the_writer_runs_is_not_overtaken() {
    check(3, || {
        let layout = broadcast::Layout { slot_count: 2, reader_count: 1 };
        let memory = memory(broadcast::words_for(2, 1));
        let written = Arc::clone(&memory);
        let writer = thread::spawn(move || {
            let mut publisher =
                broadcast::Publisher::resume(&written, layout, Policy::Block).unwrap();
            for _ in 0..4 {
                let _ = publisher.publish(&payload(publisher.position()));
            }
        });
        thread::yield_now();
        let mut reader =
            broadcast::Subscriber::registered(&memory, layout, Start::Oldest, 0).unwrap();
        let mut last = None;
        for _ in 0..2 {
            thread::yield_now();
            match reader.poll() {
                Polled::Message(payload) => {
                    let n = whole(payload);
                    assert!(last.is_none_or(|last| n == last + 1));
                    last = Some(n);
                }
                Polled::Lapped(lost) => panic!("lost {lost}"),
                Polled::NewWriter(_) | Polled::Empty => {}
            }
        }
        writer.join().unwrap();
    });
}

/// A place that changes hands: the writer must not take the old reader's cursor for the new one's.
#[test]
fn a_place_that_changes_hands_holds_the_writer_for_its_new_owner() {
    check(2, || {
        let layout = broadcast::Layout { slot_count: 2, reader_count: 1 };
        let memory = memory(broadcast::words_for(2, 1));
        let written = Arc::clone(&memory);
        let mut publisher = broadcast::Publisher::resume(&memory, layout, Policy::Block).unwrap();
        publisher.publish(&payload(1)).unwrap();
        // The old reader has read it, and leaves a cursor of 1 behind.
        drop(broadcast::Subscriber::registered(&memory, layout, Start::Latest, 0).unwrap());
        let reader = thread::spawn(move || {
            let mut reader =
                broadcast::Subscriber::registered(&written, layout, Start::At(0), 0).unwrap();
            let from = reader.position();
            let first = loop {
                match reader.poll() {
                    Polled::Message(payload) => break whole(payload),
                    Polled::Lapped(lost) => panic!("lost {lost}"),
                    Polled::NewWriter(_) => {}
                    Polled::Empty => thread::yield_now(),
                }
            };
            assert_eq!(first, from + 1);
        });
        for n in 2..=3 {
            while publisher.publish(&payload(n)).is_err() {
                thread::yield_now();
            }
        }
        reader.join().unwrap();
    });
}

#[test]
fn an_evicted_reader_never_takes_half_a_message() {
    check(2, || {
        let layout = broadcast::Layout { slot_count: 2, reader_count: 1 };
        let memory = memory(broadcast::words_for(2, 1));
        let written = Arc::clone(&memory);
        let mut reader =
            broadcast::Subscriber::registered(&memory, layout, Start::At(0), 0).unwrap();
        let writer = thread::spawn(move || {
            let mut publisher =
                broadcast::Publisher::resume(&written, layout, Policy::Evict).unwrap();
            (1..=3).for_each(|n| publisher.publish(&payload(n)).unwrap());
        });
        let mut seen = 0;
        for _ in 0..3 {
            thread::yield_now();
            match reader.poll() {
                Polled::Message(payload) => {
                    assert_eq!(whole(payload), seen + 1);
                    seen += 1;
                }
                Polled::Lapped(lost) => seen += lost,
                Polled::NewWriter(_) | Polled::Empty => {}
            }
        }
        writer.join().unwrap();
    });
}

/// A reader that joins at the head, at a mark or at the key finds a record there, or nothing.
#[test]
fn a_log_passes_whole_records_to_whoever_joins_whenever() {
    for start in [Start::Latest, Start::Oldest, Start::Key] {
        check(2, move || {
            let layout = log::Layout { capacity_bytes: 512, reader_count: 0 };
            let memory = memory(log::words_for(512, 0));
            // What was there a lap ago looks like a committed header of three bytes.
            let body = log::words_for(512, 0) - 64;
            memory[body..].iter().for_each(|word| word.store(1 << 63 | 3, RELAXED));
            layout.format(&memory, 448).unwrap();
            let written = Arc::clone(&memory);
            let writer = thread::spawn(move || {
                let mut appender =
                    log::Appender::resume(&written, layout, Policy::Overwrite).unwrap();
                appender.append(&[1; 16]).unwrap();
                appender.append(&[2; 16]).unwrap();
                appender.mark_key();
                appender.append(&[3; 56]).unwrap();
            });
            thread::yield_now();
            let mut reader = log::LogReader::passive(&memory, layout, start).unwrap();
            let mut last = 0;
            for _ in 0..2 {
                thread::yield_now();
                let mut bytes = [0; 56];
                if let Polled::Message(length) = reader.poll(&mut bytes) {
                    assert!([16, 56].contains(&length), "no record: {length} bytes");
                    let n = bytes[0];
                    assert!(bytes[..length].iter().all(|byte| *byte == n), "half a message");
                    assert!(n > last && n <= 3);
                    last = n;
                }
            }
            writer.join().unwrap();
        });
    }
}

const RELAXED: taut_sync::atomic::Ordering = taut_sync::atomic::Ordering::Relaxed;

#[test]
fn a_log_batch_is_seen_whole() {
    check(2, || {
        let layout = log::Layout { capacity_bytes: 512, reader_count: 0 };
        let memory = memory(log::words_for(512, 0));
        let written = Arc::clone(&memory);
        let mut reader = log::LogReader::passive(&memory, layout, Start::At(0)).unwrap();
        let writer = thread::spawn(move || {
            let mut appender = log::Appender::resume(&written, layout, Policy::Overwrite).unwrap();
            appender.append_to_batch(&[1; 16]).unwrap();
            appender.append_to_batch(&[2; 16]).unwrap();
            appender.flush();
        });
        let mut seen = 0;
        for _ in 0..3 {
            thread::yield_now();
            let mut bytes = [0; 16];
            match reader.poll(&mut bytes) {
                Polled::Message(length) => {
                    seen += 1;
                    assert_eq!((length, bytes), (16, [seen; 16]));
                }
                Polled::Empty => assert_eq!(seen, 0, "a part of the batch was seen"),
                _ => {}
            }
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_slow_log_reader_is_overtaken_but_never_fooled() {
    check(2, || {
        let layout = log::Layout { capacity_bytes: 512, reader_count: 0 };
        let memory = memory(log::words_for(512, 0));
        let written = Arc::clone(&memory);
        let mut appender = log::Appender::resume(&memory, layout, Policy::Overwrite).unwrap();
        (0..7).for_each(|_| {
            let claim = appender.claim(56).unwrap();
            store_bytes(&claim.words()[..2], &[9; 16]);
            claim.commit();
        });
        let mut reader = log::LogReader::passive(&memory, layout, Start::At(64)).unwrap();
        drop(appender);
        let writer = thread::spawn(move || {
            let mut appender = log::Appender::resume(&written, layout, Policy::Overwrite).unwrap();
            for n in 1..=3u8 {
                let claim = appender.claim(56).unwrap();
                store_bytes(&claim.words()[..2], &[n; 16]);
                claim.commit();
            }
        });
        let read = |words: &[AtomicU64], _| [words[0].load(RELAXED), words[1].load(RELAXED)];
        for _ in 0..2 {
            thread::yield_now();
            if let Polled::Message(words) = reader.poll_with(read) {
                assert_eq!(words[0], words[1], "half a message was seen");
            }
        }
        writer.join().unwrap();
    });
}

#[test]
fn an_spsc_ring_passes_every_message_once_also_around_its_end() {
    check(3, || {
        let memory = memory(spsc::words_for(2));
        let written = Arc::clone(&memory);
        let writer = thread::spawn(move || {
            let mut producer = spsc::Producer::resume(&written).unwrap();
            for n in 1..=3 {
                while producer.push(&payload(n)).is_err() {
                    thread::yield_now();
                }
            }
        });
        let mut consumer = spsc::Consumer::resume(&memory).unwrap();
        let mut expected = 1;
        while expected <= 3 {
            match consumer.pop() {
                Some(payload) => {
                    assert_eq!(whole(payload), expected);
                    expected += 1;
                }
                None => thread::yield_now(),
            }
        }
        writer.join().unwrap();
    });
}

/// The consumer changes hands in between; a producer that starts anew sees what it freed.
#[test]
fn a_new_spsc_producer_does_not_write_into_what_is_being_read() {
    check(3, || {
        let memory = memory(spsc::words_for(2));
        let written = Arc::clone(&memory);
        let mut producer = spsc::Producer::resume(&memory).unwrap();
        (1..=2).for_each(|n| producer.push(&payload(n)).unwrap());
        let writer = thread::spawn(move || {
            let mut producer = spsc::Producer::resume(&written).unwrap();
            let _ = producer.push(&payload(3));
        });
        let mut consumer = spsc::Consumer::resume(&memory).unwrap();
        assert_eq!(consumer.pop().map(whole), Some(1));
        assert_eq!(consumer.pop().map(whole), Some(2));
        writer.join().unwrap();
    });
}

#[test]
fn an_mpsc_ring_passes_every_message_of_two_producers_once() {
    check(2, || {
        let layout = mpsc::Layout { slot_count: 2, producer_count: 2 };
        let memory = memory(mpsc::words_for(2, 2));
        let writers = [0, 1].map(|seat| {
            let written = Arc::clone(&memory);
            thread::spawn(move || {
                let mut producer = mpsc::Producer::new(&written, layout, seat).unwrap();
                producer.push(&payload(10 + seat as u64)).unwrap();
            })
        });
        let mut consumer = mpsc::Consumer::resume(&memory, layout).unwrap();
        let mut seen = Vec::new();
        while seen.len() < 2 {
            match consumer.pop() {
                Some(payload) => seen.push(whole(payload)),
                None => thread::yield_now(),
            }
        }
        assert!(seen == [10, 11] || seen == [11, 10], "{seen:?}");
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
}

/// Who sees a claim sees whose it is.
#[test]
fn a_claim_that_holds_up_the_reader_has_a_name() {
    check(3, || {
        let layout = mpsc::Layout { slot_count: 2, producer_count: 1 };
        let memory = memory(mpsc::words_for(2, 1));
        let written = Arc::clone(&memory);
        let writer = thread::spawn(move || {
            let mut producer = mpsc::Producer::new(&written, layout, 0).unwrap();
            producer.push(&payload(1)).unwrap();
        });
        thread::yield_now();
        let mut consumer = mpsc::Consumer::resume(&memory, layout).unwrap();
        // The tail, the first word, is moved by the claim.
        let claimed = memory[0].load(taut_sync::atomic::Ordering::Acquire) == 1;
        let named = consumer.holders().next().is_some();
        let done = consumer.pop().map(whole);
        assert!(!claimed || named || done.is_some(), "a claim without a name");
        writer.join().unwrap();
    });
}

#[test]
fn a_new_mpsc_producer_does_not_write_into_what_is_being_read() {
    check(3, || {
        let layout = mpsc::Layout { slot_count: 2, producer_count: 2 };
        let memory = memory(mpsc::words_for(2, 2));
        let written = Arc::clone(&memory);
        let mut producer = mpsc::Producer::new(&memory, layout, 0).unwrap();
        (1..=2).for_each(|n| producer.push(&payload(n)).unwrap());
        let writer = thread::spawn(move || {
            let mut producer = mpsc::Producer::new(&written, layout, 1).unwrap();
            let _ = producer.push(&payload(3));
        });
        let mut consumer = mpsc::Consumer::resume(&memory, layout).unwrap();
        assert_eq!(consumer.pop().map(whole), Some(1));
        assert_eq!(consumer.pop().map(whole), Some(2));
        writer.join().unwrap();
    });
}

#[test]
fn a_cell_is_never_torn_and_never_goes_back() {
    check(3, || {
        let memory = memory(cell::words_for(2));
        let written = Arc::clone(&memory);
        let writer = thread::spawn(move || {
            let mut cell = cell::CellWriter::<2>::new(&written).unwrap();
            cell.set(&[1, 1]);
            cell.set(&[2, 2]);
        });
        let reader = cell::CellReader::<2>::new(&memory).unwrap();
        let mut newest = 0;
        for _ in 0..2 {
            thread::yield_now();
            if let Some((_, [first, second])) = reader.get() {
                assert_eq!(first, second, "half a value was seen");
                assert!(first >= newest, "the value went back");
                newest = first;
            }
        }
        writer.join().unwrap();
    });
}

fn mailbox_memory(slot_count: usize) -> Arc<Vec<AtomicU64>> {
    let memory = memory(mailbox::words_for(slot_count));
    mailbox::Mailbox::over(&memory, slot_count).unwrap().format();
    memory
}

#[test]
fn a_mailbox_gives_each_writers_messages_whole_and_in_order() {
    check(2, || {
        let memory = mailbox_memory(2);
        let writers = [1u64, 3].map(|first| {
            let memory = Arc::clone(&memory);
            thread::spawn(move || {
                let mailbox = mailbox::Mailbox::over(&memory, 2).unwrap();
                // The second may find it full: then it is not taken at all.
                let _ = mailbox.push(&payload(first));
                let _ = mailbox.push(&payload(first + 1));
            })
        });
        let mailbox = mailbox::Mailbox::over(&memory, 2).unwrap();
        let (mut position, mut newest) = (0, [0; 2]);
        for _ in 0..2 {
            thread::yield_now();
            if let Some(value) = mailbox.pop(&mut position).map(whole) {
                let writer = usize::from(value > 2);
                assert!(value > newest[writer], "a writer's order was changed");
                newest[writer] = value;
            }
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
}

#[test]
fn a_mailbox_never_lets_its_reader_sleep_through_a_message() {
    check(3, || {
        let memory = mailbox_memory(2);
        let written = Arc::clone(&memory);
        let writer = thread::spawn(move || {
            let mailbox = mailbox::Mailbox::over(&written, 2).unwrap();
            mailbox.push(&payload(1)).unwrap();
            mailbox.must_ring()
        });
        let mailbox = mailbox::Mailbox::over(&memory, 2).unwrap();
        let sleeps = mailbox.fall_asleep(0);
        let rung = writer.join().unwrap();
        assert!(!sleeps || rung, "the reader sleeps, and nobody rang");
        let mut position = 0;
        assert_eq!(mailbox.pop(&mut position).map(whole), Some(1));
    });
}
