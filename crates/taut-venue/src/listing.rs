//! What a venue trades, and where each instrument is found by its symbol.

use taut_engine::Phase;
use taut_fix::{Charges, Liquidity, ShortText};
use taut_types::{FeeRates, Instrument, InstrumentId, Lots, Nanos, Price};

use crate::bands::{Bands, PriceBands};

/// An instrument, with its symbol as FIX writes it.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    pub instrument: Instrument,
    /// Where the configuration names it.
    pub place: usize,
    pub symbol: ShortText,
    /// What its trades cost.
    pub fees: FeeRates,
    /// How far its prices may go.
    pub bands: Bands,
    /// The phase that it is in.
    pub phase: Phase,
    /// When its interruption is over, in UTC.
    pub resumes_at: Option<Nanos>,
    /// When the last entry of the schedule was due that was carried out, in UTC.
    pub scheduled: Nanos,
}

impl Listing {
    /// What a report says of a trade's cost: nothing where there is none.
    pub fn charges(&self, price: Price, lots: Lots, liquidity: Liquidity) -> Charges {
        if self.fees == FeeRates::FREE {
            return Charges::NONE;
        }
        let qty = self.instrument.qty(lots).ok().and_then(|qty| qty.with_decimals(9));
        let worth = i128::from(price.0) * i128::from(qty.map_or(0, |qty| qty.mantissa));
        let fee = self.fees.fee(worth, liquidity == Liquidity::Maker);
        // Its own money has nine decimals; what is below is rounded up.
        let fee = -(-fee).div_euclid(1_000_000_000);
        let commission = Some(Price(i64::try_from(fee).unwrap_or(i64::MAX)));
        Charges { commission, liquidity: Some(liquidity), ..Charges::NONE }
    }
}

/// All of them. An instrument's place is where the configuration names it.
#[derive(Debug)]
pub struct Listings {
    all: Box<[Listing]>,
    /// Places, in the order of the symbols.
    by_symbol: Box<[usize]>,
}

impl Listings {
    pub fn new(instruments: &[Instrument]) -> Self {
        let listing = |(place, &instrument): (usize, &Instrument)| {
            let symbol = instrument.symbol().into();
            Listing {
                instrument,
                place,
                symbol,
                fees: FeeRates::FREE,
                bands: Bands::default(),
                phase: Phase::Continuous,
                resumes_at: None,
                scheduled: Nanos::ZERO,
            }
        };
        let all: Box<[Listing]> = instruments.iter().enumerate().map(listing).collect();
        let mut by_symbol: Box<[usize]> = (0..all.len()).collect();
        by_symbol.sort_unstable_by(|&a, &b| all[a].symbol.as_bytes().cmp(all[b].symbol.as_bytes()));
        Self { all, by_symbol }
    }

    /// What trades cost from here on, by instrument.
    pub fn set_fees(&mut self, fees: &[FeeRates]) {
        for (listing, fees) in self.all.iter_mut().zip(fees) {
            listing.fees = *fees;
        }
    }

    /// How far prices may go from here on.
    pub fn set_bands(&mut self, bands: &[PriceBands]) {
        for of in bands {
            let PriceBands { limits, dynamic, interruption, .. } = *of;
            if let Some(place) = self.place_of(of.instrument) {
                self.all[place].bands = Bands { limits, dynamic, interruption };
            }
        }
    }

    /// The instrument in this place.
    pub fn at_mut(&mut self, place: usize) -> &mut Listing {
        &mut self.all[place]
    }

    pub fn all(&self) -> &[Listing] {
        &self.all
    }

    /// The place of a symbol, written as it is listed. Cost: a comparison for each doubling of
    /// their count.
    pub fn place(&self, symbol: &ShortText) -> Option<usize> {
        let text = |&place: &usize| self.all[place].symbol.as_bytes();
        let found = self.by_symbol.binary_search_by(|place| text(place).cmp(symbol.as_bytes()));
        found.ok().map(|at| self.by_symbol[at])
    }

    /// The place of a number.
    pub fn place_of(&self, instrument: InstrumentId) -> Option<usize> {
        self.all.iter().position(|listing| listing.instrument.id() == instrument)
    }
}
