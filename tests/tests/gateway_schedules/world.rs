//! A venue, a gateway and its strategies on one simulated network, in turns of one thread. Half of
//! the gateways have an order journal, and a file of their session's numbers.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use taut_fix::{CompId, Now};
use taut_gateway::{
    Accounts, FeedInput, Gateway, GatewayConfig, Hub, NewInstrument, Owner, Regions, RiskConfig,
    RiskRules, SessionSettings, SlotId, StrategyRegions, StrategyRunner,
};
use taut_io::{SimConfig, SimHost, SimNetwork};
use taut_ipc::Segment;
use taut_journal::{Durability, Housekeeper, Journal, OnFailure, Settings};
use taut_market_data::native::{NativeConfig, NativeFeed};
use taut_oms::{Rate, RiskSizes, UniformLimits};
use taut_runner::wires;
use taut_sys::Clock;
use taut_testkit::{Draw, Random};
use taut_types::{
    FeeRates, HalfTicks, Instrument, InstrumentId, Lots, Nanos, Price, Qty, StrategyId, Symbol,
    UserId,
};
use taut_venue::flow::{Crowd, SyntheticConfig};
use taut_venue::{Flow, PostOnly, Venue, VenueConfig};
use tempfile::TempDir;

use crate::gateway_ledger::Witness;
use crate::log::Log;
use crate::trader::{Orders, Shown, Trader};
use crate::venue_ledger::Scribe;

const VENUE: usize = 0;
const GATEWAY: usize = 1;
const GATEWAY_SOURCES: usize = 8;
/// UTC when virtual time begins: 2026-01-01.
const EPOCH: Nanos = Nanos::from_secs(1_767_225_600);
/// The numbers of orders of one gateway process: far more than there are.
const ORDERS_MAX: u64 = 1_000_000;
const TIMER: Nanos = Nanos::from_millis(1);
/// The smallest segments, with room for the names of all executions of a schedule.
const JOURNAL: Settings = Settings {
    segment_bytes: 64 << 10,
    segments_kept: 2,
    durability: Durability::None,
    on_failure: OnFailure::StopOrders,
    executions_max: 4_096,
    marks: false,
};
/// The file of the session's numbers, beside the journal's.
const NUMBERS: &str = "numbers";

/// The segments of every gateway process of a schedule: they outlive it.
pub struct Memory(Vec<(Segment, Vec<Segment>)>);

impl Memory {
    pub fn new(processes: usize, strategies: usize) -> Self {
        let own = || Segment::create("schedule", &StrategyRegions::LAYOUT).expect("a segment");
        let market = || Segment::create("schedule", &Regions::LAYOUT).expect("a segment");
        let process = |_| (market(), (0..strategies).map(|_| own()).collect());
        Self((0..processes).map(process).collect())
    }
}

/// What a schedule's parts are like.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// The venue's; the last `later` of them the gateway takes while it runs.
    pub instruments: usize,
    pub later: usize,
    pub strategies: usize,
    /// Gateway processes, one after the other.
    pub processes: usize,
    pub network: SimConfig,
    /// The gateway remembers its orders when it is started again.
    pub has_journal: bool,
    pub cancel_on_disconnect: bool,
    pub reset_on_logon: bool,
    pub post_only: PostOnly,
    /// Strategies are told of single orders.
    pub market_by_order: bool,
    pub flow_hz: u32,
    pub requests_per_mille: u64,
}

