//! The venue simulator's process.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use taut_fix::{CompId, Now};
use taut_io::EpollKernel;
use taut_sys::{Address, Socket, StreamOptions, monotonic, utc};
use taut_types::{Instrument, Nanos};
use taut_venue::flow::{BinanceFlow, FileError, LobsterFlow, SyntheticConfig, SyntheticFlow};
use taut_venue::{
    FeedLoss, FeedOutput, Flow, Speed, Venue, VenueConfig, VenueCounters, VenueSockets,
};

use crate::child::Parent;
use crate::control::{Order, Reply, VenuePorts, VenueSetup};
use crate::error::RunnerError;
use crate::feed::{address_of, request_socket, sender_to};
use crate::roles::read_and_forget::ReadAndForget;
use crate::settings::{Market, Replay, Simulator};

/// The simulator's name in FIX.
pub const COMP_ID: &str = "VENUE";

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
                parent.say(&Reply::Stopped { published, last, counters: named(&counters) })?;
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
    let comp_id =
        CompId::new(COMP_ID.as_bytes()).ok_or_else(|| RunnerError::Run("CompID".to_owned()))?;
    let instrument = setup.common.settings.instrument.build()?;
    let mut config = VenueConfig::new(instrument, comp_id, setup.stream_id);
    let [a_per_mille, b_per_mille] = simulator.lose_per_mille;
    config.loss = FeedLoss { a_per_mille, b_per_mille, seed: simulator.seed };
    if simulator.refuse_retransmission {
        (config.retransmit.burst_bytes, config.retransmit.bytes_per_second) = (0, 0);
    }
    let flow = flow(&simulator, instrument)?;
    let sockets = VenueSockets { orders: orders.into(), feed, stream: stream.map(Into::into) };
    let venue = Venue::new(&config, sockets, flow)
        .and_then(|venue| venue.with_observer(ReadAndForget::new(sink)))
        .map_err(|error| RunnerError::Run(error.to_string()))?;
    parent.say(&ready)?;
    Ok(venue)
}

fn flow(simulator: &Simulator, instrument: Instrument) -> Result<Flow, RunnerError> {
    let Simulator { seed, levels, .. } = *simulator;
    let Some(file) = &simulator.data else {
        let level_count = levels as usize;
        let config = SyntheticConfig { seed, level_count, ..SyntheticConfig::default() };
        return Ok(Flow::synthetic(SyntheticFlow::new(config), simulator.commands_per_second));
    };
    let speed = match simulator.speed {
        Replay::Factor(factor) => Speed::Factor(factor),
        Replay::Named(_) => Speed::Max,
    };
    let unreadable = |error: FileError| RunnerError::Run(error.to_string());
    if simulator.replays_a_stream() {
        let flow = BinanceFlow::read(file, instrument).map_err(unreadable)?;
        return Ok(Flow::binance(flow, speed));
    }
    Ok(Flow::recorded(LobsterFlow::read(file).map_err(unreadable)?, speed))
}

/// The counters that a reader of the report may ask for.
fn named(counters: &VenueCounters) -> Vec<(String, u64)> {
    [
        ("flow commands", counters.flow_commands),
        ("flow commands refused", counters.flow_rejects),
        ("trades", counters.trades),
        ("snapshots sent", counters.snapshots),
        ("lost on line A on purpose", counters.lost_on_a),
        ("lost on line B on purpose", counters.lost_on_b),
        ("packets sent again", counters.retransmitted),
        ("requests and packets refused", counters.retransmit_refused),
        ("datagrams sent again", counters.send_retries),
        ("cancelled on disconnect", counters.cancels_on_disconnect),
    ]
    .map(|(name, count)| (name.to_owned(), count))
    .to_vec()
}
