//! Who looks at a run while it goes on: the parent answers as a gateway that runs by itself does,
//! as far as it knows. It reads what is in shared memory, and asks the other processes for nothing.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use taut_gateway::{GatewayCounters, MarketReader, Regions, StrategyCounters};
use taut_ipc::Segment;
use taut_sys::{ControlListener, effective_user, process_id};
use taut_types::Instrument;

use crate::control::{Channel, Incoming};
use crate::service::{
    ControlReply, ControlRequest, InstrumentLine, Status, StrategyLine, run_socket, stage_lines,
};

/// Connections at one time.
const CONNECTIONS_MAX: usize = 8;

/// The parent's end.
#[derive(Debug)]
pub struct RunControl {
    /// Nothing where the system has no socket for it: the run goes on without.
    listener: Option<ControlListener>,
    connections: Vec<Channel>,
}

/// What is told of a run.
#[derive(Debug)]
pub struct Watched<'a> {
    /// The memory that its processes share.
    pub segment: &'a Segment,
    /// Its regions.
    pub regions: &'a Regions<'a>,
    /// What the strategy's process counts.
    pub strategy: StrategyCounters,
    /// Whether it runs in the gateway's thread.
    pub is_fused: bool,
    /// What is traded.
    pub instruments: &'a [Instrument],
    /// Whose venue it is at.
    pub venue: &'a str,
    /// How its orders travel.
    pub orders: &'a str,
    /// How long it has run, in whole seconds.
    pub up_seconds: u64,
}

impl RunControl {
    /// Listens as `run-` and the number of this process, under a name without a file: however the
    /// run ends, nothing is left.
    pub fn open() -> Self {
        let listener = ControlListener::bind_name(&run_socket(effective_user(), process_id()));
        Self { listener: listener.ok(), connections: Vec::new() }
    }

    /// What to wait for.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let connections = self.connections.iter().map(|channel| channel.socket().as_fd());
        self.listener.as_ref().map(AsFd::as_fd).into_iter().chain(connections)
    }

    /// Answers whoever asks.
    pub fn serve(&mut self, run: &Watched<'_>) {
        if let Some(listener) = &self.listener {
            while let Ok(Some(socket)) = listener.accept() {
                if self.connections.len() < CONNECTIONS_MAX {
                    self.connections.push(Channel::new(socket));
                }
            }
        }
        self.connections.retain_mut(|channel| match channel.receive::<ControlRequest>() {
            Ok(Incoming::Nothing) => true,
            Ok(Incoming::Message(request, _)) => {
                let (reply, fd) = run.reply(&request);
                let fds: Vec<BorrowedFd<'_>> = fd.iter().map(AsFd::as_fd).collect();
                channel.send(&reply, &fds).is_ok()
            }
            Ok(Incoming::Gone) | Err(_) => false,
        });
    }
}

impl Watched<'_> {
    fn reply(&self, request: &ControlRequest) -> (ControlReply, Option<OwnedFd>) {
        let reply = match request {
            ControlRequest::Observe => match self.segment.read_only_fd() {
                Ok(fd) => {
                    let instruments = self.instruments.iter().map(InstrumentLine::of).collect();
                    return (ControlReply::Observed { instruments, more: false }, Some(fd));
                }
                Err(error) => ControlReply::Failed { text: error.to_string() },
            },
            ControlRequest::Status => ControlReply::Status(Box::new(self.status())),
            ControlRequest::Stages => match stage_lines(self.regions) {
                Ok(lines) => ControlReply::Stages(lines),
                Err(text) => ControlReply::Failed { text },
            },
            ControlRequest::Orders
            | ControlRequest::Positions
            | ControlRequest::Limits
            | ControlRequest::Snapshot
            | ControlRequest::Book { .. } => ControlReply::Failed {
                text: "that is in the gateway's process of the run, which nobody asks; positions \
                       are told at its end"
                    .to_owned(),
            },
            _ => ControlReply::Failed {
                text: format!(
                    "a run can be looked at, and is not an operator's: Ctrl-C, or SIGTERM to \
                     process {}, ends it",
                    process_id()
                ),
            },
        };
        (reply, None)
    }

    fn status(&self) -> Status {
        let counters = GatewayCounters::load(self.regions.gateway);
        let head = MarketReader::new(self.regions).map_or(0, |reader| reader.position());
        let has_read = self.strategy.beats > 0;
        let strategy = StrategyLine {
            name: "strategy".to_owned(),
            attached: self.is_fused || has_read,
            lag: if has_read { head.saturating_sub(self.strategy.position) } else { 0 },
            lapped: self.strategy.lapped,
            full: self.strategy.full,
            ..StrategyLine::default()
        };
        Status {
            name: run_name(),
            process: process_id(),
            up_seconds: self.up_seconds,
            venue: self.venue.to_owned(),
            order_entry: counters.logged_on != 0,
            order_address: self.orders.to_owned(),
            books_sound: counters.live != 0,
            instruments: self.instruments.len(),
            strategies: vec![strategy],
            counters: counters.named().map(|(name, count)| (name.to_owned(), count)).to_vec(),
            ..Status::default()
        }
    }
}

fn run_name() -> String {
    format!("run-{}", process_id())
}
