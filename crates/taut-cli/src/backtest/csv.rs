//! Orders, trades and values as tables of text: a line of names, then a line for each.

use std::fmt::Write;

use taut_runner::backtest::{BacktestOutcome, FillRecord, MARK_OUTS, OrderRecord, Top};
use taut_types::{Instrument, InstrumentId, Lots, Nanos, OrderType, Price, Side, TimeInForce};

/// A line for each order that left.
pub fn orders(outcome: &BacktestOutcome) -> String {
    let mut text = "id,symbol,side,type,time_in_force,post_only,price,quantity,modifications,\
                    sent_ns,arrived_ns,answered_ns,queue_ahead,filled,ended_ns,end,bid,ask\n"
        .to_owned();
    for order in &outcome.orders {
        order_line(&mut text, outcome, order);
    }
    text
}

/// A line for each trade.
pub fn fills(outcome: &BacktestOutcome) -> String {
    let mut text = "order,symbol,side,heard_ns,exchange_ns,price,quantity,liquidity,fee,\
                    queue_ahead,mid_at_order,mid"
        .to_owned();
    for after in MARK_OUTS {
        let _ = write!(text, ",mid_after_{}_ns", after.0);
    }
    text.push('\n');
    for fill in &outcome.fills {
        fill_line(&mut text, outcome, fill);
    }
    text
}

/// A line for each time at which the run was valued.
pub fn equity(outcome: &BacktestOutcome) -> String {
    let mut text = "at_ns,equity,fees".to_owned();
    for it in &outcome.instruments {
        let _ = write!(text, ",position_{}", it.instrument.symbol());
    }
    text.push('\n');
    for sample in &outcome.samples {
        let _ = write!(text, "{},{:.9},{:.9}", sample.at.0, sample.equity, sample.fee);
        for (lots, it) in sample.positions.iter().zip(&outcome.instruments) {
            let _ = write!(text, ",{}", quantity(&it.instrument, *lots));
        }
        text.push('\n');
    }
    text
}

fn order_line(text: &mut String, outcome: &BacktestOutcome, order: &OrderRecord) {
    let Some(instrument) = instrument(outcome, order.instrument) else { return };
    let (kind, price) = match order.order_type {
        OrderType::Limit => ("limit", price(instrument, order.tick)),
        OrderType::Market => ("market", String::new()),
    };
    let time_in_force = time_in_force(order.time_in_force);
    let (ended, end) = order.ended.map_or((None, ""), |(at, end)| (Some(at), end.name()));
    let side = |top: fn(Top) -> i64| {
        order.top.map(|it| self::price(instrument, top(it))).unwrap_or_default()
    };
    let _ = writeln!(
        text,
        "{},{},{},{kind},{time_in_force},{},{price},{},{},{},{},{},{},{},{},{end},{},{}",
        order.id,
        instrument.symbol(),
        name(order.side),
        order.post_only,
        quantity(instrument, order.lots),
        order.modifications,
        order.sent_at.0,
        time(order.arrived_at),
        time(order.answered_at),
        order.ahead.map(|lots| quantity(instrument, lots)).unwrap_or_default(),
        quantity(instrument, order.filled),
        time(ended),
        side(|top| top.0),
        side(|top| top.1),
    );
}

fn fill_line(text: &mut String, outcome: &BacktestOutcome, fill: &FillRecord) {
    let Some(instrument) = instrument(outcome, fill.instrument) else { return };
    let order = outcome.orders.get(fill.order).map_or(0, |order| order.id);
    let liquidity = if fill.is_maker { "maker" } else { "taker" };
    let _ = write!(
        text,
        "{order},{},{},{},{},{},{},{liquidity},{:.9},{},{},{}",
        instrument.symbol(),
        name(fill.side),
        fill.at.0,
        fill.exchange_at.0,
        price(instrument, fill.tick),
        quantity(instrument, fill.lots),
        outcome.fee_of(fill),
        fill.ahead.map(|lots| quantity(instrument, lots)).unwrap_or_default(),
        mid(instrument, fill.top_at_order),
        mid(instrument, fill.top),
    );
    for mark in fill.marks {
        let _ = write!(text, ",{}", mid(instrument, mark));
    }
    text.push('\n');
}

fn instrument(outcome: &BacktestOutcome, id: InstrumentId) -> Option<&Instrument> {
    outcome.instruments.get(id.0 as usize).map(|it| &it.instrument)
}

/// How long an order was to live, in a word.
pub const fn time_in_force(time_in_force: TimeInForce) -> &'static str {
    match time_in_force {
        TimeInForce::GoodTillCancel => "gtc",
        TimeInForce::ImmediateOrCancel => "ioc",
        TimeInForce::FillOrKill => "fok",
        TimeInForce::Day => "day",
    }
}

/// A side in a word.
pub const fn name(side: Side) -> &'static str {
    match side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    }
}

fn time(at: Option<Nanos>) -> String {
    at.map(|at| at.0.to_string()).unwrap_or_default()
}

fn price(instrument: &Instrument, tick: i64) -> String {
    Price(tick.saturating_mul(instrument.tick().0)).to_string()
}

fn quantity(instrument: &Instrument, lots: i64) -> String {
    instrument.qty(Lots(lots)).map(|qty| qty.to_string()).unwrap_or_default()
}

/// Half a tick is exact: ticks are even.
fn mid(instrument: &Instrument, top: Option<Top>) -> String {
    let half = instrument.tick().0 / 2;
    top.map(|(bid, ask)| Price((bid + ask).saturating_mul(half)).to_string()).unwrap_or_default()
}
