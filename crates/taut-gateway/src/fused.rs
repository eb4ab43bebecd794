//! The strategy in the gateway's own thread: no memory between them but the stack.

use std::collections::VecDeque;

use taut_market_data::{Batch, BookOrder, Event, EventKind};
use taut_sys::Clock;
use taut_types::{AccountId, ClientOrderId, InstrumentId, Nanos, Side};

use crate::alarms::Alarms;
use crate::client::{Client, Entry, GatewayState, RequestQueue, Rest};
use crate::mark::Mark;
use crate::message::{
    ACCOUNTS, GatewayEvent, GatewayStatus, OrderUpdate, Position, Request, TickStamps,
};
use crate::owner::Owner;
use crate::strategy::Strategy;

/// A bounded queue within the thread; it allocates when it is built and never again.
#[derive(Debug)]
struct LocalQueue {
    requests: VecDeque<Request>,
    owner: Owner,
}

/// Requests that a fused strategy may have waiting: one packet's worth.
const LOCAL_REQUESTS_MAX: usize = 256;

impl RequestQueue for LocalQueue {
    fn gateways(&self) -> usize {
        1
    }

    fn place_of(&self, _instrument: InstrumentId) -> usize {
        0
    }

    fn owner(&self, _place: usize) -> Owner {
        self.owner
    }

    fn push(&mut self, _place: usize, request: &Request, _mark: Mark) -> bool {
        let room = self.requests.len() < LOCAL_REQUESTS_MAX;
        if room {
            self.requests.push_back(*request);
        }
        room
    }

    fn waiting(&self) -> impl Iterator<Item = &Request> {
        self.requests.iter()
    }
}

/// A strategy in the gateway's own thread.
#[derive(Debug)]
pub struct FusedClient<S> {
    strategy: S,
    queue: LocalQueue,
    next_number: u64,
    /// It has been told what it begins with.
    has_begun: bool,
    /// Orders that were handed over to it, until it is told of them.
    inherited: Vec<ClientOrderId>,
    /// Instruments that it has been told.
    instruments: usize,
    /// How the gateway is, as it was told last.
    status: Option<GatewayStatus>,
    /// It has been told that it may trade.
    is_ready: bool,
    alarms: Alarms,
    rest: Rest,
}

impl<S: Strategy> FusedClient<S> {
    /// A client around this strategy, whose orders are user 0's and strategy 0's.
    #[must_use]
    pub fn new(strategy: S) -> Self {
        Self::owned_by(Owner::default(), 1, strategy)
    }

    /// A client around this strategy, whose orders are the owner's. `first_number` is that of the
    /// first one: above all that were used before this gateway was started.
    #[must_use]
    pub fn owned_by(owner: Owner, first_number: u64, strategy: S) -> Self {
        let requests = VecDeque::with_capacity(LOCAL_REQUESTS_MAX);
        let queue = LocalQueue { requests, owner };
        Self {
            strategy,
            queue,
            next_number: first_number,
            has_begun: false,
            inherited: Vec::new(),
            instruments: 0,
            status: None,
            is_ready: false,
            alarms: Alarms::default(),
            rest: Rest::default(),
        }
    }

    /// Whose its orders are.
    #[must_use]
    pub const fn owner(&self) -> Owner {
        self.queue.owner
    }

    /// The strategy.
    #[must_use]
    pub const fn strategy(&self) -> &S {
        &self.strategy
    }

    #[cfg(test)]
    pub(crate) const fn strategy_mut(&mut self) -> &mut S {
        &mut self.strategy
    }

    /// No new orders from now on; what is open is cancelled.
    pub const fn stop(&mut self) {
        self.rest.begin();
    }

    /// Whether the strategy was stopped, is idle, and has no order open.
    #[must_use]
    pub const fn is_at_rest(&self) -> bool {
        self.rest.is_over()
    }

