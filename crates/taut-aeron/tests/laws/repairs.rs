//! Repairs: one per gap and round trip, and a share of what is sent.

use proptest::prelude::*;
use taut_aeron::frame::{Nak, Status};
use taut_aeron::{Publication, PublicationConfig, SubscriptionConfig};
use taut_types::Nanos;

use crate::pair::{Pair, there};

fn nak(publication: &Publication, term_offset: i32, length: i32) -> Vec<u8> {
    let config = publication.config();
    let (session_id, stream_id) = (config.session_id, config.stream_id);
    let term_id = config.term_id + (publication.position() / i64::from(config.term_length)) as i32;
    let nak = Nak { session_id, stream_id, term_id, term_offset, length };
    nak.frame().as_bytes().to_vec()
}

#[test]
fn repairs_are_a_quarter_of_what_is_sent_however_much_is_asked_for() {
    let config = PublicationConfig { segments_max: 16, ..PublicationConfig::default() };
    let delay = Nanos::from_millis(1);
    let mut pair = Pair::connected_over(delay, config, SubscriptionConfig::default());
    let begun = pair.now;
    for _ in 0..4000 {
        for _ in 0..2 {
            let _ = pair.publication.offer(&[1; 1376]);
        }
        pair.turn();
        // All of the term, again and again.
        let asked = nak(&pair.publication, 0, config.term_length);
        pair.publication.handle_bytes(pair.now, there(), &asked);
    }
    let counters = *pair.publication.counters();
    let round_trips = ((pair.now - begun).0 / (2 * delay.0)) as u64 + 1;
    let floor = (16 + 1) * 1408 * round_trips;
    let most = counters.sent_bytes / 4 + floor + 64 * 1024;
    assert!(counters.sent_bytes > 8_000_000 && counters.repaired_bytes > counters.sent_bytes / 5);
    assert!(counters.repaired_bytes <= most, "{counters:?} {most}");
    // Nobody but the liar pays for it.
    pair.run_for(Nanos::from_millis(10));
    assert_eq!(pair.got.len() as u64, counters.messages);
}

#[test]
fn however_many_receivers_ask_a_gap_is_repaired_once_and_again_after_a_round_trip() {
    let config = PublicationConfig { is_group: true, ..PublicationConfig::default() };
    let delay = Nanos::from_millis(1);
    let mut pair = Pair::connected_over(delay, config, SubscriptionConfig::default());
    pair.publication.offer(&[1; 1376]).expect("room");
    pair.turn_losing(|_| true);
    let (now, asked) = (pair.now, nak(&pair.publication, 0, 1408));
    for port in 1..=100 {
        let from = (there().ip(), port).into();
        pair.publication.handle_bytes(now, from, &asked);
    }
    pair.turn();
    let counters = *pair.publication.counters();
    assert_eq!((counters.repaired_datagrams, counters.naks_suppressed), (1, 99));
    pair.run_for(Nanos::from_millis(2));
    pair.publication.handle_bytes(pair.now, there(), &asked);
    pair.turn();
    assert_eq!(pair.publication.counters().repaired_datagrams, 2);
}

proptest! {
    /// Runs for segmentation offload: never past what the receivers allow, and what the kernel
    /// takes: datagrams of one length, the last one maybe shorter, none above the mtu.
    #[test]
    fn no_run_passes_the_limit_or_mixes_lengths(
        steps in proptest::collection::vec((1usize..9000, 0i32..40_000), 1..120)
    ) {
        let config = PublicationConfig { segments_max: 64, ..PublicationConfig::default() };
        let mut publication = Publication::new(config).expect("a publication");
        let (mut now, mut consumed) = (Nanos(1), 0);
        for (bytes, window) in steps {
            now = now + Nanos::from_micros(100);
            let term_length = config.term_length;
            let (term_id, term_offset) = (consumed / term_length, consumed % term_length);
            let status = Status {
                flags: 0,
                session_id: config.session_id,
                stream_id: config.stream_id,
                term_id,
                term_offset,
                window,
                receiver_id: 1,
                group_tag: None,
            };
            publication.handle_bytes(now, there(), status.frame().as_bytes());
            while publication.offer(&vec![1; bytes]).is_ok() {}
            while let Some(run) = publication.next_run(now) {
                let (limit, wire_end) = (publication.limit(), run.position + run.bytes as i64);
                prop_assert!(wire_end <= limit && run.end <= publication.tail());
                // The header of padding travels alone, and takes the rest of its term with it.
                let ends_term = run.end % i64::from(config.term_length) == 0;
                prop_assert!(run.end <= limit || ends_term);
                prop_assert!(run.position == publication.position() && run.segment_bytes <= 1408);
                prop_assert!(run.datagrams() <= 64 && run.bytes <= 65_000);
                prop_assert_eq!(publication.run_bytes(&run).len(), run.bytes);
                publication.run_sent(now, &run);
            }
            consumed = publication.position() as i32;
        }
    }
}
