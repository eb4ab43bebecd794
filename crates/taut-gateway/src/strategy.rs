//! The strategy's side of the contract.

use taut_market_data::Event;
use taut_types::{ClientOrderId, Nanos};

use crate::message::{NewOrder, OrderUpdate};

/// Where a strategy sends its requests.
pub trait OrderEntry {
    /// Asks for a new order and returns its id, or nothing when the way to the gateway is full.
    fn new_order(&mut self, order: NewOrder) -> Option<ClientOrderId>;

    /// Asks to cancel an order; whether the request went out.
    fn cancel(&mut self, order: ClientOrderId) -> bool;
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
/// - [`on_timer`](Self::on_timer): when the timer fired.
///
/// All are on the monotonic clock of the host; [`Event::exchange_time`] is UTC. Market events come
/// in the order of their times, and so do order updates; between the two, a strategy in a process
/// of its own may hear of a later market event before an earlier order update.
pub trait Strategy {
    /// Something happened in the market.
    fn on_market(&mut self, now: Nanos, event: &Event, orders: &mut impl OrderEntry);

    /// Something happened to one of its orders.
    fn on_order(&mut self, _now: Nanos, _update: &OrderUpdate, _orders: &mut impl OrderEntry) {}

    /// Comes about every millisecond while nothing else happens.
    fn on_timer(&mut self, _now: Nanos, _orders: &mut impl OrderEntry) {}

    /// No new orders from now on; what is open is to be cancelled. A strategy that lets orders rest
    /// must do both.
    fn stop(&mut self) {}

    /// Whether it has no order open and no request under way. A strategy that lets orders rest must
    /// know.
    fn is_idle(&self) -> bool {
        true
    }
}
