//! hftbacktest's files (version 2): events of 64 bytes, measured order latencies of 32 bytes.
//!
//! | bits of `ev` | meaning |
//! |---|---|
//! | 31, 30 | the exchange's side, ours learns of the row |
//! | 29, 28 | buy, sell: of a level or an order; the aggressor of a trade |
//! | 7..0 | 1 level, 2 trade, 3 clear, 4 snapshot, 5 best, 10 add, 11 cancel, 12 modify, 13 fill |

use std::path::Path;

use taut_backtest::{BacktestError, Event, LatencyRow, Recording, RowKind, Seen};
use taut_types::{Nanos, Price, Qty, Side};

use crate::FileError;
use crate::npz::{FieldType, Table};

/// The exchange's side learns of the row.
pub const EXCHANGE: u64 = 1 << 31;
/// Our side learns of it.
pub const LOCAL: u64 = 1 << 30;
/// A bid, a buying order, or a buyer who takes.
pub const BUY: u64 = 1 << 29;
/// An offer, a selling order, or a seller who takes.
pub const SELL: u64 = 1 << 28;

/// A row of an event file as it is there. Prices and quantities are floats, as the format has it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HftRow {
    /// Who learns of it, its side and its kind.
    pub ev: u64,
    /// When it happened at the exchange, in nanoseconds.
    pub exch_ts: i64,
    /// When we saw it, in nanoseconds.
    pub local_ts: i64,
    /// Price.
    pub px: f64,
    /// Quantity.
    pub qty: f64,
    /// The order, where rows are about orders.
    pub order_id: u64,
    /// Free.
    pub ival: i64,
    /// Free.
    pub fval: f64,
}

impl HftRow {
    /// Its 64 bytes in a file.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 64] {
        let fields = [
            self.ev,
            self.exch_ts.cast_unsigned(),
            self.local_ts.cast_unsigned(),
            self.px.to_bits(),
            self.qty.to_bits(),
            self.order_id,
            self.ival.cast_unsigned(),
            self.fval.to_bits(),
        ];
        let mut bytes = [0; 64];
        for (to, field) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(fields) {
            *to = field.to_le_bytes();
        }
        bytes
    }

    /// The row with these bits in its fields.
    pub(crate) const fn of_fields(fields: [u64; EVENT_FIELDS.len()]) -> Self {
        let [ev, exch_ts, local_ts, px, qty, order_id, ival, fval] = fields;
        Self {
            ev,
            exch_ts: exch_ts.cast_signed(),
            local_ts: local_ts.cast_signed(),
            px: f64::from_bits(px),
            qty: f64::from_bits(qty),
            order_id,
            ival: ival.cast_signed(),
            fval: f64::from_bits(fval),
        }
    }

    /// What it says, in ticks and lots, each rounded half away from zero; None for kinds that no
    /// book knows. What is no number becomes one that fits no row.
    pub(crate) fn event(&self, tick: f64, lot: f64) -> Option<Event> {
        let kind = match self.ev & 0xff {
            1 | 4 => RowKind::Level,
            2 => RowKind::Trade,
            3 => RowKind::Clear,
            10 => RowKind::Add,
            11 => RowKind::Cancel,
            12 => RowKind::Modify,
            13 => RowKind::Fill,
            _ => return None,
        };
        let seen = match (self.ev & EXCHANGE != 0, self.ev & LOCAL != 0) {
            (true, true) => Seen::Both,
            (true, false) => Seen::Exchange,
            (false, true) => Seen::Local,
            (false, false) => return None,
        };
        let side = match (self.ev & BUY != 0, self.ev & SELL != 0) {
            (true, _) => Some(Side::Buy),
            (false, true) => Some(Side::Sell),
            (false, false) => None,
        };
        let whole = |units: f64| if units.is_nan() { i64::MAX } else { units.round() as i64 };
        // A clear has no quantity, and one of both sides no price: what stands there is free.
        let tick = match (kind, side) {
            (RowKind::Clear, None) => 0,
            _ => whole(self.px / tick),
        };
        let lots = if kind == RowKind::Clear { 0 } else { whole(self.qty / lot) };
        Some(Event {
            exchange_at: Nanos(self.exch_ts),
            local_at: Nanos(self.local_ts),
            seen,
            kind,
            side,
            tick,
            lots,
            order_id: self.order_id,
        })
    }
}

/// The fields of an event file, in their order.
pub const EVENT_FIELDS: [(&str, FieldType); 8] = [
    ("ev", FieldType::Unsigned),
    ("exch_ts", FieldType::Signed),
    ("local_ts", FieldType::Signed),
    ("px", FieldType::Float),
    ("qty", FieldType::Float),
    ("order_id", FieldType::Unsigned),
    ("ival", FieldType::Signed),
    ("fval", FieldType::Float),
];

