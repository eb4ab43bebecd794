//! Several gateways of one strategy: numbers of instruments, copies of what each knows, and the
//! ways for requests.

use taut_book::LevelBook;
use taut_market_data::{BestPrices, SessionStatistics, Soundness, Staleness, TradingStatus};
use taut_oms::Balance;
use taut_ring::{RingError, spsc};
use taut_sys::Doorbell;
use taut_types::{AccountId, ClientOrderId, Instrument, InstrumentId, Nanos, OrderTerms};

use crate::client::{GatewayState, RequestQueue};
use crate::mark::{Mark, Published};
use crate::message::{
    GatewayEvent, OpenOrder, OrderFilter, OrderUpdate, Position, Reply, Request, RequestKind,
};
use crate::owner::Owner;
use crate::regions::{REQUEST_SLOTS, Regions, StrategyRegions};
use crate::replica::Replica;

/// Bits of an instrument's number at its gateway; the gateway's place is above them.
const NUMBER_BITS: u32 = 16;
/// Requests of one call of the strategy: as many as a ring has room for.
const REQUESTS_MAX: usize = REQUEST_SLOTS;

/// The numbers by which a strategy knows the instruments of a gateway: their own for the first
/// gateway, and others for each further one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InstrumentNumbers {
    base: u32,
}

impl InstrumentNumbers {
    /// Those of the gateway in this place.
    pub(crate) const fn of_gateway(place: usize) -> Self {
        Self { base: (place as u32) << NUMBER_BITS }
    }

    /// The strategy's number of an instrument. All instruments, and one that nobody knows, have the
    /// same with everybody.
    #[inline]
    pub(crate) const fn merged(self, id: InstrumentId) -> InstrumentId {
        if id.0 >> NUMBER_BITS == 0 { InstrumentId(id.0 | self.base) } else { id }
    }

    /// The gateway's number of an instrument of its own.
    #[inline]
    pub(crate) const fn own(self, id: InstrumentId) -> InstrumentId {
        if id.0 >> NUMBER_BITS == self.base >> NUMBER_BITS {
            InstrumentId(id.0 ^ self.base)
        } else {
            id
        }
    }

    /// A reply with the strategy's numbers.
    pub(crate) fn of_reply(self, reply: Reply) -> Reply {
        if self.base == 0 {
            return reply;
        }
        match reply {
            Reply::Order(update, taken) => {
                let instrument = self.merged(update.instrument);
                Reply::Order(OrderUpdate { instrument, ..update }, taken)
            }
            Reply::Position(held) => Reply::Position(self.of_position(held)),
            Reply::Market(event) => {
                let instrument = self.merged(event.instrument);
                Reply::Market(taut_market_data::Event { instrument, ..event })
            }
            Reply::Gateway(event) => Reply::Gateway(match event {
                GatewayEvent::Instrument(instrument) => {
                    GatewayEvent::Instrument(instrument.with_id(self.merged(instrument.id())))
                }
                GatewayEvent::Position(held) => GatewayEvent::Position(self.of_position(held)),
                GatewayEvent::OpenOrder(order) => GatewayEvent::OpenOrder(OpenOrder {
                    terms: OrderTerms {
                        instrument: self.merged(order.terms.instrument),
                        ..order.terms
                    },
                    ..order
                }),
                other => other,
            }),
        }
    }

    fn of_position(self, held: Position) -> Position {
        Position { instrument: self.merged(held.instrument), ..held }
    }

    /// A request with the gateway's numbers.
    fn of_request(self, request: &Request) -> Request {
        let kind = match request.kind {
            RequestKind::Create(terms) => {
                let instrument = self.own(terms.instrument);
                RequestKind::Create(OrderTerms { instrument, ..terms })
            }
            RequestKind::CancelAll(filter) => {
                let instrument = filter.instrument.map(|id| self.own(id));
                RequestKind::CancelAll(OrderFilter { instrument, ..filter })
            }
            other => other,
        };
        Request { kind, ..*request }
    }
}

/// The place of an instrument's gateway.
pub(crate) const fn gateway_of(id: InstrumentId) -> usize {
    (id.0 >> NUMBER_BITS) as usize
}

