//! The gateway: requests first, then what the loop brings, orders before market data.

mod added;
mod besides;
mod counted;
mod known;
mod limits;
mod operator;
mod rounds;
mod sleeper;
mod telling;
mod told;
mod wire;

use taut_book::LevelBook;
use taut_fix::Now;
use taut_io::{
    Completion, EpollKernel, EventLoop, Handle, Handler, Io, Kernel, LoopConfig, Operation,
};
use taut_market_data::{FeedHandler, FeedRequest, Source};
use taut_oms::{InstrumentStatus, Reference};
use taut_sync::atomic::AtomicU64;
use taut_sys::{Address, Clock, DatagramInfo, SysError, tape};
use taut_types::{Instrument, InstrumentId, Nanos, SequenceNumber};

use crate::client::Client;
use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::feed::{Feed, FeedInput};
use crate::market::Market;
use crate::message::{GatewayEvent, OrderUpdate, Request, RequestKind, TickStamps};
use crate::observer::Observer;
use crate::order_entry::OrderSession;
use crate::order_entry::fix44::Fix44;
use crate::order_entry::handler::OrderHandler;
use crate::regions::{Recorders, Regions};
use crate::stream::Streams;
use known::Known;
use told::Told;

/// Packets of a channel after which the order session is looked at although more packets wait.
const PACKETS_IN_A_ROW: usize = 8;
/// Requests after which a packet is looked at although more requests wait.
const REQUESTS_IN_A_ROW: usize = 64;
/// Time between two rounds of housekeeping.
const HOUSEKEEPING: Nanos = Nanos::from_millis(1);
/// How often the open orders of what is killed are cancelled: a cancel may find no session, or be
/// refused.
const CANCEL_AGAIN: Nanos = Nanos::from_millis(100);
/// Updates of orders that one receive may bring without memory being taken for them.
const UPDATES: usize = 1_024;
/// How long an answer to a tick is waited for before the sockets are looked at again. A strategy in
/// another process that spins answers within some 300 ns; looking at the sockets takes longer, and
/// an order overtakes the packets that wait there.
const ANSWER_TIME: Nanos = Nanos(500);
/// Idle rounds after which the way of an order is rehearsed: each looks at the sockets, in system
/// calls, beside which one rehearsal in so many rounds takes little.
const IDLE_ROUNDS_PER_REHEARSAL: u32 = 4;
/// Orders; two lines, snapshots, packets sent again (or two streams), and the same once more for a
/// backup; some of an observer.
const SOURCES: usize = 16;

/// A gateway: one feed, one order session, one thread; many instruments and strategies.
///
/// `F` is the venue's market data, `H` its order entry; `C` is where the strategies live; `K` is
/// the kernel under the loop, and `O` who looks on. All times are the [`Clock`]'s: on a simulated
/// kernel, whoever turns its clock sets that of the gateway ([`Gateway::clock_mut`]).
#[derive(Debug)]
pub struct Gateway<'m, C, F, K: Kernel = EpollKernel, O = (), H = Fix44> {
    events: EventLoop<K>,
    core: Core<'m, C, F, O, H>,
    housekeeping_due: Nanos,
    cancel_due: Nanos,
}

/// What the loop's completions go to.
#[derive(Debug)]
struct Core<'m, C, F, O, H> {
    clock: Clock,
    feed: Feed,
    streams: Option<Box<Streams>>,
    instruments: Vec<Instrument>,
    market: Market<F>,
    orders: OrderSession<H>,
    /// What became of orders, until it is told.
    updates: Vec<OrderUpdate>,
    /// Whether orders could be sent, as the clients were told last.
    was_up: bool,
    /// A session has begun: what stayed killed without one is to be cancelled.
    came_up: bool,
    /// Every book was sound once, or has no room.
    has_joined: bool,
    /// Packets that snapshots had covered by then.
    recovered_at_start: u64,
    /// The instrument whose positions were valued last.
    marked: usize,
    observer: O,
    client: C,
    recorders: Recorders<'m>,
    shared_counters: &'m [AtomicU64],
    /// Where what happens is said, if somewhere.
    told: Option<Box<Told<'m>>>,
    /// See [`GatewayConfig::hot`].
    hot: bool,
    /// See [`GatewayConfig::keeps_warm`].
    keeps_warm: bool,
    /// Strategies elsewhere were told of a tick, and nothing has been looked at since.
    awaits_answer: bool,
    /// Rounds without work since an order was rehearsed.
    idle_rounds: u32,
    /// When the last receive call of each line returned, and of the snapshots: all its datagrams
    /// were received then, whatever is sent before their turn comes.
    received: [Nanos; Source::COUNT],
    /// Why the gateway cannot go on.
    fault: Option<GatewayError>,
}

