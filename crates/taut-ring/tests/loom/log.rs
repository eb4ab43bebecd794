//! The byte log.

use loom::thread;
use taut_ring::Policy;
use taut_ring::broadcast::{Polled, Start};
use taut_ring::log::{Appender, Layout, LogReader, words_for};
use taut_sync::atomic::{AtomicU64, Ordering};

use crate::{Memory, check, memory, relaxed, together};

const LAYOUT: Layout = Layout { capacity_bytes: 512, reader_count: 0 };
/// Words of the ring.
const RING: usize = 64;

/// Writes the next appender's records beyond `start`; a lap ago there was what looks like a
/// committed header of three bytes, everywhere.
fn used_memory(start: u64) -> Memory {
    let memory = memory(words_for(512, 0));
    let body = memory.len() - RING;
    memory[body..].iter().for_each(|word| word.store(1 << 63 | 3, Ordering::Relaxed));
    LAYOUT.format(memory, start).unwrap();
    memory
}

fn appender(memory: Memory) -> Appender<'static> {
    Appender::resume(memory, LAYOUT, Policy::Overwrite).unwrap()
}

/// A message of two words that say the same.
fn append(appender: &mut Appender<'_>, n: u64) {
    let claim = appender.claim(16).unwrap();
    claim.words().iter().for_each(|word| word.store(n, Ordering::Relaxed));
    claim.commit();
}

/// The words of a message, which must be one of those.
fn number(words: &[AtomicU64], bytes: usize) -> (u64, bool) {
    let first = relaxed(&words[0]);
    (first, bytes == 16 && words.iter().all(|word| relaxed(word) == first))
}

/// The next message, if there is one.
fn poll(reader: &mut LogReader<'_>) -> Option<u64> {
    thread::yield_now();
    match reader.poll_with(number) {
        Polled::Message((n, whole)) => {
            assert!(whole, "no record, or half of one");
            Some(n)
        }
        _ => None,
    }
}

#[test]
fn a_log_passes_whole_records() {
    check(2, || {
        let memory = used_memory(0);
        let mut reader = LogReader::passive(memory, LAYOUT, Start::At(0)).unwrap();
        let mut appender = appender(memory);
        let writer = move || (1..=2).for_each(|n| append(&mut appender, n));
        together(writer, move || {
            let mut last = 0;
            for _ in 0..3 {
                if let Some(n) = poll(&mut reader) {
                    assert_eq!(n, last + 1);
                    last = n;
                }
            }
        });
    });
}

/// A reader that joins at the head, at a mark or at the key finds a record there, or nothing.
#[test]
fn whoever_joins_whenever_begins_at_a_record() {
    for start in [Start::Latest, Start::Oldest, Start::Key] {
        check(2, move || {
            // The second record ends a part of the log, which a mark is for.
            let memory = used_memory(40);
            let mut appender = appender(memory);
            let writer = move || {
                append(&mut appender, 1);
                appender.mark_key();
                append(&mut appender, 2);
            };
            together(writer, move || {
                thread::yield_now();
                let mut reader = LogReader::passive(memory, LAYOUT, start).unwrap();
                let seen = [poll(&mut reader), poll(&mut reader)];
                assert!(seen.iter().flatten().is_sorted(), "{seen:?}");
            });
        });
    }
}

#[test]
fn a_batch_is_seen_whole() {
    check(2, || {
        let memory = used_memory(0);
        let mut reader = LogReader::passive(memory, LAYOUT, Start::At(0)).unwrap();
        let mut appender = appender(memory);
        let writer = move || {
            appender.append_to_batch(&[1; 16]).unwrap();
            appender.append_to_batch(&[2; 16]).unwrap();
            appender.flush();
        };
        together(writer, move || {
            let mut seen = 0;
            for _ in 0..3 {
                match poll(&mut reader) {
                    Some(n) => {
                        seen += 1;
                        assert_eq!(n, u64::from_ne_bytes([seen; 8]));
                    }
                    None => assert_eq!(seen % 2, 0, "a part of the batch was seen"),
                }
            }
        });
    });
}

#[test]
fn a_slow_reader_is_overtaken_but_never_fooled() {
    check(2, || {
        let memory = used_memory(0);
        let mut appender = appender(memory);
        let write = |appender: &mut Appender<'_>, n| {
            let claim = appender.claim(56).unwrap();
            claim.words()[..2].iter().for_each(|word| word.store(n, Ordering::Relaxed));
            claim.commit();
        };
        (0..7).for_each(|_| write(&mut appender, 9));
        let mut reader = LogReader::passive(memory, LAYOUT, Start::At(64)).unwrap();
        together(
            move || (1..=3).for_each(|n| write(&mut appender, n)),
            move || {
                for _ in 0..2 {
                    thread::yield_now();
                    let read = |words: &[AtomicU64], _| [relaxed(&words[0]), relaxed(&words[1])];
                    if let Polled::Message(words) = reader.poll_with(read) {
                        assert_eq!(words[0], words[1], "half a message was seen");
                    }
                }
            },
        );
    });
}
