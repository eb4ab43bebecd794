//! Positions against numbers worked out by hand, and against fractions.

mod inverse;

use super::*;
use std::string::ToString;
use std::vec;
use std::vec::Vec;
use taut_testkit::{Draw, Random, for_each_seed};
use taut_types::{StrategyId, Symbol};

use crate::balance::Settlement;

/// Lots of a hundredth.
const LOT_VALUE: i64 = 10_000_000;
const KEY: PositionKey = PositionKey {
    account: AccountId(1),
    user: taut_types::UserId(0),
    strategy: StrategyId(2),
    instrument: InstrumentId(3),
};

fn positions() -> Positions {
    let mut positions = Positions::with_capacity(16, 8);
    (0..7).for_each(|id| positions.define(InstrumentId(id), LOT_VALUE));
    positions
}

fn trade(side: Side, lots: i64, at: i64) -> Trade {
    let fee = Amount::ZERO;
    Trade { side, lots: Lots(lots), price: Price(at * Price::SCALE), fee }
}

fn report(positions: &Positions, key: PositionKey) -> PositionReport {
    positions.reports().find(|report| report.key == key).unwrap()
}

/// Lots, average price, realised and unrealised, as text.
fn shown(positions: &Positions) -> (i64, Option<f64>, f64, f64) {
    let PositionReport { lots, average, realised, unrealised, .. } = report(positions, KEY);
    let of = |amount: Amount| amount.to_string().parse().unwrap();
    let average = average.map(|price| price.to_string().parse().unwrap());
    (lots.0, average, of(realised), of(unrealised))
}

#[test]
fn a_position_is_carried_at_its_average_price() {
    use Side::{Buy, Sell};
    let mut positions = positions();
    positions.mark(KEY.instrument, Price(100 * Price::SCALE));
    for (traded, expected) in [
        (trade(Buy, 100, 90), (100, Some(90.0), 0.0, 10.0)),
        (trade(Buy, 300, 98), (400, Some(96.0), 0.0, 16.0)),
        (trade(Sell, 100, 100), (300, Some(96.0), 4.0, 12.0)),
        (trade(Sell, 500, 106), (-200, Some(106.0), 34.0, 12.0)),
        (trade(Buy, 200, 107), (0, None, 32.0, 0.0)),
    ] {
        positions.filled(KEY, &traded).unwrap();
        assert_eq!(shown(&positions), expected, "{traded:?}");
    }
    let PositionReport { bought, sold, .. } = report(&positions, KEY);
    assert_eq!((bought, sold), (Lots(600), Lots(600)));
}

#[test]
fn fees_add_up_and_come_back_with_a_bust() {
    let mut positions = positions();
    let one = Trade { fee: Amount(7), ..trade(Side::Buy, 10, 90) };
    let rebate = Trade { fee: Amount(-9), ..one };
    positions.filled(KEY, &one).unwrap();
    positions.filled(KEY, &rebate).unwrap();
    assert_eq!(report(&positions, KEY).fees, Amount(-2));
    positions.busted(KEY, &rebate).unwrap();
    assert_eq!(report(&positions, KEY).fees, Amount(7));
    assert_eq!(report(&positions, KEY).bought, Lots(10));
}

#[test]
fn a_busted_trade_is_as_if_it_had_never_been() {
    use Side::{Buy, Sell};
    let before = [trade(Buy, 100, 90), trade(Buy, 300, 98)];
    // Opened, opened the other way round, closed a part.
    for (first, busted) in [
        (vec![], trade(Buy, 50, 95)),
        (vec![], trade(Sell, 50, 95)),
        (before.to_vec(), trade(Buy, 70, 91)),
        (before.to_vec(), trade(Sell, 70, 91)),
    ] {
        let mut positions = positions();
        positions.mark(KEY.instrument, Price(100 * Price::SCALE));
        for traded in &first {
            positions.filled(KEY, traded).unwrap();
        }
        let expected = positions.get(KEY).copied().unwrap_or_default();
        positions.filled(KEY, &busted).unwrap();
        assert_eq!(positions.busted(KEY, &busted), Ok(expected), "{first:?} {busted:?}");
    }
}

