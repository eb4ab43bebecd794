//! Columns: one allocation each, which `NumPy` takes over without a copy.

use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use taut_types::{Instrument, Lots, Price};

/// What stands in a column of whole numbers where there is nothing; of a time it is `NaT`.
pub const NOTHING: i64 = i64::MIN;

/// An instrument: number, symbol, tick (1e-9), the quantity of a lot as mantissa and decimals.
pub type Steps = (u32, String, i64, i64, u8);

/// Columns by name, in their order.
pub struct Columns<'py> {
    py: Python<'py>,
    columns: Bound<'py, PyDict>,
}

impl<'py> Columns<'py> {
    /// None yet.
    pub fn new(py: Python<'py>) -> Self {
        Self { py, columns: PyDict::new(py) }
    }

    /// One more; its memory becomes the array's.
    pub fn add<T: Element>(&self, name: &str, column: Vec<T>) -> PyResult<()> {
        self.columns.set_item(name, PyArray1::from_vec(self.py, column))
    }

    /// All of them.
    pub fn finish(self) -> Bound<'py, PyDict> {
        self.columns
    }
}

/// The decimals of quantities of these instruments in one column.
pub fn decimals_of<'i>(instruments: impl Iterator<Item = &'i Instrument>) -> u8 {
    instruments.map(|it| it.lot().decimals).max().unwrap_or(0)
}

/// A quantity with so many decimals.
pub fn quantity(instrument: &Instrument, lots: i64, decimals: u8) -> i64 {
    let qty = instrument.qty(Lots(lots)).ok().and_then(|qty| qty.with_decimals(decimals));
    qty.map_or(NOTHING, |qty| qty.mantissa)
}

/// A price of so many ticks, in billionths.
pub fn price(instrument: &Instrument, ticks: i64) -> i64 {
    ticks.saturating_mul(instrument.tick().0)
}

/// The middle of two prices in ticks, in billionths: half a tick is exact, ticks are even.
pub fn mid(instrument: &Instrument, (bid, ask): (i64, i64)) -> i64 {
    let Price(tick) = instrument.tick();
    bid.saturating_add(ask).saturating_mul(tick / 2)
}
