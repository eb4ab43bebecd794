//! The venue simulator's process.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use taut_fix::Now;
use taut_io::EpollKernel;
use taut_sys::{Address, Socket, StreamOptions, monotonic, utc};
use taut_types::Nanos;
use taut_venue::{
    Acknowledge, FeedOutput, Flow, JournalSettings, Observer, Venue, VenueConfig, VenueError,
    VenueJournal, VenueSockets,
};
use taut_web_venue::Front;

use crate::child::Parent;
use crate::control::{Order, Published, Reply, VenuePorts, VenueSetup, WebPort};
use crate::error::RunnerError;
use crate::feed::{address_of, request_socket, sender_to};
use crate::roles::read_and_forget::{ReadAndForget, SINK_SOURCES};
use crate::service::{Dialect, KeeperThread, WebVenue, WebVenueFile};
use crate::settings::{Market, Simulator, VenueKind};
use crate::simulator;
use crate::web::{RunCertificate, binance_venue_file, deribit_venue_file, listen_as_asked};

/// How often the venue listens to its parent.
const CONTROL: Nanos = Nanos::from_millis(2);
/// How long it sleeps at the most: what it is late with its parent.
const WAIT: Nanos = Nanos::from_millis(50);

/// The journal of a run's venue is small, so that a venue that is killed is gone soon: its memory
/// is given back before the journal's lock.
pub(super) const JOURNAL: JournalSettings =
    JournalSettings { segment_bytes: 8 << 20, acknowledge: Acknowledge::Memory };

/// Runs the venue until the parent says that it is over.
pub fn play(setup: &VenueSetup, parent: &mut Parent) -> Result<(), RunnerError> {
    let settings = &setup.common.settings;
    let Market::Simulator(simulator) = settings.market()? else {
        return Err(RunnerError::Run("the venue runs elsewhere".to_owned()));
    };
    match simulator.kind {
        VenueKind::Taut => {
            let (venue, _keeper) = open(setup, &simulator, parent)?;
            run(venue, parent)
        }
        VenueKind::Deribit => {
            let file = deribit_venue_file(settings, &simulator)?;
            play_web(file, &simulator, parent, Begins::AtTheStart)
        }
        // A book of Binance's is known once it has changed: the crowd trades before the gateway
        // comes.
        VenueKind::Binance => {
            let file = binance_venue_file(settings, &simulator)?;
            play_web(file, &simulator, parent, Begins::AtOnce)
        }
    }
}

/// When the crowd begins to trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    /// With the venue.
    AtOnce,
    /// When the run starts.
    AtTheStart,
}

/// A venue that speaks as another: its interface and its market data are at one address, FIX is at
/// another one.
fn play_web<M, A>(
    mut file: WebVenueFile<M, A>,
    simulator: &Simulator,
    parent: &mut Parent,
    begins: Begins,
) -> Result<(), RunnerError>
where
    WebVenueFile<M, A>: Dialect,
{
    let certificate = simulator.tls.then(RunCertificate::new).transpose()?;
    listen_as_asked(&mut file, simulator, certificate.as_ref());
    let sink = listen(0)?;
    let sink_at = address(&sink)?;
    let (mut venue, _unread) = file.open(ReadAndForget::new(sink), SINK_SOURCES)?;
    let addresses = venue.observer().0.addresses();
    let (Some(SocketAddr::V4(at)), Some(SocketAddr::V4(orders))) =
        (addresses.first().copied(), addresses.last().copied())
    else {
        return Err(RunnerError::Run("order entry: it has no IPv4 address".to_owned()));
    };
    let web = Some(WebPort { at, root: certificate.map(|made| made.root) });
    if begins == Begins::AtOnce {
        venue.start_flow(monotonic());
    }
    let ports = VenuePorts { orders, sink: sink_at, requests: None, stream: None, web };
    parent.say(&Reply::VenueReady(ports))?;
    run(venue, parent)
}

/// What a venue counts of what it publishes for a gateway.
pub(super) trait Publishes {
    fn published(&self) -> Published;
}

impl Publishes for Venue<EpollKernel, ReadAndForget> {
    fn published(&self) -> Published {
        let counters = self.counters();
        match counters.stream_updates {
            0 => Published { count: counters.published, last: counters.published },
            count => Published { count, last: counters.stream_last },
        }
    }
}

