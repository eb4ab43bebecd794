//! What the gateway was asked for and what it told: the hub under the eyes of a book-keeper.

use std::collections::BTreeMap;

use taut_gateway::{
    Client, GatewayEvent, GatewayState, Hub, OrderUpdate, Request, RequestKind, TickStamps,
    UpdateKind,
};
use taut_market_data::Event;
use taut_oms::{OrderState, Trouble};
use taut_sys::Clock;
use taut_types::{ClientOrderId, Lots, Nanos, OrderTerms};

use crate::log::Log;

/// An order as its owner was told of it, or would have been.
#[derive(Clone, Debug)]
pub struct Told {
    pub terms: OrderTerms,
    /// The most that was ever asked for.
    pub lots_max: Lots,
    pub state: OrderState,
    pub filled: Lots,
    /// That the venue took it was told; again, once nobody knew what became of it.
    pub is_accepted: bool,
    /// The venue was heard of it.
    pub is_known: bool,
    /// It never left: its number may be used once more by another process.
    pub is_refused: bool,
    /// How often it was told to be over.
    pub ends: u32,
    pub troubles: Vec<Trouble>,
}

/// The hub and its book-keeper.
#[derive(Debug)]
pub struct Witness<'m> {
    pub hub: Hub<'m>,
    pub orders: BTreeMap<ClientOrderId, Told>,
    /// Something happened since this was taken.
    pub has_happened: bool,
    log: Log,
}

impl<'m> Witness<'m> {
    pub fn new(hub: Hub<'m>, log: Log) -> Self {
        Self { hub, orders: BTreeMap::new(), has_happened: false, log }
    }

    /// Another process goes on with the orders of the one before. What the venue says of an open
    /// one is news again.
    pub fn go_on(&mut self, before: &Self) {
        self.orders = before.orders.clone();
        self.orders.retain(|_, told| !told.is_refused);
        self.orders.values_mut().for_each(|told| told.is_accepted &= told.state.is_done());
    }

    /// An order that the owner was told of ends once, with one sum of what traded.
    fn enter(&mut self, update: &OrderUpdate) {
        self.log.note(|| format!("gateway: {update:?}"));
        self.has_happened = true;
        let id = update.id;
        let Some(told) = self.orders.get_mut(&id) else {
            assert!(matches!(update.kind, UpdateKind::Refused(_)), "nobody asked for {update:?}");
            return;
        };
        match update.kind {
            UpdateKind::Filled { lots, .. } | UpdateKind::Corrected { lots, .. } => {
                told.filled.0 += lots.0;
            }
            UpdateKind::Accepted => {
                assert!(!told.is_accepted, "{id:?} is accepted twice");
                (told.is_accepted, told.is_known) = (true, true);
            }
            // What the venue says next is news again.
            UpdateKind::Unknown => told.is_accepted = false,
            UpdateKind::Quarantined(trouble) => told.troubles.push(trouble),
            UpdateKind::Refused(_) if update.version == 0 => {
                told.is_refused |= update.state == OrderState::Rejected;
            }
            _ => {}
        }
        assert_eq!(told.filled, update.lots_filled, "{update:?}: the sum of its fills");
        let is_overfill = told.troubles.contains(&Trouble::Overfill);
        assert!(told.filled <= told.lots_max || is_overfill, "{update:?}: an overfill untold");
        let (was, is) = (told.state, update.state);
        if is.is_done() {
            assert_eq!(update.lots_open, Lots::ZERO, "{update:?}");
            told.ends += u32::from(!was.is_done());
        } else {
            assert!(!was.is_done() || !told.troubles.is_empty(), "{update:?} was {was:?}");
        }
        assert!(told.ends <= 1 || !told.troubles.is_empty(), "{update:?}: it ended twice");
        told.state = is;
    }
}

impl Client for Witness<'_> {
    fn market(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        stamps: TickStamps,
        events: &[Event],
    ) {
        self.hub.market(clock, state, stamps, events);
    }

    fn order_update(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        now: Nanos,
        update: &OrderUpdate,
    ) {
        self.enter(update);
        self.hub.order_update(clock, state, now, update);
    }

    fn gateway_event(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        now: Nanos,
        event: &GatewayEvent,
    ) {
        self.log.note(|| format!("gateway: {event:?}"));
        self.has_happened = true;
        self.hub.gateway_event(clock, state, now, event);
    }

    fn instruments_added(&mut self, clock: &Clock, state: &impl GatewayState, now: Nanos) {
        self.hub.instruments_added(clock, state, now);
    }

    fn number_after(&mut self, highest: ClientOrderId) {
        self.hub.number_after(highest);
    }

    fn next_request(&mut self) -> Option<Request> {
        let request = self.hub.next_request()?;
        self.log.note(|| format!("request: {:?} {:?}", request.id, request.kind));
        self.has_happened = true;
        match request.kind {
            RequestKind::Create(terms) => {
                let told = Told {
                    terms,
                    lots_max: terms.lots,
                    state: OrderState::Sent,
                    filled: Lots::ZERO,
                    is_accepted: false,
                    is_known: false,
                    is_refused: false,
                    ends: 0,
                    troubles: Vec::new(),
                };
                let before = self.orders.insert(request.id, told);
                assert!(before.is_none(), "{:?}: two orders under one id", request.id);
            }
            RequestKind::Modify { lots, .. } => {
                if let Some(told) = self.orders.get_mut(&request.id) {
                    told.lots_max = told.lots_max.max(lots);
                }
            }
            _ => {}
        }
        Some(request)
    }

    fn idle(&mut self, state: &impl GatewayState, clock: &Clock) -> bool {
        self.hub.idle(state, clock)
    }

    fn timer(&mut self, clock: &Clock, state: &impl GatewayState, now: Nanos) {
        self.hub.timer(clock, state, now);
    }
}
