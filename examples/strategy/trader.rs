//! A gateway with a strategy in its thread: from the exchange's packets to orders and their fills.
//!
//! usage: `trader [PORT [SECONDS]]`

mod dip;
mod market;

use std::error::Error;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::process::ExitCode;

use taut::fix::CompId;
use taut::gateway::{FeedInput, FeedSockets, GatewayConfig, GatewayError, Regions, Views};
use taut::ipc::Segment;
use taut::market_data::native::{NativeConfig, NativeFeed};
use taut::prelude::*;
use taut::sys::{
    Address, Anchoring, DatagramOptions, Socket, SysError, catch_stop_signals, interface_index,
    monotonic, stop_requests, yield_cpu,
};
use taut_examples::told;

use dip::Dip;
use market::Market;

/// How long the exchange may take to answer a Logon and to say goodbye.
const PATIENCE: Nanos = Nanos::from_secs(5);
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

fn main() -> ExitCode {
    told(trade())
}

fn trade() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let market = Market::at(arguments.next().as_deref())?;
    let seconds: i64 = arguments.next().as_deref().unwrap_or("3").parse()?;

    let sockets = FeedSockets {
        incremental: joined(market.incremental)?.into(),
        incremental_b: None,
        snapshot: joined(market.snapshot)?.into(),
        retransmission: None,
    };
    let config = GatewayConfig {
        instrument: market.instrument,
        order_address: market.orders,
        sender_comp_id: CompId::new(b"TRADER").ok_or("a CompID")?,
        target_comp_id: market.venue,
        heartbeat_interval: Nanos::from_secs(5),
        order_capacity: 1 << 16,
        risk: GatewayConfig::default_risk(),
        hot: true,
    };
    let clock = Clock::new(Anchoring::start().mapping());
    let feed = NativeConfig {
        instrument: market.instrument,
        stream_id: Some(market.stream_id),
        level_capacity: 1 << 13,
        has_retransmission: false,
    };
    let (input, feed) = (FeedInput::Datagrams(sockets), NativeFeed::new(&feed, clock.now()));
    // Histograms and counters live in memory that other processes could look at.
    let segment = Segment::create("trader", &Regions::LAYOUT)?;
    let regions = Regions::of(&segment)?;
    let client = FusedClient::new(Dip::default());
    let mut gateway = Gateway::new(&config, clock, input, feed, client, &regions)?;

    catch_stop_signals()?;
    run(&mut gateway, PATIENCE, |gateway| gateway.is_ready() || stop_requests() > 0)?;
    if !gateway.is_ready() {
        return Err("no book within 5 s: does the exchange run, at this port?".into());
    }
    // Ctrl-C ends the trading; orders and session end as they should all the same.
    run(&mut gateway, Nanos::from_secs(seconds), |_| stop_requests() > 0)?;
    gateway.client_mut().stop();
    run(&mut gateway, PATIENCE, |gateway| gateway.client().strategy().is_idle())?;
    gateway.logout()?;
    run(&mut gateway, PATIENCE, |gateway| gateway.is_logged_out())?;

    let counters = gateway.counters();
    println!("{} ticks, {} orders, {} fills", counters.ticks, counters.orders, counters.fills);
    println!("position {}", gateway.client_mut().strategy().position().0);
    let path = Views::new(&regions)?.path;
    for stage in Stage::ALL {
        println!("{:<12} p50 {:>6} ns", stage.name(), path.stage(stage).summary().p50);
    }
    println!("{:<12} p50 {:>6} ns", "all", path.tick_to_trade().summary().p50);
    Ok(())
}

type Trader<'m> = Gateway<'m, FusedClient<Dip>, NativeFeed>;

/// The whole hot path: `poll` serves the strategy and the sockets and never blocks.
fn run(
    gateway: &mut Trader<'_>,
    span: Nanos,
    is_done: fn(&Trader<'_>) -> bool,
) -> Result<(), GatewayError> {
    let until = monotonic() + span;
    while !is_done(gateway) && monotonic() < until {
        if !gateway.poll()? {
            yield_cpu();
        }
        gateway.housekeeping()?;
    }
    Ok(())
}

/// A socket that receives what is sent to a group on the loopback interface.
fn joined(group: SocketAddrV4) -> Result<Socket, SysError> {
    let options = DatagramOptions {
        receive_buffer_bytes: Some(RECEIVE_BUFFER_BYTES),
        reuse_address: true,
        ..DatagramOptions::default()
    };
    let socket = Socket::datagram(&Address::Inet(SocketAddr::V4(group)), &options)?;
    socket.join(IpAddr::V4(*group.ip()), interface_index("lo")?)?;
    Ok(socket)
}
