//! The thread that looks at one gateway.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use taut_gateway::{GatewayCounters, Regions, Views};
use taut_ipc::Segment;
use taut_lat::{PathSnapshot, Snapshot};
use taut_runner::RunnerError;
use taut_runner::service::{
    ControlClient, ControlReply, ControlRequest, Snapshot as Holdings, Status,
};
use taut_sys::{monotonic, utc};
use taut_types::Nanos;

use super::market::Market;
use super::model::{GatewaySeen, State};
use super::recent::Recent;
use super::thread::{ThreadTotals, Watch, warnings};
use super::told;
use super::warnings::of_lag;
use super::windows::Windows;

/// How long a gateway may take with an answer.
pub const PATIENCE: Nanos = Nanos::from_millis(300);
/// How often the market ring is read: it holds the 8,192 last events.
const RING: Duration = Duration::from_millis(20);

/// How long nobody asks for orders and positions again, for each that there was: to tell one costs
/// the thread that trades some 50 ns, and all of it shall not cost 0.1 % of its time.
const LINE_PAUSE: Nanos = Nanos::from_micros(100);

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Status, counters and histograms: what metrics tell.
    Totals,
    /// The market, orders, positions and windows of time, too.
    All,
}

/// What a thread is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// To look now.
    Now,
    /// To follow the books of these instruments.
    Follow(Vec<String>),
}

/// What was seen of a gateway.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Its name, or the path of its control socket.
    pub name: String,
    /// Whether it answered.
    pub state: State,
    /// Its counters and histograms, where totals are looked at; nothing when it never answered.
    pub totals: Option<Box<Totals>>,
    /// What is shown of it, where all is looked at.
    pub gateway: Box<GatewaySeen>,
}

/// Status, counters and histograms at one moment.
#[derive(Clone, Debug)]
pub struct Totals {
    /// How it is.
    pub status: Box<Status>,
    /// What it has counted.
    pub counters: GatewayCounters,
    /// Where the time of its orders goes.
    pub path: PathSnapshot,
    /// From the send call to the first answer.
    pub round_trip: Snapshot,
    /// What its thread that trades had of its CPU.
    pub thread: ThreadTotals,
}

impl Seen {
    /// One of which nothing was seen yet.
    pub fn of(name: &str) -> Self {
        let gateway = GatewaySeen { name: name.to_owned(), ..GatewaySeen::default() };
        Self { name: name.to_owned(), gateway: Box::new(gateway), ..Self::default() }
    }
}

/// Starts the thread for a gateway; it ends when nobody can ask it any more.
pub fn start(name: &str, extent: Extent, seen: Sender<Seen>) -> Sender<Look> {
    let (sender, looks) = mpsc::channel();
    let mut worker = Worker {
        extent,
        held: None,
        last: Seen::of(name),
        windows: Windows::default(),
        recent: Recent::default(),
        holdings: None,
        holdings_due: Nanos::ZERO,
        ticks: 0,
        followed: None,
    };
    // Where no thread can be had, the gateway is never heard of.
    let _ =
        thread::Builder::new().name("observe".to_owned()).spawn(move || worker.run(&looks, &seen));
    sender
}

/// A gateway, and what is known of it.
struct Worker {
    extent: Extent,
    /// Nothing while it does not answer.
    held: Option<Held>,
    last: Seen,
    windows: Windows,
    recent: Recent,
    /// Orders and positions as they were told last.
    holdings: Option<Holdings>,
    /// They are asked for again by then.
    holdings_due: Nanos,
    /// Packets that it had had at the last look.
    ticks: u64,
    /// The books that somebody wants, where somebody has said so.
    followed: Option<Vec<String>>,
}

/// A gateway that there is.
struct Held {
    client: ControlClient,
    /// Nothing before it has answered for the first time.
    memory: Option<Memory>,
}

/// Its shared memory.
struct Memory {
    segment: Segment,
    /// Who looks at its thread, once that is known.
    thread: Option<Watch>,
    /// Where it is looked at.
    market: Option<Market>,
}

