//! What trades cost: as the venue's reports say, or else by rates.

use taut_fix::{Charges, CommType, Currency, Liquidity};
use taut_oms::{Amount, Balances, Change, Fill, OrderEvent, RiskInstrument};
use taut_types::{FeeRates, Instrument, InstrumentId, Price};

/// Units of a price's worth in one of its own: what is said as a price, at 1e-9, is 1e-18 times
/// this.
const PRICE_TO_AMOUNT: i128 = 1_000_000_000;

/// What is known of instruments: their lots, and what their prices are in.
pub(crate) struct Known<'a> {
    pub(crate) instruments: &'a [Instrument],
    pub(crate) balances: &'a Balances,
}

/// Rates by instrument, and what could not be counted.
#[derive(Debug, Default)]
pub(crate) struct Fees {
    rates: Vec<FeeRates>,
    uncounted: u64,
}

impl Fees {
    pub(crate) fn set_rates(&mut self, rates: &[FeeRates]) {
        self.rates.clear();
        self.rates.extend_from_slice(rates);
    }

    /// Takes the room for the rates of so many instruments.
    pub(crate) fn reserve(&mut self, instruments: usize) {
        self.rates.reserve_exact(instruments.saturating_sub(self.rates.len()));
    }

    /// The rates of an instrument that is added behind all others.
    pub(crate) fn add_rates(&mut self, instrument: InstrumentId, rates: FeeRates) {
        // Of those before it nothing may have been said.
        self.rates.resize(instrument.0 as usize, FeeRates::default());
        self.rates.push(rates);
    }

    pub(crate) const fn uncounted(&self) -> u64 {
        self.uncounted
    }

    /// Says of each trade what it cost. A report's charges are those of the trade that it tells. A
    /// trade that is taken back, or that no report told, has what the rates say; so has one whose
    /// report says nothing. Who does not say who was there first is charged as who arrived.
    pub(crate) fn charge(
        &mut self,
        known: &Known<'_>,
        change: &mut Change,
        event: OrderEvent,
        charges: &Charges,
    ) {
        let is_maker = charges.liquidity == Some(Liquidity::Maker);
        let told = match event {
            OrderEvent::Traded => change.fills[0].as_ref().filter(|fill| !fill.is_correction),
            OrderEvent::TradeCorrected => change.fills[1].as_ref(),
            _ => None,
        };
        let told = told.and_then(|fill| self.told(known, fill, charges));
        let [first, second] = &mut change.fills;
        let is_of_second = event == OrderEvent::TradeCorrected;
        for (fill, is_told) in [(first, !is_of_second), (second, is_of_second)] {
            let Some(fill) = fill else { continue };
            fill.fee = match told.filter(|_| is_told) {
                Some(fee) => fee,
                None => {
                    let rates = self.rates.get(fill.instrument.0 as usize);
                    let worth = worth(known, fill).unwrap_or(0);
                    rates.map_or(Amount::ZERO, |rates| Amount(rates.fee(worth, is_maker)))
                }
            };
        }
    }

    /// What the report says that a trade cost, in the currency of its instrument's prices; nothing
    /// when it says nothing.
    fn told(&mut self, known: &Known<'_>, fill: &Fill, charges: &Charges) -> Option<Amount> {
        if charges.commission.is_none() && charges.misc_fees.is_none() && !charges.is_mixed {
            return None;
        }
        let commission = charges.commission.filter(|_| is_in(known, fill, charges.comm_currency));
        let commission = commission.and_then(|commission| of(known, fill, commission, charges));
        let misc = charges.misc_fees.filter(|_| is_in(known, fill, charges.misc_fee_currency));
        let misc = misc.filter(|_| !charges.is_mixed).map(absolute);
        let is_missing = (charges.commission.is_some() && commission.is_none())
            || (charges.misc_fees.is_some() && misc.is_none())
            || charges.is_mixed;
        self.uncounted += u64::from(is_missing);
        Some(commission.unwrap_or_default() + misc.unwrap_or_default())
    }
}

/// What a commission comes to.
fn of(known: &Known<'_>, fill: &Fill, commission: Price, charges: &Charges) -> Option<Amount> {
    let value = i128::from(commission.0);
    match charges.comm_type {
        CommType::Absolute => Some(absolute(commission)),
        CommType::PerUnit => Some(Amount(value.saturating_mul(size(known, fill)?))),
        CommType::Percent => {
            let rates = FeeRates { maker: 0, taker: commission.0 };
            Some(Amount(rates.fee(worth(known, fill)?, false)))
        }
        CommType::Other => None,
    }
}

fn absolute(amount: Price) -> Amount {
    Amount(i128::from(amount.0) * PRICE_TO_AMOUNT)
}

/// Whether a charge is in the currency of the instrument's prices, as far as anybody says.
fn is_in(known: &Known<'_>, fill: &Fill, currency: Option<Currency>) -> bool {
    let quote = known.balances.quote(fill.instrument);
    let named = currency.zip(quote);
    named.is_none_or(|(currency, quote)| currency.as_bytes() == quote.as_bytes())
}

/// How much traded, at 1e-9; less than 0 when it is taken back.
fn size(known: &Known<'_>, fill: &Fill) -> Option<i128> {
    let lot_value = i128::from(definition(known, fill)?.lot_value.unsigned_abs());
    Some(i128::from(fill.lots.0) * lot_value)
}

/// What it was worth, at 1e-18.
fn worth(known: &Known<'_>, fill: &Fill) -> Option<i128> {
    let worth = definition(known, fill)?.lot_worth(fill.price);
    worth.0.checked_mul(fill.lots.0.into())
}

fn definition(known: &Known<'_>, fill: &Fill) -> Option<RiskInstrument> {
    let InstrumentId(number) = fill.instrument;
    known.instruments.get(number as usize).and_then(RiskInstrument::of)
}