impl Parts {
    /// One with a journal is otherwise the one that it would be without.
    pub fn draw(random: &mut Random, may_have_journal: bool) -> Self {
        let mut aside = random.clone();
        let has_journal = aside.bool() && may_have_journal;
        let network = SimConfig {
            seed: random.u64(..),
            delay_ns_max: random.pick(&[1_000, 20_000, 300_000, 3_000_000]),
            is_partial: random.bool(),
            window_bytes: 200 + random.below(20_000) as usize,
            lost_per_mille: random.pick(&[0, 0, 10, 200]),
            duplicated_per_mille: random.pick(&[0, 0, 10, 100]),
            aborted_per_mille: random.pick(&[0, 0, 200]),
            full_per_mille: 0,
            look_ns: 100,
        };
        let cancel_on_disconnect = random.per_mille(300);
        let instruments = 1 + random.below(3) as usize;
        let later = Random::with_seed(network.seed).below(instruments as u64) as usize;
        Self {
            instruments,
            // As before where a seed is to be what it was.
            later: if may_have_journal { later } else { 0 },
            strategies: 2 + random.below(2) as usize,
            // What a gateway does not remember the venue must cancel.
            processes: match (cancel_on_disconnect, has_journal) {
                (true, _) => 1 + random.below(3) as usize,
                (false, true) => 2 + aside.below(4) as usize,
                (false, false) => 1,
            },
            has_journal,
            network,
            cancel_on_disconnect,
            reset_on_logon: random.per_mille(150),
            post_only: random.pick(&[PostOnly::Reject, PostOnly::Slide]),
            market_by_order: Random::with_seed(!network.seed).bool(),
            flow_hz: random.pick(&[200, 2_000, 5_000]),
            requests_per_mille: random.pick(&[50, 300, 1_000]),
        }
    }

    /// The same network without losses and delays to speak of.
    pub fn calm(&self) -> SimConfig {
        SimConfig {
            delay_ns_max: 10_000,
            window_bytes: 1 << 16,
            lost_per_mille: 0,
            duplicated_per_mille: 0,
            aborted_per_mille: 0,
            ..self.network
        }
    }
}

/// A strategy's place, and who is there.
pub struct Place<'m> {
    pub slot: SlotId,
    pub owner: Owner,
    pub runner: Option<StrategyRunner<'m, Trader>>,
    timer: Nanos,
}

impl Place<'_> {
    /// What the strategy has shown since it was asked last.
    pub fn shown(&self) -> Option<&Shown> {
        let trader = self.runner.as_ref()?.strategy();
        trader.shown.as_ref().filter(|shown| shown.round == trader.round())
    }
}

type SimVenue = Venue<SimHost, Scribe>;
type SimGateway<'m> = Gateway<'m, Witness<'m>, NativeFeed, SimHost>;

/// Everybody.
pub struct World<'m> {
    memory: &'m Memory,
    pub parts: Parts,
    pub random: Random,
    pub network: SimNetwork,
    /// The venue's.
    listed: Vec<Instrument>,
    /// Those that the gateway has taken so far.
    pub instruments: Vec<Instrument>,
    /// When it takes the next one.
    additions: Random,
    pub venue: SimVenue,
    pub scribe: Scribe,
    pub gateway: SimGateway<'m>,
    pub places: Vec<Place<'m>>,
    /// Of the journal, which is in a folder of its own for each process.
    housekeeper: Option<Housekeeper>,
    folder: TempDir,
    pub orders: Rc<Orders>,
    pub log: Log,
    /// Which gateway process it is.
    pub process: usize,
    /// Which venue it is that remembers what it has done.
    pub venue_life: u32,
    /// Nobody runs before then: by host.
    pub asleep_until: [Nanos; 2],
    /// How far its UTC is off: by host.
    pub utc_off: [Nanos; 2],
    /// New orders and changes that were sent when everything was killed.
    pub sent_at_kill: Option<[u64; 2]>,
    /// New orders that former gateway processes sent.
    pub sent_before: u64,
    /// Rounds in which strategies showed what they know.
    pub rounds: u64,
}

