//! The strategy's side of the contract.

use taut_book::LevelBook;
use taut_market_data::{Event, SessionStatistics, TradingStatus};
use taut_oms::Amount;
use taut_types::{
    AccountId, ClientOrderId, Instrument, InstrumentId, Lots, Nanos, OrderTerms, Price, Symbol,
};

use crate::info::EventInfo;
use crate::message::{GatewayEvent, OpenOrder, OrderFilter, OrderUpdate, Position, RequestKind};

/// What a strategy may look up, as of the event that it is told of: instruments, books, its open
/// orders and its positions. In the gateway's thread it is the gateway's own; in a process of its
/// own it is kept there from what the gateway tells. Whoever says nothing of something knows
/// nothing of it.
pub trait State {
    /// Every instrument, by its number: at its number, where there is one gateway.
    fn instruments(&self) -> &[Instrument] {
        &[]
    }

    /// The book of an instrument; nothing of one that is not followed.
    fn book(&self, _instrument: InstrumentId) -> Option<&LevelBook> {
        None
    }

    /// Open, high, low, last, settlement, mark and index price, volume, open interest and funding
    /// of an instrument: what the venue says of its session where its feed has that, else what its
    /// trades come to since the gateway follows them.
    fn statistics(&self, _instrument: InstrumentId) -> SessionStatistics {
        SessionStatistics::default()
    }

    /// Whether an instrument trades: what the venue said last, nothing where its feed does not say.
    fn trading_status(&self, _instrument: InstrumentId) -> Option<TradingStatus> {
        None
    }

    /// An order that is not over, with what has been asked for up to now.
    fn order(&self, _id: ClientOrderId) -> Option<OpenOrder> {
        None
    }

    /// Shows every order that is not over. Cost: linear in the orders that there may be.
    fn visit_orders(&self, _visit: &mut dyn FnMut(&OpenOrder)) {}

    /// What the strategy holds.
    fn position(&self, instrument: InstrumentId, account: AccountId) -> Position {
        Position { instrument, account, ..Position::default() }
    }

    /// What an account has of a currency, of all its strategies; nothing where that is not
    /// followed. At several gateways, the first one's that follows it.
    fn balance(&self, _account: AccountId, _currency: Symbol) -> Option<Amount> {
        None
    }

    /// When what the strategy is told of just now happened, was received and is told.
    fn info(&self) -> EventInfo {
        EventInfo::default()
    }

    /// Whether orders in an instrument can be sent: its gateway is there, and logged on to its
    /// venue.
    fn is_order_entry_up(&self, _instrument: InstrumentId) -> bool {
        false
    }
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

    /// Has [`Strategy::on_alarm`] called with this token once this moment has come, on the clock of
    /// every `now`: with the next timer, so up to a millisecond later. An alarm that has the token
    /// already is set anew. False when 256 others are set.
    fn set_alarm(&mut self, _at: Nanos, _token: u64) -> bool {
        false
    }

    /// Takes an alarm away; whether it was set.
    fn cancel_alarm(&mut self, _token: u64) -> bool {
        false
    }

    /// Asks something about an order, as the methods below do: only if the venue has the order in
    /// the version `only_if` when the gateway takes the request, where one is named. Else it is
    /// refused ([`Refusal::Version`](crate::Refusal::Version)), and the update says which version
    /// there is.
    fn request(&mut self, order: ClientOrderId, kind: RequestKind, only_if: Option<u16>) -> bool;

    /// Asks to give an order another price and another quantity, which counts what has traded.
    fn modify(&mut self, order: ClientOrderId, price: Price, lots: Lots) -> bool {
        self.request(order, RequestKind::Modify { price, lots }, None)
    }

    /// The same, only if the order is still as it was looked up.
    fn modify_if_same(&mut self, order: &OpenOrder, price: Price, lots: Lots) -> bool {
        self.request(order.id, RequestKind::Modify { price, lots }, Some(order.version))
    }

    /// Asks to cancel an order.
    fn cancel(&mut self, order: ClientOrderId) -> bool {
        self.request(order, RequestKind::Cancel, None)
    }

    /// The same, only if the order is still as it was looked up.
    fn cancel_if_same(&mut self, order: &OpenOrder) -> bool {
        self.request(order.id, RequestKind::Cancel, Some(order.version))
    }

    /// Asks to cancel all of the strategy's orders that the filter means.
    fn cancel_all(&mut self, filter: OrderFilter) -> bool {
        self.request(ClientOrderId::default(), RequestKind::CancelAll(filter), None)
    }

    /// Has a quote be as these terms say: where `quote` names no order that is open, asks for one
    /// and names it there; where the order was asked for with another price or quantity, asks for
    /// these. Does nothing when that would change nothing, while the order is being cancelled, and
    /// while orders cannot be sent.
    fn keep(&mut self, quote: &mut Option<ClientOrderId>, terms: &OrderTerms) {
        if !self.is_order_entry_up(terms.instrument) {
            return;
        }
        match quote.and_then(|id| self.order(id)) {
            None => *quote = self.create(terms),
            Some(order) => {
                let has_other = (order.price_asked, order.lots_asked) != (terms.price, terms.lots);
                if has_other && !order.is_being_cancelled() {
                    self.modify(order.id, terms.price, terms.lots);
                }
            }
        }
    }

    /// The instrument with this number.
    fn instrument_of(&self, id: InstrumentId) -> Option<&Instrument> {
        let all = self.instruments();
        match all.get(id.0 as usize) {
            Some(instrument) if instrument.id() == id => Some(instrument),
            _ => all.get(all.binary_search_by_key(&id, Instrument::id).ok()?),
        }
    }

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
/// - [`on_timer`](Self::on_timer) and [`on_alarm`](Self::on_alarm): when the timer fired.
///
/// All are on the monotonic clock of the host; [`Event::exchange_time`] and
/// [`OrderUpdate::exchange_time`] are UTC. Events, updates and what the gateway says come in the
/// order in which the gateway told them, also in a process of its own.
pub trait Strategy {
    /// Something happened in the market.
    fn on_market(&mut self, now: Nanos, event: &Event, trading: &mut impl Trading);

    /// All has been told that one packet changed. Comes only where some of it was told.
    fn on_batch_end(&mut self, _now: Nanos, _trading: &mut impl Trading) {}

    /// Something happened to one of its orders.
    fn on_order(&mut self, _now: Nanos, _update: &OrderUpdate, _trading: &mut impl Trading) {}

    /// Something happened to the gateway, or it tells what the strategy begins with.
    fn on_gateway(&mut self, _now: Nanos, _event: &GatewayEvent, _trading: &mut impl Trading) {}

    /// The moment of an alarm has come ([`Trading::set_alarm`]), which is set no more. Those whose
    /// moments came since the last timer come before it, by their moments, and of one moment in the
    /// order in which they were set. What is set meanwhile comes with the next timer.
    fn on_alarm(&mut self, _now: Nanos, _token: u64, _trading: &mut impl Trading) {}

    /// Comes about every millisecond, whatever else happens.
    fn on_timer(&mut self, _now: Nanos, _trading: &mut impl Trading) {}

    /// It is to come to rest: outside this call no new order of it goes out any more. Comes with
    /// each timer until it is idle and none of its orders is open; cancels them all unless it is
    /// written otherwise.
    fn on_stop(&mut self, _now: Nanos, trading: &mut impl Trading) {
        trading.cancel_all(OrderFilter::ALL);
    }

    /// Whether it has nothing to do any more once it is to come to rest and none of its orders is
    /// open.
    fn is_idle(&self) -> bool {
        true
    }
}
