use super::*;
use proptest::prelude::*;
use std::vec::Vec;

const fn layout(capacity_bytes: usize, reader_count: usize) -> Layout {
    Layout { capacity_bytes, reader_count }
}

/// Where positions might run into an end of the numbers.
const STARTS: [u64; 5] = [0, (1 << 31) - 96, (1 << 32) - 96, (1 << 63) - 96, u64::MAX - 95];

fn memory(layout: Layout) -> Vec<AtomicU64> {
    let words = words_for(layout.capacity_bytes, layout.reader_count);
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

fn next(reader: &mut LogReader<'_>) -> Polled<Vec<u8>> {
    let mut buffer = [0; 4096];
    let polled = match reader.poll(&mut buffer) {
        Polled::NewWriter(_) => reader.poll(&mut buffer),
        polled => polled,
    };
    match polled {
        Polled::Message(bytes) => Polled::Message(buffer[..bytes].to_vec()),
        Polled::Empty => Polled::Empty,
        Polled::Lapped(lost) => Polled::Lapped(lost),
        Polled::NewWriter(epoch) => Polled::NewWriter(epoch),
    }
}

/// A message whose bytes all follow from its number and length.
fn message(number: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (number * 31 + at * 7) as u8).collect()
}

#[test]
fn messages_of_every_length_come_back_whole_around_the_end() {
    for start in [0, (1 << 31) - 64, (1 << 32) - 64, (1 << 63) - 64, u64::MAX - 63] {
        let layout = layout(1024, 1);
        let memory = memory(layout);
        layout.format(&memory, start).unwrap();
        let mut appender = Appender::resume(&memory, layout, Policy::Block).unwrap();
        let mut reader = LogReader::registered(&memory, layout, Start::Latest, 0).unwrap();
        for round in 0..3 {
            for length in 0..=message_bytes_max(1024) {
                let sent = message(round, length);
                appender.append(&sent).unwrap();
                assert_eq!(next(&mut reader), Polled::Message(sent));
                assert_eq!(next(&mut reader), Polled::Empty);
                assert_eq!(reader.position(), appender.position());
            }
        }
    }
}

#[test]
fn a_message_longer_than_an_eighth_is_refused() {
    let layout = layout(512, 0);
    let memory = memory(layout);
    let mut appender = Appender::resume(&memory, layout, Policy::Overwrite).unwrap();
    let refused = appender.append(&[0; 57]).err();
    assert_eq!(refused, Some(ClaimError::TooLong { bytes_max: 56 }));
    assert_eq!(appender.append(&[0; 56]), Ok(()));
}

#[test]
fn an_aborted_claim_leaves_no_trace() {
    let layout = layout(512, 0);
    let memory = memory(layout);
    let mut appender = Appender::resume(&memory, layout, Policy::Overwrite).unwrap();
    let mut reader = LogReader::passive(&memory, layout, Start::Latest).unwrap();
    let claim = appender.claim(16).unwrap();
    claim.put(0, b"never ending");
    claim.abort();
    assert_eq!(next(&mut reader), Polled::Empty);
    let claim = appender.claim(16).unwrap();
    claim.put(0, b"eight by");
    claim.put(1, b"eight!!!");
    claim.commit();
    assert_eq!(next(&mut reader), Polled::Message(b"eight byeight!!!".to_vec()));
}

#[test]
fn a_batch_is_seen_when_it_is_flushed() {
    let layout = layout(1024, 1);
    let memory = memory(layout);
    let mut appender = Appender::resume(&memory, layout, Policy::Block).unwrap();
    let mut reader = LogReader::registered(&memory, layout, Start::Latest, 0).unwrap();
    for round in 0..50usize {
        for number in 0..5 {
            appender.append_to_batch(&message(round * 5 + number, 40)).unwrap();
            assert_eq!(next(&mut reader), Polled::Empty);
        }
        appender.flush();
        for number in 0..5 {
            let sent = message(round * 5 + number, 40);
            assert_eq!(next(&mut reader), Polled::Message(sent));
        }
    }
}

#[test]
fn what_a_dead_writer_committed_stays_and_the_rest_is_never_seen() {
    let layout = layout(512, 0);
    let memory = memory(layout);
    let mut appender = Appender::resume(&memory, layout, Policy::Overwrite).unwrap();
    let mut reader = LogReader::passive(&memory, layout, Start::Latest).unwrap();
    appender.append(b"first").unwrap();
    let head = appender.position();
    appender.append(b"second").unwrap();
    // It died before it stored the head of the second, and within a batch of two.
    appender.append_to_batch(b"third").unwrap();
    appender.append_to_batch(b"fourth").unwrap();
    memory[16].store(head, Ordering::Relaxed);
    let mut healed = Appender::resume(&memory, layout, Policy::Overwrite).unwrap();
    healed.append(b"fifth").unwrap();
    for sent in [&b"first"[..], b"second", b"fifth"] {
        assert_eq!(next(&mut reader), Polled::Message(sent.to_vec()));
    }
    assert_eq!(next(&mut reader), Polled::Empty);
    assert_eq!(reader.epoch(), 2);
}

