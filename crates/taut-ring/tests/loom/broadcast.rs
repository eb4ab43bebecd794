//! The broadcast ring and the cell.

use loom::thread;
use taut_ring::broadcast::{Layout, Polled, Publisher, Start, Subscriber, words_for};
use taut_ring::cell::{self, CellReader, CellWriter};
use taut_ring::{Payload, Policy};

use crate::{Memory, check, memory, payload, together, whole};

const fn layout(reader_count: usize) -> Layout {
    Layout { slot_count: 2, reader_count }
}

fn publisher(memory: Memory, reader_count: usize, policy: Policy) -> Publisher<'static> {
    Publisher::resume(memory, layout(reader_count), policy).unwrap()
}

fn registered(memory: Memory, start: Start) -> Subscriber<'static> {
    Subscriber::registered(memory, layout(1), start, 0).unwrap()
}

/// Publishes, and tries again until there is room.
fn publish(publisher: &mut Publisher<'_>, payload: &Payload) {
    while publisher.publish(payload).is_err() {
        thread::yield_now();
    }
}

/// The next message of a reader that loses nothing.
fn next(reader: &mut Subscriber<'_>) -> u64 {
    loop {
        match reader.poll() {
            Polled::Message(payload) => return whole(payload),
            Polled::Lapped(lost) => panic!("lost {lost}"),
            Polled::NewWriter(_) => {}
            Polled::Empty => thread::yield_now(),
        }
    }
}

/// Polls a few times: messages are whole and in order, and what is lost is counted.
fn follow(mut reader: Subscriber<'_>, polls: usize, mut seen: u64) {
    for _ in 0..polls {
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
}

#[test]
fn a_passive_reader_sees_whole_messages_in_order_and_counts_its_losses() {
    check(2, || {
        let memory = memory(words_for(2, 0));
        let mut publisher = publisher(memory, 0, Policy::Overwrite);
        let reader = Subscriber::passive(memory, layout(0), Start::At(0)).unwrap();
        publisher.publish(&payload(1)).unwrap();
        let writer = move || (2..=3).for_each(|n| publisher.publish(&payload(n)).unwrap());
        together(writer, move || follow(reader, 2, 0));
    });
}

#[test]
fn no_message_comes_before_its_writers_epoch() {
    check(2, || {
        let memory = memory(words_for(2, 0));
        let mut reader = Subscriber::passive(memory, layout(0), Start::At(0)).unwrap();
        let writer = move || publisher(memory, 0, Policy::Block).publish(&payload(1)).unwrap();
        together(writer, move || {
            for _ in 0..2 {
                thread::yield_now();
                if let Polled::Message(_) = reader.poll() {
                    assert_eq!(reader.epoch(), 1);
                }
            }
        });
    });
}

#[test]
fn a_registered_reader_loses_nothing_also_around_the_end() {
    check(2, || {
        let memory = memory(words_for(2, 1));
        let mut reader = registered(memory, Start::At(0));
        let writer = move || {
            let mut publisher = publisher(memory, 1, Policy::Block);
            (1..=3).for_each(|n| publish(&mut publisher, &payload(n)));
        };
        together(writer, move || (1..=3).for_each(|n| assert_eq!(next(&mut reader), n)));
    });
}

/// Registration against a writer that does not know of it yet: whoever is registered is not
/// overtaken from then on.
#[test]
fn a_reader_that_registers_while_the_writer_runs_is_not_overtaken() {
    check(3, || {
        let memory = memory(words_for(2, 1));
        let writer = move || {
            let mut publisher = publisher(memory, 1, Policy::Block);
            for _ in 0..4 {
                let _ = publisher.publish(&payload(publisher.position()));
            }
        };
        together(writer, move || {
            thread::yield_now();
            let mut reader = registered(memory, Start::Oldest);
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
        });
    });
}

#[test]
fn an_evicted_reader_never_takes_half_a_message() {
    check(2, || {
        let memory = memory(words_for(2, 1));
        let mut publisher = publisher(memory, 1, Policy::Evict);
        let reader = registered(memory, Start::At(0));
        publisher.publish(&payload(1)).unwrap();
        publisher.publish(&payload(2)).unwrap();
        let writer = move || publisher.publish(&payload(3)).unwrap();
        together(writer, move || follow(reader, 3, 0));
    });
}

#[test]
fn a_cell_is_never_torn_and_never_goes_back() {
    check(2, || {
        let memory = memory(cell::words_for(2));
        let mut cell = CellWriter::<2>::new(memory).unwrap();
        cell.set(&[1, 1]);
        together(
            move || cell.set(&[2, 2]),
            move || {
                let reader = CellReader::<2>::new(memory).unwrap();
                let mut newest = 0;
                for _ in 0..2 {
                    thread::yield_now();
                    if let Some((_, [first, second])) = reader.get() {
                        assert_eq!(first, second, "half a value was seen");
                        assert!(first >= newest, "the value went back");
                        newest = first;
                    }
                }
            },
        );
    });
}
