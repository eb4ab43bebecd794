//! The lines of the incremental channel: every packet on each, and remembered for who asks again.

use std::net::{IpAddr, SocketAddr};

use taut_io::{Io, Kernel};
use taut_market_data::feed::{RetransmitConfig, RetransmitCounters, RetransmitServer};
use taut_market_data::native::PACKET_BYTES_MAX;
use taut_types::{Nanos, SequenceNumber};

use crate::channel::Channel;
use crate::error::VenueError;
use crate::flow::SplitMix64;

/// Losses that a venue makes up, for who wants to see the feed heal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedLoss {
    /// Datagrams of line A that are not sent, in a thousand.
    pub a_per_mille: u16,
    /// Those of line B.
    pub b_per_mille: u16,
    /// Which ones: the same seed loses the same.
    pub seed: u64,
}

/// A line, and what it loses.
#[derive(Debug)]
struct Line {
    channel: Channel,
    per_mille: u64,
    random: SplitMix64,
    lost: u64,
}

impl Line {
    const fn new(channel: Channel, per_mille: u16, seed: u64) -> Self {
        Self { channel, per_mille: per_mille as u64, random: SplitMix64::new(seed), lost: 0 }
    }

    #[inline]
    fn send(&mut self, io: &mut Io<impl Kernel>, datagram: &[u8]) -> Result<(), VenueError> {
        if self.per_mille > 0 && self.random.chance(self.per_mille) {
            self.lost += 1;
            return Ok(());
        }
        self.channel.send(io, datagram)
    }
}

/// Line A, line B if there is one, and the memory for retransmission.
#[derive(Debug)]
pub struct Lines {
    a: Line,
    b: Option<Line>,
    server: RetransmitServer,
    /// Packets are remembered, and not sent: they were, by the venue before this one.
    pub is_muted: bool,
}

impl Lines {
    pub fn new(
        a: Channel,
        b: Option<Channel>,
        loss: FeedLoss,
        server: RetransmitConfig,
        stream_id: u32,
    ) -> Self {
        let server = RetransmitConfig { packet_bytes: PACKET_BYTES_MAX, ..server };
        Self {
            a: Line::new(a, loss.a_per_mille, loss.seed),
            b: b.map(|channel| Line::new(channel, loss.b_per_mille, !loss.seed)),
            server: RetransmitServer::new(server, stream_id),
            is_muted: false,
        }
    }

    /// Sends a numbered packet on every line.
    #[inline]
    pub fn send(
        &mut self,
        io: &mut Io<impl Kernel>,
        sequence: SequenceNumber,
        datagram: &[u8],
    ) -> Result<(), VenueError> {
        self.send_unnumbered(io, datagram)?;
        self.server.store(sequence, datagram);
        Ok(())
    }

    /// Sends what nobody can ask for again.
    #[inline]
    pub fn send_unnumbered(
        &mut self,
        io: &mut Io<impl Kernel>,
        datagram: &[u8],
    ) -> Result<(), VenueError> {
        if self.is_muted {
            return Ok(());
        }
        self.a.send(io, datagram)?;
        match &mut self.b {
            Some(b) => b.send(io, datagram),
            None => Ok(()),
        }
    }

    /// Answers a request: `send` is called for each packet. A requester is an address without its
    /// port, which costs nothing to change.
    pub fn answer(
        &mut self,
        now: Nanos,
        from: &SocketAddr,
        request: &[u8],
        send: &mut impl FnMut(&[u8]),
    ) {
        let who = match from.ip().to_canonical() {
            IpAddr::V4(ip) => ip.to_bits().into(),
            // A host has the last 64 bits of a network to choose from.
            IpAddr::V6(ip) => (ip.to_bits() >> 64) as u64,
        };
        self.server.handle_request(now, who, request, send);
    }

    pub const fn retransmissions(&self) -> &RetransmitCounters {
        self.server.counters()
    }

    /// Datagrams not sent on purpose, of each line.
    pub fn lost(&self) -> [u64; 2] {
        [self.a.lost, self.b.as_ref().map_or(0, |b| b.lost)]
    }

    pub fn channels(&self) -> impl Iterator<Item = &Channel> {
        [Some(&self.a), self.b.as_ref()].into_iter().flatten().map(|line| &line.channel)
    }
}