impl<'m, C: Client, F: FeedHandler> Gateway<'m, C, F> {
    /// Connects to a venue that speaks FIX 4.4. `regions` hold what is measured and counted.
    ///
    /// # Errors
    /// When the venue cannot be reached.
    pub fn new(
        config: &GatewayConfig,
        clock: Clock,
        input: FeedInput,
        handler: F,
        client: C,
        regions: &Regions<'m>,
    ) -> Result<Self, GatewayError> {
        let kernel = EpollKernel::new(SOURCES)?;
        Self::on_kernel(kernel, config, clock, input, handler, client, regions)
    }
}

impl<'m, C: Client, F: FeedHandler, K: Kernel> Gateway<'m, C, F, K> {
    /// As [`Gateway::new`], on any kernel with room for sixteen sources.
    ///
    /// # Errors
    /// When the venue cannot be reached.
    pub fn on_kernel(
        kernel: K,
        config: &GatewayConfig,
        clock: Clock,
        input: FeedInput,
        handler: F,
        client: C,
        regions: &Regions<'m>,
    ) -> Result<Self, GatewayError> {
        let handlers = (handler, Fix44::new(config)?);
        Self::with_handlers(kernel, config, clock, input, handlers, client, regions)
    }
}

impl<'m, C: Client, F: FeedHandler, K: Kernel, H: OrderHandler> Gateway<'m, C, F, K, (), H> {
    /// As [`Gateway::on_kernel`], for any venue: what it is to who reads its market data and to who
    /// sends it orders.
    ///
    /// # Errors
    /// When the venue cannot be reached.
    pub fn with_handlers(
        kernel: K,
        config: &GatewayConfig,
        clock: Clock,
        input: FeedInput,
        (feed, orders): (F, H),
        client: C,
        regions: &Regions<'m>,
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
        let mut events = EventLoop::new(kernel, sizes)?;
        let io = events.io();
        let (input, streams) = match input {
            FeedInput::Streams(streams) => {
                (FeedInput::HandedOver, Some(Box::new(Streams::new(streams, config.hot))))
            }
            FeedInput::Session(session) => {
                let streams = Streams::with_session(session, config.hot);
                (FeedInput::HandedOver, Some(Box::new(streams)))
            }
            other => (other, None),
        };
        let mut session = OrderSession::connect(config, orders, io, now)?;
        if feed.tells_status() {
            let ids = config.instruments.iter().map(Instrument::id);
            ids.for_each(|id| session.set_status(id, InstrumentStatus::Halted));
        }
        let capacity = session.instrument_capacity();
        let mut instruments = Vec::with_capacity(capacity);
        instruments.extend_from_slice(&config.instruments);
        let core = Core {
            clock,
            feed: Feed::new(io, input, config.hot)?,
            streams,
            instruments,
            market: Market::new(feed, capacity),
            orders: session,
            updates: Vec::with_capacity(UPDATES),
            was_up: false,
            came_up: false,
            has_joined: false,
            recovered_at_start: 0,
            marked: 0,
            observer: (),
            client,
            recorders: Recorders::new(regions)?,
            shared_counters: regions.gateway,
            told: None,
            hot: config.hot,
            keeps_warm: config.keeps_warm,
            awaits_answer: false,
            idle_rounds: 0,
            received: [mono; Source::COUNT],
            fault: None,
        };
        Ok(Self { events, core, housekeeping_due: mono, cancel_due: mono })
    }

