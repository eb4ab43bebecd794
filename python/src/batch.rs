//! Events of a market ring, sorted by what they are, as columns.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use taut_market_data::{Batch as BatchKind, Event, EventKind, Soundness};
use taut_types::{InstrumentId, Lots, Price, Side};

use crate::columns::{Columns, NOTHING};
use crate::recording::side;

/// Events of a batch, by what they are.
#[derive(Default)]
pub struct Batch {
    tops: Tops,
    trades: Quotes,
    levels: Quotes,
    books: Books,
    /// How many were taken.
    pub events: usize,
    /// Entries of the ring that were lost.
    pub lost: u64,
    /// Whether there are more.
    pub has_more: bool,
}

#[derive(Default)]
struct Head {
    position: Vec<u64>,
    instrument: Vec<u32>,
    exchange_ns: Vec<i64>,
    receive_ns: Vec<i64>,
}

#[derive(Default)]
struct Tops {
    head: Head,
    /// Bid, its lots, ask, its lots.
    parts: [Vec<i64>; 4],
}

#[derive(Default)]
struct Quotes {
    head: Head,
    side: Vec<i8>,
    price: Vec<i64>,
    lots: Vec<i64>,
}

#[derive(Default)]
struct Books {
    head: Head,
    is_sound: Vec<bool>,
}

impl Head {
    fn push(&mut self, position: u64, event: &Event) {
        self.position.push(position);
        self.instrument.push(event.instrument.0);
        self.exchange_ns.push(event.exchange_time.0);
        self.receive_ns.push(event.receive_time.0);
    }

    fn columns(self, py: Python<'_>) -> PyResult<Columns<'_>> {
        let columns = Columns::new(py);
        columns.add("position", self.position)?;
        columns.add("instrument", self.instrument)?;
        columns.add("exchange_ns", self.exchange_ns)?;
        columns.add("receive_ns", self.receive_ns)?;
        Ok(columns)
    }
}

impl Quotes {
    fn push(&mut self, of: Option<Side>, price: Price, lots: Lots) {
        self.side.push(side(of));
        self.price.push(price.0);
        self.lots.push(lots.0);
    }

    fn columns(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let columns = self.head.columns(py)?;
        columns.add("side", self.side)?;
        columns.add("price", self.price)?;
        columns.add("lots", self.lots)?;
        Ok(columns.finish())
    }
}

impl Batch {
    /// Takes an event, which stands there in the ring. `partial` are the instruments of which best
    /// levels are told just now, beside their books.
    pub fn take(&mut self, position: u64, event: &Event, partial: &mut HashSet<InstrumentId>) {
        self.events += 1;
        match event.kind {
            EventKind::Top(top) => {
                self.tops.head.push(position, event);
                let sides = [top.bid, top.ask];
                let parts = sides.into_iter().flat_map(|best| match best {
                    Some((price, lots)) => [price.0, lots.0],
                    None => [NOTHING; 2],
                });
                self.tops.parts.iter_mut().zip(parts).for_each(|(column, it)| column.push(it));
            }
            EventKind::Trade(trade) => {
                self.trades.head.push(position, event);
                self.trades.push(trade.aggressor, trade.price, trade.lots);
            }
            EventKind::Begin(BatchKind::BestLevels) => {
                partial.insert(event.instrument);
            }
            EventKind::End { .. } => {
                partial.remove(&event.instrument);
            }
            EventKind::Level(level) if !partial.contains(&event.instrument) => {
                self.levels.head.push(position, event);
                self.levels.push(Some(level.side), level.price, level.lots);
            }
            EventKind::Book(soundness) => {
                self.books.head.push(position, event);
                self.books.is_sound.push(soundness == Soundness::Sound);
            }
            _ => {}
        }
    }

    /// Four tables of columns, by their names.
    pub fn tables(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        let tops = self.tops.head.columns(py)?;
        for (name, column) in ["bid", "bid_lots", "ask", "ask_lots"].iter().zip(self.tops.parts) {
            tops.add(name, column)?;
        }
        dict.set_item("tops", tops.finish())?;
        dict.set_item("trades", self.trades.columns(py)?)?;
        dict.set_item("levels", self.levels.columns(py)?)?;
        let books = self.books.head.columns(py)?;
        books.add("is_sound", self.books.is_sound)?;
        dict.set_item("books", books.finish())?;
        Ok(dict)
    }
}
