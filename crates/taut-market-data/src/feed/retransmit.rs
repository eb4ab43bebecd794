//! The server's side of retransmission: the last packets, and who may have how many of them.

use alloc::boxed::Box;
use alloc::vec;

use taut_types::{Nanos, SequenceNumber};

use crate::feed::request::RetransmitRequest;
use crate::feed::slots::{Kept, Slots};

/// The bounds of a retransmission server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmitConfig {
    /// How many packets it remembers.
    pub packet_count: usize,
    /// The longest packet.
    pub packet_bytes: usize,
    /// How many requesters it knows at a time: the one that asked longest ago is forgotten.
    pub requester_count: usize,
    /// So many bytes a requester can have at once.
    pub burst_bytes: u64,
    /// So many bytes a second are added to what he can have.
    pub bytes_per_second: u64,
}

impl Default for RetransmitConfig {
    /// 8,192 packets of 1,400 bytes; 64 requesters with 1 MB at once and 4 MB a second.
    fn default() -> Self {
        Self {
            packet_count: 8_192,
            packet_bytes: 1_400,
            requester_count: 64,
            burst_bytes: 1 << 20,
            bytes_per_second: 4 << 20,
        }
    }
}

/// Bytes of the headers that a packet travels with, at most: IPv6 and UDP.
const HEADERS_BYTES: u64 = 48;
/// A request pays for one look at the packets that it asks for, and for one more with each so many
/// of its bytes.
const BYTES_PER_LOOK: u64 = 32;

/// What became of requests and packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetransmitCounters {
    /// Requests for the stream.
    pub requests: u64,
    /// Packets sent again.
    pub sent: u64,
    /// Bytes of them.
    pub sent_bytes: u64,
    /// Packets that nobody remembers any more, or that have not been sent yet.
    pub unknown: u64,
    /// Requests of another stream, or for nothing.
    pub foreign: u64,
    /// Answers that were cut short because the requester had used his budget up.
    pub over_budget: u64,
    /// Answers that were cut short because they would have been longer than the request, or cost
    /// more than it pays for.
    pub over_length: u64,
    /// Requesters that had to be forgotten for want of room.
    pub forgotten: u64,
}

/// Sends packets again: pure, the caller owns the socket.
///
/// An answer never has more bytes than its request, headers included, and comes out of a budget of
/// the requester: whoever forges a victim's address makes the server send that victim no more than
/// he sends the server. Cost of a request: a search among the requesters, and a look for each
/// packet, of which a request pays for one and for one more with each 32 of its bytes.
#[derive(Debug)]
pub struct RetransmitServer {
    packets: Slots,
    stream_id: u32,
    last: u64,
    requesters: Box<[Requester]>,
    counters: RetransmitCounters,
    config: RetransmitConfig,
}

/// A bucket of bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Requester {
    /// Whose; nobody's when it never asked.
    who: Option<u64>,
    left_bytes: u64,
    asked: Nanos,
}

impl RetransmitServer {
    /// A server that remembers nothing yet. Allocates all its memory.
    #[must_use]
    pub fn new(config: RetransmitConfig, stream_id: u32) -> Self {
        let requesters = vec![Requester::default(); config.requester_count.max(1)];
        Self {
            packets: Slots::new(config.packet_count, config.packet_bytes),
            stream_id,
            last: 0,
            requesters: requesters.into_boxed_slice(),
            counters: RetransmitCounters::default(),
            config,
        }
    }

    /// Remembers a packet that was sent. Cost: one copy of it.
    #[inline]
    pub fn store(&mut self, sequence: SequenceNumber, packet: &[u8]) {
        if matches!(self.packets.insert(sequence.0, 1, packet), Kept::Stored | Kept::Evicted) {
            self.last = self.last.max(sequence.0);
        }
    }

    /// Answers a datagram: `send` is called for each packet, in sequence. `who` names the
    /// requester, an address for example.
    pub fn handle_request(
        &mut self,
        now: Nanos,
        who: u64,
        datagram: &[u8],
        send: &mut impl FnMut(&[u8]),
    ) {
        let request = RetransmitRequest::read(datagram);
        let Some(request) = request.filter(|request| request.stream_id == self.stream_id) else {
            self.counters.foreign += 1;
            return;
        };
        self.counters.requests += 1;
        let mut room = datagram.len() as u64 + HEADERS_BYTES;
        let looks_max = 1 + datagram.len() as u64 / BYTES_PER_LOOK;
        let mut budget = self.budget(now, who);
        let (first, end) = self.remembered(&request);
        let count = end.saturating_sub(first);
        self.counters.unknown += u64::from(request.count) - count;
        self.counters.over_length += u64::from(count > looks_max);
        for sequence in first..end.min(first.saturating_add(looks_max)) {
            let Some(packet) = self.packets.get(sequence) else {
                self.counters.unknown += 1;
                continue;
            };
            let bytes = packet.len() as u64;
            if bytes + HEADERS_BYTES > room {
                self.counters.over_length += 1;
                break;
            }
            if bytes > budget {
                self.counters.over_budget += 1;
                break;
            }
            room -= bytes + HEADERS_BYTES;
            budget -= bytes;
            send(packet);
            self.counters.sent += 1;
            self.counters.sent_bytes += bytes;
        }
        self.spend(who, budget);
    }

    /// The packets asked for that may be remembered: the first, and behind the last one.
    fn remembered(&self, request: &RetransmitRequest) -> (u64, u64) {
        let behind = self.last.saturating_add(1);
        let oldest = behind.saturating_sub(self.packets.count() as u64);
        let asked = request.first.0;
        let first = asked.clamp(oldest, behind);
        let end = asked.saturating_add(u64::from(request.count));
        (first, end.clamp(first, behind))
    }

    /// The account so far.
    #[must_use]
    pub const fn counters(&self) -> &RetransmitCounters {
        &self.counters
    }

    /// What a requester may have now. A new one gets a full bucket, in the place of the one that
    /// asked longest ago.
    fn budget(&mut self, now: Nanos, who: u64) -> u64 {
        let (burst, rate) = (self.config.burst_bytes, self.config.bytes_per_second);
        if let Some(known) = self.requesters.iter_mut().find(|known| known.who == Some(who)) {
            let span = u128::from(now.since(known.asked).0.unsigned_abs());
            let added = span * u128::from(rate) / 1_000_000_000;
            let added = u64::try_from(added).unwrap_or(u64::MAX);
            // A span that adds less than a byte is not used up.
            if added > 0 {
                known.left_bytes = known.left_bytes.saturating_add(added).min(burst);
                known.asked = now;
            }
            return known.left_bytes;
        }
        let oldest =
            self.requesters.iter_mut().min_by_key(|known| (known.who.is_some(), known.asked));
        if let Some(place) = oldest {
            self.counters.forgotten += u64::from(place.who.is_some());
            *place = Requester { who: Some(who), left_bytes: burst, asked: now };
        }
        burst
    }

    fn spend(&mut self, who: u64, left_bytes: u64) {
        if let Some(known) = self.requesters.iter_mut().find(|known| known.who == Some(who)) {
            known.left_bytes = left_bytes;
        }
    }
}
