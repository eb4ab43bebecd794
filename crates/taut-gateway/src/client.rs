//! Where strategies live, as the gateway sees it.

use taut_book::{LevelBook, OrderBook};
use taut_lat::{Stage, StageOffsets};
use taut_market_data::{BestPrices, Event, SessionStatistics, Soundness, Staleness, TradingStatus};
use taut_oms::{Amount, Balance};
use taut_sys::Clock;
use taut_types::{AccountId, ClientOrderId, Instrument, InstrumentId, Nanos, OrderTerms, Symbol};

use crate::alarms::Alarms;
use crate::info::EventInfo;
use crate::mark::Mark;
use crate::message::{
    GatewayEvent, GatewayStatus, OpenOrder, OrderUpdate, Position, ReplyStamp, Request,
    RequestKind, TickStamps,
};
use crate::owner::Owner;
use crate::strategy::{State, Strategy, Trading};

/// What a gateway knows, for its clients to pass on. Whoever says nothing of something knows
/// nothing of it.
pub trait GatewayState {
    /// Every instrument, at its number.
    fn instruments(&self) -> &[Instrument] {
        &[]
    }
    /// The book of an instrument; nothing of one that is not followed.
    fn book(&self, _instrument: InstrumentId) -> Option<&LevelBook> {
        None
    }
    /// Whether a book can be trusted.
    fn soundness(&self, _instrument: InstrumentId) -> Soundness {
        Soundness::Stale(Staleness::Joining)
    }
    /// Whether single orders of the market are told, where they are known.
    fn tells_orders(&self) -> bool {
        false
    }
    /// The single orders of a book, as the feed's [`FeedHandler::orders`] has them.
    ///
    /// [`FeedHandler::orders`]: taut_market_data::FeedHandler::orders
    fn orders(&self, _instrument: InstrumentId) -> Option<&OrderBook> {
        None
    }
    /// The top of a book, as it was told last.
    fn best(&self, _instrument: InstrumentId) -> BestPrices {
        BestPrices::default()
    }
    /// The statistics of an instrument's session.
    fn statistics(&self, _instrument: InstrumentId) -> SessionStatistics {
        SessionStatistics::default()
    }
    /// Whether an instrument trades, if the venue has said so.
    fn trading_status(&self, _instrument: InstrumentId) -> Option<TradingStatus> {
        None
    }
    /// Whose an order is: who sent it, unless it was handed over.
    fn owner_of(&self, id: ClientOrderId) -> Owner {
        Owner::of(id)
    }
    /// An order of the owner's that is not over.
    fn order(&self, _owner: Owner, _id: ClientOrderId) -> Option<OpenOrder> {
        None
    }
    /// Shows the owner's orders that are not over.
    fn visit_orders(&self, _owner: Owner, _visit: &mut dyn FnMut(&OpenOrder)) {}
    /// What the owner holds.
    fn position(&self, _owner: Owner, instrument: InstrumentId, account: AccountId) -> Position {
        Position { instrument, account, ..Position::default() }
    }
    /// Shows what accounts have of their currencies.
    fn visit_balances(&self, _visit: &mut dyn FnMut(&Balance)) {}
    /// Whether orders in an instrument can be sent.
    fn is_order_entry_up(&self, _instrument: InstrumentId) -> bool {
        false
    }
    /// Whether orders can be sent and every book was sound, or has no room.
    fn is_ready(&self) -> bool {
        false
    }
    /// How the gateway is, as far as the owner is concerned.
    fn status(&self, _owner: Owner) -> GatewayStatus {
        GatewayStatus::default()
    }
}

/// Nothing is known: for a client without a gateway.
impl GatewayState for () {}

/// A gateway's clients: they take events and updates, and have requests.
pub trait Client {
    /// Tells what one packet changed. `stamps` holds the ends of `decode` and `book`.
    fn market(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        stamps: TickStamps,
        events: &[Event],
    );

    /// Tells the owner of an order what happened to it, and when.
    fn order_update(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        now: Nanos,
        update: &OrderUpdate,
    );

    /// Tells all of them what happened to the gateway, and when.
    fn gateway_event(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        now: Nanos,
        event: &GatewayEvent,
    );

    /// Instruments were added behind those that it knew: tells all of them.
    fn instruments_added(&mut self, _clock: &Clock, _state: &impl GatewayState, _now: Nanos) {}

    /// This order was sent before the gateway was started again, and none of its owner's with a
    /// higher number: the next one has a higher number.
    fn number_after(&mut self, highest: ClientOrderId);

    /// The next request.
    fn next_request(&mut self) -> Option<Request>;

    /// The next strategy that is gone and whose open orders are to become another one's, and that
    /// one.
    fn poll_hand_over(&mut self) -> Option<(Owner, Owner)> {
        None
    }

    /// These open orders are the owner's from now on: it is told of each.
    fn inherited(&mut self, _owner: Owner, _orders: &[ClientOrderId]) {}

    /// An order of this owner's that was over goes on: the owner is told of it as of one that it
    /// was handed. Where it is gone, the order is treated as those that it left behind.
    fn reopened(&mut self, owner: Owner, order: ClientOrderId) {
        self.inherited(owner, &[order]);
    }

