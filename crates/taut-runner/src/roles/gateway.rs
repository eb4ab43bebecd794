//! The gateway's process; in fused mode the strategy's too.

mod live;
mod replaying;
mod running;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;

use taut_fix::CompId;
use taut_gateway::{
    FeedInput, FeedSocket, FeedSockets, FeedStreams, Fix44, FusedClient, Gateway, GatewayConfig,
    GatewayError, Hub, OrderHandler, Owner, Regions, SessionSettings, SnapshotLimits, Strategy,
    StrategyRegions, StrategyRunner, StreamAddress,
};
use taut_io::{EpollKernel, TapedKernel};
use taut_ipc::{Region, Segment};
use taut_journal::{OnFailure, Settings};
use taut_market_data::binance::{BinanceConfig, BinanceFeed};
use taut_market_data::native::{NativeConfig, NativeFeed};
use taut_market_data::{AnyFeed, FeedHandler};
use taut_sys::{
    Address, Clock, DatagramOptions, Doorbell, MAPPING_WORDS, Socket, TickMapping, Wait, Waiter,
};
use taut_types::{Instrument, Nanos};

use crate::build::Build;
use crate::child::{Parent, SharedClock, attach, regions};
use crate::control::GatewaySetup;
use crate::error::RunnerError;
use crate::feed::asking_socket;
use crate::looker::Looker;
use crate::recording::{Head, RecordedRun, Recorder, What, WhenFull};
use crate::replaying::Replaying;
use crate::roles::bare_send::BareSend;
use crate::service::{Connect, Connections, MarketData, connect};
use crate::settings::{Market, Mode, Settings as RunSettings, VenueKind};
use crate::web::RunGateway;

use live::Live;
use running::RestingClient;

/// Sockets of the gateway: its feed's, its orders'.
const SOURCES: usize = 16;
/// Runs the gateway until the parent says that it is over.
pub fn play<S: Strategy>(
    setup: &GatewaySetup,
    fds: Vec<OwnedFd>,
    parent: &mut Parent,
    make: impl FnOnce() -> Result<S, RunnerError>,
) -> Result<(), RunnerError> {
    let mut fds = fds.into_iter();
    let segment = attach(fds.next())?;
    let regions = regions(&segment)?;
    let (shared_clock, clock) = SharedClock::new(&regions)?;
    let strategy_segment = attach(fds.next())?;
    let own_bell = fds.next().map(Doorbell::from);
    let strategy_bell = fds.next().map(Doorbell::from);
    let feed: Vec<_> = fds.collect();
    let recorder = setup.common.settings.record.as_ref().map(|folder| {
        let run = RecordedRun { setup: setup.clone(), feed_sockets: feed.len() };
        let (build, clock) = (Build::this(), clock.mapping().to_words());
        let head = Head { build, clock, what: What::Run(Box::new(run)) };
        // Its orders need no room while nothing is recorded.
        let settings = Settings { on_failure: OnFailure::GoOn, ..Settings::of_recording() };
        Recorder::create_with_orders(folder, &head, (settings, WhenFull::End))
    });
    let (recorder, journal) = recorder.transpose()?.unzip();
    let clock = if recorder.is_some() { clock.taped() } else { clock };
    let live = Live { regions, shared_clock, own_bell, parent, recorder, journal };
    live.begin_building();
    let process = Process { setup, regions, driver: Driver::Live(live), elsewhere: None };
    process.start(clock, Sockets::HandedOver(feed), (&strategy_segment, strategy_bell), make)
}

/// Builds the same gateway on a kernel that is none, and has it do what it did.
pub fn replay<S: Strategy>(
    (run, clock): (&RecordedRun, [u64; MAPPING_WORDS]),
    replaying: Replaying<'_>,
    make: impl FnOnce() -> Result<S, RunnerError>,
) -> Result<(), RunnerError> {
    let create = |name, layout: &[Region]| {
        Segment::create(name, layout).map_err(|error| RunnerError::run("shared memory", error))
    };
    let segment = create("taut-replay", &Regions::LAYOUT)?;
    let strategy_segment = create("taut-replay", &StrategyRegions::LAYOUT)?;
    let regions = regions(&segment)?;
    let clock = Clock::new(TickMapping::from_words(clock)).taped();
    let setup = &run.setup;
    let process = Process { setup, regions, driver: Driver::Replaying(replaying), elsewhere: None };
    process.start(clock, Sockets::Recorded(run.feed_sockets), (&strategy_segment, None), make)
}

