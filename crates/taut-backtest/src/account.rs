//! Position and money.

use taut_types::{ContractKind, FeeRates, Instrument, Side};

use crate::FlatBook;
use crate::order::Order;

/// What a fee is a part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FeeBasis {
    /// Of the value of a fill: the rates are parts of it.
    #[default]
    Value,
    /// Of its quantity: the rates are for one of it.
    Quantity,
    /// So much for each fill.
    Fill,
}

/// What fills cost. Below 0 is a rebate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fees {
    /// What the rates are for.
    pub basis: FeeBasis,
    /// The rates at 1e-9.
    pub rates: FeeRates,
}

/// What an instrument's fills are worth: its steps, its kind and the fees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    tick: f64,
    lot: f64,
    multiplier: f64,
    kind: ContractKind,
    fees: Fees,
}

impl Terms {
    /// The terms of an instrument.
    #[must_use]
    pub fn new(instrument: &Instrument, fees: Fees) -> Self {
        let unit = |mantissa: i64, decimals: u8| mantissa as f64 / libm::pow(10.0, decimals.into());
        let (lot, multiplier) = (instrument.lot(), instrument.multiplier());
        Self {
            tick: unit(instrument.tick().0, taut_types::Price::DECIMALS),
            lot: unit(lot.mantissa, lot.decimals),
            multiplier: unit(multiplier.mantissa, multiplier.decimals),
            kind: instrument.kind(),
            fees,
        }
    }
}

/// Sums over fills of one sort.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Volume {
    fills: u64,
    lots: i128,
    /// Ticks times lots.
    products: i128,
    /// Lots over ticks, of inverse contracts: there is no unit in which these are whole.
    quotients: f64,
}

impl Volume {
    fn add(&mut self, tick: i64, lots: i64) {
        self.fills += 1;
        self.lots += i128::from(lots);
        self.products += i128::from(tick) * i128::from(lots);
        self.quotients += lots as f64 / tick as f64;
    }
}

/// What was booked: whole ticks and lots, summed by maker and taker, buys and sells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// By side, taker before maker.
    volumes: [[Volume; 2]; 2],
}

/// An account in units of its currency and its quantity. Floats, for reports and comparisons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Money {
    /// The position.
    pub position: f64,
    /// What sales brought less what buys cost, without fees; of inverse contracts the other way
    /// round.
    pub balance: f64,
    /// Fees paid.
    pub fee: f64,
    /// How many fills were booked.
    pub fills: u64,
    /// Their quantity.
    pub volume: f64,
    /// Their value.
    pub value: f64,
}

impl Account {
    /// Books an order's last fill.
    pub fn book(&mut self, order: &Order) {
        let volume = &mut self.volumes[order.side.index()][usize::from(order.maker)];
        volume.add(order.last_tick, order.last_lots);
    }

    /// The position in lots.
    #[must_use]
    pub fn position(&self) -> i64 {
        let [bought, sold] = Side::BOTH
            .map(|side| self.volumes[side.index()].iter().map(|volume| volume.lots).sum::<i128>());
        i64::try_from(bought - sold).unwrap_or(if bought > sold { i64::MAX } else { i64::MIN })
    }

    /// How many fills were booked.
    #[must_use]
    pub fn fills(&self) -> u64 {
        self.volumes.iter().flatten().map(|volume| volume.fills).sum()
    }

    /// The account in units. Linear contracts are summed as integers and converted at last.
    #[must_use]
    pub fn money(&self, terms: &Terms) -> Money {
        let value = |volume: &Volume| match terms.kind {
            ContractKind::Linear => {
                volume.products as f64 * (terms.tick * terms.lot * terms.multiplier)
            }
            ContractKind::Inverse => volume.quotients * (terms.lot * terms.multiplier / terms.tick),
        };
        let quantity = |volume: &Volume| volume.lots as f64 * terms.lot;
        let mut money = Money {
            position: self.position() as f64 * terms.lot,
            balance: 0.0,
            fee: 0.0,
            fills: self.fills(),
            volume: 0.0,
            value: 0.0,
        };
        for side in Side::BOTH {
            let [taker, maker] = &self.volumes[side.index()];
            let rates = terms.fees.rates;
            for (volume, rate) in [(taker, rates.taker), (maker, rates.maker)] {
                let value = value(volume);
                money.balance -= side.sign() as f64 * value;
                money.value += value;
                money.volume += quantity(volume);
                let basis = match terms.fees.basis {
                    FeeBasis::Value => value,
                    FeeBasis::Quantity => quantity(volume),
                    FeeBasis::Fill => volume.fills as f64,
                };
                money.fee += basis * (rate as f64 / FeeRates::SCALE as f64);
            }
        }
        money
    }
}

