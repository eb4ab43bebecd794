//! What clients hold, by their trades since the venue began.

use std::collections::HashMap;

use taut_fix::ShortText;
use taut_types::{Lots, Side};

/// Holdings that need no further memory.
const CAPACITY: usize = 1_024;

/// The place of a client, its Account (1), and the place of an instrument.
pub type Holding = (usize, Option<ShortText>, usize);

/// Bought less sold. Clients keep it over all their sessions.
#[derive(Debug)]
pub struct Holdings {
    held: HashMap<Holding, Lots>,
}

impl Holdings {
    pub fn new() -> Self {
        Self { held: HashMap::with_capacity(CAPACITY) }
    }

    /// Counts a trade.
    pub fn traded(&mut self, holding: Holding, side: Side, lots: Lots) {
        let held = self.held.entry(holding).or_default();
        held.0 = held.0.saturating_add(lots.0.saturating_mul(side.sign()));
    }

    /// What a client holds in an account, or in all of them, by the place of the instrument.
    pub fn of(&self, client: usize, account: Option<ShortText>) -> Vec<(Holding, Lots)> {
        let is_meant =
            |(of, its, _): &Holding| *of == client && (account.is_none() || *its == account);
        let all = self.held.iter().filter(|(key, held)| is_meant(key) && **held != Lots::ZERO);
        let mut all: Vec<_> = all.map(|(key, held)| (*key, *held)).collect();
        all.sort_unstable_by_key(|((_, its, place), _)| {
            (*place, its.map(|its| its.as_bytes().to_vec()))
        });
        all
    }
}
