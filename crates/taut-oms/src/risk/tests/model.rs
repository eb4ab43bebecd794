//! The running sums against sums made anew, over random lives of orders.

use super::*;
use crate::position::{PositionKey, Positions, Trade};
use std::vec::Vec;
use taut_testkit::{Draw, Random, for_each_seed};

/// What the sums are made of, kept naively.
#[derive(Default)]
struct Model {
    open: Vec<(u64, OrderTerms, i64)>,
    /// Instrument, account, signed lots, price, fee.
    trades: Vec<(InstrumentId, AccountId, i64, i64, i128)>,
    marks: [i64; 4],
}

impl Model {
    /// Net and gross worth, profit and open orders of an account.
    fn account(&self, account: AccountId, lot_value: [i64; 4]) -> (i128, [i128; 2], i128, usize) {
        let (mut gross, mut reach, mut profit) = (0, [0; 2], 0);
        for (index, mark) in self.marks.into_iter().enumerate() {
            let instrument = InstrumentId(index as u32);
            let lot = i128::from(mark) * i128::from(lot_value[index]);
            let own =
                self.trades.iter().filter(|trade| (trade.0, trade.1) == (instrument, account));
            let position: i128 = own.clone().map(|trade| i128::from(trade.2)).sum();
            let working = |side| -> i128 {
                let of = |order: &&(u64, OrderTerms, i64)| {
                    (order.1.instrument, order.1.account, order.1.side)
                        == (instrument, account, side)
                };
                self.open.iter().filter(of).map(|order| i128::from(order.2)).sum()
            };
            let (buy, sell) = (position + working(Side::Buy), working(Side::Sell) - position);
            gross += buy.max(sell) * lot;
            reach = [reach[0] + buy * lot, reach[1] + sell * lot];
            profit += position * lot;
            for (_, _, lots, price, fee) in own {
                profit -= i128::from(*lots) * i128::from(*price) * i128::from(lot_value[index]);
                profit -= fee;
            }
        }
        let open = self.open.iter().filter(|order| order.1.account == account).count();
        (gross, reach, profit, open)
    }
}

fn wide() -> RiskLimits {
    let mut limits = limits();
    limits.permit_all();
    limits.set_accounts(AccountLimits { loss_max: Amount::MAX, ..WHOLE_ACCOUNT });
    limits.duplicate_window = Nanos::ZERO;
    limits
}

fn step(risk: &mut Risk, model: &mut Model, number: u64, random: &mut Random) {
    let instrument = random.pick(&[APPLE, BANANA]);
    let account = AccountId(random.below(3) as u8);
    let at = 95 + random.below(11).cast_signed();
    let lots = 2 + random.below(99).cast_signed();
    match random.below(10) {
        0..4 => {
            let terms = order(random.pick(&Side::BOTH), at, lots);
            let terms = OrderTerms { instrument, account, ..terms };
            if send(risk, number.cast_signed(), &terms).is_ok() {
                model.open.push((number, terms, lots));
            }
        }
        4..7 if !model.open.is_empty() => {
            let place = random.below(model.open.len() as u64) as usize;
            let (number, terms, left) = &mut model.open[place];
            let fill = 1 + random.below(left.unsigned_abs()).cast_signed();
            let fee = Amount(i128::from(random.below(1 << 40)));
            risk.filled(terms, Lots(fill), price(at), fee);
            let signed = fill * terms.side.sign();
            let trade = (terms.instrument, terms.account, signed, price(at).0, fee.0);
            model.trades.push(trade);
            *left -= fill;
            if *left == 0 {
                risk.ended(id(*number), terms, Lots::ZERO);
                model.open.swap_remove(place);
            }
        }
        7 if !model.open.is_empty() => {
            let place = random.below(model.open.len() as u64) as usize;
            let (number, terms, left) = model.open.swap_remove(place);
            risk.ended(id(number), &terms, Lots(left));
        }
        8 => {
            let signed = lots - 50;
            risk.traded(instrument, account, Lots(signed), price(at), Amount(7));
            model.trades.push((instrument, account, signed, price(at).0, 7));
        }
        _ => risk.mark(instrument, price(at)),
    }
    for (index, row) in risk.tables.instruments.iter().enumerate() {
        let value = i128::from(row.lot_value.max(1));
        model.marks[index] = (row.lot().0 / value) as i64;
    }
}

