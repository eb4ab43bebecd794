//! Memory, and where terms begin and end.

use taut_aeron::{OfferError, PublicationConfig, SubscriptionConfig};
use taut_types::Nanos;

use crate::pair::Pair;

#[test]
fn an_image_holds_its_window_and_one_message_and_never_a_term() {
    const TERM: i32 = 64 * 1024 * 1024;
    let publication = PublicationConfig { term_length: TERM, ..PublicationConfig::default() };
    let mut pair = Pair::new(publication, SubscriptionConfig::default());
    let taken = allocation_counter::measure(|| {
        while pair.subscription.image_count() == 0 {
            pair.turn();
        }
    });
    // A message is at most an eighth of a term; the window is 128 KiB.
    assert!(taken.bytes_total <= (8 << 20) + (512 << 10), "{}", taken.bytes_total);
}

#[test]
fn a_message_of_more_than_an_eighth_of_a_term_is_too_long() {
    let (publication, subscription) = (PublicationConfig::default(), SubscriptionConfig::default());
    let mut pair = Pair::connected(publication, subscription);
    let bytes_max = 32 * 1024;
    let longest = vec![3; bytes_max];
    let longer = vec![3; bytes_max + 1];
    assert_eq!(pair.publication.offer(&longer), Err(OfferError::TooLong { bytes_max }));
    pair.publication.offer(&longest).expect("room");
    pair.run_for(Nanos::from_millis(1));
    assert_eq!(pair.got.len(), 1);
    assert_eq!(pair.got[0].0, longest);
}

#[test]
fn a_stream_starts_anywhere_in_any_term_and_term_ids_wrap() {
    for (initial_term_id, terms, term_offset) in
        [(0, 0, 0), (i32::MAX, 0, 65_504), (i32::MAX - 1, 2, 32), (-7, 6, 1024), (5, i32::MAX, 64)]
    {
        let publication = PublicationConfig {
            initial_term_id,
            term_id: initial_term_id.wrapping_add(terms),
            term_offset,
            term_length: 64 * 1024,
            ..PublicationConfig::default()
        };
        let mut pair = Pair::connected(publication, SubscriptionConfig::default());
        let start = i64::from(terms) * 65_536 + i64::from(term_offset);
        assert_eq!(pair.publication.position(), start);
        let mut offered = 0u32;
        let (mut refused, mut datagrams) = (None, 0);
        while offered < 3000 && refused.is_none() {
            match pair.publication.offer(&offered.to_le_bytes()) {
                Ok(_) => offered += 1,
                Err(OfferError::BackPressured) => pair.turn_losing(|_| {
                    datagrams += 1;
                    datagrams % 7 == 0
                }),
                Err(error) => refused = Some(error),
            }
        }
        pair.run_for(Nanos::from_millis(50));
        let got: Vec<_> = pair.got.iter().map(|(bytes, _)| bytes.clone()).collect();
        let sent: Vec<_> = (0..offered).map(|n| n.to_le_bytes().to_vec()).collect();
        assert_eq!(got, sent, "from term {initial_term_id} + {terms}, {term_offset}");
        // The last term that has an id ends the stream.
        let is_last = terms == i32::MAX;
        assert_eq!(refused, is_last.then_some(OfferError::MaxPositionExceeded));
    }
}
