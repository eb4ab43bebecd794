//! The exchange: requests and flow steps go through the engine, and reports and packets come out.
//!
//! Reports go to the clients before the packets of the same command go to the feed, so that who
//! traded knows it first. Real venues differ in this; it is the order that favours order entry.

mod bust;
mod image;
mod phases;
mod rules;

use std::ops::Range;

use taut_book::OrderBook;
use taut_engine::{Command, Engine, EngineConfig, Event, NewOrder, Phase, PostOnly, Rules};
use taut_fix::{
    CancelRejectReason, LongText, NewOrderSingle, Now, OrdStatus, OrderCancelReject,
    OrderCancelRequest, ResponseTo,
};
use taut_io::Kernel;
use taut_sys::Clock;
use taut_types::{
    FeeRates, HalfTicks, Instrument, InstrumentId, Lots, Nanos, OrderId, Price, Side,
};

use crate::bands::Bands;
use crate::clients::ClientIo;
use crate::config::VenueConfig;
use crate::counters::VenueCounters;
use crate::entry::{Refusal, check_order};
use crate::error::VenueError;
use crate::flow::{FlowStep, Top};
use crate::identity::ClientId;
use crate::journal::Input;
use crate::lines::Lines;
use crate::listing::{Listing, Listings};
use crate::members::Members;
use crate::orders::{ClientOrders, Known};
use crate::pacing::{Flow, FlowPlayer};
use crate::phases::Schedule;
use crate::publisher::{Publisher, trade};
use crate::reports::{Reporter, no_order_id, ord_rej_reason};

/// Events of one command that need no further memory: a sweep of some hundred orders.
const EVENT_CAPACITY: usize = 4_096;
/// Commands of one input that need no further memory.
const EXECUTED_CAPACITY: usize = 64;
/// Members that one command may overrun without further memory.
const OVERRUN_CAPACITY: usize = 128;
/// Whose the flow's orders are.
pub const FLOW: u32 = 0;

/// The engines, everything that follows their events, and the flow that feeds them.
#[derive(Debug)]
pub struct Exchange {
    pub(crate) listings: Listings,
    /// In their places; there is none before the first order.
    engines: Box<[Option<Box<Engine>>]>,
    sizes: EngineConfig,
    /// Of the input that is executed, command by command.
    pub(crate) events: Vec<Event>,
    /// Where the events of this input begin: those before wait for the disk.
    begun_at: usize,
    /// Its commands, and those of inputs before it that nobody has heard of.
    executed: Vec<Executed>,
    /// The feed could not be sent.
    failure: Option<VenueError>,
    /// The time of the input that is executed, where one time holds for all of it.
    sequenced: Option<Now>,
    pub(crate) orders: ClientOrders,
    pub(crate) members: Members,
    /// Clients whose orders of an instrument are to be cancelled: too much of them has traded.
    overrun: Vec<(ClientId, usize)>,
    /// What the configuration says, while the inputs of a journal are executed.
    configured: Option<Configured>,
    schedule: Schedule,
    /// When the next phase is due, in UTC.
    phases_due: Nanos,
    /// What becomes of a post-only order that would trade.
    pub(crate) post_only: PostOnly,
    reporter: Reporter,
    pub publisher: Publisher,
    pub player: FlowPlayer,
    clock: Option<Clock>,
    pub(crate) counters: VenueCounters,
}

/// What the configuration says that may differ from one start to the next.
#[derive(Debug)]
struct Configured {
    rules: Vec<(FeeRates, Bands)>,
    members: Members,
}

/// A command of an input that was executed.
#[derive(Clone, Copy, Debug)]
struct Executed {
    /// When.
    now: Now,
    place: usize,
    /// Where its events end.
    end: usize,
    /// The order that it replaces, and what was displayed of it.
    replaced: (OrderId, Lots),
}

