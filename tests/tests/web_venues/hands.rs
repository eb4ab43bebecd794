//! A strategy that does what the test says.

use std::cell::RefCell;
use std::rc::Rc;

use taut_gateway::{FusedClient, Gateway, OrderUpdate, Strategy, Trading};
use taut_market_data::Event;
use taut_types::{ClientOrderId, Nanos, OrderTerms};

/// A gateway on such a kernel that such a strategy trades by.
pub type Running<'m, K, F, H> = Gateway<'m, FusedClient<Obedient>, F, K, (), H>;

/// What is asked of the strategy, and what it heard.
#[derive(Debug, Default)]
pub struct Hands {
    pub creates: Vec<OrderTerms>,
    pub modifies: Vec<(ClientOrderId, OrderTerms)>,
    pub cancels: Vec<ClientOrderId>,
    pub heard: Vec<OrderUpdate>,
    /// What it was told of the market, while somebody wants to know.
    pub market: Option<Vec<Event>>,
}

impl Hands {
    /// Whether the strategy has asked for all that it was told to ask for.
    pub fn have_asked(&self) -> bool {
        self.creates.is_empty() && self.modifies.is_empty() && self.cancels.is_empty()
    }
}

pub struct Obedient(pub Rc<RefCell<Hands>>);

impl Strategy for Obedient {
    fn on_market(&mut self, _now: Nanos, event: &Event, _trading: &mut impl Trading) {
        self.0.borrow_mut().market.iter_mut().for_each(|market| market.push(*event));
    }

    fn on_order(&mut self, _now: Nanos, update: &OrderUpdate, _trading: &mut impl Trading) {
        self.0.borrow_mut().heard.push(*update);
    }

    fn on_timer(&mut self, _now: Nanos, trading: &mut impl Trading) {
        let mut hands = self.0.borrow_mut();
        for terms in hands.creates.drain(..) {
            assert!(trading.create(&terms).is_some());
        }
        for (order, terms) in hands.modifies.drain(..) {
            trading.modify(order, terms.price, terms.lots);
        }
        for order in hands.cancels.drain(..) {
            trading.cancel(order);
        }
    }
}
