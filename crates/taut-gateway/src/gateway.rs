//! The gateway: requests first, then what the loop brings, orders before market data.

use std::os::fd::{AsFd, BorrowedFd};

use taut_book::LevelBook;
use taut_fix::Now;
use taut_io::{Completion, EpollKernel, EventLoop, Handle, Handler, Io, LoopConfig, Operation};
use taut_market_data::feed::Line;
use taut_sync::atomic::AtomicU64;
use taut_sys::{Clock, DatagramInfo, SysError};
use taut_types::{Lots, Nanos, SequenceNumber, Side};

use crate::client::Client;
use crate::config::GatewayConfig;
use crate::counters::GatewayCounters;
use crate::error::GatewayError;
use crate::feed::{Feed, FeedSockets};
use crate::market::Market;
use crate::message::{OrderUpdate, Request, TickStamps};
use crate::order_entry::OrderSession;
use crate::probe::Probe;
use crate::regions::Recorders;

/// Packets of a channel after which the order session is looked at although more packets wait.
const PACKETS_IN_A_ROW: usize = 8;
/// Requests after which a packet is looked at although more requests wait.
const REQUESTS_IN_A_ROW: usize = 64;
/// Time between two rounds of housekeeping.
const HOUSEKEEPING: Nanos = Nanos::from_millis(1);
/// Orders, the sink, two lines, snapshots, packets sent again.
const SOURCES: usize = 6;

/// A gateway: one instrument, one feed, one order session, one client, one thread.
#[derive(Debug)]
pub struct Gateway<'m, C> {
    events: EventLoop<EpollKernel>,
    core: Core<'m, C>,
    housekeeping_due: Nanos,
}

/// What the loop's completions go to.
#[derive(Debug)]
struct Core<'m, C> {
    clock: Clock,
    feed: Feed,
    market: Market,
    orders: OrderSession,
    probe: Option<Probe>,
    client: C,
    recorders: Recorders<'m>,
    shared_counters: &'m [AtomicU64],
    /// See [`GatewayConfig::hot`].
    hot: bool,
    /// When the last receive call of each line returned, and of the snapshots: all its datagrams
    /// were received then, whatever is sent before their turn comes.
    received: [Nanos; 4],
    /// Why the gateway cannot go on.
    fault: Option<GatewayError>,
}

impl<'m, C: Client> Gateway<'m, C> {
    /// Connects to the venue. `shared_counters` is where [`GatewayCounters`] are written to.
    ///
    /// # Errors
    /// When the venue cannot be reached.
    pub fn new(
        config: &GatewayConfig,
        clock: Clock,
        sockets: FeedSockets,
        client: C,
        recorders: Recorders<'m>,
        shared_counters: &'m [AtomicU64],
    ) -> Result<Self, GatewayError> {
        let mono = clock.now();
        let now = Now { mono, utc: clock.utc_at(mono) };
        let sizes = LoopConfig {
            sources_max: SOURCES,
            timers_max: SOURCES,
            posts_max: 1,
            receives_per_visit: PACKETS_IN_A_ROW,
            completions_per_turn: PACKETS_IN_A_ROW,
            ..LoopConfig::default()
        };
        let mut events = EventLoop::new(EpollKernel::new(SOURCES)?, sizes)?;
        let io = events.io();
        let asks = sockets.retransmission.is_some();
        let feed = Feed::new(io, sockets, config.hot)?;
        let core = Core {
            clock,
            feed,
            market: Market::new(config, asks, mono),
            orders: OrderSession::connect(config, io, now)?,
            probe: config.sink_address.map(|sink| Probe::connect(io, sink, mono)).transpose()?,
            client,
            recorders,
            shared_counters,
            hot: config.hot,
            received: [mono; 4],
            fault: None,
        };
        Ok(Self { events, core, housekeeping_due: mono })
    }

    /// One round; whether there was something to do. Never blocks, and allocates nothing.
    ///
    /// # Errors
    /// What ends the gateway.
    #[inline]
    pub fn poll(&mut self) -> Result<bool, GatewayError> {
        self.turn(EventLoop::poll)
    }

    /// As [`Gateway::poll`], for at most one datagram or one batch of reports: for who looks at the
    /// gateway in between.
    ///
    /// # Errors
    /// What ends the gateway.
    pub fn poll_one(&mut self) -> Result<bool, GatewayError> {
        self.turn(EventLoop::poll_one)
    }

