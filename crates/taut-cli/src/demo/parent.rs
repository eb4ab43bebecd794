//! The parent's part: start, watch, drain, report.

use std::os::fd::AsFd;

use taut_gateway::{GatewayCounters, Regions, StrategyCounters, Views};
use taut_ipc::Segment;
use taut_ring::cell::CellWriter;
use taut_sys::{
    Anchoring, Doorbell, MAPPING_WORDS, StopSignal, catch_stop_signals, monotonic, process_id,
    stop_requests, stop_signal, utc,
};
use taut_types::Nanos;

use crate::demo::arguments::{Mode, WaitArgument};
use crate::demo::children::Children;
use crate::demo::control::{
    Common, GatewaySetup, Order, Reply, StrategySetup, VenuePorts, VenueSetup,
};
use crate::demo::feed::Feed;
use crate::demo::live::Live;
use crate::demo::outcome::Outcome;
use crate::demo::placement::Place;
use crate::demo::plan::Plan;
use crate::demo::role::Role;
use crate::exit::Failure;
use crate::terminal::tell;

/// How long a child may take to become ready.
const READY: Nanos = Nanos::from_secs(20);
/// How long open orders may take to be answered, and the gateway to catch up.
const DRAIN: Nanos = Nanos::from_secs(10);
/// How often the parent looks, and anchors the clock.
const LOOK: Nanos = Nanos::from_millis(100);
/// A stop signal this long after the first means "now".
const IMPATIENCE: Nanos = Nanos::from_secs(1);

/// What the processes share.
struct Shared {
    segment: Segment,
    feed: Feed,
    gateway_bell: Doorbell,
    strategy_bell: Doorbell,
    stream_id: u32,
}

impl Shared {
    fn open(plan: &Plan) -> Result<Self, Failure> {
        let segment = Segment::create("taut-demo", &Regions::LAYOUT)
            .map_err(|error| Failure::Run(error.to_string()))?;
        let doorbell = || Doorbell::new().map_err(|error| Failure::run("doorbell", error));
        Ok(Self {
            segment,
            feed: Feed::open(plan.arguments.feed)?,
            gateway_bell: doorbell()?,
            strategy_bell: doorbell()?,
            // Tells this run's packets from another's; not a secret, so that a clock will do.
            stream_id: (utc().0 / 1_000) as u32 ^ process_id().rotate_left(16),
        })
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Time,
    FlowEnded,
    Signal,
    /// A child got a stop signal.
    Asked(Role),
}

/// Runs a plan to its report.
pub fn run(plan: &Plan) -> Result<(), Failure> {
    catch_stop_signals().map_err(|error| Failure::run("signals", error))?;
    let shared = Shared::open(plan)?;
    let regions = Regions::of(&shared.segment).map_err(|error| Failure::Run(error.to_string()))?;
    let mut run = Run::start(plan, &shared, regions)?;
    let started_utc = utc();
    let started = monotonic();
    let mut live = Live::new(started);
    let end = run.watch(started, &mut live)?;
    let elapsed = monotonic().since(started);
    let (published, venue) = run.drain()?;
    let intervals = live.finish(monotonic(), &run.views);
    let mut notes = run.notes;
    match end {
        End::Time | End::FlowEnded => {}
        End::Signal => notes.push(format!("ended early by {}", stop_signal_name())),
        End::Asked(role) => notes.push(format!("ended early: the {} got a signal", role.name())),
    }
    run.children.end();
    let clock = (run.anchoring.mapping().to_words()[0] != 0, run.anchoring.error_ns_max());
    let outcome = Outcome {
        plan: plan.clone(),
        elapsed,
        started_utc,
        published,
        venue,
        gateway: GatewayCounters::load(regions.gateway),
        strategy: StrategyCounters::load(regions.strategy),
        views: run.views,
        intervals,
        feed: shared.feed.description.clone(),
        clock,
        notes,
    };
    outcome.publish()
}

fn stop_signal_name() -> &'static str {
    match stop_signal() {
        Some(StopSignal::Terminate) => "SIGTERM",
        Some(StopSignal::HangUp) => "SIGHUP",
        Some(StopSignal::Interrupt) | None => "SIGINT",
    }
}

/// A run under way.
struct Run<'a, 'm> {
    plan: &'a Plan,
    regions: Regions<'m>,
    views: Views<'m>,
    children: Children,
    anchoring: Anchoring,
    clock: CellWriter<'m, MAPPING_WORDS>,
    said: Vec<(Role, Reply)>,
    first_stop: Option<Nanos>,
    stops_heard: u32,
    notes: Vec<String>,
}

