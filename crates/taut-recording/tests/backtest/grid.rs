//! The referee's grid as a strategy: a ladder on each side of the middle, in whole ticks and lots.

use taut_backtest::{
    Backtest, BacktestError, Exchange, Order, Recording, Response, Strategy, Trader,
};
use taut_types::{Nanos, Side};

use crate::Check;
use crate::case::Case;
use crate::replay::Log;

/// Lets the grid decide, and holds its requests against the referee's too.
pub struct Decides;

impl Check for Decides {
    fn check<X: Exchange>(&self, case: &Case, recording: &Recording, exchange: X) {
        let mut backtest = Backtest::new(recording, exchange).expect("a run");
        let mut grid = Grid::new(case);
        backtest.run(&mut grid).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        for (row, (ours, theirs)) in grid.sent.iter().zip(&case.commands).enumerate() {
            assert_eq!(ours, theirs, "{}, request {row}", case.name);
        }
        assert_eq!(grid.sent.len(), case.commands.len(), "{}", case.name);
        assert_eq!(grid.samples, case.equity.len(), "{}", case.name);
        grid.log.check(case);
        let trader = backtest.trader();
        case.check_end(trader.book(), trader.account());
    }
}

struct Grid<'c> {
    case: &'c Case,
    interval: i64,
    levels: i64,
    half2: i64,
    step: i64,
    skew2: i64,
    lots: i64,
    max_lots: i64,
    every: usize,
    steps: usize,
    samples: usize,
    last_id: u64,
    sent: Vec<String>,
    log: Log,
}

impl<'c> Grid<'c> {
    fn new(case: &'c Case) -> Self {
        let number = |key: &str| case.strategy[key].as_i64().expect("a number");
        assert_eq!(case.strategy["tif"], "GTX");
        Self {
            case,
            interval: number("interval"),
            levels: number("levels"),
            half2: number("half2"),
            step: number("step"),
            skew2: number("skew2"),
            lots: number("lots"),
            max_lots: number("max_lots"),
            every: number("every") as usize,
            steps: 0,
            samples: 0,
            last_id: 0,
            sent: Vec::new(),
            log: Log::default(),
        }
    }

    /// Where the ladders begin.
    fn tops(&self, bid: i64, ask: i64, position: i64) -> [i64; 2] {
        let middle2 = bid + ask - self.skew2 * position;
        let buy = (middle2 - self.half2).div_euclid(2).min(bid);
        let sell = (-(-(middle2 + self.half2)).div_euclid(2)).max(ask);
        let (buy, sell) = (buy.div_euclid(self.step), -(-sell).div_euclid(self.step));
        [buy * self.step, sell * self.step]
    }

    fn quote(
        &mut self,
        trader: &mut Trader<'_>,
        side: Side,
        top: i64,
    ) -> Result<(), BacktestError> {
        let (step, sign, now) = (self.step, side.sign(), trader.now().0);
        let is_full = sign * trader.account().position() >= self.max_lots;
        let wanted = if is_full { 0 } else { self.levels };
        let mut has = vec![false; self.levels as usize];
        let mut off = Vec::new();
        for order in trader.orders().filter(|order| order.side == side) {
            let behind = (top - order.tick) * sign;
            if behind >= 0 && behind % step == 0 && behind / step < wanted {
                has[(behind / step) as usize] = true;
            } else if order.is_cancellable() {
                off.push(order.id);
            }
        }
        let letter = if side == Side::Buy { "B" } else { "S" };
        for id in off {
            trader.cancel(id)?;
            self.sent.push(format!("{now},cancel,{id},{letter},0,0,,"));
        }
        for level in (0..wanted).filter(|&level| !has[level as usize]) {
            self.last_id += 1;
            let (id, tick) = (self.last_id, top - sign * step * level);
            trader.send(Order::limit(id, side, tick, self.lots).post_only())?;
            let quantity = self.case.quantity(self.lots);
            self.sent.push(format!("{now},new,{id},{letter},{tick},{quantity},GTX,limit"));
        }
        Ok(())
    }
}

impl Strategy for Grid<'_> {
    fn first(&mut self, starts_at: Nanos) -> Nanos {
        starts_at + Nanos(self.interval)
    }

    fn act(&mut self, trader: &mut Trader<'_>) -> Result<Nanos, BacktestError> {
        self.log.end_instant();
        self.steps += 1;
        if self.steps.is_multiple_of(self.every) {
            let line = &self.case.equity[self.samples];
            self.case.check_equity(line, trader.book(), trader.account());
            self.samples += 1;
        }
        trader.forget_done();
        if let Some((bid, ask)) = trader.best() {
            let tops = self.tops(bid, ask, trader.account().position());
            for side in Side::BOTH {
                self.quote(trader, side, tops[side.index()])?;
            }
        }
        Ok(trader.now() + Nanos(self.interval))
    }

    fn hear(&mut self, response: &Response) {
        self.log.hear(self.case, response);
    }
}