#[test]
fn the_sums_of_an_account_are_those_of_its_trades_orders_and_marks() {
    for_each_seed(0..100, |_, mut random| {
        let mut risk = risk_with(wide());
        let mut model = Model::default();
        for number in 1..300 {
            step(&mut risk, &mut model, number, &mut random);
            let lot_value =
                [0, 1, 2, 3].map(|index: usize| risk.tables.instruments[index].lot_value);
            for (index, sums) in risk.tables.accounts.iter().enumerate() {
                let (gross, reach, profit, open) = model.account(AccountId(index as u8), lot_value);
                assert_eq!((sums.gross.0, sums.reach.map(|amount| amount.0)), (gross, reach));
                assert_eq!((sums.profit.0, sums.open_orders as usize), (profit, open));
            }
            if number == 150 {
                risk.define(APPLE, RiskInstrument { lots_min: Lots(1), ..DEFINITION }).unwrap();
            }
        }
        let Model { open, .. } = model;
        open.iter().for_each(|(number, terms, left)| risk.ended(id(*number), terms, Lots(*left)));
        assert!(
            risk.tables
                .cells
                .iter()
                .all(|cell| Side::BOTH.map(|side| cell.working(side)) == [Lots::ZERO; 2])
        );
        assert!(risk.open_orders.iter().all(|open| *open == 0));
    });
}

#[test]
fn orders_that_are_restored_count_as_those_that_were_sent() {
    let (mut sent, mut restored) = (risk(), risk());
    let terms = order(Side::Buy, 100, 10);
    assert_eq!(send(&mut sent, 1, &terms), SENT);
    sent.filled(&terms, Lots(4), price(100), Amount::ZERO);
    restored.traded(APPLE, ACCOUNT, Lots(4), price(100), Amount::ZERO);
    restored.restore(id(1), &terms, Lots(6));
    assert_eq!(sent.tables.accounts, restored.tables.accounts);
    assert_eq!(sent.tables.cells, restored.tables.cells);
    assert_eq!(sent.open_orders, restored.open_orders);
}

#[test]
fn what_the_venue_says_beyond_reason_neither_panics_nor_opens_anything() {
    let mut risk = risk();
    let extremes = [i64::MIN, -1, 0, 1, i64::MAX];
    for lots in extremes {
        for at in extremes {
            risk.traded(APPLE, ACCOUNT, Lots(lots), Price(at), Amount(i128::MIN));
            risk.filled(&order(Side::Sell, 100, 10), Lots(lots), Price(at), Amount::MAX);
            risk.mark(APPLE, Price(at));
            risk.released(&order(Side::Buy, 100, 10), Lots(lots));
            risk.ended(id(1), &order(Side::Buy, 100, 10), Lots(lots));
        }
    }
    risk.traded(InstrumentId::ALL, AccountId(255), Lots(1), Price(1), Amount(1));
    risk.ended(ClientOrderId(u64::MAX), &order(Side::Buy, 100, 10), Lots(1));
    assert!(
        risk.tables
            .cells
            .iter()
            .all(|cell| Side::BOTH.iter().all(|side| cell.working(*side) >= Lots::ZERO))
    );
    assert!(risk.kill_switch().latched().count() > 0);
}

#[test]
fn nothing_is_allocated_once_it_is_built() {
    let mut risk = risk_with(wide());
    let mut positions = Positions::with_capacity(8, 4);
    positions.define(APPLE, DEFINITION.lot_value);
    let allocated = allocation_counter::measure(|| {
        for number in 1..200 {
            let terms = order(Side::Buy, 100, 10);
            let larger = OrderTerms { lots: Lots(20), ..terms };
            assert_eq!(send(&mut risk, number, &terms), SENT);
            let modify = Modify {
                id: id(1),
                old: &terms,
                lots_counted: Lots(10),
                new: &larger,
                lots_left: Lots(20),
            };
            let now = Nanos::from_secs(number);
            assert_eq!(risk.check_modify(now, modify, &MARKET, no_own), SENT);
            assert_eq!(risk.check_cancel(now, id(1), ACCOUNT), Ok(()));
            let trade = Trade { side: Side::Buy, lots: Lots(5), price: price(100), fee: Amount(1) };
            risk.filled(&larger, trade.lots, trade.price, trade.fee);
            risk.traded(APPLE, ACCOUNT, Lots(-5), trade.price, Amount::ZERO);
            risk.ended(id(1), &larger, Lots(15));
            risk.mark(APPLE, price(100 + number % 2));
            let key = PositionKey {
                account: ACCOUNT,
                user: taut_types::UserId(0),
                strategy: STRATEGY,
                instrument: APPLE,
            };
            assert!(positions.filled(key, &trade).is_ok() && positions.busted(key, &trade).is_ok());
            let scope = KillScope::Strategy(STRATEGY);
            risk.kill_switch_mut().arm(scope, Nanos(1), now);
            risk.kill_switch_mut().handle_timeout(now + Nanos(1));
            assert_eq!(risk.kill_switch_mut().poll_killed(), Some(scope));
            risk.kill_switch_mut().revive(scope);
            risk.kill_switch_mut().disarm(scope);
        }
    });
    assert_eq!(allocated.count_total, 0);
}
