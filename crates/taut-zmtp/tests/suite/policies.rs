//! What happens at the high-water mark, against a plain model, with any split of what is sent.

use std::collections::VecDeque;

use taut_testkit::{Draw, Random};
use taut_zmtp::{OnFull, PublisherConfig, Refusal, SocketType};

use crate::wire::Pair;

/// A message of its number, repeated up to a length.
fn message(number: u32, length: usize) -> Vec<u8> {
    number.to_be_bytes().into_iter().cycle().take(length.max(4)).collect()
}

/// Offers and sends at random; the subscriber must get what the model says.
fn run(on_full: OnFull, hwm: usize, seed: u64, steps: usize) {
    let mut config = PublisherConfig::new(SocketType::Pub);
    (config.on_full, config.hwm, config.log_bytes) = (on_full, hwm, 2_048);
    let mut pair = Pair::subscribed(config, &[""]);
    let mut random = Random::with_seed(seed);
    let mut accepted: Vec<Vec<u8>> = Vec::new();
    let mut refused = 0u64;
    for number in 0..steps as u32 {
        let lengths = [4, 60, 70, 250, 260, 700];
        let length = random.pick(&lengths);
        let body = message(number, length);
        let tail = message(number, 5);
        let parts: &[&[u8]] = if random.below(4) == 0 { &[&body, &tail] } else { &[&body] };
        match pair.publisher.offer(parts) {
            Ok(_) => accepted.push(parts.concat()),
            Err(Refusal::BackPressured) => refused += 1,
            Err(refusal) => panic!("{refusal:?}"),
        }
        for _ in 0..random.below(3) {
            let bytes = random.pick(&[1, 7, 64, 100, 1_000]);
            pair.pass_down(bytes);
        }
    }
    pair.run(usize::MAX);
    let counters = pair.publisher.peer_counters(pair.peer).expect("the peer");
    let got: Vec<Vec<u8>> = pair.messages.iter().map(|parts| parts.concat()).collect();
    // What came is whole, in order, and a part of what was accepted.
    let mut left: VecDeque<&Vec<u8>> = accepted.iter().collect();
    for message in &got {
        while left.pop_front().expect("in order, and accepted") != message {}
    }
    let dropped = accepted.len() - got.len();
    assert_eq!(counters.dropped as usize, dropped, "{on_full:?} seed {seed}: every drop counts");
    assert_eq!(counters.sent as usize, got.len(), "{on_full:?} seed {seed}");
    assert_eq!((counters.waiting, counters.waiting_bytes), (0, 0));
    match on_full {
        OnFull::Block => {
            assert_eq!(dropped, 0);
            assert_eq!(pair.publisher.counters().back_pressured, refused);
            assert!(refused > 0, "the test has to reach the mark");
        }
        OnFull::DropOldest | OnFull::Conflate => {
            assert!(dropped > 0);
            assert_eq!(got.last(), accepted.last(), "the newest always comes");
        }
        OnFull::DropNewest => assert!(dropped > 0),
    }
}

#[test]
fn every_policy_keeps_whole_messages_in_order_and_counts_what_it_drops() {
    let (seeds, steps) = if cfg!(debug_assertions) { (60, 300) } else { (500, 2_000) };
    for seed in 0..seeds {
        for on_full in [OnFull::Block, OnFull::DropNewest, OnFull::DropOldest, OnFull::Conflate] {
            run(on_full, 1 + (seed as usize * 7) % 20, seed, steps);
        }
    }
}

#[test]
fn conflation_keeps_only_the_newest_that_waits() {
    let mut config = PublisherConfig::new(SocketType::Pub);
    config.on_full = OnFull::Conflate;
    let mut pair = Pair::subscribed(config, &[""]);
    for number in 0..10u8 {
        pair.publisher.offer(&[&[number; 50]]).expect("offer");
    }
    pair.pass_down(1);
    for number in 10..20u8 {
        pair.publisher.offer(&[&[number; 50]]).expect("offer");
    }
    pair.run(usize::MAX);
    let got: Vec<u8> = pair.messages.iter().map(|parts| parts[0][0]).collect();
    assert_eq!(got, [9, 19], "9 was being sent when the others came");
}

#[test]
fn a_message_that_is_longer_than_half_the_log_is_refused_with_the_limit() {
    let mut config = PublisherConfig::new(SocketType::Pub);
    config.log_bytes = 1_024;
    let mut pair = Pair::subscribed(config, &[""]);
    assert_eq!(pair.publisher.offer(&[&[0; 504]]), Err(Refusal::TooLong { bytes_max: 512 }));
    assert_eq!(pair.publisher.offer(&[&[0; 503]]), Ok(1));
    assert_eq!(pair.publisher.offer(&[]), Err(Refusal::Misuse));
}