impl<'a, 'm> Run<'a, 'm> {
    /// Starts the processes and lets the flow run once all are ready.
    fn start(plan: &'a Plan, shared: &'m Shared, regions: Regions<'m>) -> Result<Self, Failure> {
        let region = |error: &dyn std::fmt::Display| Failure::Run(format!("regions: {error}"));
        let mut run = Self {
            plan,
            regions,
            views: Views::new(&regions).map_err(|error| region(&error))?,
            children: Children::default(),
            anchoring: Anchoring::start(),
            clock: CellWriter::new(regions.clock).map_err(|error| region(&error))?,
            said: Vec::new(),
            first_stop: None,
            stops_heard: 0,
            notes: Vec::new(),
        };
        run.clock.set(&run.anchoring.mapping().to_words());
        let ports = run.start_venue(shared)?;
        if !plan.is_fused() {
            run.start_strategy(shared)?;
        }
        run.start_gateway(shared, ports)?;
        run.announce(shared);
        run.children.send(Role::Venue, &Order::Start, &[])?;
        Ok(run)
    }

    fn start_venue(&mut self, shared: &Shared) -> Result<VenuePorts, Failure> {
        let arguments = &self.plan.arguments;
        let setup = VenueSetup {
            common: self.common(shared, self.plan.placement.venue),
            port: arguments.port,
            incremental: shared.feed.incremental_address,
            snapshot: shared.feed.snapshot_address,
            flow: self.plan.flow.clone(),
            loss_per_mille: arguments.lose.unwrap_or((0, 0)),
            loss_seed: arguments.seed,
            refuses_requests: arguments.refuse_retransmission,
        };
        self.children.spawn(Role::Venue)?;
        self.children.send(Role::Venue, &Order::SetUpVenue(setup), &[])?;
        self.expect("the venue to listen", READY, |_, reply| match reply {
            Reply::VenueReady(ports) => Some(*ports),
            _ => None,
        })
    }

    fn start_strategy(&mut self, shared: &Shared) -> Result<(), Failure> {
        let places = &self.plan.placement;
        let setup = StrategySetup {
            common: self.common(shared, places.strategy),
            rate_hz: self.plan.arguments.rate,
            wake_gateway: places.gateway.wait == WaitArgument::Block,
        };
        let fds =
            [shared.segment.as_fd(), shared.gateway_bell.as_fd(), shared.strategy_bell.as_fd()];
        self.children.spawn(Role::Strategy)?;
        self.children.send(Role::Strategy, &Order::SetUpStrategy(setup), &fds)?;
        self.expect_ready(Role::Strategy, "the strategy to read its rings")
    }

    fn start_gateway(&mut self, shared: &Shared, ports: VenuePorts) -> Result<(), Failure> {
        let places = &self.plan.placement;
        let setup = GatewaySetup {
            common: self.common(shared, places.gateway),
            mode: self.plan.arguments.mode,
            orders: ports.orders,
            sink: ports.sink,
            requests: ports.requests,
            rate_hz: self.plan.arguments.rate,
            wake_strategy: places.strategy.wait == WaitArgument::Block,
        };
        let fds = [
            shared.segment.as_fd(),
            shared.feed.incremental[0].as_fd(),
            shared.feed.incremental[1].as_fd(),
            shared.feed.snapshot.as_fd(),
            shared.gateway_bell.as_fd(),
            shared.strategy_bell.as_fd(),
        ];
        self.children.spawn(Role::Gateway)?;
        self.children.send(Role::Gateway, &Order::SetUpGateway(setup), &fds)?;
        self.expect_ready(Role::Gateway, "the gateway to log on and to have a book")
    }

    fn common(&self, shared: &Shared, place: Place) -> Common {
        Common {
            parent: process_id(),
            place,
            symbol: self.plan.instrument.symbol().as_str().to_owned(),
            tick: self.plan.instrument.tick().0,
            stream_id: shared.stream_id,
        }
    }

    /// Says what was chosen.
    fn announce(&self, shared: &Shared) {
        let fused = self.plan.is_fused();
        let (mode, places) = (self.plan.arguments.mode.name(), &self.plan.placement);
        tell(format_args!("{mode} mode, {}", self.plan.source));
        tell(format_args!("market data: {}", shared.feed.description));
        let one = |role: Role, place: &Place| {
            let process = self.children.process_id(role).unwrap_or(0);
            let wait = format!("{:?}", place.wait).to_lowercase();
            let batch = if place.batch { ", SCHED_BATCH" } else { "" };
            let name =
                if fused && role == Role::Gateway { "gateway+strategy" } else { role.name() };
            format!("{name} (process {process}) on CPU {}, {wait}{batch}", place.cpu)
        };
        let mut all = vec![one(Role::Venue, &places.venue), one(Role::Gateway, &places.gateway)];
        if !fused {
            all.push(one(Role::Strategy, &places.strategy));
        }
        tell(all.join("; "));
    }