    /// The same gateway under the eyes of an observer.
    ///
    /// # Errors
    /// What the observer says.
    pub fn with_observer<O: Observer>(
        self,
        mut observer: O,
    ) -> Result<Gateway<'m, C, F, K, O, H>, GatewayError> {
        let Self { mut events, core, housekeeping_due, cancel_due } = self;
        observer.on_start(events.io(), &core.clock)?;
        let Core { clock, feed, streams, instruments, market, orders, updates, was_up, .. } = core;
        let Core { client, recorders, shared_counters, told, hot, received, fault, .. } = core;
        let Core { came_up, has_joined, recovered_at_start, marked, keeps_warm, .. } = core;
        let Core { awaits_answer, idle_rounds, .. } = core;
        let core = Core {
            clock,
            feed,
            streams,
            instruments,
            market,
            orders,
            updates,
            was_up,
            came_up,
            has_joined,
            recovered_at_start,
            marked,
            observer,
            client,
            recorders,
            shared_counters,
            told,
            hot,
            keeps_warm,
            awaits_answer,
            idle_rounds,
            received,
            fault,
        };
        Ok(Gateway { events, core, housekeeping_due, cancel_due })
    }
}

impl<'m, C: Client, F: FeedHandler, K: Kernel, O: Observer, H: OrderHandler>
    Gateway<'m, C, F, K, O, H>
{
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
        look: impl FnOnce(&mut EventLoop<K>, &mut Core<'m, C, F, O, H>) -> Result<usize, SysError>,
    ) -> Result<bool, GatewayError> {
        let Self { events, core, .. } = self;
        let mut worked = core.serve_requests(events.io())?;
        let found = look(events, core)?;
        worked |= found > 0;
        if let Some(fault) = core.fault {
            return Err(fault);
        }
        // Where more packets wait, they come first.
        if core.awaits_answer && found < PACKETS_IN_A_ROW {
            core.await_answer(events.io())?;
        }
        if !worked {
            worked = core.look_at_line_b(events.io())?;
        }
        if !worked {
            worked = core.idle();
        }
        if !worked {
            core.keep_warm();
            core.observer.on_idle(events.io(), &core.clock)?;
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
        self.events.io().look_at_clock();
        self.core.watch_feed(self.events.io(), now)?;
        let core = &mut self.core;
        core.orders.handle_timeout(self.events.io(), &core.clock, &mut core.updates);
        core.orders.hear_copies(&core.clock, &mut core.updates);
        core.tell_updates(now);
        core.tell_order_entry(now);
        if !core.has_joined {
            core.has_joined = core.market.has_joined(&core.instruments);
            core.recovered_at_start = core.market.feed().counters().recovered;
        }
        core.with_client(|client, clock, state| client.timer(clock, state, now));
        self.hand_over_of_the_gone();
        let core = &mut self.core;
        if std::mem::take(&mut core.came_up) || (core.was_up && now >= self.cancel_due) {
            self.cancel_due = now + CANCEL_AGAIN;
            self.cancel_what_stayed_killed()?;
        }
        let core = &mut self.core;
        core.orders.kill_switch_mut().handle_timeout(now);
        core.tell_rates_and_balances(now);
        core.mark_some();
        if core.keeps_warm && core.hot {
            core.market.want_sample();
        }
        core.orders.reports_mut().hand_over_copies();
        // A loss, a timer that nobody refreshed.
        self.cancel_what_was_killed()?;
        let counters = self.counters();
        counters.store(self.core.shared_counters);
        self.tell_log(now, &counters);
        Ok(true)
    }

    /// Takes a frame that did not come by the gateway's own sockets, and serves what the client
    /// answers. The tick begins now.
    ///
    /// # Errors
    /// What ends the gateway.
    pub fn handle_frame(&mut self, source: Source, bytes: &[u8]) -> Result<(), GatewayError> {
        let received = self.core.clock.now();
        self.core.handle_frame(self.events.io(), received, source, bytes)
    }

    /// What the feed needs from its venue and the gateway's own sockets cannot ask for.
    pub fn poll_feed_request(&mut self) -> Option<FeedRequest> {
        let asks = self.core.feed.can_ask() || self.core.streams.is_some();
        if asks { None } else { self.core.market.feed_mut().poll_request() }
    }

    /// Whether the order session ended in good order.
    #[must_use]
    pub const fn is_logged_out(&self) -> bool {
        self.core.orders.is_logged_out()
    }

    /// Where orders go, or are to go, and that address's place by priority: 0 is the primary.
    #[must_use]
    pub fn order_address(&self) -> (usize, Address) {
        self.core.orders.order_address()
    }

    /// Whether all books can be trusted and orders can be sent.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.core.market.is_sound() && self.core.orders.is_active()
    }

    /// Whether everything up to this packet was applied or covered by a snapshot.
    #[must_use]
    pub fn has_caught_up_with(&self, last: SequenceNumber) -> bool {
        self.core.market.is_sound() && self.core.market.feed().lost(last) == 0
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

    /// The instruments, each at its number.
    #[must_use]
    pub fn instruments(&self) -> &[Instrument] {
        &self.core.instruments
    }

    /// The book of an instrument; nothing when the feed does not follow it.
    #[must_use]
    pub fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        self.core.market.feed().book(instrument)
    }

    /// The feed handler, to look at.
    #[must_use]
    pub const fn feed(&self) -> &F {
        self.core.market.feed()
    }

    /// The observer, to look at.
    #[must_use]
    pub const fn observer(&self) -> &O {
        &self.core.observer
    }
}

