//! Inverse contracts: lots of ten dollars, worth ten divided by the price.

use super::*;

const INVERSE: i64 = -10 * 1_000_000_000;

fn positions() -> Positions {
    let mut positions = Positions::with_capacity(16, 8);
    positions.define(KEY.instrument, INVERSE);
    positions
}

/// At a price from 1 to some 140,000.
fn some_price(random: &mut Random) -> Price {
    Price(Price::SCALE + random.below(1 << 47).cast_signed())
}

fn some_trade(random: &mut Random) -> Trade {
    Trade { price: some_price(random), ..random_trade(random) }
}

#[test]
fn a_position_is_carried_at_what_it_cost_in_the_coin() {
    use Side::{Buy, Sell};
    let mut positions = positions();
    positions.mark(KEY.instrument, Price(50_000 * Price::SCALE));
    // In hundred thousandths of a coin a lot is worth 25 at 40,000, 20 at 50,000, 16 at 62,500.
    for (traded, expected) in [
        (trade(Buy, 3, 62_500), (3, Some(62_500.0), 0.0, -12e-5)),
        (trade(Sell, 1, 80_000), (2, Some(62_500.0), 3.5e-5, -8e-5)),
        // Two are closed at a loss of nine each, two are sold, which the mark is against.
        (trade(Sell, 4, 40_000), (-2, Some(40_000.0), -14.5e-5, -10e-5)),
        (trade(Sell, 2, 62_500), (-4, Some(48_780.487_804_878), -14.5e-5, -2e-5)),
        (trade(Buy, 4, 50_000), (0, None, -16.5e-5, 0.0)),
    ] {
        positions.filled(KEY, &traded).unwrap();
        assert_eq!(shown(&positions), expected, "{traded:?}");
    }
}

#[test]
fn a_bust_and_the_end_of_a_day_are_as_if_it_had_been_so() {
    let mut positions = positions();
    positions.mark(KEY.instrument, Price(50_000 * Price::SCALE));
    for traded in [trade(Side::Buy, 3, 62_500), trade(Side::Buy, 1, 40_000)] {
        positions.filled(KEY, &traded).unwrap();
    }
    positions.busted(KEY, &trade(Side::Buy, 1, 40_000)).unwrap();
    assert_eq!(shown(&positions), (3, Some(62_500.0), 0.0, -12e-5));
    positions.roll(|_, _| Some(Price(50_000 * Price::SCALE)), |_| ());
    assert_eq!(shown(&positions), (3, Some(50_000.0), 0.0, 0.0));
}

#[test]
fn a_journal_that_counts_lots_of_one_gives_back_what_was() {
    for_each_seed(0..200, |_, mut random| {
        let (mut own, mut journal) = (Position::default(), Position::default());
        for _ in 0..50 {
            let traded = some_trade(&mut random);
            own.count(&traded, INVERSE);
            journal.count(&traded, -1_000_000_000);
        }
        let back = journal.rescaled(-1_000_000_000, INVERSE);
        assert_eq!((back.lots(), back.bought()), (own.lots(), own.bought()));
        // Each trade's worth is rounded to 1e-18 for a lot, there for a tenth of one.
        let allowed = 20 * (own.bought().0 + own.sold().0 + 50);
        for (one, other) in [(back.cost(), own.cost()), (back.realised(), own.realised())] {
            assert!((one - other).0.abs() <= i128::from(allowed), "{one} {other}");
        }
    });
}

/// Against sums of fractions at 1e-27, which know no average.
#[test]
fn what_was_paid_and_received_is_right_at_any_mark() {
    for_each_seed(0..500, |_, mut random| {
        let mut positions = positions();
        let (mut lots, mut traded_lots, mut worth) = (0_i128, 0_i128, 0_i128);
        // Ten dollars at 1e-9, divided by a price at 1e-9.
        let fine = |price: Price| i128::from(INVERSE) * 10_i128.pow(27) / i128::from(price.0);
        for _ in 0..100 {
            let traded = some_trade(&mut random);
            let signed = i128::from(traded.lots.0 * traded.side.sign());
            (lots, traded_lots) = (lots + signed, traded_lots + signed.abs());
            worth += signed * fine(traded.price);
            let position = positions.filled(KEY, &traded).unwrap();
            let mark = some_price(&mut random);
            let total = position.realised() + position.unrealised(mark, INVERSE);
            let exact = (lots * fine(mark) - worth) / 1_000_000_000;
            let allowed = 2 * (traded_lots + lots.abs()) + 2;
            assert!((total.0 - exact).abs() <= allowed, "{total} {}", Amount(exact));
        }
    });
}
