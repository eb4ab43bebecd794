//! Random markets of orders in an engine, with and without random requests.

use std::collections::BTreeMap;

use super::seeded::{ask, requests};
use super::*;
use crate::exchange::{AGGRESSOR, MARKET, OWN};
use taut_engine::Event as Told;
use taut_testkit::{Draw, Random, for_each_seed};
use taut_types::OrderId;

/// A venue's book, and the rows that it tells. We see them at once.
#[derive(Default)]
struct Venue {
    /// Id, side, tick and lots, oldest first.
    book: Vec<(u64, Side, i64, i64)>,
    rows: Vec<Event>,
    at: i64,
    next_id: u64,
}

impl Venue {
    fn tell(&mut self, kind: RowKind, side: Side, tick: i64, lots: i64, id: u64) {
        let row = order(self.at, kind, side, tick, lots, id);
        self.rows.push(Event { local_at: row.exchange_at, ..row });
    }

    fn best(&self, side: Side) -> Option<i64> {
        let ticks = self.book.iter().filter(|order| order.1 == side).map(|order| order.2);
        if side == Side::Buy { ticks.max() } else { ticks.min() }
    }

    /// A tick that meets nothing, so many behind the other side's best.
    fn quiet_tick(&self, side: Side, behind: i64) -> i64 {
        let best = self.best(side.opposite()).unwrap_or(100 + side.sign() * 2);
        best - side.sign() * (1 + behind)
    }

    fn add(&mut self, side: Side, tick: i64, lots: i64) {
        self.next_id += 1;
        self.book.push((self.next_id, side, tick, lots));
        self.tell(RowKind::Add, side, tick, lots, self.next_id);
    }

    fn cancel(&mut self, at: usize) {
        let (id, side, tick, _) = self.book.remove(at);
        self.tell(RowKind::Cancel, side, tick, 0, id);
    }

    fn modify(&mut self, at: usize, to: i64, lots: i64) {
        let (id, side, tick, before) = self.book[at];
        self.book[at] = (id, side, to, lots);
        if to != tick || lots > before {
            let moved = self.book.remove(at);
            self.book.push(moved);
        }
        self.tell(RowKind::Modify, side, to, lots, id);
    }

    /// The order of a side that is first in line.
    fn first(&self, side: Side) -> Option<usize> {
        let best = self.best(side)?;
        self.book.iter().position(|order| order.1 == side && order.2 == best)
    }

    /// An order is filled; in which words that is told, is a matter of style.
    fn fill(&mut self, at: usize, lots: i64, style: u64) {
        let (id, side, tick, has) = self.book[at];
        let aggressor = side.opposite();
        if matches!(style, 1 | 2) {
            self.tell(RowKind::Trade, aggressor, tick, lots, 0);
        }
        if style != 2 {
            self.tell(RowKind::Fill, side, tick, lots, id);
        }
        if style == 3 {
            self.tell(RowKind::Trade, aggressor, tick, lots, 0);
        }
        if lots == has {
            self.cancel(at);
        } else {
            self.book[at].3 -= lots;
            self.tell(RowKind::Modify, side, tick, has - lots, id);
        }
    }

    fn step(&mut self, random: &mut Random) {
        self.at += random.below(4) as i64;
        let side = random.pick(&Side::BOTH);
        let lots = 1 + random.below(12) as i64;
        let behind = random.below(6) as i64;
        let at = random.below(self.book.len() as u64) as usize;
        let is_empty = self.book.is_empty();
        match random.below(20) {
            10..=12 if !is_empty => self.cancel(at),
            13..=14 if !is_empty => {
                let (_, side, tick, _) = self.book[at];
                let to = if random.per_mille(500) { tick } else { self.quiet_tick(side, behind) };
                self.modify(at, to, lots);
            }
            15..=17 => {
                let (mut left, style) = (2 * lots, random.below(4));
                while let Some(first) = self.first(side).filter(|_| left > 0) {
                    let lots = left.min(self.book[first].3);
                    self.fill(first, lots, style);
                    left -= lots;
                }
            }
            18 if !is_empty => {
                let lots = lots.min(self.book[at].3);
                self.fill(at, lots, random.below(4));
            }
            19 => {
                let tick = self.quiet_tick(side, 0);
                self.tell(RowKind::Trade, side.opposite(), tick, lots, 0);
            }
            _ => {
                let tick = self.quiet_tick(side, behind);
                self.add(side, tick, lots);
            }
        }
    }
}