    #[inline]
    fn turn(
        &mut self,
        look: impl FnOnce(&mut EventLoop<EpollKernel>, &mut Core<'m, C>) -> Result<usize, SysError>,
    ) -> Result<bool, GatewayError> {
        let Self { events, core, .. } = self;
        let mut worked = core.serve_requests(events.io())?;
        worked |= look(events, core)? > 0;
        if let Some(fault) = core.fault {
            return Err(fault);
        }
        if !worked {
            worked = core.look_at_line_b(events.io())?;
        }
        if !worked {
            core.probe_send(events.io())?;
        }
        Ok(worked)
    }

    /// Timers, and what others may read; call it in every round that found nothing. Does something
    /// about once a millisecond, and says whether it did.
    ///
    /// # Errors
    /// What ends the gateway.
    pub fn housekeeping(&mut self) -> Result<bool, GatewayError> {
        let now = self.core.clock.now();
        if now < self.housekeeping_due {
            return Ok(false);
        }
        self.housekeeping_due = now + HOUSEKEEPING;
        self.core.watch_feed(self.events.io(), now)?;
        let Core { clock, orders, client, shared_counters, .. } = &mut self.core;
        orders.handle_timeout(self.events.io(), clock)?;
        client.timer(clock);
        let shared_counters = *shared_counters;
        self.counters().store(shared_counters);
        Ok(true)
    }

    /// Asks the venue to end the order session.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn logout(&mut self) -> Result<(), GatewayError> {
        self.core.orders.logout(self.events.io(), &self.core.clock)
    }

    /// Whether the order session ended in good order.
    #[must_use]
    pub const fn is_logged_out(&self) -> bool {
        self.core.orders.is_logged_out()
    }

    /// Whether the book can be trusted and orders can be sent.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.core.market.is_live() && self.core.orders.is_active()
    }

    /// Whether everything up to this packet was applied or covered by a snapshot.
    #[must_use]
    pub fn has_caught_up_with(&self, last: SequenceNumber) -> bool {
        self.core.market.is_live() && self.core.market.sequencer().lost(last) == 0
    }

    /// Takes over a newer clock mapping.
    pub const fn clock_mut(&mut self) -> &mut Clock {
        &mut self.core.clock
    }

    /// The client, to look at.
    #[must_use]
    pub const fn client(&self) -> &C {
        &self.core.client
    }

    /// The client.
    pub const fn client_mut(&mut self) -> &mut C {
        &mut self.core.client
    }

    /// The book.
    #[must_use]
    pub const fn book(&self) -> &LevelBook {
        self.core.market.book()
    }

    /// Bought less sold.
    #[must_use]
    pub const fn position(&self) -> Lots {
        self.core.orders.risk().position()
    }

    /// What to wait for when there is nothing to do: readable when the loop has something. Only
    /// for a gateway whose sockets are not hot.
    #[must_use]
    pub fn fd(&mut self) -> BorrowedFd<'_> {
        self.events.io().kernel().set().as_fd()
    }

    /// Everything counted so far.
    #[must_use]
    pub fn counters(&self) -> GatewayCounters {
        let feed = self.core.market.sequencer().counters();
        let answers = self.core.orders.table().answers();
        let book = self.core.market.book();
        let arbiter = self.core.market.arbiter();
        let [a, b, again] = [Line::A, Line::B, Line::Retransmission].map(|line| arbiter.line(line));
        GatewayCounters {
            ticks: feed.applied,
            recovered: feed.recovered,
            highest_seen: feed.highest_seen,
            gaps: feed.gaps,
            snapshots: feed.snapshots_used,
            line_a: a.packets,
            line_a_first: a.first,
            line_b: b.packets,
            line_b_first: b.first,
            silences: a.silences + b.silences,
            retransmit_requests: arbiter.restarts_and_requests().1,
            retransmitted: again.first,
            malformed: self.core.market.malformed(),
            receive_errors: self.core.feed.receive_errors(),
            live: self.core.market.is_live().into(),
            bid_levels: book.level_count(Side::Buy) as u64,
            ask_levels: book.level_count(Side::Sell) as u64,
            logged_on: self.core.orders.is_active().into(),
            orders: answers.orders,
            acks: answers.acks,
            order_rejects: answers.order_rejects,
            risk_rejects: self.core.orders.risk_rejects(),
            refused: self.core.orders.refused(),
            fills: answers.fills,
            cancel_requests: answers.cancel_requests,
            cancels: answers.cancels,
            cancel_rejects: answers.cancel_rejects,
            expired: answers.expired,
            repeated_reports: self.core.orders.repeated_reports(),
            unanswered: answers.unanswered(),
            bare_sends: self.core.probe.as_ref().map_or(0, Probe::count),
        }
    }
}

