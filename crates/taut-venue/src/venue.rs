//! The loop: everything that is due, once, and when to come back.

mod journaled;
pub mod standby;

use std::collections::VecDeque;
use std::sync::Arc;

use taut_book::OrderBook;
use taut_engine::{Command, Phase};
use taut_fix::{CompId, Dictionaries, Now, fix44};
use taut_io::{
    Admission, Completion, Endpoint, EpollKernel, EventLoop, Handle, Handler, Io, Kernel,
    LoopConfig, WaitStrategy,
};
use taut_net::{TlsServerConfig, Wire};
use taut_sys::{Clock, DatagramOptions, StreamOptions};
use taut_types::{FeeRates, InstrumentId, Nanos};

use crate::book_state::BookState;
use crate::channel::Channel;
use crate::clients::{ClientIo, Clients, LogOn};
use crate::config::{OBSERVED, VenueConfig};
use crate::connection::{LOGON_TIMEOUT, Request, Terms};
use crate::counters::VenueCounters;
use crate::error::{During, VenueError};
use crate::exchange::Exchange;
use crate::identity::{ClientId, SessionId};
use crate::journal::Input;
use crate::lines::Lines;
use crate::members::MemberState;
use crate::observer::Observer;
use crate::orders::SESSIONS_MAX;
use crate::pacing::{Flow, FlowPlayer};
use crate::snapshot::SnapshotCycle;
use crate::stream::{CLIENTS_MAX, Streams};

/// Clients may all be on one host, and log on in time.
const ADMISSION: Admission = Admission {
    connections_max: SESSIONS_MAX,
    per_source_max: SESSIONS_MAX,
    handshake_timeout: Some(LOGON_TIMEOUT),
};
/// Three listeners (two for orders), the feed, their clients, one of each that is turned away, and
/// an observer's.
const SOURCES: usize = 3 + 4 + 2 * SESSIONS_MAX + CLIENTS_MAX + 3 + OBSERVED;
/// Reports that are sent together are written in pieces of this size.
const WRITE_BYTES: usize = 32 * 1_024;
/// Commands of the flow's beginning behind a restart that are executed between two looks at the
/// clients: they need not wait until all books are full again.
const BEGINNING_PER_POLL: u32 = 32;
/// Writes that may wait for a client that reads slowly; their bytes are limited too.
const WRITES_MAX: usize = 1 << 14;

/// What a venue is reached by.
#[derive(Debug)]
pub struct VenueSockets {
    /// Where clients connect.
    pub orders: Endpoint<StreamOptions>,
    /// Where the market data goes.
    pub feed: FeedOutput,
    /// Where a recorded venue's own feed is served over WebSocket: its frames, as they were
    /// recorded, to every client of `/stream`, and the book to who asks for it at `/ws-api`. Only a
    /// flow that has frames sends any: [`Flow::Binance`].
    pub stream: Option<Endpoint<StreamOptions>>,
}

/// Where the market data goes: sockets that are connected to a multicast group or to one peer.
#[derive(Debug)]
pub struct FeedOutput {
    /// The incremental channel's line A.
    pub incremental: Endpoint<DatagramOptions>,
    /// Its line B: the same packets again.
    pub incremental_b: Option<Endpoint<DatagramOptions>>,
    /// Where packets are asked for again, bound and not connected; answers go out of it too.
    pub retransmission: Option<Endpoint<DatagramOptions>>,
    /// The snapshot channel.
    pub snapshot: Endpoint<DatagramOptions>,
}

/// An exchange, driven by one thread. `K` is the kernel under its loop, `O` who
/// looks on.
#[derive(Debug)]
pub struct Venue<K: Kernel = EpollKernel, O = ()> {
    events: EventLoop<K>,
    connections: Connections,
    exchange: Exchange,
    observer: O,
    snapshots: SnapshotCycle,
    /// What is left of the flow's beginning behind a restart: commands in their places.
    flow_begins: VecDeque<(usize, Command)>,
    flow_rests: bool,
    flow_commands_per_poll: u32,
    heartbeat_interval: Nanos,
    cancel_on_disconnect: bool,
    reset_on_logon: bool,
    stream_id: u32,
}

