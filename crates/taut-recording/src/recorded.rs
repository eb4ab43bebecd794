//! Recordings for a backtest, out of every format that is read.
//!
//! A file is read twice, as for a conversion: once to know how late rows come, once to pack them in
//! the order of both clocks. hftbacktest's npz has that order already and is read once. In memory
//! are the packed rows alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;

use taut_backtest::{BacktestError, Event, Recording, RowKind};
use taut_types::{Nanos, Price, Qty};

use crate::FileError;
use crate::convert::order::TwoOrders;
use crate::convert::survey::Survey;
use crate::convert::{ConvertError, Look, Step, check_file};
use crate::hft::{EVENT_FIELDS, HftRow, steps};
use crate::npz::TableReader;
use crate::read::{ReadOptions, Source, open_rows};
use crate::rows::{Kind, ReadRows, Reading, Row};
use crate::text::Counted;

/// Files of an instrument that were read once.
#[derive(Debug)]
pub struct Recorded {
    source: Source,
    files: Vec<PathBuf>,
    options: ReadOptions,
    reading: Rc<Reading>,
    instrument: u32,
    survey: Survey,
}

impl Recorded {
    /// Looks at files: in the order of their times, or merged by them where their format has it so.
    /// The instrument is the one of `options.symbol`, or the only one that files have which name
    /// none.
    ///
    /// # Errors
    /// What is wrong with a file, or that the instrument is not in it, or that it was to stop.
    pub fn look(
        source: Source,
        files: &[PathBuf],
        options: &ReadOptions,
        watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
    ) -> Result<Self, ConvertError> {
        files.iter().try_for_each(|file| check_file(file))?;
        let reading = Reading::new();
        let mut rows = open_rows(source, files, options, &reading)?;
        let mut look = Look { watch, reading: &reading, is_writing: false };
        let mut surveys: BTreeMap<u32, Survey> = BTreeMap::new();
        // A snapshot that does not say whose it is makes no instrument of the one that is wanted.
        let mut moves = BTreeSet::new();
        let mut taken = 0;
        while let Some(row) = rows.next_row()? {
            surveys.entry(row.instrument).or_default().add(&row);
            if !matches!(row.kind, Kind::Clear | Kind::Snapshot) {
                moves.insert(row.instrument);
            }
            taken += 1;
            look.at(taken)?;
        }
        surveys.retain(|instrument, _| moves.is_empty() || moves.contains(instrument));
        let instrument = chosen(&surveys, &reading, options, files)?;
        let survey = surveys.remove(&instrument).unwrap_or_default();
        let (files, options) = (files.to_vec(), options.clone());
        Ok(Self { source, files, options, reading, instrument, survey })
    }

    /// By how much all local times have to be later for a smallest latency of `base`; 0 where no
    /// row was received before it happened.
    #[must_use]
    pub fn shift(&self, base: Nanos) -> Nanos {
        let least = self.survey.latency_min.unwrap_or(0);
        Nanos(if least < 0 { base.0.saturating_sub(least) } else { 0 })
    }

    /// Packs the rows in ticks and lots, their local times later by `shift`.
    ///
    /// # Errors
    /// What does not fit, or that it was to stop.
    pub fn recording(
        &self,
        (tick, lot): (Price, Qty),
        shift: Nanos,
        watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
    ) -> Result<Recording, ConvertError> {
        let reading = Reading::named_as(&self.reading);
        let rows = open_rows(self.source, &self.files, &self.options, &reading)?;
        let rows = OfOne { rows, instrument: self.instrument };
        let mut rows = TwoOrders::new(rows, &self.survey, shift.0);
        let mut look = Look { watch, reading: &reading, is_writing: true };
        let mut taken = 0;
        let next = || loop {
            let Some(row) = rows.next_row()? else { return Ok(None) };
            taken += 1;
            look.at(taken)?;
            let event = event(&row, tick, lot);
            let event = event.map_err(|what| {
                let symbol = self.reading.symbol(self.instrument);
                ConvertError::Usage(format!("{}: {symbol}: {what}", named(&self.files)))
            })?;
            if event.is_some() {
                return Ok(event);
            }
        };
        let expected = usize::try_from(self.survey.rows).unwrap_or(0);
        Ok(packed(next, expected, &self.files)?.with_lot(lot))
    }
}