impl Exchange {
    /// An exchange whose books are the flow's initial ones.
    pub fn new(config: &VenueConfig, lines: Lines, flow: Flow) -> Result<Self, VenueError> {
        let VenueConfig { order_capacity, level_capacity, .. } = *config;
        let mut listings = Listings::new(&config.instruments);
        listings.set_bands(&config.bands);
        let mut exchange = Self {
            members: Members::new(&config.members, &listings),
            overrun: Vec::with_capacity(OVERRUN_CAPACITY),
            configured: None,
            schedule: Schedule::new(&config.schedule, &listings),
            phases_due: Nanos::ZERO,
            listings,
            engines: config.instruments.iter().map(|_| None).collect(),
            sizes: EngineConfig { order_capacity, level_capacity },
            events: Vec::with_capacity(EVENT_CAPACITY),
            begun_at: 0,
            executed: Vec::with_capacity(EXECUTED_CAPACITY),
            failure: None,
            sequenced: None,
            orders: ClientOrders::with_capacity(
                order_capacity,
                config.cl_ord_id_capacity,
                config.instruments.len(),
            ),
            post_only: config.post_only,
            reporter: Reporter::new(),
            publisher: Publisher::new(lines, config.stream_id),
            player: FlowPlayer::new(flow),
            clock: None,
            counters: VenueCounters::default(),
        };
        for (place, order) in exchange.player.initial_orders() {
            let Some(engine) = exchange.engines.get_mut(place) else {
                let (setting, remedy) = ("instruments", "one for each market of the flow");
                return Err(VenueError::Config { setting, remedy });
            };
            let listing = &exchange.listings.all()[place];
            let engine = engine.get_or_insert_with(|| new_engine(exchange.sizes, listing));
            rest(&listing.instrument, engine, order)?;
        }
        // The hot one is there from the start.
        let (sizes, hot) = (exchange.sizes, &exchange.listings.all()[0]);
        exchange.engines[0].get_or_insert_with(|| new_engine(sizes, hot));
        Ok(exchange)
    }

    pub fn listings(&self) -> &[Listing] {
        self.listings.all()
    }

    /// The book in this place; nothing before the first order.
    pub fn book(&self, place: usize) -> Option<&OrderBook> {
        self.engines.get(place)?.as_ref().map(|engine| engine.book())
    }

    /// The book of an instrument; nothing before the first order, or when it is not traded here.
    pub fn book_of(&self, instrument: InstrumentId) -> Option<&OrderBook> {
        self.book(self.listings.place_of(instrument)?)
    }

    /// At what was traded last in this place.
    pub(crate) fn last_price(&self, place: usize) -> Option<HalfTicks> {
        self.engines.get(place)?.as_ref()?.last_price()
    }

    /// Stamps what is sent with this clock instead of the time of the poll.
    pub const fn set_clock(&mut self, clock: Clock) {
        self.clock = Some(clock);
    }

    /// The time at this moment, or else the time of the poll.
    pub fn stamp(&self, now: Now) -> Now {
        match (&self.clock, self.sequenced) {
            (_, Some(sequenced)) => sequenced,
            (None, None) => now,
            (Some(clock), None) => {
                let mono = clock.now();
                Now { mono, utc: clock.utc_at(mono) }
            }
        }
    }

    /// What it has done; the sessions and the snapshots are counted elsewhere.
    pub fn counters(&self) -> VenueCounters {
        let [lost_on_a, lost_on_b] = self.publisher.lines.lost();
        let again = self.publisher.lines.retransmissions();
        let (stream_updates, stream_last) = self.player.streamed();
        VenueCounters {
            published: self.publisher.sequence().0,
            stream_updates,
            stream_last,
            lost_on_a,
            lost_on_b,
            retransmit_requests: again.requests + again.foreign,
            retransmitted: again.sent,
            retransmit_refused: again.over_budget + again.foreign + again.unknown,
            heartbeats: self.publisher.heartbeats(),
            trades: self.engines.iter().flatten().map(|engine| engine.trade_count()).sum(),
            ..self.counters
        }
    }

