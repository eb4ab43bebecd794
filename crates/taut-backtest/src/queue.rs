//! Where an own order stands in the queue of its price, when the recording has levels alone.

use core::fmt::Debug;

use taut_types::Qty;

/// A model of a queue. What it keeps for each own order is a place.
pub trait QueueModel {
    /// An own order's place.
    type Place: Copy + Debug;

    /// The place of an order that is entered behind so many lots.
    fn enter(&self, level: i64) -> Self::Place;
    /// A trade at the order's price: of the lots traded so many are for others before the order.
    fn trade(&self, place: &mut Self::Place, traded: i64, others: i64);
    /// The level at the order's price changed.
    fn level(&self, place: &mut Self::Place, before: i64, after: i64);
    /// How many lots were traded past the order's front; from then on it is the first.
    fn take_past(&self, place: &mut Self::Place) -> i64;
    /// How many lots are before the order, where the model says so: for reports alone.
    fn ahead(&self, _place: &Self::Place) -> Option<i64> {
        None
    }
}

/// Nobody before the order leaves but by a trade, or when the level gets smaller than what is
/// before it. Lots alone, no float.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RiskAverse;

impl QueueModel for RiskAverse {
    type Place = i64;

    fn enter(&self, level: i64) -> i64 {
        level
    }

    fn trade(&self, front: &mut i64, _: i64, others: i64) {
        *front -= others;
    }

    fn level(&self, front: &mut i64, _: i64, after: i64) {
        *front = after.min(*front);
    }

    fn take_past(&self, front: &mut i64) -> i64 {
        match *front {
            front if front >= 0 => 0,
            past => {
                *front = 0;
                -past
            }
        }
    }

    fn ahead(&self, front: &i64) -> Option<i64> {
        Some(*front)
    }
}

/// How likely it is that who leaves stood behind the order, with `a` before it and `b` behind it;
/// `f(x)` is `x` to a power, or `ln(1 + x)` of a quantity (not of lots).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chance {
    /// `f(b) / (f(b) + f(a))`, a power.
    Power(f64),
    /// `f(b) / f(a + b)`, a power.
    Power2(f64),
    /// `1 - f(a / (a + b))`, a power.
    Power3(f64),
    /// `f(b) / (f(b) + f(a))`, the logarithm.
    Log,
    /// `f(b) / f(a + b)`, the logarithm.
    Log2,
}

/// Who leaves a level stood behind the order with some chance; its front shrinks by the rest. What
/// a trade took is not counted again when the level says so.
///
/// Places are fractions of lots, and therefore floats; levels and fills are whole lots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probability {
    chance: Chance,
    lot: f64,
}

/// A place in a [`Probability`] queue, in lots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Front {
    front: f64,
    traded: f64,
}

impl Probability {
    /// A model for an instrument with this lot.
    #[must_use]
    pub fn new(chance: Chance, lot: Qty) -> Self {
        Self { chance, lot: in_units(lot) }
    }

    fn behind(&self, front: f64, back: f64) -> f64 {
        let (a, b) = (front * self.lot, back * self.lot);
        let ln = |x: f64| libm::log(1.0 + x);
        match self.chance {
            Chance::Power(n) => libm::pow(b, n) / (libm::pow(b, n) + libm::pow(a, n)),
            Chance::Power2(n) => libm::pow(b, n) / libm::pow(a + b, n),
            Chance::Power3(n) => 1.0 - libm::pow(a / (a + b), n),
            Chance::Log => ln(b) / (ln(b) + ln(a)),
            Chance::Log2 => ln(b) / ln(a + b),
        }
    }
}

/// A quantity as the float that its decimal is read as.
pub(crate) fn in_units(quantity: Qty) -> f64 {
    quantity.mantissa as f64 / libm::pow(10.0, f64::from(quantity.decimals))
}

impl QueueModel for Probability {
    type Place = Front;

    fn enter(&self, level: i64) -> Front {
        Front { front: level as f64, traded: 0.0 }
    }

    fn trade(&self, place: &mut Front, traded: i64, others: i64) {
        place.front -= others as f64;
        place.traded += traded as f64;
    }

    fn level(&self, place: &mut Front, before: i64, after: i64) {
        let (before, after) = (before as f64, after as f64);
        let left = before - after - core::mem::take(&mut place.traded);
        let front = place.front;
        if left < 0.0 {
            place.front = front.min(after);
            return;
        }
        let back = before - front;
        let chance = match self.behind(front, back) {
            chance if chance.is_infinite() => 1.0,
            chance => chance,
        };
        let estimate = front - (1.0 - chance) * left + (back - chance * left).min(0.0);
        // Of an estimate that is no number the level is taken.
        place.front = estimate.min(after);
    }

    fn take_past(&self, place: &mut Front) -> i64 {
        let past = libm::round(-place.front) as i64;
        if past <= 0 {
            return 0;
        }
        place.front = 0.0;
        past
    }

    fn ahead(&self, place: &Front) -> Option<i64> {
        Some(libm::round(place.front) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_risk_averse_front_shrinks_by_trades_and_to_the_level() {
        let mut front = RiskAverse.enter(10);
        RiskAverse.trade(&mut front, 3, 3);
        RiskAverse.level(&mut front, 10, 8);
        assert_eq!(front, 7);
        RiskAverse.level(&mut front, 8, 5);
        assert_eq!((front, RiskAverse.take_past(&mut front)), (5, 0));
        RiskAverse.trade(&mut front, 9, 9);
        assert_eq!((RiskAverse.take_past(&mut front), front), (4, 0));
    }

    #[test]
    fn a_trade_is_not_counted_again_by_the_level() {
        let model = Probability::new(Chance::Power(1.0), Qty::whole(1));
        let mut place = model.enter(10);
        model.level(&mut place, 10, 30);
        assert_eq!(place.front, 10.0, "what comes stands behind");
        model.trade(&mut place, 4, 4);
        model.level(&mut place, 30, 26);
        assert_eq!(place, Front { front: 6.0, traded: 0.0 });
        // 20 of 26 are behind: of 13 that leave, three quarters and more are of them.
        model.level(&mut place, 26, 13);
        assert!((place.front - 3.0).abs() < 1e-12, "{place:?}");
    }

    #[test]
    fn chances_are_those_of_their_formulas() {
        let lot = Qty { mantissa: 5, decimals: 1 };
        for (chance, expected) in [
            (Chance::Power(2.0), 9.0 / 25.0),
            (Chance::Power2(2.0), 9.0 / 49.0),
            (Chance::Power3(3.0), 1.0 - 64.0 / 343.0),
            (Chance::Log, 4f64.ln() / (4f64.ln() + 5f64.ln())),
            (Chance::Log2, 4f64.ln() / 8f64.ln()),
        ] {
            let behind = Probability::new(chance, lot).behind(8.0, 6.0);
            assert!((behind - expected).abs() < 1e-12, "{chance:?}: {behind}");
        }
    }

    #[test]
    fn what_is_no_number_is_the_level() {
        let model = Probability::new(Chance::Power(0.5), Qty::whole(1));
        let mut place = model.enter(10);
        // More before the order than the level has: the root of a negative number.
        model.level(&mut place, 8, 6);
        assert_eq!(place.front, 6.0);
    }
}
