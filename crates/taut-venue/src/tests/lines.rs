//! Two lines that carry the same, made-up losses, and packets that are asked for again.

use taut_market_data::feed::{RetransmitConfig, RetransmitRequest};
use taut_market_data::native::{PACKET_BYTES_MAX, PacketReader};
use taut_sys::{Address, DatagramOptions, Socket};
use taut_types::{Nanos, SequenceNumber};

use crate::tests::rig::{Rig, STREAM, config, drain, synthetic};
use crate::{FeedLoss, VenueConfig};

const TURN: Nanos = Nanos::from_millis(1);

/// What came out of the lines in 100 turns, and then at rest.
fn packets(rig: &mut Rig) -> [Vec<Vec<u8>>; 2] {
    let mut lines = [Vec::new(), Vec::new()];
    rig.venue.start_flow(rig.now.mono);
    for turn in 0..110 {
        rig.poll();
        rig.advance(TURN);
        if turn >= 100 {
            // At rest there are heartbeats.
            rig.venue.stop_flow();
            rig.advance(Nanos::from_millis(100));
        }
        drain(&rig.incremental, |datagram| lines[0].push(datagram.to_vec()));
        drain(&rig.line_b, |datagram| lines[1].push(datagram.to_vec()));
    }
    lines
}

fn sequence_of(packet: &[u8]) -> SequenceNumber {
    PacketReader::new(packet).expect("a packet").header().sequence
}

#[test]
fn both_lines_carry_the_same_packets_and_heartbeats() {
    let mut rig = Rig::new(&config(), synthetic(1));
    let [a, b] = packets(&mut rig);
    let counters = rig.venue.counters();
    assert_eq!(a.len() as u64, counters.published + counters.heartbeats);
    assert!(counters.published > 1_500 && counters.heartbeats > 0);
    assert_eq!(a, b);
    assert_eq!((counters.lost_on_a, counters.lost_on_b), (0, 0));
}

#[test]
fn a_line_loses_what_the_seed_says_and_the_other_one_has_it() {
    let lossy = |seed| {
        let loss = FeedLoss { a_per_mille: 100, b_per_mille: 1_000, seed };
        let mut rig = Rig::new(&VenueConfig { loss, ..config() }, synthetic(1));
        let lines = packets(&mut rig);
        (lines, rig.venue.counters())
    };
    let ([a, b], counters) = lossy(5);
    let sent = counters.published + counters.heartbeats;
    assert_eq!((a.len() as u64, b.len()), (sent - counters.lost_on_a, 0));
    assert!(counters.lost_on_b == sent && (sent / 20..sent / 5).contains(&counters.lost_on_a));
    assert_eq!(lossy(5).0[0], a);
    assert_ne!(lossy(6).0[0], a);
}

/// Sends a request as long as a packet; what comes back.
fn ask(rig: &mut Rig, request: RetransmitRequest) -> Vec<Vec<u8>> {
    let peer = rig.requests_at.inet();
    let any = Address::Inet("127.0.0.1:0".parse().expect("an address"));
    let socket = Socket::datagram(&any, &DatagramOptions { peer, ..DatagramOptions::default() });
    let socket = socket.expect("a socket");
    let mut bytes = [0; PACKET_BYTES_MAX];
    assert!(request.write(&mut bytes));
    assert_eq!(socket.send(&bytes), Ok(Some(bytes.len())));
    let before = rig.venue.counters().retransmit_requests;
    rig.until_venue(|venue| venue.counters().retransmit_requests > before);
    let mut answers = Vec::new();
    drain(&socket, |datagram| answers.push(datagram.to_vec()));
    answers
}

#[test]
fn packets_are_sent_again_to_who_asks_as_they_were_and_no_more_bytes_than_asked_with() {
    let mut rig = Rig::new(&config(), synthetic(2));
    let [a, _] = packets(&mut rig);
    let (stream_id, first) = (STREAM, SequenceNumber(700));
    let answers = ask(&mut rig, RetransmitRequest { stream_id, first, count: 100 });
    let sent: Vec<_> =
        a.iter().filter(|packet| sequence_of(packet) >= first).take(answers.len()).collect();
    assert_eq!(answers.iter().collect::<Vec<_>>(), sent);
    let bytes: usize = answers.iter().map(Vec::len).sum();
    assert!(answers.len() > 3 && bytes <= PACKET_BYTES_MAX, "{} in {bytes}", answers.len());
    assert_eq!(rig.venue.counters().retransmitted, answers.len() as u64);
    // Another stream, and what has not been sent.
    let foreign = RetransmitRequest { stream_id: STREAM + 1, first, count: 1 };
    assert_eq!(ask(&mut rig, foreign), Vec::<Vec<u8>>::new());
    let future = RetransmitRequest { stream_id, first: SequenceNumber(1 << 40), count: 1 };
    assert_eq!(ask(&mut rig, future), Vec::<Vec<u8>>::new());
    assert_eq!(rig.venue.counters().retransmit_refused, 2);
}

#[test]
fn a_requester_without_a_budget_gets_nothing() {
    let none = RetransmitConfig { burst_bytes: 0, bytes_per_second: 0, ..config().retransmit };
    let mut rig = Rig::new(&VenueConfig { retransmit: none, ..config() }, synthetic(2));
    packets(&mut rig);
    let request = RetransmitRequest { stream_id: STREAM, first: SequenceNumber(9), count: 1 };
    assert_eq!(ask(&mut rig, request), Vec::<Vec<u8>>::new());
    let counters = rig.venue.counters();
    assert_eq!((counters.retransmitted, counters.retransmit_refused), (0, 1));
}