    /// Takes the flow's next step; the recorded frame that the book now has, if it is one.
    pub fn step_flow(
        &mut self,
        now: Now,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) -> Result<Option<Range<usize>>, VenueError> {
        let Self { engines, player, .. } = self;
        let top = |place: usize| {
            let engine = engines.get(place).and_then(Option::as_ref);
            let best = |side| engine.and_then(|engine| engine.book().best_price(side));
            Top { best_bid: best(Side::Buy), best_ask: best(Side::Sell) }
        };
        let (place, step) = player.step(top);
        let instrument = &self.listings.all()[place].instrument;
        let command = match step {
            FlowStep::Command(command) => command,
            FlowStep::Print { price, lots, aggressor } => {
                self.counters.prints += 1;
                self.begin(now, clients);
                self.print(now, place, (price, lots, aggressor), clients)?;
                return Ok(None);
            }
            FlowStep::Frame(at) => return Ok(Some(at)),
            FlowStep::Nothing => return Ok(None),
        };
        self.counters.flow_commands += 1;
        let was_executed = is_for_a_flow(instrument, &command);
        let mut is_refused = !was_executed;
        if was_executed {
            self.begin(now, clients);
            self.execute(now, place, &command, clients);
            is_refused = matches!(
                self.first_event(),
                Some(Event::Rejected { .. } | Event::CancelRejected { .. })
            );
        }
        if let (true, Command::New(order)) = (is_refused, command) {
            self.player.on_refusal(place, order.order_id);
        }
        self.counters.flow_rejects += u64::from(is_refused);
        if was_executed {
            self.finish(now, || Input::Command { place, command }, clients)?;
        }
        Ok(None)
    }

    /// A trade that no order of the book took part in.
    pub(crate) fn print(
        &mut self,
        now: Now,
        place: usize,
        (price, lots, aggressor): (Price, Lots, Side),
        clients: &mut ClientIo<'_, impl Kernel>,
    ) -> Result<(), VenueError> {
        let now = self.stamp(now);
        self.finish(now, || Input::Print { place, price, lots, aggressor }, clients)?;
        // Behind what waits for the disk.
        self.settle(now, clients)?;
        let instrument = &self.listings.all()[place].instrument;
        if let Ok(price) = instrument.half_ticks(price) {
            clients.tell_events(now, place, &[print(price, lots, aggressor)]);
        }
        let trade = trade(price, lots, OrderId(0), aggressor);
        self.publisher.print(clients.io, now.mono, now.utc, instrument, trade)
    }

    /// A client begins a session, whose numbers start anew.
    pub fn begin_session(&mut self, client: ClientId) {
        self.orders.begin_session(client);
    }

    /// A client is gone, and its session too.
    pub fn end_session(&mut self, client: ClientId) {
        self.orders.end_session(client);
    }

    /// A client is gone: its orders go too.
    pub fn cancel_all(
        &mut self,
        now: Now,
        client: ClientId,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) {
        for (order_id, place) in self.orders.open_orders(client) {
            self.counters.cancels_on_disconnect += 1;
            self.execute(now, place, &Command::Cancel { order_id }, clients);
        }
    }

    /// Answers a NewOrderSingle: accepted first, whatever follows, or rejected.
    pub fn new_order(
        &mut self,
        now: Now,
        client: ClientId,
        request: &NewOrderSingle,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) {
        self.counters.orders += 1;
        match self.admit(now, client).and_then(|()| self.check_new(client, request)) {
            Ok((place, order)) => {
                let NewOrderSingle { cl_ord_id, account, .. } = *request;
                let order = self.orders.enter(client, place, cl_ord_id, account, &order);
                if order.terms.display() > Lots::ZERO {
                    self.publisher.watch_iceberg(order.order_id);
                }
                self.execute(now, place, &Command::New(order), clients);
                let is_refused = matches!(self.first_event(), Some(Event::Rejected { .. }));
                self.counters.order_rejects += u64::from(is_refused);
            }
            Err(Refusal { reason, text }) => {
                self.counters.order_rejects += 1;
                self.orders.note(client, request.cl_ord_id, Known::Refused);
                let now = self.stamp(now);
                let report = self.reporter.reject(now.utc, request, reason, &text);
                clients.report(now, client, &report);
            }
        }
    }

