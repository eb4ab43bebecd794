//! Gaps: asked for all at once, or passed at once.

use taut_aeron::frame::{DataHeader, Setup, control_flags};
use taut_aeron::{
    CongestionControl, FlowControl, PublicationConfig, Subscription, SubscriptionConfig,
};
use taut_testkit::{Draw, Random};
use taut_types::Nanos;

use crate::pair::{NAK, Pair, here};

/// A message that fills a datagram of 1,408 bytes.
const FULL: [u8; 1376] = [5; 1376];
const DATAGRAM: i64 = 1408;

#[test]
fn every_gap_has_a_nak_of_its_own_all_in_one_round_and_again_after_a_round_trip() {
    let publication = PublicationConfig { segments_max: 64, ..PublicationConfig::default() };
    let delay = Nanos::from_millis(1);
    let mut pair = Pair::connected_over(delay, publication, SubscriptionConfig::default());
    let begin = pair.publication.position();
    let loses = |at: i64| (at - begin) / DATAGRAM % 6 == 3;
    for _ in 0..60 {
        pair.publication.offer(&FULL).expect("room");
    }
    pair.feedback.clear();
    // The first repairs are lost too.
    let until = pair.now + Nanos::from_millis(4);
    while pair.now < until {
        pair.turn_losing(loses);
    }
    let naks: Vec<Nanos> =
        pair.feedback.iter().filter(|(_, kind)| *kind == NAK).map(|(at, _)| *at).collect();
    assert_eq!(naks.len(), 20, "two rounds of ten: {naks:?}");
    let (first, second) = naks.split_at(10);
    assert!(first.iter().all(|at| *at == first[0]) && second.iter().all(|at| *at == second[0]));
    let between = second[0] - first[0];
    assert!(between >= delay + delay && between < Nanos::from_millis(3), "{between}");
    pair.run_for(Nanos::from_millis(20));
    assert_eq!(pair.got.len(), 60);
    assert_eq!(pair.publication.counters().repaired_datagrams, 20);
}

#[test]
fn without_repairs_what_is_lost_is_all_that_is_missing_and_it_delays_nothing() {
    let subscription = SubscriptionConfig { is_reliable: false, ..SubscriptionConfig::default() };
    let publication = PublicationConfig { segments_max: 64, ..PublicationConfig::default() };
    let mut pair = Pair::connected(publication, subscription);
    pair.feedback.clear();
    let term = pair.publication.config().term_length as i64;
    let (mut random, mut sent, mut lost) = (Random::with_seed(7), 0, 0);
    for _ in 0..5000 {
        let (mut lost_now, mut is_last_lost) = (0, false);
        for _ in 0..10 {
            pair.publication.offer(&FULL).expect("nothing stalls it");
        }
        pair.turn_losing(|at| {
            // The padding at the end of a term is no message.
            let is_message = at % term + DATAGRAM <= term;
            is_last_lost = is_message && random.per_mille(3);
            lost_now += usize::from(is_last_lost);
            is_last_lost
        });
        sent += 10;
        lost += lost_now;
        // In the turn in which it was sent, whatever was lost before it.
        assert_eq!(pair.got.len(), sent - lost);
    }
    assert!((100..200).contains(&lost), "0.3% of 50,000: {lost}");
    pair.run_for(Nanos::from_millis(200));
    let passed: i64 = pair.skipped().iter().map(|(_, bytes)| bytes).sum();
    // At the end of a term padding takes what no message fits into.
    let padding = pair.publication.position() - sent as i64 * DATAGRAM;
    assert!(passed >= lost as i64 * DATAGRAM && passed <= lost as i64 * DATAGRAM + padding);
    assert_eq!(Pair::count(&pair.feedback, NAK), 0);
}

#[test]
fn a_stock_sender_is_asked_again_only_when_its_linger_of_10_ms_is_over() {
    for (flags, least, most) in [(0, 10_000, 12_000), (control_flags::SETUP_PROMPT, 20, 2_000)] {
        let config = SubscriptionConfig { validates: false, ..SubscriptionConfig::default() };
        let mut subscription = Subscription::new(config).expect("one");
        let setup = Setup {
            flags,
            term_offset: 0,
            session_id: 9,
            stream_id: config.stream_id,
            initial_term_id: 0,
            active_term_id: 0,
            term_length: 1 << 20,
            mtu: 1408,
            ttl: 0,
        };
        subscription.handle_bytes(Nanos(1), here(), setup.frame().as_bytes());
        let mut datagram = [0; 64];
        let header = DataHeader {
            frame_length: 64,
            flags: 0xc0,
            is_padding: false,
            term_offset: 64,
            session_id: 9,
            stream_id: config.stream_id,
            term_id: 0,
            reserved_value: 0,
        };
        datagram[..32].copy_from_slice(&header.bytes());
        subscription.handle_bytes(Nanos(1), here(), &datagram);
        let (mut asked, mut frame) = (Vec::new(), [0; 2048]);
        for micros in 0..30_000 {
            let now = Nanos(1) + Nanos::from_micros(micros);
            while let Some(sent) = subscription.poll_transmit(now, &mut frame) {
                if frame[6] == NAK && sent.bytes == 28 {
                    asked.push(micros);
                }
            }
        }
        assert_eq!(asked[0], 0, "at once");
        assert!((least..=most).contains(&(asked[1] - asked[0])), "{asked:?}");
    }
}

#[test]
fn a_burst_of_gaps_shrinks_the_window_once() {
    let flow = FlowControl::Min { group_min: 0 };
    let publication = PublicationConfig { segments_max: 64, flow, ..PublicationConfig::default() };
    let congestion = CongestionControl::Cubic;
    let subscription = SubscriptionConfig { congestion, ..SubscriptionConfig::default() };
    let mut pair = Pair::connected_over(Nanos::from_millis(5), publication, subscription);
    // It has grown to what the receiver lets it.
    let window = |pair: &Pair| pair.publication.limit() - pair.publication.position();
    for _ in 0..200 {
        while pair.publication.offer(&FULL).is_ok() {}
        pair.run_for(Nanos::from_millis(1));
    }
    pair.run_for(Nanos::from_secs(2));
    let full = window(&pair);
    assert!(full > 20 * DATAGRAM, "{full}");
    let begin = pair.publication.position();
    for _ in 0..20 {
        pair.publication.offer(&FULL).expect("room");
    }
    let gaps = pair.subscription.counters().gaps;
    pair.turn_losing(|at| (at - begin) / DATAGRAM % 2 == 0);
    pair.run_for(Nanos::from_millis(6));
    assert!(pair.subscription.counters().gaps - gaps >= 9, "one burst, many gaps");
    // Nine reductions would leave an eighth of it.
    pair.run_for(Nanos::from_millis(30));
    let left = window(&pair);
    assert!(left > full / 2 && left < full, "{left} of {full}");
}
