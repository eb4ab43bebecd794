//! Gateway, strategy and venue simulator in one thread, on a simulated network and virtual time.

use taut_doctor::outliers::{OutlierTrace, Outliers};
use taut_fix::{CompId, Now};
use taut_gateway::{
    FeedInput, FusedClient, Gateway, GatewayConfig, Regions, Strategy, StrategyCounters, Views,
};
use taut_io::{SimConfig, SimHost, SimNetwork};
use taut_ipc::Segment;
use taut_lat::{PathSnapshot, Snapshot};
use taut_market_data::native::{NativeConfig, NativeFeed};
use taut_sys::{Clock, StopSignal, catch_stop_signals, stop_requests, stop_signal, utc};
use taut_types::{Nanos, SequenceNumber};
use taut_venue::Venue;

use crate::error::RunnerError;
use crate::observer::{Live, Observer, Started};
use crate::outcome::{End, Holdings, Outcome, VenueOutcome};
use crate::settings::{Market, Settings, Simulator};
use crate::simulator;
use crate::wires;

/// Virtual time of a look: what the loops' turns are apart.
const LOOK_NS: i64 = 2_000;
/// What travels takes up to this long, in ns.
const DELAY_NS_MAX: u64 = 20_000;
/// Sources of a gateway.
const GATEWAY_SOURCES: usize = 8;
/// Names the feed: nobody else is on this network.
const STREAM_ID: u32 = 1;
/// UTC when virtual time begins: 2026-01-01.
const EPOCH: Nanos = Nanos::from_secs(1_767_225_600);
/// How often an observer looks, and how long it may take to log on, to drain and to catch up.
const LOOK: Nanos = Nanos::from_millis(100);
const READY: Nanos = Nanos::from_secs(20);
const DRAIN: Nanos = Nanos::from_secs(10);

/// Runs to the outcome.
pub fn run<S: Strategy>(
    settings: &Settings,
    make: impl FnOnce(Nanos) -> S,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunnerError> {
    let Market::Simulator(simulator) = settings.market()? else {
        return Err(RunnerError::Settings("mode = simulated: [venue] runs elsewhere".to_owned()));
    };
    catch_stop_signals().map_err(|error| RunnerError::run("signals", error))?;
    let failed = |error: &dyn std::fmt::Display| RunnerError::run("shared memory", error);
    let segment = Segment::create("taut-run", &Regions::LAYOUT).map_err(|error| failed(&error))?;
    let regions = Regions::of(&segment).map_err(|error| failed(&error))?;
    let mut world = World::open(settings, &simulator, make, regions)?;
    let feed = "on a simulated network and virtual time";
    let orders = "FIX 4.4, there too";
    let started_utc = utc();
    world.until("the gateway to log on and to have a book", READY, |world| {
        world.gateway.is_ready()
    })?;
    observer.started(&Started { processes: &[], feed, orders, placement: "" });
    let started = world.now();
    world.venue.start_flow(started);
    let end = world.trade(settings, started, observer)?;
    let elapsed = world.now().since(started);
    let (drained, published) = world.finish()?;
    observer.finished(&world.live(started));
    let counters = world.venue.counters();
    Ok(Outcome {
        mode: settings.mode,
        end,
        started_utc,
        elapsed,
        processes: Vec::new(),
        feed: feed.to_owned(),
        orders: orders.to_owned(),
        placement: String::new(),
        venue: Some(VenueOutcome {
            published,
            last: published,
            counters: simulator::named(&counters),
        }),
        gateway: world.gateway.counters(),
        strategy: StrategyCounters::default(),
        holdings: Holdings::of(&world.gateway),
        path: PathSnapshot::of(&world.views.path),
        round_trip: Snapshot::of(&world.views.round_trip),
        bare_send: Snapshot::of(&world.views.bare_send),
        clock_is_counter: false,
        clock_error_ns_max: 0,
        drained,
        // On virtual time no thread is held up.
        outliers: Outliers::default(),
        outlier_trace: OutlierTrace::default(),
        fail_over: None,
    })
}

/// Everybody, and the network's time.
struct World<'m, S> {
    venue: Venue<SimHost>,
    gateway: Gateway<'m, FusedClient<S>, NativeFeed, SimHost>,
    views: Views<'m>,
    network: SimNetwork,
}

impl<'m, S: Strategy> World<'m, S> {
    fn open(
        settings: &Settings,
        simulator: &Simulator,
        make: impl FnOnce(Nanos) -> S,
        regions: Regions<'m>,
    ) -> Result<Self, RunnerError> {
        let behaviour = SimConfig {
            seed: simulator.seed,
            delay_ns_max: DELAY_NS_MAX,
            is_partial: false,
            window_bytes: 1 << 20,
            look_ns: LOOK_NS,
            ..SimConfig::default()
        };
        let [venue_host, gateway_host] =
            SimHost::pair([Venue::<SimHost>::SOURCES_MAX, GATEWAY_SOURCES], behaviour);
        let network = gateway_host.network();
        let venue = open_venue(settings, simulator, venue_host)?;
        let now = network.now();
        let clock = Clock::standing_at(now, EPOCH + now);
        let gateway = open_gateway(settings, gateway_host, clock, make(now), &regions)?;
        let views = Views::new(&regions).map_err(|error| RunnerError::run("regions", error))?;
        Ok(Self { venue, gateway, views, network })
    }

    fn now(&self) -> Nanos {
        self.network.now()
    }