/// Who is connected. Requests are served between the loop's turns.
#[derive(Debug)]
struct Connections {
    /// A standby takes no orders.
    orders: Option<Handle>,
    /// The same over TLS, with the venue's certificate.
    orders_tls: Option<(Handle, TlsServerConfig)>,
    requests: Option<Handle>,
    clients: Clients,
    streams: Streams,
    /// The time of the turn.
    now: Now,
}

impl Venue {
    /// A venue whose book holds the flow's initial orders. The flow waits for
    /// [`Venue::start_flow`]. Takes all its memory here, but for what a client brings.
    ///
    /// # Errors
    /// [`VenueError::Config`], [`VenueError::InitialOrder`] and [`VenueError::Dictionary`].
    pub fn new(
        config: &VenueConfig,
        sockets: VenueSockets,
        flow: Flow,
    ) -> Result<Self, VenueError> {
        let sources_max = Self::sources_max(config);
        let kernel = EpollKernel::new(sources_max).during("the venue's loop")?;
        Self::on_kernel(kernel, config, sockets, flow)
    }
}

impl<K: Kernel> Venue<K> {
    /// For how many sources a kernel needs room, with an observer of the usual size.
    pub const SOURCES_MAX: usize = SOURCES;

    /// The same with the configured room for an observer's.
    #[must_use]
    pub const fn sources_max(config: &VenueConfig) -> usize {
        SOURCES - OBSERVED + config.observer_sources
    }

    /// As [`Venue::new`], on any kernel with room for [`Venue::SOURCES_MAX`] sources.
    ///
    /// # Errors
    /// As [`Venue::new`].
    pub fn on_kernel(
        kernel: K,
        config: &VenueConfig,
        sockets: VenueSockets,
        flow: Flow,
    ) -> Result<Self, VenueError> {
        let VenueSockets { orders, mut feed, stream } = sockets;
        let retransmission = feed.retransmission.take();
        let mut venue = Self::closed(kernel, config, feed, flow)?;
        venue.listen(orders, retransmission)?;
        venue.connections.streams = Streams::new(venue.events.io(), stream)?;
        Ok(venue)
    }

    /// A venue that takes no orders and no requests yet.
    fn closed(
        kernel: K,
        config: &VenueConfig,
        feed: FeedOutput,
        flow: Flow,
    ) -> Result<Self, VenueError> {
        config.check()?;
        let dictionary = fix44().map_err(VenueError::Dictionary)?;
        let terms = Terms {
            comp_id: config.comp_id,
            dictionaries: Dictionaries::one(Arc::new(dictionary)),
            versions: config.fix_versions.as_slice().into(),
            write_bytes_max: config.pending_bytes_max.clamp(1, WRITE_BYTES),
            reset_on_logon: config.reset_on_logon,
            holds: false,
            members: config.members.iter().map(|member| member.comp_id).collect(),
        };
        let sizes = LoopConfig {
            sources_max: Self::sources_max(config),
            timers_max: Self::sources_max(config),
            posts_max: 1,
            write_bytes_max: config.pending_bytes_max,
            writes_max: WRITES_MAX,
            receives_per_visit: 1,
            ..LoopConfig::default()
        };
        let mut events = EventLoop::new(kernel, sizes).during("the venue's loop")?;
        let io = events.io();
        let line_b = feed.incremental_b.map(|socket| io.datagram_on(socket)).transpose()?;
        let lines = Lines::new(
            Channel::new(io.datagram_on(feed.incremental)?, "line A"),
            line_b.map(|socket| Channel::new(socket, "line B")),
            config.loss,
            config.retransmit,
            config.stream_id,
        );
        let snapshot = Channel::new(io.datagram_on(feed.snapshot)?, "snapshot channel");
        let streams = Streams::new(io, None)?;
        let (clients, now) = (Clients::new(terms), Now::default());
        Ok(Self {
            events,
            connections: Connections {
                orders: None,
                orders_tls: None,
                requests: None,
                clients,
                streams,
                now,
            },
            exchange: Exchange::new(config, lines, flow)?,
            observer: (),
            snapshots: SnapshotCycle::new(snapshot, config),
            flow_begins: VecDeque::new(),
            flow_rests: false,
            flow_commands_per_poll: config.flow_commands_per_poll,
            heartbeat_interval: config.heartbeat_interval,
            cancel_on_disconnect: config.cancel_on_disconnect,
            reset_on_logon: config.reset_on_logon,
            stream_id: config.stream_id,
        })
    }

