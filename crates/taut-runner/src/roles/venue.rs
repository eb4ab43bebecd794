//! The venue simulator's process.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use taut_fix::Now;
use taut_io::EpollKernel;
use taut_sys::{Address, Socket, StreamOptions, monotonic, utc};
use taut_types::Nanos;
use taut_venue::{FeedOutput, Venue, VenueSockets};

use crate::child::Parent;
use crate::control::{Order, Reply, VenuePorts, VenueSetup};
use crate::error::RunnerError;
use crate::feed::{address_of, request_socket, sender_to};
use crate::roles::read_and_forget::ReadAndForget;
use crate::settings::Market;
use crate::simulator;

/// How often the venue listens to its parent.
const CONTROL: Nanos = Nanos::from_millis(2);
/// How long it sleeps at the most: what it is late with its parent.
const WAIT: Nanos = Nanos::from_millis(50);

/// With what a gateway measures a bare send against.
type ObservedVenue = Venue<EpollKernel, ReadAndForget>;

/// Runs the venue until the parent says that it is over.
pub fn play(setup: &VenueSetup, parent: &mut Parent) -> Result<(), RunnerError> {
    let mut venue = open(setup, parent)?;
    let mut control_due = Nanos::ZERO;
    let mut flow_ended = false;
    loop {
        let mono = monotonic();
        let worked = venue
            .poll(Now { mono, utc: utc() })
            .map_err(|error| RunnerError::Run(error.to_string()))?;
        // It sleeps at once: on a shared CPU, looking again first would be the gateway's time.
        if !worked {
            let waited = venue.wait(monotonic(), WAIT);
            waited.map_err(|error| RunnerError::Run(error.to_string()))?;
        }
        if mono < control_due {
            continue;
        }
        control_due = mono + CONTROL;
        if venue.flow_finished() && !flow_ended {
            flow_ended = true;
            parent.say(&Reply::FlowEnded)?;
        }
        match parent.order()? {
            Some(Order::Start) => venue.start_flow(monotonic()),
            Some(Order::Stop) => {
                venue.stop_flow();
                let counters = venue.counters();
                let (published, last) = match counters.stream_updates {
                    0 => (counters.published, counters.published),
                    updates => (updates, counters.stream_last),
                };
                let counters = simulator::named(&counters);
                parent.say(&Reply::Stopped { published, last, counters })?;
            }
            Some(Order::Exit) => return Ok(()),
            _ => {}
        }
    }
}

fn open(setup: &VenueSetup, parent: &Parent) -> Result<ObservedVenue, RunnerError> {
    let Market::Simulator(simulator) = setup.common.settings.market()? else {
        return Err(RunnerError::Run("the venue runs elsewhere".to_owned()));
    };
    let listen = |port: u16| {
        let at = Address::Inet(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)));
        Socket::listen(&at, &StreamOptions::default()).map_err(|error| {
            let remedy = if error.is_address_in_use() {
                "; the port is in use, choose another with --port or leave it out"
            } else {
                ""
            };
            RunnerError::Run(format!("order entry on 127.0.0.1:{port}: {error}{remedy}"))
        })
    };
    let (orders, sink) = (listen(simulator.port)?, listen(0)?);
    let stream = simulator.replays_a_stream().then(|| listen(0)).transpose()?;
    let address = |listener: &Socket| match listener.local_address() {
        Ok(Address::Inet(SocketAddr::V4(address))) => Ok(address),
        Ok(other) => Err(RunnerError::Run(format!("order entry: {other:?} is no IPv4 address"))),
        Err(error) => Err(RunnerError::run("order entry", error)),
    };
    let market_data = |error| RunnerError::run("market data", error);
    let requests = request_socket().map_err(market_data)?;
    let ready = Reply::VenueReady(VenuePorts {
        orders: address(&orders)?,
        sink: address(&sink)?,
        requests: address_of(&requests).map_err(market_data)?,
        stream: stream.as_ref().map(address).transpose()?,
    });
    let sender = |to| sender_to(to).map_err(market_data);
    let [a, b] = setup.incremental;
    let feed = FeedOutput {
        incremental: sender(a)?.into(),
        incremental_b: Some(sender(b)?.into()),
        snapshot: sender(setup.snapshot)?.into(),
        retransmission: Some(requests.into()),
    };
    let settings = &setup.common.settings;
    let config = simulator::config(settings, &simulator, setup.stream_id)?;
    let flow = simulator::flow(settings, &simulator, config.instruments[0])?;
    let sockets = VenueSockets { orders: orders.into(), feed, stream: stream.map(Into::into) };
    let venue = Venue::new(&config, sockets, flow)
        .and_then(|venue| venue.with_observer(ReadAndForget::new(sink)))
        .map_err(|error| RunnerError::Run(error.to_string()))?;
    parent.say(&ready)?;
    Ok(venue)
}