#[test]
fn late_joiners_begin_at_a_record() {
    let layout = layout(512, 1);
    let memory = memory(layout);
    let mut appender = Appender::resume(&memory, layout, Policy::Overwrite).unwrap();
    let mut key = 0;
    for number in 0..200 {
        if number == 195 {
            appender.mark_key();
            key = appender.position();
        }
        appender.append(&message(number, 1 + number % 40)).unwrap();
        let mut oldest = LogReader::passive(&memory, layout, Start::Oldest).unwrap();
        let held = appender.position() - oldest.position();
        assert!(held <= 448 && (held >= 256 || number < 20), "{held}");
        let mut last = None;
        while let Polled::Message(bytes) = next(&mut oldest) {
            last = Some(bytes);
        }
        assert_eq!(last, Some(message(number, 1 + number % 40)));
        let latest = LogReader::passive(&memory, layout, Start::Latest).unwrap();
        assert_eq!(latest.position(), appender.position());
    }
    let joined = LogReader::registered(&memory, layout, Start::Key, 0).unwrap();
    assert_eq!(joined.position(), key);
}

#[test]
fn a_header_that_somebody_made_up_stays_within_bounds() {
    let layout = layout(512, 0);
    let memory = memory(layout);
    let mut appender = Appender::resume(&memory, layout, Policy::Overwrite).unwrap();
    appender.append(b"one").unwrap();
    for garbage in [u64::MAX, COMMITTED | 0xFFFF_FFFF, COMMITTED | PADDING | 0xFFFF_FFF8] {
        memory[control_words(0)].store(garbage, Ordering::Relaxed);
        memory[16].store(garbage, Ordering::Relaxed);
        memory[0].store(garbage, Ordering::Relaxed);
        let mut reader = LogReader::passive(&memory, layout, Start::At(0)).unwrap();
        (0..100).for_each(|_| drop(next(&mut reader)));
        let mut appender = Appender::resume(&memory, layout, Policy::Block).unwrap();
        let _ = appender.append(b"two");
    }
}

#[test]
fn refuses_memory_of_another_layout() {
    let memory = memory(layout(512, 0));
    let open = |bytes, readers| {
        Appender::resume(&memory, layout(bytes, readers), Policy::Block).err().unwrap()
    };
    assert_eq!(open(256, 0), RingError::LogBytes { bytes: 256 });
    assert_eq!(open(768, 0), RingError::LogBytes { bytes: 768 });
    assert!(matches!(open(1024, 0), RingError::TooSmall { .. }));
    assert!(matches!(open(512, 1), RingError::TooSmall { .. }));
}

proptest! {
    /// The oracle: the list of all messages with their positions.
    #[test]
    fn behaves_like_a_list_that_readers_walk(
        start in prop::sample::select(STARTS.to_vec()),
        lossless in any::<bool>(),
        operations in prop::collection::vec((0u8..8, 0usize..57), 0..400),
    ) {
        let layout = layout(512, 1);
        let memory = memory(layout);
        layout.format(&memory, start).unwrap();
        let policy = if lossless { Policy::Block } else { Policy::Overwrite };
        let mut appender = Appender::resume(&memory, layout, policy).unwrap();
        let mut readers = [
            LogReader::registered(&memory, layout, Start::Oldest, 0).unwrap(),
            LogReader::passive(&memory, layout, Start::Oldest).unwrap(),
        ];
        let mut list: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut at = [0usize; 2];
        for (operation, length) in operations {
            match operation {
                0..4 => {
                    let sent = message(list.len(), length);
                    if appender.append(&sent).is_ok() {
                        list.push((appender.position(), sent));
                    }
                }
                4 => appender = Appender::resume(&memory, layout, policy).unwrap(),
                _ => {
                    let who = usize::from(operation % 2 == 0);
                    let reader = &mut readers[who];
                    match next(reader) {
                        Polled::Message(got) => {
                            prop_assert_eq!(&got, &list[at[who]].1);
                            prop_assert_eq!(reader.position(), list[at[who]].0);
                            at[who] += 1;
                        }
                        Polled::Lapped(_) => {
                            prop_assert!(!lossless || who == 1);
                            // At the end of one message or, behind padding, at the next one.
                            let here = |(end, sent): &(u64, Vec<u8>)| {
                                let start = end.wrapping_sub(record_bytes(sent.len() as u64));
                                *end == reader.position() || start == reader.position()
                            };
                            let found = list.iter().position(here).expect("a boundary");
                            at[who] = found + usize::from(list[found].0 == reader.position());
                        }
                        Polled::Empty => prop_assert_eq!(at[who], list.len()),
                        Polled::NewWriter(_) => prop_assert!(false),
                    }
                }
            }
        }
    }
}

#[test]
fn threads_lose_and_tear_nothing() {
    const COUNT: usize = 50_000;
    let layout = layout(4096, 1);
    let memory = memory(layout);
    let mut reader = LogReader::registered(&memory, layout, Start::Latest, 0).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut appender = Appender::resume(&memory, layout, Policy::Block).unwrap();
            for number in 0..COUNT {
                let sent = message(number, number % 100);
                while appender.append(&sent).is_err() {
                    std::thread::yield_now();
                }
            }
        });
        let mut expected = 0;
        while expected < COUNT {
            match next(&mut reader) {
                Polled::Message(got) => {
                    assert_eq!(got, message(expected, expected % 100));
                    expected += 1;
                }
                Polled::Empty => std::thread::yield_now(),
                other => panic!("{other:?}"),
            }
        }
    });
}
