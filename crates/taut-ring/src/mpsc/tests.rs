use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::vec::Vec;

/// Where positions might run into an end of the numbers.
const STARTS: [u64; 5] = [0, (1 << 31) - 5, (1 << 32) - 5, (1 << 63) - 5, u64::MAX - 5];

const fn layout(slot_count: usize) -> Layout {
    Layout { slot_count, producer_count: 3 }
}

fn memory(layout: Layout) -> Vec<AtomicU64> {
    let words = words_for(layout.slot_count, layout.producer_count);
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

proptest! {
    #[test]
    fn behaves_like_a_bounded_queue(
        power in 1u32..5,
        start in prop::sample::select(STARTS.to_vec()),
        operations in proptest::collection::vec(0usize..6, 0..400),
    ) {
        let layout = layout(1 << power);
        let memory = memory(layout);
        layout.format(&memory, start).unwrap();
        let mut producers: Vec<_> =
            (0..3).map(|place| Producer::new(&memory, layout, place).unwrap()).collect();
        let mut consumer = Consumer::resume(&memory, layout).unwrap();
        let mut model = VecDeque::new();
        for (n, operation) in operations.into_iter().enumerate() {
            let payload = [n as u64; 7];
            if let Some(producer) = producers.get_mut(operation) {
                let expected = if model.len() == 1 << power { Err(Full) } else { Ok(()) };
                prop_assert_eq!(producer.push(&payload), expected);
                model.extend(expected.is_ok().then_some(payload));
            } else {
                prop_assert_eq!(consumer.holders().count(), 0);
                prop_assert_eq!(consumer.pop(), model.pop_front());
            }
        }
    }
}

#[test]
fn the_claim_of_a_dead_producer_is_found_and_skipped() {
    let layout = layout(4);
    let memory = memory(layout);
    let mut first = Producer::new(&memory, layout, 0).unwrap();
    let mut second = Producer::new(&memory, layout, 1).unwrap();
    let mut consumer = Consumer::resume(&memory, layout).unwrap();
    first.push(&[1; 7]).unwrap();
    // The second one died between its claim and its message.
    memory[3 * 16].store(2, Ordering::Relaxed);
    memory[0].store(2, Ordering::Relaxed);
    first.push(&[3; 7]).unwrap();
    assert_eq!(consumer.pop(), Some([1; 7]));
    assert_eq!(consumer.pop(), None);
    assert_eq!(consumer.holders().collect::<Vec<_>>(), [1]);
    assert!(consumer.skip_claim());
    assert!(!consumer.skip_claim());
    assert_eq!(consumer.pop(), Some([3; 7]));
    second.push(&[4; 7]).unwrap();
    assert_eq!(consumer.pop(), Some([4; 7]));
    assert_eq!(Consumer::resume(&memory, layout).unwrap().position(), 4);
}

#[test]
fn refuses_memory_of_another_layout() {
    let memory = memory(layout(4));
    let wrong = Layout { slot_count: 8, producer_count: 3 };
    assert!(matches!(Consumer::resume(&memory, wrong).err(), Some(RingError::TooSmall { .. })));
    let none = Producer::new(&memory, layout(4), 3).err();
    assert_eq!(none, Some(RingError::Place { place: 3 }));
}

#[test]
fn threads_lose_nothing_and_keep_each_ones_order() {
    const EACH: u64 = 30_000;
    let layout = layout(64);
    let memory = memory(layout);
    std::thread::scope(|scope| {
        for place in 0..3usize {
            let memory = &memory;
            scope.spawn(move || {
                let mut producer = Producer::new(memory, layout, place).unwrap();
                for n in 0..EACH {
                    let (who, n) = (place as u64, n);
                    while producer.push(&[who, n, n, n, n, n, n]).is_err() {
                        std::thread::yield_now();
                    }
                }
            });
        }
        let mut consumer = Consumer::resume(&memory, layout).unwrap();
        let mut expected = [0; 3];
        while expected != [EACH; 3] {
            match consumer.pop() {
                Some([who, numbers @ ..]) => {
                    assert_eq!(numbers, [expected[who as usize]; 6]);
                    expected[who as usize] += 1;
                }
                None => std::thread::yield_now(),
            }
        }
    });
}

#[test]
fn a_place_whose_dead_owner_holds_up_the_reader_is_not_taken_before_the_claim_is_skipped() {
    let layout = Layout { slot_count: 4, producer_count: 1 };
    let memory: Vec<AtomicU64> = (0..words_for(4, 1)).map(|_| AtomicU64::new(0)).collect();
    let mut first = Producer::new(&memory, layout, 0).unwrap();
    first.push(&[1; 7]).unwrap();
    // The first one dies between its claim and its last store.
    memory[0].store(2, Ordering::Relaxed);
    memory[2 * PAIR_WORDS].store(2, Ordering::Relaxed);
    let refused = Producer::new(&memory, layout, 0).err();
    assert_eq!(refused, Some(RingError::Claimed { place: 0 }));
    let mut consumer = Consumer::resume(&memory, layout).unwrap();
    assert_eq!((consumer.pop(), consumer.pop()), (Some([1; 7]), None));
    assert!(consumer.holders().eq([0]) && consumer.skip_claim());
    Producer::new(&memory, layout, 0).unwrap().push(&[2; 7]).unwrap();
    assert_eq!(consumer.pop(), Some([2; 7]));
}