impl<'m> World<'m> {
    pub fn open(memory: &'m Memory, parts: Parts, random: Random, log: Log) -> Self {
        let sources = [Venue::<SimHost>::SOURCES_MAX, GATEWAY_SOURCES];
        let [venue_host, gateway_host] = SimHost::pair(sources, parts.network);
        let network = gateway_host.network();
        // Time 0 means that there is none.
        network.pass(Nanos::from_secs(1));
        let listed: Vec<_> = (0..parts.instruments).map(instrument).collect();
        let instruments = listed[..parts.instruments - parts.later].to_vec();
        let scribe = Scribe::new(&listed, log.clone());
        let venue = open_venue(&parts, venue_host, &listed, &scribe, 1);
        let orders = Rc::new(Orders::default());
        orders.requests_per_mille.set(parts.requests_per_mille);
        let clock = clock_at(network.now(), Nanos::ZERO);
        let folder = tempfile::tempdir().expect("a folder");
        let journal = parts.has_journal.then(|| journal_of(&folder, 0));
        let (gateway, places, housekeeper) =
            open_gateway((memory, 0, journal), &parts, gateway_host, clock, &instruments, &log);
        let mut world = Self {
            memory,
            parts,
            random,
            network,
            listed,
            instruments,
            additions: Random::with_seed(!parts.network.seed),
            venue,
            scribe,
            gateway,
            places,
            housekeeper,
            folder,
            orders,
            log,
            process: 0,
            venue_life: 1,
            asleep_until: [Nanos::ZERO; 2],
            utc_off: [Nanos::ZERO; 2],
            sent_at_kill: None,
            sent_before: 0,
            rounds: 0,
        };
        (0..world.places.len()).for_each(|at| world.come_or_go(at));
        world.venue.start_flow(world.network.now());
        world
    }

    pub fn now(&self) -> Nanos {
        self.network.now()
    }

    /// Time passes, and everybody who is awake has a turn.
    pub fn turn(&mut self, span: Nanos) {
        self.network.pass(span);
        let mono = self.now();
        if mono >= self.asleep_until[VENUE] {
            let utc = EPOCH + mono + self.utc_off[VENUE];
            self.venue.poll(Now { mono, utc }).expect("the venue goes on");
        }
        if mono >= self.asleep_until[GATEWAY] {
            for _ in 0..64 {
                *self.gateway.clock_mut() = self.gateway_clock();
                let worked = self.gateway.poll_one().expect("the gateway goes on");
                self.check();
                if !worked {
                    break;
                }
            }
            self.gateway.housekeeping().expect("the gateway goes on");
            self.check();
            if let Some(housekeeper) = &mut self.housekeeper {
                housekeeper.turn().expect("the journal goes on");
            }
        }
        let clock = self.gateway_clock();
        for place in &mut self.places {
            let Some(runner) = &mut place.runner else { continue };
            for _ in 0..256 {
                if !runner.poll(&clock) {
                    break;
                }
            }
            if clock.now() >= place.timer {
                place.timer = clock.now() + TIMER;
                runner.timer(&clock);
            }
        }
    }

    /// The gateway takes another instrument now and then, while it runs; whether it did.
    pub fn add_instrument(&mut self) -> bool {
        let next = self.listed.get(self.instruments.len()).copied();
        let is_awake = self.now() >= self.asleep_until[GATEWAY];
        let Some(instrument) = next.filter(|_| self.additions.per_mille(20) && is_awake) else {
            return false;
        };
        self.log.note(|| format!("{} is added", instrument.symbol()));
        let new = NewInstrument {
            instrument,
            venue_number: instrument.id(),
            name: String::new(),
            group: 0,
            fees: FeeRates::FREE,
            settlement: None,
        };
        self.gateway.add_instrument(&new).expect("there is room");
        self.instruments.push(instrument);
        self.gateway.client_mut().has_happened = true;
        self.check();
        true
    }

    fn gateway_clock(&self) -> Clock {
        clock_at(self.now(), self.utc_off[GATEWAY])
    }

    /// The strategy in a place leaves, or one comes.
    pub fn come_or_go(&mut self, at: usize) {
        let Self { places, gateway, memory, orders, random, log, process, .. } = self;
        let place = &mut places[at];
        let hub = &mut gateway.client_mut().hub;
        if place.runner.take().is_some() {
            log.note(|| format!("strategy {at} leaves"));
            hub.detach(place.slot);
        } else if hub.attach(place.slot, place.owner) {
            log.note(|| format!("strategy {at} comes"));
            let (market, own) = &memory.0[*process];
            let market = Regions::of(market).expect("regions");
            let own = StrategyRegions::of(&own[at]).expect("regions");
            let trader = Trader::new(Random::with_seed(random.u64(..)), Rc::clone(orders));
            let runner = StrategyRunner::new(&market, &own, None, trader);
            place.runner = Some(runner.expect("a runner"));
        }
    }

