//! A child's dealings with its parent: orders, replies, the shared clock, and not outliving it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use taut_gateway::Regions;
use taut_ipc::Segment;
use taut_ring::cell::CellReader;
use taut_sys::{
    Clock, ControlSocket, MAPPING_WORDS, TickMapping, monotonic, nice, pin_to_cpu, set_nice,
    set_timer_slack, started_by, stop_requests, wait_readable, wake_when_parent_dies,
};
use taut_types::Nanos;

use crate::control::{Channel, Common, Incoming, Order, Reply};
use crate::error::RunnerError;
use crate::role::{ROLE_VARIABLE, Role};

/// How long the parent may take with its first order.
const SETUP: Nanos = Nanos::from_secs(10);

/// The child's view of its parent.
#[derive(Debug)]
pub struct Parent {
    /// What the run is called: part of what an orphan says.
    run: String,
    role: Role,
    channel: Channel,
    process: u32,
    stops_told: u32,
}

impl Parent {
    /// A child that nobody has told anything yet.
    pub fn new(run: &str, role: Role, input: OwnedFd) -> Self {
        let channel = Channel::new(ControlSocket::from(input));
        Self { run: run.to_owned(), role, channel, process: 0, stops_told: 0 }
    }

    /// The setup, which tells who the parent is.
    pub fn first_order(&mut self) -> Result<(Order, Vec<OwnedFd>), RunnerError> {
        let role = self.role;
        let by_hand = || {
            RunnerError::Settings(format!(
                "{ROLE_VARIABLE}={} is for the processes that a runner starts; unset it",
                role.name()
            ))
        };
        let deadline = monotonic() + SETUP;
        while monotonic() < deadline {
            match self.channel.receive::<Order>() {
                Ok(Incoming::Message(order, fds)) => return Ok((order, fds)),
                Ok(Incoming::Nothing) => {
                    let _ = wait_readable(&[self.fd()], Some(Nanos::from_millis(100)));
                }
                Ok(Incoming::Gone) => return Err(self.orphaned()),
                Err(_) => break,
            }
        }
        Err(by_hand())
    }

    /// Takes the place that was assigned, and makes sure not to outlive the parent.
    pub fn settle(&mut self, common: &Common) -> Result<(), RunnerError> {
        self.process = common.parent;
        let system = |what: &'static str| move |error| RunnerError::run(what, error);
        if !wake_when_parent_dies(common.parent).map_err(system("parent"))? {
            return Err(self.orphaned());
        }
        pin_to_cpu(common.place.cpu).map_err(system("pinning"))?;
        // A run that was started with a low nice value keeps it for gateway and strategy only: a
        // venue that came before the gateway would take the CPU inside the gateway's send.
        if common.place.nice != 0 || nice().is_ok_and(|inherited| inherited < 0) {
            // A process that may not come before others runs as it is; the outcome says its value.
            let _ = set_nice(common.place.nice);
        }
        // A timed wait of a blocking process ends when it is due, not up to 50 us later.
        set_timer_slack(Nanos(1)).map_err(system("timer slack"))
    }

    /// The next order, if there is one; an error when the child must end. Cost: one system call.
    pub fn order(&mut self) -> Result<Option<Order>, RunnerError> {
        let stops = stop_requests();
        if stops > 0 && !started_by(self.process) {
            return Err(self.orphaned());
        }
        if stops > self.stops_told {
            // All end together, in good order: the parent sees to it.
            self.stops_told = stops;
            self.say(&Reply::AskedToStop)?;
        }
        match self.channel.receive::<Order>() {
            Ok(Incoming::Nothing) => Ok(None),
            Ok(Incoming::Message(order, _)) => Ok(Some(order)),
            Ok(Incoming::Gone) | Err(_) => Err(self.orphaned()),
        }
    }

    /// Tells the parent something.
    pub fn say(&self, reply: &Reply) -> Result<(), RunnerError> {
        self.channel.send(reply, &[]).map_err(|_| self.orphaned())
    }

    fn orphaned(&self) -> RunnerError {
        let process = match self.process {
            0 => String::new(),
            known => format!(" (process {known})"),
        };
        let (role, run) = (self.role.name(), &self.run);
        RunnerError::Run(format!("{role}: the {run}'s parent{process} is gone; stopped"))
    }

    /// Tells the parent about a failure. Returns what is left to say when it does not listen.
    pub fn tell(&self, failure: RunnerError) -> Option<RunnerError> {
        let told = self.channel.send(&Reply::Failed { text: failure.to_string() }, &[]);
        match told {
            // A venue that is gone does not matter when the parent is gone too.
            _ if self.process != 0 && !started_by(self.process) => Some(self.orphaned()),
            Ok(()) => None,
            Err(_) => Some(failure),
        }
    }

    /// The descriptor to wait for.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.channel.socket().as_fd()
    }
}

/// The shared clock, as the parent anchors it.
#[derive(Clone, Copy, Debug)]
pub struct SharedClock<'m> {
    cell: CellReader<'m, MAPPING_WORDS>,
    version: u64,
}

impl<'m> SharedClock<'m> {
    /// The clock of a run, and a reader of it.
    pub fn new(regions: &Regions<'m>) -> Result<(Self, Clock), RunnerError> {
        let broken = || RunnerError::Run("shared memory: the clock was never set".to_owned());
        let cell = CellReader::new(regions.clock).map_err(|_| broken())?;
        // The parent may be writing it just now: a few looks are enough.
        let first = (0..1_000).find_map(|_| cell.get());
        let (version, words) = first.ok_or_else(broken)?;
        Ok((Self { cell, version }, Clock::new(TickMapping::from_words(words))))
    }

    /// Takes over a newer mapping, if there is one.
    pub fn refresh(&mut self, clock: &mut Clock) {
        if let Some((version, words)) = self.cell.get()
            && version != self.version
        {
            self.version = version;
            clock.set_mapping(TickMapping::from_words(words));
        }
    }
}

/// The segment that came with the setup.
pub fn attach(fd: Option<OwnedFd>) -> Result<Segment, RunnerError> {
    let fd = fd.ok_or_else(|| RunnerError::Run("shared memory: no descriptor came".to_owned()))?;
    Segment::attach(fd).map_err(|error| RunnerError::Run(error.to_string()))
}

/// Its regions.
pub fn regions(segment: &Segment) -> Result<Regions<'_>, RunnerError> {
    Regions::of(segment).map_err(|error| RunnerError::Run(error.to_string()))
}
