//! The children's parts.

mod gateway;
mod strategy;
mod venue;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use clap::ValueEnum;
use taut_gateway::Regions;
use taut_ipc::Segment;
use taut_ring::cell::CellReader;
use taut_sys::{
    Clock, ControlSocket, MAPPING_WORDS, TickMapping, Wait, Waiter, catch_stop_signals,
    die_with_parent, monotonic, pin_to_cpu, set_batch_scheduling, set_timer_slack, started_by,
    stop_requests, wait_readable,
};
use taut_types::{Instrument, Nanos, Price, Symbol};

use crate::demo::arguments::WaitArgument;
use crate::demo::control::{Channel, Common, Incoming, Order, Reply};
use crate::demo::plan::instrument;
use crate::exit::Failure;

/// A process of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// The exchange.
    Venue,
    /// Feed, book, risk, orders; in fused mode the strategy too.
    Gateway,
    /// The strategy, in split mode.
    Strategy,
}

impl Role {
    /// Its name, here and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Venue => "venue",
            Self::Gateway => "gateway",
            Self::Strategy => "strategy",
        }
    }
}

/// How long the parent may take with its first order.
const SETUP: Nanos = Nanos::from_secs(10);

/// Plays a part until the parent says that it is over, or is gone.
pub fn play(role: Role) -> Result<(), Failure> {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let input = input.map_err(|error| Failure::run("control socket", error))?;
    catch_stop_signals().map_err(|error| Failure::run("signals", error))?;
    let mut parent = Parent::new(role, input);
    let played = match parent.first_order()? {
        (Order::SetUpVenue(setup), _) => {
            parent.settle(&setup.common).and_then(|()| venue::play(&setup, &mut parent))
        }
        (Order::SetUpGateway(setup), fds) => {
            parent.settle(&setup.common).and_then(|()| gateway::play(&setup, fds, &mut parent))
        }
        (Order::SetUpStrategy(setup), fds) => {
            parent.settle(&setup.common).and_then(|()| strategy::play(&setup, fds, &mut parent))
        }
        (order, _) => Err(Failure::Run(format!("{order:?} came before the setup"))),
    };
    played.or_else(|failure| parent.tell(failure))
}

/// The child's view of its parent.
#[derive(Debug)]
struct Parent {
    role: Role,
    channel: Channel,
    process: u32,
}

impl Parent {
    fn new(role: Role, input: OwnedFd) -> Self {
        Self { role, channel: Channel::new(ControlSocket::from(input)), process: 0 }
    }

    /// The setup, which tells who the parent is.
    fn first_order(&mut self) -> Result<(Order, Vec<OwnedFd>), Failure> {
        let by_hand = || {
            Failure::Usage("demo-role is started by `taut demo`; run `taut demo --help`".to_owned())
        };
        let deadline = monotonic() + SETUP;
        while monotonic() < deadline {
            match self.channel.receive::<Order>() {
                Ok(Incoming::Message(order, fds)) => return Ok((order, fds)),
                Ok(Incoming::Nothing) => {
                    let _ = wait_readable(&[self.fd()], Some(Nanos::from_millis(100)));
                }
                Ok(Incoming::Gone) | Err(_) => break,
            }
        }
        Err(by_hand())
    }

    /// Takes the place that was assigned, and makes sure not to outlive the parent.
    fn settle(&mut self, common: &Common) -> Result<(), Failure> {
        self.process = common.parent;
        let system = |what: &'static str| move |error| Failure::run(what, error);
        if !die_with_parent(common.parent).map_err(system("parent"))? {
            return Err(self.orphaned());
        }
        pin_to_cpu(common.place.cpu).map_err(system("pinning"))?;
        if common.place.batch {
            set_batch_scheduling().map_err(system("scheduling"))?;
        }
        // A timed wait of a blocking process ends when it is due, not up to 50 us later.
        set_timer_slack(Nanos(1)).map_err(system("timer slack"))
    }

    /// The next order, if there is one; an error when the child must end. Cost: one system call.
    fn order(&mut self) -> Result<Option<Order>, Failure> {
        if stop_requests() > 0 {
            if !started_by(self.process) {
                return Err(self.orphaned());
            }
            return Err(Failure::Run("was asked to stop by a signal".to_owned()));
        }
        match self.channel.receive::<Order>() {
            Ok(Incoming::Nothing) => Ok(None),
            Ok(Incoming::Message(order, _)) => Ok(Some(order)),
            Ok(Incoming::Gone) | Err(_) => Err(self.orphaned()),
        }
    }

    fn say(&self, reply: &Reply) -> Result<(), Failure> {
        self.channel.send(reply, &[]).map_err(|_| self.orphaned())
    }

    fn orphaned(&self) -> Failure {
        Failure::Run(format!(
            "{}: the demo's parent (process {}) is gone; stopped",
            self.role.name(),
            self.process
        ))
    }

    /// Tells the parent about a failure; speaks for itself when there is no parent any more.
    fn tell(&self, failure: Failure) -> Result<(), Failure> {
        let told = self.channel.send(&Reply::Failed { text: failure.to_string() }, &[]);
        match told {
            Ok(()) if started_by(self.process) => Err(Failure::Told),
            _ => Err(failure),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.channel.socket().as_fd()
    }
}

/// The shared clock, as the parent anchors it.
#[derive(Clone, Copy, Debug)]
struct SharedClock<'m> {
    cell: CellReader<'m, MAPPING_WORDS>,
    version: u64,
}

impl<'m> SharedClock<'m> {
    fn new(regions: &Regions<'m>) -> Result<(Self, Clock), Failure> {
        let broken = || Failure::Run("shared memory: the clock was never set".to_owned());
        let cell = CellReader::new(regions.clock).map_err(|_| broken())?;
        // The parent may be writing it just now: a few looks are enough.
        let first = (0..1_000).find_map(|_| cell.get());
        let (version, words) = first.ok_or_else(broken)?;
        Ok((Self { cell, version }, Clock::new(TickMapping::from_words(words))))
    }

    /// Takes over a newer mapping, if there is one.
    fn refresh(&mut self, clock: &mut Clock) {
        if let Some((version, words)) = self.cell.get()
            && version != self.version
        {
            self.version = version;
            clock.set_mapping(TickMapping::from_words(words));
        }
    }
}

fn attach(fd: Option<OwnedFd>) -> Result<Segment, Failure> {
    let fd = fd.ok_or_else(|| Failure::Run("shared memory: no descriptor came".to_owned()))?;
    Segment::attach(fd).map_err(|error| Failure::Run(error.to_string()))
}

fn regions(segment: &Segment) -> Result<Regions<'_>, Failure> {
    Regions::of(segment).map_err(|error| Failure::Run(error.to_string()))
}

fn instrument_of(common: &Common) -> Result<Instrument, Failure> {
    let symbol = Symbol::new(common.symbol.as_bytes());
    let symbol = symbol.ok_or_else(|| Failure::Run(format!("symbol '{}'", common.symbol)))?;
    instrument(symbol, Price(common.tick))
}

const fn waiter(wait: WaitArgument) -> Waiter {
    Waiter::new(match wait {
        WaitArgument::Spin => Wait::Spin,
        WaitArgument::Yield => Wait::Yield,
        WaitArgument::Block => Wait::Block,
    })
}
