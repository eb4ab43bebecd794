//! The steady state: no allocation, and no panic or unbounded state from strangers.

use std::net::SocketAddr;

use proptest::prelude::*;
use taut_aeron::{
    Claim, DestinationMode, Publication, PublicationConfig, Subscription, SubscriptionConfig,
    SubscriptionEvent, Target,
};
use taut_types::Nanos;

struct Pair {
    publication: Publication,
    subscription: Subscription,
    now: Nanos,
    frame: [u8; 2048],
    delivered: usize,
}

fn here() -> SocketAddr {
    "10.0.0.1:40123".parse().expect("an address")
}

fn there() -> SocketAddr {
    "10.0.0.2:40456".parse().expect("an address")
}

impl Pair {
    fn new(publication: PublicationConfig, subscription: SubscriptionConfig) -> Self {
        let publication = Publication::new(publication).expect("a publication");
        let subscription = Subscription::new(subscription).expect("a subscription");
        Self { publication, subscription, now: Nanos(1), frame: [0; 2048], delivered: 0 }
    }

    /// One turn of both sides; every datagram whose number `loses` says is lost.
    fn turn(&mut self, loses: &mut impl FnMut() -> bool) {
        self.now = self.now + Nanos::from_micros(50);
        let now = self.now;
        self.publication.handle_timeout(now);
        while let Some(run) = self.publication.next_run(now) {
            for datagram in self.publication.run_bytes(&run).chunks(run.segment_bytes) {
                if !loses() {
                    self.subscription.handle_bytes(now, here(), datagram);
                }
            }
            self.publication.run_sent(now, &run);
        }
        while let Some(sent) = self.publication.poll_transmit(now, &mut self.frame) {
            self.subscription.handle_bytes(now, here(), &self.frame[..sent.bytes]);
        }
        self.subscription.handle_timeout(now);
        self.delivered += self.subscription.poll(usize::MAX, |_| {});
        while let Some(sent) = self.subscription.poll_transmit(now, &mut self.frame) {
            self.publication.handle_bytes(now, there(), &self.frame[..sent.bytes]);
        }
        while self.publication.poll_event().is_some() {}
        while self.subscription.poll_event().is_some() {}
    }
}

#[test]
fn nothing_allocates_once_it_runs_with_loss_and_fragments_too() {
    let publication = PublicationConfig { segments_max: 8, ..PublicationConfig::default() };
    let mut pair = Pair::new(publication, SubscriptionConfig::default());
    let mut count = 0u32;
    let mut loses = || {
        count += 1;
        count.is_multiple_of(10)
    };
    while !pair.publication.is_connected() {
        pair.turn(&mut loses);
    }
    let (small, large) = ([7; 70], [8; 5000]);
    let mut run = |pair: &mut Pair| {
        for _ in 0..2000 {
            for _ in 0..20 {
                let _ = pair.publication.offer(&small);
            }
            let _ = pair.publication.offer(&large);
            pair.turn(&mut loses);
        }
    };
    run(&mut pair);
    let before = pair.delivered;
    let info = allocation_counter::measure(|| run(&mut pair));
    assert_eq!(info.count_total, 0);
    assert!(pair.delivered > before + 10_000 && pair.subscription.counters().naks > 100);
}

#[test]
fn a_claim_is_sent_when_it_is_committed_and_not_when_it_is_dropped() {
    let mut pair = Pair::new(PublicationConfig::default(), SubscriptionConfig::default());
    while !pair.publication.is_connected() {
        pair.turn(&mut || false);
    }
    let mut claim = pair.publication.try_claim(5).expect("room");
    claim.bytes().copy_from_slice(b"never");
    let _: Claim<'_> = claim;
    let mut claim = pair.publication.try_claim(64).expect("room");
    claim.bytes().fill(1);
    claim.bytes().last_mut().expect("a byte").clone_from(&2);
    claim.commit();
    let mut got = Vec::new();
    let (now, mut run) = (pair.now, pair.publication.next_run(pair.now).expect("a run"));
    pair.subscription.handle_bytes(now, here(), pair.publication.run_bytes(&run));
    pair.publication.run_sent(now, &run);
    pair.subscription.poll(10, |message| got = message.bytes.to_vec());
    assert_eq!((got.len(), got[0], got[62], got[63]), (64, 1, 1, 2));
    run.bytes = usize::MAX / 2;
    assert_eq!(pair.publication.run_bytes(&run), &[][..], "a forged run reads nothing");
}