    /// Takes orders and requests for packets from now on.
    fn listen(
        &mut self,
        orders: Endpoint<StreamOptions>,
        retransmission: Option<Endpoint<DatagramOptions>>,
    ) -> Result<(), VenueError> {
        let io = self.events.io();
        self.connections.orders = Some(io.listen_on(orders, &ADMISSION)?);
        let requests = retransmission.map(|socket| io.datagram_on(socket)).transpose()?;
        if let Some(requests) = requests {
            io.receive(requests)?;
        }
        self.connections.requests = requests;
        Ok(())
    }

    /// The same venue under the eyes of an observer.
    ///
    /// # Errors
    /// What the observer says.
    pub fn with_observer<O: Observer<K>>(self, mut observer: O) -> Result<Venue<K, O>, VenueError> {
        let Self { mut events, connections, exchange, observer: (), snapshots, .. } = self;
        observer.on_start(events.io())?;
        for place in 0..exchange.listings().len() {
            if let Some(book) = exchange.book(place) {
                observer.on_book(place, book);
            }
        }
        Ok(Venue {
            events,
            connections,
            exchange,
            observer,
            snapshots,
            flow_begins: self.flow_begins,
            flow_rests: self.flow_rests,
            flow_commands_per_poll: self.flow_commands_per_poll,
            heartbeat_interval: self.heartbeat_interval,
            cancel_on_disconnect: self.cancel_on_disconnect,
            reset_on_logon: self.reset_on_logon,
            stream_id: self.stream_id,
        })
    }
}

impl<K: Kernel, O: Observer<K>> Venue<K, O> {
    /// Stamps what is sent with this clock, read at every command, instead of the time of the poll.
    pub const fn set_clock(&mut self, clock: Clock) {
        self.exchange.set_clock(clock);
    }

    /// What trades cost from here on, by the number of their instrument: their reports say it as
    /// Commission (12), with who was there first (LastLiquidityInd, 851). Before the journal: fees
    /// that change while inputs are written down are not written down.
    pub fn set_fees(&mut self, fees: &[FeeRates]) {
        self.exchange.set_fees(fees);
    }

    /// Takes orders over TLS, too: up to 64 connections more, which the same clients make to the
    /// same sessions. Costs a copy of what is received, and what TLS costs.
    ///
    /// # Errors
    /// What the system says of the listener.
    pub fn listen_tls(
        &mut self,
        orders: Endpoint<StreamOptions>,
        identity: TlsServerConfig,
    ) -> Result<(), VenueError> {
        let listener = self.events.io().listen_on(orders, &ADMISSION)?;
        self.connections.orders_tls = Some((listener, identity));
        Ok(())
    }

    /// Halts an instrument, or has it trade again, and says so on the feed; whether that is new. A
    /// halted one takes no new order; its orders stay, and can be cancelled.
    ///
    /// # Errors
    /// As [`set_phase`](Self::set_phase).
    pub fn set_halted(
        &mut self,
        now: Now,
        instrument: InstrumentId,
        is_halted: bool,
    ) -> Result<bool, VenueError> {
        let phase = if is_halted { Phase::Halted } else { Phase::Continuous };
        self.set_phase(now, instrument, phase)
    }

