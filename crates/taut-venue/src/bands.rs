//! How far the prices of an instrument may go, and what its phase is to who follows the feed.

use taut_engine::Phase;
use taut_market_data::TradingStatus;
use taut_types::{HalfTicks, Instrument, InstrumentId, Nanos, Price};

/// How far the prices of an instrument may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceBands {
    /// Which.
    pub instrument: InstrumentId,
    /// The static band, around a reference price: limit prices below the first or above the second
    /// are refused.
    pub limits: Option<(Price, Price)>,
    /// The dynamic band: how far a price may be from the last trade's. Without an interruption a
    /// limit price beyond it is refused; with one, a trade beyond it stops trading for an auction.
    pub dynamic: Option<Price>,
    /// How long such an auction takes.
    pub interruption: Option<Nanos>,
}

/// The bands of an instrument, as its listing has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bands {
    pub limits: Option<(Price, Price)>,
    pub dynamic: Option<Price>,
    pub interruption: Option<Nanos>,
}

impl Bands {
    /// The dynamic band in half ticks; the whole ones that are within.
    pub fn half_ticks(&self, instrument: &Instrument) -> Option<u32> {
        let ticks = self.dynamic?.0 / instrument.tick().0.max(1);
        Some(u32::try_from(ticks.saturating_mul(2)).unwrap_or(u32::MAX))
    }

    /// The static band, where a limit price is outside of it.
    pub fn passed(&self, instrument: &Instrument, price: HalfTicks) -> Option<(Price, Price)> {
        let (low, high) = self.limits?;
        let price = instrument.price(price).unwrap_or(Price(i64::MAX));
        (price < low || price > high).then_some((low, high))
    }
}

/// What followers of the feed are told of a phase.
pub const fn status_of(phase: Phase) -> TradingStatus {
    match phase {
        Phase::Continuous => TradingStatus::Trading,
        Phase::Halted => TradingStatus::Halted,
        Phase::Closed => TradingStatus::Closed,
        Phase::PreOpen
        | Phase::OpeningAuction
        | Phase::VolatilityAuction
        | Phase::ClosingAuction => TradingStatus::PreOpen,
    }
}

#[cfg(test)]
mod tests {
    use taut_types::{Qty, Symbol};

    use super::*;

    #[test]
    fn bands_are_held_against_whole_ticks() {
        let symbol = Symbol::new(b"AAPL").expect("a symbol");
        let tick = Price(10_000_000);
        let instrument = Instrument::new(InstrumentId(5), symbol, tick, Qty::whole(1));
        let instrument = instrument.expect("valid");
        let price = |text: &str| Price::parse(text.as_bytes()).expect("a price");
        let limits = Some((price("9.99"), price("10.5")));
        let bands = Bands { limits, dynamic: Some(price("0.025")), interruption: None };
        assert_eq!(bands.half_ticks(&instrument), Some(4));
        let passed = |text: &str| {
            let half_ticks = instrument.half_ticks(price(text)).expect("on a tick");
            bands.passed(&instrument, half_ticks).is_some()
        };
        assert!(!passed("9.99") && !passed("10.5") && passed("9.98") && passed("10.51"));
    }
}