    /// One turn of every loop.
    fn turn(&mut self) -> Result<(), RunnerError> {
        let mono = self.now();
        let venue = self.venue.poll(Now { mono, utc: EPOCH + mono });
        venue.map_err(|error| RunnerError::Run(format!("the venue: {error}")))?;
        let now = self.now();
        *self.gateway.clock_mut() = Clock::standing_at(now, EPOCH + now);
        let gateway = self.gateway.poll().and_then(|_| self.gateway.housekeeping());
        gateway.map(drop).map_err(|error| RunnerError::Run(format!("the gateway: {error}")))
    }

    /// Turns until it holds; whether it does.
    fn holds_within(
        &mut self,
        span: Nanos,
        holds: impl Fn(&Self) -> bool,
    ) -> Result<bool, RunnerError> {
        let deadline = self.now() + span;
        while self.now() < deadline {
            if holds(self) {
                return Ok(true);
            }
            self.turn()?;
        }
        Ok(holds(self))
    }

    fn until(
        &mut self,
        what: &str,
        span: Nanos,
        holds: impl Fn(&Self) -> bool,
    ) -> Result<(), RunnerError> {
        let seconds = span.0 / 1_000_000_000;
        let failed = || RunnerError::Run(format!("waited {seconds} virtual s for {what} in vain"));
        self.holds_within(span, holds)?.then_some(()).ok_or_else(failed)
    }

    /// Turns until the time is over, the flow ends or a stop signal comes.
    fn trade(
        &mut self,
        settings: &Settings,
        started: Nanos,
        observer: &mut dyn Observer,
    ) -> Result<End, RunnerError> {
        let span = settings.seconds.map(|seconds| Nanos((seconds * 1e9) as i64));
        let mut next_look = started + LOOK;
        loop {
            self.turn()?;
            let now = self.now();
            if now >= next_look {
                next_look = now + LOOK;
                observer.live(&self.live(started));
                if stop_requests() > 0 {
                    return Ok(End::Signal(stop_signal().unwrap_or(StopSignal::Interrupt)));
                }
            }
            if self.venue.flow_finished() {
                return Ok(End::FlowEnded);
            }
            if span.is_some_and(|span| now >= started + span) {
                return Ok(End::Time);
            }
        }
    }

    /// Lets orders be answered and packets arrive, and logs out. Returns whether all orders were,
    /// and what the venue published.
    fn finish(&mut self) -> Result<(bool, u64), RunnerError> {
        self.gateway.client_mut().stop();
        let drained = self.holds_within(DRAIN, |world| world.gateway.client().is_at_rest())?;
        self.venue.stop_flow();
        let published = self.venue.counters().published;
        let last = SequenceNumber(published);
        self.holds_within(DRAIN, |world| world.gateway.has_caught_up_with(last))?;
        let failed = |error| RunnerError::Run(format!("the gateway: {error}"));
        self.gateway.logout().map_err(failed)?;
        self.until("the gateway to log out", DRAIN, |world| world.gateway.is_logged_out())?;
        Ok((drained, published))
    }

    fn live(&self, started: Nanos) -> Live<'_> {
        let now = self.now();
        Live {
            now,
            elapsed: now.since(started),
            gateway: self.gateway.counters(),
            strategy: StrategyCounters::default(),
            views: self.views,
        }
    }
}

fn open_venue(
    settings: &Settings,
    simulator: &Simulator,
    host: SimHost,
) -> Result<Venue<SimHost>, RunnerError> {
    let config = simulator::config(settings, simulator, STREAM_ID)?;
    let flow = simulator::flow(settings, simulator, config.instruments[0])?;
    Venue::on_kernel(host, &config, wires::venue_sockets(), flow)
        .map_err(|error| RunnerError::Run(format!("the venue: {error}")))
}

fn open_gateway<'m, S: Strategy>(
    settings: &Settings,
    host: SimHost,
    clock: Clock,
    strategy: S,
    regions: &Regions<'m>,
) -> Result<Gateway<'m, FusedClient<S>, NativeFeed, SimHost>, RunnerError> {
    let comp_id = |text: &str| {
        CompId::new(text.as_bytes()).ok_or_else(|| RunnerError::Run("CompID".to_owned()))
    };
    let config = GatewayConfig {
        instruments: settings.instruments()?,
        order_address: wires::ORDERS,
        sender_comp_id: comp_id("GATEWAY")?,
        target_comp_id: comp_id(simulator::COMP_ID)?,
        heartbeat_interval: Nanos::from_secs(5),
        session: taut_gateway::SessionSettings::default(),
        order_capacity: settings.gateway.orders,
        risk: settings.risk.limits().into(),
        hot: false,
        keeps_warm: settings.gateway.keep_warm,
    };
    let input = FeedInput::Datagrams(wires::feed_sockets());
    let feed = NativeConfig {
        instruments: &config.instruments,
        stream_id: Some(STREAM_ID),
        level_capacity: settings.gateway.levels,
        has_retransmission: true,
    };
    let mut feed =
        NativeFeed::new(&feed, clock.now()).map_err(|error| RunnerError::Run(error.to_string()))?;
    if settings.gateway.market_by_order {
        feed.tell_orders(settings.gateway.book_orders);
    }
    let client = FusedClient::new(strategy);
    Gateway::on_kernel(host, &config, clock, input, feed, client, regions)
        .map_err(|error| RunnerError::Run(format!("the gateway: {error}")))
}
