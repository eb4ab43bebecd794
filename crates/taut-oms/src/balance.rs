//! What an account has of each currency: what it began with, and what its trades made of it.
//!
//! An instrument is paid for in its quote currency. Where it has a base currency too (a spot
//! market), a purchase takes what it cost from the one and adds what was bought to the other; where
//! it has none (a future, a perpetual), only profit that is realised moves, less fees; an inverse
//! contract has no base, and the coin that it is settled in stands for the quote currency. Exact:
//! sums of amounts at 1e-18.

use alloc::boxed::Box;
use alloc::vec::Vec;

use taut_types::{AccountId, InstrumentId, Price, Symbol};

use crate::amount::Amount;
use crate::position::{Position, PositionKey};

/// How an instrument's trades are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// What a price is in; of an inverse contract what it is settled in.
    pub quote: Symbol,
    /// What is bought, where it is a currency itself.
    pub base: Option<Symbol>,
}

/// What an account has of a currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    /// The account.
    pub account: AccountId,
    /// The currency.
    pub currency: Symbol,
    /// How much; what is owed is below 0.
    pub amount: Amount,
}

/// A balance, and whether it has changed since it was told.
#[derive(Clone, Copy, Debug)]
struct Cell {
    balance: Balance,
    has_changed: bool,
}

/// The balances of all accounts. Without any that is followed, nothing is counted.
#[derive(Clone, Debug, Default)]
pub struct Balances {
    cells: Vec<Cell>,
    settlements: Box<[Option<Settlement>]>,
}

impl Balances {
    /// These balances, of which each is followed from here on; an account that is not named has
    /// none. `settlements` says of each instrument, in the order of their numbers, how it is
    /// settled; nothing of those that may come later ([`Balances::settle`]).
    #[must_use]
    pub fn new(balances: &[Balance], settlements: &[Option<Settlement>]) -> Self {
        let cell = |balance: &Balance| Cell { balance: *balance, has_changed: false };
        Self { cells: balances.iter().map(cell).collect(), settlements: settlements.into() }
    }

    /// Says how an instrument is settled that had no settlement when the balances were built. Of
    /// one whose number is beyond theirs nothing is kept.
    pub fn settle(&mut self, instrument: InstrumentId, settlement: Settlement) {
        if let Some(of) = self.settlements.get_mut(instrument.0 as usize) {
            of.get_or_insert(settlement);
        }
    }

    /// Whether any is followed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// What an account has of a currency; nothing where that is not followed.
    #[must_use]
    pub fn get(&self, account: AccountId, currency: Symbol) -> Option<Amount> {
        let is_it = |balance: &&Balance| (balance.account, balance.currency) == (account, currency);
        self.all().find(is_it).map(|balance| balance.amount)
    }

    /// What an instrument's prices are in, where that is known.
    #[must_use]
    pub fn quote(&self, instrument: InstrumentId) -> Option<Symbol> {
        let settlement = self.settlements.get(instrument.0 as usize).copied().flatten();
        settlement.map(|settlement| settlement.quote)
    }

    /// Every balance.
    pub fn all(&self) -> impl Iterator<Item = &Balance> {
        self.cells.iter().map(|cell| &cell.balance)
    }

    /// A position is another one than before; a lot of it is so much at 1e-9
    /// ([`crate::RiskInstrument::lot_value`]).
    pub fn moved(&mut self, key: PositionKey, before: &Position, after: &Position, lot: i64) {
        let settlement = self.settlements.get(key.instrument.0 as usize).copied().flatten();
        let Some(Settlement { quote, base }) = settlement else { return };
        let earned = after.realised() - before.realised() - (after.fees() - before.fees());
        let Some(base) = base else {
            self.add(key.account, quote, earned);
            return;
        };
        self.add(key.account, quote, earned - (after.cost() - before.cost()));
        let lots = after.lots().0.saturating_sub(before.lots().0);
        self.add(key.account, base, Amount::of_lots(lots, Amount::of_lot(Price::SCALE, lot)));
    }

    /// A position earned so much on days before, less fees.
    pub fn earned(&mut self, key: PositionKey, amount: Amount) {
        if let Some(quote) = self.quote(key.instrument) {
            self.add(key.account, quote, amount);
        }
    }

    /// A balance that has changed since this was called last.
    pub fn poll_changed(&mut self) -> Option<Balance> {
        let cell = self.cells.iter_mut().find(|cell| cell.has_changed)?;
        cell.has_changed = false;
        Some(cell.balance)
    }

