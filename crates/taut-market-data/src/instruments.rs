//! The numbers of instruments that a venue names by symbols.

use alloc::vec::Vec;
use core::cmp::Ordering;

use taut_types::{InstrumentId, Symbol};

/// Which number a symbol has. Case does not matter: streams name symbols in small letters.
#[derive(Clone, Debug, Default)]
pub struct Instruments {
    /// In the order of the symbols.
    entries: Vec<(Symbol, InstrumentId)>,
}

impl Instruments {
    /// These symbols and no others. Allocates all its memory.
    #[must_use]
    pub fn new(entries: &[(Symbol, InstrumentId)]) -> Self {
        let mut entries = entries.to_vec();
        entries.sort_unstable_by(|(a, _), (b, _)| order(a.as_bytes(), b.as_bytes()));
        Self { entries }
    }

    /// The number of a symbol; [`InstrumentId::UNKNOWN`] of one that has none. Cost: a comparison
    /// for each doubling of their count.
    #[must_use]
    #[inline]
    pub fn id(&self, symbol: &[u8]) -> InstrumentId {
        if self.entries.is_empty() {
            return InstrumentId::UNKNOWN;
        }
        let found = self.entries.binary_search_by(|(entry, _)| order(entry.as_bytes(), symbol));
        found
            .ok()
            .and_then(|at| self.entries.get(at))
            .map_or(InstrumentId::UNKNOWN, |&(_, instrument)| instrument)
    }
}

#[inline]
fn order(a: &[u8], b: &[u8]) -> Ordering {
    a.iter().map(u8::to_ascii_uppercase).cmp(b.iter().map(u8::to_ascii_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_has_its_number_in_any_case_and_a_stranger_has_none() {
        let named = |name: &[u8], id| (Symbol::new(name).unwrap(), InstrumentId(id));
        let table = Instruments::new(&[named(b"ETHUSDT", 7), named(b"BTCUSDT", 3)]);
        assert_eq!(table.id(b"BTCUSDT"), InstrumentId(3));
        assert_eq!(table.id(b"ethusdt"), InstrumentId(7));
        assert_eq!(table.id(b"ETHUSD"), InstrumentId::UNKNOWN);
        assert_eq!(Instruments::default().id(b"BTCUSDT"), InstrumentId::UNKNOWN);
    }
}
