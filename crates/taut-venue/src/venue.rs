//! The loop: everything that is due, once, and when to come back.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use taut_book::OrderBook;
use taut_fix::{Dictionaries, Now, fix44};
use taut_sys::{Clock, POLL_FDS_MAX, TcpListener, UdpSocket, wait_readable};
use taut_types::Nanos;

use crate::channel::Channel;
use crate::clients::{Clients, LogOn};
use crate::config::VenueConfig;
use crate::connection::{Request, Terms};
use crate::counters::VenueCounters;
use crate::error::{During, VenueError};
use crate::exchange::Exchange;
use crate::orders::{SESSIONS_MAX, SessionId};
use crate::pacing::Flow;
use crate::sinks::{SINKS_MAX, Sinks};
use crate::snapshot::SnapshotCycle;

/// A venue that does not sleep looks for new connections this often.
const ACCEPT_INTERVAL: Nanos = Nanos::from_millis(1);
/// A client whose socket is full is tried again after this.
const FLUSH_INTERVAL: Nanos = Nanos::from_millis(1);
const _: () = assert!(2 + SESSIONS_MAX + SINKS_MAX <= POLL_FDS_MAX);

/// Where the market data goes: two sockets, connected to a multicast group or to one peer.
#[derive(Debug)]
pub struct FeedOutput {
    /// The incremental channel.
    pub incremental: UdpSocket,
    /// The snapshot channel.
    pub snapshot: UdpSocket,
}

/// An exchange for one instrument, driven by one thread.
#[derive(Debug)]
pub struct Venue {
    exchange: Exchange,
    clients: Clients,
    sinks: Sinks,
    snapshots: SnapshotCycle,
    flow_commands_per_poll: u32,
    heartbeat_interval: Nanos,
    cancel_on_disconnect: bool,
    accept_due: Nanos,
}

impl Venue {
    /// A venue whose book holds the flow's initial orders. The flow waits for
    /// [`Venue::start_flow`]. Takes all its memory here, but for what a client brings.
    ///
    /// # Errors
    /// [`VenueError::Config`], [`VenueError::InitialOrder`] and [`VenueError::Dictionary`].
    pub fn new(
        config: &VenueConfig,
        orders: TcpListener,
        sink: TcpListener,
        feed: FeedOutput,
        flow: Flow,
    ) -> Result<Self, VenueError> {
        config.check()?;
        let dictionary = fix44().map_err(VenueError::Dictionary)?;
        let terms = Terms {
            comp_id: config.comp_id,
            dictionaries: Dictionaries::one(Arc::new(dictionary)),
            output_bytes_max: config.pending_bytes_max,
        };
        let incremental = Channel::new(feed.incremental, "incremental channel");
        let snapshot = Channel::new(feed.snapshot, "snapshot channel");
        Ok(Self {
            exchange: Exchange::new(config, incremental, flow)?,
            clients: Clients::new(orders, terms),
            sinks: Sinks::new(sink),
            snapshots: SnapshotCycle::new(snapshot, config),
            flow_commands_per_poll: config.flow_commands_per_poll,
            heartbeat_interval: config.heartbeat_interval,
            cancel_on_disconnect: config.cancel_on_disconnect,
            accept_due: Nanos::ZERO,
        })
    }

    /// Stamps what is sent with this clock, read at every command, instead of the time of the poll.
    pub const fn set_clock(&mut self, clock: Clock) {
        self.exchange.set_clock(clock);
    }

    /// The flow's next step is due now; the later ones keep their distances.
    pub fn start_flow(&mut self, now: Nanos) {
        self.exchange.player.start(now);
    }

    /// The flow pauses; sessions and snapshots go on.
    pub fn stop_flow(&mut self) {
        self.exchange.player.stop();
    }

    /// Does everything that is due and returns whether there was anything: new connections, what
    /// clients sent, flow steps up to [`VenueConfig::flow_commands_per_poll`], a burst of the
    /// snapshot, timers. Cost without work: a system call for each connection.
    ///
    /// # Errors
    /// When a socket of the venue's own fails; nothing that a client does.
    pub fn poll(&mut self, now: Now) -> Result<bool, VenueError> {
        let mut worked = self.accept(now)?;
        worked |= self.serve_clients(now)?;
        worked |= self.sinks.drain();
        worked |= self.run_flow(now)?;
        worked |= self.run_feed(now)?;
        Ok(worked)
    }

    /// The monotonic time at which [`Venue::poll`] has something to do though nothing arrives.
    #[must_use]
    pub fn next_deadline(&self, now: Nanos) -> Nanos {
        let feed = self.snapshots.due().min(self.heartbeat_due());
        let flow = self.exchange.player.due();
        let clients = self.clients.due(now, FLUSH_INTERVAL);
        [flow, clients].into_iter().flatten().fold(feed, Nanos::min)
    }

    /// Calls `visit` with every descriptor to wait for: at most [`POLL_FDS_MAX`].
    pub fn for_each_fd<'a>(&'a self, mut visit: impl FnMut(BorrowedFd<'a>)) {
        visit(self.clients.listener().as_fd());
        visit(self.sinks.listener().as_fd());
        self.clients.connections().for_each(|connection| visit(connection.as_fd()));
        self.sinks.streams().for_each(|stream| visit(stream.as_fd()));
    }