    fn add(&mut self, account: AccountId, currency: Symbol, amount: Amount) {
        let is_it =
            |cell: &&mut Cell| (cell.balance.account, cell.balance.currency) == (account, currency);
        if let Some(cell) = self.cells.iter_mut().find(is_it).filter(|_| amount != Amount::ZERO) {
            cell.balance.amount += amount;
            cell.has_changed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use taut_types::{Lots, Side, StrategyId, UserId};

    use super::*;
    use crate::position::Trade;

    const USD: &str = "USD";

    fn symbol(text: &str) -> Symbol {
        Symbol::new(text.as_bytes()).unwrap()
    }

    /// A lot is a tenth.
    const LOT: i64 = 100_000_000;

    fn balances(base: Option<&str>) -> Balances {
        let of = |currency: &str, units| Balance {
            account: AccountId(1),
            currency: symbol(currency),
            amount: Amount::whole(units),
        };
        let settlement = Settlement { quote: symbol(USD), base: base.map(symbol) };
        Balances::new(&[of(USD, 1_000), of("BTC", 2)], &[None, Some(settlement)])
    }

    fn trade(balances: &mut Balances, position: &mut Position, side: Side, lots: i64, price: i64) {
        let key = PositionKey {
            account: AccountId(1),
            user: UserId(0),
            strategy: StrategyId(0),
            instrument: InstrumentId(1),
        };
        let before = *position;
        let (lots, price, fee) = (Lots(lots), Price(price * Price::SCALE), Amount::whole(1));
        position.count(&Trade { side, lots, price, fee }, LOT);
        balances.moved(key, &before, position, LOT);
    }

    fn has(balances: &Balances, currency: &str) -> Amount {
        balances.get(AccountId(1), symbol(currency)).unwrap()
    }

    #[test]
    fn a_spot_trade_moves_both_currencies_and_its_fee_is_paid() {
        let (mut balances, mut position) = (balances(Some("BTC")), Position::default());
        trade(&mut balances, &mut position, Side::Buy, 5, 100);
        // Half a coin at 100, and 1 for the trade.
        assert_eq!(has(&balances, USD), Amount::whole(1_000 - 50 - 1));
        assert_eq!(has(&balances, "BTC"), Amount(Amount::SCALE * 5 / 2));
        trade(&mut balances, &mut position, Side::Sell, 10, 120);
        assert_eq!(has(&balances, USD), Amount::whole(1_000 - 50 - 1 + 120 - 1));
        assert_eq!(has(&balances, "BTC"), Amount(Amount::SCALE * 3 / 2));
        let changed: Vec<_> = core::iter::from_fn(|| balances.poll_changed()).collect();
        assert_eq!(changed.len(), 2);
    }

    #[test]
    fn of_a_contract_only_what_is_realised_moves() {
        let (mut balances, mut position) = (balances(None), Position::default());
        trade(&mut balances, &mut position, Side::Buy, 10, 100);
        assert_eq!(
            (has(&balances, USD), has(&balances, "BTC")),
            (Amount::whole(999), Amount::whole(2))
        );
        trade(&mut balances, &mut position, Side::Sell, 10, 130);
        assert_eq!(has(&balances, USD), Amount::whole(1_000 + 30 - 2));
    }

    #[test]
    fn an_instrument_that_comes_later_is_settled_from_then_on() {
        let settlement = Settlement { quote: symbol(USD), base: None };
        let of = Balance { account: AccountId(1), currency: symbol(USD), amount: Amount::ZERO };
        let mut balances = Balances::new(&[of], &[None, None]);
        let mut position = Position::default();
        trade(&mut balances, &mut position, Side::Buy, 1, 100);
        assert_eq!(has(&balances, USD), Amount::ZERO);
        balances.settle(InstrumentId(1), settlement);
        balances.settle(InstrumentId(2), settlement);
        trade(&mut balances, &mut position, Side::Buy, 1, 100);
        assert_eq!(has(&balances, USD), Amount::whole(-1), "its fee");
        // What an instrument is settled in stays, and there is no place for a third one.
        balances.settle(InstrumentId(1), Settlement { quote: symbol("EUR"), base: None });
        assert_eq!(balances.quote(InstrumentId(1)), Some(symbol(USD)));
        assert_eq!(balances.quote(InstrumentId(2)), None);
    }

    #[test]
    fn what_is_not_followed_has_no_balance() {
        let mut balances = balances(None);
        assert_eq!(balances.get(AccountId(2), symbol(USD)), None);
        assert_eq!(balances.get(AccountId(1), symbol("EUR")), None);
        assert_eq!(balances.poll_changed(), None);
        assert!(Balances::default().is_empty());
    }
}