    /// Answers an OrderCancelRequest: cancelled, or a cancel reject.
    pub fn cancel(
        &mut self,
        now: Now,
        client: ClientId,
        request: &OrderCancelRequest,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) {
        self.counters.cancel_requests += 1;
        let orig = self.orders.known_ever(client, &request.orig_cl_ord_id);
        let is_duplicate = self.orders.known(client, &request.cl_ord_id).is_some();
        self.orders.note(client, request.cl_ord_id, Known::Request);
        let refusal = if is_duplicate {
            Some((CancelRejectReason::DuplicateClOrdId, "the ClOrdID has been used before"))
        } else if self.listings.place(&request.symbol).is_none() {
            Some((CancelRejectReason::Other, "the Symbol is not traded here"))
        } else {
            match open_order(orig) {
                Ok(order_id) => self.refuse_other_order(order_id, request),
                Err(refusal) => Some(refusal),
            }
        };
        match (orig, refusal) {
            (Some(Known::Open(order_id)), None) => {
                let Some(order) = self.orders.get_mut(order_id) else { return };
                order.request = Some(request.cl_ord_id);
                let place = order.place;
                self.counters.cancels += 1;
                self.execute(now, place, &Command::Cancel { order_id }, clients);
            }
            (_, refusal) => {
                self.counters.cancel_rejects += 1;
                let (order_id, ord_status) = self.standing(orig);
                let reject = OrderCancelReject {
                    order_id,
                    cl_ord_id: request.cl_ord_id.into(),
                    orig_cl_ord_id: Some(request.orig_cl_ord_id.into()),
                    ord_status,
                    response_to: ResponseTo::CancelRequest,
                    reason: refusal.map(|(reason, _)| reason),
                    text: refusal.map_or(&[], |(_, text)| text.as_bytes()),
                };
                clients.send(self.stamp(now), client, &reject);
            }
        }
    }

    /// Runs a command of an input, and tells everybody: the clients, the flow, the feed. Where
    /// inputs are written down, they hear of it behind the input's end: [`finish`](Self::finish),
    /// which also says what went wrong.
    pub(crate) fn execute(
        &mut self,
        now: Now,
        place: usize,
        command: &Command,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) {
        if clients.clients.is_sequenced() {
            return self.execute_for_later(now, place, command, clients);
        }
        self.events.clear();
        let now = self.run(now, place, command, 0, clients);
        clients.flush();
        clients.tell_events(now, place, &self.events);
        let of = &self.listings.all()[place].instrument;
        let told = self.publisher.publish(clients.io, now.mono, now.utc, of, &self.events);
        if let Err(error) = told {
            self.failure.get_or_insert(error);
        }
        self.protect(now, clients);
    }

    /// As [`execute`](Self::execute), for the input's end.
    #[inline(never)]
    fn execute_for_later(
        &mut self,
        now: Now,
        place: usize,
        command: &Command,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) {
        if self.executed.is_empty() {
            // What is there was told at once: by a venue that was not written down yet.
            self.events.clear();
            self.begun_at = 0;
        }
        let now = self.run(now, place, command, self.events.len(), clients);
        let replaced = self.publisher.take_replacement();
        self.executed.push(Executed { now, place, end: self.events.len(), replaced });
        self.protect(now, clients);
    }

