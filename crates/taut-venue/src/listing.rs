//! What a venue trades, and where each instrument is found by its symbol.

use taut_fix::ShortText;
use taut_types::{Instrument, InstrumentId};

/// An instrument, with its symbol as FIX writes it.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    pub instrument: Instrument,
    pub symbol: ShortText,
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
        let listing =
            |&instrument: &Instrument| Listing { instrument, symbol: instrument.symbol().into() };
        let all: Box<[Listing]> = instruments.iter().map(listing).collect();
        let mut by_symbol: Box<[usize]> = (0..all.len()).collect();
        by_symbol.sort_unstable_by(|&a, &b| all[a].symbol.as_bytes().cmp(all[b].symbol.as_bytes()));
        Self { all, by_symbol }
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
