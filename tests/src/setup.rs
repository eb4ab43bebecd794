//! The parts of a scenario: one instrument, a venue, a gateway, the sockets between them.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use taut_fix::CompId;
use taut_gateway::{FeedInput, FeedSockets, GatewayConfig};
use taut_market_data::native::{NativeConfig, NativeFeed};
use taut_sys::{Address, DatagramOptions, Socket, StreamOptions};
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Symbol};
use taut_venue::flow::{SyntheticConfig, SyntheticFlow};
use taut_venue::{FeedOutput, Flow, Venue, VenueConfig, VenueSockets};

/// Names the feed in every packet.
pub const STREAM_ID: u32 = 0x7a07;
/// Levels of a side of the synthetic market.
pub const LEVEL_COUNT: usize = 500;
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

/// What is traded: Apple, in cents and single shares.
///
/// # Panics
/// Never: the constants are right.
#[must_use]
pub fn instrument() -> Instrument {
    let symbol = Symbol::new(b"AAPL").expect("a symbol");
    let tick = Price::parse(b"0.01").expect("a price");
    let share = Qty { mantissa: 1, decimals: 0 };
    Instrument::new(InstrumentId(0), symbol, tick, share).expect("an instrument")
}

fn text(name: &str) -> CompId {
    CompId::new(name.as_bytes()).expect("a short text")
}

/// A venue with the habits of the demo.
#[must_use]
pub fn venue_config() -> VenueConfig {
    VenueConfig::new(vec![instrument()], text("VENUE"), STREAM_ID)
}

/// A venue that sends a whole snapshot every 10 ms, for a feed that loses much.
#[must_use]
pub fn venue_config_for_losses() -> VenueConfig {
    let snapshot_interval = Nanos::from_millis(10);
    VenueConfig { snapshot_interval, snapshot_burst_packets: 1 << 10, ..venue_config() }
}

/// A gateway with the habits of the demo, to the venue at these addresses.
#[must_use]
pub fn gateway_config(at: VenueAddresses) -> GatewayConfig {
    GatewayConfig {
        instruments: vec![instrument()],
        order_address: at.orders,
        sender_comp_id: text("GATEWAY"),
        target_comp_id: text("VENUE"),
        heartbeat_interval: Nanos::from_secs(5),
        session: taut_gateway::SessionSettings::default(),
        order_capacity: 1 << 16,
        risk: GatewayConfig::default_risk().into(),
        hot: true,
        keeps_warm: true,
    }
}

/// The venue's feed as these sockets bring it, and its handler with the habits of the demo.
#[must_use]
pub fn native_feed(
    instrument: Instrument,
    sockets: FeedSockets,
    now: Nanos,
) -> (FeedInput, NativeFeed) {
    let config = NativeConfig {
        instruments: &[instrument],
        stream_id: Some(STREAM_ID),
        level_capacity: 1 << 13,
        has_retransmission: sockets.retransmission.is_some(),
    };
    (FeedInput::Datagrams(sockets), NativeFeed::new(&config, now).expect("one instrument"))
}

/// A market out of a seed.
#[must_use]
pub fn synthetic_flow(seed: u64, ticks_hz: u32) -> Flow {
    let config = SyntheticConfig { seed, level_count: LEVEL_COUNT, ..SyntheticConfig::default() };
    Flow::synthetic(SyntheticFlow::new(config), ticks_hz)
}

/// Where a venue takes orders.
#[derive(Clone, Copy, Debug)]
pub struct VenueAddresses {
    /// Orders.
    pub orders: SocketAddrV4,
}

const ANY_PORT: Address = Address::Inet(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)));

/// A venue on ports that the kernel picked.
///
/// # Panics
/// When it cannot be opened.
#[must_use]
pub fn open_venue(config: &VenueConfig, flow: Flow, feed: FeedOutput) -> (Venue, VenueAddresses) {
    let orders = Socket::listen(&ANY_PORT, &StreamOptions::default()).expect("a port to listen on");
    let at = match orders.local_address() {
        Ok(Address::Inet(SocketAddr::V4(orders))) => VenueAddresses { orders },
        other => panic!("{other:?}"),
    };
    let sockets = VenueSockets { orders: orders.into(), feed, stream: None };
    (Venue::new(config, sockets, flow).expect("a venue"), at)
}

/// A way for datagrams on loopback: the sending end and the receiving end.
///
/// # Panics
/// When the sockets cannot be opened.
#[must_use]
pub fn link() -> (Socket, Socket) {
    let receive_buffer_bytes = Some(RECEIVE_BUFFER_BYTES);
    let options = DatagramOptions { receive_buffer_bytes, ..DatagramOptions::default() };
    let receiver = Socket::datagram(&ANY_PORT, &options).expect("a receiving socket");
    let peer = receiver.local_address().expect("an address").inet();
    let options = DatagramOptions { peer, ..DatagramOptions::default() };
    (Socket::datagram(&ANY_PORT, &options).expect("a sending socket"), receiver)
}

/// Where a venue takes requests for packets, and a gateway's socket for them.
///
/// # Panics
/// When the sockets cannot be opened.
#[must_use]
pub fn requests() -> (Socket, Socket) {
    let venue = Socket::datagram(&ANY_PORT, &DatagramOptions::default()).expect("a socket");
    let peer = venue.local_address().expect("an address").inet();
    let options = DatagramOptions { peer, ..DatagramOptions::default() };
    (venue, Socket::datagram(&ANY_PORT, &options).expect("a socket"))
}

/// A feed straight from a venue to a gateway: two lines, snapshots, requests.
#[must_use]
pub fn feed() -> (FeedOutput, FeedSockets) {
    let ((incremental_out, incremental), (snapshot_out, snapshot)) = (link(), link());
    let ((b_out, incremental_b), (retransmitting, asking)) = (link(), requests());
    let output = FeedOutput {
        incremental: incremental_out.into(),
        incremental_b: Some(b_out.into()),
        snapshot: snapshot_out.into(),
        retransmission: Some(retransmitting.into()),
    };
    let sockets = FeedSockets {
        incremental: incremental.into(),
        incremental_b: Some(incremental_b.into()),
        snapshot: snapshot.into(),
        retransmission: Some(asking.into()),
    };
    (output, sockets)
}

/// RFC 4648, section 4.
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for piece in bytes.chunks(3) {
        let bits = piece.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - piece.len()));
        let letters = (0..4).rev().map(|at| LETTERS[(bits >> (6 * at)) as usize & 63]);
        text.extend(letters.take(piece.len() + 1).map(char::from));
        text.extend(std::iter::repeat_n('=', 3 - piece.len()));
    }
    text
}
