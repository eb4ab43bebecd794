//! One writer to one reader, many writers to one reader, and the mailbox of a loop.

use loom::thread;
use taut_ring::mailbox::{self, Mailbox};
use taut_ring::{mpsc, spsc};

use crate::{check, memory, payload, relaxed, together, whole};

/// A mailbox of two slots.
pub fn mailbox() -> Mailbox<'static> {
    let mailbox = Mailbox::over(memory(mailbox::words_for(2)), 2).unwrap();
    mailbox.format();
    mailbox
}

#[test]
fn an_spsc_ring_passes_every_message_once_also_around_its_end() {
    check(3, || {
        let memory = memory(spsc::words_for(2));
        let writer = move || {
            let mut producer = spsc::Producer::resume(memory).unwrap();
            for n in 1..=3 {
                while producer.push(&payload(n)).is_err() {
                    thread::yield_now();
                }
            }
        };
        together(writer, move || {
            let mut consumer = spsc::Consumer::resume(memory).unwrap();
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
        });
    });
}

const fn layout(producer_count: usize) -> mpsc::Layout {
    mpsc::Layout { slot_count: 2, producer_count }
}

#[test]
fn an_mpsc_ring_passes_every_message_of_two_producers_once() {
    check(2, || {
        let memory = memory(mpsc::words_for(2, 2));
        let push = move |place| {
            let mut producer = mpsc::Producer::new(memory, layout(2), place).unwrap();
            producer.push(&payload(10 + place as u64)).unwrap();
        };
        let second = thread::spawn(move || push(1));
        together(
            move || push(0),
            move || {
                let mut consumer = mpsc::Consumer::resume(memory, layout(2)).unwrap();
                let mut seen = Vec::new();
                while seen.len() < 2 {
                    match consumer.pop() {
                        Some(payload) => seen.push(whole(payload)),
                        None => thread::yield_now(),
                    }
                }
                assert!(seen == [10, 11] || seen == [11, 10], "{seen:?}");
            },
        );
        second.join().unwrap();
    });
}

/// Who sees a claim sees whose it is.
#[test]
fn a_claim_that_holds_up_the_reader_has_a_name() {
    check(3, || {
        let memory = memory(mpsc::words_for(2, 1));
        let writer = move || {
            let mut producer = mpsc::Producer::new(memory, layout(1), 0).unwrap();
            producer.push(&payload(1)).unwrap();
        };
        together(writer, move || {
            thread::yield_now();
            let mut consumer = mpsc::Consumer::resume(memory, layout(1)).unwrap();
            // The tail, the first word, is moved by the claim. Relaxed: it must be `holders` that
            // orders what it looks at.
            let claimed = relaxed(&memory[0]) == 1;
            let named = consumer.holders().next().is_some();
            let done = consumer.pop().map(whole);
            assert!(!claimed || named || done.is_some(), "a claim without a name");
        });
    });
}

#[test]
fn a_new_mpsc_producer_does_not_write_into_what_is_being_read() {
    check(3, || {
        let memory = memory(mpsc::words_for(2, 2));
        let mut producer = mpsc::Producer::new(memory, layout(2), 0).unwrap();
        (1..=2).for_each(|n| producer.push(&payload(n)).unwrap());
        let writer = move || {
            let mut producer = mpsc::Producer::new(memory, layout(2), 1).unwrap();
            let _ = producer.push(&payload(3));
        };
        together(writer, move || {
            let mut consumer = mpsc::Consumer::resume(memory, layout(2)).unwrap();
            assert_eq!(consumer.pop().map(whole), Some(1));
            assert_eq!(consumer.pop().map(whole), Some(2));
        });
    });
}

#[test]
fn a_mailbox_passes_every_message_of_two_writers_once() {
    check(2, || {
        let mailbox = mailbox();
        let push = move |n| move || mailbox.push(&payload(n)).unwrap();
        let second = thread::spawn(push(2));
        together(push(1), move || {
            let (mut position, mut seen) = (0, Vec::new());
            while seen.len() < 2 {
                match mailbox.pop(&mut position) {
                    Some(payload) => seen.push(whole(payload)),
                    None => thread::yield_now(),
                }
            }
            assert!(seen == [1, 2] || seen == [2, 1], "{seen:?}");
        });
        second.join().unwrap();
    });
}

#[test]
fn a_mailbox_is_not_written_where_it_is_being_read() {
    check(3, || {
        let mailbox = mailbox();
        (1..=2).for_each(|n| mailbox.push(&payload(n)).unwrap());
        let writer = move || {
            let _ = mailbox.push(&payload(3));
        };
        together(writer, move || {
            let mut position = 0;
            (1..=2).for_each(|n| assert_eq!(mailbox.pop(&mut position).map(whole), Some(n)));
        });
    });
}
