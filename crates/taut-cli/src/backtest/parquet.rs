//! Orders, trades, positions and values as Parquet: the columns of the text files, with prices and
//! quantities as whole numbers.

use std::io;

use taut_recording::ParquetValue::{Integer, Nothing, Number, Text};
use taut_recording::{ParquetTable, ParquetType, ParquetValue};
use taut_runner::backtest::{BacktestOutcome, MARK_OUTS, Top};
use taut_types::{Instrument, InstrumentId, Lots, Nanos, OrderType, Price};

use super::csv::{name, time_in_force};

/// A line for each order that left.
pub fn orders(outcome: &BacktestOutcome) -> io::Result<Vec<u8>> {
    use ParquetType::{Integer as Whole, Text as Word, Time};
    let scale = Scale::of(outcome);
    let mut table = ParquetTable::new([
        ("id", Whole),
        ("symbol", Word),
        ("side", Word),
        ("type", Word),
        ("time_in_force", Word),
        ("post_only", Whole),
        ("px", Whole),
        ("qty", Whole),
        ("modifications", Whole),
        ("sent", Time),
        ("arrived", Time),
        ("answered", Time),
        ("queue_ahead", Whole),
        ("filled", Whole),
        ("ended", Time),
        ("end", Word),
        ("bid", Whole),
        ("ask", Whole),
    ]);
    scale.note(&mut table);
    for order in &outcome.orders {
        let Some(it) = instrument(outcome, order.instrument) else { continue };
        let (kind, px) = match order.order_type {
            OrderType::Limit => ("limit", price(it, order.tick)),
            OrderType::Market => ("market", Nothing),
        };
        let best = |side: fn(Top) -> i64| order.top.map_or(Nothing, |top| price(it, side(top)));
        table.push([
            Integer(order.id.cast_signed()),
            Text(it.symbol().as_str()),
            Text(name(order.side)),
            Text(kind),
            Text(time_in_force(order.time_in_force)),
            Integer(order.post_only.into()),
            px,
            scale.qty(it, order.lots),
            Integer(order.modifications.cast_signed()),
            Integer(order.sent_at.0),
            time(order.arrived_at),
            time(order.answered_at),
            order.ahead.map_or(Nothing, |lots| scale.qty(it, lots)),
            scale.qty(it, order.filled),
            time(order.ended.map(|ended| ended.0)),
            order.ended.map_or(Nothing, |ended| Text(ended.1.name())),
            best(|top| top.0),
            best(|top| top.1),
        ]);
    }
    bytes(&table)
}

/// A line for each trade.
pub fn fills(outcome: &BacktestOutcome) -> io::Result<Vec<u8>> {
    use ParquetType::{Integer as Whole, Number as Float, Text as Word, Time};
    let scale = Scale::of(outcome);
    let columns = [
        ("order", Whole),
        ("symbol", Word),
        ("side", Word),
        ("heard", Time),
        ("exchange", Time),
        ("px", Whole),
        ("qty", Whole),
        ("liquidity", Word),
        ("fee", Float),
        ("queue_ahead", Whole),
        ("mid_at_order", Whole),
        ("mid", Whole),
    ];
    let marks = MARK_OUTS.map(|after| (format!("mid_after_{}_ns", after.0), Whole));
    let columns = columns.map(|(name, of)| (name.to_owned(), of));
    let mut table = ParquetTable::new(columns.into_iter().chain(marks));
    scale.note(&mut table);
    for fill in &outcome.fills {
        let Some(it) = instrument(outcome, fill.instrument) else { continue };
        let order = outcome.orders.get(fill.order).map_or(0, |order| order.id);
        let symbol = it.symbol();
        let row = [
            Integer(order.cast_signed()),
            Text(symbol.as_str()),
            Text(name(fill.side)),
            Integer(fill.at.0),
            Integer(fill.exchange_at.0),
            price(it, fill.tick),
            scale.qty(it, fill.lots),
            Text(if fill.is_maker { "maker" } else { "taker" }),
            Number(outcome.fee_of(fill)),
            fill.ahead.map_or(Nothing, |lots| scale.qty(it, lots)),
            mid(it, fill.top_at_order),
            mid(it, fill.top),
        ];
        table.push(row.into_iter().chain(fill.marks.map(|mark| mid(it, mark))));
    }
    bytes(&table)
}

/// A line for each instrument at each time at which the run was valued.
pub fn positions(outcome: &BacktestOutcome) -> io::Result<Vec<u8>> {
    let scale = Scale::of(outcome);
    let columns =
        [("at", ParquetType::Time), ("symbol", ParquetType::Text), ("qty", ParquetType::Integer)];
    let mut table = ParquetTable::new(columns);
    scale.note(&mut table);
    for sample in &outcome.samples {
        for (it, lots) in outcome.instruments.iter().zip(&sample.positions) {
            let symbol = it.instrument.symbol();
            let qty = scale.qty(&it.instrument, *lots);
            table.push([Integer(sample.at.0), Text(symbol.as_str()), qty]);
        }
    }
    bytes(&table)
}

/// A line for each time at which the run was valued.
pub fn equity(outcome: &BacktestOutcome) -> io::Result<Vec<u8>> {
    let columns =
        [("at", ParquetType::Time), ("equity", ParquetType::Number), ("fees", ParquetType::Number)];
    let mut table = ParquetTable::new(columns);
    for sample in &outcome.samples {
        table.push([Integer(sample.at.0), Number(sample.equity), Number(sample.fee)]);
    }
    bytes(&table)
}

fn bytes(table: &ParquetTable) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    table.write(&mut bytes)?;
    Ok(bytes)
}

/// The decimals that the quantities of all instruments have in common.
struct Scale(u8);

impl Scale {
    fn of(outcome: &BacktestOutcome) -> Self {
        let decimals = outcome.instruments.iter().map(|it| it.instrument.lot().decimals);
        Self(decimals.max().unwrap_or(0))
    }

    fn note(&self, table: &mut ParquetTable) {
        table.note("taut.px_exponent", format!("-{}", Price::DECIMALS));
        table.note("taut.qty_exponent", format!("-{}", self.0));
    }

    fn qty(&self, instrument: &Instrument, lots: i64) -> ParquetValue<'static> {
        let qty = instrument.qty(Lots(lots)).ok().and_then(|qty| qty.with_decimals(self.0));
        qty.map(|qty| qty.mantissa).into()
    }
}

fn instrument(outcome: &BacktestOutcome, id: InstrumentId) -> Option<&Instrument> {
    outcome.instruments.get(id.0 as usize).map(|it| &it.instrument)
}

fn time(at: Option<Nanos>) -> ParquetValue<'static> {
    at.map(|at| at.0).into()
}

fn price(instrument: &Instrument, tick: i64) -> ParquetValue<'static> {
    tick.checked_mul(instrument.tick().0).into()
}

/// Half a tick is exact: ticks are even.
fn mid(instrument: &Instrument, top: Option<Top>) -> ParquetValue<'static> {
    let half = instrument.tick().0 / 2;
    top.and_then(|(bid, ask)| bid.checked_add(ask)?.checked_mul(half)).into()
}