#[test]
fn a_corrected_trade_is_the_other_one() {
    let (mut positions, mut other) = (positions(), positions());
    let (told, meant) = (trade(Side::Buy, 100, 90), trade(Side::Buy, 80, 91));
    for positions in [&mut positions, &mut other] {
        positions.filled(KEY, &trade(Side::Buy, 10, 50)).unwrap();
    }
    positions.filled(KEY, &told).unwrap();
    let corrected = positions.corrected(KEY, &told, &meant);
    assert_eq!(corrected, other.filled(KEY, &meant));
}

#[test]
fn what_the_venue_says_is_booked_and_the_difference_told() {
    let mut positions = positions();
    let other = PositionKey { strategy: StrategyId(9), ..KEY };
    positions.filled(KEY, &trade(Side::Buy, 10, 90)).unwrap();
    positions.filled(other, &trade(Side::Sell, 4, 90)).unwrap();
    let elsewhere = PositionKey { account: AccountId(0), ..KEY };
    positions.filled(elsewhere, &trade(Side::Sell, 99, 90)).unwrap();
    let price = Price(95 * Price::SCALE);
    assert_eq!(positions.recover(other, Lots(6), price), Ok(Lots(0)));
    assert_eq!(positions.recover(other, Lots(-1), price), Ok(Lots(-7)));
    assert_eq!(positions.account(KEY.account, KEY.instrument), Lots(-1));
    assert_eq!(report(&positions, other).lots, Lots(-11));
    assert_eq!(report(&positions, KEY).lots, Lots(10));
}

#[test]
fn a_day_ends_at_the_settlement_price_and_the_next_begins_at_zero() {
    let mut positions = positions();
    let traded = Trade { fee: Amount::whole(1), ..trade(Side::Buy, 100, 90) };
    positions.filled(KEY, &traded).unwrap();
    let mut days = Vec::new();
    positions.roll(|_, _| Some(Price(93 * Price::SCALE)), |report| days.push(*report));
    assert_eq!((days[0].realised, days[0].fees), (Amount::whole(3), Amount::whole(1)));
    assert_eq!((days[0].unrealised, days[0].bought), (Amount::ZERO, Lots(100)));
    positions.mark(KEY.instrument, Price(94 * Price::SCALE));
    assert_eq!(shown(&positions), (100, Some(93.0), 0.0, 1.0));
    assert_eq!(report(&positions, KEY).bought, Lots::ZERO);
    // Without a settlement price it is carried as it was.
    positions.roll(|_, _| None, |_| {});
    assert_eq!(shown(&positions), (100, Some(93.0), 0.0, 1.0));
}

#[test]
fn what_a_day_earned_is_in_the_balances_before_and_after_a_restart() {
    let usd = Symbol::new(b"USD").unwrap();
    let followed = || {
        let balance = Balance { account: KEY.account, currency: usd, amount: Amount::whole(1_000) };
        let settlement = Some(Settlement { quote: usd, base: None });
        Balances::new(&[balance], &[None, None, None, settlement])
    };
    let has = |positions: &Positions| positions.balances().get(KEY.account, usd).unwrap();
    let mut positions = positions();
    positions.follow_balances(followed());
    let traded = Trade { fee: Amount::whole(1), ..trade(Side::Buy, 100, 90) };
    positions.filled(KEY, &traded).unwrap();
    let mut earned = Amount::ZERO;
    let settlement = |_, _| Some(Price(93 * Price::SCALE));
    positions.roll(settlement, |day| earned += day.realised - day.fees);
    // A lot is a hundredth: it earned three, and cost one.
    assert_eq!((earned, has(&positions)), (Amount::whole(2), Amount::whole(1_002)));
    positions.filled(KEY, &trade(Side::Sell, 100, 94)).unwrap();
    assert_eq!(has(&positions), Amount::whole(1_003));

    let mut restarted = self::positions();
    restarted.follow_balances(followed());
    restarted.restore(KEY, *positions.get(KEY).unwrap()).unwrap();
    restarted.restore_earned(KEY, earned);
    assert_eq!(has(&restarted), Amount::whole(1_003));
}