    /// Tells the strategy what it begins with, as one in a process of its own is told.
    #[cold]
    fn begin<G: GatewayState>(&mut self, clock: &Clock, state: &G) {
        self.has_begun = true;
        self.instruments = state.instruments().len();
        let (now, owner) = (clock.now(), self.queue.owner);
        let next_number = self.next_number;
        let begin = GatewayEvent::DownloadBegin { owner, next_number };
        let mut events = vec![GatewayEvent::Connected, begin];
        events.extend(state.instruments().iter().copied().map(GatewayEvent::Instrument));
        for instrument in state.instruments() {
            let held = |account| state.position(owner, instrument.id(), AccountId(account));
            let is_held = |held: &Position| held.lots.0 != 0 || held.average_price.0 != 0;
            let held = (0..ACCOUNTS).map(held).filter(is_held);
            events.extend(held.map(GatewayEvent::Position));
        }
        state.visit_orders(owner, &mut |order| events.push(GatewayEvent::OpenOrder(*order)));
        state.visit_balances(&mut |balance| events.push(GatewayEvent::Balance(*balance)));
        let is_up = state.is_order_entry_up(InstrumentId(0));
        events.extend([GatewayEvent::OrderEntry { is_up }, GatewayEvent::DownloadEnd]);
        for event in events {
            self.gateway_event(clock, state, now, &event);
        }
    }

    /// Tells it of orders that are its own since the last time.
    fn tell_inherited<G: GatewayState>(&mut self, clock: &Clock, state: &G, now: Nanos) {
        for id in std::mem::take(&mut self.inherited) {
            if let Some(order) = state.order(self.queue.owner, id) {
                self.gateway_event(clock, state, now, &GatewayEvent::OpenOrder(order));
            }
        }
    }

    /// Tells it how the gateway is, and that it may trade, where that is new.
    fn tell_status<G: GatewayState>(&mut self, clock: &Clock, state: &G, now: Nanos) {
        let status = state.status(self.queue.owner);
        if self.status.replace(status) != Some(status) {
            self.gateway_event(clock, state, now, &GatewayEvent::Status(status));
        }
        if state.is_ready() && !std::mem::replace(&mut self.is_ready, true) {
            self.gateway_event(clock, state, now, &GatewayEvent::Ready);
        }
    }

    #[inline]
    fn with_entry<G: GatewayState>(
        &mut self,
        clock: &Clock,
        state: &G,
        stamps: TickStamps,
        act: impl FnOnce(&mut S, &mut Entry<'_, LocalQueue, G>),
    ) {
        if !self.has_begun {
            self.begin(clock, state);
        }
        let mut entry = Entry {
            may_create: !self.rest.has_begun(),
            clock,
            state,
            queue: &mut self.queue,
            next_number: &mut self.next_number,
            alarms: &mut self.alarms,
            gateway: 0,
            origin: stamps.origin,
            offsets: stamps.offsets(),
            exchange_time: Nanos::ZERO,
            receive_time: Nanos::ZERO,
            published: Nanos::ZERO,
            mark: Mark::default(),
        };
        act(&mut self.strategy, &mut entry);
    }
}

impl<S: Strategy> Client for FusedClient<S> {
    #[inline]
    fn market(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        stamps: TickStamps,
        events: &[Event],
    ) {
        self.with_entry(clock, state, stamps, |strategy, entry| {
            for event in events {
                (entry.exchange_time, entry.receive_time) =
                    (event.exchange_time, event.receive_time);
                strategy.on_market(event.receive_time, event, entry);
                if matches!(event.kind, EventKind::Begin(Batch::Orders)) {
                    tell_orders(event, strategy, entry);
                }
            }
            strategy.on_batch_end(entry.receive_time, entry);
        });
    }

    fn order_update(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        now: Nanos,
        update: &OrderUpdate,
    ) {
        // An order that was recovered may be another one's, who is not here.
        if state.owner_of(update.id) != self.queue.owner {
            return;
        }
        self.with_entry(clock, state, TickStamps::NONE, |strategy, entry| {
            (entry.exchange_time, entry.receive_time) = (update.exchange_time, now);
            strategy.on_order(now, update, entry);
        });
    }

    fn gateway_event(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        now: Nanos,
        event: &GatewayEvent,
    ) {
        if !event.is_for(self.queue.owner) {
            return;
        }
        self.is_ready &= *event != GatewayEvent::OrderEntry { is_up: false };
        self.with_entry(clock, state, TickStamps::NONE, |strategy, entry| {
            entry.receive_time = now;
            strategy.on_gateway(now, event, entry);
        });
    }

