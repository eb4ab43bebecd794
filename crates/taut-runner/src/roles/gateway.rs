//! The gateway's process; in fused mode the strategy's too.

use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use taut_fix::CompId;
use taut_gateway::{
    Client, FeedInput, FeedSockets, FeedStreams, Fix44, FusedClient, Gateway, GatewayConfig,
    GatewayError, Hub, OrderHandler, Owner, Regions, SnapshotLimits, Strategy, StrategyRegions,
    StreamAddress,
};
use taut_io::EpollKernel;
use taut_market_data::FeedHandler;
use taut_market_data::binance::{BinanceConfig, BinanceFeed};
use taut_market_data::native::{NativeConfig, NativeFeed};
use taut_sys::{Clock, Doorbell, Socket, Wait, Waiter, monotonic, wait_readable};
use taut_types::{Instrument, Nanos, SequenceNumber};

use crate::child::{Parent, SharedClock, attach, regions};
use crate::control::{GatewaySetup, Order, Published, Reply};
use crate::error::RunnerError;
use crate::feed::asking_socket;
use crate::looker::Looker;
use crate::outcome::Holdings;
use crate::roles::bare_send::BareSend;
use crate::service::{Connect, Connections, MarketData, connect};
use crate::settings::{Market, Mode, VenueKind};
use crate::web::RunGateway;

/// How long the feed may take to catch up at the end, before what is missing counts as lost.
const CATCH_UP: Nanos = Nanos::from_secs(5);
/// Rounds with work after which housekeeping is looked at all the same.
const BUSY_ROUNDS: u32 = 256;

/// Sockets of the gateway: its feed's, its orders'.
const SOURCES: usize = 16;
/// Lines of positions in one reply, which takes some 16 KiB.
const POSITIONS_IN_A_REPLY: usize = 50;

/// Runs the gateway until the parent says that it is over.
pub fn play<S: Strategy>(
    setup: &GatewaySetup,
    fds: Vec<OwnedFd>,
    parent: &mut Parent,
    make: impl FnOnce(Nanos) -> Result<S, RunnerError>,
) -> Result<(), RunnerError> {
    let mut fds = fds.into_iter();
    let segment = attach(fds.next())?;
    let regions = regions(&segment)?;
    let (shared_clock, clock) = SharedClock::new(&regions)?;
    let strategy_segment = attach(fds.next())?;
    let own_bell = fds.next().map(Doorbell::from);
    let strategy_bell = fds.next().map(Doorbell::from);
    let feed = fds.collect();
    let process = Process { setup, regions, shared_clock, own_bell, parent };
    match setup.common.settings.mode {
        Mode::Fused | Mode::Simulated => {
            let strategy = make(clock.now())?;
            process.run(clock, feed, FusedClient::new(strategy))
        }
        Mode::Split => {
            let wake = strategy_bell.filter(|_| setup.wake_strategy);
            let rings = |error| RunnerError::run("rings", error);
            let mut hub = Hub::new(&process.regions).map_err(rings)?;
            let own = StrategyRegions::of(&strategy_segment)
                .map_err(|error| RunnerError::run("shared memory", error))?;
            let slot = hub.add_slot(&own, wake).map_err(rings)?;
            hub.attach(slot, Owner::default());
            process.run_split(clock, feed, hub)
        }
    }
}

fn feed_sockets(
    setup: &GatewaySetup,
    mut fds: impl Iterator<Item = OwnedFd>,
) -> Result<FeedSockets, RunnerError> {
    let missing = || RunnerError::Run("market data: no sockets came".to_owned());
    let adopt = |fd| Socket::adopt(fd).map_err(|error| RunnerError::run("market data", error));
    let asking = setup.requests.map(asking_socket).transpose();
    Ok(FeedSockets {
        incremental: adopt(fds.next().ok_or_else(missing)?)?.into(),
        snapshot: adopt(fds.next().ok_or_else(missing)?)?.into(),
        incremental_b: fds.next().map(adopt).transpose()?.map(Into::into),
        retransmission: asking
            .map_err(|error| RunnerError::run("requests", error))?
            .map(Into::into),
    })
}

/// A client that can be brought to rest.
trait RestingClient: Client {
    /// No new orders from now on.
    fn stop(&mut self);
    /// Whether its strategy lives here and has no open order.
    fn is_idle(&self) -> bool;
}

impl<S: Strategy> RestingClient for FusedClient<S> {
    fn stop(&mut self) {
        Self::stop(self);
    }
    fn is_idle(&self) -> bool {
        self.is_at_rest()
    }
}

impl RestingClient for Hub<'_> {
    fn stop(&mut self) {}
    fn is_idle(&self) -> bool {
        false
    }
}

struct Process<'a, 'm> {
    setup: &'a GatewaySetup,
    regions: Regions<'m>,
    shared_clock: SharedClock<'m>,
    own_bell: Option<Doorbell>,
    parent: &'a mut Parent,
}

/// What the parent has asked for so far.
#[derive(Debug, Default)]
struct Wishes {
    ready_said: bool,
    draining: bool,
    /// Log out when this packet has arrived, or by this time.
    finish: Option<(Option<Published>, Nanos)>,
    logging_out: bool,
    finished_said: bool,
}