impl<C: Client, F: FeedHandler, O: Observer, H: OrderHandler> Core<'_, C, F, O, H> {
    /// Requests come before market data: an order that waits costs more than a tick that waits.
    #[inline]
    fn serve_requests(&mut self, io: &mut Io<impl Kernel>) -> Result<bool, GatewayError> {
        for served in 0..REQUESTS_IN_A_ROW {
            let Some(request) = self.client.next_request() else { return Ok(served > 0) };
            self.serve(io, &request)?;
        }
        Ok(true)
    }

    /// Gives the strategies elsewhere the time for their answers to a tick. The first of this time
    /// goes to a rehearsal of the answer: an order of the instrument that moved finds warm what it
    /// needs.
    #[inline]
    fn await_answer(&mut self, io: &mut Io<impl Kernel>) -> Result<(), GatewayError> {
        self.awaits_answer = false;
        tape::mark_effect();
        let end = self.clock.now() + ANSWER_TIME;
        // While time stands, nobody else has a turn.
        let may_wait = !self.clock.stands();
        if may_wait && self.keeps_warm {
            let Self { orders, clock, market, .. } = self;
            let moved = market.events().last().map(|event| event.instrument);
            orders.rehearse(clock, moved, |instrument| market.reference(instrument));
        }
        while !self.serve_requests(io)? && may_wait && self.clock.now() < end {
            std::hint::spin_loop();
        }
        Ok(())
    }

    #[inline]
    fn serve(&mut self, io: &mut Io<impl Kernel>, request: &Request) -> Result<(), GatewayError> {
        let Self { orders, clock, recorders, observer, market, updates, .. } = self;
        let on_sent = |bytes: &[u8]| observer.on_order_sent(bytes);
        let reference = match &request.kind {
            RequestKind::Create(terms) => market.reference(terms.instrument),
            RequestKind::Modify { .. } => match orders.order(request.id) {
                Some(order) => market.reference(order.terms.instrument),
                None => Reference::default(),
            },
            _ => Reference::default(),
        };
        orders.handle_request(io, clock, request, reference, recorders, on_sent, updates);
        if !self.updates.is_empty() {
            self.tell_updates(self.clock.now());
        }
        Ok(())
    }

    /// Tells whose orders they are what became of them.
    fn tell_updates(&mut self, now: Nanos) {
        while let Some((owner, order)) = self.orders.poll_reopened() {
            self.client.reopened(owner, order);
        }
        let mut updates = std::mem::take(&mut self.updates);
        self.with_client(|client, clock, state| {
            updates.iter().for_each(|update| client.order_update(clock, state, now, update));
        });
        updates.clear();
        self.updates = updates;
    }

    /// Tells the clients whether orders can be sent, when it is no longer as it was.
    fn tell_order_entry(&mut self, now: Nanos) {
        let is_up = self.orders.is_active();
        if is_up != self.was_up {
            (self.was_up, self.came_up) = (is_up, is_up);
            let event = GatewayEvent::OrderEntry { is_up };
            self.with_client(|client, clock, state| {
                client.gateway_event(clock, state, now, &event);
            });
        }
    }

    /// Tells the clients which budgets of messages are nearly spent, and which balances moved.
    fn tell_rates_and_balances(&mut self, now: Nanos) {
        loop {
            let warning = self.orders.poll_rate_warning(now);
            if let (Some(warning), Some(told)) = (&warning, &mut self.told) {
                told.budget(now, warning);
            }
            let warning = warning.map(GatewayEvent::RateLimit);
            let next = warning.or_else(|| self.orders.poll_balance().map(GatewayEvent::Balance));
            let Some(event) = next else { return };
            self.with_client(|client, clock, state| {
                client.gateway_event(clock, state, now, &event);
            });
        }
    }

    /// Rehearses an order and a frame, in one of many rounds without work.
    #[inline]
    fn keep_warm(&mut self) {
        self.idle_rounds += u32::from(self.keeps_warm && self.hot && !tape::is_kept());
        if self.idle_rounds >= IDLE_ROUNDS_PER_REHEARSAL {
            self.idle_rounds = 0;
            let Self { orders, clock, market, .. } = self;
            orders.rehearse(clock, None, |instrument| market.reference(instrument));
            market.rehearse(clock);
        }
    }

    /// Nothing else is to be done: the clients are told on what has been begun.
    #[inline]
    fn idle(&mut self) -> bool {
        let Self { client, clock, instruments, market, orders, has_joined, .. } = self;
        let known = Known { instruments, market, orders, has_joined: *has_joined };
        client.idle(&known, clock)
    }

    /// Hands the clients what they may look up.
    #[inline]
    fn with_client<T>(&mut self, act: impl FnOnce(&mut C, &Clock, &Known<'_, F, H>) -> T) -> T {
        let Self { client, clock, instruments, market, orders, has_joined, .. } = self;
        act(client, clock, &Known { instruments, market, orders, has_joined: *has_joined })
    }

    /// Takes a frame, tells the client what it changed, and serves what the client answers.
    #[inline]
    fn handle_frame(
        &mut self,
        io: &mut Io<impl Kernel>,
        received: Nanos,
        source: Source,
        bytes: &[u8],
    ) -> Result<(), GatewayError> {
        let stamps = self.market.handle_frame(&self.clock, received, source, bytes);
        if stamps.is_measured() {
            self.feed.ticked(source, received);
        }
        self.pass_on(io, stamps)
    }

    /// When the call returned that received the datagram which is handed over.
    #[inline]
    fn receive_time(&mut self, source: Source, info: &DatagramInfo) -> Nanos {
        match self.received.get_mut(usize::from(source.0)) {
            Some(received) if !info.first_of_call => *received,
            Some(received) => {
                *received = self.clock.now();
                *received
            }
            None => self.clock.now(),
        }
    }

    /// A packet of line B, when there is time for it.
    #[inline]
    fn look_at_line_b(&mut self, io: &mut Io<impl Kernel>) -> Result<bool, GatewayError> {
        if !self.hot {
            return Ok(false);
        }
        let (clock, market) = (&self.clock, &mut self.market);
        let Some(bytes) = self.feed.look_at_line_b(io, clock.now()) else { return Ok(false) };
        let received = clock.now();
        self.received[usize::from(Source::LINE_B.0)] = received;
        let stamps = market.handle_frame(clock, received, Source::LINE_B, bytes);
        if stamps.is_measured() {
            self.feed.ticked(Source::LINE_B, received);
        }
        self.pass_on(io, stamps)?;
        Ok(true)
    }

    /// Silent lines and gaps that last: the client hears of the one, the venue of the other.
    fn watch_feed(&mut self, io: &mut Io<impl Kernel>, now: Nanos) -> Result<(), GatewayError> {
        let [line_a, line_b, ..] = self.received;
        self.feed.watch(io, now, line_a.max(line_b), self.market.is_sound())?;
        self.market.handle_timeout(now);
        if !self.market.events().is_empty() {
            self.pass_on(io, TickStamps::NONE)?;
        }
        while self.feed.can_ask()
            && let Some(request) = self.market.feed_mut().poll_request()
        {
            if let FeedRequest::Packets(packets) = request {
                self.feed.ask(io, &packets);
            }
        }
        self.compare_terms();
        if let Some(streams) = &mut self.streams {
            let given_up = streams.handle_timeout(io);
            // What cannot be asked for now is asked for again by the handler.
            while streams.can_ask(io.now())
                && let Some(request) = self.market.feed_mut().poll_request()
                && streams.ask(io, request)
            {}
            if let Some(source) = given_up {
                let now = self.clock.now();
                self.market.handle_disconnect(now, source);
                self.pass_on(io, TickStamps::NONE)?;
            }
        }
        Ok(())
    }

    /// What the connections of the feed brought, if it was one of theirs.
    fn handle_streams(
        &mut self,
        io: &mut Io<impl Kernel>,
        completion: &Completion<'_>,
    ) -> Result<bool, GatewayError> {
        let Some(mut streams) = self.streams.take() else { return Ok(false) };
        let received = self.clock.now();
        let taken = streams.handle(io, completion, self.clock.utc_at(received));
        let mut handled = Ok(());
        for (source, frame) in streams.frames() {
            handled = handled.and_then(|()| self.handle_frame(io, received, source, frame));
            self.market.keep_sample(source, frame);
        }
        self.streams = Some(streams);
        handled?;
        if let Some(Some(source)) = taken {
            self.market.handle_disconnect(received, source);
            self.pass_on(io, TickStamps::NONE)?;
        }
        Ok(taken.is_some())
    }

    /// Tells the client what a datagram changed, and serves what it answers.
    #[inline]
    fn pass_on(
        &mut self,
        io: &mut Io<impl Kernel>,
        stamps: TickStamps,
    ) -> Result<(), GatewayError> {
        // A copy and a heartbeat change nothing.
        if !self.market.events().is_empty() {
            let Self { market, orders, .. } = self;
            if let Some(event) = market.events().last() {
                orders.prefetch(event.instrument);
            }
            market.note(|instrument, status| orders.set_status(instrument, status));
            self.observer.on_market(self.market.events(), self.market.feed());
            self.with_client(|client, clock, known| {
                client.market(clock, known, stamps, known.market.events());
            });
            self.awaits_answer = self.client.answers_later();
        }
        self.serve_requests(io)?;
        self.feed.set_recovering(io, self.market.needs_snapshots())
    }

    /// Takes bytes of the venue's order entry, one message after the other: whoever is told of one
    /// finds things as it left them.
    #[inline]
    fn receive_orders(&mut self, io: &mut Io<impl Kernel>, received: Nanos, bytes: &[u8]) {
        let mut bytes = bytes;
        loop {
            let Self { clock, orders, recorders, updates, .. } = self;
            let has_more = orders.receive(io, (clock, received), &mut bytes, recorders, updates);
            self.tell_updates(received);
            if !has_more {
                return;
            }
        }
    }

    #[cold]
    fn connected(&mut self, io: &mut Io<impl Kernel>) -> Result<(), GatewayError> {
        let Self { orders, clock, updates, .. } = self;
        orders.connected(io, clock, updates);
        self.tell_updates(self.clock.now());
        Ok(())
    }

    #[inline]
    fn handle(
        &mut self,
        io: &mut Io<impl Kernel>,
        completion: &Completion<'_>,
    ) -> Result<(), GatewayError> {
        let is_order_entry = |stream: Handle| self.orders.is_stream(stream);
        match *completion {
            Completion::Datagram { socket, bytes, info } => match self.feed.source_of(socket) {
                Some(source) => {
                    let received = self.receive_time(source, info);
                    self.handle_frame(io, received, source, bytes)
                }
                None => self.observer.on_completion(io, completion),
            },
            Completion::Received { stream, bytes } if is_order_entry(stream) => {
                let received = self.clock.now();
                self.receive_orders(io, received, bytes);
                self.tell_order_entry(received);
                Ok(())
            }
            Completion::Connected { stream } if is_order_entry(stream) => self.connected(io),
            Completion::Failed { source, operation: Operation::Connect, error, .. }
                if is_order_entry(source) =>
            {
                if let Some(told) = &mut self.told {
                    told.unreachable(self.clock.now(), self.orders.order_address().1, error);
                }
                self.orders.not_connected(io, &self.clock, error)
            }
            Completion::Ended { stream: source } | Completion::Closed { source, .. }
                if is_order_entry(source) =>
            {
                self.order_entry_closed(io);
                Ok(())
            }
            // A socket that must not be read any more says that it is not.
            Completion::Failed { source, operation: Operation::Receive, error, .. }
                if self.feed.source_of(source).is_some() =>
            {
                self.feed.receive_failed(source, error);
                Ok(())
            }
            _ => match self.handle_order_wire(io, completion)
                || self.handle_streams(io, completion)?
            {
                true => Ok(()),
                false => self.observer.on_completion(io, completion),
            },
        }
    }
}

impl<C: Client, F: FeedHandler, K: Kernel, O: Observer, H: OrderHandler> Handler<K>
    for Core<'_, C, F, O, H>
{
    #[inline]
    fn complete(&mut self, io: &mut Io<K>, completion: Completion<'_>) {
        if let Err(fault) = self.handle(io, &completion) {
            self.fault.get_or_insert(fault);
            io.stop();
        }
    }
}

#[cfg(test)]
mod tests;