/// The place of an instrument's gateway, of so many; the first where there is none.
#[inline]
const fn place_of(id: InstrumentId, gateways: usize) -> usize {
    let place = gateway_of(id);
    if place < gateways { place } else { 0 }
}

/// What each gateway knows, as far as it has told.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    of: Vec<Replica>,
    /// All instruments, by their numbers.
    instruments: Vec<Instrument>,
}

impl Replicas {
    /// Of so many gateways.
    pub(crate) fn new(gateways: usize) -> Self {
        let of = (0..gateways).map(|_| Replica::new()).collect();
        Self { of, instruments: Vec::new() }
    }

    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut Replica> {
        self.of.get_mut(place)
    }

    /// Takes over what the gateway in this place says.
    pub(crate) fn on_gateway(&mut self, place: usize, event: &GatewayEvent) {
        match event {
            GatewayEvent::DownloadBegin { .. } | GatewayEvent::Disconnected => {
                let gateways = self.of.len();
                self.instruments.retain(|known| place_of(known.id(), gateways) != place);
            }
            GatewayEvent::Instrument(instrument) => {
                let at = self.instruments.partition_point(|known| known.id() < instrument.id());
                self.instruments.insert(at, *instrument);
            }
            _ => {}
        }
        if let Some(replica) = self.of.get_mut(place) {
            replica.on_gateway(event);
        }
    }

    #[inline]
    fn of(&self, instrument: InstrumentId) -> Option<&Replica> {
        self.of.get(place_of(instrument, self.of.len()))
    }
}

impl GatewayState for Replicas {
    fn instruments(&self) -> &[Instrument] {
        &self.instruments
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        self.of(instrument)?.book(instrument)
    }

    fn soundness(&self, instrument: InstrumentId) -> Soundness {
        let unknown = Soundness::Stale(Staleness::Joining);
        self.of(instrument).map_or(unknown, |replica| replica.soundness(instrument))
    }

    fn best(&self, instrument: InstrumentId) -> BestPrices {
        self.of(instrument).map_or_else(BestPrices::default, |replica| replica.best(instrument))
    }

    fn statistics(&self, instrument: InstrumentId) -> SessionStatistics {
        self.of(instrument).map_or_else(SessionStatistics::default, |it| it.statistics(instrument))
    }

    fn trading_status(&self, instrument: InstrumentId) -> Option<TradingStatus> {
        self.of(instrument)?.trading_status(instrument)
    }

    fn order(&self, owner: Owner, id: ClientOrderId) -> Option<OpenOrder> {
        self.of.iter().find_map(|replica| replica.order(owner, id))
    }

    fn visit_orders(&self, owner: Owner, visit: &mut dyn FnMut(&OpenOrder)) {
        self.of.iter().for_each(|replica| replica.visit_orders(owner, visit));
    }

    fn position(&self, owner: Owner, instrument: InstrumentId, account: AccountId) -> Position {
        let nothing = Position { instrument, account, ..Position::default() };
        self.of(instrument).map_or(nothing, |it| it.position(owner, instrument, account))
    }

    fn visit_balances(&self, visit: &mut dyn FnMut(&Balance)) {
        self.of.iter().for_each(|replica| replica.visit_balances(visit));
    }

    fn is_order_entry_up(&self, instrument: InstrumentId) -> bool {
        self.of(instrument).is_some_and(|replica| replica.is_order_entry_up(instrument))
    }
}

/// What is kept of the way to a gateway when its ring is let go for a moment.
#[derive(Debug, Default)]
pub(crate) struct RingState {
    /// Rung after each request, where the gateway sleeps in the kernel.
    pub(crate) doorbell: Option<Doorbell>,
    pub(crate) owner: Owner,
    pub(crate) sent: u64,
    /// Requests that were not taken.
    pub(crate) full: u64,
}

/// The way to one gateway.
#[derive(Debug)]
struct RequestRing<'m> {
    /// None while the gateway is not there.
    ring: Option<spsc::Producer<'m>>,
    /// When its packets were published.
    published: Option<Published<'m>>,
    numbers: InstrumentNumbers,
    state: RingState,
}

