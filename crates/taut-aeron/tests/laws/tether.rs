//! `tether=false`.

use taut_aeron::{ImageEnd, PublicationConfig, SubscriptionConfig, SubscriptionEvent, Tether};
use taut_types::Nanos;

use crate::pair::Pair;

fn pair(tether: Tether, is_reliable: bool) -> Pair {
    let subscription = SubscriptionConfig {
        receiver_window: 16 * 1024,
        tether,
        is_reliable,
        ..SubscriptionConfig::default()
    };
    Pair::connected(PublicationConfig::default(), subscription)
}

/// Every fiftieth datagram.
fn some() -> impl FnMut(i64) -> bool {
    let mut count = 0;
    move |_| {
        count += 1;
        count % 50 == 0
    }
}

/// Offers as much as is taken; returns how many bytes the stream has gone on.
fn stream(pair: &mut Pair, turns: usize, mut loses: impl FnMut(i64) -> bool) -> i64 {
    let start = pair.publication.position();
    for turn in 0..turns {
        while pair.publication.offer(&(turn as u64).to_le_bytes()).is_ok() {}
        pair.turn_losing(&mut loses);
    }
    pair.publication.position() - start
}

#[test]
fn a_caller_that_reads_nothing_holds_its_stream_back_and_without_a_tether_does_not() {
    for is_reliable in [true, false] {
        let mut held = pair(Tether::Held, is_reliable);
        held.reads = 0;
        assert_eq!(stream(&mut held, 1000, |_| false), 16 * 1024);
        let mut loose = pair(Tether::LOOSE, is_reliable);
        let begin = loose.publication.position();
        loose.reads = 0;
        let bytes = stream(&mut loose, 1000, some());
        assert!(bytes > 4_000_000, "{bytes}");
        loose.reads = usize::MAX;
        loose.run_for(Nanos::from_millis(5));
        let skipped = loose.skipped();
        let passed: i64 = skipped.iter().map(|(_, bytes)| bytes).sum();
        let read: i64 = loose.got.len() as i64 * 64;
        assert_eq!(skipped[0].0, begin);
        assert_eq!(passed + read, loose.publication.position() - begin, "nothing goes unreported");
        assert_eq!(loose.subscription.counters().skipped_bytes, passed as u64);
    }
}

#[test]
fn a_caller_that_reads_what_arrives_loses_nothing_without_a_tether() {
    let mut loose = pair(Tether::LOOSE, true);
    let begin = loose.publication.position();
    stream(&mut loose, 2000, some());
    loose.run_for(Nanos::from_millis(50));
    let bytes = loose.publication.tail() - begin;
    assert_eq!((loose.got.len() as i64 * 64, loose.skipped().len()), (bytes, 0));
}

#[test]
fn a_caller_up_to_a_window_behind_loses_nothing() {
    let mut loose = pair(Tether::LOOSE, true);
    loose.reads = 0;
    let (mut offered, message) = (0, [7; 32]);
    while offered < 16 * 1024 {
        loose.publication.offer(&message).expect("the window is free");
        offered += 64;
        loose.turn();
    }
    loose.reads = 10;
    loose.run_for(Nanos::from_millis(10));
    assert_eq!((loose.got.len(), loose.skipped().len()), (256, 0));
}

#[test]
fn the_stream_waits_for_the_limit_timeout_and_the_caller_rests_for_the_resting_timeout() {
    let millis = Nanos::from_millis;
    let tether = Tether::Loose { limit_timeout: millis(20), resting_timeout: millis(100) };
    let mut loose = pair(tether, true);
    let begin = loose.publication.position();
    loose.reads = 0;
    let bytes = stream(&mut loose, 200, |_| false);
    assert!(bytes <= 3 * 16 * 1024, "it stands for a while: {bytes}");
    let bytes = stream(&mut loose, 600, |_| false);
    assert!(bytes > 1_000_000, "then it goes on: {bytes}");
    loose.reads = usize::MAX;
    stream(&mut loose, 200, |_| false);
    assert!(loose.got.is_empty() && loose.skipped().is_empty(), "the caller is at rest");
    stream(&mut loose, 2000, |_| false);
    let [(position, passed)] = loose.skipped()[..] else { panic!("{:?}", loose.skipped()) };
    assert_eq!(position, begin);
    let first = loose.got.first().map(|(_, position)| position - 64);
    assert_eq!(first, Some(begin + passed), "it is back at the live position");
    let last = loose.got.last().map(|(_, position)| *position);
    assert_eq!(last, Some(begin + passed + loose.got.len() as i64 * 64));
}

#[test]
fn what_was_passed_is_told_before_the_end_also_of_a_caller_at_rest() {
    let rest = Nanos::from_secs(100);
    let tether = Tether::Loose { limit_timeout: Nanos::ZERO, resting_timeout: rest };
    let mut loose = pair(tether, true);
    let begin = loose.publication.position();
    loose.reads = 0;
    stream(&mut loose, 100, |_| false);
    loose.publication.close(loose.now);
    loose.run_for(Nanos::from_secs(2));
    let position = loose.publication.tail();
    let session_id = loose.publication.config().session_id;
    let bytes = position - begin;
    let end = ImageEnd::EndOfStream;
    assert_eq!(
        loose.events[loose.events.len() - 2..],
        [
            SubscriptionEvent::Skipped { session_id, position: begin, bytes },
            SubscriptionEvent::ImageUnavailable { session_id, position, end },
        ]
    );
}

#[test]
fn a_message_of_which_a_part_was_passed_is_not_delivered() {
    let mut loose = pair(Tether::LOOSE, true);
    let long = vec![9; 6000];
    loose.reads = 0;
    for _ in 0..200 {
        while loose.publication.offer(&long).is_ok() {}
        loose.turn();
    }
    loose.reads = usize::MAX;
    for _ in 0..100 {
        while loose.publication.offer(&long).is_ok() {}
        loose.turn();
    }
    assert!(!loose.skipped().is_empty() && loose.subscription.counters().incomplete > 0);
    assert!(loose.got.len() > 50 && loose.got.iter().all(|(bytes, _)| *bytes == long));
}
