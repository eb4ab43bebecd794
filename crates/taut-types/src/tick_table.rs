//! The price steps of an instrument, by price.

use crate::{InstrumentError, Price, Side};

/// From a price on, prices move by another tick: MiFID's tick size tables, Deribit's
/// `tick_size_steps`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickStep {
    /// From this price on.
    pub from: Price,
    /// By this tick.
    pub tick: Price,
}

/// The ticks of an instrument: the smallest one, and up to [`TickTable::STEPS_MAX`] steps from
/// which on another one holds. Most instruments have no step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickTable {
    tick: Price,
    count: u8,
    steps: [TickStep; Self::STEPS_MAX],
}

impl TickTable {
    /// How many steps there may be: eight ticks in all.
    pub const STEPS_MAX: usize = 7;

    /// One tick for all prices.
    ///
    /// # Errors
    /// [`InstrumentError::BadIncrement`] when it is not positive, or cannot be halved exactly.
    pub const fn new(tick: Price) -> Result<Self, InstrumentError> {
        if tick.0 <= 0 || tick.0 % 2 != 0 {
            return Err(InstrumentError::BadIncrement);
        }
        Ok(Self { tick, count: 0, steps: [TickStep { from: Price(0), tick: Price(0) }; 7] })
    }

    /// The same with these steps, in the order of their prices.
    ///
    /// # Errors
    /// [`InstrumentError::BadSteps`] when there are too many, they are not in order, one starts at
    /// no positive price that is a whole number of its tick and of the tick before it, or has a
    /// tick that is no whole number of the smallest.
    pub fn with_steps(self, steps: &[TickStep]) -> Result<Self, InstrumentError> {
        let mut table = Self { count: 0, ..self };
        let mut before = TickStep { from: Price(0), tick: self.tick };
        for step in steps {
            let TickStep { from, tick } = *step;
            let is_whole = |price: Price, of: Price| price.0 % of.0 == 0;
            let is_well = tick.0 > 0
                && from > before.from
                && is_whole(tick, self.tick)
                && is_whole(from, tick)
                && is_whole(from, before.tick);
            match table.steps.get_mut(usize::from(table.count)) {
                Some(place) if is_well => *place = *step,
                _ => return Err(InstrumentError::BadSteps),
            }
            (table.count, before) = (table.count + 1, *step);
        }
        Ok(table)
    }

    /// The smallest tick. Every other one is a whole number of it.
    #[must_use]
    pub const fn smallest(&self) -> Price {
        self.tick
    }