/// Where the sockets of a feed of datagrams come from.
enum Sockets {
    /// From the parent: line A, the snapshots and, where there is one, line B.
    HandedOver(Vec<OwnedFd>),
    /// There were so many of them.
    Recorded(usize),
}

impl Sockets {
    fn open(self, setup: &GatewaySetup) -> Result<FeedSockets, RunnerError> {
        let missing = || RunnerError::Run("market data: no sockets came".to_owned());
        let adopt = |fd| Socket::adopt(fd).map_err(|error| RunnerError::run("market data", error));
        let none = || {
            let nowhere = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
            FeedSocket::At(Address::Inet(nowhere), DatagramOptions::default())
        };
        let (asking, sockets): (_, Vec<FeedSocket>) = match self {
            Self::HandedOver(fds) => {
                let asking = setup.requests.map(asking_socket).transpose();
                let asking = asking.map_err(|error| RunnerError::run("requests", error))?;
                let sockets = fds.into_iter().map(|fd| adopt(fd).map(Into::into));
                (asking.map(Into::into), sockets.collect::<Result<_, _>>()?)
            }
            Self::Recorded(count) => {
                (setup.requests.map(|_| none()), (0..count.min(3)).map(|_| none()).collect())
            }
        };
        let mut sockets = sockets.into_iter();
        Ok(FeedSockets {
            incremental: sockets.next().ok_or_else(missing)?,
            snapshot: sockets.next().ok_or_else(missing)?,
            incremental_b: sockets.next(),
            retransmission: asking,
        })
    }
}

struct Process<'a, 'm> {
    setup: &'a GatewaySetup,
    regions: Regions<'m>,
    driver: Driver<'a, 'm>,
    /// What strategies do that are run beside a replay, after each of its entries.
    elsewhere: Option<&'a mut dyn FnMut()>,
}

/// A venue of this host whose place another one takes is back within milliseconds.
const BACK_SOON: (Nanos, Nanos) = (Nanos::from_millis(1), Nanos::from_millis(50));

fn session(settings: &RunSettings) -> Result<SessionSettings, RunnerError> {
    let default = SessionSettings::default();
    Ok(match settings.market()? {
        Market::Simulator(simulator) if simulator.standby => {
            SessionSettings { reconnect: BACK_SOON, ..default }
        }
        _ => default,
    })
}

/// Who runs the gateway.
#[expect(clippy::large_enum_variant, reason = "there is one in a process")]
enum Driver<'a, 'm> {
    Live(Live<'a, 'm>),
    Replaying(Replaying<'a>),
}

/// A process that knows whose strategy it serves, and not yet what it is connected to.
struct Connecting<'a, 'm, C> {
    process: Process<'a, 'm>,
    clock: Clock,
    client: C,
}

impl<C: RestingClient> Connect for Connecting<'_, '_, C> {
    type Output = ();