/// The rows of an event file, `data` of an npz.
///
/// # Errors
/// For a file that is none.
pub fn read_rows(path: &Path) -> Result<Vec<HftRow>, FileError> {
    let table = Table::read(path, "data")?;
    let rows = table.select(EVENT_FIELDS)?;
    Ok(rows.map(HftRow::of_fields).collect())
}

/// Packs rows for a backtest, in an instrument's ticks and lots. What no book knows is left out,
/// and so are rows that nobody learns of.
///
/// # Errors
/// When rows are not in order or do not fit; the place is among those that are not left out.
pub fn recording(rows: &[HftRow], tick: Price, lot: Qty) -> Result<Recording, BacktestError> {
    let (tick, lot_units) = steps(tick, lot);
    let events = rows.iter().filter_map(|row| row.event(tick, lot_units));
    Ok(Recording::new(events)?.with_lot(lot))
}

/// A tick and a lot as the floats that the format has.
pub(crate) fn steps(tick: Price, lot: Qty) -> (f64, f64) {
    let lot = lot.mantissa as f64 / 10f64.powi(i32::from(lot.decimals));
    (tick.0 as f64 / Price::SCALE as f64, lot)
}

/// The rows of a latency file, `data` of an npz.
///
/// # Errors
/// For a file that is none.
pub fn read_latencies(path: &Path) -> Result<Vec<LatencyRow>, FileError> {
    let fields = ["req_ts", "exch_ts", "resp_ts"].map(|name| (name, FieldType::Signed));
    let table = Table::read(path, "data")?;
    let rows = table.select(fields)?;
    Ok(rows
        .map(|times| {
            let [request_at, exchange_at, response_at] = times.map(u64::cast_signed);
            LatencyRow { request_at, exchange_at, response_at }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npz::tests::{npy, npz};

    const DESCR: &str = "[('ev', '<u8'), ('exch_ts', '<i8'), ('local_ts', '<i8'), \
        ('px', '<f8'), ('qty', '<f8'), ('order_id', '<u8'), ('ival', '<i8'), ('fval', '<f8')]";

    #[test]
    fn rows_are_read_as_they_were_written_and_packed_in_ticks_and_lots() {
        let row = HftRow {
            ev: 1 | EXCHANGE | LOCAL | SELL,
            exch_ts: 5,
            local_ts: 9,
            px: 61_800.3,
            qty: 0.139,
            order_id: 1 << 63,
            ival: -1,
            fval: 0.25,
        };
        let other = HftRow { ev: 101 | LOCAL, ..row };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.npz");
        let bytes = [row.to_bytes(), other.to_bytes()].concat();
        std::fs::write(&path, npz(&npy(DESCR, "(2,)", &bytes), true)).expect("a file");
        let rows = read_rows(&path).expect("rows");
        assert_eq!(rows, [row, other]);
        let lot = Qty { mantissa: 1, decimals: 3 };
        let recording = recording(&rows, Price(100_000_000), lot).expect("a recording");
        let [packed] = recording.rows() else { panic!("one row that a book knows") };
        assert_eq!((packed.tick(), packed.lots(), packed.side()), (618_003, 139, Some(Side::Sell)));
        assert_eq!((packed.exchange_at(), packed.local_at()), (5, 9));
        assert_eq!(packed.kind(), RowKind::Level);
        assert!(read_latencies(&path).is_err(), "it has no req_ts");
    }

    #[test]
    fn a_price_or_a_quantity_that_is_none_is_refused_where_it_counts() {
        let row = HftRow { ev: 1 | EXCHANGE | LOCAL | BUY, px: 1.0, qty: 1.0, ..HftRow::default() };
        let lot = Qty::whole(1);
        let packed = |row| recording(&[row], Price(Price::SCALE), lot).map(drop);
        assert_eq!(packed(row), Ok(()));
        for (px, qty) in [(f64::NAN, 1.0), (f64::INFINITY, 1.0), (1.0, f64::NAN), (1.0, -1.0)] {
            let wrong = HftRow { px, qty, ..row };
            assert_eq!(packed(wrong), Err(BacktestError::TooLarge { row: 0 }), "{px} {qty}");
        }
        let clear = HftRow { ev: 3 | EXCHANGE | LOCAL, px: f64::NAN, qty: f64::NAN, ..row };
        assert_eq!(packed(clear), Ok(()));
    }

    #[test]
    fn latencies_are_three_times() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.npz");
        let descr = "[('req_ts', '<i8'), ('exch_ts', '<i8'), ('resp_ts', '<i8'), ('_', '<i8')]";
        let bytes: Vec<u8> = [1i64, 2, 3, 0].iter().flat_map(|time| time.to_le_bytes()).collect();
        std::fs::write(&path, npz(&npy(descr, "(1,)", &bytes), false)).expect("a file");
        let row = LatencyRow { request_at: 1, exchange_at: 2, response_at: 3 };
        assert_eq!(read_latencies(&path), Ok(vec![row]));
    }
}
