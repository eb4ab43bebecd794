//! Recorded files as columns, and from one format to another.

use std::collections::HashMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use taut_recording::rows::{ReadRows, Reading, Row};
use taut_recording::{Conversion, ConvertError, ReadOptions, Source, Target, convert, open_rows};
use taut_types::{Nanos, Qty, Side};

use crate::columns::Columns;
use crate::errors::{of_conversion, of_file, of_io};

/// Rows between two looks at Ctrl-C.
const ROWS_A_LOOK: usize = 1 << 16;

const TARGETS: [(&str, Target); 5] = [
    ("npz", Target::Npz),
    ("parquet", Target::Parquet),
    ("dbn", Target::Dbn),
    ("csv", Target::Csv),
    ("csv.gz", Target::CsvGzip),
];

fn named<T: Copy>(what: &str, name: &str, all: &[(&str, T)]) -> PyResult<T> {
    let found = all.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|(known, _)| *known).collect();
        PyValueError::new_err(format!("{what} = {name:?}: must be one of {}", known.join(", ")))
    })
}

/// How files are read: from what, which instrument, the day and the latency of LOBSTER's.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct How {
    format: String,
    symbol: Option<String>,
    midnight_ns: Option<i64>,
    latency_ns: i64,
    best: bool,
}

impl How {
    fn options(&self) -> ReadOptions {
        ReadOptions {
            symbol: self.symbol.clone(),
            midnight: self.midnight_ns.map(Nanos),
            latency: Nanos(self.latency_ns),
            has_best: self.best,
        }
    }
}

/// All rows of some files as columns, the names of their instruments, the decimals of quantities,
/// and how many rows of the files no row here can say.
#[pyfunction]
pub fn read_rows<'py>(
    py: Python<'py>,
    files: Vec<PathBuf>,
    how: How,
) -> PyResult<(Bound<'py, PyDict>, Vec<String>, u8, u64)> {
    let source = named("format", &how.format, &Source::NAMED)?;
    can_be_opened(&files)?;
    let rows = py.detach(|| Rows::read(source, &files, &how.options()))?;
    let (symbols, decimals, left_out) = (rows.symbols.clone(), rows.decimals, rows.left_out);
    Ok((rows.columns(py)?, symbols, decimals, left_out))
}

/// The system's own words for what cannot be opened.
fn can_be_opened(files: &[PathBuf]) -> PyResult<()> {
    files.iter().try_for_each(|file| match File::open(file) {
        Ok(_) => Ok(()),
        Err(error) => Err(of_io(file, &error)),
    })
}

/// Ctrl-C, from a thread that lets others run.
fn interrupted() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}

/// Rows, a column each.
#[derive(Default)]
struct Rows {
    exchange_ns: Vec<i64>,
    local_ns: Vec<i64>,
    kind: Vec<u8>,
    seen: Vec<u8>,
    side: Vec<i8>,
    price: Vec<i64>,
    /// With the decimals of [`scales`](Self::scales) until all are known.
    quantity: Vec<i64>,
    scales: Vec<u8>,
    order_id: Vec<u64>,
    instrument: Vec<u32>,
    symbols: Vec<String>,
    decimals: u8,
    left_out: u64,
}

impl Rows {
    fn read(source: Source, files: &[PathBuf], options: &ReadOptions) -> PyResult<Self> {
        let reading = Reading::new();
        let mut rows =
            open_rows(source, files, options, &reading).map_err(|error| of_file(&error))?;
        let mut all = Self::default();
        let mut numbers: HashMap<u32, Option<u32>> = HashMap::new();
        // Rows of one instrument follow each other.
        let mut last = None;
        while let Some(row) = rows.next_row().map_err(|error| of_file(&error))? {
            let number = match last {
                Some((instrument, number)) if instrument == row.instrument => number,
                _ => *numbers.entry(row.instrument).or_insert_with(|| {
                    let name = reading.symbol(row.instrument);
                    let wanted = options.symbol.as_deref();
                    wanted.is_none_or(|it| it.eq_ignore_ascii_case(&name)).then(|| {
                        all.symbols.push(name.to_string());
                        all.symbols.len() as u32 - 1
                    })
                }),
            };
            last = Some((row.instrument, number));
            if let Some(number) = number {
                all.push(&row, number);
                if all.kind.len().is_multiple_of(ROWS_A_LOOK) {
                    interrupted()?;
                }
            }
        }
        all.left_out = reading.left_out();
        all.rescale()?;
        Ok(all)
    }