    /// The venue's process ends, and another one begins that knows nothing of it.
    pub fn restart_venue(&mut self) {
        self.venue_life += 1;
        self.log.note(|| "the venue is started again and remembers nothing".to_owned());
        let host = self.network.restart(VENUE);
        self.scribe.forget();
        let Self { parts, listed, scribe, venue_life, .. } = &*self;
        self.venue = open_venue(parts, host, listed, scribe, *venue_life);
        self.venue.start_flow(self.network.now());
    }

    /// The gateway's process is killed, and another one begins, if there is memory for one: with
    /// what the journal has at that moment, if there is one.
    pub fn restart_gateway(&mut self) {
        if self.process + 1 >= self.parts.processes {
            return;
        }
        (self.process, self.sent_at_kill) = (self.process + 1, None);
        self.sent_before += self.gateway.counters().orders;
        self.log.note(|| format!("gateway {} is started", self.process));
        for place in &mut self.places {
            place.runner = None;
        }
        let host = self.network.restart(GATEWAY);
        let journal = self.parts.has_journal.then(|| journal_of(&self.folder, self.process));
        if let Some(journal) = &journal {
            copy_files(&journal_of(&self.folder, self.process - 1), journal);
        }
        let Self { memory, process, parts, instruments, log, .. } = &*self;
        let (clock, process) = (self.gateway_clock(), (*memory, *process, journal));
        let (mut gateway, places, housekeeper) =
            open_gateway(process, parts, host, clock, instruments, log);
        if self.parts.has_journal {
            gateway.client_mut().go_on(self.gateway.client());
        }
        (self.gateway, self.places, self.housekeeper) = (gateway, places, housekeeper);
        (0..self.places.len()).for_each(|at| self.come_or_go(at));
    }
}

/// The folder of a process's journal.
fn journal_of(folder: &TempDir, process: usize) -> PathBuf {
    let journal = folder.path().join(process.to_string());
    fs::create_dir_all(&journal).expect("a folder");
    journal
}

/// As a process that is killed leaves them.
fn copy_files(from: &Path, to: &Path) {
    for file in fs::read_dir(from).expect("a folder") {
        let file = file.expect("a file");
        fs::copy(file.path(), to.join(file.file_name())).expect("a copy");
    }
}

/// The number of the first order of a gateway process.
pub fn first_number(process: usize) -> u64 {
    1 + process as u64 * ORDERS_MAX
}

fn clock_at(now: Nanos, utc_off: Nanos) -> Clock {
    Clock::standing_at(now, EPOCH + now + utc_off)
}

fn instrument(number: usize) -> Instrument {
    let name = [b"ONE".as_slice(), b"TWO", b"SIX"][number];
    let symbol = Symbol::new(name).expect("a symbol");
    let (tick, lot) = (Price::parse(b"0.01").expect("a tick"), Qty::whole(1));
    Instrument::new(InstrumentId(number as u32), symbol, tick, lot).expect("an instrument")
}

fn comp_id(name: &str) -> CompId {
    CompId::new(name.as_bytes()).expect("a CompID")
}