    /// Sleeps until something arrives, the next deadline, a signal, or `span_max` is over; returns
    /// at once when something is due. Cost: one system call.
    ///
    /// # Errors
    /// What `ppoll(2)` says.
    pub fn wait(&mut self, now: Nanos, span_max: Nanos) -> Result<(), VenueError> {
        let span = self.next_deadline(now).since(now).min(span_max);
        if span <= Nanos::ZERO {
            return Ok(());
        }
        let mut fds = [self.clients.listener().as_fd(); POLL_FDS_MAX];
        let mut count = 0;
        self.for_each_fd(|fd| {
            if let Some(place) = fds.get_mut(count) {
                *place = fd;
                count += 1;
            }
        });
        let ready = wait_readable(fds.get(..count).unwrap_or_default(), Some(span));
        if ready.during("waiting for clients")? {
            self.accept_due = Nanos::ZERO;
        }
        Ok(())
    }

    /// What it has done.
    #[must_use]
    pub fn counters(&self) -> VenueCounters {
        let channels = [self.exchange.publisher.channel(), self.snapshots.channel()];
        VenueCounters {
            send_retries: channels.iter().map(|channel| channel.retries).sum(),
            send_failures: channels.iter().map(|channel| channel.failures).sum(),
            snapshots: self.snapshots.cycles_sent(),
            snapshot_packets: self.snapshots.packets_sent(),
            sessions: self.clients.logged_on,
            session_refusals: self.clients.refused,
            reports: self.clients.reports,
            ..self.exchange.counters()
        }
    }

    /// Whether the flow has no step left; a synthetic one always has.
    #[must_use]
    pub fn flow_finished(&self) -> bool {
        self.exchange.player.is_finished()
    }

    /// The book.
    #[must_use]
    pub const fn book(&self) -> &OrderBook {
        self.exchange.book()
    }

    /// How many clients are connected, logged on or not.
    #[must_use]
    pub fn connection_count(&self) -> usize {
        self.clients.count()
    }

    fn accept(&mut self, now: Now) -> Result<bool, VenueError> {
        if now.mono < self.accept_due {
            return Ok(false);
        }
        self.accept_due = now.mono + ACCEPT_INTERVAL;
        Ok(self.clients.accept(now)? | self.sinks.accept()?)
    }

    fn serve_clients(&mut self, now: Now) -> Result<bool, VenueError> {
        let mut worked = false;
        for slot in 0..SESSIONS_MAX {
            let Some((session, connection)) = self.clients.at(slot) else { continue };
            worked |= connection.receive();
            connection.handle_timeout(now);
            self.serve(now, session)?;
        }
        self.clients.flush();
        Ok(worked)
    }

    /// Does what a client asks for, until it has nothing more to ask.
    fn serve(&mut self, now: Now, session: SessionId) -> Result<(), VenueError> {
        while let Some((_, connection)) = self.clients.at(session.slot) {
            match connection.next_request(now) {
                None => break,
                Some(Request::LogOn(comp_id)) => match self.clients.log_on(session, comp_id) {
                    LogOn::First => self.exchange.begin_session(session),
                    LogOn::Again => {}
                    LogOn::Refused => self.clients.close(session),
                },
                Some(Request::NewOrder(order)) => {
                    self.exchange.new_order(now, session, &order, &mut self.clients)?;
                }
                Some(Request::Cancel(cancel)) => {
                    self.exchange.cancel(now, session, &cancel, &mut self.clients)?;
                }
                Some(Request::Leave) => self.leave(now, session)?,
            }
        }
        Ok(())
    }

    fn leave(&mut self, now: Now, session: SessionId) -> Result<(), VenueError> {
        if let Some((_, connection)) = self.clients.at(session.slot) {
            connection.transmit(now);
            connection.flush();
        }
        self.clients.close(session);
        if self.cancel_on_disconnect {
            self.exchange.cancel_all(now, session, &mut self.clients)?;
        }
        Ok(())
    }

    fn run_flow(&mut self, now: Now) -> Result<bool, VenueError> {
        for step in 0..self.flow_commands_per_poll {
            if self.exchange.player.due().is_none_or(|due| now.mono < due) {
                return Ok(step > 0);
            }
            self.exchange.step_flow(now, &mut self.clients)?;
        }
        Ok(true)
    }

    fn run_feed(&mut self, now: Now) -> Result<bool, VenueError> {
        let mut worked = false;
        if now.mono >= self.snapshots.due() {
            let Now { mono, utc } = self.exchange.stamp(now);
            let last_sequence = self.exchange.publisher.sequence();
            self.snapshots.burst(mono, utc, self.exchange.book(), last_sequence)?;
            worked = true;
        }
        if now.mono >= self.heartbeat_due() {
            let Now { mono, utc } = self.exchange.stamp(now);
            self.exchange.publisher.heartbeat(mono, utc)?;
            worked = true;
        }
        Ok(worked)
    }

    fn heartbeat_due(&self) -> Nanos {
        self.exchange.publisher.heartbeat_due(self.heartbeat_interval)
    }
}
