//! A strategy with a book-keeper, who knows nothing but what the strategy is told.

use std::collections::HashMap;

use taut_gateway::{NewOrder, OrderEntry, OrderUpdate, Strategy, UpdateKind};
use taut_market_data::Event;
use taut_types::{ClientOrderId, Lots, Nanos, Side};

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
    orders: &'a mut E,
    account: &'a mut Account,
}

impl<E: OrderEntry> OrderEntry for Entered<'_, E> {
    fn new_order(&mut self, order: NewOrder) -> Option<ClientOrderId> {
        let id = self.orders.new_order(order)?;
        assert_eq!(self.account.sides.insert(id, order.side), None, "{id:?} is given twice");
        self.account.orders += 1;
        Some(id)
    }

    fn cancel(&mut self, order: ClientOrderId) -> bool {
        let asked = self.orders.cancel(order);
        self.account.cancels += u64::from(asked);
        asked
    }
}

impl<S: Strategy> Strategy for Ledger<S> {
    fn on_market(&mut self, now: Nanos, event: &Event, orders: &mut impl OrderEntry) {
        let account = &mut self.account;
        self.strategy.on_market(now, event, &mut Entered { orders, account });
    }

    fn on_order(&mut self, now: Nanos, update: &OrderUpdate, orders: &mut impl OrderEntry) {
        self.account.enter(update);
        let account = &mut self.account;
        self.strategy.on_order(now, update, &mut Entered { orders, account });
    }

    fn on_timer(&mut self, now: Nanos, orders: &mut impl OrderEntry) {
        let account = &mut self.account;
        self.strategy.on_timer(now, &mut Entered { orders, account });
    }

    fn stop(&mut self) {
        self.strategy.stop();
    }

    fn is_idle(&self) -> bool {
        self.strategy.is_idle()
    }
}