    fn connect<F: FeedHandler + Send, H: OrderHandler + Send>(
        self,
        connections: Connections<F, H>,
    ) -> Result<(), RunnerError> {
        self.process.run_with(connections, self.clock, self.client)
    }
}

impl<'m> Process<'_, 'm> {
    /// Makes the client, where strategies live in their place.
    fn start<S: Strategy>(
        self,
        clock: Clock,
        feed: Sockets,
        (strategy_segment, strategy_bell): (&'m Segment, Option<Doorbell>),
        make: impl FnOnce() -> Result<S, RunnerError>,
    ) -> Result<(), RunnerError> {
        match self.setup.common.settings.mode {
            Mode::Fused | Mode::Simulated => self.run(clock, feed, FusedClient::new(make()?)),
            Mode::Split => {
                let wake = strategy_bell.filter(|_| self.setup.wake_strategy);
                let rings = |error| RunnerError::run("rings", error);
                let mut hub = Hub::new(&self.regions).map_err(rings)?;
                let own = StrategyRegions::of(strategy_segment)
                    .map_err(|error| RunnerError::run("shared memory", error))?;
                let slot = hub.add_slot(&own, wake).map_err(rings)?;
                hub.attach(slot, Owner::default());
                if matches!(self.driver, Driver::Live(_)) {
                    return self.run_split(clock, feed, hub);
                }
                hub.begin_comparing_requests();
                let runner = StrategyRunner::new(&self.regions, &own, None, make()?);
                let mut runner = runner.map_err(rings)?;
                // Its stamps are nobody's.
                let standing = Clock::standing_at(Nanos(self.setup.common.began), Nanos::ZERO);
                let mut elsewhere = || while runner.poll(&standing) {};
                let Self { setup, regions, driver, .. } = self;
                let process = Process { setup, regions, driver, elsewhere: Some(&mut elsewhere) };
                process.run_split(clock, feed, hub)
            }
        }
    }

    /// No type of the caller's is in it: it is compiled with this crate, once.
    fn run_split(self, clock: Clock, feed: Sockets, hub: Hub<'_>) -> Result<(), RunnerError> {
        self.run(clock, feed, hub)
    }

    /// At the venue that the settings name: one that others know is connected to as by a gateway
    /// that runs by itself.
    fn run(
        self,
        clock: Clock,
        feed: Sockets,
        client: impl RestingClient,
    ) -> Result<(), RunnerError> {
        let setup = self.setup;
        let settings = &setup.common.settings;
        if let Market::Simulator(simulator) = settings.market()?
            && simulator.kind != VenueKind::Taut
        {
            let missing = || RunnerError::Run("the venue did not say where it listens".to_owned());
            let web = setup.web.as_ref().ok_or_else(missing)?;
            let wait = setup.common.place.wait;
            let run = RunGateway::new(settings, &simulator, (web, setup.orders), wait)?;
            return connect(&run.file, Connecting { process: self, clock, client });
        }
        let config = config(setup)?;
        if let Some(stream) = setup.stream {
            let asked = settings.simulator.as_ref().and_then(|it| it.snapshot_levels);
            let levels = (settings.gateway.levels, asked);
            let market_data = stream_feed(stream, config.instruments[0], levels, clock.now())?;
            return self.run_with(own(config, market_data)?.of_any(), clock, client);
        }
        let sockets = feed.open(setup)?;
        let feed = NativeConfig {
            instruments: &config.instruments,
            stream_id: setup.stream_id,
            level_capacity: settings.gateway.levels,
            has_retransmission: sockets.retransmission.is_some(),
        };
        let mut feed = NativeFeed::new(&feed, clock.now())
            .map_err(|error| RunnerError::Run(error.to_string()))?;
        if settings.gateway.market_by_order {
            feed.tell_orders(settings.gateway.book_orders);
        }
        let market_data = (FeedInput::Datagrams(sockets), feed);
        self.run_with(own(config, market_data)?, clock, client)
    }

    fn run_with<F: FeedHandler, H: OrderHandler>(
        self,
        connections: Connections<F, H>,
        clock: Clock,
        client: impl RestingClient,
    ) -> Result<(), RunnerError> {
        let orders = self.setup.orders;
        let failed = |error: GatewayError| failed(error, orders);
        let regions = self.regions;
        let bare_send = self.setup.sink.map(|sink| BareSend::new(sink, &regions)).transpose();
        let market = match &self.driver {
            Driver::Live(_) => None,
            Driver::Replaying(replaying) => replaying.market.clone(),
        };
        let bare_send = bare_send.map_err(failed)?;
        let looker = Looker { bare_send, market, ..Looker::default() };
        let Connections { config, market_data, orders: handler, .. } = connections;
        if let Some(Ok(mut market)) = looker.market.as_ref().map(|market| market.lock()) {
            market.set_instruments(&config.instruments);
        }
        let handlers = (market_data.handler, handler);
        let kernel = match &self.driver {
            Driver::Live(_) => {
                let kernel = EpollKernel::new(SOURCES);
                TapedKernel::live(kernel.map_err(|error| RunnerError::run("the kernel", error))?)
            }
            Driver::Replaying(replaying) => replaying.kernel(),
        };
        let input = market_data.input;
        let mut gateway =
            Gateway::with_handlers(kernel, &config, clock, input, handlers, client, &regions)
                .and_then(|gateway| gateway.with_observer(looker))
                .map_err(failed)?;
        match self.driver {
            Driver::Live(live) => {
                live.run(&mut gateway, failed, Waiter::new(self.setup.common.place.wait))
            }
            Driver::Replaying(them) => replaying::run(them, &mut gateway, self.elsewhere),
        }
    }
}

/// taut's own order entry beside these market data.
fn own<F>(
    config: GatewayConfig,
    (input, handler): (FeedInput, F),
) -> Result<Connections<F, Fix44>, RunnerError> {
    let orders = Fix44::new(&config).map_err(|error| RunnerError::Run(error.to_string()))?;
    let market_data = MarketData { input, handler, backup: None };
    Ok(Connections { config, market_data, orders, tap: None })
}

/// The stream of a recorded venue, and its handler.
fn stream_feed(
    at: SocketAddrV4,
    instrument: Instrument,
    (level_capacity, asked): (usize, Option<u32>),
    now: Nanos,
) -> Result<(FeedInput, AnyFeed), RunnerError> {
    let of = |path: &str| StreamAddress::new(SocketAddr::V4(at), format!("ws://{at}{path}"));
    let symbol = instrument.symbol();
    let streams = FeedStreams {
        stream: of(&format!("/stream?streams={}@depth", symbol.as_str().to_lowercase())),
        snapshot: of("/ws-api/v3"),
        figures: None,
        snapshot_requests: vec![format!(
            "{{\"id\":1,\"method\":\"depth\",\
             \"params\":{{\"symbol\":\"{symbol}\",\"limit\":{}}}}}",
            asked.unwrap_or(5_000)
        )],
        books: Vec::new(),
        snapshot_limits: SnapshotLimits::of_levels(asked.unwrap_or(5_000)),
        symbols: None,
        silence: Nanos::from_secs(10),
        renewed_after: FeedStreams::RENEWED_AFTER,
        tls: None,
    };
    let config = BinanceConfig {
        level_capacity,
        snapshot_limit: asked.map(|levels| levels as usize),
        ..BinanceConfig::new(instrument)
    };
    let feed = BinanceFeed::new(&config, now)
        .map_err(|error| RunnerError::Run(format!("the instrument: {error}")))?;
    Ok((FeedInput::Streams(streams), feed.into()))
}

/// What ended the gateway, with the address where it is the address that may be wrong.
fn failed(error: GatewayError, orders: SocketAddrV4) -> RunnerError {
    match error {
        GatewayError::Unreachable(_) => RunnerError::Run(format!(
            "order entry at {orders}: {error}; does it run, and does [venue] orders name it?"
        )),
        other => RunnerError::Run(other.to_string()),
    }
}

fn config(setup: &GatewaySetup) -> Result<GatewayConfig, RunnerError> {
    let comp_id = |text: &str| {
        let id = CompId::new(text.as_bytes());
        id.ok_or_else(|| RunnerError::Run(format!("'{text}' is no CompID")))
    };
    let settings = &setup.common.settings;
    Ok(GatewayConfig {
        instruments: settings.instruments()?,
        order_address: setup.orders,
        sender_comp_id: comp_id(&setup.sender_comp_id)?,
        target_comp_id: comp_id(&setup.target_comp_id)?,
        heartbeat_interval: Nanos::from_secs(setup.heartbeat_seconds.into()),
        session: session(settings)?,
        order_capacity: settings.gateway.orders,
        risk: settings.risk.limits().into(),
        hot: setup.common.place.wait != Wait::Block,
        keeps_warm: settings.gateway.keep_warm,
    })
}
