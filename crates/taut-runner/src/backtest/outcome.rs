//! What a backtest came to.

use taut_backtest::{Account, BacktestError, Money, Order, Terms};
use taut_gateway::GatewayCounters;
use taut_types::{Instrument, Nanos};

use super::history::{
    FillRecord, History, Latencies, MARK_OUTS, OrderEnd, OrderRecord, Sample, Top, steps,
};
use super::statistics::{Statistics, statistics};

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BacktestEnd {
    /// The recordings did.
    Recording,
    /// Somebody wished it.
    Stopped,
    /// The exchange could not go on: as hftbacktest's ends with its error 14.
    Exchange(BacktestError),
}

/// A run. Money is in the currency that the instruments are settled in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BacktestOutcome {
    /// Why it ended.
    pub end: BacktestEnd,
    /// The earliest time of the recordings.
    pub start: Nanos,
    /// The time at the end.
    pub ended_at: Nanos,
    /// Rows that the gateway took.
    pub rows: u64,
    /// By the number of the instrument.
    pub instruments: Vec<InstrumentOutcome>,
    /// What the gateway counted.
    pub gateway: GatewayCounters,
    /// Orders that left, in their order.
    pub orders: Vec<OrderRecord>,
    /// Trades, as they were heard of.
    pub fills: Vec<FillRecord>,
    /// What it was worth, from time to time and at the end.
    pub samples: Vec<Sample>,
    /// Orders that were not over at the end, as far as had been heard.
    pub open_orders: usize,
    /// From sending a request to the exchange.
    pub entry: Latencies,
    /// From a change at the exchange to us.
    pub response: Latencies,
    /// Figures of the values from time to time.
    pub statistics: Statistics,
}

/// What became of an instrument.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InstrumentOutcome {
    /// The instrument.
    pub instrument: Instrument,
    /// Bought less sold, in lots.
    pub position: i64,
    /// Position, balance, fees, what was traded.
    pub money: Money,
    /// Balance and position at the middle of the market as it was last, less fees.
    pub equity: f64,
    /// What its fills are worth.
    pub terms: Terms,
}

/// How often each thing happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderCounts {
    /// Orders that left.
    pub orders: usize,
    /// Those of which something traded.
    pub traded: usize,
    /// Those of which all did.
    pub filled: usize,
    /// Those that were cancelled on request.
    pub cancelled: usize,
    /// Those that could not trade or rest as they were to.
    pub expired: usize,
    /// Those that the exchange refused.
    pub rejected: usize,
    /// Modifications that left.
    pub modifications: u64,
    /// Lots of all orders.
    pub lots: i128,
    /// Lots that traded.
    pub lots_filled: i128,
}

impl OrderCounts {
    /// The part of what was ordered that traded.
    #[must_use]
    pub fn fill_rate(&self) -> f64 {
        if self.lots == 0 { 0.0 } else { self.lots_filled as f64 / self.lots as f64 }
    }
}

/// A mean over trades, weighted by their worth, in hundredths of a percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    /// Over how many trades.
    pub fills: usize,
    /// In hundredths of a percent; none of nothing.
    pub basis_points: Option<f64>,
}

impl BacktestOutcome {
    pub(super) fn new(
        (start, ended_at): (Nanos, Nanos),
        end: BacktestEnd,
        instruments: Vec<Instrument>,
        (rows, open_orders): (u64, usize),
        history: History,
        gateway: GatewayCounters,
    ) -> Self {
        let money: Vec<_> = history.money().collect();
        let parts = instruments.into_iter().zip(money).zip(&history.accounts).zip(&history.terms);
        let instruments = parts.map(|(((instrument, (money, equity)), account), terms)| {
            let position = account.position();
            InstrumentOutcome { instrument, position, money, equity, terms: *terms }
        });
        let instruments: Vec<_> = instruments.collect();
        let traded = instruments.iter().map(|it| it.money.value).sum();
        Self {
            end,
            start,
            ended_at,
            rows,
            instruments,
            gateway,
            open_orders,
            entry: history.entry,
            response: history.response,
            statistics: statistics(&history.samples, traded),
            orders: history.orders,
            fills: history.fills,
            samples: history.samples,
        }
    }

