//! An exchange with a crowd that trades: FIX order entry on 127.0.0.1, SBE market data by multicast
//! on the loopback interface.
//!
//! usage: `exchange [PORT [SECONDS]]`

mod market;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::process::ExitCode;

use taut::fix::CompId;
use taut::prelude::*;
use taut::sys::{
    Address, DatagramOptions, Socket, StreamOptions, SysError, catch_stop_signals, monotonic,
    stop_requests, utc,
};
use taut::venue::flow::{SyntheticConfig, SyntheticFlow};
use taut::venue::{FeedOutput, Flow, Now, Venue, VenueConfig, VenueSockets};
use taut_examples::told;

use market::{Market, SYMBOL, TICK, VENUE};

/// Commands of the crowd in a second.
const FLOW_HZ: u32 = 5_000;
/// The longest sleep: how late the end may be.
const LOOK: Nanos = Nanos::from_millis(50);

fn main() -> ExitCode {
    told(run())
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let market = Market::at(arguments.next().as_deref())?;
    let seconds: Option<i64> = arguments.next().map(|text| text.parse()).transpose()?;

    let orders = listen(market.orders)?;
    let feed = FeedOutput {
        incremental: multicast(market.incremental)?.into(),
        incremental_b: None,
        snapshot: multicast(market.snapshot)?.into(),
        retransmission: None,
    };
    let crowd = SyntheticFlow::new(SyntheticConfig { seed: 1, ..SyntheticConfig::default() });
    let venue = CompId::new(VENUE.as_bytes()).ok_or("a CompID")?;
    let config = VenueConfig::new(vec![instrument()?], venue, market.stream_id);
    let sockets = VenueSockets { orders: orders.into(), feed, stream: None };
    let mut venue = Venue::new(&config, sockets, Flow::synthetic(crowd, FLOW_HZ))?;

    catch_stop_signals()?;
    let end = seconds.map(|seconds| monotonic() + Nanos::from_secs(seconds));
    println!("open: orders at {}, market data at {}", market.orders, market.incremental);
    venue.start_flow(monotonic());
    while stop_requests() == 0 && end.is_none_or(|end| monotonic() < end) {
        if !venue.poll(Now { mono: monotonic(), utc: utc() })? {
            venue.wait(monotonic(), LOOK)?;
        }
    }
    let counters = venue.counters();
    println!("closed: {} packets published, {} trades", counters.published, counters.trades);
    Ok(())
}

fn instrument() -> Result<Instrument, Box<dyn Error>> {
    let symbol = Symbol::new(SYMBOL.as_bytes()).ok_or("a symbol")?;
    let share = Qty { mantissa: 1, decimals: 0 };
    Ok(Instrument::new(InstrumentId(0), symbol, Price::parse(TICK.as_bytes())?, share)?)
}

fn listen(at: SocketAddrV4) -> Result<Socket, SysError> {
    Socket::listen(&Address::Inet(SocketAddr::V4(at)), &StreamOptions::default())
}

/// A socket that sends to a group, on this host only.
fn multicast(group: SocketAddrV4) -> Result<Socket, SysError> {
    let any = Address::Inet(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)));
    let socket = Socket::datagram(&any, &DatagramOptions::default())?;
    socket.set_outbound_ipv4(Ipv4Addr::LOCALHOST)?;
    socket.set_multicast_hops(0)?;
    socket.set_multicast_loop(true)?;
    socket.set_peer(&SocketAddr::V4(group))?;
    Ok(socket)
}