#[test]
fn what_cannot_be_taken_changes_nothing_and_says_why() {
    let mut positions = Positions::with_capacity(2, 8);
    let one = trade(Side::Buy, 1, 1);
    assert_eq!(positions.filled(KEY, &one), Err(PositionError::UnknownInstrument));
    positions.define(KEY.instrument, LOT_VALUE);
    for lots in [0, -1, i64::MIN] {
        let none = trade(Side::Buy, lots, 1);
        assert_eq!(positions.filled(KEY, &none), Err(PositionError::Quantity));
    }
    for strategy in [0, 1] {
        let key = PositionKey { strategy: StrategyId(strategy), ..KEY };
        positions.filled(key, &one).unwrap();
    }
    assert_eq!(positions.filled(KEY, &one), Err(PositionError::Full));
    assert_eq!(positions.reports().count(), 2);
    assert_eq!(positions.get(KEY), None);
    let beyond = PositionKey { instrument: InstrumentId(8), ..KEY };
    assert_eq!(positions.filled(beyond, &one), Err(PositionError::UnknownInstrument));
    assert_eq!(Positions::with_capacity(0, 1).reports().count(), 0);
}

#[test]
fn every_key_has_a_position_of_its_own() {
    let mut positions = Positions::with_capacity(4_096, 64);
    (0..64).for_each(|id| positions.define(InstrumentId(id), LOT_VALUE));
    let key = |number: u32| PositionKey {
        user: taut_types::UserId(0),
        account: AccountId((number % 8) as u8),
        strategy: StrategyId((number / 8 % 8) as u8),
        instrument: InstrumentId(number / 64),
    };
    for number in 0..4_096 {
        positions.filled(key(number), &trade(Side::Buy, 1 + i64::from(number), 1)).unwrap();
    }
    for number in 0..4_096 {
        let lots = positions.get(key(number)).map(Position::lots);
        assert_eq!(lots, Some(Lots(1 + i64::from(number))));
    }
}

/// A position in fractions: lots, average price, realised (both in lots times price).
#[derive(Clone, Copy)]
struct Model {
    lots: i128,
    average: Fraction,
    realised: Fraction,
}

#[derive(Clone, Copy)]
struct Fraction(i128, i128);

impl Fraction {
    /// `self * factor + other`, unless it does not fit.
    fn scaled_plus(self, factor: i128, other: Self) -> Option<Self> {
        let above = self.0.checked_mul(factor)?.checked_mul(other.1)?;
        let above = above.checked_add(other.0.checked_mul(self.1)?)?;
        Self(above, self.1.checked_mul(other.1)?).reduced()
    }

    fn over(self, divisor: i128) -> Option<Self> {
        Self(self.0, self.1.checked_mul(divisor)?).reduced()
    }

