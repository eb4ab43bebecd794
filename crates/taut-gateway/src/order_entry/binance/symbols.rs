//! The instruments as the venue has them.

use taut_order_entry::binance::{Filters, read_symbols};
use taut_types::{Instrument, InstrumentId};

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
}

/// The symbols by the numbers of their instruments.
#[derive(Debug)]
pub(super) struct Symbols {
    all: Vec<Symbol>,
}

impl Symbols {
    pub(super) fn new(instruments: &[Instrument], names: &[String]) -> Self {
        let symbol = |(at, instrument): (usize, &Instrument)| Symbol {
            name: names
                .get(at)
                .filter(|name| !name.is_empty())
                .cloned()
                .unwrap_or_else(|| instrument.symbol().as_str().to_owned()),
            filters: Filters::default(),
            can_amend: false,
            open: 0,
            instrument: *instrument,
            is_told: false,
        };
        Self { all: instruments.iter().enumerate().map(symbol).collect() }
    }

    #[inline]
    pub(super) fn get(&self, instrument: InstrumentId) -> Option<&Symbol> {
        self.all.get(instrument.0 as usize)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|symbol| symbol.name.as_str())
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

    /// The venue said what it trades.
    ///
    /// # Errors
    /// What is not as our instruments are, in words.
    pub(super) fn told(&mut self, body: &[u8]) -> Result<(), String> {
        self.all.iter_mut().for_each(|symbol| symbol.is_told = false);
        let read = read_symbols(body, |answer| {
            let all = self.all.iter_mut();
            for symbol in all.filter(|it| it.name.as_bytes() == answer.name) {
                symbol.filters = answer.filters;
                symbol.can_amend = answer.can_amend;
                symbol.is_told = true;
            }
        });
        read.map_err(|error| format!("the venue's symbols cannot be read: {error}"))?;
        self.all.iter().try_for_each(Symbol::check)
    }
}

impl Symbol {
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