    /// Has an instrument come to a phase, and says so on the feed; whether that is new. What was
    /// collected trades where continuous trading or the end of the day follows. It stays in the
    /// phase until the next one of [`VenueConfig::schedule`].
    ///
    /// # Errors
    /// [`VenueError::Config`] when it is not traded here; when a socket of the venue's own fails.
    pub fn set_phase(
        &mut self,
        now: Now,
        instrument: InstrumentId,
        phase: Phase,
    ) -> Result<bool, VenueError> {
        let Some(place) = self.exchange.listings.place_of(instrument) else {
            let (setting, remedy) = ("instrument", "one that is traded here");
            return Err(VenueError::Config { setting, remedy });
        };
        let (io, observer) = (self.events.io(), &mut self.observer);
        let mut out = ClientIo { clients: &mut self.connections.clients, io, observer };
        self.exchange.begin(now, &out);
        let is_new = self.exchange.set_phase(now, place, (phase, Nanos::ZERO), &mut out)?;
        self.exchange.settle(now, &mut out)?;
        Ok(is_new)
    }

    /// Stops a member, or has it trade again; whether that is new. The orders of one that is
    /// stopped are cancelled, and new ones and replacements are refused: it may stay connected, and
    /// hears why. It is stopped until it is allowed again, also behind a restart.
    ///
    /// # Errors
    /// [`VenueError::Config`] when nobody of this CompID is a member or was here; when a socket of
    /// the venue's own fails.
    pub fn set_killed(
        &mut self,
        now: Now,
        member: CompId,
        is_killed: bool,
    ) -> Result<bool, VenueError> {
        let (io, observer) = (self.events.io(), &mut self.observer);
        let mut out = ClientIo { clients: &mut self.connections.clients, io, observer };
        let is_member = self.exchange.members.is_listed(member);
        if !is_member && out.clients.known_as(member).is_none() {
            let (setting, remedy) = ("member", "one of the venue's, or a client that was here");
            return Err(VenueError::Config { setting, remedy });
        }
        self.exchange.begin(now, &out);
        self.exchange.set_killed(now, member, is_killed, &mut out)
    }

    /// Takes back the trade of which a report with this ExecID (17) told, of either side; whether
    /// that is new. Both sides get a report TradeCancel (ExecType H) with ExecRefID (19), and their
    /// positions are what they were. The quantity is not entered again: an open order asks for so
    /// much less, and one that was filled counts as cancelled. The last 4,096 trades of clients are
    /// remembered, also behind a restart.
    ///
    /// # Errors
    /// [`VenueError::Config`] when no such trade is remembered; when a socket of the venue's own
    /// fails.
    pub fn bust(&mut self, now: Now, exec_id: u64) -> Result<bool, VenueError> {
        let (io, observer) = (self.events.io(), &mut self.observer);
        let mut out = ClientIo { clients: &mut self.connections.clients, io, observer };
        self.exchange.begin(now, &out);
        let (setting, remedy) = ("exec_id", "that of a report of one of the last 4096 trades");
        let busted = self.exchange.bust(now, exec_id, &mut out)?;
        busted.ok_or(VenueError::Config { setting, remedy })
    }

    /// How the members stand, and clients that are none where everybody is let in. Allocates.
    #[must_use]
    pub fn members(&self) -> Vec<MemberState> {
        let Exchange { members, orders, .. } = &self.exchange;
        let clients = &self.connections.clients;
        let here: Vec<(CompId, bool)> = clients.comp_ids().collect();
        let is_new = |it: &CompId| here.iter().all(|(comp_id, _)| comp_id != it);
        let away = members.comp_ids().filter(is_new).map(|comp_id| (comp_id, false));
        let state = |(comp_id, is_connected)| MemberState {
            comp_id,
            is_connected,
            is_killed: members.is_killed(comp_id),
            open_orders: clients.known_as(comp_id).map_or(0, |it| orders.open_count_of(it)),
        };
        here.iter().copied().chain(away).map(state).collect()
    }