fn flow(random: &mut Random) -> Recording {
    let mut venue = Venue::default();
    for side in Side::BOTH {
        (1..6).for_each(|behind| venue.add(side, 100 - side.sign() * behind, 9));
    }
    for _ in 0..300 {
        venue.step(random);
    }
    Recording::new(venue.rows).expect("rows")
}

#[test]
fn without_our_orders_the_book_is_the_recorded_one_at_every_instant() {
    for_each_seed(0..150, |_, mut random| {
        let recording = flow(&mut random);
        let mut backtest = by_engine(&recording);
        let mut times: Vec<_> = recording.rows().iter().map(Row::exchange_at).collect();
        times.dedup();
        for at in times {
            run(&mut backtest, at);
            let recorded = backtest.trader().book().clone();
            let exchange = backtest.exchange();
            for side in Side::BOTH {
                assert_eq!(exchange.best(side), recorded.best(side), "{side:?} at {at}");
                for tick in recording.ticks().clone() {
                    let lots = (exchange.lots(side, tick), recorded.lots(side, tick));
                    assert_eq!(lots.0, lots.1, "{side:?} {tick} at {at}");
                }
            }
        }
        let Impact { aggressed, hidden, out_of_turn, .. } = *backtest.exchange().impact();
        let expected = Impact { aggressed, hidden, out_of_turn, ..Impact::default() };
        assert_eq!(*backtest.exchange().impact(), expected);
    });
}

/// What the engine told of orders: what is open of each, and who traded what with whom.
#[derive(Default)]
struct Sums {
    open: BTreeMap<OrderId, i64>,
    /// By the maker's owner and the taker's, an aggressor apart.
    traded: BTreeMap<(u32, u32, bool), i64>,
    own_position: i64,
}

impl Sums {
    fn of(events: &[Told]) -> Self {
        let mut sums = Self::default();
        // A replaced order's trades are told before it is said to be replaced.
        let (mut entering, mut early) = (None, 0);
        for event in events {
            match *event {
                Told::Accepted { order_id, lots, .. } => {
                    sums.open.insert(order_id, lots.0);
                    (entering, early) = (Some(order_id), 0);
                }
                Told::Trade { maker, taker, maker_owner, taker_owner, lots, aggressor, .. } => {
                    *sums.open.entry(maker).or_default() -= lots.0;
                    if entering == Some(taker) {
                        *sums.open.entry(taker).or_default() -= lots.0;
                    } else {
                        early += lots.0;
                    }
                    let owners = (maker_owner, taker_owner, taker == AGGRESSOR);
                    *sums.traded.entry(owners).or_default() += lots.0;
                    let ours = |owner| if owner == OWN { lots.0 } else { 0 };
                    sums.own_position += aggressor.sign() * (ours(taker_owner) - ours(maker_owner));
                }
                Told::Replaced { order_id, lots, .. } => {
                    sums.open.insert(order_id, lots.0 - early);
                    (entering, early) = (None, 0);
                }
                Told::Rested { .. } => entering = None,
                Told::Cancelled { order_id, lots, .. } => {
                    *sums.open.entry(order_id).or_default() -= lots.0;
                }
                Told::Reduced { order_id, by, .. } => {
                    *sums.open.entry(order_id).or_default() -= by.0;
                }
                Told::Rejected { .. } | Told::CancelRejected { .. } => panic!("{event:?}"),
                Told::ReplaceRejected { .. } => panic!("{event:?}"),
                _ => {}
            }
        }
        sums
    }

    fn traded(&self, maker: u32, taker: u32, aggressor: bool) -> i64 {
        self.traded.get(&(maker, taker, aggressor)).copied().unwrap_or(0)
    }
}

/// Holds what the engine told against what we heard and what the exchange says of its market.
fn balanced(
    backtest: &Backtest<'_, EngineExchange<ConstantLatency>>,
    heard: &[Response],
    position: i64,
) -> Impact {
    let exchange = backtest.exchange();
    let sums = Sums::of(exchange.events());
    // Each order: what it brought is traded, was taken off, or rests.
    for (&id, &open) in &sums.open {
        assert_eq!(exchange.open(id), open, "{id:?}");
    }
    // Ours: what we heard is what was traded, and what is left is what rests.
    assert_eq!(sums.own_position, position);
    let fills = heard.iter().filter(|said| said.answer == Answer::Filled);
    let signed = fills.map(|said| said.order.side.sign() * said.order.last_lots);
    assert_eq!(signed.sum::<i64>(), position);
    let mut last = BTreeMap::new();
    heard.iter().filter(|said| said.answer != Answer::Refused).for_each(|said| {
        last.insert(said.order.id, said.order);
    });
    let open = last.values().filter(|order| !order.status.is_done());
    let ours: i64 = sums.open.iter().filter(|(id, _)| id.0 >> 63 == 1).map(|(_, l)| l).sum();
    assert_eq!(open.map(|order| order.leaves).sum::<i64>(), ours);
    // The market: what aggressors brought is found in one place each.
    let impact = *exchange.impact();
    assert_eq!(impact.made, sums.traded(OWN, MARKET, true));
    assert_eq!(impact.crossed, sums.traded(OWN, MARKET, false));
    assert_eq!(impact.taken, sums.traded(MARKET, OWN, false));
    assert_eq!(impact.rematched, sums.traded(MARKET, MARKET, false));
    let met = sums.traded(MARKET, MARKET, true) + impact.out_of_turn;
    assert_eq!(impact.aggressed, impact.made + met + impact.hidden + impact.displaced);
    if let (Some(bid), Some(ask)) = (exchange.best(Side::Buy), exchange.best(Side::Sell)) {
        assert!(bid < ask, "{bid} {ask}");
    }
    impact
}