impl Worker {
    fn run(&mut self, looks: &Receiver<Look>, seen: &Sender<Seen>) {
        loop {
            let follows_ring = self.market().is_some();
            let look = match follows_ring {
                true => looks.recv_timeout(RING),
                false => looks.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match look {
                Ok(Look::Now) => {
                    self.look();
                    if seen.send(self.last.clone()).is_err() {
                        return;
                    }
                }
                Ok(Look::Follow(symbols)) => {
                    if let Some(market) = self.market() {
                        market.follow(&symbols);
                    }
                    self.followed = Some(symbols);
                }
                Err(RecvTimeoutError::Timeout) => self.read_ring(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn market(&mut self) -> Option<&mut Market> {
        self.held.as_mut()?.memory.as_mut()?.market.as_mut()
    }

    /// Looks, and keeps what was seen. Of one that does not answer it is what was seen last.
    fn look(&mut self) {
        if self.try_look().is_ok() {
            self.last.state = State::Up;
            return;
        }
        let is_there = |held: &mut Held| held.client.is_waiting() || !held.client.is_gone();
        self.last.state = match self.held.as_mut().is_some_and(is_there) {
            true => State::Silent,
            false => State::Ended,
        };
        if self.last.state == State::Ended {
            // Another process may have its name by the next time.
            self.held = None;
            self.windows = Windows::default();
            self.recent = Recent::default();
            (self.holdings, self.holdings_due) = (None, Nanos::ZERO);
        }
    }

    fn try_look(&mut self) -> Result<(), RunnerError> {
        let none = || RunnerError::Run("no status".to_owned());
        if self.held.is_none() {
            let mut client = ControlClient::connect(&self.last.name)?;
            client.set_patience(PATIENCE);
            self.held = Some(Held { client, memory: None });
        }
        let Held { client, memory } = self.held.as_mut().ok_or_else(none)?;
        let memory = match memory {
            Some(memory) => memory,
            empty => empty.insert(Memory::of(client, self.extent, self.followed.as_deref())?),
        };
        let ControlReply::Status(status) = client.ask(&ControlRequest::Status)? else {
            return Err(none());
        };
        let at = monotonic();
        if self.extent == Extent::All && at >= self.holdings_due {
            self.holdings = holdings(client)?;
            let lines = self.holdings.as_ref().map_or(0, |it| it.orders.len() + it.positions.len());
            self.holdings_due = at + Nanos(LINE_PAUSE.0 * i64::try_from(lines).unwrap_or(0));
        }
        let Memory { segment, thread, market } = memory;
        if thread.is_none() && status.thread != 0 {
            *thread = Some(Watch::open(status.process, status.thread));
        }
        let (thread, thread_seen) = thread.as_mut().map(Watch::look).unwrap_or_default();
        let regions = Regions::of(segment).map_err(|error| other(&error))?;
        let views = Views::new(&regions).map_err(|error| other(&error))?;
        let counters = GatewayCounters::load(regions.gateway);
        let path = PathSnapshot::of(&views.path);
        let round_trip = Snapshot::of(&views.round_trip);
        let Some(market) = market else {
            self.last.totals =
                Some(Box::new(Totals { status, counters, path, round_trip, thread }));
            return Ok(());
        };
        let (counted, stages) = self.windows.take(at, counters, &path, &round_trip);
        let mut gateway = told::gateway(&self.last.name, &status, self.holdings.as_ref(), counted);
        gateway.stages = stages;
        gateway.warnings.extend(thread_seen.iter().flat_map(warnings));
        gateway.thread = thread_seen;
        gateway.as_of_ns = utc().0;
        let has_had_packets = counters.ticks != std::mem::replace(&mut self.ticks, counters.ticks);
        follow(client, market, &regions, has_had_packets)?;
        gateway.instruments = market.seen(at, &status.stale_books);
        gateway.warnings.extend(of_lag(&gateway));
        gateway.ring_lost = market.lost();
        self.recent.read(&regions).map_err(|error| other(&error))?;
        gateway.recent = self.recent.seen();
        *self.last.gateway = gateway;
        if market.count() < status.instruments {
            // A reload has added some: their lines come with the memory.
            self.held = None;
        }
        Ok(())
    }

    fn read_ring(&mut self) {
        let memory = self.held.as_mut().and_then(|held| held.memory.as_mut());
        let Some(Memory { segment, market: Some(market), .. }) = memory else { return };
        // What is no ring is seen at the next look.
        if let Ok(regions) = Regions::of(segment) {
            let _ = market.read(&regions);
        }
    }
}

/// Orders and positions; nothing where who answers does not know them: the parent of a run.
fn holdings(client: &mut ControlClient) -> Result<Option<Holdings>, RunnerError> {
    match client.ask(&ControlRequest::Snapshot) {
        Ok(ControlReply::Snapshot(holdings)) => Ok(Some(*holdings)),
        Err(error) if client.is_waiting() || client.is_gone() => Err(error),
        Ok(_) | Err(_) => Ok(None),
    }
}

/// Brings the market up to what the ring has, and asks for the books that it cannot give.
fn follow(
    client: &mut ControlClient,
    market: &mut Market,
    regions: &Regions<'_>,
    has_had_packets: bool,
) -> Result<(), RunnerError> {
    market.read(regions).map_err(|error| other(&error))?;
    if !market.has_moved() && has_had_packets {
        // A gateway with its strategy in its thread writes no ring.
        market.distrust();
    }
    for symbol in market.wanted() {
        match client.book(&symbol) {
            Ok(book) => market.take(&book),
            Err(error) if client.is_waiting() || client.is_gone() => return Err(error),
            // The parent of a run has no books.
            Err(_) => market.give_up(&symbol),
        }
    }
    market.read(regions).map_err(|error| other(&error))
}

impl Memory {
    /// Asks for it.
    fn of(
        client: &mut ControlClient,
        extent: Extent,
        followed: Option<&[String]>,
    ) -> Result<Self, RunnerError> {
        let (segment, instruments) = client.observe()?;
        if extent == Extent::Totals {
            return Ok(Self { segment, thread: None, market: None });
        }
        let regions = Regions::of(&segment).map_err(|error| other(&error))?;
        let mut market = Market::new(&regions, instruments).map_err(|error| other(&error))?;
        if let Some(followed) = followed {
            market.follow(followed);
        }
        Ok(Self { segment, thread: None, market: Some(market) })
    }
}

fn other(error: &dyn std::fmt::Display) -> RunnerError {
    RunnerError::Run(error.to_string())
}
