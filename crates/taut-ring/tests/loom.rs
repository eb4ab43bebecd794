//! The memory model, proved by exhaustion: every interleaving of small programs under loom.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-ring --test loom`
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use taut_ring::{broadcast, cell, spsc};
use taut_sync::atomic::AtomicU64;

fn memory(words: usize) -> Arc<Vec<AtomicU64>> {
    Arc::new((0..words).map(|_| AtomicU64::new(0)).collect())
}

/// At most three forced switches of thread: most ordering bugs need two, and without a bound the
/// eight words of a slot make the search take hours.
fn bounded() -> loom::model::Builder {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model
}

/// A payload in which a torn read would show: all words say the same.
fn whole(payload: [u64; 7]) -> u64 {
    assert_eq!(payload, [payload[0]; 7], "half a message was seen");
    payload[0]
}

#[test]
fn a_broadcast_reader_sees_whole_messages_in_order_and_counts_its_losses() {
    bounded().check(|| {
        let memory = memory(2 * 8);
        let written = Arc::clone(&memory);
        let writer = thread::spawn(move || {
            let mut publisher = broadcast::Publisher::new(&written).unwrap();
            (1..=3).for_each(|n| publisher.publish(&[n; 7]));
        });
        let mut reader = broadcast::Subscriber::new(&memory).unwrap();
        let mut seen = 0;
        for _ in 0..3 {
            match reader.poll() {
                broadcast::Polled::Empty => {}
                broadcast::Polled::Message(payload) => {
                    assert_eq!(whole(payload), seen + 1);
                    seen += 1;
                }
                broadcast::Polled::Lapped(lost) => seen += lost,
            }
        }
        writer.join().unwrap();
    });
}

#[test]
fn an_spsc_ring_passes_every_message_once_also_around_its_end() {
    bounded().check(|| {
        let memory = memory(spsc::words_for(2));
        let written = Arc::clone(&memory);
        let writer = thread::spawn(move || {
            let mut producer = spsc::Producer::new(&written).unwrap();
            for n in 1..=3 {
                while producer.push(&[n; 7]).is_err() {
                    thread::yield_now();
                }
            }
        });
        let mut consumer = spsc::Consumer::new(&memory).unwrap();
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

#[test]
fn a_cell_is_never_torn_and_never_goes_back() {
    loom::model(|| {
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
            if let Some((_, [first, second])) = reader.get() {
                assert_eq!(first, second, "half a value was seen");
                assert!(first >= newest, "the value went back");
                newest = first;
            }
        }
        writer.join().unwrap();
    });
}
