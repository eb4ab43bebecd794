//! A client that writes down what its strategy is told and what it asks for.

use taut_book::Level;
use taut_gateway::{
    Client, FusedClient, GatewayEvent, GatewayState, OrderUpdate, Request, RequestKind, Strategy,
    TickStamps,
};
use taut_market_data::{Event, EventKind, Soundness};
use taut_sys::Clock;
use taut_types::{ClientOrderId, InstrumentId, Nanos, Side};

/// Something that a client was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// What one packet changed.
    Market(TickStamps, Vec<Event>),
    /// A book that became sound, as it is then: it is told without its levels.
    Book(InstrumentId, Vec<(Side, Level)>),
    /// What became of an order.
    Order(OrderUpdate),
    /// What happened to the gateway.
    Gateway(GatewayEvent),
    /// That time passes.
    Timer,
    /// To open nothing any more.
    Stop,
}

/// A request, without the stamps of its way.
pub type Asked = (ClientOrderId, RequestKind);

/// A client whose conversation is written down.
#[derive(Debug)]
pub struct Recorded<C> {
    client: C,
    /// What it was told, and when.
    pub notices: Vec<(Nanos, Notice)>,
    /// What it asked for.
    pub asked: Vec<Asked>,
}

impl<C> Recorded<C> {
    /// Writes down from here on.
    pub const fn new(client: C) -> Self {
        Self { client, notices: Vec::new(), asked: Vec::new() }
    }
}

impl<S: Strategy> Recorded<FusedClient<S>> {
    /// Tells the strategy to open nothing any more.
    pub fn stop(&mut self, now: Nanos) {
        self.notices.push((now, Notice::Stop));
        self.client.stop();
    }

    /// Whether the strategy has no order open.
    pub fn is_idle(&self) -> bool {
        self.client.is_at_rest()
    }
}

impl<C: Client> Client for Recorded<C> {
    fn market(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        stamps: TickStamps,
        events: &[Event],
    ) {
        let sound = EventKind::Book(Soundness::Sound);
        for event in events.iter().filter(|event| event.kind == sound) {
            let levels = state.book(event.instrument).into_iter().flat_map(|book| {
                let of = |side| book.iter(side).map(move |level| (side, level));
                of(Side::Buy).chain(of(Side::Sell))
            });
            let book = Notice::Book(event.instrument, levels.collect());
            self.notices.push((clock.now(), book));
        }
        self.notices.push((clock.now(), Notice::Market(stamps, events.to_vec())));
        self.client.market(clock, state, stamps, events);
    }

    fn order_update(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        now: Nanos,
        update: &OrderUpdate,
    ) {
        self.notices.push((now, Notice::Order(*update)));
        self.client.order_update(clock, state, now, update);
    }

    fn gateway_event(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        now: Nanos,
        event: &GatewayEvent,
    ) {
        self.notices.push((now, Notice::Gateway(*event)));
        self.client.gateway_event(clock, state, now, event);
    }

    fn number_after(&mut self, highest: ClientOrderId) {
        self.client.number_after(highest);
    }

    fn next_request(&mut self) -> Option<Request> {
        let request = self.client.next_request()?;
        self.asked.push((request.id, request.kind));
        Some(request)
    }

    fn timer(&mut self, clock: &Clock, state: &impl GatewayState, now: Nanos) {
        self.notices.push((now, Notice::Timer));
        self.client.timer(clock, state, now);
    }
}
