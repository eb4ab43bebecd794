//! The strategy's side of the contract.

use taut_book::LevelBook;
use taut_market_data::Event;
use taut_types::{
    AccountId, ClientOrderId, Instrument, InstrumentId, Lots, Nanos, OrderTerms, Price,
};

use crate::message::{GatewayEvent, OpenOrder, OrderFilter, OrderUpdate, Position};

/// What a strategy may look up, as of the event that it is told of: instruments, books, its open
/// orders and its positions. In the gateway's thread it is the gateway's own; in a process of its
/// own it is kept there from what the gateway tells.
pub trait State {
    /// Every instrument, at its number.
    fn instruments(&self) -> &[Instrument];

    /// The book of an instrument; nothing of one that is not followed.
    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook>;

    /// An order that is not over.
    fn order(&self, id: ClientOrderId) -> Option<OpenOrder>;

    /// Shows every order that is not over. Cost: linear in the orders that there may be.
    fn visit_orders(&self, visit: &mut dyn FnMut(&OpenOrder));

    /// What the strategy holds.
    fn position(&self, instrument: InstrumentId, account: AccountId) -> Position;
}

/// What a strategy can do: send requests, and look up what the gateway knows.
///
/// A request that returns nothing or false did not go out: the way to the gateway is full, as many
/// requests wait as there is room for. Every other one is answered by an [`OrderUpdate`].
pub trait Trading: State {
    /// Asks for a new order with a number of the strategy's own, and returns its id.
    fn create_tagged(&mut self, terms: &OrderTerms, tag: u32) -> Option<ClientOrderId>;

    /// Asks for a new order and returns its id.
    fn create(&mut self, terms: &OrderTerms) -> Option<ClientOrderId> {
        self.create_tagged(terms, 0)
    }

    /// Asks to give an order another price and another quantity, which counts what has traded.
    fn modify(&mut self, order: ClientOrderId, price: Price, lots: Lots) -> bool;

    /// Asks to cancel an order.
    fn cancel(&mut self, order: ClientOrderId) -> bool;

    /// Asks to cancel all of the strategy's orders that the filter means.
    fn cancel_all(&mut self, filter: OrderFilter) -> bool;

    /// The instrument with this name.
    fn instrument(&self, symbol: &str) -> Option<&Instrument> {
        self.instruments().iter().find(|instrument| instrument.symbol().as_str() == symbol)
    }
}

/// A strategy: told what happens, it answers with orders. The same code runs in the gateway's
/// thread, in a process of its own, and against recorded data; it reads no clock and does no I/O.
///
/// `now` is when the gateway learned what the call is about, and the same wherever the strategy
/// runs: not when the strategy is called, which is later in a process of its own.
///
/// - [`on_market`](Self::on_market): [`Event::receive_time`], when the receive call returned that
///   brought the packet; for what no packet says (silence, a gap that lasts), when it was noticed;
/// - [`on_order`](Self::on_order): when the receive call returned that brought the venue's report,
///   or when the gateway refused the request;
/// - [`on_gateway`](Self::on_gateway): when the gateway noticed;
/// - [`on_timer`](Self::on_timer): when the timer fired.
///
/// All are on the monotonic clock of the host; [`Event::exchange_time`] and
/// [`OrderUpdate::exchange_time`] are UTC. Events, updates and what the gateway says come in the
/// order in which the gateway told them, also in a process of its own.
pub trait Strategy {
    /// Something happened in the market.
    fn on_market(&mut self, now: Nanos, event: &Event, trading: &mut impl Trading);

    /// Something happened to one of its orders.
    fn on_order(&mut self, _now: Nanos, _update: &OrderUpdate, _trading: &mut impl Trading) {}

    /// Something happened to the gateway, or it tells what the strategy begins with.
    fn on_gateway(&mut self, _now: Nanos, _event: &GatewayEvent, _trading: &mut impl Trading) {}

    /// Comes about every millisecond while nothing else happens.
    fn on_timer(&mut self, _now: Nanos, _trading: &mut impl Trading) {}

    /// No new orders from now on; what is open is to be cancelled. A strategy that lets orders rest
    /// must do both.
    fn stop(&mut self) {}

    /// Whether it has no order open and no request under way. A strategy that lets orders rest must
    /// know.
    fn is_idle(&self) -> bool {
        true
    }
}
