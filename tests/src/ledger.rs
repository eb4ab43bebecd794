//! A strategy with a book-keeper, who knows nothing but what the strategy is told.

use std::collections::HashMap;

use taut_book::LevelBook;
use taut_gateway::{
    GatewayEvent, OpenOrder, OrderUpdate, Position, RequestKind, State, Strategy, Trading,
    UpdateKind,
};
use taut_market_data::Event;
use taut_types::{
    AccountId, ClientOrderId, Instrument, InstrumentId, Lots, Nanos, OrderTerms, Side,
};

/// What a strategy asked for and was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    sides: HashMap<ClientOrderId, Side>,
    /// New orders that it asked for.
    pub orders: u64,
    /// Cancels that it asked for.
    pub cancels: u64,
    /// Fills that it was told of.
    pub fills: u64,
    /// Bought less sold, by these fills.
    pub position: Lots,
    /// The other news, in order.
    pub news: Vec<OrderUpdate>,
}

impl Account {
    fn enter(&mut self, update: &OrderUpdate) {
        match update.kind {
            UpdateKind::Filled { lots, .. } => {
                let side = self.sides.get(&update.id).expect("a fill of an order of ours");
                self.fills += 1;
                self.position = Lots(self.position.0 + side.sign() * lots.0);
            }
            _ => self.news.push(*update),
        }
    }

    /// How many of the news are of a kind.
    pub fn count(&self, is_it: impl Fn(&UpdateKind) -> bool) -> u64 {
        self.news.iter().filter(|update| is_it(&update.kind)).count() as u64
    }
}

/// A strategy whose every request and news is entered.
#[derive(Debug)]
pub struct Ledger<S> {
    strategy: S,
    account: Account,
}

impl<S> Ledger<S> {
    /// A book-keeper for this strategy.
    pub fn new(strategy: S) -> Self {
        Self { strategy, account: Account::default() }
    }

    /// What has been entered.
    #[must_use]
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// The strategy.
    #[must_use]
    pub const fn strategy(&self) -> &S {
        &self.strategy
    }
}

/// The way out, past the book-keeper.
struct Entered<'a, E> {
    trading: &'a mut E,
    account: &'a mut Account,
}

impl<E: Trading> State for Entered<'_, E> {
    fn instruments(&self) -> &[Instrument] {
        self.trading.instruments()
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        self.trading.book(instrument)
    }

    fn order(&self, id: ClientOrderId) -> Option<OpenOrder> {
        self.trading.order(id)
    }

    fn visit_orders(&self, visit: &mut dyn FnMut(&OpenOrder)) {
        self.trading.visit_orders(visit);
    }

    fn position(&self, instrument: InstrumentId, account: AccountId) -> Position {
        self.trading.position(instrument, account)
    }

    fn is_order_entry_up(&self, instrument: InstrumentId) -> bool {
        self.trading.is_order_entry_up(instrument)
    }
}

impl<E: Trading> Trading for Entered<'_, E> {
    fn create_tagged(&mut self, terms: &OrderTerms, tag: u32) -> Option<ClientOrderId> {
        let id = self.trading.create_tagged(terms, tag)?;
        assert_eq!(self.account.sides.insert(id, terms.side), None, "{id:?} is given twice");
        self.account.orders += 1;
        Some(id)
    }

    fn request(&mut self, order: ClientOrderId, kind: RequestKind, only_if: Option<u16>) -> bool {
        let asked = self.trading.request(order, kind, only_if);
        self.account.cancels += u64::from(asked && kind == RequestKind::Cancel);
        asked
    }
}

impl<S: Strategy> Strategy for Ledger<S> {
    fn on_market(&mut self, now: Nanos, event: &Event, trading: &mut impl Trading) {
        let account = &mut self.account;
        self.strategy.on_market(now, event, &mut Entered { trading, account });
    }

    fn on_order(&mut self, now: Nanos, update: &OrderUpdate, trading: &mut impl Trading) {
        self.account.enter(update);
        let account = &mut self.account;
        self.strategy.on_order(now, update, &mut Entered { trading, account });
    }

    fn on_gateway(&mut self, now: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
        let account = &mut self.account;
        self.strategy.on_gateway(now, event, &mut Entered { trading, account });
    }

    fn on_timer(&mut self, now: Nanos, trading: &mut impl Trading) {
        let account = &mut self.account;
        self.strategy.on_timer(now, &mut Entered { trading, account });
    }

    fn on_stop(&mut self, now: Nanos, trading: &mut impl Trading) {
        let account = &mut self.account;
        self.strategy.on_stop(now, &mut Entered { trading, account });
    }

    fn is_idle(&self) -> bool {
        self.strategy.is_idle()
    }
}
