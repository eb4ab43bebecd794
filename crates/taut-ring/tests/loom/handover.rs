//! Places and policies that change hands.

use loom::thread;
use taut_ring::broadcast::{Layout, Polled, Publisher, Start, Subscriber, words_for};
use taut_ring::{Policy, spsc};

use crate::{check, memory, payload, together, whole};

const LAYOUT: Layout = Layout { slot_count: 2, reader_count: 1 };

/// The writer must not take the old reader's cursor for the new one's.
#[test]
fn a_place_that_changes_hands_holds_the_writer_for_its_new_owner() {
    check(2, || {
        let memory = memory(words_for(2, 1));
        let mut publisher = Publisher::resume(memory, LAYOUT, Policy::Block).unwrap();
        publisher.publish(&payload(1)).unwrap();
        // The old reader has read it, and leaves a cursor of 1 behind.
        drop(Subscriber::registered(memory, LAYOUT, Start::Latest, 0).unwrap());
        let writer = move || {
            for n in 2..=3 {
                while publisher.publish(&payload(n)).is_err() {
                    thread::yield_now();
                }
            }
        };
        together(writer, move || {
            let mut reader = Subscriber::registered(memory, LAYOUT, Start::At(0), 0).unwrap();
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
    });
}

/// A writer that waits succeeds one that did not: what it announces is not held against a reader
/// that it waits for.
#[test]
fn a_writer_that_waits_overtakes_nobody_whatever_its_predecessor_did() {
    check(2, || {
        let memory = memory(words_for(2, 1));
        let mut first = Publisher::resume(memory, LAYOUT, Policy::Overwrite).unwrap();
        let mut reader = Subscriber::registered(memory, LAYOUT, Start::At(0), 0).unwrap();
        (1..=2).for_each(|n| first.publish(&payload(n)).unwrap());
        let writer = move || {
            let mut second = Publisher::resume(memory, LAYOUT, Policy::Block).unwrap();
            let _ = second.publish(&payload(3));
        };
        together(writer, move || {
            for _ in 0..3 {
                thread::yield_now();
                match reader.poll() {
                    Polled::Message(payload) => assert_eq!(whole(payload), reader.position()),
                    Polled::Lapped(lost) => panic!("lost {lost}"),
                    Polled::NewWriter(_) | Polled::Empty => {}
                }
            }
        });
    });
}

/// The consumer changes hands in between; a producer that starts anew sees what it freed.
#[test]
fn a_new_spsc_producer_does_not_write_into_what_is_being_read() {
    check(3, || {
        let memory = memory(spsc::words_for(2));
        let mut producer = spsc::Producer::resume(memory).unwrap();
        (1..=2).for_each(|n| producer.push(&payload(n)).unwrap());
        let writer = move || {
            let mut producer = spsc::Producer::resume(memory).unwrap();
            let _ = producer.push(&payload(3));
        };
        together(writer, move || {
            let mut consumer = spsc::Consumer::resume(memory).unwrap();
            assert_eq!(consumer.pop().map(whole), Some(1));
            assert_eq!(consumer.pop().map(whole), Some(2));
        });
    });
}