    /// The flow's next step is due now; the later ones keep their distances.
    pub fn start_flow(&mut self, now: Nanos) {
        self.flow_rests = false;
        self.exchange.player.start(now);
    }

    /// The flow pauses; sessions and snapshots go on.
    pub fn stop_flow(&mut self) {
        self.flow_rests = true;
        self.exchange.player.stop();
    }

    /// Does everything that is due and returns whether there was anything: new connections, what
    /// clients sent, flow steps up to [`VenueConfig::flow_commands_per_poll`], a burst of the
    /// snapshot, timers. Cost without work: one system call.
    ///
    /// # Errors
    /// When a socket of the venue's own fails; nothing that a client does.
    pub fn poll(&mut self, now: Now) -> Result<bool, VenueError> {
        self.connections.now = now;
        let arrived = self
            .events
            .poll(&mut Turn::of(&mut self.connections, &mut self.exchange, &mut self.observer))
            .during("the venue's loop")?;
        let mut worked = arrived > 0;
        worked |= self.run_phases(now)?;
        self.serve_clients(now)?;
        worked |= self.run_flow(now)?;
        worked |= self.serve_observer(now)?;
        worked |= self.run_feed(now)?;
        Ok(worked)
    }

    /// The monotonic time at which [`Venue::poll`] has something to do though nothing arrives.
    #[must_use]
    pub fn next_deadline(&self) -> Nanos {
        if !self.flow_begins.is_empty() && !self.flow_rests {
            return Nanos::ZERO;
        }
        let feed = self.snapshots.due().min(self.heartbeat_due());
        // The schedule is in UTC: from one turn to the next both clocks go the same way.
        let Now { mono, utc } = self.connections.now;
        let phases = mono.0.saturating_add(self.exchange.phases_due().0.saturating_sub(utc.0));
        let feed = feed.min(Nanos(phases));
        let flow = self.exchange.player.due();
        let clients = self.connections.clients.due();
        [flow, clients, self.observer.due()].into_iter().flatten().fold(feed, Nanos::min)
    }