    /// Whether somebody answers from another thread or process: a request may come soon after what
    /// was told.
    fn answers_later(&self) -> bool {
        false
    }

    /// There was nothing else to do: tells on what has been begun. Whether there was any.
    fn idle(&mut self, _state: &impl GatewayState, _clock: &Clock) -> bool {
        false
    }

    /// Strategies that were dropped because they left what they were told unread.
    fn strategies_dropped(&self) -> u64 {
        0
    }

    /// Comes about every millisecond.
    fn timer(&mut self, clock: &Clock, state: &impl GatewayState, now: Nanos);
}

/// Where the requests of a strategy go: to one gateway or several, each in its place.
pub(crate) trait RequestQueue {
    /// How many there are.
    fn gateways(&self) -> usize;

    /// The place of an instrument's gateway.
    fn place_of(&self, instrument: InstrumentId) -> usize;

    /// Whose orders the strategy's are there.
    fn owner(&self, place: usize) -> Owner;

    /// Takes a request that the event with this mark caused, unless full.
    fn push(&mut self, place: usize, request: &Request, mark: Mark) -> bool;

    /// When the gateway in this place published the packet with this mark, which it had received
    /// then; nothing where that is not known.
    fn published(&self, _place: usize, _mark: Mark, _received: Nanos) -> Option<Nanos> {
        None
    }

    /// The requests that went out and of which the state to be looked up does not know yet.
    fn waiting(&self) -> impl Iterator<Item = &Request>;
}

/// What a strategy is handed for one event: numbers its requests, stamps them, and looks up.
pub(crate) struct Entry<'a, Q, S> {
    pub(crate) clock: &'a Clock,
    pub(crate) state: &'a S,
    pub(crate) queue: &'a mut Q,
    pub(crate) next_number: &'a mut u64,
    pub(crate) alarms: &'a mut Alarms,
    /// The place of the gateway that tells.
    pub(crate) gateway: usize,
    pub(crate) origin: Nanos,
    pub(crate) offsets: StageOffsets,
    pub(crate) mark: Mark,
    /// When it happened, says the exchange, and when it was received.
    pub(crate) exchange_time: Nanos,
    pub(crate) receive_time: Nanos,
    /// When the gateway wrote the reply that is told; 0 where there is none.
    pub(crate) published: Nanos,
    /// Whether new orders may go out.
    pub(crate) may_create: bool,
}

/// How far a strategy has come to rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It is not to.
    #[default]
    Not,
    /// It is to.
    Begun,
    /// It has been told.
    Told,
    /// It is idle, and none of its orders is open.
    Over,
}

impl Rest {
    pub(crate) const fn begin(&mut self) {
        *self = Self::Begun;
    }

    pub(crate) const fn has_begun(self) -> bool {
        !matches!(self, Self::Not)
    }

    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Over)
    }

    /// Tells the strategy that it is to come to rest, until it has.
    pub(crate) fn approach<Q: RequestQueue, S: GatewayState>(
        &mut self,
        now: Nanos,
        strategy: &mut impl Strategy,
        entry: &mut Entry<'_, Q, S>,
    ) {
        if !self.has_begun() {
            return;
        }
        let mut has_open = false;
        entry.visit_orders(&mut |_| has_open = true);
        if *self != Self::Begun && !has_open && strategy.is_idle() {
            *self = Self::Over;
            return;
        }
        *self = Self::Told;
        entry.may_create = true;
        strategy.on_stop(now, entry);
        entry.may_create = false;
    }
}

impl<Q: RequestQueue, S> Entry<'_, Q, S> {
    /// The strategy is told of this event by this gateway, of the packet with this mark.
    #[inline]
    pub(crate) fn tell_of(&mut self, place: usize, event: &Event, mark: Mark) {
        let received = event.receive_time;
        self.gateway = place;
        (self.exchange_time, self.receive_time) = (event.exchange_time, received);
        if mark != Mark::default() {
            let end = self.clock.now().since(received).0.unsigned_abs();
            (self.origin, self.mark) = (received, mark);
            self.offsets.set_end(Stage::ToStrategy, end);
        }
    }

    /// The strategy is told what this gateway said to it alone.
    pub(crate) fn told_by(&mut self, place: usize, stamp: ReplyStamp) {
        self.gateway = place;
        (self.receive_time, self.published) = (stamp.at, stamp.published);
    }

    fn send(
        &mut self,
        place: usize,
        id: ClientOrderId,
        kind: RequestKind,
        only_if: Option<u16>,
        tag: u32,
    ) -> bool {
        let mut offsets = self.offsets;
        if self.origin != Nanos::ZERO {
            let now = self.clock.now();
            offsets.set_end(Stage::Strategy, now.since(self.origin).0.unsigned_abs());
        }
        let (owner, origin) = (self.queue.owner(place), self.origin);
        let request = Request { id, owner, kind, only_if, tag, origin, offsets };
        self.queue.push(place, &request, self.mark)
    }
}