impl<F: Front> Publishes for WebVenue<F, ReadAndForget> {
    fn published(&self) -> Published {
        let count = self.observer().0.front().book_changes().unwrap_or(0);
        Published { count, last: 0 }
    }
}

pub(super) fn run<O: Observer<EpollKernel>>(
    mut venue: Venue<EpollKernel, O>,
    parent: &mut Parent,
) -> Result<(), RunnerError>
where
    Venue<EpollKernel, O>: Publishes,
{
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
                let counters = simulator::named(&venue.counters());
                parent.say(&Reply::Stopped { published: venue.published(), counters })?;
            }
            Some(Order::Exit) => return Ok(()),
            _ => {}
        }
    }
}

/// A listener on loopback for what a gateway sends.
pub(super) fn listen(port: u16) -> Result<Socket, RunnerError> {
    let at = Address::Inet(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)));
    Socket::listen(&at, &StreamOptions::default()).map_err(|error| {
        let remedy = if error.is_address_in_use() {
            "; the port is in use, choose another with --port or leave it out"
        } else {
            ""
        };
        RunnerError::Run(format!("order entry on 127.0.0.1:{port}: {error}{remedy}"))
    })
}

fn address(listener: &Socket) -> Result<SocketAddrV4, RunnerError> {
    match listener.local_address() {
        Ok(Address::Inet(SocketAddr::V4(address))) => Ok(address),
        Ok(other) => Err(RunnerError::Run(format!("order entry: {other:?} is no IPv4 address"))),
        Err(error) => Err(RunnerError::run("order entry", error)),
    }
}

/// Where its market data goes, and where packets are asked for again.
pub(super) fn feed_output(setup: &VenueSetup) -> Result<FeedOutput, RunnerError> {
    let missing = || RunnerError::Run("the venue was not told where its feed goes".to_owned());
    let to = setup.feed.ok_or_else(missing)?;
    let sender = |to| sender_to(to).map_err(|error| RunnerError::run("market data", error));
    let [a, b] = to.incremental;
    Ok(FeedOutput {
        incremental: sender(a)?.into(),
        incremental_b: Some(sender(b)?.into()),
        snapshot: sender(to.snapshot)?.into(),
        retransmission: None,
    })
}

/// What it is told, and its flow.
pub(super) fn parts(
    setup: &VenueSetup,
    simulator: &Simulator,
) -> Result<(VenueConfig, Flow), RunnerError> {
    let settings = &setup.common.settings;
    let mut config = simulator::config(settings, simulator, setup.stream_id)?;
    // A journal keeps the sessions.
    config.reset_on_logon = setup.journal.is_none();
    let flow = simulator::flow(settings, simulator, config.instruments[0])?;
    Ok((config, flow))
}

fn open(
    setup: &VenueSetup,
    simulator: &Simulator,
    parent: &Parent,
) -> Result<(Venue<EpollKernel, ReadAndForget>, Option<KeeperThread>), RunnerError> {
    let (orders, sink) = (listen(simulator.port)?, listen(0)?);
    let stream = simulator.replays_a_stream().then(|| listen(0)).transpose()?;
    let market_data = |error| RunnerError::run("market data", error);
    let requests = request_socket().map_err(market_data)?;
    let ready = Reply::VenueReady(VenuePorts {
        orders: address(&orders)?,
        sink: address(&sink)?,
        requests: Some(address_of(&requests).map_err(market_data)?),
        stream: stream.as_ref().map(address).transpose()?,
        web: None,
    });
    let feed = FeedOutput { retransmission: Some(requests.into()), ..feed_output(setup)? };
    let (config, flow) = parts(setup, simulator)?;
    let sockets = VenueSockets { orders: orders.into(), feed, stream: stream.map(Into::into) };
    let failed = |error: VenueError| RunnerError::Run(error.to_string());
    let mut venue = Venue::new(&config, sockets, flow).map_err(failed)?;
    let mut keeper = None;
    if let Some(folder) = &setup.journal {
        let journal = VenueJournal::open(folder, JOURNAL);
        let journal = journal.map_err(VenueError::Journal).map_err(failed)?;
        let now = Now { mono: monotonic(), utc: utc() };
        let (journaled, of_journal, _) = venue.with_journal(journal, now).map_err(failed)?;
        (venue, keeper) = (journaled, Some(KeeperThread::start(of_journal)));
    }
    let venue = venue.with_observer(ReadAndForget::new(sink)).map_err(failed)?;
    parent.say(&ready)?;
    Ok((venue, keeper))
}
