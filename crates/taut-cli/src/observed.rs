//! The gateways of this user, looked at from outside: what `metrics`, `top` and `desk` show.
//!
//! Each gateway has a thread here, so that one which hangs keeps nobody from seeing the others. It
//! reads the gateway's shared memory: counters, histograms, the market ring, the times of the last
//! orders. What is nowhere but in the gateway's own memory (orders, positions, connections) is
//! asked for once in a look, and answered between two rounds of the gateway's housekeeping; that
//! costs the thread that trades no system call.

mod amount;
pub mod channels;
mod market;
pub mod model;
pub mod processes;
mod recent;
pub mod thread;
mod told;
mod warnings;
mod windows;
mod worker;

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use taut_runner::service::ControlClient;
use taut_sys::{monotonic, utc};
use taut_types::Nanos;

use channels::Channels;
use model::{GatewaySeen, Snapshot, State};
use processes::Processes;
use worker::Look;
pub use worker::{Extent, PATIENCE, Seen, Totals};

/// How long one is waited for where it is looked at once.
const PATIENT: Nanos = Nanos::from_secs(3);
/// A gateway that has ended is shown for so long; a run, whose end is in order, for less.
const FORGET: Nanos = Nanos::from_secs(600);
const FORGET_RUN: Nanos = Nanos::from_secs(5);

/// The gateways that are looked at.
#[derive(Debug)]
pub struct Observed {
    /// Those that were named; every gateway of this user when none was.
    names: Vec<String>,
    extent: Extent,
    looked: Vec<Looked>,
    seen: Receiver<Seen>,
    sender: Sender<Seen>,
    channels: Channels,
    processes: Processes,
}

/// A gateway that is looked at.
#[derive(Debug)]
struct Looked {
    look: Sender<Look>,
    seen: Seen,
    /// It was asked, and has not said anything yet.
    is_asked: bool,
    /// Since when it is gone.
    ended: Option<Nanos>,
}

impl Observed {
    /// Those with these names, or at these paths; every gateway of this user, also one that begins
    /// later, when there are no names.
    pub fn new(names: &[String], extent: Extent) -> Self {
        let (sender, seen) = mpsc::channel();
        let looked = Vec::new();
        let (channels, processes) = (Channels::default(), Processes::default());
        Self { names: names.to_vec(), extent, looked, seen, sender, channels, processes }
    }

    /// Looks at all of them, for at most [`PATIENCE`].
    pub fn look(&mut self) {
        self.find();
        for looked in self.looked.iter_mut().filter(|it| !it.is_asked) {
            // Its thread ends after us.
            looked.is_asked = looked.look.send(Look::Now).is_ok();
        }
        let deadline = monotonic() + PATIENCE;
        while self.looked.iter().any(|it| it.is_asked) {
            let left = deadline.since(monotonic()).0.max(0).unsigned_abs();
            match self.seen.recv_timeout(Duration::from_nanos(left)) {
                Ok(seen) => self.take(seen),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        for looked in self.looked.iter_mut().filter(|it| it.is_asked) {
            looked.seen.state = State::Silent;
        }
    }

    /// Looks until each has answered, or is gone; one that hangs is waited for longer than by
    /// [`Observed::look`]: for who looks once, on a machine that is busy.
    pub fn look_patiently(&mut self) {
        let deadline = monotonic() + PATIENT;
        loop {
            self.look();
            let is_silent = self.looked.iter().any(|it| it.seen.state == State::Silent);
            if !is_silent || monotonic() > deadline {
                return;
            }
        }
    }

    /// Has the books of these instruments of a gateway followed to their depth from now on.
    pub fn follow(&mut self, gateway: &str, symbols: &[String]) {
        let looked = self.looked.iter().find(|it| it.seen.name == gateway);
        if let Some(looked) = looked {
            let _ = looked.look.send(Look::Follow(symbols.to_vec()));
        }
    }

    /// What was seen of each, by name. One that ended long ago is left out, unless it was named.
    pub fn seen(&self) -> impl Iterator<Item = &Seen> {
        let now = monotonic();
        let is_named = !self.names.is_empty();
        self.looked.iter().filter(move |it| is_named || !it.is_over(now)).map(|it| &it.seen)
    }

    /// All of it, for who shows it or writes it down.
    pub fn snapshot(&mut self) -> Snapshot {
        let (channels, processes) = (self.channels.look(), self.processes.look());
        let gateways = self.seen().map(in_state);
        Snapshot { at_ns: utc().0, gateways: gateways.collect(), channels, processes }
    }

    fn find(&mut self) {
        let running = ControlClient::running();
        let names = if self.names.is_empty() { &running } else { &self.names };
        for name in names {
            if self.looked.iter().all(|it| it.seen.name != *name) {
                let look = worker::start(name, self.extent, self.sender.clone());
                let seen = Seen::of(name);
                self.looked.push(Looked { look, seen, is_asked: false, ended: None });
            }
        }
        if self.names.is_empty() {
            // One that was killed has its socket left, and stays away; one that is gone is shown
            // for a while.
            let now = monotonic();
            self.looked.retain(|it| running.contains(&it.seen.name) || !it.is_over(now));
        }
        self.looked.sort_by(|one, other| one.seen.name.cmp(&other.seen.name));
    }

    fn take(&mut self, seen: Seen) {
        let Some(looked) = self.looked.iter_mut().find(|it| it.seen.name == seen.name) else {
            return;
        };
        looked.is_asked = false;
        looked.ended = match seen.state {
            State::Ended => looked.ended.or_else(|| Some(monotonic())),
            State::Up | State::Silent => None,
        };
        looked.seen = seen;
    }
}

impl Looked {
    /// Whether it ended so long ago that nobody wants to see it any more.
    fn is_over(&self, now: Nanos) -> bool {
        let shown = if self.seen.name.starts_with("run-") { FORGET_RUN } else { FORGET };
        self.ended.is_some_and(|ended| now.since(ended) > shown)
    }
}

/// A gateway as it was seen, in the state that it is in by now.
fn in_state(seen: &Seen) -> GatewaySeen {
    let mut gateway = (*seen.gateway).clone();
    gateway.state = seen.state;
    if let Some(warning) = warnings::of_state(seen.state, gateway.as_of_ns) {
        gateway.warnings.insert(0, warning);
    }
    gateway
}
