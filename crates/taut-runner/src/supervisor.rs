//! The parent's part: start, watch, drain, end.

mod fail_over;
mod journal_folder;

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc;
use std::thread;

use taut_doctor::outliers::{OutlierTrace, Outliers, WatchedThread};
use taut_gateway::{GatewayCounters, Regions, StrategyCounters, StrategyRegions, Views};
use taut_ipc::{Region, Segment};
use taut_lat::{PathSnapshot, Snapshot};
use taut_ring::cell::CellWriter;
use taut_sys::{
    Anchoring, Doorbell, MAPPING_WORDS, StopSignal, Wait, available_cpus, catch_stop_signals,
    cpu_times, monotonic, process_id, process_nice, stop_requests, stop_signal, utc,
};
use taut_types::{Instrument, Nanos};
use tempfile::TempDir;
use toml::Table;

use crate::children::Children;
use crate::control::{
    Common, GatewaySetup, Order, Published, Reply, StrategySetup, VenuePorts, VenueSetup,
};
use crate::error::RunnerError;
use crate::feed::{Feed, FeedAddresses};
use crate::observer::{Live, Observer, Started};
use crate::outcome::{End, FailOver, Holdings, Outcome, Process, VenueOutcome};
use crate::outliers::OutlierWatch;
use crate::placement::{Place, Placement, may_come_first, measure};
use crate::role::Role;
use crate::run_control::{RunControl, Watched};
use crate::settings::{Market, Mode, RemoteVenue, Settings, VenueKind};
use crate::{simulator, web};

/// How long a child may take to become ready.
const READY: Nanos = Nanos::from_secs(20);
/// How long open orders may take to be answered, and the gateway to catch up.
const DRAIN: Nanos = Nanos::from_secs(10);
/// How long the gateway may take to hear of orders that ended with its session.
const LAST_PACKETS: Nanos = Nanos::from_secs(1);
/// How often the parent looks, and anchors the clock.
const LOOK: Nanos = Nanos::from_millis(100);
/// A stop signal this long after the first means "now".
const STOP_NOW: Nanos = Nanos::from_secs(1);

/// What the processes share.
struct Shared {
    segment: Segment,
    strategy_segment: Segment,
    /// The gateway's sockets, where its feed is one of datagrams.
    feed: Option<Feed>,
    /// How market data and orders travel, for people.
    market_data: String,
    orders: String,
    /// Where the venue's journal is, if it has one: gone with the run.
    journal: Option<TempDir>,
    gateway_bell: Doorbell,
    strategy_bell: Doorbell,
}

/// The other side of the market.
enum Other {
    /// The feed's stream, and where the simulator must send, if it sends datagrams.
    Simulator(u32, Option<FeedAddresses>),
    Remote(RemoteVenue),
}

fn open(market: Market) -> Result<(Shared, Other), RunnerError> {
    let create = |name, layout: &[Region]| {
        Segment::create(name, layout).map_err(|error| RunnerError::run("shared memory", error))
    };
    let segment = create("taut-run", &Regions::LAYOUT)?;
    let strategy_segment = create("taut-strategy", &StrategyRegions::LAYOUT)?;
    let doorbell = || Doorbell::new().map_err(|error| RunnerError::run("doorbell", error));
    let (market_data, orders);
    let mut journal = None;
    let (feed, other) = match market {
        Market::Simulator(simulator) => {
            // Tells this run's packets from another's; not a secret, so that a clock will do.
            let stream_id = (utc().0 / 1_000) as u32 ^ process_id().rotate_left(16);
            if simulator.standby {
                journal = Some(journal_folder::make()?);
            }
            let opened = match simulator.kind {
                VenueKind::Taut => Some(Feed::open(simulator.feed)?),
                VenueKind::Deribit | VenueKind::Binance => None,
            };
            let (feed, addresses) = opened.unzip();
            orders = match &feed {
                None => web::orders(&simulator),
                Some(_) => "FIX 4.4 over TCP on loopback".to_owned(),
            };
            market_data = match &feed {
                None => web::market_data(&simulator),
                Some(feed) if simulator.replays_a_stream() => format!(
                    "the recorded frames over WebSocket on loopback (beside them, unread: {})",
                    feed.description
                ),
                Some(feed) => feed.description.clone(),
            };
            (feed, Other::Simulator(stream_id, addresses))
        }
        Market::Remote(venue) => {
            let feed = Feed::join(&venue)?;
            market_data = feed.description.clone();
            orders = format!("FIX 4.4 over TCP to {}", venue.orders);
            (Some(feed), Other::Remote(venue))
        }
    };
    let (gateway_bell, strategy_bell) = (doorbell()?, doorbell()?);
    let shared = Shared {
        segment,
        strategy_segment,
        feed,
        market_data,
        orders,
        journal,
        gateway_bell,
        strategy_bell,
    };
    Ok((shared, other))
}