    fn reduced(self) -> Option<Self> {
        let (mut a, mut b) = (self.0.unsigned_abs(), self.1.unsigned_abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let divisor = i128::try_from(a.max(1)).ok()? * self.1.signum();
        Some(Self(self.0 / divisor, self.1 / divisor))
    }
}

impl Model {
    fn fill(self, lots: i128, price: i128) -> Option<Self> {
        let Self { lots: held, average, realised } = self;
        let price = Fraction(price, 1);
        if held == 0 || (held < 0) == (lots < 0) {
            let cost = average.scaled_plus(held, Fraction(price.0.checked_mul(lots)?, 1))?;
            return Some(Self { lots: held + lots, average: cost.over(held + lots)?, realised });
        }
        let closing = lots.abs().min(held.abs()) * lots.signum();
        let gain = Fraction(-price.0, 1).scaled_plus(1, average)?;
        let realised = gain.scaled_plus(closing, realised)?;
        let left = Self { lots: held + closing, average, realised };
        if lots == closing {
            return Some(left);
        }
        Self { average: Fraction(0, 1), ..left }.fill(lots - closing, price.0)
    }
}

fn random_trade(random: &mut Random) -> Trade {
    let lots = 1 + random.below(40).cast_signed();
    let price = Price(1 + random.below(1_000_000_007).cast_signed());
    Trade { lots: Lots(lots), price, ..trade(random.pick(&Side::BOTH), 1, 1) }
}

#[test]
fn nothing_drifts_from_the_same_position_in_fractions() {
    let mut compared = 0;
    for_each_seed(0..2_000, |_, mut random| {
        let mut positions = positions();
        let flat = Fraction(0, 1);
        let mut model = Model { lots: 0, average: flat, realised: flat };
        let (mut cash, mut closings) = (0_i128, 0_i128);
        for _ in 0..200 {
            let traded = random_trade(&mut random);
            let lots = i128::from(traded.lots.0 * traded.side.sign());
            let price = i128::from(traded.price.0);
            closings += i128::from(model.lots * lots < 0);
            let Some(next) = model.fill(lots, price) else { return };
            model = next;
            cash -= lots * price;
            let position = positions.filled(KEY, &traded).unwrap();
            // Exactly what was paid and received, at any mark.
            let mark = 1 + random.below(1 << 40).cast_signed();
            let total = position.realised() + position.unrealised(Price(mark), LOT_VALUE);
            let value = i128::from(LOT_VALUE);
            assert_eq!(total.0, (cash + model.lots * i128::from(mark)) * value);
            // What was realised, within 1e-18 for each trade that closed; exactly when flat.
            let Fraction(above, below) = model.realised;
            let (Some(own), Some(exact)) =
                (position.realised().0.checked_mul(below), above.checked_mul(value))
            else {
                return;
            };
            let allowed = if model.lots == 0 { 0 } else { closings * below };
            assert!((own - exact).abs() <= allowed, "{own} for {exact} of {below}");
            assert_eq!(i128::from(position.lots().0), model.lots);
            closings *= i128::from(model.lots != 0);
            compared += 1;
        }
    });
    assert!(compared > 10_000, "{compared}");
}

#[test]
fn busts_keep_what_was_paid_and_received_exact() {
    for_each_seed(0..500, |_, mut random| {
        let (mut positions, mut trades) = (positions(), Vec::new());
        for _ in 0..100 {
            if random.per_mille(300) && !trades.is_empty() {
                let place = random.below(trades.len() as u64) as usize;
                positions.busted(KEY, &trades.swap_remove(place)).unwrap();
            } else {
                let traded = random_trade(&mut random);
                positions.filled(KEY, &traded).unwrap();
                trades.push(traded);
            }
            let (lots, cash) = trades.iter().fold((0, 0), |(lots, cash), traded| {
                let signed = i128::from(traded.lots.0 * traded.side.sign());
                (lots + signed, cash - signed * i128::from(traded.price.0))
            });
            let position = positions.get(KEY).unwrap();
            let total = position.realised() + position.unrealised(Price(7), LOT_VALUE);
            assert_eq!(i128::from(position.lots().0), lots);
            assert_eq!(total.0, (cash + 7 * lots) * i128::from(LOT_VALUE));
            assert!(lots != 0 || position.unrealised(Price(9), LOT_VALUE) == Amount::ZERO);
        }
    });
}

#[test]
fn what_is_beyond_reason_does_not_panic() {
    let extremes = [1, i64::MAX, 1 << 62, i64::MAX - 1];
    for_each_seed(0..200, |_, mut random| {
        let mut positions = positions();
        for _ in 0..50 {
            let price = random.pick(&[i64::MIN, -1, 0, 1, i64::MAX]);
            let traded = Trade {
                side: random.pick(&Side::BOTH),
                lots: Lots(random.pick(&extremes)),
                price: Price(price),
                fee: Amount(random.pick(&[i128::MIN, i128::MAX, 0])),
            };
            let _ = positions.filled(KEY, &traded);
            let _ = positions.busted(KEY, &traded);
            let _ = positions.recover(KEY, Lots(price), traded.price);
            positions.mark(KEY.instrument, traded.price);
            positions.roll(|_, _| Some(traded.price), |_| {});
            assert_eq!(positions.reports().count(), 1);
        }
    });
}
