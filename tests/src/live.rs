//! A session in real time: the venue in a thread of its own, the gateway in the caller's, and in
//! split mode the strategy in a third.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};

use taut_gateway::{
    Accounts, Client, FusedClient, Gateway, GatewayConfig, GatewayCounters, Hub, Owner, Regions,
    RiskConfig, RiskRules, Strategy, StrategyRegions, StrategyRunner, TouchConfig, TouchStrategy,
    Views,
};
use taut_ipc::Segment;
use taut_lat::{PathSnapshot, Summary};
use taut_market_data::native::NativeFeed;
use taut_oms::RiskSizes;
use taut_sys::{Anchoring, Clock, monotonic, utc, yield_cpu};
use taut_testkit::Deadline;
use taut_types::{InstrumentId, Lots, Nanos, SequenceNumber};
use taut_venue::{Now, Venue, VenueCounters};

use crate::books::assert_same_levels;
use crate::ledger::{Account, Ledger};
use crate::setup::{
    VenueAddresses, feed, gateway_config, instrument, native_feed, open_venue, synthetic_flow,
    venue_config,
};

/// How often the synthetic market moves.
const TICKS_HZ: u32 = 20_000;
/// How long a venue without work sleeps before it looks whether it is asked for something.
const LOOK: Nanos = Nanos::from_millis(1);

/// The habits of the strategy: many orders, few of which rest for long.
#[must_use]
pub const fn touch() -> TouchConfig {
    TouchConfig { orders_per_second: 4_000, lots: Lots(1), rest: Nanos::from_millis(2) }
}

enum Wish {
    StartFlow,
    StopFlow,
}

/// A venue in a thread of its own. It ends with this handle.
#[derive(Debug)]
pub struct VenueThread {
    wishes: Sender<Wish>,
    stopped: Receiver<VenueCounters>,
    thread: JoinHandle<Venue>,
}

impl VenueThread {
    fn spawn(venue: Venue) -> Self {
        let ((wishes, inbox), (outbox, stopped)) = (channel(), channel());
        let thread = thread::spawn(move || serve(venue, &inbox, &outbox));
        Self { wishes, stopped, thread }
    }

    fn ask(&self, wish: Wish) {
        self.wishes.send(wish).expect("the venue goes on");
    }

    /// Ends the flow and returns what was counted up to then.
    fn stop_flow(&self) -> VenueCounters {
        self.ask(Wish::StopFlow);
        self.stopped.recv().expect("the venue goes on")
    }

    fn end(self) -> Venue {
        drop(self.wishes);
        self.thread.join().expect("the venue went on")
    }
}

fn serve(mut venue: Venue, wishes: &Receiver<Wish>, stopped: &Sender<VenueCounters>) -> Venue {
    loop {
        match wishes.try_recv() {
            Ok(Wish::StartFlow) => venue.start_flow(monotonic()),
            Ok(Wish::StopFlow) => {
                venue.stop_flow();
                // Nobody may be waiting any more.
                let _ = stopped.send(venue.counters());
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return venue,
        }
        let mono = monotonic();
        if !venue.poll(Now { mono, utc: utc() }).expect("the venue goes on") {
            venue.wait(monotonic(), LOOK).expect("the venue goes on");
        }
    }
}

/// The limits of the demo, with room for so many instruments.
fn risk_with_room(instruments: usize) -> RiskConfig {
    let sizes = RiskSizes { instruments, accounts: 1, users: 256, strategies: 256 };
    let rules =
        RiskRules { limits: GatewayConfig::default_risk().limits(sizes), groups: Vec::new() };
    RiskConfig::Each { rules, accounts: Accounts::default() }
}

/// A gateway in this thread, with its venue.
#[derive(Debug)]
pub struct Session<'m, C> {
    /// The gateway.
    pub gateway: Gateway<'m, C, NativeFeed>,
    /// Until the session is closed.
    venue: Option<VenueThread>,
}

impl<'m, C: Client> Session<'m, C> {
    /// Opens a venue and logs on to it. The flow runs, the book is live. The gateway has room for
    /// one more instrument.
    ///
    /// # Panics
    /// When they do not come together.
    pub fn open(clock: Clock, seed: u64, regions: &Regions<'m>, client: C) -> Self {
        let (output, sockets) = feed();
        let (venue, at): (Venue, VenueAddresses) =
            open_venue(&venue_config(), synthetic_flow(seed, TICKS_HZ), output);
        let venue = VenueThread::spawn(venue);
        let (input, mut feed) = native_feed(instrument(), sockets, clock.now());
        feed.reserve_instruments(1);
        let config = GatewayConfig { risk: risk_with_room(2), ..gateway_config(at) };
        let gateway = Gateway::new(&config, clock, input, feed, client, regions);
        let gateway = gateway.expect("a connection to the venue");
        let mut session = Self { gateway, venue: Some(venue) };
        session.run_until("a session and a book", |gateway| gateway.is_ready());
        session.venue.iter().for_each(|venue| venue.ask(Wish::StartFlow));
        session
    }