    /// Sleeps until something arrives, the next deadline, or `span_max` is over; returns at once
    /// when something is due. What arrived is served by the next poll. Cost: one system call, and
    /// one for each connection that has something.
    ///
    /// # Errors
    /// What `epoll_wait(2)` says.
    pub fn wait(&mut self, now: Nanos, span_max: Nanos) -> Result<(), VenueError> {
        let span = self.next_deadline().since(now).min(span_max);
        if span <= Nanos::ZERO {
            return Ok(());
        }
        let mut turn = Turn::of(&mut self.connections, &mut self.exchange, &mut self.observer);
        let mut once = |io: &mut Io<K>, completion: Completion<'_>| {
            turn.complete(io, completion);
            io.stop();
        };
        self.events.run_for(&mut once, WaitStrategy::Block, span).during("waiting for clients")
    }

    /// What it has done.
    #[must_use]
    pub fn counters(&self) -> VenueCounters {
        let channels =
            || self.exchange.publisher.lines.channels().chain([self.snapshots.channel()]);
        let came_to = |listener: Option<Handle>| {
            let counters = listener.map(|it| self.events.admission_counters(it).ok());
            counters.flatten().unwrap_or_default()
        };
        VenueCounters {
            send_retries: channels().map(|channel| channel.retries).sum(),
            send_failures: channels().map(|channel| channel.failures).sum(),
            snapshots: self.snapshots.cycles_sent(),
            snapshot_packets: self.snapshots.packets_sent(),
            sessions: self.connections.clients.logged_on,
            session_refusals: self.connections.clients.refused,
            reports: self.connections.clients.reports,
            order_connections: came_to(self.connections.orders),
            stream_connections: came_to(self.connections.streams.listener()),
            ..self.exchange.counters()
        }
    }

    /// Whether the flow has no step left; a synthetic one that trades always has.
    #[must_use]
    pub fn flow_finished(&self) -> bool {
        self.exchange.player.is_finished()
    }

    /// How often the recording of the instrument in this place of the configuration has come to its
    /// end ([`Flow::Replay`]).
    #[must_use]
    pub fn replay_ends(&self, place: usize) -> u64 {
        self.exchange.player.replay_ends(place)
    }

    /// The book of an instrument; nothing before its first order, or when it is not traded here.
    #[must_use]
    pub fn book_of(&self, instrument: InstrumentId) -> Option<&OrderBook> {
        self.exchange.book_of(instrument)
    }

    /// The first instrument's book.
    ///
    /// # Panics
    /// Never: there is an instrument, and its book from the start.
    #[must_use]
    pub fn book(&self) -> &OrderBook {
        self.exchange.book(0).expect("the first instrument's book")
    }

    /// What the book of an instrument comes to; nothing when it is not traded here. Allocates.
    /// Cost: linear in its orders.
    #[must_use]
    pub fn book_state(&self, instrument: InstrumentId) -> Option<BookState> {
        let place = self.exchange.listings.place_of(instrument)?;
        let listing = self.exchange.listings().get(place)?;
        let (phase, indicative) = (listing.phase, self.exchange.indicative(place));
        let state = BookState::of(&listing.instrument, self.exchange.book(place));
        Some(BookState { phase, indicative, ..state })
    }

    /// How many clients are connected, logged on or not.
    #[must_use]
    pub fn connection_count(&self) -> usize {
        self.connections.clients.count()
    }

    /// How many clients get the frames of a recorded venue.
    #[must_use]
    pub fn stream_count(&self) -> usize {
        self.connections.streams.subscribed()
    }

    /// The observer, to look at.
    #[must_use]
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer.
    pub const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// How many sockets the loop has: the venue's own, clients, an observer's.
    #[cfg(test)]
    pub(crate) fn source_count(&mut self) -> usize {
        self.events.io().source_count()
    }

    /// Phases come before what clients have sent.
    fn run_phases(&mut self, now: Now) -> Result<bool, VenueError> {
        let (clients, io, observer) =
            (&mut self.connections.clients, self.events.io(), &mut self.observer);
        self.exchange.run_phases(now, &mut ClientIo { clients, io, observer })
    }

    fn serve_clients(&mut self, now: Now) -> Result<(), VenueError> {
        for slot in 0..self.connections.clients.used() {
            let Some((session, connection)) = self.connections.clients.at(slot) else { continue };
            connection.handle_timeout(now);
            self.serve(now, session)?;
        }
        let (clients, io, observer) =
            (&mut self.connections.clients, self.events.io(), &mut self.observer);
        if !clients.is_sequenced() {
            // Everybody has heard of all that was executed.
            clients.flush(io);
            return Ok(());
        }
        self.exchange.settle(now, &mut ClientIo { clients, io, observer })
    }

    /// Does what a client asks for, until it has nothing more to ask.
    fn serve(&mut self, now: Now, session: SessionId) -> Result<(), VenueError> {
        let Self { connections, events, observer, .. } = self;
        let mut out = ClientIo { clients: &mut connections.clients, io: events.io(), observer };
        while let Some(request) = out.clients.next_request(now, session) {
            if let Request::LogOn { comp_id, is_new } = request {
                match out.clients.log_on(session, comp_id) {
                    LogOn::First(client) => {
                        out.prove(session);
                        self.exchange.members.welcome(client, comp_id);
                        if is_new {
                            self.exchange.begin_session(client);
                            out.clients.numbers_begin(client);
                        }
                        let version = out.clients.version(session);
                        out.write_down(now, &Input::LogOn { comp_id, is_new, version })?;
                    }
                    LogOn::Again => {
                        if let Some(client) = out.clients.client(session) {
                            out.clients.numbers_begin(client);
                            out.clients.write_numbers_of(now, client)?;
                        }
                    }
                    LogOn::Refused => _ = out.close(now, session),
                }
                continue;
            }
            if matches!(request, Request::Leave) {
                self.exchange.settle(now, &mut out)?;
                if let Some((_, connection)) = out.clients.at(session.slot) {
                    connection.transmit(now, out.io);
                }
                let Some(client) = out.close(now, session) else { continue };
                self.exchange.begin(now, &out);
                if self.cancel_on_disconnect {
                    self.exchange.cancel_all(now, client, &mut out);
                }
                self.exchange.finish(now, || Input::Leave { client }, &mut out)?;
                if self.reset_on_logon {
                    self.exchange.end_session(client);
                }
                continue;
            }
            // Nobody asks for anything before it is let in.
            let Some(client) = out.clients.client(session) else { continue };
            let sequence = out.clients.message_sequence();
            self.exchange.begin(now, &out);
            answer(&mut self.exchange, now, client, &request, &mut out);
            self.exchange.finish(now, || Input::Message { client, sequence }, &mut out)?;
        }
        Ok(())
    }

    /// Executes what the observer asks for, and gives it its turn to send.
    fn serve_observer(&mut self, now: Now) -> Result<bool, VenueError> {
        let mut worked = false;
        while let Some((place, command)) = self.observer.next_command(now) {
            worked = true;
            if place < self.exchange.listings().len() {
                let (io, observer) = (self.events.io(), &mut self.observer);
                let mut out = ClientIo { clients: &mut self.connections.clients, io, observer };
                self.exchange.begin(now, &out);
                self.exchange.execute(now, place, &command, &mut out);
                self.exchange.finish(now, || Input::Command { place, command }, &mut out)?;
                // Its events come before the next one is asked for.
                self.exchange.settle(now, &mut out)?;
            }
        }
        Ok(self.observer.on_turn(self.events.io(), now) | worked)
    }

    fn run_flow(&mut self, now: Now) -> Result<bool, VenueError> {
        let Connections { clients, streams, .. } = &mut self.connections;
        let (io, observer) = (self.events.io(), &mut self.observer);
        let mut out = ClientIo { clients, io, observer };
        let mut worked = false;
        let beginning_per_poll = if self.flow_rests { 0 } else { BEGINNING_PER_POLL };
        for _ in 0..beginning_per_poll {
            let Some((place, command)) = self.flow_begins.pop_front() else { break };
            worked = true;
            self.exchange.begin(now, &out);
            self.exchange.execute(now, place, &command, &mut out);
            self.exchange.finish(now, || Input::Command { place, command }, &mut out)?;
        }
        let commands_per_poll =
            if self.flow_begins.is_empty() { self.flow_commands_per_poll } else { 0 };
        for _ in 0..commands_per_poll {
            let is_due = self.exchange.player.due().is_some_and(|due| now.mono >= due);
            // Whoever reads slowly is waited for: a recording must not outrun its listeners.
            if !is_due || streams.is_behind() {
                break;
            }
            worked = true;
            if let Some(frame) = self.exchange.step_flow(now, &mut out)? {
                streams.send(out.io, self.exchange.player.frame(frame));
            }
        }
        if out.clients.waits() {
            self.exchange.settle(now, &mut out)?;
        }
        Ok(worked)
    }

    fn run_feed(&mut self, now: Now) -> Result<bool, VenueError> {
        let mut worked = false;
        if now.mono >= self.snapshots.due() {
            let now = self.exchange.stamp(now);
            let last_sequence = self.exchange.publisher.sequence();
            let Self { events, exchange, snapshots, .. } = self;
            let book = |place| exchange.book(place);
            snapshots.burst(events.io(), now, exchange.listings(), book, last_sequence)?;
            worked = true;
        }
        if now.mono >= self.heartbeat_due() {
            let Now { mono, utc } = self.exchange.stamp(now);
            self.exchange.publisher.heartbeat(self.events.io(), mono, utc)?;
            worked = true;
        }
        Ok(worked)
    }

    fn heartbeat_due(&self) -> Nanos {
        self.exchange.publisher.heartbeat_due(self.heartbeat_interval)
    }
}