    fn push(&mut self, row: &Row, instrument: u32) {
        self.exchange_ns.push(row.exchange_at.0);
        self.local_ns.push(row.local_at.0);
        self.kind.push(row.kind as u8);
        self.seen.push(u8::from(row.is_at_exchange()) | u8::from(row.is_local()) << 1);
        self.side.push(side(row.side));
        self.price.push(row.price.0);
        self.quantity.push(row.qty.mantissa);
        self.scales.push(row.qty.decimals);
        if row.qty.decimals > self.decimals {
            self.decimals = self.decimals.max(needed(row.qty));
        }
        self.order_id.push(row.order_id);
        self.instrument.push(instrument);
    }

    /// Gives all quantities the same decimals: as few as hold them all.
    fn rescale(&mut self) -> PyResult<()> {
        for (at, (mantissa, decimals)) in self.quantity.iter_mut().zip(&self.scales).enumerate() {
            if *decimals == self.decimals {
                continue;
            }
            let qty = Qty { mantissa: *mantissa, decimals: *decimals };
            let Some(same) = qty.with_decimals(self.decimals) else {
                return Err(PyValueError::new_err(format!(
                    "row {at}: a quantity of {qty} is no 64-bit number of units of 1e-{}; read \
                     the instruments apart, with symbol=...",
                    self.decimals
                )));
            };
            *mantissa = same.mantissa;
        }
        self.scales = Vec::new();
        Ok(())
    }

    fn columns(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let columns = Columns::new(py);
        columns.add("exchange_ns", self.exchange_ns)?;
        columns.add("local_ns", self.local_ns)?;
        columns.add("instrument", self.instrument)?;
        columns.add("kind", self.kind)?;
        columns.add("seen", self.seen)?;
        columns.add("side", self.side)?;
        columns.add("price", self.price)?;
        columns.add("quantity", self.quantity)?;
        columns.add("order_id", self.order_id)?;
        Ok(columns.finish())
    }
}

/// A side as a sign: 1 buys, -1 sells, 0 where nothing is said.
pub fn side(side: Option<Side>) -> i8 {
    match side {
        None => 0,
        Some(Side::Buy) => 1,
        Some(Side::Sell) => -1,
    }
}

/// How many decimals a quantity needs.
fn needed(Qty { mut mantissa, mut decimals }: Qty) -> u8 {
    while decimals > 0 && mantissa % 10 == 0 {
        (mantissa, decimals) = (mantissa / 10, decimals - 1);
    }
    decimals
}

/// Converts recorded files; how many rows were written. What is at `out` before is replaced: the
/// caller gives a name that is nobody's, and renames.
#[pyfunction]
pub fn convert_rows(
    py: Python<'_>,
    files: Vec<PathBuf>,
    how: How,
    out: PathBuf,
    to: &str,
    base_latency_ns: i64,
) -> PyResult<u64> {
    let (from, to) = (named("format", &how.format, &Source::NAMED)?, named("to", to, &TARGETS)?);
    can_be_opened(&files)?;
    let (reading, base_latency) = (how.options(), base_latency_ns);
    let what = Conversion { from, files, to, reading, quantity_decimals: None, base_latency };
    py.detach(|| {
        let mut file = File::create(&out).map_err(|error| of_io(&out, &error))?;
        let mut stopped = None;
        let mut watch = |_| match interrupted() {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                stopped = Some(error);
                ControlFlow::Break(())
            }
        };
        match convert(&what, &mut file, &mut watch) {
            Ok(done) => Ok(done.rows_written),
            Err(error @ ConvertError::Stopped) => {
                Err(stopped.unwrap_or_else(|| of_conversion(&out, &error)))
            }
            Err(error) => Err(of_conversion(&out, &error)),
        }
    })
}