/// Runs to the outcome.
pub fn run(settings: &Settings, observer: &mut dyn Observer) -> Result<Outcome, RunnerError> {
    let cpus = available_cpus().map_err(|error| RunnerError::run("CPUs", error))?;
    let measured = measure(settings, &cpus);
    let placement = Placement::choose(settings, &cpus, may_come_first(), &measured)?;
    let reason = placement.reason.clone();
    let parameters = toml::to_string(&settings.parameters)
        .map_err(|error| RunnerError::Settings(format!("[parameters]: {error}")))?;
    catch_stop_signals().map_err(|error| RunnerError::run("signals", error))?;
    let market = settings.market()?;
    let venue = match &market {
        Market::Simulator(simulator) => simulator.kind.name(),
        Market::Remote(_) => VenueKind::Taut.name(),
    };
    let (shared, other) = open(market)?;
    let region = |error: &dyn std::fmt::Display| RunnerError::run("shared memory", error);
    let regions = Regions::of(&shared.segment).map_err(|error| region(&error))?;
    let strategy = StrategyRegions::of(&shared.strategy_segment).map_err(|error| region(&error))?;
    let mut run = Run {
        settings,
        control: RunControl::open(),
        segment: &shared.segment,
        instruments: settings.instruments()?,
        venue,
        orders: &shared.orders,
        began: monotonic(),
        placement,
        parameters,
        regions,
        strategy,
        views: Views::new(&regions).map_err(|error| region(&error))?,
        children: Children::default(),
        processes: Vec::new(),
        anchoring: Anchoring::start(),
        clock: CellWriter::new(regions.clock).map_err(|error| region(&error))?,
        said: Vec::new(),
        has_standby: false,
        fail_over: None,
        first_stop: None,
        stops_heard: 0,
    };
    run.start(&shared, &other)?;
    run.processes.iter_mut().for_each(|process| process.nice = process_nice(process.id));
    let Run { processes, .. } = &run;
    let Shared { market_data, orders, .. } = &shared;
    observer.started(&Started { processes, feed: market_data, orders, placement: &reason });
    let (threads, outliers) = run.outlier_watch();
    let traded = thread::scope(|scope| {
        let (trades, over) = mpsc::channel();
        if let Some(watch) = &outliers {
            let (regions, threads) = (&regions, threads.as_slice());
            scope.spawn(move || watch.run(regions, threads, &over));
        }
        let traded = run.trade(&other, observer);
        drop::<mpsc::Sender<()>>(trades);
        traded
    })?;
    let Traded { started_utc, end, elapsed, drained, venue, holdings } = traded;
    run.children.end();
    let path = PathSnapshot::of(&run.views.path);
    let told = |watch: &OutlierWatch| Ok(watch.told(None, &path, &settings.instruments()?));
    let (outliers, outlier_trace): (Outliers, OutlierTrace) =
        outliers.as_ref().map(told).transpose()?.unwrap_or_default();
    Ok(Outcome {
        mode: settings.mode,
        end,
        started_utc,
        elapsed,
        feed: market_data.clone(),
        orders: orders.clone(),
        placement: reason,
        venue,
        gateway: GatewayCounters::load(regions.gateway),
        strategy: StrategyCounters::load(strategy.counters),
        holdings,
        path,
        round_trip: Snapshot::of(&run.views.round_trip),
        bare_send: Snapshot::of(&run.views.bare_send),
        clock_is_counter: run.anchoring.mapping().to_words()[0] != 0,
        clock_error_ns_max: run.anchoring.error_ns_max(),
        drained,
        outliers,
        outlier_trace,
        fail_over: run.fail_over,
        processes: run.processes,
    })
}

