//! Where a venue and its gateway are on a simulated network: the sockets that both open there.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use taut_gateway::{FeedSocket, FeedSockets};
use taut_io::Endpoint;
use taut_sys::{Address, DatagramOptions, StreamOptions};
use taut_venue::{FeedOutput, VenueSockets};

/// Where the venue takes orders.
pub const ORDERS: SocketAddrV4 = at(9_001);
const LINE_A: u16 = 9_002;
const LINE_B: u16 = 9_003;
const SNAPSHOT: u16 = 9_004;
const REQUESTS: u16 = 9_005;

const fn at(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

/// A socket that is bound here and, if it has a peer, speaks to that one alone.
fn datagram(port: u16, peer: Option<u16>) -> (Address, DatagramOptions) {
    let peer = peer.map(|port| SocketAddr::V4(at(port)));
    (Address::Inet(at(port).into()), DatagramOptions { peer, ..DatagramOptions::default() })
}

/// The venue's: orders, two lines, snapshots, packets that are asked for again.
#[must_use]
pub fn venue_sockets() -> VenueSockets {
    let open = |port, peer| {
        let (at, options) = datagram(port, peer);
        Endpoint::At(at, options)
    };
    let feed = FeedOutput {
        incremental: open(0, Some(LINE_A)),
        incremental_b: Some(open(0, Some(LINE_B))),
        retransmission: Some(open(REQUESTS, None)),
        snapshot: open(0, Some(SNAPSHOT)),
    };
    let orders = Endpoint::At(Address::Inet(ORDERS.into()), StreamOptions::default());
    VenueSockets { orders, feed, stream: None }
}

/// The gateway's, for its market data.
#[must_use]
pub fn feed_sockets() -> FeedSockets {
    let open = |port, peer| {
        let (at, options) = datagram(port, peer);
        FeedSocket::At(at, options)
    };
    FeedSockets {
        incremental: open(LINE_A, None),
        incremental_b: Some(open(LINE_B, None)),
        snapshot: open(SNAPSHOT, None),
        retransmission: Some(open(0, Some(REQUESTS))),
    }
}
