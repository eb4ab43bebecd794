//! The order journal of a gateway as columns.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use taut_journal::{Entry, Shown, read};
use taut_types::{ClientOrderId, InstrumentId, Lots, Price, RequestId, Side};

use crate::columns::{Columns, NOTHING};
use crate::errors::{TautError, of_io};
use crate::recording::side;

/// Executions whose names are remembered while a journal is read: none, nothing depends on them.
const EXECUTIONS: usize = 1;

/// What entries are called, at their numbers.
const KINDS: [&str; 9] = [
    "create",
    "modify",
    "cancel",
    "acknowledged",
    "replaced",
    "filled",
    "cancelled",
    "expired",
    "rejected",
];

/// Entries about orders, a column each.
#[derive(Default)]
struct Entries {
    time_ns: Vec<i64>,
    kind: Vec<u8>,
    order: Vec<u64>,
    version: Vec<u16>,
    /// Of new orders and of trades.
    instrument: Vec<i64>,
    side: Vec<i8>,
    price: Vec<i64>,
    lots: Vec<i64>,
}

/// Entries of a journal that are about orders, as columns, and the names of their kinds. The
/// gateway may go on writing meanwhile.
#[pyfunction]
pub fn read_journal(
    py: Python<'_>,
    folder: PathBuf,
) -> PyResult<(Bound<'_, PyDict>, Vec<&'static str>)> {
    std::fs::read_dir(&folder).map_err(|error| of_io(&folder, &error))?;
    let entries = py.detach(|| {
        let mut entries = Entries::default();
        read(&folder, EXECUTIONS, &mut |shown| entries.take(shown))
            .map_err(|error| TautError::new_err(format!("{}: {error}", folder.display())))?;
        Ok::<_, PyErr>(entries)
    })?;
    let columns = Columns::new(py);
    columns.add("time_ns", entries.time_ns)?;
    columns.add("kind", entries.kind)?;
    columns.add("order", entries.order)?;
    columns.add("version", entries.version)?;
    columns.add("instrument", entries.instrument)?;
    columns.add("side", entries.side)?;
    columns.add("price", entries.price)?;
    columns.add("lots", entries.lots)?;
    Ok((columns.finish(), KINDS.to_vec()))
}

/// What an entry says of an order besides its kind.
#[derive(Default)]
struct Said {
    instrument: Option<InstrumentId>,
    side: Option<Side>,
    price: Option<Price>,
    lots: Option<Lots>,
}

impl Entries {
    fn take(&mut self, shown: &Shown) {
        let Some(entry) = &shown.entry else { return };
        let none = Said::default();
        let of_version =
            |kind, request: RequestId, said| (kind, request.order, request.version, said);
        let (kind, order, version, said) = match *entry {
            Entry::Create { order, terms, .. } => {
                let (instrument, side) = (Some(terms.instrument), Some(terms.side));
                let (price, lots) = (Some(terms.price), Some(terms.lots));
                (0, order, 1, Said { instrument, side, price, lots })
            }
            Entry::Modify { request, price, lots } => {
                of_version(1, request, Said { price: Some(price), lots: Some(lots), ..none })
            }
            Entry::Cancel { request } => of_version(2, request, none),
            Entry::Acknowledged { request, .. } => of_version(3, request, none),
            Entry::Replaced { request, price, lots } => {
                of_version(4, request, Said { price: Some(price), lots: Some(lots), ..none })
            }
            Entry::Filled(fill) => {
                let (instrument, side) = (Some(fill.instrument), Some(fill.side));
                let (price, lots) = (Some(fill.price), Some(fill.lots));
                (5, fill.order, 0, Said { instrument, side, price, lots })
            }
            Entry::Cancelled { request } => of_version(6, request, none),
            Entry::Expired { order } => (7, order, 0, none),
            Entry::Rejected { request, .. } => of_version(8, request, none),
            _ => return,
        };
        self.push(shown.time.0, kind, (order, version), &said);
    }

    fn push(&mut self, time: i64, kind: u8, (order, version): (ClientOrderId, u16), said: &Said) {
        self.time_ns.push(time);
        self.kind.push(kind);
        self.order.push(order.0);
        self.version.push(version);
        self.instrument.push(said.instrument.map_or(NOTHING, |it| it.0.into()));
        self.side.push(side(said.side));
        self.price.push(said.price.map_or(NOTHING, |it| it.0));
        self.lots.push(said.lots.map_or(NOTHING, |it| it.0));
    }
}