    /// Runs a command, whose events begin there, and writes its reports; the time that they have.
    #[inline(always)]
    fn run(
        &mut self,
        now: Now,
        place: usize,
        command: &Command,
        begin: usize,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) -> Now {
        let Self { engines, events, .. } = self;
        match &mut engines[place] {
            Some(engine) => engine.execute(*command, &mut |event| events.push(event)),
            None => self.open_engine(place, command),
        }
        let now = self.stamp(now);
        let mut phase_now = None;
        let of = &self.listings.all()[place];
        for event in self.events.get(begin..).unwrap_or(&[]) {
            self.reporter.on_event(now.utc, of, event, &mut self.orders, &mut |client, report| {
                clients.report(now, client, report);
            });
            match *event {
                Event::Trade {
                    maker,
                    taker,
                    maker_owner,
                    taker_owner,
                    maker_remaining,
                    taker_remaining,
                    taker_rested,
                    lots,
                    ..
                } => {
                    // Once more they are another flow's orders: the one before this one's.
                    if !self.publisher.lines.is_muted {
                        self.player.on_fill(place, maker, maker_remaining);
                        self.player.on_fill(place, taker, taker_remaining);
                    }
                    self.counters.fills +=
                        u64::from(maker_owner != FLOW) + u64::from(taker_owner != FLOW);
                    let rested = [maker_owner, if taker_rested { taker_owner } else { FLOW }];
                    for client in rested.into_iter().filter_map(ClientId::of_owner) {
                        if self.members.fill(client, place, &of.instrument, lots, now.utc) {
                            self.overrun.push((client, place));
                        }
                    }
                }
                Event::Phase { phase } => phase_now = Some(phase),
                _ => {}
            }
        }
        if let Some(phase) = phase_now {
            self.note_phase(place, phase, now.utc);
        }
        now
    }

    /// An input begins. Where it is written down, one time holds for all of it: the same input
    /// gives the same bytes once more.
    #[inline]
    pub(crate) fn begin(&mut self, now: Now, clients: &ClientIo<'_, impl Kernel>) {
        if clients.clients.is_sequenced() {
            self.sequenced = Some(self.stamp(now));
        }
    }

    /// An input of a journal begins: this is its time.
    pub(crate) const fn begin_at(&mut self, at: Now) {
        self.sequenced = Some(at);
    }

    /// The end of an input: where inputs are, it is written down; then its reports leave, and who
    /// looks on and the feed are told, command by command.
    #[inline]
    pub(crate) fn finish(
        &mut self,
        now: Now,
        input: impl FnOnce() -> Input,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) -> Result<(), VenueError> {
        let now = self.sequenced.take().unwrap_or(now);
        if !clients.clients.is_sequenced() {
            return self.failure.map_or(Ok(()), Err);
        }
        clients.write_down(now, &input())?;
        self.begun_at = self.events.len();
        // What is refused leaves with the end of the turn.
        if self.executed.is_empty() || clients.clients.waits() {
            return Ok(());
        }
        self.settle(now, clients)
    }

    /// Has everybody hear of what was executed: reports leave, then who looks on and the feed are
    /// told. Where answers wait for the disk, all of a turn have waited together.
    pub(crate) fn settle(
        &mut self,
        now: Now,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) -> Result<(), VenueError> {
        clients.clients.reserve(now)?;
        clients.clients.commit()?;
        clients.flush();
        let mut begin = 0;
        for &Executed { now, place, end, replaced } in &self.executed {
            let events = self.events.get(begin..end).unwrap_or(&[]);
            clients.tell_events(now, place, events);
            let instrument = &self.listings.all()[place].instrument;
            self.publisher.expect_replacement(replaced);
            self.publisher.publish_late(clients.io, now, instrument, events)?;
            begin = end;
        }
        self.executed.clear();
        self.events.clear();
        self.begun_at = 0;
        Ok(())
    }

    /// The first event of the input that is executed.
    pub(crate) fn first_event(&self) -> Option<&Event> {
        self.events.get(self.begun_at)
    }

    fn check_new(
        &self,
        client: ClientId,
        request: &NewOrderSingle,
    ) -> Result<(usize, NewOrder), Refusal> {
        if self.orders.known(client, &request.cl_ord_id).is_some() {
            let text = format!("ClOrdID {} has been used before", request.cl_ord_id);
            return Err(Refusal { reason: ord_rej_reason::DUPLICATE, text });
        }
        let (place, order) = check_order(&self.listings, self.post_only, request)?;
        self.check_limits(client, place, &order, false)?;
        Ok((place, order))
    }