/// A gateway whose bare send may be measured.
type RunningGateway<'m, C, F, H> = Gateway<'m, C, F, EpollKernel, Looker<'m>, H>;

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

impl Process<'_, '_> {
    /// No type of the caller's is in it: it is compiled with this crate, once.
    fn run_split(self, clock: Clock, feed: Vec<OwnedFd>, hub: Hub<'_>) -> Result<(), RunnerError> {
        self.run(clock, feed, hub)
    }

    /// At the venue that the settings name: one that others know is connected to as by a gateway
    /// that runs by itself.
    fn run(
        self,
        clock: Clock,
        feed: Vec<OwnedFd>,
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
            return self.run_with(own(config, market_data)?, clock, client);
        }
        let sockets = feed_sockets(setup, feed.into_iter())?;
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
        mut self,
        connections: Connections<F, H>,
        clock: Clock,
        client: impl RestingClient,
    ) -> Result<(), RunnerError> {
        let orders = self.setup.orders;
        let failed = |error: GatewayError| failed(error, orders);
        let regions = self.regions;
        let bare_send = self.setup.sink.map(|sink| BareSend::new(sink, &regions)).transpose();
        let looker = Looker { bare_send: bare_send.map_err(failed)?, ..Looker::default() };
        let Connections { config, market_data, orders: handler, .. } = connections;
        let handlers = (market_data.handler, handler);
        let kernel =
            EpollKernel::new(SOURCES).map_err(|error| RunnerError::run("the kernel", error))?;
        let input = market_data.input;
        let mut gateway =
            Gateway::with_handlers(kernel, &config, clock, input, handlers, client, &regions)
                .and_then(|gateway| gateway.with_observer(looker))
                .map_err(failed)?;
        let mut waiter = Waiter::new(self.setup.common.place.wait);
        let mut wishes = Wishes::default();
        let mut busy_rounds = 0;
        loop {
            if gateway.poll().map_err(failed)? {
                waiter.worked();
                busy_rounds += 1;
                if busy_rounds < BUSY_ROUNDS {
                    continue;
                }
            } else {
                waiter.idle(|span| self.sleep(&mut gateway, span));
            }
            busy_rounds = 0;
            if gateway.housekeeping().map_err(failed)? {
                self.shared_clock.refresh(gateway.clock_mut());
                if self.attend(&mut gateway, &mut wishes)? {
                    return Ok(());
                }
            }
        }
    }

    /// Listens to the parent and moves towards what it wants; whether it is all over.
    fn attend<C: RestingClient, F: FeedHandler, H: OrderHandler>(
        &mut self,
        gateway: &mut RunningGateway<'_, C, F, H>,
        wishes: &mut Wishes,
    ) -> Result<bool, RunnerError> {
        match self.parent.order()? {
            Some(Order::Drain) => {
                gateway.client_mut().stop();
                wishes.draining = true;
            }
            Some(Order::Finish { published }) => {
                wishes.finish = Some((published, monotonic() + CATCH_UP));
            }
            Some(Order::Exit) => return Ok(true),
            _ => {}
        }
        if !wishes.ready_said && gateway.is_ready() {
            wishes.ready_said = true;
            self.parent.say(&Reply::Ready)?;
        }
        if wishes.draining && gateway.client_mut().is_idle() {
            wishes.draining = false;
            self.parent.say(&Reply::Drained)?;
        }
        let has_caught_up = |published: Published| {
            let counters = gateway.counters();
            gateway.has_caught_up_with(SequenceNumber(published.last))
                && counters.ticks + counters.recovered >= published.count
        };
        if let Some((published, deadline)) = wishes.finish
            && !wishes.logging_out
            && (published.is_none_or(has_caught_up) || monotonic() >= deadline)
        {
            wishes.logging_out = true;
            gateway.logout().map_err(|error| RunnerError::Run(error.to_string()))?;
        }
        if gateway.is_logged_out() && !wishes.finished_said {
            wishes.finished_said = true;
            gateway.counters().store(self.regions.gateway);
            let Holdings { positions, profit } = Holdings::of(gateway);
            for some in positions.chunks(POSITIONS_IN_A_REPLY) {
                self.parent.say(&Reply::Positions(some.to_vec()))?;
            }
            self.parent.say(&Reply::Finished { profit })?;
        }
        Ok(false)
    }

    /// Sleeps until a packet, a report, a request or the parent wakes us.
    fn sleep<C: Client, F: FeedHandler, H: OrderHandler>(
        &self,
        gateway: &mut RunningGateway<'_, C, F, H>,
        span: Nanos,
    ) {
        let sources = gateway.fd();
        let bell: BorrowedFd<'_> = self.own_bell.as_ref().map_or(sources, AsFd::as_fd);
        let fds = [sources, bell, self.parent.fd()];
        // Timers run once a millisecond while orders are open; a heartbeat can wait that long too.
        let _ = wait_readable(&fds, Some(span));
        if let Some(bell) = &self.own_bell {
            bell.silence();
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
) -> Result<(FeedInput, BinanceFeed), RunnerError> {
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
    Ok((FeedInput::Streams(streams), feed))
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
        session: taut_gateway::SessionSettings::default(),
        order_capacity: settings.gateway.orders,
        risk: settings.risk.limits().into(),
        hot: setup.common.place.wait != Wait::Block,
        keeps_warm: settings.gateway.keep_warm,
    })
}