    fn instruments_added(&mut self, clock: &Clock, state: &impl GatewayState, now: Nanos) {
        // Before it has begun: it begins with all of them.
        let told = if self.has_begun { self.instruments } else { state.instruments().len() };
        for instrument in state.instruments().iter().skip(told) {
            self.gateway_event(clock, state, now, &GatewayEvent::Instrument(*instrument));
        }
        self.instruments = state.instruments().len();
    }

    fn number_after(&mut self, highest: ClientOrderId) {
        if Owner::of(highest) == self.queue.owner {
            self.next_number = highest.number() + 1;
        }
    }

    #[inline]
    fn next_request(&mut self) -> Option<Request> {
        self.queue.requests.pop_front()
    }

    fn inherited(&mut self, owner: Owner, orders: &[ClientOrderId]) {
        // Before it begins it is told of all that it has.
        if owner == self.queue.owner && self.has_begun {
            self.inherited.extend(orders);
        }
    }

    fn timer(&mut self, clock: &Clock, state: &impl GatewayState, now: Nanos) {
        self.tell_inherited(clock, state, now);
        self.tell_status(clock, state, now);
        let (mut rest, round) = (self.rest, self.alarms.round());
        while let Some(token) = self.alarms.next(now, round) {
            self.with_entry(clock, state, TickStamps::NONE, |strategy, entry| {
                entry.receive_time = now;
                strategy.on_alarm(now, token, entry);
            });
        }
        self.with_entry(clock, state, TickStamps::NONE, |strategy, entry| {
            entry.receive_time = now;
            rest.approach(now, strategy, entry);
            strategy.on_timer(now, entry);
        });
        self.rest = rest;
    }
}

/// Tells the orders of a list, which begins with this event.
#[cold]
fn tell_orders<Q: RequestQueue, G: GatewayState>(
    begin: &Event,
    strategy: &mut impl Strategy,
    entry: &mut Entry<'_, Q, G>,
) {
    let (state, id) = (entry.state, begin.instrument);
    let instrument = state.instruments().get(id.0 as usize);
    let Some((instrument, book)) = instrument.zip(state.orders(id)) else { return };
    for order in Side::BOTH.into_iter().flat_map(|side| book.orders(side)) {
        if let Some(order) = BookOrder::listed(instrument, &order) {
            let event = Event { kind: EventKind::OrderAdd(order), ..*begin };
            strategy.on_market(event.receive_time, &event, entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use taut_oms::{MessageKind, MessagesOf, OrderState, RateWarning};
    use taut_types::{Lots, OrderTerms, Price, Side, StrategyId, UserId};

    use super::*;
    use crate::message::{OpenOrder, UpdateKind};
    use crate::strategy::Trading;
    use crate::testing::Known;

    #[derive(Default)]
    struct Told(Vec<GatewayEvent>);

    impl Strategy for Told {
        fn on_market(&mut self, _: Nanos, _: &Event, _: &mut impl Trading) {}

        fn on_gateway(&mut self, _: Nanos, event: &GatewayEvent, _: &mut impl Trading) {
            self.0.push(*event);
        }
    }

    #[test]
    fn it_is_told_what_it_begins_with_once_and_first() {
        let (clock, known) = (Clock::vdso(), Known::new(1));
        let mut client = FusedClient::new(Told::default());
        let up = GatewayEvent::OrderEntry { is_up: true };
        client.gateway_event(&clock, &known, Nanos(1), &up);
        client.timer(&clock, &known, Nanos(2));
        let owner = Owner::default();
        let told = [
            GatewayEvent::Connected,
            GatewayEvent::DownloadBegin { owner, next_number: 1 },
            GatewayEvent::Instrument(known.instruments[0]),
            up,
            GatewayEvent::DownloadEnd,
            up,
            GatewayEvent::Status(known.gateway),
            GatewayEvent::Ready,
        ];
        assert_eq!(client.strategy().0, told);
    }

    #[test]
    fn an_instrument_that_is_added_is_told_once_and_before_it_begins_with_the_others() {
        let (clock, before, after) = (Clock::vdso(), Known::new(1), Known::new(2));
        let is_instrument = |event: &&GatewayEvent| matches!(event, GatewayEvent::Instrument(_));
        for has_begun in [false, true] {
            let mut client = FusedClient::new(Told::default());
            if has_begun {
                client.timer(&clock, &before, Nanos(1));
            }
            client.instruments_added(&clock, &after, Nanos(2));
            client.timer(&clock, &after, Nanos(3));
            client.instruments_added(&clock, &after, Nanos(4));
            let told: Vec<_> = client.strategy().0.iter().filter(is_instrument).collect();
            assert_eq!(told.len(), 2, "{told:?}");
            assert_eq!(*told[1], GatewayEvent::Instrument(after.instruments[1]));
        }
    }

    #[test]
    fn what_becomes_of_orders_of_others_is_not_told() {
        #[derive(Default)]
        struct Heard(Vec<ClientOrderId>);
        impl Strategy for Heard {
            fn on_market(&mut self, _: Nanos, _: &Event, _: &mut impl Trading) {}
            fn on_order(&mut self, _: Nanos, update: &OrderUpdate, _: &mut impl Trading) {
                self.0.push(update.id);
            }
        }
        let accepted = OrderUpdate {
            id: ClientOrderId(0),
            version: 1,
            instrument: InstrumentId(0),
            account: AccountId(0),
            side: Side::Buy,
            kind: UpdateKind::Accepted,
            state: OrderState::Working,
            lots_open: Lots(1),
            lots_filled: Lots(0),
            price: Price(2),
            lots: Lots(1),
            price_asked: Price(2),
            lots_asked: Lots(1),
            exchange_time: Nanos::ZERO,
        };
        let (clock, known) = (Clock::vdso(), Known::new(0));
        let owner = Owner { user: UserId(2), strategy: StrategyId(3) };
        let mut client = FusedClient::owned_by(owner, 7, Heard::default());
        assert_eq!(client.owner(), owner);
        for id in [owner.order(1), Owner::default().order(1)] {
            let update = OrderUpdate { id, ..accepted };
            client.order_update(&clock, &known, Nanos(1), &update);
        }
        assert_eq!(client.strategy().0, [owner.order(1)]);
    }

    #[test]
    fn an_order_that_is_handed_over_to_it_is_told_once() {
        let (clock, mut known) = (Clock::vdso(), Known::new(0));
        let other = Owner { user: UserId(2), strategy: StrategyId(3) };
        let terms = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(2), Lots(1));
        let orders = [1, 2].map(|number| OpenOrder {
            id: other.order(number),
            version: 1,
            terms,
            price_asked: terms.price,
            lots_asked: terms.lots,
            state: OrderState::Working,
            lots_open: terms.lots,
            tag: 0,
        });
        let mut client = FusedClient::new(Told::default());
        let told = |client: &FusedClient<Told>| -> Vec<ClientOrderId> {
            let orders = client.strategy().0.iter().filter_map(|event| match event {
                GatewayEvent::OpenOrder(order) => Some(order.id),
                _ => None,
            });
            orders.collect()
        };
        let ids = orders.map(|order| order.id);
        // The first before it begins, the second while it trades; a third is another one's.
        for (order, at) in orders.into_iter().zip(1..) {
            known.orders.push(order);
            known.handed_over.push((order.id, Owner::default()));
            client.inherited(Owner::default(), &[order.id]);
            client.inherited(other, &[other.order(3)]);
            client.timer(&clock, &known, Nanos(at));
            client.timer(&clock, &known, Nanos(at));
            assert_eq!(told(&client), ids[..at as usize]);
        }
    }

    #[test]
    fn a_budget_of_messages_is_told_to_its_user_and_what_is_everybodys_to_all() {
        let (clock, known) = (Clock::vdso(), Known::new(0));
        let mut client = FusedClient::new(Told::default());
        client.timer(&clock, &known, Nanos(1));
        client.strategy_mut().0.clear();
        let spent = |of| {
            let kind = MessageKind::Orders;
            GatewayEvent::RateLimit(RateWarning { of, kind, is_high: true, left: 2, at_once: 10 })
        };
        let other = spent(MessagesOf::User(UserId(7)));
        let own = [MessagesOf::User(UserId(0)), MessagesOf::Venue].map(spent);
        for event in [own[0], other, own[1]] {
            client.gateway_event(&clock, &known, Nanos(2), &event);
        }
        assert_eq!(client.strategy().0, own);
    }
}
