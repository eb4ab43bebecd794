//! Where strategies live, as the gateway sees it.

use taut_book::LevelBook;
use taut_lat::{Stage, StageOffsets};
use taut_market_data::{BestPrices, Event, Soundness, Staleness};
use taut_sys::Clock;
use taut_types::{
    AccountId, ClientOrderId, Instrument, InstrumentId, Lots, Nanos, OrderTerms, Price,
};

use crate::mark::Mark;
use crate::message::{
    GatewayEvent, OpenOrder, OrderFilter, OrderUpdate, Position, Request, RequestKind, TickStamps,
};
use crate::owner::Owner;
use crate::strategy::{State, Trading};

/// What a gateway knows, for its clients to pass on.
pub trait GatewayState {
    /// Every instrument, at its number.
    fn instruments(&self) -> &[Instrument];
    /// The book of an instrument; nothing of one that is not followed.
    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook>;
    /// Whether a book can be trusted.
    fn soundness(&self, instrument: InstrumentId) -> Soundness;
    /// The top of a book, as it was told last.
    fn best(&self, instrument: InstrumentId) -> BestPrices;
    /// An order that is not over.
    fn order(&self, id: ClientOrderId) -> Option<OpenOrder>;
    /// Shows the owner's orders that are not over.
    fn visit_orders(&self, owner: Owner, visit: &mut dyn FnMut(&OpenOrder));
    /// What the owner holds.
    fn position(&self, owner: Owner, instrument: InstrumentId, account: AccountId) -> Position;
    /// Whether orders can be sent.
    fn is_order_entry_up(&self) -> bool;
}

/// Nothing is known: for a client without a gateway.
impl GatewayState for () {
    fn instruments(&self) -> &[Instrument] {
        &[]
    }
    fn book(&self, _: InstrumentId) -> Option<&LevelBook> {
        None
    }
    fn soundness(&self, _: InstrumentId) -> Soundness {
        Soundness::Stale(Staleness::Joining)
    }
    fn best(&self, _: InstrumentId) -> BestPrices {
        BestPrices::default()
    }
    fn order(&self, _: ClientOrderId) -> Option<OpenOrder> {
        None
    }
    fn visit_orders(&self, _: Owner, _: &mut dyn FnMut(&OpenOrder)) {}
    fn position(&self, _: Owner, instrument: InstrumentId, account: AccountId) -> Position {
        Position { instrument, account, ..Position::default() }
    }
    fn is_order_entry_up(&self) -> bool {
        false
    }
}

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

    /// This order was sent before the gateway was started again, and none of its owner's with a
    /// higher number: the next one has a higher number.
    fn number_after(&mut self, highest: ClientOrderId);

    /// The next request.
    fn next_request(&mut self) -> Option<Request>;

    /// Whether somebody answers from another thread or process: a request may come soon after what
    /// was told.
    fn answers_later(&self) -> bool {
        false
    }

    /// There was nothing else to do: tells on what has been begun. Whether there was any.
    fn idle(&mut self, _state: &impl GatewayState, _clock: &Clock) -> bool {
        false
    }

    /// Comes about every millisecond.
    fn timer(&mut self, clock: &Clock, state: &impl GatewayState, now: Nanos);
}

/// Where the requests of a strategy go.
pub(crate) trait RequestQueue {
    /// Takes a request that the event with this mark caused, unless full.
    fn push(&mut self, request: &Request, mark: Mark) -> bool;
}

/// What a strategy is handed for one event: numbers its requests, stamps them, and looks up.
pub(crate) struct Entry<'a, Q, S> {
    pub(crate) clock: &'a Clock,
    pub(crate) state: &'a S,
    pub(crate) queue: &'a mut Q,
    pub(crate) owner: Owner,
    pub(crate) next_number: &'a mut u64,
    pub(crate) origin: Nanos,
    pub(crate) offsets: StageOffsets,
    pub(crate) mark: Mark,
}

impl<Q: RequestQueue, S> Entry<'_, Q, S> {
    fn send(&mut self, id: ClientOrderId, kind: RequestKind, tag: u32) -> bool {
        let mut offsets = self.offsets;
        if self.origin != Nanos::ZERO {
            let now = self.clock.now();
            offsets.set_end(Stage::Strategy, now.since(self.origin).0.unsigned_abs());
        }
        let request = Request { id, kind, tag, origin: self.origin, offsets };
        self.queue.push(&request, self.mark)
    }
}

impl<Q: RequestQueue, S: GatewayState> State for Entry<'_, Q, S> {
    fn instruments(&self) -> &[Instrument] {
        self.state.instruments()
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        self.state.book(instrument)
    }

    fn order(&self, id: ClientOrderId) -> Option<OpenOrder> {
        self.state.order(id).filter(|order| Owner::of(order.id) == self.owner)
    }

    fn visit_orders(&self, visit: &mut dyn FnMut(&OpenOrder)) {
        self.state.visit_orders(self.owner, visit);
    }

    fn position(&self, instrument: InstrumentId, account: AccountId) -> Position {
        self.state.position(self.owner, instrument, account)
    }
}

impl<Q: RequestQueue, S: GatewayState> Trading for Entry<'_, Q, S> {
    #[inline]
    fn create_tagged(&mut self, terms: &OrderTerms, tag: u32) -> Option<ClientOrderId> {
        let id = self.owner.order(*self.next_number);
        self.send(id, RequestKind::Create(*terms), tag).then(|| {
            *self.next_number += 1;
            id
        })
    }

    fn modify(&mut self, order: ClientOrderId, price: Price, lots: Lots) -> bool {
        self.send(order, RequestKind::Modify { price, lots }, 0)
    }

    fn cancel(&mut self, order: ClientOrderId) -> bool {
        self.send(order, RequestKind::Cancel, 0)
    }

    fn cancel_all(&mut self, filter: OrderFilter) -> bool {
        self.send(self.owner.order(0), RequestKind::CancelAll(filter), 0)
    }
}