    /// Runs the gateway until it is as the test wants it. Allocates nothing of its own.
    ///
    /// # Panics
    /// When that takes too long, or the gateway cannot go on.
    pub fn run_until(
        &mut self,
        awaited: &str,
        mut done: impl FnMut(&mut Gateway<'m, C, NativeFeed>) -> bool,
    ) {
        let deadline = Deadline::default();
        while !done(&mut self.gateway) {
            if !self.gateway.poll().expect("the gateway goes on") {
                yield_cpu();
            }
            self.gateway.housekeeping().expect("the gateway goes on");
            deadline.check(awaited, || format!("{:?}", self.gateway.counters()));
        }
    }

    /// Ends the flow, catches up and logs out; the strategy must be idle. The books are the same
    /// then. Returns what the venue counted.
    ///
    /// # Panics
    /// When they do not come to an end, or the session is closed already.
    pub fn close(&mut self) -> VenueCounters {
        let venue = self.venue.take().expect("an open session");
        let published = SequenceNumber(venue.stop_flow().published);
        self.run_until("the end of the feed", |gateway| gateway.has_caught_up_with(published));
        self.gateway.logout().expect("a logout");
        self.run_until("the end of the session", |gateway| gateway.is_logged_out());
        let venue = venue.end();
        assert_same_levels(venue.book(), self.gateway.book(instrument().id()));
        venue.counters()
    }
}

/// What came of a session.
#[derive(Debug)]
pub struct Outcome {
    /// What the gateway counted.
    pub gateway: GatewayCounters,
    /// What the venue counted.
    pub venue: VenueCounters,
    /// The gateway's position.
    pub position: Lots,
    /// The strategy's.
    pub strategy_position: Lots,
    /// What the strategy asked for and was told.
    pub account: Account,
    /// The stages of its orders.
    pub path: PathSnapshot,
    /// From the send call to the first answer.
    pub round_trip: Summary,
}

/// A clock on the time-stamp counter.
#[must_use]
pub fn clock() -> Clock {
    Clock::new(Anchoring::start().mapping())
}

/// A session in fused mode, until the counters are `enough`; then everything is brought to rest.
///
/// # Panics
/// When something does not happen in time.
pub fn fused(
    regions: &Regions<'_>,
    seed: u64,
    enough: impl Fn(&GatewayCounters) -> bool,
) -> Outcome {
    let clock = clock();
    let client = FusedClient::new(Ledger::new(TouchStrategy::new(touch(), clock.now())));
    let mut session = Session::open(clock, seed, regions, client);
    session.run_until("enough orders", |gateway| enough(&gateway.counters()));
    session.gateway.client_mut().stop();
    session.run_until("an idle strategy", |gateway| gateway.client().is_at_rest());
    let venue = session.close();
    let ledger = session.gateway.client_mut().strategy();
    let told = (ledger.account().clone(), ledger.strategy().position(instrument().id()));
    outcome(regions, &session, venue, told)
}

/// The same in split mode, with the strategy in a thread of its own.
///
/// # Panics
/// When something does not happen in time.
pub fn split(
    regions: &Regions<'_>,
    seed: u64,
    enough: impl Fn(&GatewayCounters) -> bool,
) -> Outcome {
    let clock = clock();
    let segment = Segment::create("strategy", &StrategyRegions::LAYOUT).expect("a segment");
    let own = StrategyRegions::of(&segment).expect("regions");
    let client = hub(regions, &own);
    let strategy = Ledger::new(TouchStrategy::new(touch(), clock.now()));
    let runner = StrategyRunner::new(regions, &own, None, strategy).expect("the same regions");
    thread::scope(|scope| {
        let mut session = Session::open(clock, seed, regions, client);
        let ((stop, wishes), (rest, resting)) = (channel(), channel());
        let strategy = scope.spawn(move || run_strategy(runner, &clock, &wishes, &rest));
        session.run_until("enough orders", |gateway| enough(&gateway.counters()));
        stop.send(()).expect("the strategy goes on");
        session.run_until("an idle strategy", |_| resting.try_recv().is_ok());
        let venue = session.close();
        drop(stop);
        let told = strategy.join().expect("the strategy went on");
        outcome(regions, &session, venue, told)
    })
}

/// A hub with one strategy.
///
/// # Panics
/// When the regions cannot hold the rings.
#[must_use]
pub fn hub<'m>(regions: &Regions<'m>, own: &StrategyRegions<'m>) -> Hub<'m> {
    let mut hub = Hub::new(regions).expect("a region that holds the ring");
    let slot = hub.add_slot(own, None).expect("regions that hold the rings");
    assert!(hub.attach(slot, Owner::default()));
    hub
}

/// Runs a strategy for as long as there is somebody who may ask it to stop. Then says when it is
/// idle. Returns what it asked for and was told, to the last word, and its position.
fn run_strategy(
    mut runner: StrategyRunner<'_, Ledger<TouchStrategy>>,
    clock: &Clock,
    wishes: &Receiver<()>,
    rest: &Sender<()>,
) -> (Account, Lots) {
    let mut stopping = false;
    loop {
        run_rounds(&mut runner, clock);
        match wishes.try_recv() {
            Ok(()) => {
                runner.stop();
                stopping = true;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => break,
        }
        if stopping && runner.is_at_rest() {
            stopping = false;
            // Nobody may be waiting any more.
            let _ = rest.send(());
        }
    }
    while runner.poll(clock) {}
    let ledger = runner.strategy();
    (ledger.account().clone(), ledger.strategy().position(instrument().id()))
}

/// Some hundred polls of a strategy and a look at its timer. Allocates nothing of its own.
pub fn run_rounds<S: Strategy>(runner: &mut StrategyRunner<'_, S>, clock: &Clock) {
    for _ in 0..256 {
        if !runner.poll(clock) {
            yield_cpu();
            break;
        }
    }
    runner.timer(clock);
}

fn outcome<C: Client>(
    regions: &Regions<'_>,
    session: &Session<'_, C>,
    venue: VenueCounters,
    (account, strategy_position): (Account, Lots),
) -> Outcome {
    let views = Views::new(regions).expect("regions that hold the histograms");
    Outcome {
        gateway: session.gateway.counters(),
        venue,
        position: session.gateway.position(InstrumentId(0)),
        strategy_position,
        account,
        path: PathSnapshot::of(&views.path),
        round_trip: views.round_trip.summary(),
    }
}
