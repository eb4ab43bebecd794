//! Positions that are other ones at the venue, in words: for the log, and for whoever asks.

use std::collections::BTreeMap;

use taut_gateway::{PositionComparisons, PositionDifference, PositionOutcome};
use taut_types::Instrument;

use crate::service::file::GatewayFile;

/// Says what comparing positions with the venue's comes to, once each time.
#[derive(Debug)]
pub struct Differences {
    instruments: Vec<Instrument>,
    /// The accounts' names, by number.
    accounts: BTreeMap<u8, String>,
    /// Comparisons that were told, and those without an answer.
    told: (u64, u64),
}

impl Differences {
    pub fn new(file: &GatewayFile, instruments: &[Instrument]) -> Self {
        let named = file.accounts.iter().map(|account| (account.id, account.name.clone()));
        Self { instruments: instruments.to_vec(), accounts: named.collect(), told: (0, 0) }
    }

    /// An instrument came behind the others.
    pub fn add_instrument(&mut self, instrument: Instrument) {
        self.instruments.push(instrument);
    }

    /// What there is to be told since this was called last.
    pub fn news(&mut self, compared: &PositionComparisons) -> Vec<String> {
        let before = std::mem::replace(&mut self.told, (compared.made, compared.unanswered));
        let mut news = Vec::new();
        if before.1 != compared.unanswered {
            let text = "positions: the venue does not say what it holds; nothing was compared";
            news.push(text.to_owned());
        }
        if before.0 != compared.made {
            let lines = self.lines(compared);
            news.extend(lines.into_iter().map(|line| format!("positions: {line}")));
        }
        news
    }

    /// What differed in the last comparison.
    pub fn lines(&self, compared: &PositionComparisons) -> Vec<String> {
        compared.last.iter().map(|difference| self.line(difference)).collect()
    }

    fn line(&self, difference: &PositionDifference) -> String {
        let PositionDifference { account, instrument, own, venue, outcome } = *difference;
        let instrument = self.instruments.get(instrument.0 as usize);
        let symbol = instrument.map_or("?".to_owned(), |it| it.symbol().to_string());
        let qty = |lots| {
            let qty = instrument.and_then(|instrument| instrument.qty(lots).ok());
            qty.map_or("?".to_owned(), |qty| qty.to_string())
        };
        let account = match self.accounts.get(&account.0) {
            Some(name) => format!(" for {name}"),
            None => String::new(),
        };
        let done = match outcome {
            PositionOutcome::Reported => "told only",
            PositionOutcome::Repaired => "made the venue's",
            PositionOutcome::Unrepaired => "not made the venue's: no price to book it at",
            PositionOutcome::Halted => "the account is killed",
        };
        format!("{symbol}{account}: {} here, {} at the venue; {done}", qty(own), qty(venue))
    }
}
