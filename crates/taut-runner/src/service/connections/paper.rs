//! Trading on paper: orders go to taut's own matching engine, on a thread of this process, whose
//! books follow the venue's market data level by level. No order leaves the machine.
//!
//! A level of the venue's is an order that came before all of ours at its price. What an order of
//! ours takes of it is put back, and ours rests until a level of the other side comes to its price
//! (see [`MirrorFlow`]): its fills are rather too few than too many.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::mpsc::channel;
use std::thread;

use taut_fix::Now;
use taut_gateway::{Fix44, Transport};
use taut_sys::tape::{self, Heard};
use taut_sys::{Address, DatagramOptions, Socket, StreamOptions, monotonic, process_id, utc};
use taut_types::{Instrument, Nanos};
use taut_venue::flow::MirrorFlow;
use taut_venue::{FeedOutput, Flow, Venue, VenueConfig, VenueError, VenueSockets};

use super::address::{get_addresses, put_addresses};
use super::parts::{Connections, MarketData, OrderRoute, config, refused};
use super::tap::Tap;
use crate::error::RunnerError;
use crate::service::file::GatewayFile;
use crate::settings::comp_id;

/// How long the venue sleeps at the most: how late it hears of the market.
const WAIT: Nanos = Nanos(500_000);
/// Orders of its own beside those of the market.
const ORDERS: usize = 1 << 14;
/// The interval of heartbeats.
const HEARTBEAT: Nanos = Nanos::from_secs(5);

/// The venue's market data, and orders to a venue on paper, which runs from here on.
pub fn connections<F>(
    file: &GatewayFile,
    market_data: MarketData<F>,
) -> Result<Connections<F, Fix44>, RunnerError> {
    let (address, tap) = if tape::is_reading() {
        let addresses = tape::hear(Heard::Place, Vec::new, |_, _| (), get_addresses);
        let nowhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        (addresses.first().copied().unwrap_or(nowhere), None)
    } else {
        let (address, tap) = start(file)?;
        tape::hear(Heard::Place, || (), |(), on| put_addresses(&[address], on), |_| None);
        (address, Some(tap))
    };
    let route = OrderRoute {
        address,
        others: Vec::new(),
        transport: Transport::Plain,
        through: None,
        sender: comp_id("name", "GATEWAY")?,
        target: comp_id("name", "PAPER")?,
        heartbeat_interval: HEARTBEAT,
    };
    // A key that the file has is for market data: here nobody asks who trades.
    let mut file = file.clone();
    file.session.credentials = None;
    let config = config(&file, route)?;
    let orders = Fix44::new(&config).map_err(|error| refused(&config, error))?;
    Ok(Connections { config, market_data, orders, tap })
}

/// Starts the venue: where it is, and how it hears of the market.
fn start(file: &GatewayFile) -> Result<(SocketAddrV4, Tap), RunnerError> {
    let instruments = file.instruments()?;
    let (to, from) = channel();
    let failed = |error: &dyn std::fmt::Display| RunnerError::run("the venue on paper", error);
    let any = Address::Inet(SocketAddr::from(([127, 0, 0, 1], 0)));
    let listener = Socket::listen(&any, &StreamOptions::default()).map_err(|it| failed(&it))?;
    let address = v4(&listener)?;
    let flow = MirrorFlow::new(&instruments, from);
    let (mut venue, unread) = tape::outside(|| open(file, &instruments, listener, flow))?;
    let venue = thread::Builder::new().name("paper".to_owned()).spawn(move || {
        let _unread: Socket = unread;
        venue.start_flow(monotonic());
        // Its flow ends when nobody can tell it anything any more.
        while !venue.flow_finished() && run(&mut venue).is_ok() {}
    });
    let venue = venue.map_err(|error| failed(&error))?;
    Ok((address, Tap::new(to, venue)))
}

fn run(venue: &mut Venue) -> Result<(), VenueError> {
    if venue.poll(Now { mono: monotonic(), utc: utc() })? {
        return Ok(());
    }
    venue.wait(monotonic(), WAIT)
}

/// The exchange. Its own feed goes to a socket of this process, which nobody reads.
fn open(
    file: &GatewayFile,
    instruments: &[Instrument],
    listener: Socket,
    flow: MirrorFlow,
) -> Result<(Venue, Socket), RunnerError> {
    let stream_id = (utc().0 / 1_000) as u32 ^ process_id().rotate_left(16);
    let mut config = VenueConfig::new(instruments.to_vec(), comp_id("name", "PAPER")?, stream_id);
    config.level_capacity = file.gateway.levels;
    config.order_capacity = 2 * file.gateway.levels + ORDERS;
    let any = Address::Inet(SocketAddr::from(([127, 0, 0, 1], 0)));
    let opened = |error| RunnerError::run("the venue on paper", error);
    let unread = Socket::datagram(&any, &DatagramOptions::default()).map_err(opened)?;
    let to = v4(&unread)?;
    let sender = || crate::feed::sender_to(to).map_err(opened);
    let feed = FeedOutput {
        incremental: sender()?.into(),
        incremental_b: None,
        snapshot: sender()?.into(),
        retransmission: None,
    };
    let sockets = VenueSockets { orders: listener.into(), feed, stream: None };
    let venue = Venue::new(&config, sockets, Flow::Mirror(Box::new(flow)))
        .map_err(|error| RunnerError::run("the venue on paper", error))?;
    Ok((venue, unread))
}

/// Where a socket of ours is.
fn v4(socket: &Socket) -> Result<SocketAddrV4, RunnerError> {
    match socket.local_address() {
        Ok(Address::Inet(SocketAddr::V4(address))) => Ok(address),
        Ok(other) => Err(RunnerError::Run(format!("the venue on paper is at {other}"))),
        Err(error) => Err(RunnerError::run("the venue on paper", error)),
    }
}
