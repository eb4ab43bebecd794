//! What a gateway knows, as its clients may look it up.

use taut_book::{LevelBook, OrderBook};
use taut_market_data::{BestPrices, FeedHandler, SessionStatistics, Soundness, TradingStatus};
use taut_oms::Balance;
use taut_types::{AccountId, ClientOrderId, Instrument, InstrumentId};

use crate::client::GatewayState;
use crate::market::Market;
use crate::message::{GatewayStatus, OpenOrder, Position};
use crate::order_entry::OrderSession;
use crate::order_entry::handler::OrderHandler;
use crate::owner::Owner;

/// What a gateway knows, for its clients.
#[derive(Debug)]
pub struct Known<'a, F, H> {
    pub(super) instruments: &'a [Instrument],
    pub(super) market: &'a Market<F>,
    pub(super) orders: &'a OrderSession<H>,
    /// Every book was sound, or has no room.
    pub(super) has_joined: bool,
}

impl<F: FeedHandler, H: OrderHandler> GatewayState for Known<'_, F, H> {
    fn instruments(&self) -> &[Instrument] {
        self.instruments
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        self.market.feed().book(instrument)
    }

    fn soundness(&self, instrument: InstrumentId) -> Soundness {
        self.market.feed().soundness(instrument)
    }

    fn tells_orders(&self) -> bool {
        self.market.feed().tells_orders()
    }

    fn orders(&self, instrument: InstrumentId) -> Option<&OrderBook> {
        self.market.feed().orders(instrument)
    }

    fn best(&self, instrument: InstrumentId) -> BestPrices {
        self.market.feed().best(instrument)
    }

    fn statistics(&self, instrument: InstrumentId) -> SessionStatistics {
        self.market.statistics(instrument)
    }

    fn trading_status(&self, instrument: InstrumentId) -> Option<TradingStatus> {
        self.market.status(instrument)
    }

    fn owner_of(&self, id: ClientOrderId) -> Owner {
        self.orders.owner_of(id)
    }

    fn order(&self, owner: Owner, id: ClientOrderId) -> Option<OpenOrder> {
        self.orders.order(id).filter(|_| self.orders.owner_of(id) == owner)
    }

    fn visit_orders(&self, owner: Owner, visit: &mut dyn FnMut(&OpenOrder)) {
        self.orders.visit_orders(owner, visit);
    }

    fn position(&self, owner: Owner, instrument: InstrumentId, account: AccountId) -> Position {
        self.orders.position(owner, instrument, account)
    }

    fn visit_balances(&self, visit: &mut dyn FnMut(&Balance)) {
        self.orders.balances().all().for_each(visit);
    }

    fn is_order_entry_up(&self, _: InstrumentId) -> bool {
        self.orders.is_active()
    }

    fn is_ready(&self) -> bool {
        self.has_joined && self.orders.is_active()
    }

    fn status(&self, owner: Owner) -> GatewayStatus {
        let (session, killed) = (self.orders.session_phase(), self.orders.killed(owner));
        GatewayStatus { session, is_feed_sound: self.market.is_sound(), killed }
    }
}