fn open_venue(
    parts: &Parts,
    host: SimHost,
    instruments: &[Instrument],
    scribe: &Scribe,
    life: u32,
) -> SimVenue {
    let config = VenueConfig {
        order_capacity: 1 << 11,
        level_capacity: 256,
        snapshot_interval: Nanos::from_millis(20),
        cancel_on_disconnect: parts.cancel_on_disconnect,
        reset_on_logon: parts.reset_on_logon,
        post_only: parts.post_only,
        cl_ord_id_capacity: 1 << 10,
        ..VenueConfig::new(instruments.to_vec(), comp_id("VENUE"), 100 + life)
    };
    let flow = SyntheticConfig {
        seed: parts.network.seed ^ u64::from(life),
        level_count: 12,
        orders_per_level: 2,
        lots_max: 20,
        start_price: HalfTicks(2 * 10_000),
        ..SyntheticConfig::default()
    };
    let flow = Flow::crowd(Crowd::new(flow, 0, &[3, 2, 1][..instruments.len()]), parts.flow_hz);
    let venue = Venue::on_kernel(host, &config, wires::venue_sockets(), flow).expect("a venue");
    venue.with_observer(scribe.clone()).expect("an observer")
}

/// The same limits for everybody, with room for so many instruments.
fn risk(instruments: usize) -> RiskConfig {
    let limits = UniformLimits {
        collar_ppm: 20_000,
        lots_max: Lots(28),
        position_lots_max: Lots(400),
        orders: Rate { per_second: 100_000, burst: 1_000 },
        open_orders_max: 60,
    };
    let sizes = RiskSizes { instruments, accounts: 1, users: 256, strategies: 256 };
    let rules = RiskRules { limits: limits.limits(sizes), groups: Vec::new() };
    RiskConfig::Each { rules, accounts: Accounts::default() }
}

/// A gateway, its strategies' places, and what keeps its journal.
type Opened<'m> = (SimGateway<'m>, Vec<Place<'m>>, Option<Housekeeper>);

fn open_gateway<'m>(
    (memory, process, journal): (&'m Memory, usize, Option<PathBuf>),
    parts: &Parts,
    host: SimHost,
    clock: Clock,
    instruments: &[Instrument],
    log: &Log,
) -> Opened<'m> {
    let config = GatewayConfig {
        instruments: instruments.to_vec(),
        order_address: wires::ORDERS,
        sender_comp_id: comp_id("GATEWAY"),
        target_comp_id: comp_id("VENUE"),
        heartbeat_interval: Nanos::from_secs(1),
        session: SessionSettings {
            store: journal.as_ref().map(|folder| folder.join(NUMBERS)),
            reset_on_logon: parts.reset_on_logon,
            waits_for_venue: true,
            request_timeout: Nanos::from_millis(500),
            reconnect: (Nanos::from_millis(2), Nanos::from_millis(100)),
            ..SessionSettings::default()
        },
        order_capacity: 1 << 10,
        risk: risk(parts.instruments),
        hot: false,
        keeps_warm: false,
    };
    let input = FeedInput::Datagrams(wires::feed_sockets());
    let feed = NativeConfig {
        instruments,
        stream_id: None,
        level_capacity: 256,
        has_retransmission: true,
    };
    let mut feed = NativeFeed::new(&feed, clock.now()).expect("a feed");
    feed.reserve_instruments(parts.instruments - instruments.len());
    if parts.market_by_order {
        feed.tell_orders(1 << 11);
    }
    let (market, own) = &memory.0[process];
    let regions = Regions::of(market).expect("regions");
    let mut hub = Hub::new(&regions).expect("a hub");
    hub.set_first_number(first_number(process));
    let mut places = Vec::new();
    for (number, own) in (1..).zip(own) {
        let own = StrategyRegions::of(own).expect("regions");
        let slot = hub.add_slot(&own, None).expect("a slot");
        let owner = Owner { user: UserId(1), strategy: StrategyId(number) };
        places.push(Place { slot, owner, runner: None, timer: Nanos::ZERO });
    }
    let client = Witness::new(hub, log.clone());
    let gateway = Gateway::on_kernel(host, &config, clock, input, feed, client, &regions);
    let mut gateway = gateway.expect("a gateway");
    let housekeeper = journal.map(|folder| {
        let opened = Journal::open(&folder, JOURNAL).expect("a journal");
        gateway.resume(opened.writer, &opened.recovered.state).expect("room for all of it");
        opened.housekeeper
    });
    (gateway, places, housekeeper)
}
