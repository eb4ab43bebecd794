//! What a backtest came to, as columns and figures.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use taut_runner::backtest::{BacktestEnd, BacktestOutcome, MARK_OUTS, Mean, OrderEnd, Top};
use taut_types::{Instrument, InstrumentId, Nanos};

use crate::columns::{Columns, NOTHING, decimals_of, mid, price, quantity};
use crate::recording::side;

/// The outcome as a dict of `orders`, `fills` and `equity`, each with its columns, and `summary`.
pub fn outcome_dict<'py>(
    py: Python<'py>,
    outcome: &BacktestOutcome,
) -> PyResult<Bound<'py, PyDict>> {
    let shape = Shape {
        outcome,
        decimals: decimals_of(outcome.instruments.iter().map(|it| &it.instrument)),
    };
    let dict = PyDict::new(py);
    dict.set_item("orders", shape.orders(py)?)?;
    dict.set_item("fills", shape.fills(py)?)?;
    dict.set_item("equity", shape.equity(py)?)?;
    dict.set_item("summary", shape.summary(py)?)?;
    let symbols: Vec<_> =
        outcome.instruments.iter().map(|it| it.instrument.symbol().to_string()).collect();
    dict.set_item("symbols", symbols)?;
    dict.set_item("quantity_decimals", shape.decimals)?;
    Ok(dict)
}

struct Shape<'a> {
    outcome: &'a BacktestOutcome,
    /// Of all quantities.
    decimals: u8,
}

/// A time, or nothing.
fn time(at: Option<Nanos>) -> i64 {
    at.map_or(NOTHING, |at| at.0)
}

