use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::vec::Vec;

/// Where positions might run into an end of the numbers.
const STARTS: [u64; 5] = [0, (1 << 31) - 5, (1 << 32) - 5, (1 << 63) - 5, u64::MAX - 5];

fn memory(slots: usize) -> Vec<AtomicU64> {
    (0..words_for(slots)).map(|_| AtomicU64::new(0)).collect()
}

#[test]
fn refuses_memory_that_is_too_small() {
    let words = memory(0);
    let have = CONTROL_WORDS;
    assert_eq!(Producer::resume(&words).err(), Some(RingError::SlotCount { slots: 0 }));
    let error = Consumer::resume(&words[..1]).err();
    assert_eq!(error, Some(RingError::TooSmall { need: have + 16, have: 1 }));
}

#[test]
fn both_ends_go_on_where_their_predecessors_stopped() {
    let memory = memory(16);
    let mut producer = Producer::resume(&memory).unwrap();
    (0..5).for_each(|n| producer.push(&[n; 7]).unwrap());
    // A batch whose first message was never stored.
    memory[CONTROL_WORDS + 6 * SLOT_WORDS].store(7, Ordering::Relaxed);
    let mut producer = Producer::resume(&memory).unwrap();
    assert_eq!(producer.position(), 5);
    producer.push(&[5; 7]).unwrap();
    let mut consumer = Consumer::resume(&memory).unwrap();
    (0..4).for_each(|n| assert_eq!(consumer.pop(), Some([n; 7])));
    consumer.report();
    let mut consumer = Consumer::resume(&memory).unwrap();
    assert_eq!(
        [consumer.pop(), consumer.pop(), consumer.pop()],
        [Some([4; 7]), Some([5; 7]), None]
    );
}

proptest! {
    #[test]
    fn behaves_like_a_bounded_queue(
        power in 1u32..5,
        start in prop::sample::select(STARTS.to_vec()),
        operations in proptest::collection::vec(0u8..4, 0..400),
    ) {
        let memory = memory(1 << power);
        format(&memory, start).unwrap();
        let mut producer = Producer::resume(&memory).unwrap();
        let mut consumer = Consumer::resume(&memory).unwrap();
        let mut model = VecDeque::new();
        let part = (1usize << power).div_ceil(8);
        for (n, operation) in operations.into_iter().enumerate() {
            let batch = [[n as u64; 7], [n as u64 + 1000; 7]];
            let batch = &batch[..if operation == 0 { 2 } else { 1 }];
            if operation < 2 {
                if producer.push_batch(batch).is_ok() {
                    model.extend(batch.iter().copied());
                } else {
                    prop_assert!(model.len() + batch.len() + part > 1 << power, "room was left");
                }
                prop_assert!(model.len() <= 1 << power);
            } else {
                prop_assert_eq!(consumer.pop(), model.pop_front());
            }
        }
    }
}

#[test]
fn two_threads_lose_and_reorder_nothing() {
    const COUNT: u64 = 200_000;
    let memory = memory(64);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut producer = Producer::resume(&memory).unwrap();
            for n in 0..COUNT {
                while producer.push(&[n; 7]).is_err() {
                    std::thread::yield_now();
                }
            }
        });
        let mut consumer = Consumer::resume(&memory).unwrap();
        let mut expected = 0;
        while expected < COUNT {
            match consumer.pop() {
                Some(payload) => {
                    assert_eq!(payload, [expected; 7]);
                    expected += 1;
                }
                None => std::thread::yield_now(),
            }
        }
    });
}