/// What a run came to.
struct Traded {
    started_utc: Nanos,
    end: End,
    elapsed: Nanos,
    drained: bool,
    venue: Option<VenueOutcome>,
    holdings: Holdings,
}

/// A run under way.
struct Run<'a, 'm> {
    settings: &'a Settings,
    /// Who looks at it.
    control: RunControl,
    segment: &'m Segment,
    instruments: Vec<Instrument>,
    venue: &'static str,
    orders: &'m str,
    began: Nanos,
    placement: Placement,
    parameters: String,
    regions: Regions<'m>,
    strategy: StrategyRegions<'m>,
    views: Views<'m>,
    children: Children,
    processes: Vec<Process>,
    anchoring: Anchoring,
    clock: CellWriter<'m, MAPPING_WORDS>,
    said: Vec<(Role, Reply)>,
    /// A standby follows the venue.
    has_standby: bool,
    /// The standby has taken the venue's place.
    fail_over: Option<FailOver>,
    first_stop: Option<Nanos>,
    stops_heard: u32,
}

impl Run<'_, '_> {
    /// The threads that orders pass through, the gateway's first, and who looks at them.
    fn outlier_watch(&self) -> (Vec<WatchedThread>, Option<OutlierWatch>) {
        let roles = [Role::Gateway, Role::Strategy, Role::Venue];
        let found =
            roles.iter().filter_map(|role| self.processes.iter().find(|it| it.role == *role));
        let thread = |process: &Process| WatchedThread {
            name: process.role.name().to_owned(),
            process: process.id,
            // Each does all that matters on its first thread.
            thread: process.id,
        };
        let threads: Vec<_> = found.map(thread).collect();
        let names = threads.iter().map(|thread| thread.name.clone()).collect();
        let own = threads.iter().map(|thread| thread.process).chain([process_id()]).collect();
        let is_fused = self.settings.mode == Mode::Fused;
        let watch = OutlierWatch::new(&self.settings.outliers, names, own, is_fused);
        (threads, watch)
    }

    /// Lets the flow run, to its end, and everything come to rest.
    fn trade(&mut self, other: &Other, observer: &mut dyn Observer) -> Result<Traded, RunnerError> {
        if matches!(other, Other::Simulator(..)) {
            self.children.send(Role::Venue, &Order::Start, &[])?;
        }
        let (started_utc, started) = (utc(), monotonic());
        let end = self.watch(started, observer)?;
        self.processes.iter_mut().for_each(|process| process.cpu_times = cpu_times(process.id));
        let elapsed = monotonic().since(started);
        let (drained, venue, holdings) = self.drain(other)?;
        observer.finished(&self.live(started));
        Ok(Traded { started_utc, end, elapsed, drained, venue, holdings })
    }

    /// Starts the processes and waits until all are ready.
    fn start(&mut self, shared: &Shared, other: &Other) -> Result<(), RunnerError> {
        self.clock.set(&self.anchoring.mapping().to_words());
        let ports = match other {
            Other::Simulator(stream_id, feed) => Some(self.start_venue(shared, *stream_id, *feed)?),
            Other::Remote(_) => None,
        };
        if self.settings.mode == Mode::Split {
            self.start_strategy(shared)?;
        }
        self.start_gateway(shared, other, ports)?;
        self.processes.sort_by_key(|process| process.role as u8);
        Ok(())
    }

