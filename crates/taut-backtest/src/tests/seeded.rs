//! Random markets and random requests.

use super::*;
use taut_testkit::{Draw, Random, for_each_seed};
use taut_types::TimeInForce;

/// A request at a time.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    New(Order),
    Cancel(u64),
    Modify(u64, i64, i64),
}

/// Levels and trades around 100, in which the middle wanders.
fn rows(random: &mut Random) -> Vec<Event> {
    let (mut rows, mut at, mut middle) = (Vec::new(), 0, 100);
    for _ in 0..300 {
        at += random.below(4) as i64;
        middle += random.below(3) as i64 - 1;
        let side = random.pick(&Side::BOTH);
        let behind = random.below(6) as i64;
        let lots = random.below(12) as i64;
        rows.push(match random.below(4) {
            0 => trade(at, side, middle + side.sign() * behind / 2, lots + 1),
            _ => level(at, side, middle - side.sign() * (behind + 1), lots),
        });
    }
    rows
}

pub fn requests(random: &mut Random) -> Vec<(i64, Asked)> {
    let (mut all, mut at) = (Vec::new(), 0);
    for id in 1..60 {
        at += random.below(9) as i64;
        let side = random.pick(&Side::BOTH);
        let (tick, lots) = (95 + random.below(11) as i64, 1 + random.below(9) as i64);
        let order = match random.below(8) {
            0 => Order::market(id, side, lots),
            1 => Order::limit(id, side, tick, lots).post_only(),
            2 => Order::limit(id, side, tick, lots).lasting(TimeInForce::FillOrKill),
            3 => Order::limit(id, side, tick, lots).lasting(TimeInForce::ImmediateOrCancel),
            _ => Order::limit(id, side, tick, lots),
        };
        all.push((at, Asked::New(order)));
        let earlier = 1 + random.below(id);
        match random.below(3) {
            0 => all.push((at + 3, Asked::Cancel(earlier))),
            1 => all.push((at + 3, Asked::Modify(earlier, tick, lots))),
            _ => {}
        }
    }
    all.sort_by_key(|(at, _)| *at);
    all
}

/// Asks at the times; what is refused at once is refused in every run.
pub fn ask<X: Exchange>(
    backtest: &mut Backtest<'_, X>,
    requests: &[(i64, Asked)],
    stop: Stop,
) -> (Vec<Response>, i64) {
    let mut heard = Vec::new();
    let mut to = |backtest: &mut Backtest<'_, X>, at: i64| {
        while !matches!(
            backtest.run_until(Nanos(at), stop).expect("no error"),
            Stopped::Time | Stopped::End
        ) {}
        heard.extend(std::iter::from_fn(|| backtest.poll_response()));
    };
    for (at, asked) in requests {
        to(backtest, *at);
        let mut trader = backtest.trader();
        let _ = match *asked {
            Asked::New(order) => trader.send(order),
            Asked::Cancel(id) => trader.cancel(id),
            Asked::Modify(id, tick, lots) => trader.modify(id, tick, lots),
        };
    }
    to(backtest, i64::MAX);
    (heard, backtest.trader().account().position())
}

#[test]
fn what_a_run_stops_for_changes_nothing() {
    for_each_seed(0..200, |_, mut random| {
        let recording = Recording::new(rows(&mut random)).expect("rows");
        let requests = requests(&mut random);
        for (fills, compat) in [
            (FillModel::Whole, Compat::NONE),
            (FillModel::Partial, Compat::NONE),
            (FillModel::Whole, Compat::HFTBACKTEST),
        ] {
            let all = [Stop::Time, Stop::Response, Stop::Event].map(|stop| {
                let mut backtest = by_level(&recording, fills, compat);
                ask(&mut backtest, &requests, stop)
            });
            assert_eq!(all[0], all[1]);
            assert_eq!(all[0], all[2]);
        }
    });
}

#[test]
fn every_fill_is_booked_and_no_order_has_more_than_it_asked_for() {
    for_each_seed(0..200, |_, mut random| {
        let recording = Recording::new(rows(&mut random)).expect("rows");
        let requests = requests(&mut random);
        for fills in [FillModel::Whole, FillModel::Partial] {
            let mut backtest = by_level(&recording, fills, Compat::NONE);
            let (heard, position) = ask(&mut backtest, &requests, Stop::Time);
            let fills: Vec<_> = heard.iter().filter(|said| said.answer == Answer::Filled).collect();
            let lots = fills.iter().map(|said| said.order.side.sign() * said.order.last_lots);
            assert_eq!(lots.sum::<i64>(), position);
            assert!(fills.iter().all(|said| said.order.last_lots > 0 && said.order.leaves >= 0));
            let done: Vec<_> = heard
                .iter()
                .filter(|said| said.order.status.is_done())
                .map(|said| said.order.id)
                .collect();
            let refused = |id: &u64| {
                let last = heard.iter().rev().find(|said| said.order.id == *id);
                last.is_some_and(|said| said.answer == Answer::Refused)
            };
            for (at, id) in done.iter().enumerate().filter(|(_, id)| !refused(id)) {
                assert!(!done[at + 1..].contains(id), "order {id} is done twice");
            }
            // Who takes within one instant of the exchange takes no more than a level holds.
            let taken = fills.iter().filter(|said| !said.order.maker);
            assert!(taken.clone().all(|said| said.order.last_tick != 0));
        }
    });
}

#[test]
fn own_orders_at_a_price_have_no_more_of_a_trade_than_was_traded() {
    for_each_seed(0..200, |_, mut random| {
        let traded = 1 + random.below(40) as i64;
        let recording = market(&[trade(100, Side::Sell, 99, traded)]);
        let mut backtest = by_level(&recording, FillModel::Partial, Compat::NONE);
        run(&mut backtest, 10);
        for id in 1..=1 + random.below(5) {
            let lots = 1 + random.below(9) as i64;
            backtest.trader().send(Order::limit(id, Side::Buy, 99, lots)).expect("an order");
        }
        run(&mut backtest, 50);
        let open: i64 = backtest.trader().orders().map(|order| order.leaves).sum();
        let heard = run(&mut backtest, 200);
        let filled: i64 = heard.iter().map(|said| said.order.last_lots).sum();
        // Ten are before all of them.
        assert_eq!(filled, open.min((traded - 10).max(0)));
        let ids: Vec<_> = heard.iter().map(|said| said.order.id).collect();
        assert!(ids.is_sorted(), "the oldest first");
    });
}