impl<Q: RequestQueue, S> Entry<'_, Q, S> {
    /// The place of the gateway that has the order; of several, none where the order is not known:
    /// another gateway would take it for one of its own that is over.
    fn place_of_order(&self, id: ClientOrderId) -> Option<usize>
    where
        S: GatewayState,
    {
        if self.queue.gateways() == 1 {
            return Some(0);
        }
        self.order(id).map(|order| self.queue.place_of(order.terms.instrument))
    }

    /// An order that a request asks for which went out just now.
    fn created(&self, id: ClientOrderId) -> Option<OpenOrder> {
        self.queue.waiting().filter_map(OpenOrder::created).find(|order| order.id == id)
    }

    /// An order with the requests that went out just now.
    fn as_asked(&self, order: OpenOrder) -> OpenOrder {
        self.queue.waiting().fold(order, OpenOrder::with_request)
    }
}

impl<Q: RequestQueue, S: GatewayState> State for Entry<'_, Q, S> {
    fn instruments(&self) -> &[Instrument] {
        self.state.instruments()
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        self.state.book(instrument)
    }

    fn statistics(&self, instrument: InstrumentId) -> SessionStatistics {
        self.state.statistics(instrument)
    }

    fn trading_status(&self, instrument: InstrumentId) -> Option<TradingStatus> {
        self.state.trading_status(instrument)
    }

    fn order(&self, id: ClientOrderId) -> Option<OpenOrder> {
        let owners = (0..self.queue.gateways()).map(|place| self.queue.owner(place));
        let known = { owners }.find_map(|owner| self.state.order(owner, id));
        known.or_else(|| self.created(id)).map(|order| self.as_asked(order))
    }

    fn visit_orders(&self, visit: &mut dyn FnMut(&OpenOrder)) {
        self.state.visit_orders(self.queue.owner(0), &mut |order| visit(&self.as_asked(*order)));
        for request in self.queue.waiting() {
            if let Some(order) = OpenOrder::created(request) {
                visit(&self.as_asked(order));
            }
        }
    }

    fn position(&self, instrument: InstrumentId, account: AccountId) -> Position {
        let owner = self.queue.owner(self.queue.place_of(instrument));
        self.state.position(owner, instrument, account)
    }

    fn balance(&self, account: AccountId, currency: Symbol) -> Option<Amount> {
        let mut found = None;
        self.state.visit_balances(&mut |balance| {
            if (balance.account, balance.currency) == (account, currency) {
                found = found.or(Some(balance.amount));
            }
        });
        found
    }

    fn info(&self) -> EventInfo {
        let Self { clock, gateway, exchange_time, receive_time, published, .. } = *self;
        let deliver_time = clock.now();
        let published = self
            .queue
            .published(gateway, self.mark, receive_time)
            .or_else(|| (published != Nanos::ZERO).then_some(published));
        EventInfo {
            gateway,
            exchange_time,
            receive_time,
            receive_time_utc: clock.utc_at(receive_time),
            publish_time: published.unwrap_or_default(),
            publish_time_utc: published.map_or(Nanos::ZERO, |at| clock.utc_at(at)),
            deliver_time,
            deliver_time_utc: clock.utc_at(deliver_time),
        }
    }

    fn is_order_entry_up(&self, instrument: InstrumentId) -> bool {
        self.state.is_order_entry_up(instrument)
    }
}

impl<Q: RequestQueue, S: GatewayState> Trading for Entry<'_, Q, S> {
    fn set_alarm(&mut self, at: Nanos, token: u64) -> bool {
        self.alarms.set(at, token)
    }

    fn cancel_alarm(&mut self, token: u64) -> bool {
        self.alarms.cancel(token)
    }

    #[inline]
    fn create_tagged(&mut self, terms: &OrderTerms, tag: u32) -> Option<ClientOrderId> {
        let place = self.queue.place_of(terms.instrument);
        let id = self.queue.owner(place).order(*self.next_number);
        let kind = RequestKind::Create(*terms);
        let is_sent = self.may_create && self.send(place, id, kind, None, tag);
        is_sent.then(|| {
            *self.next_number += 1;
            id
        })
    }

    fn request(&mut self, order: ClientOrderId, kind: RequestKind, only_if: Option<u16>) -> bool {
        match kind {
            // Its number is not for the strategy to choose.
            RequestKind::Create(terms) => self.create(&terms).is_some(),
            RequestKind::CancelAll(filter) => {
                let of = filter.instrument.map(|instrument| self.queue.place_of(instrument));
                let meant = |place: &usize| of.is_none_or(|of| of == *place);
                let mut is_sent = true;
                for place in (0..self.queue.gateways()).filter(meant) {
                    let id = self.queue.owner(place).order(0);
                    is_sent &= self.send(place, id, kind, None, 0);
                }
                is_sent
            }
            // It is the runner's to ask.
            RequestKind::TellBooks => false,
            RequestKind::Modify { .. } | RequestKind::Cancel => {
                let place = self.place_of_order(order);
                place.is_some_and(|place| self.send(place, order, kind, only_if, 0))
            }
        }
    }
}