/// Answers a message of a client.
fn answer(
    exchange: &mut Exchange,
    now: Now,
    client: ClientId,
    request: &Request,
    out: &mut ClientIo<'_, impl Kernel>,
) {
    match request {
        Request::NewOrder(order) => exchange.new_order(now, client, order, out),
        Request::Cancel(cancel) => exchange.cancel(now, client, cancel, out),
        Request::Replace(replace) => exchange.replace(now, client, replace, out),
        Request::Status(status) => exchange.status(now, client, status, out),
        Request::MassStatus(status) => exchange.mass_status(now, client, status, out),
        Request::Positions(request) => exchange.positions(now, client, request, out),
        Request::MassCancel(cancel) => exchange.mass_cancel(now, client, cancel, out),
        Request::LogOn { .. } | Request::Leave => {}
    }
}

/// Where the loop's completions go.
struct Turn<'v, O> {
    connections: &'v mut Connections,
    lines: &'v mut Lines,
    player: &'v FlowPlayer,
    observer: &'v mut O,
}

impl<'v, O> Turn<'v, O> {
    const fn of(
        connections: &'v mut Connections,
        exchange: &'v mut Exchange,
        observer: &'v mut O,
    ) -> Self {
        let Exchange { publisher, player, .. } = exchange;
        Self { connections, lines: &mut publisher.lines, player, observer }
    }
}