/// Packs hftbacktest's events, which are in the order of both clocks, in ticks and lots: each
/// rounded half away from zero.
///
/// # Errors
/// What is wrong with a file, or that it was to stop.
pub fn record_npz(
    files: &[PathBuf],
    (tick, lot): (Price, Qty),
    watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
) -> Result<Recording, ConvertError> {
    let (tick, lot_units) = steps(tick, lot);
    let reading = Reading::new();
    let mut look = Look { watch, reading: &reading, is_writing: true };
    let mut rest = files.iter();
    let mut table: Option<(TableReader<Counted>, [usize; EVENT_FIELDS.len()])> = None;
    let mut taken = 0;
    let next = || loop {
        let Some((rows, places)) = &mut table else {
            let Some(path) = rest.next() else { return Ok(None) };
            let name = path.display().to_string();
            let rows = TableReader::open(&name, Counted::open(path, &reading)?, "data")?;
            let places = rows.places(EVENT_FIELDS)?;
            table = Some((rows, places));
            continue;
        };
        let Some(fields) = rows.next_row(places)? else {
            table = None;
            continue;
        };
        taken += 1;
        look.at(taken)?;
        if let Some(event) = HftRow::of_fields(fields).event(tick, lot_units) {
            return Ok(Some(event));
        }
    };
    Ok(packed(next, 0, files)?.with_lot(lot))
}

/// The instrument that is meant.
fn chosen(
    surveys: &BTreeMap<u32, Survey>,
    reading: &Reading,
    options: &ReadOptions,
    files: &[PathBuf],
) -> Result<u32, ConvertError> {
    let wanted = options.symbol.as_deref().unwrap_or_default();
    let mut numbers = surveys.keys().copied();
    if let Some(own) = numbers.clone().find(|it| reading.symbol(*it).eq_ignore_ascii_case(wanted)) {
        return Ok(own);
    }
    let has_no_name = |it: u32| reading.symbol(it).bytes().all(|byte| byte.is_ascii_digit());
    if let (Some(only), None) = (numbers.next(), numbers.next())
        && (wanted.is_empty() || has_no_name(only))
    {
        return Ok(only);
    }
    let files = named(files);
    let names: Vec<_> = surveys.keys().take(12).map(|it| reading.symbol(*it)).collect();
    let what = match names.len() {
        0 => "no row is in it; check what it holds".to_owned(),
        _ => {
            let more = if surveys.len() > names.len() { ", ..." } else { "" };
            format!(
                "no row of {wanted} is in it, but of {}{more}; give the instrument the `name` that \
                 the files call it by",
                names.join(", ")
            )
        }
    };
    Err(ConvertError::Usage(format!("{files}: {what}")))
}

fn named(files: &[PathBuf]) -> String {
    files.iter().map(|it| it.display().to_string()).collect::<Vec<_>>().join(" and ")
}

/// The rows of one instrument.
struct OfOne {
    rows: Box<dyn ReadRows>,
    instrument: u32,
}