    fn start_venue(
        &mut self,
        shared: &Shared,
        stream_id: u32,
        feed: Option<FeedAddresses>,
    ) -> Result<VenuePorts, RunnerError> {
        let place = self.placement.venue.unwrap_or(self.placement.gateway);
        let journal = shared.journal.as_ref().map(|folder| folder.path().to_owned());
        let common = self.common(place);
        let setup = VenueSetup { common, stream_id, feed, journal, stands_by: None };
        self.spawn(Role::Venue, place, &Order::SetUpVenue(Box::new(setup.clone())), &[])?;
        let ports = self.expect("the venue to listen", READY, |_, reply| match reply {
            Reply::VenueReady(ports) => Some(ports.clone()),
            _ => None,
        })?;
        if setup.journal.is_some() {
            let setup = VenueSetup { stands_by: Some(ports.clone()), ..setup };
            self.spawn(Role::Standby, place, &Order::SetUpVenue(Box::new(setup)), &[])?;
            self.expect_ready(Role::Standby, "the standby to be where the venue is")?;
            self.has_standby = true;
        }
        Ok(ports)
    }

    fn start_strategy(&mut self, shared: &Shared) -> Result<(), RunnerError> {
        let place = self.placement.strategy;
        let setup = StrategySetup {
            common: self.common(place),
            wake_gateway: self.placement.gateway.wait == Wait::Block,
            parameters: self.parameters.clone(),
        };
        let fds = [
            shared.segment.as_fd(),
            shared.strategy_segment.as_fd(),
            shared.gateway_bell.as_fd(),
            shared.strategy_bell.as_fd(),
        ];
        self.spawn(Role::Strategy, place, &Order::SetUpStrategy(Box::new(setup)), &fds)?;
        self.expect_ready(Role::Strategy, "the strategy to read its rings")
    }

    fn start_gateway(
        &mut self,
        shared: &Shared,
        other: &Other,
        ports: Option<VenuePorts>,
    ) -> Result<(), RunnerError> {
        let place = self.placement.gateway;
        let setup = self.gateway_setup(place, other, ports)?;
        let mut fds = vec![
            shared.segment.as_fd(),
            shared.strategy_segment.as_fd(),
            shared.gateway_bell.as_fd(),
            shared.strategy_bell.as_fd(),
        ];
        if let Some(feed) = &shared.feed {
            fds.extend([feed.incremental.as_fd(), feed.snapshot.as_fd()]);
            fds.extend(feed.incremental_b.as_ref().map(AsFd::as_fd));
        }
        self.spawn(Role::Gateway, place, &Order::SetUpGateway(Box::new(setup)), &fds)?;
        self.expect_ready(Role::Gateway, "the gateway to log on and to have a book")
    }

    fn gateway_setup(
        &self,
        place: Place,
        other: &Other,
        ports: Option<VenuePorts>,
    ) -> Result<GatewaySetup, RunnerError> {
        let missing = || RunnerError::Run("the venue did not say where it listens".to_owned());
        let common = self.common(place);
        let parameters = self.parameters.clone();
        let wake_strategy = self.placement.strategy.wait == Wait::Block;
        Ok(match other {
            Other::Simulator(stream_id, _) => {
                let ports = ports.ok_or_else(missing)?;
                GatewaySetup {
                    common,
                    orders: ports.orders,
                    // What it sends stands on no tape; where a venue is killed, nobody reads it.
                    sink: (self.settings.record.is_none() && !self.has_standby)
                        .then_some(ports.sink),
                    requests: ports.requests,
                    stream: ports.stream,
                    web: ports.web,
                    sender_comp_id: "GATEWAY".to_owned(),
                    target_comp_id: simulator::COMP_ID.to_owned(),
                    heartbeat_seconds: 5,
                    stream_id: Some(*stream_id),
                    wake_strategy,
                    parameters,
                }
            }
            Other::Remote(venue) => GatewaySetup {
                common,
                orders: venue.orders,
                sink: None,
                requests: venue.retransmission,
                stream: None,
                web: None,
                sender_comp_id: venue.sender_comp_id.clone(),
                target_comp_id: venue.target_comp_id.clone(),
                heartbeat_seconds: venue.heartbeat_seconds,
                stream_id: venue.stream_id,
                wake_strategy,
                parameters,
            },
        })
    }

