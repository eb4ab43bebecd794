//! What a gateway knows, as its clients may look it up.

use taut_book::LevelBook;
use taut_market_data::{BestPrices, FeedHandler, Soundness};
use taut_types::{AccountId, ClientOrderId, Instrument, InstrumentId};

use crate::client::GatewayState;
use crate::market::Market;
use crate::message::{OpenOrder, Position};
use crate::order_entry::OrderSession;
use crate::owner::Owner;

/// What a gateway knows, for its clients.
#[derive(Debug)]
pub struct Known<'a, F> {
    pub(super) instruments: &'a [Instrument],
    pub(super) market: &'a Market<F>,
    pub(super) orders: &'a OrderSession,
}

impl<F: FeedHandler> GatewayState for Known<'_, F> {
    fn instruments(&self) -> &[Instrument] {
        self.instruments
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        self.market.feed().book(instrument)
    }

    fn soundness(&self, instrument: InstrumentId) -> Soundness {
        self.market.feed().soundness(instrument)
    }

    fn best(&self, instrument: InstrumentId) -> BestPrices {
        self.market.feed().best(instrument)
    }

    fn order(&self, id: ClientOrderId) -> Option<OpenOrder> {
        self.orders.order(id)
    }

    fn visit_orders(&self, owner: Owner, visit: &mut dyn FnMut(&OpenOrder)) {
        self.orders.visit_orders(owner, visit);
    }

    fn position(&self, owner: Owner, instrument: InstrumentId, account: AccountId) -> Position {
        self.orders.position(owner, instrument, account)
    }

    fn is_order_entry_up(&self, _: InstrumentId) -> bool {
        self.orders.is_active()
    }
}
