//! The instruments as the venue has them.

use std::collections::VecDeque;

use taut_order_entry::binance::{Filters, read_symbols};
use taut_types::{Instrument, InstrumentId};

use crate::order_entry::last_words::LastWords;

/// An instrument's symbol.
#[derive(Debug)]
pub(super) struct Symbol {
    /// The venue's name of it.
    pub(super) name: String,
    /// Which orders it takes.
    pub(super) filters: Filters,
    /// Whether orders can be amended.
    pub(super) can_amend: bool,
    /// Orders of ours that may be open.
    open: u64,
    instrument: Instrument,
    is_told: bool,
    /// It was added, and the venue has not said that it has it as we do. It is asked about by
    /// itself: a question about several with one that it does not have would be refused.
    is_new: bool,
}

/// The symbols by the numbers of their instruments.
#[derive(Debug)]
pub(super) struct Symbols {
    all: Vec<Symbol>,
    /// The venue had all of them as we do: from then on one that it has otherwise is told, and the
    /// session goes on with the others.
    were_ours: bool,
    /// What is still to be told: whether it has an instrument as we do.
    compared: VecDeque<(InstrumentId, bool)>,
}

impl Symbols {
    pub(super) fn new(instruments: &[Instrument], names: &[String]) -> Self {
        let symbol = |(at, instrument): (usize, &Instrument)| {
            let name = names.get(at).filter(|name| !name.is_empty()).cloned();
            let symbol = || instrument.symbol().as_str().to_owned();
            Symbol::new(instrument, name.unwrap_or_else(symbol), false)
        };
        let all = instruments.iter().enumerate().map(symbol).collect();
        Self { all, were_ours: false, compared: VecDeque::new() }
    }

    /// One more behind the others, or in the place of one that did not come to be.
    pub(super) fn add(&mut self, instrument: &Instrument, name: &str) {
        self.all.truncate(instrument.id().0 as usize);
        self.all.push(Symbol::new(instrument, name.to_owned(), true));
    }

    #[inline]
    pub(super) fn get(&self, instrument: InstrumentId) -> Option<&Symbol> {
        self.all.get(instrument.0 as usize)
    }

    /// The names of this new one, or of all that are not new.
    pub(super) fn names(&self, new: Option<usize>) -> impl Iterator<Item = &str> {
        let all = self.all.iter().enumerate();
        let asked = all.filter(move |(at, symbol)| symbol.is_asked(*at, new));
        asked.map(|(_, symbol)| symbol.name.as_str())
    }

    /// Those that the venue has not told yet.
    pub(super) fn new_ones(&self) -> impl Iterator<Item = usize> {
        let all = self.all.iter().enumerate();
        all.filter(|(_, symbol)| symbol.is_new).map(|(at, _)| at)
    }

    /// Whether the venue has an instrument as we do.
    pub(super) fn poll_compared(&mut self) -> Option<(InstrumentId, bool)> {
        self.compared.pop_front()
    }

    /// Whether one more order may be open.
    #[inline]
    pub(super) fn has_room(&self, instrument: InstrumentId) -> bool {
        self.get(instrument).is_some_and(|symbol| {
            symbol.filters.orders_max == 0 || symbol.open < symbol.filters.orders_max
        })
    }

    pub(super) fn opened(&mut self, instrument: InstrumentId) {
        if let Some(symbol) = self.all.get_mut(instrument.0 as usize) {
            symbol.open += 1;
        }
    }

    pub(super) fn ended(&mut self, instrument: InstrumentId) {
        if let Some(symbol) = self.all.get_mut(instrument.0 as usize) {
            symbol.open = symbol.open.saturating_sub(1);
        }
    }

    /// The venue said what this new one is, or what all are that are not new.
    ///
    /// # Errors
    /// What is not as our instruments are, in words, before it was: there is no session. Later that
    /// is in the last words.
    pub(super) fn told(
        &mut self,
        body: &[u8],
        new: Option<usize>,
        last_words: &mut LastWords,
    ) -> Result<(), String> {
        let mut asked: Vec<&mut Symbol> = self
            .all
            .iter_mut()
            .enumerate()
            .filter(|(at, symbol)| symbol.is_asked(*at, new))
            .map(|(_, symbol)| symbol)
            .collect();
        asked.iter_mut().for_each(|symbol| symbol.is_told = false);
        let read = read_symbols(body, |answer| {
            let named = asked.iter_mut().filter(|it| it.name.as_bytes() == answer.name);
            for symbol in named {
                symbol.filters = answer.filters;
                symbol.can_amend = answer.can_amend;
                symbol.is_told = true;
            }
        });
        read.map_err(|error| format!("the venue's symbols cannot be read: {error}"))?;
        for symbol in asked {
            let id = symbol.instrument.id();
            match symbol.check() {
                Ok(()) if symbol.is_new => {
                    symbol.is_new = false;
                    self.compared.push_back((id, true));
                }
                Ok(()) => {}
                Err(why) if self.were_ours => {
                    last_words.say(format_args!("{why}"));
                    self.compared.push_back((id, false));
                }
                Err(why) => return Err(why),
            }
        }
        self.were_ours = true;
        Ok(())
    }
}

impl Symbol {
    fn new(instrument: &Instrument, name: String, is_new: bool) -> Self {
        Self {
            name,
            filters: Filters::default(),
            can_amend: false,
            open: 0,
            instrument: *instrument,
            is_told: false,
            is_new,
        }
    }

    /// Whether a question about this new one, or about all that are not new, is about it.
    fn is_asked(&self, at: usize, new: Option<usize>) -> bool {
        new.map_or(!self.is_new, |new| new == at)
    }

    /// Whether every price and quantity that is ours is one of the venue's.
    fn check(&self) -> Result<(), String> {
        let Self { name, filters, instrument, is_told, .. } = self;
        if !is_told {
            return Err(format!("the venue has no symbol {name}"));
        }
        let tick = instrument.tick();
        if filters.tick.0 != 0 && tick.0 % filters.tick.0 != 0 {
            let venue = filters.tick;
            return Err(format!("{name}: tick is {tick}, and the venue's is {venue}"));
        }
        let lot = instrument.lot().with_decimals(8);
        if lot.is_none_or(|lot| filters.step != 0 && lot.mantissa % filters.step != 0) {
            let venue = taut_types::Qty { mantissa: filters.step, decimals: 8 };
            let lot = instrument.lot();
            return Err(format!("{name}: lot is {lot}, and the venue's step is {venue}"));
        }
        Ok(())
    }
}