impl ReadRows for OfOne {
    fn next_row(&mut self) -> Result<Option<Row>, FileError> {
        while let Some(row) = self.rows.next_row()? {
            if row.instrument == self.instrument {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

/// What a row says in ticks and lots; nothing of best prices, which no book is made of.
fn event(row: &Row, tick: Price, lot: Qty) -> Result<Option<Event>, String> {
    let kind = match row.kind {
        Kind::Level | Kind::Snapshot => RowKind::Level,
        Kind::Trade => RowKind::Trade,
        Kind::Clear => RowKind::Clear,
        Kind::Best => return Ok(None),
        Kind::Add => RowKind::Add,
        Kind::Cancel => RowKind::Cancel,
        Kind::Modify => RowKind::Modify,
        Kind::Fill => RowKind::Fill,
    };
    let wrong = |value: &dyn std::fmt::Display, step: &dyn std::fmt::Display, key: &str| {
        let (name, at) = (row.kind.name(), row.exchange_at.0);
        format!(
            "a {name} at {at} ns has {value}, which is no multiple of the {key} {step}; take the \
             {key} of the venue"
        )
    };
    let ticks = match (kind, row.side) {
        (RowKind::Clear, None) => 0,
        // What is traded between two ticks, at a midpoint, is nearest to one of them.
        (RowKind::Trade, _) => nearest(row.price.0, tick.0),
        _ if row.price.0 % tick.0 == 0 => row.price.0 / tick.0,
        _ => return Err(wrong(&row.price, &tick, "tick")),
    };
    let lots = match kind {
        RowKind::Clear => 0,
        _ => lots_of(row.qty, lot).ok_or_else(|| wrong(&row.qty, &lot, "lot"))?,
    };
    Ok(Some(Event {
        exchange_at: row.exchange_at,
        local_at: row.local_at,
        seen: row.seen,
        kind,
        side: row.side,
        tick: ticks,
        lots,
        order_id: row.order_id,
    }))
}

/// A price in ticks, rounded half away from zero.
const fn nearest(price: i64, tick: i64) -> i64 {
    let (whole, rest) = (price / tick, price % tick);
    if rest.unsigned_abs() >= tick.unsigned_abs().div_ceil(2) {
        whole + price.signum()
    } else {
        whole
    }
}

/// A quantity in lots; none where it is no whole number of them.
fn lots_of(qty: Qty, lot: Qty) -> Option<i64> {
    let scale = |to: u8| 10_i128.checked_pow(to.into());
    let above = i128::from(qty.mantissa).checked_mul(scale(lot.decimals)?)?;
    let below = i128::from(lot.mantissa).checked_mul(scale(qty.decimals)?)?;
    let is_whole = below != 0 && above % below == 0;
    is_whole.then(|| i64::try_from(above / below).ok()).flatten()
}

/// Packs events as they come.
fn packed(
    next: impl FnMut() -> Result<Option<Event>, ConvertError>,
    expected: usize,
    files: &[PathBuf],
) -> Result<Recording, ConvertError> {
    let mut events = Events { next, expected, failed: None };
    let packed = Recording::new(&mut events);
    // What broke off is told rather than what came of it.
    if let Some(error) = events.failed {
        return Err(error);
    }
    packed.map_err(|error: BacktestError| ConvertError::Usage(format!("{}: {error}", named(files))))
}

/// Events up to the first that fails.
struct Events<F> {
    next: F,
    expected: usize,
    failed: Option<ConvertError>,
}

impl<F: FnMut() -> Result<Option<Event>, ConvertError>> Iterator for Events<F> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if self.failed.is_some() {
            return None;
        }
        match (self.next)() {
            Ok(event) => event,
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.expected, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_nearest_and_quantities_exact() {
        for (price, ticks) in [(100, 10), (104, 10), (105, 11), (-105, -11), (-104, -10)] {
            assert_eq!(nearest(price, 10), ticks, "{price}");
        }
        let qty = |text: &str| Qty::parse(text.as_bytes()).expect("a decimal");
        for (quantity, lot, lots) in [
            ("1.5", "0.1", Some(15)),
            ("1.50", "0.5", Some(3)),
            ("100", "100", Some(1)),
            ("0", "0.001", Some(0)),
            ("0.0004", "0.001", None),
            ("150", "100", None),
        ] {
            assert_eq!(lots_of(qty(quantity), qty(lot)), lots, "{quantity} of {lot}");
        }
    }
}
