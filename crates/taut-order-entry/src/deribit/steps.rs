//! Price steps that become larger where prices are higher: `tick_size_steps`.

use taut_types::Price;

/// The price step of an instrument, by the price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickSteps {
    /// The price from which a step holds, and the step; by their prices.
    steps: [(Price, Price); Self::MAX],
    count: usize,
}

impl TickSteps {
    /// So many fit, besides the step of the lowest prices.
    pub const MAX: usize = 8;

    /// From this price on the step is this. Whether it could be taken: there is room, both are more
    /// than zero, and the price is higher than those before it.
    #[must_use]
    pub fn push(&mut self, from: Price, tick: Price) -> bool {
        let is_next = self.given().last().is_none_or(|(last, _)| *last < from);
        let Some(room) = self.steps.get_mut(self.count) else { return false };
        if !is_next || from.0 <= 0 || tick.0 <= 0 {
            return false;
        }
        *room = (from, tick);
        self.count += 1;
        true
    }

    /// The step at a price; `lowest` is the one below the first.
    #[must_use]
    pub fn at(&self, price: Price, lowest: Price) -> Price {
        let step = self.given().iter().rev().find(|(from, _)| *from <= price);
        step.map_or(lowest, |(_, tick)| *tick)
    }

    /// Whether a price is a whole number of the step that holds there.
    #[must_use]
    pub fn allow(&self, price: Price, lowest: Price) -> bool {
        let tick = self.at(price, lowest);
        tick.0 > 0 && price.0.checked_rem(tick.0) == Some(0)
    }

    fn given(&self) -> &[(Price, Price)] {
        self.steps.get(..self.count).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_price_has_the_step_of_the_highest_bound_that_it_reaches() {
        let lowest = Price(100);
        let mut steps = TickSteps::default();
        assert!(steps.push(Price(5_000), Price(500)) && steps.push(Price(90_000), Price(2_000)));
        for (price, tick) in [(100, 100), (4_900, 100), (5_000, 500), (89_500, 500)] {
            assert_eq!(steps.at(Price(price), lowest), Price(tick), "{price}");
            assert!(steps.allow(Price(price), lowest), "{price}");
        }
        assert!(steps.allow(Price(92_000), lowest));
        for price in [150, 5_100, 90_500, 91_000, -50] {
            assert!(!steps.allow(Price(price), lowest), "{price}");
        }
        assert!(!TickSteps::default().allow(Price(1), Price(0)));
    }

    #[test]
    fn steps_out_of_order_and_too_many_are_not_taken() {
        let mut steps = TickSteps::default();
        assert!(!steps.push(Price(0), Price(1)) && !steps.push(Price(1), Price(0)));
        for number in 1..=TickSteps::MAX as i64 {
            assert!(steps.push(Price(number), Price(1)));
            assert!(!steps.push(Price(number), Price(1)));
        }
        assert!(!steps.push(Price(100), Price(1)));
    }
}