    fn refuse_other_order(
        &self,
        order_id: OrderId,
        request: &OrderCancelRequest,
    ) -> Option<(CancelRejectReason, &'static str)> {
        let order = self.orders.get(order_id)?;
        if order.side() != request.side {
            return Some((CancelRejectReason::Other, "the order is on the other Side"));
        }
        let is_same = self.listings.all()[order.place].symbol == request.symbol;
        (!is_same).then_some((CancelRejectReason::Other, "the order is of another Symbol"))
    }

    /// OrderID (37) and OrdStatus (39) of the order that a refused cancel named.
    pub(crate) fn standing(&self, orig: Option<Known>) -> (LongText, OrdStatus) {
        match orig {
            Some(Known::Open(order_id) | Known::Former(order_id)) => {
                let status = self.orders.get(order_id).map_or(OrdStatus::New, |o| o.status());
                (LongText::from_u64(order_id.0), status)
            }
            Some(Known::Done(done)) => (LongText::from_u64(done.order_id.0), done.status),
            Some(Known::Refused | Known::Request) | None => (no_order_id(), OrdStatus::Rejected),
        }
    }
}

/// The open order that a request names by its last ClOrdID.
pub fn open_order(orig: Option<Known>) -> Result<OrderId, (CancelRejectReason, &'static str)> {
    Err(match orig {
        Some(Known::Open(order_id)) => return Ok(order_id),
        Some(Known::Former(_)) => {
            (CancelRejectReason::Other, "the order has another ClOrdID since")
        }
        Some(Known::Done(_) | Known::Refused) => {
            (CancelRejectReason::TooLateToCancel, "the order is over")
        }
        Some(Known::Request) | None => {
            (CancelRejectReason::UnknownOrder, "no order has this OrigClOrdID")
        }
    })
}

/// A trade that no order of the book took part in.
const fn print(price: HalfTicks, lots: Lots, aggressor: Side) -> Event {
    Event::Trade {
        trade_id: 0,
        maker: OrderId(0),
        taker: OrderId(0),
        maker_owner: FLOW,
        taker_owner: FLOW,
        price,
        lots,
        maker_remaining: Lots::ZERO,
        taker_remaining: Lots::ZERO,
        aggressor,
        hidden: false,
        taker_rested: false,
    }
}

/// An engine of an instrument, in the phase that it is in.
#[cold]
fn new_engine(sizes: EngineConfig, of: &Listing) -> Box<Engine> {
    let mut engine = Box::new(Engine::with_rules(sizes, rules_of(sizes, of)));
    if of.phase != Phase::Continuous {
        engine.execute(Command::SetPhase(of.phase), &mut |_: Event| {});
    }
    engine
}

fn rules_of(sizes: EngineConfig, of: &Listing) -> Rules {
    // Few orders wait outside a book: the memory for them is a part of the book's.
    let default = Rules::default();
    let special_capacity = (sizes.order_capacity / 16).clamp(16, default.special_capacity);
    let band = of.bands.half_ticks(&of.instrument);
    let (price_band, volatility_band) = match of.bands.interruption {
        None => (band, None),
        Some(_) => (None, band),
    };
    Rules { special_capacity, price_band, volatility_band, ..default }
}

/// Puts an order of the initial book into the engine; nobody is told.
fn rest(instrument: &Instrument, engine: &mut Engine, order: &NewOrder) -> Result<(), VenueError> {
    let command = Command::New(*order);
    let mut refused =
        (!is_for_a_flow(instrument, &command)).then_some(taut_engine::RejectReason::BadPrice);
    if refused.is_none() {
        engine.execute(command, &mut |event| {
            if let Event::Rejected { reason, .. } = event {
                refused = Some(reason);
            }
        });
    }
    let order_id = order.order_id;
    refused.map_or(Ok(()), |reason| Err(VenueError::InitialOrder { order_id, reason }))
}

/// Whether a flow may send the command: not an order that no client could enter, with a price
/// beyond the range of the feed, nor one with an id in the range of the clients'.
fn is_for_a_flow(instrument: &Instrument, command: &Command) -> bool {
    match command {
        Command::New(order) => {
            instrument.price(order.price).is_ok() && ClientOrders::is_flow_id(order.order_id)
        }
        _ => true,
    }
}