#[test]
fn an_address_that_did_not_name_the_session_gets_nothing_but_setups() {
    let publication = PublicationConfig {
        session_id: -0x1234_5678,
        destinations: DestinationMode::Dynamic,
        is_group: true,
        ..PublicationConfig::default()
    };
    let mut publication = Publication::new(publication).expect("a publication");
    let (mut ask, mut frame) = ([0u8; 36], [0u8; 2048]);
    ask[0] = 36;
    ask[5] = 0x80;
    ask[6] = 3;
    let (mut asked, mut setups) = (0, 0);
    for millis in 1..1000 {
        let now = Nanos::from_millis(millis);
        assert!(publication.handle_bytes(now, there(), &ask));
        asked += ask.len();
        publication.handle_timeout(now);
        while let Some(sent) = publication.poll_transmit(now, &mut frame) {
            if sent.to == Target::One(there()) {
                assert_eq!(frame[6], 5, "a SETUP");
                setups += 1;
            }
        }
        assert!(publication.destinations().is_empty() && publication.next_run(now).is_none());
    }
    assert!(setups <= 10 && setups * 40 <= asked, "{setups}");
}

#[test]
fn ten_thousand_strangers_take_no_image() {
    let mut subscription = Subscription::new(SubscriptionConfig::default()).expect("one");
    let (mut frame, mut asked) = ([0u8; 2048], 0);
    for session in 1..10_000i32 {
        let now = Nanos(i64::from(session));
        let mut data = [0u8; 64];
        data[0] = 40;
        data[6] = 1;
        data[12..16].copy_from_slice(&session.to_le_bytes());
        data[16..20].copy_from_slice(&1001i32.to_le_bytes());
        subscription.handle_bytes(now, here(), &data);
        let mut setup = [0u8; 40];
        setup[0] = 40;
        setup[6] = 5;
        setup[12..16].copy_from_slice(&session.to_le_bytes());
        setup[16..20].copy_from_slice(&1001i32.to_le_bytes());
        setup[28..32].copy_from_slice(&(1i32 << 30).to_le_bytes());
        setup[32..36].copy_from_slice(&1408i32.to_le_bytes());
        subscription.handle_bytes(now, here(), &setup);
        while subscription.poll_transmit(now, &mut frame).is_some() {
            asked += 1;
        }
    }
    assert_eq!(subscription.image_count(), 0);
    assert!(asked <= 2 * 10_000, "at most one answer each: {asked}");
}

#[test]
fn a_publisher_that_is_silent_for_the_liveness_time_ends_the_image_with_its_position() {
    let mut pair = Pair::new(PublicationConfig::default(), SubscriptionConfig::default());
    while !pair.publication.is_connected() {
        pair.turn(&mut || false);
    }
    pair.publication.offer(&[1; 70]).expect("room");
    pair.turn(&mut || false);
    let position = pair.publication.position();
    pair.subscription.handle_timeout(pair.now + Nanos::from_secs(11));
    let Some(SubscriptionEvent::ImageUnavailable { position: last, .. }) =
        pair.subscription.poll_event()
    else {
        panic!("the image has ended");
    };
    assert_eq!((last, pair.subscription.image_count()), (position, 0));
}

proptest! {
    /// Valid traffic with bytes changed, cut and repeated: no panic, and memory stays bounded.
    #[test]
    fn no_datagram_panics_either_side(
        changes in proptest::collection::vec((0usize..64, any::<u8>(), 0usize..2000), 1..200)
    ) {
        let mut pair = Pair::new(PublicationConfig::default(), SubscriptionConfig::default());
        while !pair.publication.is_connected() {
            pair.turn(&mut || false);
        }
        for (at, byte, length) in changes {
            let _ = pair.publication.offer(&vec![byte; length]);
            let now = pair.now + Nanos::from_micros(20);
            if let Some(run) = pair.publication.next_run(now) {
                let mut datagram = pair.publication.run_bytes(&run).to_vec();
                let place = at % datagram.len();
                datagram[place] ^= byte;
                pair.subscription.handle_bytes(now, here(), &datagram);
                pair.subscription.handle_bytes(now, here(), &datagram[..datagram.len() / 2]);
            }
            while let Some(sent) = pair.subscription.poll_transmit(now, &mut pair.frame) {
                let place = at % sent.bytes.max(1);
                pair.frame[place] ^= byte;
                pair.publication.handle_bytes(now, there(), &pair.frame[..sent.bytes]);
            }
            pair.turn(&mut || false);
        }
        prop_assert!(pair.subscription.image_count() <= 16);
    }
}