    fn common(&self, place: Place) -> Common {
        // The parameters travel as text: JSON has no infinity and no date.
        let settings = Settings { parameters: Table::new(), ..self.settings.clone() };
        Common { parent: process_id(), began: self.began.0, place, settings }
    }

    fn spawn(
        &mut self,
        role: Role,
        place: Place,
        setup: &Order,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), RunnerError> {
        let id = self.children.spawn(role)?;
        self.processes.push(Process { role, id, place, cpu_times: None, nice: None });
        self.children.send(role, setup, fds)
    }

    fn live(&self, started: Nanos) -> Live<'_> {
        let now = monotonic();
        Live {
            now,
            elapsed: now.since(started),
            gateway: GatewayCounters::load(self.regions.gateway),
            strategy: StrategyCounters::load(self.strategy.counters),
            views: self.views,
        }
    }

    /// Watches until the time is over, the flow ends or a stop signal comes.
    fn watch(&mut self, started: Nanos, observer: &mut dyn Observer) -> Result<End, RunnerError> {
        let duration = self.settings.seconds.map(|seconds| Nanos((seconds * 1e9) as i64));
        let deadline = duration.map(|duration| started + duration);
        let kill_at = duration.map(|duration| started + Nanos(duration.0 / 2));
        loop {
            if kill_at.is_some_and(|at| monotonic() >= at) && self.has_standby {
                self.fail_over()?;
            }
            let now = monotonic();
            let kill_at = kill_at.filter(|_| self.has_standby);
            let next = [deadline, kill_at].into_iter().flatten().map(|at| at.since(now));
            let left = next.fold(LOOK, Nanos::min);
            self.listen(left)?;
            observer.live(&self.live(started));
            if self.said.iter().any(|(_, reply)| *reply == Reply::FlowEnded) {
                return Ok(End::FlowEnded);
            }
            if stop_requests() > 0 {
                return Ok(End::Signal(stop_signal().unwrap_or(StopSignal::Interrupt)));
            }
            let asked = self.said.iter().find(|(_, reply)| *reply == Reply::AskedToStop);
            if let Some((role, _)) = asked {
                return Ok(End::ChildSignal(*role));
            }
            if deadline.is_some_and(|deadline| monotonic() >= deadline) {
                return Ok(End::Time);
            }
        }
    }

    /// Lets every open order be answered and every packet arrive. Returns whether all orders were,
    /// what the simulator counted, and what the gateway holds.
    fn drain(
        &mut self,
        other: &Other,
    ) -> Result<(bool, Option<VenueOutcome>, Holdings), RunnerError> {
        if self.settings.mode == Mode::Split {
            self.children.send(Role::Strategy, &Order::Drain, &[])?;
        }
        self.children.send(Role::Gateway, &Order::Drain, &[])?;
        let drained = |_: Role, reply: &Reply| (*reply == Reply::Drained).then_some(());
        let drained = self.expect_within(DRAIN, drained)?.is_some();
        let venue = match other {
            Other::Simulator(..) => Some(self.stop_venue()?),
            Other::Remote(_) => None,
        };
        let published = |it: &VenueOutcome| Published { count: it.published, last: it.last };
        let published = venue.as_ref().map(published);
        self.children.send(Role::Gateway, &Order::Finish { published }, &[])?;
        let profit = self.expect("the gateway to finish", DRAIN, |_, reply| match reply {
            Reply::Finished { profit } => Some(profit.clone()),
            _ => None,
        })?;
        let positions = self.said.iter().flat_map(|(_, reply)| match reply {
            Reply::Positions(some) => some.as_slice(),
            _ => &[],
        });
        let holdings = Holdings { positions: positions.cloned().collect(), profit };
        let venue = match venue {
            // What was open then has ended with the session, which the venue has published since.
            Some(_) if !drained => Some(self.published_at_last()?),
            venue => venue,
        };
        Ok((drained, venue, holdings))
    }

    /// What the simulator has counted when no session is left, and the gateway has had the time to
    /// hear of it.
    fn published_at_last(&mut self) -> Result<VenueOutcome, RunnerError> {
        let venue = self.stop_venue()?;
        let deadline = monotonic() + LAST_PACKETS;
        loop {
            let GatewayCounters { ticks, recovered, .. } =
                GatewayCounters::load(self.regions.gateway);
            if ticks + recovered >= venue.published || monotonic() >= deadline {
                return Ok(venue);
            }
            self.listen(LOOK)?;
        }
    }

    fn stop_venue(&mut self) -> Result<VenueOutcome, RunnerError> {
        self.children.send(Role::Venue, &Order::Stop, &[])?;
        self.expect("the venue to come to rest", DRAIN, |_, reply| match reply {
            Reply::Stopped { published, counters } => Some(VenueOutcome {
                published: published.count,
                last: published.last,
                counters: counters.clone(),
            }),
            _ => None,
        })
    }

    fn expect_ready(&mut self, role: Role, what: &str) -> Result<(), RunnerError> {
        self.expect(what, READY, |who, reply| (who == role && *reply == Reply::Ready).then_some(()))
    }

    fn expect<T>(
        &mut self,
        what: &str,
        within: Nanos,
        wanted: impl Fn(Role, &Reply) -> Option<T>,
    ) -> Result<T, RunnerError> {
        let seconds = within.0 / 1_000_000_000;
        self.expect_within(within, wanted)?
            .ok_or_else(|| RunnerError::Run(format!("waited {seconds} s for {what} in vain")))
    }

    /// Waits for a reply; nothing when it does not come in time.
    fn expect_within<T>(
        &mut self,
        within: Nanos,
        wanted: impl Fn(Role, &Reply) -> Option<T>,
    ) -> Result<Option<T>, RunnerError> {
        let deadline = monotonic() + within;
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

    /// Takes what the children say, anchors the clock, and ends at once when a second stop signal
    /// comes.
    fn listen(&mut self, span: Nanos) -> Result<(), RunnerError> {
        let others: Vec<_> = self.control.fds().collect();
        let said = self.children.listen(span, &others)?;
        self.said.extend(said);
        self.control.serve(&Watched {
            segment: self.segment,
            regions: &self.regions,
            strategy: StrategyCounters::load(self.strategy.counters),
            is_fused: self.settings.mode == Mode::Fused,
            instruments: &self.instruments,
            venue: self.venue,
            orders: self.orders,
            up_seconds: monotonic().since(self.began).0.unsigned_abs() / 1_000_000_000,
        });
        self.clock.set(&self.anchoring.renew().to_words());
        // Two signals at once are one wish: `timeout` sends to a process and to its group.
        let stops = stop_requests();
        if stops > self.stops_heard {
            self.stops_heard = stops;
            let now = monotonic();
            let first = *self.first_stop.get_or_insert(now);
            if now.since(first) > STOP_NOW {
                return Err(RunnerError::Run(
                    "interrupted again; ended without a report".to_owned(),
                ));
            }
        }
        Ok(())
    }
}