impl<K: Kernel, O: Observer<K>> Handler<K> for Turn<'_, O> {
    fn complete(&mut self, io: &mut Io<K>, completion: Completion<'_>) {
        let Connections { orders, orders_tls, requests, clients, streams, now } =
            &mut *self.connections;
        if orders_tls.is_some() && clients.decrypt(io, &completion) {
            return;
        }
        match completion {
            Completion::Datagram { socket, bytes, info } if *requests == Some(socket) => {
                let Some(from) = info.from else { return };
                // What the kernel does not take is lost, and asked for again.
                self.lines.answer(now.mono, &from, bytes, &mut |packet| {
                    let _ = io.send_to(socket, packet, Some(&from));
                });
                return;
            }
            Completion::Accepted { listener, stream, .. } if Some(listener) == *orders => {
                let taken = clients.accept(stream, None, *now);
                // A stream that broke meanwhile says so itself.
                let _ = if taken { io.receive(stream) } else { io.close(stream) };
                return;
            }
            Completion::Accepted { listener, stream, .. }
                if orders_tls.as_ref().is_some_and(|(it, _)| *it == listener) =>
            {
                let identity = orders_tls.as_ref().map(|(_, identity)| identity);
                let wire = Wire::start(io, stream, identity);
                if !wire.is_ok_and(|wire| clients.accept(stream, Some(wire), *now)) {
                    // A stream that broke meanwhile says so itself.
                    let _ = io.close(stream);
                }
                return;
            }
            Completion::Received { stream, bytes } => {
                if let Some(connection) = clients.on(stream) {
                    if !connection.receive(bytes) {
                        // The turn would receive on, and nobody takes requests out before its end.
                        io.stop();
                    }
                    return;
                }
            }
            Completion::Closed { source, .. } if clients.stranger_left(source) => return,
            Completion::Ended { stream: source } | Completion::Closed { source, .. } => {
                if let Some(connection) = clients.on(source) {
                    connection.broke();
                    return;
                }
            }
            _ => {}
        }
        if !streams.handle(io, &completion, self.player) {
            self.observer.on_completion(io, &completion);
        }
    }
}