impl Money {
    /// What the account is worth at the middle of a book; None when a side of it is empty.
    #[must_use]
    pub fn equity(&self, terms: &Terms, book: &FlatBook) -> Option<f64> {
        Some(self.equity_between(terms, book.best(Side::Buy)?, book.best(Side::Sell)?))
    }

    /// What the account is worth at the middle of a bid and an offer, in ticks.
    #[must_use]
    pub fn equity_between(&self, terms: &Terms, bid: i64, ask: i64) -> f64 {
        let mid = (bid + ask) as f64 / 2.0 * terms.tick;
        match terms.kind {
            ContractKind::Linear => {
                self.balance + terms.multiplier * self.position * mid - self.fee
            }
            ContractKind::Inverse => {
                -self.balance - terms.multiplier * self.position / mid - self.fee
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_types::{InstrumentId, Price, Qty, Symbol};

    fn instrument(kind: ContractKind) -> Instrument {
        let (tick, lot) = (Price(500_000_000), Qty { mantissa: 1, decimals: 1 });
        let symbol = Symbol::new(b"X").expect("a symbol");
        let one = Instrument::new(InstrumentId(1), symbol, tick, lot).expect("an instrument");
        one.with_multiplier(Qty::whole(10)).expect("a multiplier").with_kind(kind)
    }

    fn account() -> Account {
        let mut account = Account::default();
        for (side, tick, lots, maker) in [(Side::Buy, 200, 30, false), (Side::Sell, 210, 20, true)]
        {
            let order = Order::limit(1, side, tick, lots);
            account.book(&Order { last_tick: tick, last_lots: lots, maker, ..order });
        }
        account
    }

    fn money(kind: ContractKind, basis: FeeBasis) -> (Money, Terms) {
        let rates = FeeRates { maker: -100_000_000, taker: 500_000_000 };
        let terms = Terms::new(&instrument(kind), Fees { basis, rates });
        (account().money(&terms), terms)
    }

    fn close(money: f64, expected: f64) {
        assert!((money - expected).abs() < 1e-9, "{money} is not {expected}");
    }

    #[test]
    fn linear_money_is_price_times_quantity() {
        // 3 bought at 100 for 10 times as much, 2 sold at 105.
        let (money, terms) = money(ContractKind::Linear, FeeBasis::Value);
        close(money.position, 1.0);
        close(money.balance, 2_100.0 - 3_000.0);
        close(money.value, 5_100.0);
        close(money.volume, 5.0);
        close(money.fee, 0.5 * 3_000.0 - 0.1 * 2_100.0);
        let mut book = FlatBook::new(&(200..=210)).expect("a range");
        assert_eq!(money.equity(&terms, &book), None);
        book.set_level(Side::Buy, 203, 1);
        book.set_level(Side::Sell, 204, 1);
        close(money.equity(&terms, &book).expect("a middle"), -900.0 + 1_017.5 - money.fee);
        assert_eq!((account().position(), account().fills(), money.fills), (10, 2, 2));
    }

    #[test]
    fn inverse_money_is_quantity_over_price() {
        let (money, terms) = money(ContractKind::Inverse, FeeBasis::Value);
        close(money.balance, -0.3 + 20.0 / 105.0);
        close(money.fee, 0.5 * 0.3 - 0.1 * 20.0 / 105.0);
        let mut book = FlatBook::new(&(200..=210)).expect("a range");
        book.set_level(Side::Buy, 203, 1);
        book.set_level(Side::Sell, 205, 1);
        let equity = -money.balance - 10.0 / 102.0 - money.fee;
        close(money.equity(&terms, &book).expect("a middle"), equity);
    }

    #[test]
    fn fees_are_by_quantity_or_by_fill_too() {
        close(money(ContractKind::Linear, FeeBasis::Quantity).0.fee, 0.5 * 3.0 - 0.1 * 2.0);
        close(money(ContractKind::Linear, FeeBasis::Fill).0.fee, 0.5 - 0.1);
    }
}