    /// Profit after fees, with what is held at the middle of the market as it was last.
    #[must_use]
    pub fn profit(&self) -> f64 {
        self.instruments.iter().map(|it| it.equity).sum()
    }

    /// Fees paid.
    #[must_use]
    pub fn fees(&self) -> f64 {
        self.instruments.iter().map(|it| it.money.fee).sum()
    }

    /// What was bought and sold, in money.
    #[must_use]
    pub fn turnover(&self) -> f64 {
        self.instruments.iter().map(|it| it.money.value).sum()
    }

    /// How often each thing happened.
    #[must_use]
    pub fn counts(&self) -> OrderCounts {
        let mut counts = OrderCounts::default();
        for order in &self.orders {
            counts.orders += 1;
            counts.traded += usize::from(order.filled > 0);
            counts.modifications += order.modifications;
            counts.lots += i128::from(order.lots);
            counts.lots_filled += i128::from(order.filled);
            match order.ended {
                Some((_, OrderEnd::Filled)) => counts.filled += 1,
                Some((_, OrderEnd::Cancelled)) => counts.cancelled += 1,
                Some((_, OrderEnd::Expired)) => counts.expired += 1,
                Some((_, OrderEnd::Rejected)) => counts.rejected += 1,
                None => {}
            }
        }
        counts
    }

    /// What trades cost against the middle of the market at the moment in which their order left,
    /// of orders that rested, of those that took, or of both: above 0 is a loss.
    #[must_use]
    pub fn slippage(&self, is_maker: Option<bool>) -> Mean {
        let fills = self.fills.iter().filter(|fill| is_maker.is_none_or(|it| it == fill.is_maker));
        self.mean(fills.map(|fill| (fill, fill.top_at_order, -1.0)))
    }

    /// How far the market had gone our way [so long](MARK_OUTS) after we heard of trades: below 0
    /// is a loss.
    #[must_use]
    pub fn mark_outs(&self) -> [(Nanos, Mean); MARK_OUTS.len()] {
        let mut which = 0;
        MARK_OUTS.map(|span| {
            let mark = which;
            which += 1;
            (span, self.mean(self.fills.iter().map(|fill| (fill, fill.marks[mark], 1.0))))
        })
    }

    /// What a trade cost in fees.
    #[must_use]
    pub fn fee_of(&self, fill: &FillRecord) -> f64 {
        self.money_of(fill).fee
    }

    /// What a trade was worth.
    #[must_use]
    pub fn value_of(&self, fill: &FillRecord) -> f64 {
        self.money_of(fill).value
    }

    /// The tick and the lot of an instrument in units, for who shows prices and quantities.
    #[must_use]
    pub fn steps(&self, instrument: usize) -> (f64, f64) {
        self.instruments.get(instrument).map_or((1.0, 1.0), |it| steps(&it.instrument))
    }

    fn money_of(&self, fill: &FillRecord) -> Money {
        let mut order = Order::limit(0, fill.side, fill.tick, fill.lots);
        (order.last_tick, order.last_lots, order.maker) = (fill.tick, fill.lots, fill.is_maker);
        let mut account = Account::default();
        account.book(&order);
        let none =
            Money { position: 0.0, balance: 0.0, fee: 0.0, fills: 0, volume: 0.0, value: 0.0 };
        self.instruments
            .get(fill.instrument.0 as usize)
            .map_or(none, |instrument| account.money(&instrument.terms))
    }

    /// How far the middle of markets is from the prices of trades, towards what was bought.
    fn mean<'a>(&self, fills: impl Iterator<Item = (&'a FillRecord, Option<Top>, f64)>) -> Mean {
        let (mut count, mut sum, mut weights) = (0, 0.0, 0.0);
        for (fill, top, sign) in fills {
            let Some((bid, ask)) = top.filter(|_| fill.tick != 0) else { continue };
            let mid = (bid + ask) as f64 / 2.0;
            let weight = self.value_of(fill).abs();
            let way = fill.side.sign() as f64 * (mid - fill.tick as f64) / fill.tick as f64;
            (count, sum, weights) = (count + 1, sum + sign * way * weight, weights + weight);
        }
        let basis_points = (weights > 0.0).then(|| 10_000.0 * sum / weights);
        Mean { fills: count, basis_points }
    }
}