impl Shape<'_> {
    fn instrument(&self, id: InstrumentId) -> Option<&Instrument> {
        self.outcome.instruments.get(id.0 as usize).map(|it| &it.instrument)
    }

    fn price(&self, id: InstrumentId, ticks: i64) -> i64 {
        self.instrument(id).map_or(NOTHING, |it| price(it, ticks))
    }

    fn quantity(&self, id: InstrumentId, lots: i64) -> i64 {
        self.instrument(id).map_or(NOTHING, |it| quantity(it, lots, self.decimals))
    }

    fn mid(&self, id: InstrumentId, top: Option<Top>) -> i64 {
        self.instrument(id).zip(top).map_or(NOTHING, |(it, top)| mid(it, top))
    }

    fn orders<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let orders = &self.outcome.orders;
        let columns = Columns::new(py);
        columns.add("id", orders.iter().map(|it| it.id).collect())?;
        columns.add("instrument", orders.iter().map(|it| it.instrument.0).collect())?;
        columns.add("side", orders.iter().map(|it| side(Some(it.side))).collect())?;
        columns.add("type", orders.iter().map(|it| it.order_type as u8).collect())?;
        let in_force = orders.iter().map(|it| it.time_in_force as u8);
        columns.add("time_in_force", in_force.collect())?;
        columns.add("post_only", orders.iter().map(|it| it.post_only).collect())?;
        let prices = orders.iter().map(|it| self.price(it.instrument, it.tick));
        columns.add("price", prices.collect())?;
        let quantities = orders.iter().map(|it| self.quantity(it.instrument, it.lots));
        columns.add("quantity", quantities.collect())?;
        columns.add("modifications", orders.iter().map(|it| it.modifications).collect())?;
        columns.add("sent_ns", orders.iter().map(|it| it.sent_at.0).collect())?;
        columns.add("arrived_ns", orders.iter().map(|it| time(it.arrived_at)).collect())?;
        columns.add("answered_ns", orders.iter().map(|it| time(it.answered_at)).collect())?;
        let ahead = orders
            .iter()
            .map(|it| it.ahead.map_or(NOTHING, |lots| self.quantity(it.instrument, lots)));
        columns.add("queue_ahead", ahead.collect())?;
        let filled = orders.iter().map(|it| self.quantity(it.instrument, it.filled));
        columns.add("filled", filled.collect())?;
        let ended = orders.iter().map(|it| time(it.ended.map(|(at, _)| at)));
        columns.add("ended_ns", ended.collect())?;
        columns
            .add("end", orders.iter().map(|it| end_code(it.ended.map(|(_, how)| how))).collect())?;
        for (name, side) in [("bid", (|top| top.0) as fn(Top) -> i64), ("ask", |top| top.1)] {
            let best = orders
                .iter()
                .map(|it| it.top.map_or(NOTHING, |top| self.price(it.instrument, side(top))));
            columns.add(name, best.collect())?;
        }
        Ok(columns.finish())
    }

    fn fills<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (outcome, fills) = (self.outcome, &self.outcome.fills);
        let columns = Columns::new(py);
        let ids = fills.iter().map(|it| outcome.orders.get(it.order).map_or(0, |order| order.id));
        columns.add("order", ids.collect())?;
        columns.add("instrument", fills.iter().map(|it| it.instrument.0).collect())?;
        columns.add("side", fills.iter().map(|it| side(Some(it.side))).collect())?;
        columns.add("heard_ns", fills.iter().map(|it| it.at.0).collect())?;
        columns.add("exchange_ns", fills.iter().map(|it| it.exchange_at.0).collect())?;
        let prices = fills.iter().map(|it| self.price(it.instrument, it.tick));
        columns.add("price", prices.collect())?;
        let quantities = fills.iter().map(|it| self.quantity(it.instrument, it.lots));
        columns.add("quantity", quantities.collect())?;
        columns.add("liquidity", fills.iter().map(|it| u8::from(it.is_maker)).collect())?;
        columns.add("fee", fills.iter().map(|it| outcome.fee_of(it)).collect())?;
        let ahead = fills
            .iter()
            .map(|it| it.ahead.map_or(NOTHING, |lots| self.quantity(it.instrument, lots)));
        columns.add("queue_ahead", ahead.collect())?;
        let at_order = fills.iter().map(|it| self.mid(it.instrument, it.top_at_order));
        columns.add("mid_at_order", at_order.collect())?;
        columns.add("mid", fills.iter().map(|it| self.mid(it.instrument, it.top)).collect())?;
        for (which, after) in MARK_OUTS.iter().enumerate() {
            let marks = fills
                .iter()
                .map(|it| self.mid(it.instrument, it.marks.get(which).copied().flatten()));
            columns.add(&format!("mid_after_{}_ns", after.0), marks.collect())?;
        }
        Ok(columns.finish())
    }

    fn equity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let samples = &self.outcome.samples;
        let columns = Columns::new(py);
        columns.add("at_ns", samples.iter().map(|it| it.at.0).collect())?;
        columns.add("equity", samples.iter().map(|it| it.equity).collect())?;
        columns.add("fees", samples.iter().map(|it| it.fee).collect())?;
        for (at, it) in self.outcome.instruments.iter().enumerate() {
            let lots = samples.iter().map(|sample| sample.positions.get(at).copied().unwrap_or(0));
            let held = lots.map(|lots| quantity(&it.instrument, lots, self.decimals));
            columns.add(&format!("position_{}", it.instrument.symbol()), held.collect())?;
        }
        Ok(columns.finish())
    }

    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let outcome = self.outcome;
        let (counts, statistics) = (outcome.counts(), outcome.statistics);
        let end = match outcome.end {
            BacktestEnd::Recording => "recording".to_owned(),
            BacktestEnd::Stopped => "stopped".to_owned(),
            BacktestEnd::Exchange(error) => error.to_string(),
            _ => "other".to_owned(),
        };
        let dict = PyDict::new(py);
        dict.set_item("end", end)?;
        dict.set_item("start_ns", outcome.start.0)?;
        dict.set_item("ended_ns", outcome.ended_at.0)?;
        dict.set_item("rows", outcome.rows)?;
        dict.set_item("profit", outcome.profit())?;
        dict.set_item("fees", outcome.fees())?;
        dict.set_item("turnover", outcome.turnover())?;
        dict.set_item("orders", counts.orders)?;
        dict.set_item("orders_traded", counts.traded)?;
        dict.set_item("orders_filled", counts.filled)?;
        dict.set_item("orders_cancelled", counts.cancelled)?;
        dict.set_item("orders_expired", counts.expired)?;
        dict.set_item("orders_rejected", counts.rejected)?;
        dict.set_item("orders_open", outcome.open_orders)?;
        dict.set_item("modifications", counts.modifications)?;
        dict.set_item("fills", outcome.fills.len())?;
        dict.set_item("fill_rate", counts.fill_rate())?;
        dict.set_item("sharpe", statistics.sharpe)?;
        dict.set_item("sortino", statistics.sortino)?;
        dict.set_item("drawdown_max", statistics.drawdown_max)?;
        dict.set_item("return_over_trade", statistics.return_over_trade)?;
        let slippage = |of| outcome.slippage(of).basis_points;
        dict.set_item("slippage_bp", slippage(None))?;
        dict.set_item("slippage_maker_bp", slippage(Some(true)))?;
        dict.set_item("slippage_taker_bp", slippage(Some(false)))?;
        for (after, Mean { basis_points, .. }) in outcome.mark_outs() {
            dict.set_item(format!("mark_out_{}_ns_bp", after.0), basis_points)?;
        }
        dict.set_item("entry_ns_mean", outcome.entry.mean_ns())?;
        dict.set_item("response_ns_mean", outcome.response.mean_ns())?;
        Ok(dict)
    }
}

/// A number for how an order ended: 0 when it did not.
const fn end_code(end: Option<OrderEnd>) -> u8 {
    match end {
        None => 0,
        Some(OrderEnd::Filled) => 1,
        Some(OrderEnd::Cancelled) => 2,
        Some(OrderEnd::Expired) => 3,
        Some(OrderEnd::Rejected) => 4,
    }
}
