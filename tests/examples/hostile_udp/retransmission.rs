//! Requests for packets, forged and as expensive as can be.

use taut_market_data::feed::{RetransmitConfig, RetransmitRequest, RetransmitServer};
use taut_sys::{monotonic, thread_usage};
use taut_types::{Nanos, SequenceNumber};

use crate::{Outcome, Terms};

const STREAM: u32 = 7;
const PACKETS: u64 = 8192;
/// Headers of a datagram.
const HEADERS_BYTES: u64 = 28;
/// The most expensive request costs at most so many times what the cheapest one does.
const RATIO_MAX: i64 = 12;

/// What a kind of request cost, on average, and whether an answer was longer than it.
fn cost(server: &mut RetransmitServer, request: &[u8], span: Nanos) -> (Nanos, bool) {
    let (until, begun) = (monotonic() + span, thread_usage().cpu);
    let (mut count, mut is_longer) = (0, false);
    while monotonic() < until {
        for _ in 0..100 {
            let mut sent = 0;
            // Each from another address.
            server.handle_request(monotonic(), count, request, &mut |packet| {
                sent += packet.len() as u64 + HEADERS_BYTES;
            });
            is_longer |= sent > request.len() as u64 + HEADERS_BYTES;
            count += 1;
        }
    }
    let spent = thread_usage().cpu - begun;
    (Nanos(spent.0 / i64::try_from(count.max(1)).unwrap_or(1)), is_longer)
}

pub fn run(terms: Terms) -> Outcome {
    let mut server = RetransmitServer::new(RetransmitConfig::default(), STREAM);
    // Every other packet, so that looks find nothing.
    for sequence in (1..=PACKETS).step_by(2) {
        server.store(SequenceNumber(sequence), &[7; 10]);
    }
    let span = Nanos(i64::from(terms.seconds) * 1_000_000_000 / 8);
    let mut request = |first, count, bytes| {
        let mut datagram = vec![0; bytes];
        let first = SequenceNumber(first);
        RetransmitRequest { stream_id: STREAM, first, count }.write(&mut datagram);
        cost(&mut server, &datagram, span)
    };
    let (cheapest, _) = request(2, 1, 24);
    let dear = [(1, 24), (2, 24), (PACKETS / 2, 24), (PACKETS + 1, 24), (u64::MAX, 24), (1, 300)];
    let costs = dear.map(|(first, bytes)| request(first, u16::MAX, bytes));
    let dearest = costs.iter().map(|(each, _)| *each).max().unwrap_or(Nanos::ZERO);
    let measured = format!("a request costs {} to {} ns of CPU", cheapest.0, dearest.0);
    if costs.iter().any(|(_, is_longer)| *is_longer) {
        return Err(format!("an answer is longer than its request; {measured}"));
    }
    match dearest.0 <= RATIO_MAX * cheapest.0.max(1) {
        true => Ok(measured),
        false => Err(format!("{measured}: more than {RATIO_MAX} times as much")),
    }
}