    /// The steps from which on another tick holds, in the order of their prices.
    #[must_use]
    pub fn steps(&self) -> &[TickStep] {
        self.steps.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// The tick by which prices move up from this one. Cost: a comparison for each step.
    #[must_use]
    pub fn at(&self, price: Price) -> Price {
        self.band(|from| from <= price).1
    }

    /// Whether a price is a whole number of the tick that holds there. Cost: one 64-bit division.
    #[must_use]
    pub fn fits(&self, price: Price) -> bool {
        price.0 % self.at(price).0 == 0
    }

    /// The nearest price of the table that is not ahead of this one: a bid is rounded down, an
    /// offer up.
    #[must_use]
    pub fn rounded(&self, side: Side, price: Price) -> Price {
        let tick = self.at(price).0;
        let over = price.0.rem_euclid(tick);
        let down = price.0.saturating_sub(over);
        match side {
            // The next step starts at a whole number of this tick: it is not jumped over.
            Side::Sell if over != 0 => Price(down.saturating_add(tick)),
            _ => Price(down),
        }
    }

    /// The price that is so many ticks behind this one: lower for a bid, higher for an offer; ahead
    /// of it when there are less than none of them. A step that lies between is counted in its own
    /// ticks.
    #[must_use]
    pub fn behind(&self, side: Side, price: Price, ticks: i64) -> Price {
        let away = match side {
            Side::Buy => ticks.saturating_neg(),
            Side::Sell => ticks,
        };
        if self.count == 0 {
            return Price(price.0.saturating_add(self.tick.0.saturating_mul(away)));
        }
        if away < 0 { self.below(price, away.unsigned_abs()) } else { self.above(price, away) }
    }

    fn above(&self, mut price: Price, ticks: i64) -> Price {
        let mut left = ticks;
        loop {
            let (_, tick) = self.band(|from| from <= price);
            let far = Price(price.0.saturating_add(tick.0.saturating_mul(left)));
            let next = self.steps().iter().map(|step| step.from).find(|from| *from > price);
            match next {
                Some(next) if next < far => {
                    // At least one, and less than are left.
                    left -= next.0.saturating_sub(price.0).saturating_sub(1) / tick.0 + 1;
                    price = next;
                }
                _ => return far,
            }
        }
    }

    fn below(&self, mut price: Price, ticks: u64) -> Price {
        let mut left = i64::try_from(ticks).unwrap_or(i64::MAX);
        loop {
            let (from, tick) = self.band(|from| from < price);
            let far = Price(price.0.saturating_sub(tick.0.saturating_mul(left)));
            match from {
                Some(from) if from > far => {
                    left -= (price.0 - from.0 - 1) / tick.0 + 1;
                    price = from;
                }
                _ => return far,
            }
        }
    }

    /// The last step that `is_reached`, and the tick there.
    fn band(&self, is_reached: impl Fn(Price) -> bool) -> (Option<Price>, Price) {
        let reached = self.steps().iter().rev().find(|step| is_reached(step.from));
        reached.map_or((None, self.tick), |step| (Some(step.from), step.tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(text: &str) -> Price {
        Price::parse(text.as_bytes()).expect("a price")
    }

    fn step(from: &str, tick: &str) -> TickStep {
        TickStep { from: price(from), tick: price(tick) }
    }

    /// As Deribit lists an option: 0.0001, and 0.0005 above 0.005; and a third one.
    fn option() -> TickTable {
        let table = TickTable::new(price("0.0001")).expect("a tick");
        table.with_steps(&[step("0.005", "0.0005"), step("0.1", "0.01")]).expect("steps")
    }

    #[test]
    fn a_price_fits_the_tick_that_holds_there() {
        for (at, tick, fits) in [
            ("0.0049", "0.0001", true),
            ("0.00495", "0.0001", false),
            ("0.005", "0.0005", true),
            ("0.0051", "0.0005", false),
            ("0.0995", "0.0005", true),
            ("0.1", "0.01", true),
            ("0.105", "0.01", false),
            ("-0.0003", "0.0001", true),
        ] {
            assert_eq!(option().at(price(at)), price(tick), "{at}");
            assert_eq!(option().fits(price(at)), fits, "{at}");
        }
    }

    #[test]
    fn a_price_is_rounded_by_the_tick_that_holds_there() {
        for (side, from, to) in [
            (Side::Buy, "0.00495", "0.0049"),
            (Side::Sell, "0.00495", "0.005"),
            (Side::Buy, "0.0057", "0.0055"),
            (Side::Sell, "0.0057", "0.006"),
            (Side::Sell, "0.0997", "0.1"),
            (Side::Buy, "0.119", "0.11"),
            (Side::Sell, "0.1", "0.1"),
        ] {
            assert_eq!(option().rounded(side, price(from)), price(to), "{side:?} {from}");
        }
    }

    #[test]
    fn ticks_are_counted_over_steps_in_both_directions() {
        for (side, from, ticks, to) in [
            (Side::Sell, "0.0048", 2, "0.005"),
            (Side::Sell, "0.0048", 3, "0.0055"),
            (Side::Buy, "0.0055", 1, "0.005"),
            (Side::Buy, "0.0055", 3, "0.0048"),
            (Side::Buy, "0.11", 2, "0.0995"),
            (Side::Buy, "0.11", 1 + 190 + 2, "0.0048"),
            (Side::Sell, "0.0048", 2 + 190 + 1, "0.11"),
            (Side::Sell, "0.11", -2, "0.0995"),
            (Side::Buy, "0.0048", -3, "0.0055"),
            (Side::Buy, "0.0055", 0, "0.0055"),
            // From a price between two ticks the first one is shorter.
            (Side::Sell, "0.00495", 1, "0.005"),
            (Side::Sell, "0.00495", 2, "0.0055"),
        ] {
            let moved = option().behind(side, price(from), ticks);
            assert_eq!(moved, price(to), "{side:?} {from} {ticks}");
        }
        // What is beyond all prices ends at the last one.
        assert_eq!(option().behind(Side::Sell, price("0.05"), i64::MAX), Price(i64::MAX));
        assert!(option().behind(Side::Buy, price("0.05"), i64::MAX) < Price(i64::MIN / 2));
    }

    #[test]
    fn refuses_steps_that_are_none() {
        let table = TickTable::new(price("0.1")).expect("a tick");
        let rising = |count: usize| -> std::vec::Vec<_> {
            let from = |at: usize| Price(Price::SCALE * (at as i64 + 1));
            (0..count).map(|at| TickStep { from: from(at), tick: price("0.5") }).collect()
        };
        assert_eq!(table.with_steps(&rising(7)).map(|table| table.steps().len()), Ok(7));
        let wrong: [&[TickStep]; 8] = [
            &rising(8),
            &[step("0", "0.5")],
            &[step("1", "0")],
            &[step("1", "0.25")],
            &[step("1.3", "0.5")],
            &[step("2", "0.5"), step("1", "1")],
            &[step("1", "0.5"), step("1", "1")],
            // No whole number of the tick before it.
            &[step("1", "1"), step("1.5", "0.5")],
        ];
        for steps in wrong {
            assert_eq!(table.with_steps(steps), Err(InstrumentError::BadSteps), "{steps:?}");
        }
        for tick in [0, -2, 3] {
            assert_eq!(TickTable::new(Price(tick)), Err(InstrumentError::BadIncrement));
        }
    }
}
