use super::*;
use proptest::prelude::*;
use std::vec::Vec;

/// Where positions might run into an end of the numbers.
const STARTS: [u64; 5] = [0, (1 << 31) - 9, (1 << 32) - 9, (1 << 63) - 9, u64::MAX - 9];

fn memory(layout: Layout) -> Vec<AtomicU64> {
    let words = words_for(layout.slot_count, layout.reader_count);
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

const fn layout(slot_count: usize, reader_count: usize) -> Layout {
    Layout { slot_count, reader_count }
}

/// The next message, past the notice of a new writer.
fn next(reader: &mut Subscriber<'_>) -> Polled {
    match reader.poll() {
        Polled::NewWriter(_) => reader.poll(),
        polled => polled,
    }
}

#[test]
fn every_subscriber_gets_every_message_in_order() {
    let layout = layout(8, 1);
    let memory = memory(layout);
    let mut publisher = Publisher::resume(&memory, layout, Policy::Block).unwrap();
    let mut readers = [
        Subscriber::passive(&memory, layout, Start::Latest).unwrap(),
        Subscriber::registered(&memory, layout, Start::Latest, 0).unwrap(),
    ];
    for n in 0..100u64 {
        publisher.publish(&[n; 7]).unwrap();
        for reader in &mut readers {
            assert_eq!(next(reader), Polled::Message([n; 7]));
            assert_eq!(reader.poll(), Polled::Empty);
        }
    }
}

#[test]
fn a_lapped_reader_learns_exactly_how_many_it_lost() {
    for start in [0, (1 << 31) - 3, (1 << 32) - 3, (1 << 63) - 3, u64::MAX - 3] {
        for published in 0..60u64 {
            let layout = layout(8, 0);
            let memory = memory(layout);
            layout.format(&memory, start).unwrap();
            let mut publisher = Publisher::resume(&memory, layout, Policy::Overwrite).unwrap();
            let mut reader = Subscriber::passive(&memory, layout, Start::Oldest).unwrap();
            (0..published).for_each(|n| publisher.publish(&[n; 7]).unwrap());
            let (mut taken, mut lost) = (0, 0);
            loop {
                match reader.poll() {
                    Polled::Empty => break,
                    Polled::Message(payload) => {
                        assert_eq!(payload, [taken + lost; 7]);
                        taken += 1;
                    }
                    Polled::Lapped(count) => lost += count,
                    Polled::NewWriter(epoch) => panic!("epoch {epoch}"),
                }
            }
            assert_eq!(taken + lost, published);
            assert!(taken >= published.min(6), "what is safe from the writer is there");
        }
    }
}

#[test]
fn a_message_whose_writer_died_half_way_is_never_seen_and_the_next_writer_goes_on() {
    let layout = layout(4, 0);
    let memory = memory(layout);
    let mut publisher = Publisher::resume(&memory, layout, Policy::Overwrite).unwrap();
    let mut reader = Subscriber::passive(&memory, layout, Start::Latest).unwrap();
    publisher.publish(&[1; 7]).unwrap();
    // The dying writer's trace: a part of the next payload.
    let slots = control_words(0);
    memory[slots + 9].store(99, Ordering::Relaxed);
    assert_eq!(reader.poll(), Polled::Message([1; 7]));
    assert_eq!(reader.poll(), Polled::Empty);
    let mut next = Publisher::resume(&memory, layout, Policy::Overwrite).unwrap();
    next.publish(&[2; 7]).unwrap();
    assert_eq!(reader.poll(), Polled::NewWriter(2));
    assert_eq!(reader.poll(), Polled::Message([2; 7]));
}

#[test]
fn the_end_of_a_batch_without_its_beginning_is_never_seen() {
    let layout = layout(32, 0);
    let memory = memory(layout);
    let mut publisher = Publisher::resume(&memory, layout, Policy::Overwrite).unwrap();
    publisher.publish(&[1; 7]).unwrap();
    // The dying writer had stored the messages 2 and 3 of a batch of 1 to 3.
    let slots = control_words(0);
    for position in [2, 3] {
        memory[slots + position * 8].store(position as u64 + 1, Ordering::Relaxed);
    }
    let mut reader = Subscriber::passive(&memory, layout, Start::Oldest).unwrap();
    let mut next_writer = Publisher::resume(&memory, layout, Policy::Overwrite).unwrap();
    assert_eq!(next_writer.position(), 1);
    next_writer.publish(&[7; 7]).unwrap();
    assert_eq!(next(&mut reader), Polled::Message([1; 7]));
    assert_eq!(next(&mut reader), Polled::Message([7; 7]));
    assert_eq!(next(&mut reader), Polled::Empty);
}

#[test]
fn a_message_that_was_complete_before_its_writer_died_is_kept() {
    let layout = layout(4, 0);
    let memory = memory(layout);
    let mut publisher = Publisher::resume(&memory, layout, Policy::Overwrite).unwrap();
    publisher.publish(&[1; 7]).unwrap();
    // It died before it stored the head.
    memory[16].store(0, Ordering::Relaxed);
    assert_eq!(Publisher::resume(&memory, layout, Policy::Overwrite).unwrap().position(), 1);
}

#[test]
fn a_batch_is_taken_whole_or_not_at_all() {
    let layout = layout(16, 1);
    let memory = memory(layout);
    let mut publisher = Publisher::resume(&memory, layout, Policy::Block).unwrap();
    let mut reader = Subscriber::registered(&memory, layout, Start::Latest, 0).unwrap();
    let mut sent = 0;
    while publisher.publish_batch(&[[sent; 7], [sent + 1; 7]]).is_ok() {
        sent += 2;
    }
    assert_eq!(sent, 16);
    assert_eq!(publisher.publish_batch(&[[0; 7]; 3]), Err(Full));
    for n in 0..sent {
        assert_eq!(next(&mut reader), Polled::Message([n; 7]));
    }
    assert_eq!(reader.poll(), Polled::Empty);
    assert_eq!(publisher.publish_batch(&[[0; 7], [1; 7]]), Ok(()));
}

#[test]
fn a_full_ring_blocks_drops_with_a_count_or_evicts() {
    for policy in [Policy::Block, Policy::DropNewest, Policy::Evict] {
        let layout = layout(8, 2);
        let memory = memory(layout);
        let mut publisher = Publisher::resume(&memory, layout, policy).unwrap();
        let mut slow = Subscriber::registered(&memory, layout, Start::Latest, 1).unwrap();
        let full = (0..20u64).filter(|n| publisher.publish(&[*n; 7]).is_err()).count();
        let counters = publisher.counters();
        match policy {
            Policy::Evict => {
                assert_eq!((full, counters.evicted, counters.dropped), (0, 1, 0));
                assert!(!slow.is_held());
                assert!(matches!(next(&mut slow), Polled::Lapped(_)));
            }
            _ => {
                assert_eq!((full, counters.evicted, slow.is_held()), (12, 0, true));
                assert_eq!(counters.dropped, if policy == Policy::Block { 0 } else { 12 });
                (0..8).for_each(|n| assert_eq!(next(&mut slow), Polled::Message([n; 7])));
            }
        }
    }
}

#[test]
fn the_place_of_a_dead_reader_can_be_freed() {
    let layout = layout(4, 1);
    let memory = memory(layout);
    let mut publisher = Publisher::resume(&memory, layout, Policy::Block).unwrap();
    std::mem::forget(Subscriber::registered(&memory, layout, Start::Latest, 0).unwrap());
    while publisher.publish(&[0; 7]).is_ok() {}
    assert!(publisher.control.reader(0).unwrap().active);
    publisher.control.free_reader(0);
    assert_eq!(publisher.publish(&[0; 7]), Ok(()));
}

#[test]
fn late_joiners_begin_where_they_choose() {
    for start in [0, (1 << 31) - 20, (1 << 32) - 20, (1 << 63) - 20] {
        let layout = layout(16, 1);
        let memory = memory(layout);
        layout.format(&memory, start).unwrap();
        let at = |n: u64| start.wrapping_add(n);
        let mut publisher = Publisher::resume(&memory, layout, Policy::Overwrite).unwrap();
        for n in 0..40u64 {
            if n == 35 {
                publisher.mark_key();
            }
            publisher.publish(&[n; 7]).unwrap();
        }
        let join = |start| Subscriber::passive(&memory, layout, start).unwrap().position();
        assert_eq!(join(Start::Latest), at(40));
        assert_eq!(join(Start::Oldest), at(40 - 14));
        assert_eq!(join(Start::Key), at(35));
        assert_eq!(join(Start::At(at(30))), at(30));
        assert_eq!(join(Start::At(at(3))), at(26));
        assert_eq!(join(Start::At(at(99))), at(26));
        let joined = Subscriber::registered(&memory, layout, Start::Oldest, 0).unwrap();
        assert_eq!(joined.position(), at(26));
    }
}

#[test]
fn refuses_memory_of_another_layout() {
    let memory = memory(layout(4, 0));
    let have = memory.len();
    let open = |slots, readers| {
        Publisher::resume(&memory, layout(slots, readers), Policy::Block).err().unwrap()
    };
    assert_eq!(open(3, 0), RingError::SlotCount { slots: 3 });
    assert!(matches!(open(8, 0), RingError::TooSmall { need: 64, .. }));
    assert!(matches!(open(2, 9), RingError::TooSmall { have: h, .. } if h == have));
    let place = Subscriber::registered(&memory, layout(4, 0), Start::Latest, 0).err();
    assert_eq!(place, Some(RingError::Place { place: 0 }));
}

proptest! {
    /// The oracle: the list of everything published. Every reader's messages and losses must tile
    /// it without a gap, and a registered reader of a writer that waits loses nothing.
    #[test]
    fn behaves_like_a_list_that_readers_walk(
        power in 1u32..6,
        start in prop::sample::select(STARTS.to_vec()),
        lossless in any::<bool>(),
        operations in prop::collection::vec(0u8..8, 0..500),
    ) {
        let layout = layout(1 << power, 1);
        let memory = memory(layout);
        layout.format(&memory, start).unwrap();
        let policy = if lossless { Policy::Block } else { Policy::Overwrite };
        let mut publisher = Publisher::resume(&memory, layout, policy).unwrap();
        let mut readers = [
            Subscriber::registered(&memory, layout, Start::Oldest, 0).unwrap(),
            Subscriber::passive(&memory, layout, Start::Oldest).unwrap(),
        ];
        let (mut published, mut at) = (0u64, [0u64; 2]);
        for operation in operations {
            match operation {
                0..3 => published += u64::from(publisher.publish(&[published; 7]).is_ok()),
                3 => {
                    let batch = [[published; 7], [published + 1; 7], [published + 2; 7]];
                    let taken = publisher.publish_batch(&batch).is_ok();
                    published += if taken { 3 } else { 0 };
                }
                4 => publisher = Publisher::resume(&memory, layout, policy).unwrap(),
                _ => {
                    let who = usize::from(operation % 2 == 0);
                    match next(&mut readers[who]) {
                        Polled::Message(payload) => {
                            prop_assert_eq!(payload, [at[who]; 7]);
                            at[who] += 1;
                        }
                        Polled::Lapped(lost) => {
                            prop_assert!(!lossless || who == 1);
                            at[who] += lost;
                        }
                        Polled::Empty => prop_assert_eq!(at[who], published),
                        Polled::NewWriter(_) => prop_assert!(false),
                    }
                }
            }
            prop_assert!(at[0] <= published && at[1] <= published);
            if lossless {
                prop_assert!(published - at[0] <= 1 << power);
            }
        }
    }
}

#[test]
fn threads_lose_and_reorder_nothing() {
    const COUNT: u64 = 100_000;
    let layout = layout(64, 1);
    let memory = memory(layout);
    let mut reader = Subscriber::registered(&memory, layout, Start::Latest, 0).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut publisher = Publisher::resume(&memory, layout, Policy::Block).unwrap();
            for n in 0..COUNT {
                while publisher.publish(&[n; 7]).is_err() {
                    std::thread::yield_now();
                }
            }
        });
        let mut expected = 0;
        while expected < COUNT {
            match next(&mut reader) {
                Polled::Message(payload) => {
                    assert_eq!(payload, [expected; 7]);
                    expected += 1;
                }
                Polled::Empty => std::thread::yield_now(),
                other => panic!("{other:?}"),
            }
        }
    });
}
