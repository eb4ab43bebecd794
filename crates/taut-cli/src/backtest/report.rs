//! The report of a backtest, as JSON.

use serde::Serialize;
use taut_runner::backtest::{
    BacktestEnd, BacktestFile, BacktestOutcome, InstrumentOutcome, Mean, OrderCounts,
};
use taut_types::Lots;

/// A run. The order of the fields is the order of the keys, and part of the interface. Money is in
/// the currency that the instruments are settled in.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub strategy: String,
    pub end: &'static str,
    pub start_utc_ns: i64,
    pub end_utc_ns: i64,
    pub seconds: f64,
    pub rows: u64,
    pub currency: Option<String>,
    pub profit: f64,
    pub fees: f64,
    pub turnover: f64,
    pub return_over_trade: Option<f64>,
    pub drawdown_max: f64,
    pub sharpe: Option<f64>,
    pub sortino: Option<f64>,
    pub sample_seconds: f64,
    pub samples: usize,
    pub orders: Orders,
    pub fills: Fills,
    pub latency: Latency,
    pub slippage_basis_points: Slippage,
    pub mark_outs: Vec<MarkOut>,
    pub instruments: Vec<OneInstrument>,
}

/// What became of orders.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Orders {
    pub sent: usize,
    pub traded: usize,
    pub filled: usize,
    pub cancelled: usize,
    pub expired: usize,
    pub rejected: usize,
    pub open: usize,
    pub modifications: u64,
    /// Lots that traded by lots that were ordered.
    pub fill_rate: f64,
    /// The gateway's checks said no.
    pub risk_rejects: u64,
    /// The gateway refused it for another reason.
    pub refused: u64,
}

/// Trades.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Fills {
    pub count: usize,
    pub maker: usize,
    pub taker: usize,
    /// Of orders that rested: trades as the price passed them, with others still before them.
    pub maker_through: usize,
    /// Of orders that rested: lots of others before them when they came to rest.
    pub queue_ahead_lots_mean: Option<f64>,
}

/// The mean time on the way.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Latency {
    pub entry_ns_mean: Option<f64>,
    pub response_ns_mean: Option<f64>,
}

/// Against the middle of the market when the order left: above 0 is a loss.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Slippage {
    pub all: Option<f64>,
    pub maker: Option<f64>,
    pub taker: Option<f64>,
}

/// How far the market had gone our way a while after trades.
#[derive(Clone, Debug, Serialize)]
pub struct MarkOut {
    pub after_ns: i64,
    pub fills: usize,
    pub basis_points: Option<f64>,
}

/// An instrument.
#[derive(Clone, Debug, Serialize)]
pub struct OneInstrument {
    pub symbol: String,
    pub position: String,
    pub profit: f64,
    pub fees: f64,
    pub turnover: f64,
    pub fills: u64,
}

impl Report {
    pub fn new<P>(outcome: &BacktestOutcome, file: &BacktestFile<P>, strategy: &str) -> Self {
        let statistics = &outcome.statistics;
        let marks = outcome.mark_outs();
        Self {
            strategy: strategy.to_owned(),
            end: match outcome.end {
                BacktestEnd::Recording => "recording",
                BacktestEnd::Stopped => "stopped",
                _ => "exchange",
            },
            start_utc_ns: outcome.start.0,
            end_utc_ns: outcome.ended_at.0,
            seconds: outcome.ended_at.since(outcome.start).0 as f64 / 1e9,
            rows: outcome.rows,
            currency: file.instruments.first().and_then(|it| it.currency.clone()),
            profit: exact(outcome.profit()),
            fees: exact(outcome.fees()),
            turnover: exact(outcome.turnover()),
            return_over_trade: statistics.return_over_trade,
            drawdown_max: exact(statistics.drawdown_max),
            sharpe: statistics.sharpe,
            sortino: statistics.sortino,
            sample_seconds: f64::from(file.sample_ms) / 1e3,
            samples: statistics.samples,
            orders: orders(outcome, &outcome.counts()),
            fills: fills(outcome),
            latency: Latency {
                entry_ns_mean: outcome.entry.mean_ns(),
                response_ns_mean: outcome.response.mean_ns(),
            },
            slippage_basis_points: Slippage {
                all: outcome.slippage(None).basis_points,
                maker: outcome.slippage(Some(true)).basis_points,
                taker: outcome.slippage(Some(false)).basis_points,
            },
            mark_outs: marks
                .into_iter()
                .map(|(after, Mean { fills, basis_points })| MarkOut {
                    after_ns: after.0,
                    fills,
                    basis_points,
                })
                .collect(),
            instruments: outcome.instruments.iter().map(one).collect(),
        }
    }

    /// The currency, where it is named.
    pub fn currency(&self) -> &str {
        self.currency.as_deref().unwrap_or("")
    }
}

/// A sum of floats without the dust behind its twelfth digit.
fn exact(money: f64) -> f64 {
    format!("{money:.11e}").parse().unwrap_or(money) + 0.0
}

fn orders(outcome: &BacktestOutcome, counts: &OrderCounts) -> Orders {
    Orders {
        sent: counts.orders,
        traded: counts.traded,
        filled: counts.filled,
        cancelled: counts.cancelled,
        expired: counts.expired,
        rejected: counts.rejected,
        open: outcome.open_orders,
        modifications: counts.modifications,
        fill_rate: counts.fill_rate(),
        risk_rejects: outcome.gateway.risk_rejects,
        refused: outcome.gateway.refused,
    }
}

fn fills(outcome: &BacktestOutcome) -> Fills {
    let maker = outcome.fills.iter().filter(|fill| fill.is_maker).count();
    let through = outcome.fills.iter().filter(|fill| fill.ahead.is_some_and(|lots| lots > 0));
    let resting = outcome.fills.iter().filter(|fill| fill.is_maker);
    let orders = resting.filter_map(|fill| outcome.orders.get(fill.order));
    let ahead: Vec<i64> = orders.filter_map(|order| order.ahead).collect();
    let sum: i128 = ahead.iter().copied().map(i128::from).sum();
    Fills {
        count: outcome.fills.len(),
        maker,
        taker: outcome.fills.len() - maker,
        maker_through: through.count(),
        queue_ahead_lots_mean: (!ahead.is_empty()).then(|| sum as f64 / ahead.len() as f64),
    }
}

fn one(it: &InstrumentOutcome) -> OneInstrument {
    let position = it.instrument.qty(Lots(it.position));
    OneInstrument {
        symbol: it.instrument.symbol().to_string(),
        position: position.map_or_else(|_| "?".to_owned(), |qty| qty.to_string()),
        profit: exact(it.equity),
        fees: exact(it.money.fee),
        turnover: exact(it.money.value),
        fills: it.money.fills,
    }
}