/// The ways to the gateways.
#[derive(Debug)]
pub(crate) struct RequestRings<'m> {
    rings: Vec<RequestRing<'m>>,
    /// The requests of this call of the strategy.
    waiting: Vec<Request>,
    /// Where each went, and its number there.
    sent: Vec<(usize, u16)>,
}

impl<'m> RequestRings<'m> {
    /// To gateways that are not there.
    pub(crate) fn closed(states: Vec<RingState>) -> Self {
        let ring = |(place, state)| {
            let numbers = InstrumentNumbers::of_gateway(place);
            RequestRing { ring: None, published: None, numbers, state }
        };
        let rings = states.into_iter().enumerate().map(ring).collect();
        let (waiting, sent) = (Vec::with_capacity(REQUESTS_MAX), Vec::with_capacity(REQUESTS_MAX));
        Self { rings, waiting, sent }
    }

    /// Opens the way to the gateway in this place, or opens it again.
    pub(crate) fn open(
        &mut self,
        place: usize,
        regions: &Regions<'m>,
        own: &StrategyRegions<'m>,
    ) -> Result<(), RingError> {
        if let Some(ring) = self.rings.get_mut(place) {
            ring.ring = Some(spsc::Producer::resume(own.requests)?);
            ring.published = Some(Published(regions.published));
        }
        Ok(())
    }

    /// What is kept without the rings.
    pub(crate) fn into_states(self) -> Vec<RingState> {
        self.rings.into_iter().map(|ring| ring.state).collect()
    }

    /// Whose orders the strategy's are, at the gateway in this place.
    pub(crate) fn set_owner(&mut self, place: usize, owner: Owner) {
        if let Some(ring) = self.rings.get_mut(place) {
            ring.state.owner = owner;
        }
    }

    /// Requests that went to the gateway in this place.
    pub(crate) fn sent(&self, place: usize) -> u64 {
        self.rings.get(place).map_or(0, |ring| ring.state.sent)
    }

    /// Requests that the way to the gateway in this place had no room for.
    pub(crate) fn full(&self, place: usize) -> u64 {
        self.rings.get(place).map_or(0, |ring| ring.state.full)
    }

    /// Whether the call of the strategy asked for nothing.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What the call of the strategy asked for, which the copies know from then on.
    pub(crate) fn remember(&mut self, replicas: &mut Replicas) {
        for (request, (place, number)) in self.waiting.drain(..).zip(self.sent.drain(..)) {
            if let Some(replica) = replicas.get_mut(place) {
                replica.on_request(&request, number);
            }
        }
    }
}

impl RequestQueue for RequestRings<'_> {
    fn gateways(&self) -> usize {
        self.rings.len()
    }

    #[inline]
    fn place_of(&self, instrument: InstrumentId) -> usize {
        place_of(instrument, self.rings.len())
    }

    #[inline]
    fn owner(&self, place: usize) -> Owner {
        self.rings.get(place).map_or_else(Owner::default, |ring| ring.state.owner)
    }

    #[inline]
    fn push(&mut self, place: usize, request: &Request, mark: Mark) -> bool {
        let Some(RequestRing { ring: Some(ring), numbers, state, .. }) = self.rings.get_mut(place)
        else {
            return false;
        };
        let number = (state.sent + 1) as u16;
        let slots = numbers.of_request(request).pack(mark.0, number);
        let is_taken =
            self.waiting.len() < REQUESTS_MAX && ring.push_batch(slots.as_slice()).is_ok();
        if let Some(doorbell) = &state.doorbell {
            doorbell.ring();
        }
        if is_taken {
            state.sent += 1;
            self.waiting.push(*request);
            self.sent.push((place, number));
        } else {
            state.full += 1;
        }
        is_taken
    }

    fn published(&self, place: usize, mark: Mark, received: Nanos) -> Option<Nanos> {
        self.rings.get(place)?.published?.time(mark, received)
    }

    fn waiting(&self) -> impl Iterator<Item = &Request> {
        self.waiting.iter()
    }
}