    /// Watches until the time is over, the flow ends or a stop signal comes.
    fn watch(&mut self, started: Nanos, live: &mut Live) -> Result<End, Failure> {
        let deadline = self.plan.duration.map(|duration| started + duration);
        loop {
            let now = monotonic();
            let left = deadline.map_or(LOOK, |deadline| deadline.since(now).min(LOOK));
            self.listen(left)?;
            let counters = GatewayCounters::load(self.regions.gateway);
            live.look(monotonic(), &self.views, &counters);
            if self.said.iter().any(|(_, reply)| *reply == Reply::FlowEnded) {
                return Ok(End::FlowEnded);
            }
            if stop_requests() > 0 {
                return Ok(End::Signal);
            }
            let asked = self.said.iter().find(|(_, reply)| *reply == Reply::AskedToStop);
            if let Some((role, _)) = asked {
                return Ok(End::Asked(*role));
            }
            if deadline.is_some_and(|deadline| monotonic() >= deadline) {
                return Ok(End::Time);
            }
        }
    }

    /// Lets every open order be answered and every packet arrive. Returns what the venue published
    /// and counted.
    fn drain(&mut self) -> Result<(u64, Vec<(String, u64)>), Failure> {
        let trader =
            if self.plan.arguments.mode == Mode::Fused { Role::Gateway } else { Role::Strategy };
        self.children.send(trader, &Order::Drain, &[])?;
        let drained = |_: Role, reply: &Reply| (*reply == Reply::Drained).then_some(());
        if self.expect_within(DRAIN, drained)?.is_none() {
            self.notes.push("open orders were not all answered in time".to_owned());
        }
        self.children.send(Role::Venue, &Order::Stop, &[])?;
        let (published, counters) =
            self.expect("the venue to come to rest", DRAIN, |_, reply| match reply {
                Reply::Stopped { published, counters } => Some((*published, counters.clone())),
                _ => None,
            })?;
        self.children.send(Role::Gateway, &Order::Finish { published }, &[])?;
        self.expect("the gateway to finish", DRAIN, |_, reply| {
            (*reply == Reply::Finished).then_some(())
        })?;
        Ok((published, counters))
    }

    fn expect_ready(&mut self, role: Role, what: &str) -> Result<(), Failure> {
        self.expect(what, READY, |who, reply| (who == role && *reply == Reply::Ready).then_some(()))
    }

    fn expect<T>(
        &mut self,
        what: &str,
        patience: Nanos,
        wanted: impl Fn(Role, &Reply) -> Option<T>,
    ) -> Result<T, Failure> {
        let seconds = patience.0 / 1_000_000_000;
        self.expect_within(patience, wanted)?
            .ok_or_else(|| Failure::Run(format!("waited {seconds} s for {what} in vain")))
    }

    /// Waits for a reply; nothing when it does not come in time.
    fn expect_within<T>(
        &mut self,
        patience: Nanos,
        wanted: impl Fn(Role, &Reply) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        let deadline = monotonic() + patience;
        loop {
            let found = self
                .said
                .iter()
                .enumerate()
                .find_map(|(at, (role, reply))| wanted(*role, reply).map(|value| (at, value)));
            if let Some((at, value)) = found {
                self.said.remove(at);
                return Ok(Some(value));
            }
            let left = deadline.since(monotonic());
            if left == Nanos::ZERO {
                return Ok(None);
            }
            self.listen(left.min(LOOK))?;
        }
    }

    /// Takes what the children say, anchors the clock, and gives in to an impatient user.
    fn listen(&mut self, span: Nanos) -> Result<(), Failure> {
        let said = self.children.listen(span)?;
        self.said.extend(said);
        self.clock.set(&self.anchoring.renew().to_words());
        // Two signals at once are one wish: `timeout` sends to a process and to its group.
        let stops = stop_requests();
        if stops > self.stops_heard {
            self.stops_heard = stops;
            let now = monotonic();
            let first = *self.first_stop.get_or_insert(now);
            if now.since(first) > IMPATIENCE {
                return Err(Failure::Run("interrupted again; ended without a report".to_owned()));
            }
        }
        Ok(())
    }
}