#[test]
fn no_lot_is_made_or_lost() {
    let mut seen = Impact::default();
    for_each_seed(0..150, |_, mut random| {
        let recording = flow(&mut random);
        let requests = requests(&mut random);
        let mut exchange = EngineExchange::new(&recording, LATENCY).expect("an exchange");
        exchange.keep_events();
        let mut backtest = Backtest::new(&recording, exchange).expect("a run");
        let (heard, position) = ask(&mut backtest, &requests, Stop::Time);
        let impact = balanced(&backtest, &heard, position);
        seen.made += impact.made;
        seen.taken += impact.taken;
        seen.crossed += impact.crossed;
        seen.rematched += impact.rematched;
        seen.displaced += impact.displaced;
        seen.gone += impact.gone;
    });
    let Impact { made, taken, crossed, rematched, displaced, gone, .. } = seen;
    for lots in [made, taken, crossed, rematched, displaced, gone] {
        assert!(lots > 0 || taut_testkit::seeds(0..150) != (0..150), "{seen:?}");
    }
}

#[test]
fn the_same_requests_give_the_same_answers_whatever_a_run_stops_for() {
    for_each_seed(0..100, |_, mut random| {
        let recording = flow(&mut random);
        let requests = requests(&mut random);
        let all = [Stop::Time, Stop::Response, Stop::Event].map(|stop| {
            let mut backtest = by_engine(&recording);
            let told = ask(&mut backtest, &requests, stop);
            (told, *backtest.exchange().impact())
        });
        assert_eq!(all[0], all[1]);
        assert_eq!(all[0], all[2]);
    });
}

/// Rows that no venue tells: fills of more than there is, orders twice, sides that are missing.
fn nonsense(random: &mut Random) -> Vec<Event> {
    use RowKind::{Add, Cancel, Clear, Fill, Modify, Trade};
    let mut at = 0;
    let row = |_| {
        at += random.below(3) as i64;
        let kind = random.pick(&[Add, Add, Add, Add, Cancel, Modify, Modify, Fill, Fill, Trade]);
        let kind = if random.per_mille(10) { Clear } else { kind };
        let side = random.pick(&Side::BOTH);
        let tick = 100 - side.sign() * (1 + random.below(5) as i64);
        let lots = if random.per_mille(3) { 1 << 40 } else { random.below(9) as i64 };
        let side = if random.per_mille(50) { side.opposite() } else { side };
        let seen = random.pick(&[Seen::Both, Seen::Both, Seen::Both, Seen::Exchange, Seen::Local]);
        let row = order(at, kind, side, tick, lots, random.below(12));
        Event { seen, side: if random.per_mille(30) { None } else { Some(side) }, ..row }
    };
    (0..250).map(row).collect()
}

#[test]
fn rows_that_make_no_sense_balance_too() {
    for_each_seed(0..150, |_, mut random| {
        let mut rows = nonsense(&mut random);
        // What an engine cannot hold is left out, row by row.
        let (recording, mut exchange) = loop {
            let recording = Recording::new(rows.iter().copied()).expect("rows in order");
            match EngineExchange::new(&recording, LATENCY) {
                Ok(exchange) => break (recording, exchange),
                Err(BacktestError::Crosses { row }) => _ = rows.remove(row),
                Err(error) => panic!("{error}"),
            }
        };
        assert!(rows.len() > 50, "{}", rows.len());
        exchange.keep_events();
        let mut backtest = Backtest::new(&recording, exchange).expect("a run");
        let (heard, position) = ask(&mut backtest, &requests(&mut random), Stop::Time);
        balanced(&backtest, &heard, position);
    });
}