impl<C: Client> Core<'_, C> {
    /// Requests come before market data: an order that waits costs more than a tick that waits.
    #[inline]
    fn serve_requests(&mut self, io: &mut Io<EpollKernel>) -> Result<bool, GatewayError> {
        for served in 0..REQUESTS_IN_A_ROW {
            let Some(request) = self.client.next_request() else { return Ok(served > 0) };
            self.serve(io, &request)?;
        }
        Ok(true)
    }

    #[inline]
    fn serve(&mut self, io: &mut Io<EpollKernel>, request: &Request) -> Result<(), GatewayError> {
        let reference = self.market.reference();
        let recorders = &mut self.recorders;
        let told = self.orders.handle_request(io, &self.clock, request, reference, recorders)?;
        match told {
            Some(update) => tell(&mut self.client, &self.clock, &update),
            None => Ok(()),
        }
    }

    #[inline]
    fn handle(
        &mut self,
        io: &mut Io<EpollKernel>,
        completion: &Completion<'_>,
    ) -> Result<(), GatewayError> {
        match *completion {
            Completion::Datagram { socket, bytes, info } => {
                let line = self.feed.line_of(socket);
                let received = self.receive_time(line, info);
                let stamps = match line {
                    Some(line) => {
                        let market = &mut self.market;
                        let stamps = market.handle_increment(&self.clock, received, line, bytes)?;
                        if stamps.is_measured() {
                            self.feed.ticked(line, received);
                        }
                        stamps
                    }
                    None => {
                        self.market.handle_snapshot(received, bytes)?;
                        TickStamps::NONE
                    }
                };
                self.pass_on(io, stamps)
            }
            Completion::Received { stream, bytes } if stream == self.orders.stream() => {
                let Self { clock, client, orders, recorders, .. } = self;
                let received = clock.now();
                let pass_on = |update: &OrderUpdate| tell(client, clock, update);
                orders.receive(io, (clock, received), bytes, recorders, pass_on)
            }
            Completion::Connected { stream } => self.connected(io, stream),
            Completion::Failed { source, operation: Operation::Connect, error, .. }
                if source == self.orders.stream() =>
            {
                Err(GatewayError::Unreachable(error))
            }
            Completion::Ended { stream: source } | Completion::Closed { source, .. }
                if source == self.orders.stream() =>
            {
                self.orders.venue_closed()
            }
            Completion::Failed { source, operation: Operation::Receive, error, .. } => {
                self.feed.receive_failed(source, error);
                Ok(())
            }
            // The sink's end is the venue's end, and a socket that must not be read any more says
            // that it is not.
            _ => Ok(()),
        }
    }

    /// When the call returned that received the datagram which is handed over.
    #[inline]
    fn receive_time(&mut self, line: Option<Line>, info: &DatagramInfo) -> Nanos {
        let [a, b, again, snapshot] = &mut self.received;
        let received = match line {
            Some(Line::A) => a,
            Some(Line::B) => b,
            Some(Line::Retransmission) => again,
            None => snapshot,
        };
        if info.first_of_call {
            *received = self.clock.now();
        }
        *received
    }

    /// A packet of line B, when there is time for it.
    #[inline]
    fn look_at_line_b(&mut self, io: &mut Io<EpollKernel>) -> Result<bool, GatewayError> {
        if !self.hot {
            return Ok(false);
        }
        let (clock, market) = (&self.clock, &mut self.market);
        let Some(bytes) = self.feed.look_at_line_b(clock.now()) else { return Ok(false) };
        let received = clock.now();
        let stamps = market.handle_increment(clock, received, Line::B, bytes)?;
        if stamps.is_measured() {
            self.feed.ticked(Line::B, received);
        }
        self.pass_on(io, stamps)?;
        Ok(true)
    }

    /// Silent lines and gaps that last: the client hears of the one, the venue of the other.
    fn watch_feed(&mut self, io: &mut Io<EpollKernel>, now: Nanos) -> Result<(), GatewayError> {
        self.market.handle_timeout(now)?;
        if !self.market.events().is_empty() {
            self.pass_on(io, TickStamps::NONE)?;
        }
        while let Some(request) = self.market.poll_request() {
            self.feed.ask(io, &request);
        }
        Ok(())
    }

    /// Tells the client what a datagram changed, and serves what it answers.
    #[inline]
    fn pass_on(
        &mut self,
        io: &mut Io<EpollKernel>,
        stamps: TickStamps,
    ) -> Result<(), GatewayError> {
        // A copy and a heartbeat change nothing.
        if !self.market.events().is_empty() {
            self.client.market(&self.clock, stamps, self.market.events());
        }
        self.serve_requests(io)?;
        self.feed.set_recovering(io, !self.market.is_live())
    }

    #[cold]
    fn connected(&mut self, io: &mut Io<EpollKernel>, stream: Handle) -> Result<(), GatewayError> {
        // A stream that is connected, and the sink whose end nobody awaits, are looked at without
        // asking, or not at all.
        let is_order_entry = stream == self.orders.stream();
        io.set_hot(stream, self.hot || !is_order_entry)?;
        if is_order_entry {
            return self.orders.connected(io, &self.clock);
        }
        if let Some(probe) = &mut self.probe
            && stream == probe.stream()
        {
            probe.connected();
        }
        Ok(())
    }

    fn probe_send(&mut self, io: &mut Io<EpollKernel>) -> Result<(), GatewayError> {
        match &mut self.probe {
            Some(probe) => {
                probe.poll(io, &self.clock, self.orders.last_order(), &mut self.recorders)
            }
            None => Ok(()),
        }
    }
}

impl<C: Client> Handler<EpollKernel> for Core<'_, C> {
    #[inline]
    fn complete(&mut self, io: &mut Io<EpollKernel>, completion: Completion<'_>) {
        if let Err(fault) = self.handle(io, &completion) {
            self.fault.get_or_insert(fault);
            io.stop();
        }
    }
}

fn tell<C: Client>(
    client: &mut C,
    clock: &Clock,
    update: &OrderUpdate,
) -> Result<(), GatewayError> {
    if client.order_update(clock, update) { Ok(()) } else { Err(GatewayError::StrategyStalled) }
}
